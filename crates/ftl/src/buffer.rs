//! Work in flight: page buffers, and the sub-requests that wait on them. Both are allocated from
//! pools, so the hot path does not allocate memory.

use crate::io::{RequestId, SubRequest};
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use gordon_units::Lpn;

/// Null index: no buffer, no sub-request or no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A FIFO of sub-requests, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubRequestList {
    head: u32,
    tail: u32,
}

impl SubRequestList {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// Kind of a waiting sub-request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubRequestKind {
    Read,
    Write,
    /// A write that is acknowledged only when its data are durable.
    DurableWrite,
    Trim,
}

/// A sub-request that waits for a page buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingSubRequest {
    pub sub_request: SubRequest,
    pub kind: SubRequestKind,
    /// Flush epoch of a write or trim.
    pub epoch: u32,
    /// The write was acknowledged when its page got a place in the write buffer.
    pub acked: bool,
    pub next: u32,
}

/// The pool of waiting sub-requests. Unused entries are linked in a free list.
#[derive(Clone, Debug)]
pub(crate) struct SubRequestPool {
    pool: Vec<PendingSubRequest>,
    free: u32,
}

impl SubRequestPool {
    pub fn new() -> Self {
        Self { pool: Vec::new(), free: NONE }
    }

    #[inline(always)]
    pub fn push(
        &mut self,
        queue: &mut SubRequestList,
        sub_request: SubRequest,
        kind: SubRequestKind,
        epoch: u32,
    ) {
        self.hold(queue, PendingSubRequest { sub_request, kind, epoch, acked: false, next: NONE });
    }

    #[inline(always)]
    pub fn hold(&mut self, queue: &mut SubRequestList, waiting: PendingSubRequest) {
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let place = &mut self.pool[at as usize];
        self.free = place.next;
        *place = PendingSubRequest { next: NONE, ..waiting };
        match queue.tail {
            NONE => queue.head = at,
            tail => self.pool[tail as usize].next = at,
        }
        queue.tail = at;
    }

    /// Adds an unused entry. The sub-request is not passed in, because the compiler would then
    /// build it in memory on every call of `hold`, and the hot path would wait for that.
    #[cold]
    fn grow(&mut self) {
        let request = RequestId(0);
        let sub_request = SubRequest { request, lpn: Lpn(0), start: 0, len: 0 };
        self.pool.push(PendingSubRequest {
            sub_request,
            kind: SubRequestKind::Read,
            epoch: 0,
            acked: false,
            next: NONE,
        });
        self.free = index(self.pool.len() - 1);
    }

    #[inline(always)]
    pub fn pop(&mut self, queue: &mut SubRequestList) -> Option<PendingSubRequest> {
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

    /// The sub-requests of a list, without removing them.
    pub fn iter(&self, queue: SubRequestList) -> impl Iterator<Item = &PendingSubRequest> {
        let mut at = queue.head;
        core::iter::from_fn(move || {
            let waiting = self.pool.get(at as usize)?;
            at = waiting.next;
            Some(waiting)
        })
    }
}

/// State of a page buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferState {
    /// The page is being read from slot `psn`, whose block is pinned.
    Reading { psn: u32 },
    /// The page was read from slot `psn`, and its data are unreadable.
    Lost { psn: u32 },
    /// The content is complete and waits for a write point. `prev` is the previous buffer in the
    /// list of waiting buffers; undefined for the first.
    Ready { prev: u32 },
    /// The buffer is being programmed to slot `psn`; its content must not change.
    Programming { psn: u32, content: Programmed },
    /// The buffer holds the page read last.
    Cached,
}

impl BufferState {
    /// A complete content that is in no list yet.
    pub const READY: Self = Self::Ready { prev: NONE };
}

/// The content of a program in flight, with the write point for which it is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Programmed {
    /// Logical pages.
    Data { point: u32 },
    /// The summary of the pages before it in its block.
    Summary { point: u32 },
    /// A page of the trim journal, which has no write point.
    Trims,
}

/// Why a page is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyCause {
    /// The block of the page is collected to free space.
    Collection,
    /// The block of the page is emptied by static wear levelling.
    Levelling,
}

/// The buffer of a logical page with work in flight, and the requests that wait for it. The map
/// refers to at most one buffer of a logical page, so at most one program of a logical page is in
/// flight. A buffer occupies one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct PageBuffer {
    pub lpn: u32,
    /// The slot of the page on the array while the map refers to the buffer; `NONE` if unmapped.
    pub mapped_psn: u32,
    /// The next buffer of the same flash operation or of the same list; `NONE` for the last.
    pub next: u32,
    /// The number of host stalls before the buffer was created.
    pub stalls: u32,
    /// Reads that wait for the content.
    pub waiting_reads: SubRequestList,
    /// Writes whose data are in the buffer's next program, or in the one in flight.
    pub pending_writes: SubRequestList,
    /// Writes and trims that wait until the program in flight is done.
    pub deferred: SubRequestList,
    pub state: BufferState,
    /// The map refers to the buffer, so later requests for the page find it.
    pub in_map: bool,
    /// The buffer is also a copy of garbage collection or wear levelling, which may use the
    /// reserve; holds the cause.
    pub copy_cause: Option<CopyCause>,
    /// A write covered part of the page, and the rest of the page was read from flash.
    pub merged: bool,
    /// The page occupies a place of the write buffer.
    pub buffered: bool,
}

const _: () = assert!(size_of::<PageBuffer>() == 64);

