//! Lists of waiting and active commands, in one pool so that issuing a command does not allocate.

use super::command::{FlashCommand, NO_COMMAND};
use core::hint::select_unpredictable;

/// Marks the end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// A command in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub command: FlashCommand,
    /// The next node in its list.
    pub next: u32,
    /// Order of issue within a die group, modulo 2^32.
    pub ticket: u32,
    /// Before the start: number of background batches that the die group had completed when the
    /// command was issued. After the start: 1 if a background batch was served while the command
    /// waited, else 0.
    pub background: u32,
}

/// Storage for nodes; free nodes are reused first.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    nodes: Vec<Node>,
    free: u32,
}

impl Pool {
    pub fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE }
    }

    #[inline(always)]
    pub fn put(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let place = &mut self.nodes[at as usize];
        self.free = place.next;
        *place = node;
        at
    }

    /// Adds a free node. The content is not a parameter, since it would have to be assembled in
    /// memory before the call.
    #[cold]
    fn grow(&mut self) {
        let at = u32::try_from(self.nodes.len()).ok().filter(|&at| at != NONE);
        self.free = at.expect("fewer than 2^32");
        self.nodes.push(Node { command: NO_COMMAND, next: NONE, ticket: 0, background: 0 });
    }

    /// Takes a node out and frees its entry.
    #[inline]
    pub fn take(&mut self, at: u32) -> Node {
        let free = self.free;
        let place = &mut self.nodes[at as usize];
        let node = *place;
        place.next = free;
        self.free = at;
        node
    }

    #[inline]
    pub fn at(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    #[inline]
    pub fn at_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }
}

/// A first-in, first-out list.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandQueue {
    pub head: u32,
    /// The last node; meaningless if the list is empty.
    tail: u32,
    /// For multi-plane mode: the sets of planes of the commands in the queue, as bits. It may
    /// include sets of commands that have left.
    pub sets: u32,
    /// Number of commands in each of eight key buckets, in 4-bit counters. A counter at 15 is
    /// saturated, and stays so until the queue is empty.
    key_counts: u32,
}

/// Bit position of a key bucket's counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyBucket(u32);

impl KeyBucket {
    /// The bucket of a batch key; different keys may share it.
    #[inline]
    pub fn of(number: u32) -> Self {
        Self(number % 8 * 4)
    }
}

impl CommandQueue {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE, sets: 0, key_counts: 0 };

    #[inline]
    pub fn push(&mut self, pool: &mut Pool, at: u32) {
        let first = self.head == NONE;
        self.head = select_unpredictable(first, at, self.head);
        let tail = select_unpredictable(first, at, self.tail);
        pool.at_mut(tail).next = at;
        pool.at_mut(at).next = NONE;
        self.tail = at;
    }

    /// Counts a pushed command with this set of planes and key bucket.
    #[inline]
    pub fn count_key(&mut self, set: u32, KeyBucket(shift): KeyBucket) {
        self.sets |= set;
        let few = self.key_counts >> shift & 15 < 15;
        self.key_counts += u32::from(few) << shift;
    }

    /// Counts the removal of a command.
    #[inline]
    pub fn uncount_key(&mut self, KeyBucket(shift): KeyBucket) {
        let few = self.key_counts >> shift & 15 < 15;
        self.key_counts -= u32::from(few) << shift;
        // Branchless, since the condition is unpredictable.
        let any = u32::from(self.head == NONE).wrapping_sub(1);
        self.sets &= any;
        self.key_counts &= any;
    }

    /// Whether the queue may hold a command of this bucket on a set of planes other than `but`.
    #[inline]
    pub fn may_contain(&self, but: u32, KeyBucket(shift): KeyBucket) -> bool {
        // One branch instead of two.
        u64::from(self.key_counts >> shift & 15) * u64::from(self.sets & !but) != 0
    }

    /// Whether this node was pushed last and still waits.
    #[inline]
    pub fn is_last(&self, at: u32) -> bool {
        (self.head != NONE) & (self.tail == at)
    }

    /// Removes the node after `before`, or the head if `before` is [`NONE`].
    #[inline]
    pub fn unlink(&mut self, pool: &mut Pool, before: u32) -> u32 {
        if before == NONE {
            let at = self.head;
            self.head = pool.at(at).next;
            return at;
        }
        let at = pool.at(before).next;
        let next = pool.at(at).next;
        pool.at_mut(before).next = next;
        if next == NONE {
            self.tail = before;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waiting command is always found, even if the counter is saturated; and an empty queue is
    /// exact again.
    #[test]
    fn may_contain_has_no_false_negatives() {
        let (mut pool, mut queue) = (Pool::new(), CommandQueue::EMPTY);
        let (one, other) = (KeyBucket::of(3), KeyBucket::of(12));
        let node = Node { command: NO_COMMAND, next: NONE, ticket: 0, background: 0 };
        let push = |queue: &mut CommandQueue, pool: &mut Pool, class: KeyBucket| {
            let at = pool.put(node);
            queue.push(pool, at);
            queue.count_key(0b10, class);
        };
        for waiting in [1, 14, 15, 16, 40] {
            push(&mut queue, &mut pool, other);
            (0..waiting).for_each(|_| push(&mut queue, &mut pool, one));
            assert!(queue.may_contain(0b01, one) && queue.may_contain(0b01, other));
            assert!(!queue.may_contain(0b10, one), "there are no other planes");
            assert!(!queue.may_contain(0b01, KeyBucket::of(5)), "there is no such class");
            let mut take = |class: KeyBucket| {
                let at = queue.unlink(&mut pool, NONE);
                pool.take(at);
                queue.uncount_key(class);
                queue
            };
            assert!(!take(other).may_contain(0b01, other));
            for left in (0..waiting).rev() {
                assert_eq!(take(one).may_contain(0b01, one), left > 0, "{left} of {waiting}");
            }
        }
    }
}
