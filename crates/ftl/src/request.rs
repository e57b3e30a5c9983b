//! Handling of host requests.

use crate::buffer::{
    BufferState, NONE, PageBuffer, PendingSubRequest, SubRequestKind, SubRequestList,
};
use crate::io::{AckSource, Action, ActionSink, Extent, HostRequest, RequestId, SubRequest};
use crate::machine::{Draining, Ftl};
use gordon_nand::Buf;
use gordon_units::Lpn;

/// Later pages of a request whose computed entries are prefetched. Each takes some cache lines.
const PREFETCH_PAGES: usize = 64;

impl<O: ActionSink> Ftl<O> {
    #[inline(always)]
    pub(crate) fn host(&mut self, host: HostRequest) {
        match host {
            HostRequest::Read(extent) => self.read(extent),
            HostRequest::Write(extent) | HostRequest::WriteDurably(extent) if self.worn_out => {
                let sub_requests = extent.count(self.config.sectors_per_page);
                (0..sub_requests).for_each(|_| self.refuse(extent.request));
            }
            HostRequest::Write(extent) => self.write(extent, SubRequestKind::Write),
            HostRequest::WriteDurably(extent) => self.write(extent, SubRequestKind::DurableWrite),
            HostRequest::Trim(request, _) if self.worn_out => self.refuse(request),
            HostRequest::Trim(request, lpn) => self.trim(request, lpn),
            HostRequest::Flush(request) => {
                self.stats.flushes += 1;
                self.epochs.flush(request);
                if self.worn_out {
                    self.refuse_flushes();
                } else {
                    self.ack_flushes();
                }
            }
        }
    }

    #[inline(always)]
    fn expect_inside(&self, extent: Extent) {
        let end = extent.first.checked_add(extent.sectors);
        let all = u64::from(self.config.exported) * u64::from(self.config.sectors_per_page);
        let inside = extent.sectors > 0 && end.is_some_and(|end| end <= all);
        assert!(inside, "no such range: {extent:?}");
    }

