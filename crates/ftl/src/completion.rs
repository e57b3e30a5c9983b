//! Handling of completed and failed operations.

use crate::buffer::{
    BufferList, BufferState, NONE, PageBuffer, PendingSubRequest, Programmed, SubRequestKind,
    SubRequestList,
};
use crate::io::{AckSource, Action, ActionSink, RequestId};
use crate::machine::{Draining, Ftl};
use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn, Ppn};

impl<O: ActionSink> Ftl<O> {
    #[inline(always)]
    pub(crate) fn done(&mut self, op: FlashOp) {
        match op {
            FlashOp::Read { ppn, buf, .. } => {
                self.write_points.drop_load(self.die_group_of(ppn));
                self.read_done(ppn, buf.0);
            }
            FlashOp::Program { ppn, buf } => self.program_done(ppn, buf.0),
            FlashOp::Erase { block } => {
                self.write_points.drop_load(self.layout.die_group_of(block));
                self.stats.erases += 1;
                self.blocks.erased(block);
                self.collector.forget(block);
            }
        }
    }

    pub(crate) fn failed(&mut self, op: FlashOp) {
        match op {
            FlashOp::Read { .. } => panic!("a read loses single buffers"),
            FlashOp::Program { ppn, buf } => match self.programmed(buf.0) {
                Programmed::Trims => self.journal_failed(ppn, buf.0),
                Programmed::Data { point } | Programmed::Summary { point } => {
                    self.program_failed(ppn, buf.0, point as usize);
                }
            },
            FlashOp::Erase { block } => {
                self.write_points.drop_load(self.layout.die_group_of(block));
                self.collector.forget(block);
                self.retire(block);
            }
        }
    }

    #[inline(always)]
    fn read_done(&mut self, ppn: Ppn, head: u32) {
        let block = self.layout.block_of(ppn);
        if self.blocks.unpin(block) {
            self.emptied(block);
        }
        let mut at = head;
        while at != NONE {
            let next = core::mem::replace(&mut self.buffers[at].next, NONE);
            match self.buffers[at].state {
                BufferState::Reading { .. } => self.buffer_read(at),
                BufferState::Lost { psn } => self.unreadable(at, psn),
                state => panic!("a buffer that was read is {state:?}"),
            }
            at = next;
        }
        if self.blocks.is_collecting(block) {
            self.copy_from(block);
        }
    }

    #[inline(always)]
    fn buffer_read(&mut self, at: u32) {
        // The writes may have been acknowledged already, so reads must return their data.
        if self.config.contents {
            for waiting in self.sub_requests.iter(self.buffers[at].pending_writes) {
                self.sink.push(Action::Fill(Buf(at), waiting.sub_request));
            }
        }
        while let Some(PendingSubRequest { sub_request, .. }) =
            self.sub_requests.pop(&mut self.buffers[at].waiting_reads)
        {
            self.give(at, sub_request, AckSource::Flash);
        }
        let buffer = &self.buffers[at];
        if buffer.only_reads() {
            if buffer.in_map {
                // The page read last stays cached until another one is read or the page is written.
                self.remove_from_map(at);
                self.buffers[at].state = BufferState::Cached;
                if let Some(old) = self.cached.replace(at) {
                    self.buffers.remove(old);
                }
            } else {
                self.buffers.remove(at);
            }
            return;
        }
        self.buffers[at].state = BufferState::READY;
        self.enqueue(at);
    }

    fn enqueue(&mut self, at: u32) {
        if self.worn_out {
            self.give_up(at);
        } else if self.buffers[at].copy_cause.is_some() {
            self.collector.ready.push_back(&mut self.buffers, at);
        } else {
            if !self.buffers[at].deferred.is_empty() {
                self.drain(Draining::All);
            }
            self.queue(at);
        }
    }

