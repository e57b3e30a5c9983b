//! Work in flight: units (a buffer of a logical page and what is to happen to it) and the pieces of
//! requests that wait on them. Both live in pools, so the hot path allocates nothing.

use crate::io::{Piece, RequestId};
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use gordon_units::Lpn;

/// No unit, no piece, no slot.
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

/// The pool of waiting pieces; those not in use are linked too.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pool: Vec<Waiting>,
    free: u32,
}

impl Pieces {
    pub fn new() -> Self {
        Self { pool: Vec::new(), free: NONE }
    }

    #[inline(always)]
    pub fn push(&mut self, queue: &mut Queue, piece: Piece, kind: Kind, epoch: u32) {
        self.hold(queue, Waiting { piece, kind, epoch, acked: false, next: NONE });
    }

    #[inline(always)]
    pub fn hold(&mut self, queue: &mut Queue, waiting: Waiting) {
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let place = &mut self.pool[at as usize];
        self.free = place.next;
        *place = Waiting { next: NONE, ..waiting };
        match queue.tail {
            NONE => queue.head = at,
            tail => self.pool[tail as usize].next = at,
        }
        queue.tail = at;
    }

    /// Another place. (The piece is not handed in: it would have to be put together in memory first,
    /// and the processor wait for that, each time.)
    #[cold]
    fn grow(&mut self) {
        let request = RequestId(0);
        let piece = Piece { request, lpn: Lpn(0), start: 0, len: 0 };
        self.pool.push(Waiting { piece, kind: Kind::Read, epoch: 0, acked: false, next: NONE });
        self.free = index(self.pool.len() - 1);
    }

    #[inline(always)]
    pub fn pop(&mut self, queue: &mut Queue) -> Option<Waiting> {
        let at = queue.head;
        let place = self.pool.get_mut(at as usize)?;
        let waiting = *place;
        place.next = self.free;
        self.free = at;
        queue.head = waiting.next;
        if waiting.next == NONE {
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
    /// It was, and cannot be had.
    Lost,
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
/// listed, so at most one program of a logical page is in flight. It takes a line of the
/// processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Unit {
    pub lpn: u32,
    /// Listed: where the page is on the array while the map names the unit; `NONE`: not mapped.
    pub home: u32,
    /// Reading: the slot read, in a block pinned. Programming: the slot programmed.
    pub psn: u32,
    /// The next unit of the same operation or of the list that it waits in; `NONE`: the last.
    pub next: u32,
    /// Programming: the write point. In a list: the unit before; of no account for the first.
    pub point: u32,
    /// How often the host had been stopped when the unit was made.
    pub stalls: u32,
    /// Programming: the sequence number of the page.
    pub sequence: u64,
    /// Reads to be given its content once it is read.
    pub readers: Queue,
    /// Writes whose data its next (or present) program carries.
    pub taking: Queue,
    /// Writes and trims held until its program is done.
    pub held: Queue,
    pub state: State,
    /// The map names it: later requests for the page find it.
    pub listed: bool,
    /// Stands for a copy: may use the reserve.
    pub copies: Option<Cause>,
    /// A write that covered part of the page, so that the rest was read.
    pub merged: bool,
    /// Part of the write buffer.
    pub buffered: bool,
}

impl Unit {
    #[inline]
    pub fn new(lpn: u32, home: u32, state: State) -> Self {
        Self {
            lpn,
            home,
            psn: home,
            next: NONE,
            point: 0,
            stalls: 0,
            sequence: 0,
            readers: Queue::EMPTY,
            taking: Queue::EMPTY,
            held: Queue::EMPTY,
            state,
            listed: false,
            copies: None,
            merged: false,
            buffered: false,
        }
    }

    /// A read and nothing else.
    #[inline]
    pub fn only_reads(&self) -> bool {
        self.state == State::Reading && self.taking.is_empty() && self.copies.is_none()
    }
}

/// The pool of units; those not in use are linked. Its indices are the buffer handles.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    pool: Vec<Unit>,
    free: u32,
    used: usize,
}

impl Units {
    pub fn new() -> Self {
        Self { pool: Vec::new(), free: NONE, used: 0 }
    }

    #[inline(always)]
    pub fn add(&mut self, unit: Unit) -> u32 {
        self.used += 1;
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let place = &mut self.pool[at as usize];
        self.free = place.next;
        *place = unit;
        at
    }

    /// Another place; see [`Pieces::grow`].
    #[cold]
    fn grow(&mut self) {
        self.pool.push(Unit::new(0, NONE, State::Cached));
        self.free = index(self.pool.len() - 1);
    }

    #[inline(always)]
    pub fn remove(&mut self, at: u32) {
        self.used -= 1;
        self.pool[at as usize].next = self.free;
        self.free = at;
    }

    /// Units in use or not.
    pub fn capacity(&self) -> u32 {
        index(self.pool.len())
    }

    /// Units in use.
    pub fn len(&self) -> usize {
        self.used
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

/// Units that wait for a write point, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub head: u32,
    /// The last; of no account where there is none.
    tail: u32,
    len: u32,
}

impl List {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0 };

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub fn push_back(&mut self, units: &mut Units, at: u32) {
        assert_eq!(units[at].next, NONE);
        let first = self.head == NONE;
        self.head = select_unpredictable(first, at, self.head);
        let tail = select_unpredictable(first, at, self.tail);
        units[at].point = tail;
        units[tail].next = at;
        units[at].next = NONE;
        self.tail = at;
        self.len += 1;
    }

    pub fn push_front(&mut self, units: &mut Units, at: u32) {
        units[at].next = self.head;
        match self.head {
            NONE => self.tail = at,
            head => units[head].point = at,
        }
        self.head = at;
        self.len += 1;
    }

    /// The unit after `before`, or the first where that is `NONE`.
    #[inline]
    pub fn after(&self, units: &Units, before: u32) -> u32 {
        if before == NONE { self.head } else { units[before].next }
    }

    /// Takes out the unit after `before`, or the first where that is `NONE`.
    #[inline(always)]
    pub fn unlink(&mut self, units: &mut Units, before: u32) -> u32 {
        let at = self.after(units, before);
        let next = core::mem::replace(&mut units[at].next, NONE);
        self.len -= 1;
        if before == NONE {
            self.head = next;
        } else {
            self.unlink_later(units, before, next);
        }
        at
    }

    #[inline(never)]
    fn unlink_later(&mut self, units: &mut Units, before: u32, next: u32) {
        units[before].next = next;
        match next {
            NONE => self.tail = before,
            next => units[next].point = before,
        }
    }

    /// Takes out one that is in the list.
    pub fn remove(&mut self, units: &mut Units, at: u32) {
        let before = if at == self.head { NONE } else { units[at].point };
        assert_eq!(self.after(units, before), at);
        self.unlink(units, before);
    }

    /// The units in the list.
    pub fn iter<'a>(&self, units: &'a Units) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            let this = (at != NONE).then_some(at)?;
            at = units[at].next;
            Some(this)
        })
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).ok().filter(|&at| at != NONE).expect("fewer than 2^32 pieces in flight")
}
