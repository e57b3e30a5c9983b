//! Assigns full page buffers to write points.
//!
//! A buffer is assigned at the last moment, when a write point is idle: until then more writes can
//! join it, and the load of the die groups is known. Copies of garbage collection go first. The
//! host stalls while only the reserve is free ([`gc`](crate::gc) shows why the reserve suffices).
//!
//! If a super-page holds several logical pages, waiting buffers are programmed together. Without a
//! write buffer, host writes are programmed at once even if the super-page is not full, since the
//! host waits for them. Copies wait for other copies that are being read.

use crate::buffer::{BufferList, BufferState, CopyCause, NONE, PageBuffer, Programmed};
use crate::io::{Action, ActionSink};
use crate::machine::{Draining, Ftl};
use crate::write_point::WriteStream;
use gordon_nand::{Buf, FlashOp};

/// Number of waiting buffers to try for an idle write point; the first may fit only a busy one.
const LOOK_AHEAD: usize = 16;

impl<O: ActionSink> Ftl<O> {
    /// Issues programs while a waiting buffer fits an idle write point; returns true if any was
    /// issued.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self) -> bool {
        let stream = self.write_points.stream_of_copies();
        let copies = !self.collector.ready.is_empty() && self.write_points.idle(stream) > 0;
        let copied = copies && self.dispatch_copies(stream);
        if self.ready.is_empty() {
            return copied;
        }
        self.dispatch_host() || copied
    }

    #[inline(always)]
    fn dispatch_copies(&mut self, stream: WriteStream) -> bool {
        let mut issued = false;
        while self.write_points.idle(stream) > 0 && self.copies_may_go() {
            let Some((before, point)) = self.pick::<true>(stream) else { break };
            self.program::<true>(before, point);
            issued = true;
        }
        issued
    }

    #[inline(always)]
    fn dispatch_host(&mut self) -> bool {
        let mut issued = false;
        while self.write_points.idle(WriteStream::Host) > 0 {
            if self.blocks.free() <= self.reserve() {
                if !self.stalled {
                    self.stalled = true;
                    self.stalls = self.stalls.wrapping_add(1);
                }
                break;
            }
            self.stalled = false;
            if self.config.write_buffer > 0 && (self.host_waits() || self.drains_enough()) {
                break;
            }
            let Some((before, point)) = self.pick::<false>(WriteStream::Host) else { break };
            self.program::<false>(before, point);
            issued = true;
            if self.ready.is_empty() {
                break;
            }
        }
        issued
    }

    /// Free blocks that the host may not use.
    #[inline(always)]
    pub(crate) fn reserve(&self) -> u32 {
        self.config.reserve + self.recovery_reserve
    }

    /// Whether the waiting copies fill a super-page, or no other copies are being read.
    fn copies_may_go(&self) -> bool {
        let ready = self.collector.ready.len();
        let few = ready < self.config.slots;
        ready > 0 && (!few || ready == self.collector.copies - self.collector.programming)
    }

    /// Whether host buffers wait in the write buffer until more writes join them.
    fn host_waits(&self) -> bool {
        let room = self.config.write_buffer;
        // A protected buffer makes them wait for their places only.
        let awaited = self.epochs.is_flushing() || self.durable_writes > 0;
        if awaited && !self.config.protected {
            return false;
        }
        let is_full = self.ready.len() >= self.config.slots;
        match self.draining {
            Draining::All => false,
            Draining::Full => !is_full,
            Draining::Excess => {
                let makes_room = self.buffered < room || self.host_programs > 0;
                self.buffered <= room / 2 || (!is_full && makes_room)
            }
        }
    }

    /// Whether as many super-pages of the host are being programmed as may be at a time.
    fn drains_enough(&self) -> bool {
        self.config.drain.is_some_and(|most| self.host_programs >= most)
    }

    /// The first waiting buffer that fits an idle write point, and that write point. The buffer is
    /// identified by its predecessor in the list.
    #[inline(always)]
    fn pick<const COPIES: bool>(&self, stream: WriteStream) -> Option<(u32, usize)> {
        let queue = if COPIES { &self.collector.ready } else { &self.ready };
        match self.point_for::<COPIES>(stream, queue.head) {
            Some(point) => Some((NONE, point)),
            None => self.pick_later::<COPIES>(stream, queue.head),
        }
    }

    /// As [`pick`](Self::pick), for the buffers after `before`.
    #[inline(never)]
    fn pick_later<const COPIES: bool>(
        &self,
        stream: WriteStream,
        mut before: u32,
    ) -> Option<(u32, usize)> {
        for _ in 1..self.look_ahead::<COPIES>() {
            let buffer = self.buffers[before].next;
            if buffer == NONE {
                break;
            }
            if let Some(point) = self.point_for::<COPIES>(stream, buffer) {
                return Some((before, point));
            }
            before = buffer;
        }
        // If copies have their own write points, all write points of a stream may have sequence
        // numbers too low for a page that the other stream wrote. One of them then continues with a
        // new number.
        if self.write_points.are_copies_separate() {
            return Some((NONE, self.write_points.choose(stream, 0, None)?));
        }
        None
    }

    /// Number of waiting buffers to try. Copies that fill a super-page are programmed together, so
    /// that the pages they take stay within the space reservation.
    fn look_ahead<const COPIES: bool>(&self) -> usize {
        if COPIES && self.config.slots > 1 { 1 } else { LOOK_AHEAD }
    }

    /// The idle write point for a waiting buffer, if any.
    #[inline(always)]
    fn point_for<const COPIES: bool>(&self, stream: WriteStream, buffer: u32) -> Option<usize> {
        let floor = if COPIES && self.config.slots > 1 {
            self.floor_of_batch(&self.collector.ready)
        } else {
            self.floor_of(buffer)
        };
        let scarce = COPIES && self.blocks.free() <= self.reserve();
        let fresh =
            self.blocks.die_group_to_open().filter(|_| !(scarce && self.has_room(stream, floor)));
        self.write_points.choose(stream, floor, fresh)
    }

    /// The highest sequence number of an old copy of the pages that will be programmed together.
    fn floor_of_batch(&self, queue: &BufferList) -> u64 {
        let batch = queue.iter(&self.buffers).take(self.config.slots as usize);
        batch.map(|buffer| self.floor_of(buffer)).max().unwrap_or(0)
    }

    /// Whether an open block can take a page, even if its write point is busy.
    fn has_room(&self, stream: WriteStream, floor: u64) -> bool {
        let floor = if self.write_points.are_copies_separate() { 0 } else { floor };
        self.write_points.all().iter().any(|p| {
            p.stream == stream
                && p.block.is_some()
                && p.sequence >= floor
                && p.next < self.data_pages
        })
    }

    /// Programs the waiting buffer after `before`, together with others that fit into the
    /// super-page.
    #[inline(always)]
    fn program<const COPIES: bool>(&mut self, before: u32, point: usize) {
        if self.write_points.get(point).block.is_none() {
            let opened = self.open(point);
            assert!(opened, "one without a block is chosen only where one is free");
        }
        if self.write_points.are_copies_separate() {
            self.renumber_for(before, point, COPIES);
        }
        let head = self.unqueue(before, COPIES);
        let slots = self.config.slots;
        if slots > 1 {
            self.gather(head, before, self.write_points.get(point).sequence, COPIES);
        }
        let (block, page) = self.write_points.take(point);
        let ppn = self.layout.ppn(block, page);
        let mut psn = self.slot(ppn, 0);
        let end = psn + slots;
        // Write point numbers have 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let point = point as u32;
        let mut at = head;
        while at != NONE {
            let buffer = &mut self.buffers[at];
            assert!(matches!(buffer.state, BufferState::Ready { .. }));
            buffer.state = BufferState::Programming { psn, content: Programmed::Data { point } };
            assert_eq!(buffer.copy_cause.is_some(), COPIES);
            match buffer.copy_cause.filter(|_| COPIES && buffer.pending_writes.is_empty()) {
                None => self.stats.host_programs += 1,
                Some(CopyCause::Collection) => self.stats.gc_programs += 1,
                Some(CopyCause::Levelling) => self.stats.wear_programs += 1,
            }
            self.collector.programming += u32::from(COPIES);
            self.map.write(psn, Some(buffer.lpn));
            (psn, at) = (psn + 1, buffer.next);
        }
        self.stats.padded += u64::from(end - psn);
        (psn..end).for_each(|psn| self.map.write(psn, None));
        self.stats.program_operations += 1;
        self.host_programs += u32::from(!COPIES);
        self.issue(FlashOp::Program { ppn, buf: Buf(head) }, COPIES);
    }

    /// If copies have their own write points, a write point's sequence number may be too low for a
    /// page that the other stream wrote. The write point then continues with a new number.
    #[cold]
    fn renumber_for(&mut self, before: u32, point: usize, copies: bool) {
        let floor = if copies {
            self.floor_of_batch(&self.collector.ready)
        } else {
            self.floor_of(self.ready.after(&self.buffers, before))
        };
        let place = self.write_points.get(point);
        if floor > place.sequence {
            let sequence = self.blocks.renumber(place.block.expect("it is open"));
            self.write_points.renumber(point, sequence);
        }
    }

    /// Links to `head` other buffers after `before` that can be programmed in the same super-page.
    #[inline(never)]
    fn gather(&mut self, head: u32, mut before: u32, sequence: u64, copies: bool) {
        let (mut last, mut slots, mut tried) = (head, 1, 0);
        while slots < self.config.slots && tried < self.config.slots as usize + LOOK_AHEAD {
            let queue = if copies { &self.collector.ready } else { &self.ready };
            let buffer = queue.after(&self.buffers, before);
            if buffer == NONE {
                break;
            }
            if self.floor_of(buffer) <= sequence {
                self.unqueue(before, copies);
                self.buffers[last].next = buffer;
                (last, slots) = (buffer, slots + 1);
            } else {
                before = buffer;
            }
            tried += 1;
        }
    }

    #[inline(always)]
    fn unqueue(&mut self, before: u32, copies: bool) -> u32 {
        let queue = if copies { &mut self.collector.ready } else { &mut self.ready };
        queue.unlink(&mut self.buffers, before)
    }

    /// Programs the next summary page of a block whose data pages are all programmed, or closes the
    /// block if its summary is complete. `next` is the next page of the write point.
    pub(crate) fn finish_block(&mut self, point: usize, next: u32) {
        if next < self.layout.pages_per_block() {
            self.program_summary(point);
        } else {
            self.close(point);
        }
    }

    fn program_summary(&mut self, point: usize) {
        let (block, page) = self.write_points.take(point);
        let part = page - self.data_pages;
        let ppn = self.layout.ppn(block, page);
        let point = u32::try_from(point).expect("numbered in 32 bits");
        let content = Programmed::Summary { point };
        let state = BufferState::Programming { psn: self.slot(ppn, 0), content };
        let at = self.buffers.add(PageBuffer::new(0, NONE, state));
        self.stats.summary_programs += u64::from(self.config.slots);
        self.stats.program_operations += 1;
        self.with_buffer(Action::Summarize(Buf(at), block, part));
        self.emit(Action::Flash(FlashOp::Program { ppn, buf: Buf(at) }));
    }

    /// Opens a block at a write point; returns false if no block is free.
    pub(crate) fn open(&mut self, point: usize) -> bool {
        let Some((block, die_group, sequence)) = self.blocks.open() else { return false };
        self.write_points.open(point, block, die_group, sequence);
        true
    }
}