    /// Handles a page whose data are unreadable: reads of it and writes of parts of it are refused.
    /// If it was to be copied, it stays in its block, which is not used again.
    fn unreadable(&mut self, at: u32, psn: u32) {
        while let Some(PendingSubRequest { sub_request, .. }) =
            self.sub_requests.pop(&mut self.buffers[at].waiting_reads)
        {
            self.refuse(sub_request.request);
        }
        let buffer = self.buffers[at];
        if buffer.copy_cause.is_some() {
            let block = self.block_of(psn);
            self.blocks.abandon(block);
            self.collector.forget(block);
        }
        self.refuse_all(at);
        if buffer.in_map {
            self.release_buffer(at);
        } else {
            self.buffers.remove(at);
        }
        if buffer.copy_cause.is_some() {
            // Other blocks may wait for a copy to end.
            self.copy_done();
        }
    }

    /// The content of a program in flight.
    #[inline(always)]
    fn programmed(&self, head: u32) -> Programmed {
        match self.buffers[head].state {
            BufferState::Programming { content, .. } => content,
            state => panic!("a buffer that was programmed is {state:?}"),
        }
    }

    #[inline(always)]
    fn program_done(&mut self, ppn: Ppn, head: u32) {
        let block = self.layout.block_of(ppn);
        let point = match self.programmed(head) {
            Programmed::Data { point } => point as usize,
            Programmed::Summary { point } => return self.summary_done(head, point as usize),
            Programmed::Trims => return self.journal_done(ppn, head),
        };
        self.host_programs -= u32::from(self.buffers[head].copy_cause.is_none());
        let mut at = head;
        while at != NONE {
            let buffer = &mut self.buffers[at];
            let BufferState::Programming { psn, .. } = buffer.state else {
                panic!("a buffer that was programmed is {:?}", buffer.state)
            };
            let PageBuffer {
                lpn,
                mapped_psn,
                next,
                pending_writes: mut taking,
                copy_cause: copies,
                ..
            } = *buffer;
            let how = match () {
                () if buffer.stalls != self.stalls => AckSource::Stalled,
                () if buffer.merged => AckSource::Merge,
                () => AckSource::Flash,
            };
            let ends = buffer.deferred.is_empty() && !self.worn_out;
            if ends {
                self.buffered -= u32::from(buffer.buffered);
            } else {
                (buffer.mapped_psn, buffer.next, buffer.pending_writes) =
                    (psn, NONE, SubRequestList::EMPTY);
                buffer.copy_cause = None;
            }
            self.map.fill(psn);
            self.blocks.add_valid(block, 1);
            if mapped_psn != NONE {
                self.invalidate(mapped_psn);
            }
            if copies.is_some() {
                self.collector.programming -= 1;
                self.copy_done();
            }
            self.acknowledge(&mut taking, how);
            if ends {
                self.map.set(lpn, psn);
                self.buffers.remove(at);
            } else {
                self.next_round(at);
            }
            at = next;
        }
        self.admit();
        let next = self.write_points.release(point);
        if next == self.data_pages {
            self.finish_block(point, next);
        }
    }

    fn summary_done(&mut self, at: u32, point: usize) {
        self.buffers.remove(at);
        let next = self.write_points.release(point);
        self.finish_block(point, next);
    }

    /// Closes the full block of a write point.
    pub(crate) fn close(&mut self, point: usize) {
        let block = self.write_points.get(point).block.expect("a full write point has a block");
        self.write_points.close(point);
        self.blocks.close(block);
    }

    /// Handles a failed program: its buffers are programmed elsewhere, and the block is emptied and
    /// retired.
    fn program_failed(&mut self, ppn: Ppn, head: u32, point: usize) {
        let block = self.layout.block_of(ppn);
        let is_copy = self.buffers[head].copy_cause.is_some();
        let is_summary = !self.buffers[head].in_map;
        self.host_programs -= u32::from(!is_copy && !is_summary);
        let mut at = head;
        while at != NONE {
            let buffer = &mut self.buffers[at];
            let next = core::mem::replace(&mut buffer.next, NONE);
            buffer.state = BufferState::READY;
            if !buffer.in_map {
                self.buffers.remove(at);
            } else {
                let copies = buffer.copy_cause.is_some();
                self.collector.programming -= u32::from(copies);
                if self.worn_out {
                    self.give_up(at);
                } else if copies || self.turn_into_copy(at) {
                    self.collector.ready.push_front(&mut self.buffers, at);
                } else {
                    if !self.buffers[at].deferred.is_empty() {
                        self.drain(Draining::All);
                    }
                    self.ready.push_front(&mut self.buffers, at);
                }
            }
            at = next;
        }
        self.write_points.release(point);
        self.write_points.close(point);
        self.blocks.mark_retiring(block);
        self.collector.retire_later(block);
        if self.config.durable {
            // The failed page may be readable all the same. Pages programmed from now on need a
            // higher sequence number.
            self.trim_floor = self.trim_floor.max(self.blocks.next_sequence() - 1);
            self.renumber_points();
        }
    }