impl PageBuffer {
    #[inline]
    pub fn new(lpn: u32, mapped_psn: u32, state: BufferState) -> Self {
        Self {
            lpn,
            mapped_psn,
            next: NONE,
            stalls: 0,
            waiting_reads: SubRequestList::EMPTY,
            pending_writes: SubRequestList::EMPTY,
            deferred: SubRequestList::EMPTY,
            state,
            in_map: false,
            copy_cause: None,
            merged: false,
            buffered: false,
        }
    }

    /// Whether the buffer serves reads only.
    #[inline]
    pub fn only_reads(&self) -> bool {
        matches!(self.state, BufferState::Reading { .. })
            && self.pending_writes.is_empty()
            && self.copy_cause.is_none()
    }

    /// The slot that is being read or programmed.
    ///
    /// # Panics
    /// Panics if no operation on the buffer is in flight.
    #[inline]
    pub fn psn(&self) -> u32 {
        match self.state {
            BufferState::Reading { psn }
            | BufferState::Lost { psn }
            | BufferState::Programming { psn, .. } => psn,
            BufferState::Ready { .. } | BufferState::Cached => {
                panic!("no operation on the buffer is in flight: {:?}", self.state)
            }
        }
    }
}

/// The pool of page buffers. Unused ones are linked in a free list. Indices are buffer handles.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool {
    pool: Vec<PageBuffer>,
    free: u32,
    used: usize,
}

impl BufferPool {
    pub fn new() -> Self {
        Self { pool: Vec::new(), free: NONE, used: 0 }
    }

    #[inline(always)]
    pub fn add(&mut self, buffer: PageBuffer) -> u32 {
        self.used += 1;
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let place = &mut self.pool[at as usize];
        self.free = place.next;
        *place = buffer;
        at
    }

    /// Adds an unused buffer; see [`SubRequestPool::grow`].
    #[cold]
    fn grow(&mut self) {
        self.pool.push(PageBuffer::new(0, NONE, BufferState::Cached));
        self.free = index(self.pool.len() - 1);
    }

    #[inline(always)]
    pub fn remove(&mut self, at: u32) {
        self.used -= 1;
        self.pool[at as usize].next = self.free;
        self.free = at;
    }

    /// The buffer before `at` in the list in which both wait.
    fn prev(&self, at: u32) -> u32 {
        let state = self[at].state;
        let BufferState::Ready { prev } = state else { panic!("{state:?} is in no list") };
        prev
    }

    #[inline(always)]
    fn set_prev(&mut self, at: u32, prev: u32) {
        let state = &mut self[at].state;
        assert!(matches!(state, BufferState::Ready { .. }), "{state:?} is in no list");
        *state = BufferState::Ready { prev };
    }

    /// Number of buffers, used and unused.
    pub fn capacity(&self) -> u32 {
        index(self.pool.len())
    }

    /// Number of buffers in use.
    pub fn len(&self) -> usize {
        self.used
    }
}

impl core::ops::Index<u32> for BufferPool {
    type Output = PageBuffer;
    #[inline]
    fn index(&self, at: u32) -> &PageBuffer {
        &self.pool[at as usize]
    }
}

impl core::ops::IndexMut<u32> for BufferPool {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut PageBuffer {
        &mut self.pool[at as usize]
    }
}

/// Buffers that wait for a write point, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferList {
    pub head: u32,
    /// The last buffer; undefined if the list is empty.
    tail: u32,
    len: u32,
}

impl BufferList {
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
    pub fn push_back(&mut self, buffers: &mut BufferPool, at: u32) {
        assert_eq!(buffers[at].next, NONE);
        let first = self.head == NONE;
        self.head = select_unpredictable(first, at, self.head);
        let tail = select_unpredictable(first, at, self.tail);
        buffers.set_prev(at, tail);
        // In an empty list `tail` is `at`, which the next line corrects.
        buffers[tail].next = at;
        buffers[at].next = NONE;
        self.tail = at;
        self.len += 1;
    }

    pub fn push_front(&mut self, buffers: &mut BufferPool, at: u32) {
        buffers[at].next = self.head;
        match self.head {
            NONE => self.tail = at,
            head => buffers.set_prev(head, at),
        }
        self.head = at;
        self.len += 1;
    }

    /// The buffer after `before`, or the first if `before` is `NONE`.
    #[inline]
    pub fn after(&self, buffers: &BufferPool, before: u32) -> u32 {
        if before == NONE { self.head } else { buffers[before].next }
    }

    /// Removes and returns the buffer after `before`, or the first if `before` is `NONE`.
    #[inline(always)]
    pub fn unlink(&mut self, buffers: &mut BufferPool, before: u32) -> u32 {
        let at = self.after(buffers, before);
        let next = core::mem::replace(&mut buffers[at].next, NONE);
        self.len -= 1;
        if before == NONE {
            self.head = next;
        } else {
            self.unlink_later(buffers, before, next);
        }
        at
    }

    #[inline(never)]
    fn unlink_later(&mut self, buffers: &mut BufferPool, before: u32, next: u32) {
        buffers[before].next = next;
        match next {
            NONE => self.tail = before,
            next => buffers.set_prev(next, before),
        }
    }

    /// Removes a buffer that is in the list.
    pub fn remove(&mut self, buffers: &mut BufferPool, at: u32) {
        let before = if at == self.head { NONE } else { buffers.prev(at) };
        assert_eq!(self.after(buffers, before), at);
        self.unlink(buffers, before);
    }

    /// The buffers of the list in order.
    pub fn iter<'a>(&self, buffers: &'a BufferPool) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            let this = (at != NONE).then_some(at)?;
            at = buffers[at].next;
            Some(this)
        })
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).ok().filter(|&at| at != NONE).expect("fewer than 2^32 entries in a pool")
}
