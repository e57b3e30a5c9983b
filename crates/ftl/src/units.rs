//! Work in flight: units (a buffer of a logical page and what is to happen to it) and the pieces of
//! requests that wait on them. Both live in pools, so the hot path allocates nothing.

use crate::io::Piece;
use alloc::vec::Vec;

/// No unit, no piece.
pub(crate) const NONE: u32 = u32::MAX;

/// Pieces in the order they came, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// What a waiting piece wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Trim,
}

/// A piece that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub piece: Piece,
    pub kind: Kind,
    /// The flush epoch it belongs to, for writes and trims.
    pub epoch: u32,
    /// It was acknowledged when it came into the write buffer.
    pub acked: bool,
    pub next: u32,
}

/// The pool of waiting pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    pool: Vec<Waiting>,
    free: Vec<u32>,
}

impl Pieces {
    #[inline]
    pub fn push(&mut self, queue: &mut Queue, piece: Piece, kind: Kind, epoch: u32) {
        self.hold(queue, Waiting { piece, kind, epoch, acked: false, next: NONE });
    }

    #[inline]
    pub fn hold(&mut self, queue: &mut Queue, waiting: Waiting) {
        let waiting = Waiting { next: NONE, ..waiting };
        let at = match self.free.pop() {
            Some(at) => {
                self.pool[at as usize] = waiting;
                at
            }
            None => {
                self.pool.push(waiting);
                index(self.pool.len() - 1)
            }
        };
        match queue.tail {
            NONE => queue.head = at,
            tail => self.pool[tail as usize].next = at,
        }
        queue.tail = at;
    }

    #[inline]
    pub fn pop(&mut self, queue: &mut Queue) -> Option<Waiting> {
        if queue.head == NONE {
            return None;
        }
        let waiting = self.pool[queue.head as usize];
        self.free.push(queue.head);
        queue.head = waiting.next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        Some(waiting)
    }

    /// The pieces of a queue, without taking them.
    pub fn iter(&self, queue: Queue) -> impl Iterator<Item = &Waiting> {
        let mut at = queue.head;
        core::iter::from_fn(move || {
            let waiting = self.pool.get(at as usize)?;
            at = waiting.next;
            Some(waiting)
        })
    }
}

/// Where a unit is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its page is being read.
    Reading,
    /// Its content is complete and waits for a write point.
    Ready,
    /// It is being programmed; its content must not change.
    Programming,
    /// It holds the last page read.
    Cached,
}

/// Why a page is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its block has to be freed.
    Collection,
    /// Its block was erased too seldom.
    Levelling,
}

/// A buffer of a logical page and what is to happen to it. At most one unit of a logical page is
/// in the table, so at most one program of a logical page is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub lpn: u32,
    pub state: State,
    /// In the table: later requests for the page find it.
    pub listed: bool,
    /// Stands for a copy: may use the reserve.
    pub copies: Option<Cause>,
    /// A write that covered part of the page, so that the rest was read.
    pub merged: bool,
    /// Part of the write buffer.
    pub buffered: bool,
    /// Reading: the slot read, in a block pinned. Programming: the slot programmed.
    pub psn: u32,
    /// The next unit of the same operation; `NONE`: the last.
    pub next: u32,
    /// The first unit of a program: its write point, and the sequence number of its page.
    pub point: u32,
    pub sequence: u64,
    /// How often the host had been stopped when the unit was made.
    pub stalls: u32,
    /// Reads to be given its content once it is read.
    pub readers: Queue,
    /// Writes whose data its next (or present) program carries.
    pub taking: Queue,
    /// Writes and trims held until its program is done.
    pub held: Queue,
}

impl Unit {
    pub fn new(lpn: u32, state: State) -> Self {
        Self {
            lpn,
            state,
            listed: true,
            copies: None,
            merged: false,
            buffered: false,
            psn: 0,
            next: NONE,
            point: 0,
            sequence: 0,
            stalls: 0,
            readers: Queue::EMPTY,
            taking: Queue::EMPTY,
            held: Queue::EMPTY,
        }
    }

    /// A read and nothing else.
    #[inline]
    pub fn only_reads(&self) -> bool {
        self.state == State::Reading && self.taking.is_empty() && self.copies.is_none()
    }
}

/// The pool of units. Its indices are the buffer handles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    pool: Vec<Unit>,
    free: Vec<u32>,
}

impl Units {
    #[inline]
    pub fn add(&mut self, unit: Unit) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.pool[at as usize] = unit;
                at
            }
            None => {
                self.pool.push(unit);
                index(self.pool.len() - 1)
            }
        }
    }

    pub fn remove(&mut self, at: u32) {
        self.free.push(at);
    }

    /// Units in use.
    pub fn len(&self) -> usize {
        self.pool.len() - self.free.len()
    }
}

impl core::ops::Index<u32> for Units {
    type Output = Unit;
    #[inline]
    fn index(&self, at: u32) -> &Unit {
        &self.pool[at as usize]
    }
}

impl core::ops::IndexMut<u32> for Units {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut Unit {
        &mut self.pool[at as usize]
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 pieces in flight")
}