    /// Handles a block under collection without valid pages: erases or retires it.
    #[inline(never)]
    pub(crate) fn emptied(&mut self, block: BlockId) {
        if self.blocks.is_retiring(block) {
            self.collector.forget(block);
            self.retire(block);
        } else {
            if self.config.durable && self.defers_erase(block) {
                return;
            }
            self.erase(block);
        }
    }

    /// Erases a block.
    ///
    /// # Panics
    /// Panics if the block holds a page. Both the valid count and the valid bitmap must be empty.
    pub(crate) fn erase(&mut self, block: BlockId) {
        let valid = self.blocks.valid(block);
        let filled = self.map.filled_in(self.block_slots(block));
        assert!(
            (valid, filled) == (0, 0),
            "block {block} is erased with {valid} valid pages, {filled} in its bitmap"
        );
        self.write_points.add_load(self.layout.die_group_of(block));
        self.emit(Action::Copy(FlashOp::Erase { block }));
    }

    /// Takes a block out of service. If too few are left, the layer stops accepting writes.
    fn retire(&mut self, block: BlockId) {
        self.blocks.retire(block);
        self.stats.grown_bad += 1;
        let most = self.config.most_on(self.blocks.good(), &self.layout);
        if u64::from(self.config.exported) > most && !self.worn_out {
            self.wear_out();
        }
    }

    /// Stops accepting writes.
    pub(crate) fn wear_out(&mut self) {
        self.worn_out = true;
        // Blocks under collection keep their pages, since there is no space for copies.
        self.collector.stop();
        for mut list in [
            core::mem::replace(&mut self.ready, BufferList::EMPTY),
            core::mem::replace(&mut self.outside, BufferList::EMPTY),
            core::mem::replace(&mut self.collector.ready, BufferList::EMPTY),
        ] {
            while !list.is_empty() {
                let at = list.unlink(&mut self.buffers, NONE);
                self.give_up(at);
            }
        }
        self.refuse_flushes();
    }

    /// Handles a buffer that is ready when there may be no space left to program it. Acknowledged
    /// data stay readable in the write buffer.
    fn give_up(&mut self, at: u32) {
        if self.buffers[at].copy_cause.take().is_some() {
            self.copy_done();
        }
        self.refuse_rest(at);
        if self.buffers[at].pending_writes.is_empty() {
            self.release_buffer(at);
        } else {
            self.ready.push_back(&mut self.buffers, at);
        }
        self.refuse_flushes();
    }

    /// Refuses pending flushes, which can no longer be guaranteed.
    pub(crate) fn refuse_flushes(&mut self) {
        self.ack_flushes();
        while let Some(request) = self.epochs.give_up() {
            self.refuse(request);
        }
    }

    /// Refuses the writes and trims of a buffer that have not been acknowledged.
    fn refuse_rest(&mut self, at: u32) {
        let mut kept = SubRequestList::EMPTY;
        loop {
            let buffer = &mut self.buffers[at];
            let taken = self.sub_requests.pop(&mut buffer.pending_writes);
            let Some(waiting) = taken.or_else(|| self.sub_requests.pop(&mut buffer.deferred))
            else {
                break;
            };
            if waiting.acked {
                self.sub_requests.hold(&mut kept, waiting);
            } else {
                self.refuse(waiting.sub_request.request);
                self.leave(&waiting);
            }
        }
        self.buffers[at].pending_writes = kept;
    }

