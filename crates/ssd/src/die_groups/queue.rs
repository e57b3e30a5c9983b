//! Commands that wait or are served: lists in one pool, so that issuing allocates nothing.

use super::command::{FlashCommand, NO_COMMAND};
use core::hint::select_unpredictable;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// A command and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub command: FlashCommand,
    /// The next in its list.
    pub next: u32,
    /// The order of issue, to be compared within a die group.
    pub ticket: u32,
    /// While it waits: how many batches of background work its die group had served to the end when
    /// it came. When it has started: 1 where one was served while it waited, 0 otherwise.
    pub background: u32,
}

/// Places for nodes; those given back are used again first.
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

    /// Another place. (The node is not handed in: it would have to be put together in memory
    /// first.)
    #[cold]
    fn grow(&mut self) {
        let at = u32::try_from(self.nodes.len()).ok().filter(|&at| at != NONE);
        self.free = at.expect("fewer than 2^32");
        self.nodes.push(Node { command: NO_COMMAND, next: NONE, ticket: 0, background: 0 });
    }

    /// Takes a node out and gives its place back.
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

/// A list, first in first out.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandQueue {
    pub head: u32,
    /// The last; of no account where there is none.
    tail: u32,
    /// Where commands are carried out together: the sets of planes of those in it, as bits, and
    /// maybe of some that no longer are.
    pub sets: u32,
    /// And how many of them are of each of eight classes, four bits each; 15 stands for more, until
    /// all are gone.
    key_counts: u32,
}

/// Where the count of a class is.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyBucket(u32);

impl KeyBucket {
    /// Of commands that are alike in this, and of others.
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

    /// A command of a set of planes and a class was pushed.
    #[inline]
    pub fn count_key(&mut self, set: u32, KeyBucket(shift): KeyBucket) {
        self.sets |= set;
        let few = self.key_counts >> shift & 15 < 15;
        self.key_counts += u32::from(few) << shift;
    }

    /// One was taken out.
    #[inline]
    pub fn uncount_key(&mut self, KeyBucket(shift): KeyBucket) {
        let few = self.key_counts >> shift & 15 < 15;
        self.key_counts -= u32::from(few) << shift;
        // Not a jump: nobody can tell whether more wait.
        let any = u32::from(self.head == NONE).wrapping_sub(1);
        self.sets &= any;
        self.key_counts &= any;
    }

    /// Whether there may be a command of this class in it, of another set of planes.
    #[inline]
    pub fn may_contain(&self, but: u32, KeyBucket(shift): KeyBucket) -> bool {
        // One jump, not two.
        u64::from(self.key_counts >> shift & 15) * u64::from(self.sets & !but) != 0
    }

    /// Whether this node was pushed last, and still waits.
    #[inline]
    pub fn is_last(&self, at: u32) -> bool {
        (self.head != NONE) & (self.tail == at)
    }

    /// Takes out the node after `before`, or the first where that is [`NONE`].
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

    /// What waits is never denied, be it more than can be counted; what is gone is, at last.
    #[test]
    fn a_queue_knows_what_it_may_have() {
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