    /// Prefetches the entries of a request's later pages if they are computed. In a table they are
    /// next to that of the first page.
    #[inline(always)]
    fn prefetch_extent(&self, extent: Extent) {
        if self.map.is_on_demand() {
            let sub_requests = extent.sub_requests(self.config.sectors_per_page);
            for sub_request in sub_requests.skip(1).take(PREFETCH_PAGES) {
                self.map.prefetch_entry(&self.sink, sub_request.lpn.0.into());
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, extent: Extent) {
        self.expect_inside(extent);
        self.prefetch_extent(extent);
        // Pages of the request in the same super-page are read together.
        let (mut head, mut last, mut slots) = (NONE, NONE, 0);
        for sub_request in extent.sub_requests(self.config.sectors_per_page) {
            self.stats.host_reads += 1;
            let lpn = sub_request.lpn;
            let psn = self.map.get(lpn.0);
            if let Some(at) = self.map.buffer(psn) {
                let buffer = &mut self.buffers[at];
                if matches!(buffer.state, BufferState::Reading { .. }) {
                    self.sub_requests.push(
                        &mut buffer.waiting_reads,
                        sub_request,
                        SubRequestKind::Read,
                        0,
                    );
                    self.stats.bypassed += 1;
                } else {
                    self.stats.forwarded += 1;
                    self.give(at, sub_request, AckSource::Buffer);
                }
                continue;
            }
            if let Some(at) = self.cached_buffer(lpn) {
                self.stats.bypassed += 1;
                self.give(at, sub_request, AckSource::Buffer);
                continue;
            }
            if psn == NONE {
                self.stats.unmapped_reads += 1;
                self.with_buffer(Action::GiveZeros(sub_request));
                self.emit(Action::Ack(sub_request.request, AckSource::Buffer));
                continue;
            }
            self.stats.host_page_reads += 1;
            let mut buffer = PageBuffer::new(lpn.0, psn, BufferState::Reading { psn });
            self.sub_requests.push(&mut buffer.waiting_reads, sub_request, SubRequestKind::Read, 0);
            let at = self.buffers.add(buffer);
            if self.config.bypass {
                self.enter_in_map(at);
            }
            if slots > 0 && self.page_of(self.buffers[last].psn()) == self.page_of(psn) {
                self.buffers[last].next = at;
                slots += 1;
            } else {
                if slots > 0 {
                    self.read_pages(head, slots);
                }
                (head, slots) = (at, 1);
            }
            last = at;
        }
        if slots > 0 {
            self.read_pages(head, slots);
        }
    }

    #[inline(always)]
    fn write(&mut self, extent: Extent, kind: SubRequestKind) {
        self.expect_inside(extent);
        self.prefetch_extent(extent);
        for sub_request in extent.sub_requests(self.config.sectors_per_page) {
            self.stats.host_writes += 1;
            let epoch = self.epochs.enter();
            self.durable_writes += u32::from(kind == SubRequestKind::DurableWrite);
            let place = self.map.get(sub_request.lpn.0);
            match self.map.buffer(place) {
                Some(at) => self.write_to(at, sub_request, kind, epoch),
                None => self.write_fresh(sub_request, kind, place, epoch),
            }
        }
    }

    /// Writes a sub-request to a page with work in flight.
    fn write_to(&mut self, at: u32, sub_request: SubRequest, kind: SubRequestKind, epoch: u32) {
        let buffer = &self.buffers[at];
        if buffer.only_reads() {
            if self.is_whole(sub_request) {
                let mapped_psn = buffer.mapped_psn;
                self.remove_from_map(at);
                return self.write_fresh(sub_request, kind, mapped_psn, epoch);
            }
            // The write can use the read in flight.
            self.stats.bypassed += 1;
            self.buffers[at].merged = true;
            self.accept_at(at, sub_request, kind, epoch);
        } else if matches!(buffer.state, BufferState::Programming { .. })
            || !buffer.deferred.is_empty()
            || !self.config.combine
        {
            // A deferred trim must come first. Reads are served from the buffer as it is, so
            // deferred requests are not acknowledged yet.
            self.hold(at, sub_request, kind, epoch);
        } else {
            self.stats.combined += 1;
            let ready = matches!(buffer.state, BufferState::Ready { .. });
            self.accept_at(at, sub_request, kind, epoch);
            if ready {
                self.with_buffer(Action::Fill(Buf(at), sub_request));
            }
        }
    }

    /// Defers a request until the buffer is programmed. The program must not be delayed by the
    /// write buffer.
    fn hold(&mut self, at: u32, sub_request: SubRequest, kind: SubRequestKind, epoch: u32) {
        self.sub_requests.push(&mut self.buffers[at].deferred, sub_request, kind, epoch);
        if matches!(self.buffers[at].state, BufferState::Ready { .. }) {
            self.drain(Draining::All);
        }
    }

    /// Writes a sub-request to a page without work in flight, whose copy is at `mapped_psn`.
    #[inline(always)]
    fn write_fresh(
        &mut self,
        sub_request: SubRequest,
        kind: SubRequestKind,
        mapped_psn: u32,
        epoch: u32,
    ) {
        let whole = self.is_whole(sub_request);
        let mut buffer = PageBuffer::new(sub_request.lpn.0, mapped_psn, BufferState::READY);
        (buffer.stalls, buffer.in_map) = (self.stalls, true);
        let acked = self.accept(&mut buffer, sub_request, kind, epoch);
        let at = if let Some(at) = self.cached_buffer(sub_request.lpn) {
            self.stats.bypassed += u64::from(!whole);
            self.cached = None;
            self.buffers[at] = buffer;
            at
        } else if mapped_psn != NONE && !whole {
            self.stats.merge_page_reads += 1;
            buffer.state = BufferState::Reading { psn: mapped_psn };
            buffer.merged = true;
            let at = self.buffers.add(buffer);
            self.read_pages(at, 1);
            at
        } else {
            let at = self.buffers.add(buffer);
            if !whole {
                self.with_buffer(Action::Zero(Buf(at)));
            }
            at
        };
        self.map.set_buffer(sub_request.lpn.0, at);
        if mapped_psn != NONE {
            // The bit is cleared when the program is done.
            self.map.prefetch_emptied(&self.sink, mapped_psn);
        }
        if acked {
            self.emit(Action::Ack(sub_request.request, AckSource::Buffer));
        }
        if matches!(buffer.state, BufferState::Ready { .. }) {
            self.with_buffer(Action::Fill(Buf(at), sub_request));
            self.queue(at);
        }
    }

    /// A host buffer is complete: it waits for a write point, or first for a place in the write
    /// buffer.
    #[inline(always)]
    pub(crate) fn queue(&mut self, at: u32) {
        if self.config.write_buffer > 0 && !self.buffers[at].buffered {
            return self.queue_outside(at);
        }
        self.ready.push_back(&mut self.buffers, at);
    }

    #[cold]
    fn queue_outside(&mut self, at: u32) {
        self.outside.push_back(&mut self.buffers, at);
        self.admit();
    }

    /// Takes a host buffer out of the list in which it waits.
    pub(crate) fn unqueue_host(&mut self, at: u32) {
        let is_outside = self.config.write_buffer > 0 && !self.buffers[at].buffered;
        let list = if is_outside { &mut self.outside } else { &mut self.ready };
        list.remove(&mut self.buffers, at);
    }

    /// Admits buffers to the write buffer while it has room.
    #[inline]
    pub(crate) fn admit(&mut self) {
        while !self.outside.is_empty() && self.buffered < self.config.write_buffer {
            let at = self.outside.unlink(&mut self.buffers, NONE);
            let mut buffer = self.buffers[at];
            self.take_place(&mut buffer);
            self.buffers[at] = buffer;
            self.ready.push_back(&mut self.buffers, at);
            if !buffer.deferred.is_empty() {
                self.drain(Draining::All);
            }
        }
    }

    /// Adds a write sub-request to a buffer. Returns true if the write buffer has space for it, so
    /// that it can be acknowledged.
    #[inline(always)]
    fn accept(
        &mut self,
        buffer: &mut PageBuffer,
        sub_request: SubRequest,
        kind: SubRequestKind,
        epoch: u32,
    ) -> bool {
        if !buffer.buffered && self.has_place() {
            buffer.buffered = true;
            self.buffered += 1;
        }
        let acked = buffer.buffered && self.is_early(kind);
        let mut waiting = PendingSubRequest { sub_request, kind, epoch, acked: false, next: NONE };
        if acked {
            self.accept_early(&mut waiting);
        }
        self.sub_requests.hold(&mut buffer.pending_writes, waiting);
        acked
    }

    /// Whether a new page finds a place in the write buffer: there is room, and no page waits.
    #[inline(always)]
    fn has_place(&self) -> bool {
        self.buffered < self.config.write_buffer && self.outside.is_empty()
    }

    /// Whether a write in the write buffer is acknowledged before it is programmed.
    #[inline]
    pub(crate) fn is_early(&self, kind: SubRequestKind) -> bool {
        kind == SubRequestKind::Write || self.config.protected
    }

    /// Notes that a write is acknowledged before it is programmed.
    pub(crate) fn accept_early(&mut self, waiting: &mut PendingSubRequest) {
        if self.config.protected {
            // The write is durable now, so that no flush waits for it.
            self.leave(waiting);
        }
        waiting.acked = true;
        self.stats.buffered += 1;
    }

    /// A write is durable, or will never be: flushes do not wait for it any more.
    #[inline(always)]
    pub(crate) fn leave(&mut self, waiting: &PendingSubRequest) {
        if waiting.acked && self.config.protected {
            return;
        }
        self.durable_writes -= u32::from(waiting.kind == SubRequestKind::DurableWrite);
        self.epochs.leave(waiting.epoch);
    }

    /// As [`accept`](Self::accept), for a buffer already in the pool.
    fn accept_at(&mut self, at: u32, sub_request: SubRequest, kind: SubRequestKind, epoch: u32) {
        let mut buffer = self.buffers[at];
        if !buffer.buffered && self.has_place() {
            self.take_place(&mut buffer);
        }
        let acked = self.accept(&mut buffer, sub_request, kind, epoch);
        self.buffers[at] = buffer;
        if acked {
            self.emit(Action::Ack(sub_request.request, AckSource::Buffer));
        }
    }

    /// Gives a buffer a place in the write buffer that was full before; acknowledges the writes
    /// that the buffer already holds.
    #[cold]
    fn take_place(&mut self, buffer: &mut PageBuffer) {
        buffer.buffered = true;
        self.buffered += 1;
        // A program made room for it.
        let how = match buffer.stalls == self.stalls {
            true => AckSource::Flash,
            false => AckSource::Stalled,
        };
        let mut taken = core::mem::replace(&mut buffer.pending_writes, SubRequestList::EMPTY);
        while let Some(mut waiting) = self.sub_requests.pop(&mut taken) {
            if !waiting.acked && self.is_early(waiting.kind) {
                self.accept_early(&mut waiting);
                self.emit(Action::Ack(waiting.sub_request.request, how));
            }
            self.sub_requests.hold(&mut buffer.pending_writes, waiting);
        }
        self.ack_flushes();
    }

    fn trim(&mut self, request: RequestId, lpn: Lpn) {
        let len = self.config.sectors_per_page;
        let first = u64::from(lpn.0) * u64::from(len);
        self.expect_inside(Extent { request, first, sectors: u64::from(len) });
        let sub_request = SubRequest { request, lpn, start: 0, len };
        self.stats.trims += 1;
        let mut epoch = None;
        if let Some(at) = self.map.buffer_of(lpn.0) {
            let buffer = &self.buffers[at];
            if !buffer.only_reads() {
                let ready = matches!(buffer.state, BufferState::Ready { .. });
                let waits = ready && buffer.deferred.is_empty();
                let is_discarded = waits && buffer.buffered && buffer.copy_cause.is_none();
                if !is_discarded || self.awaits_program(at) {
                    let epoch = self.epochs.enter();
                    self.hold(at, sub_request, SubRequestKind::Trim, epoch);
                    return;
                }
                // No read can return the waiting data any more. A flush that waits for them now
                // waits for the trim.
                epoch = self
                    .sub_requests
                    .iter(self.buffers[at].pending_writes)
                    .next()
                    .map(|first| first.epoch);
                self.note_trim(lpn, epoch);
                self.unqueue_host(at);
                self.forget_writes(at);
                self.release_buffer(at);
            } else {
                self.remove_from_map(at);
            }
        }
        if let Some(at) = self.cached_buffer(lpn) {
            self.cached = None;
            self.buffers.remove(at);
        }
        if epoch.is_none() {
            self.note_trim(lpn, None);
        }
        self.unmap(lpn);
        self.emit(Action::Ack(request, AckSource::Buffer));
    }

    /// Whether a durable write waits until the buffer is programmed. A trim must not discard its
    /// data, because the trim is durable only after the next flush.
    pub(crate) fn awaits_program(&self, at: u32) -> bool {
        let mut pending = self.sub_requests.iter(self.buffers[at].pending_writes);
        pending.any(|waiting| waiting.kind == SubRequestKind::DurableWrite && !waiting.acked)
    }

    /// Removes a page's copy on the array from the map; a buffer of the page stays.
    pub(crate) fn unmap(&mut self, lpn: Lpn) {
        let place = self.map.get(lpn.0);
        let psn = match self.map.buffer(place) {
            Some(at) => core::mem::replace(&mut self.buffers[at].mapped_psn, NONE),
            None => {
                self.map.set(lpn.0, NONE);
                place
            }
        };
        if psn != NONE {
            let sequence = self.blocks.sequence(self.block_of(psn));
            if sequence > self.trim_floor {
                self.trim_floor = sequence;
                self.renumber_points();
            }
            self.invalidate(psn);
        }
    }

    /// Lets every open block take unmapped pages: open blocks with sequence numbers below the trim
    /// floor get a new number for the pages still to be programmed. Each programmed page carries
    /// the number at that time, so earlier pages keep their age. Without this, one trim of recent
    /// data would leave all new data to the single write point that has opened a block since.
    pub(crate) fn renumber_points(&mut self) {
        for at in 0..self.write_points.len() {
            let point = self.write_points.get(at);
            if let Some(block) = point.block
                && point.sequence < self.trim_floor
            {
                let sequence = self.blocks.renumber(block);
                self.write_points.renumber(at, sequence);
            }
        }
    }

    #[inline]
    pub(crate) fn cached_buffer(&self, lpn: Lpn) -> Option<u32> {
        self.cached.filter(|&at| self.buffers[at].lpn == lpn.0)
    }

    pub(crate) fn is_whole(&self, sub_request: SubRequest) -> bool {
        sub_request.len == self.config.sectors_per_page
    }

    /// Enters a buffer in the map, so that later requests find it.
    #[inline(always)]
    pub(crate) fn enter_in_map(&mut self, at: u32) {
        let buffer = &mut self.buffers[at];
        buffer.in_map = true;
        self.map.set_buffer(buffer.lpn, at);
    }

    /// Removes a buffer from the map: a read in flight continues, but later requests do not join
    /// it.
    #[inline(always)]
    pub(crate) fn remove_from_map(&mut self, at: u32) {
        let buffer = &mut self.buffers[at];
        buffer.in_map = false;
        self.map.set(buffer.lpn, buffer.mapped_psn);
    }

    /// Removes a buffer without work left.
    #[inline(always)]
    pub(crate) fn release_buffer(&mut self, at: u32) {
        self.buffered -= u32::from(self.buffers[at].buffered);
        self.remove_from_map(at);
        self.buffers.remove(at);
        self.admit();
    }

    #[inline]
    pub(crate) fn give(&mut self, at: u32, sub_request: SubRequest, how: AckSource) {
        self.with_buffer(Action::Give(Buf(at), sub_request));
        self.emit(Action::Ack(sub_request.request, how));
    }

    pub(crate) fn refuse(&mut self, request: RequestId) {
        self.stats.refused += 1;
        self.emit(Action::Refuse(request));
    }

    #[inline]
    pub(crate) fn ack_flushes(&mut self) {
        while let Some(request) = self.epochs.flushed() {
            self.emit(Action::Ack(request, AckSource::Flash));
        }
    }
}