    /// Acknowledges the writes of a completed program.
    #[inline(always)]
    fn acknowledge(&mut self, taken: &mut SubRequestList, how: AckSource) {
        while let Some(waiting) = self.sub_requests.pop(taken) {
            if !waiting.acked {
                self.emit(Action::Ack(waiting.sub_request.request, how));
            }
            self.leave(&waiting);
        }
        if self.epochs.is_flushing() {
            self.ack_flushes();
        }
    }

    /// Acknowledges the writes of a buffer whose data were trimmed, so that no read can return
    /// them.
    pub(crate) fn forget_writes(&mut self, at: u32) {
        let mut taken =
            core::mem::replace(&mut self.buffers[at].pending_writes, SubRequestList::EMPTY);
        self.acknowledge(&mut taken, AckSource::Buffer);
    }

    /// Refuses all writes and trims that wait on a buffer.
    fn refuse_all(&mut self, at: u32) {
        loop {
            let buffer = &mut self.buffers[at];
            let taken = self.sub_requests.pop(&mut buffer.pending_writes);
            let Some(waiting) = taken.or_else(|| self.sub_requests.pop(&mut buffer.deferred))
            else {
                return;
            };
            if !waiting.acked {
                self.refuse(waiting.sub_request.request);
            }
            self.leave(&waiting);
        }
    }

    /// Applies the writes and trims that were deferred while the buffer was programmed. The buffer
    /// is then programmed again, or released if there is nothing to write.
    fn next_round(&mut self, at: u32) {
        if self.worn_out {
            self.refuse_all(at);
            self.refuse_flushes();
        }
        let lpn = self.buffers[at].lpn;
        let mut blank = false;
        loop {
            let first = self.sub_requests.iter(self.buffers[at].deferred).next();
            let is_trim = first.is_some_and(|first| first.kind == SubRequestKind::Trim);
            if is_trim && self.awaits_program(at) {
                break;
            }
            let Some(mut waiting) = self.sub_requests.pop(&mut self.buffers[at].deferred) else {
                break;
            };
            let PendingSubRequest { sub_request, kind, epoch, .. } = waiting;
            if kind == SubRequestKind::Trim {
                // The earlier deferred writes need not be programmed, since no read can return
                // them. A flush that waits for them now waits for the trim.
                let first = self.sub_requests.iter(self.buffers[at].pending_writes).next();
                let epoch_of_first = first.map_or(epoch, |first| first.epoch);
                self.note_trim(Lpn(lpn), Some(epoch_of_first));
                self.forget_writes(at);
                self.unmap(Lpn(lpn));
                self.acknowledge_trim(sub_request.request, epoch);
                blank = true;
                continue;
            }
            if core::mem::take(&mut blank) && !self.is_whole(sub_request) {
                self.with_buffer(Action::Zero(Buf(at)));
            }
            self.with_buffer(Action::Fill(Buf(at), sub_request));
            let buffer = &mut self.buffers[at];
            self.stats.combined += u64::from(!buffer.pending_writes.is_empty());
            // The page keeps its place in the write buffer, since its previous content is
            // programmed.
            if buffer.buffered && !waiting.acked && self.is_early(kind) {
                self.accept_early(&mut waiting);
                self.emit(Action::Ack(sub_request.request, AckSource::Buffer));
            }
            self.sub_requests.hold(&mut self.buffers[at].pending_writes, waiting);
            if !self.config.combine {
                break;
            }
        }
        if self.buffers[at].pending_writes.is_empty() {
            self.release_buffer(at);
        } else {
            let buffer = &mut self.buffers[at];
            buffer.state = BufferState::READY;
            buffer.merged = false;
            buffer.stalls = self.stalls;
            if !buffer.deferred.is_empty() {
                self.drain(Draining::All);
            }
            self.queue(at);
            self.ack_flushes();
        }
    }

    fn acknowledge_trim(&mut self, request: RequestId, epoch: u32) {
        self.emit(Action::Ack(request, AckSource::Flash));
        self.epochs.leave(epoch);
        self.ack_flushes();
    }
}
