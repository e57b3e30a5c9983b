//! Carries out the actions of the layer.

use super::request::{Completion, OpenRequest, RequestBytes};
use super::{Engine, Payload, TransferredOp};
use crate::checksums::Proof;
use crate::error::IoError;
use crate::format::{NO_LPN, summary, trims};
use crate::op_digest;
use gordon_blockio::Command;
use gordon_ftl::{Action, HostRequest, Input, PageSegment, RequestId, SubRequest};
use gordon_nand::{Buf, FlashOp};
use gordon_units::BlockId;

impl<P: Payload> Engine<P> {
    /// Carries out actions until the layer waits.
    pub(super) fn carry_out_actions(&mut self) {
        loop {
            match self.ftl.poll() {
                Action::Wait => return,
                Action::Flash(op) => self.issue(op, false),
                Action::Copy(op) => self.issue(op, true),
                Action::Zero(buf) => self.buffers.get_mut(buf).fill(0),
                Action::Fill(buf, sub_request) => self.fill(buf, sub_request),
                Action::Summarize(buf, block, part) => self.summarize(buf, block, part),
                Action::Record(buf) => {
                    let mut bytes = self.scratch.spare.pop().unwrap_or_default();
                    trims::encode(&mut bytes, self.ftl.trim_record());
                    self.keep_metadata_page(buf, bytes);
                }
                Action::Give(buf, sub_request) => {
                    let sector = self.sector(sub_request);
                    let (from, to) = within(sub_request);
                    let bytes = &self.buffers.get(buf)[from..to];
                    let open = self.requests.get(sub_request.request);
                    if let Some(part) = open.part_mut(sector, sub_request.len) {
                        part.copy_from_slice(bytes);
                    }
                }
                Action::GiveZeros(sub_request) => {
                    let sector = self.sector(sub_request);
                    let open = self.requests.get(sub_request.request);
                    if let Some(part) = open.part_mut(sector, sub_request.len) {
                        part.fill(0);
                    }
                }
                Action::Ack(id, _) => self.answered(id, false),
                Action::Refuse(id) => self.answered(id, true),
            }
        }
    }

    /// Transfers the data of an operation.
    fn issue(&mut self, op: FlashOp, copies: bool) {
        self.op_digest = op_digest::add(self.op_digest, op);
        self.count_op(op);
        // Large contiguous reads gain nothing from being split up.
        if let FlashOp::Read { ppn, buf, slots: 0..4 } = op
            && self.image.sync_tracker.media().is_parallel()
        {
            // The page and the buffers do not change until the completion is reported to the layer.
            self.reads.push((ppn, buf));
            self.transferred_ops.push_back(TransferredOp { op, copies, failed: false });
            return;
        }
        self.attempt(op, copies);
    }

    /// Attempts an operation. If the file under the image returns an error, the operation is queued
    /// for a retry, and the result is false.
    fn attempt(&mut self, op: FlashOp, copies: bool) -> bool {
        match self.transfer(op) {
            Ok(done) => self.transferred_ops.push_back(TransferredOp { op, copies, failed: !done }),
            Err(error) => {
                self.counters.medium_errors += 1;
                self.failure = Some(IoError::of(&error));
                self.retry_queue.push_back((op, copies));
                return false;
            }
        }
        true
    }

    /// Retries the operations that failed with an error of the file under the image; returns the
    /// reason if one still fails.
    pub(super) fn retry(&mut self) -> Option<IoError> {
        if self.sync_tracker().is_broken() {
            if !self.marked_untrusted {
                self.marked_untrusted = true;
                self.image.mark_untrusted();
            }
            self.failure = Some(IoError::Medium);
            return self.failure;
        }
        self.failure?;
        self.failure = None;
        for _ in 0..self.retry_queue.len() {
            let (op, copies) = self.retry_queue.pop_front()?;
            if !self.attempt(op, copies) {
                self.retry_queue.rotate_right(1);
                break;
            }
        }
        self.failure
    }

    fn fill(&mut self, buf: Buf, sub_request: SubRequest) {
        let sector = self.sector(sub_request);
        let (from, to) = within(sub_request);
        let buffer = &mut self.buffers.get_mut(buf)[from..to];
        let open = self.requests.get(sub_request.request);
        match open.part(sector, sub_request.len) {
            Some(part) => buffer.copy_from_slice(part),
            None => buffer.fill(0),
        }
        open.mark_copied(sub_request.lpn.0);
        if open.is_over() {
            self.on_all_parts_done(sub_request.request);
        }
    }

    /// Encodes the summary of a block for the program of its page number `part`. All of the summary
    /// except the head, which is in part 0, is the same each time, since the data pages of the
    /// block are already programmed.
    fn summarize(&mut self, buf: Buf, block: BlockId, part: u32) {
        let (pages, slots) =
            (self.image.resolved.config.data_pages(self.ftl.layout()), self.ftl.config().slots);
        let mut bytes = self.scratch.spare.pop().unwrap_or_default();
        summary::start(&mut bytes, block, pages, slots, self.sync_tracker().syncs_started());
        let (offsets, media) = (&self.image.offsets, self.image.sync_tracker.media());
        // If the sequence numbers cannot be read, the summary is invalid and a mount reads the
        // pages.
        let proof = Proof { ftl: &self.ftl, erases: self.program_order.block(block).erases };
        let numbers = self.checksums.sequences(block, offsets, media, proof).unwrap_or_default();
        let numbers = numbers.iter().copied().chain(std::iter::repeat(0));
        let mut lpns = self.ftl.summary(block);
        for number in numbers.take(pages as usize) {
            let lpns = lpns.by_ref().take(slots as usize);
            summary::add(&mut bytes, number, lpns.map(|lpn| lpn.map_or(NO_LPN, |lpn| lpn.0)));
        }
        drop(lpns);
        summary::seal(&mut bytes, block);
        let page = summary::part(bytes.len(), part, self.ftl.layout().page_bytes());
        bytes.truncate(page.end);
        bytes.drain(..page.start);
        self.keep_metadata_page(buf, bytes);
    }

    /// Keeps the content of a metadata page until it is programmed.
    fn keep_metadata_page(&mut self, buf: Buf, bytes: Vec<u8>) {
        self.metadata_pages.retain(|(other, _)| *other != buf);
        self.metadata_pages.push((buf, bytes));
    }

    fn sector(&self, sub_request: SubRequest) -> u64 {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        u64::from(sub_request.lpn.0) * per_page + u64::from(sub_request.start)
    }

    /// Records that a sub-request was completed or refused.
    pub(super) fn answered(&mut self, id: RequestId, refused: bool) {
        let worn_out = self.ftl.is_worn_out();
        let open = self.requests.get(id);
        if refused {
            let reads = matches!(open.command, Command::Read { .. });
            let unreadable = reads || !worn_out;
            open.fault = Some(if unreadable { IoError::Unreadable } else { IoError::WornOut });
        }
        open.left -= 1;
        if open.is_over() {
            self.on_all_parts_done(id);
        }
    }

    /// Reports to the layer which units of a read are unreadable. Partial writes that waited for
    /// these units fail.
    #[cold]
    pub(super) fn report_unreadable(&mut self, buf: Buf) {
        let parts: Vec<PageSegment> =
            self.ftl.segments(buf).filter(|part| self.unreadable.contains(&part.buf)).collect();
        self.unreadable.retain(|lost| parts.iter().all(|part| part.buf != *lost));
        let awaited = parts.iter().filter(|part| self.ftl.is_awaited(part.buf));
        let lost: Vec<u32> = awaited.filter_map(|part| part.lpn.map(|lpn| lpn.0)).collect();
        for part in parts {
            self.ftl.handle(Input::Lost(part.buf));
        }
        let mut over = Vec::new();
        for (id, open) in self.requests.iter_mut() {
            let before = open.deferred_pages.len();
            open.deferred_pages.retain(|lpn| !lost.contains(lpn));
            if open.deferred_pages.len() < before {
                open.fault = Some(IoError::Unreadable);
                if open.is_over() {
                    over.push(id);
                }
            }
        }
        over.into_iter().for_each(|id| self.on_all_parts_done(id));
    }

    /// All sub-requests of a request are done: completes it, or submits the flush that it requires.
    pub(super) fn on_all_parts_done(&mut self, id: RequestId) {
        let open = self.requests.get(id);
        let is_flush = open.command == Command::Flush || open.flushing;
        if open.fault.is_none() && open.wants_durable() && !is_flush {
            (open.flushing, open.left) = (true, 1);
            // The caller carries out the resulting actions.
            self.ftl.handle(Input::Host(HostRequest::Flush(id)));
        } else {
            self.end_request(id);
        }
    }

    /// Completes a request.
    pub(super) fn end_request(&mut self, id: RequestId) {
        if !self.requests.get(id).deferred_pages.is_empty() {
            return self.detach_request(id);
        }
        let open = self.requests.remove(id);
        let needs_sync = open.wants_durable() && open.fault.is_none();
        if let RequestBytes::Owned(payload) = open.bytes {
            self.counters.failed += u64::from(open.fault.is_some());
            let (command, result) = (open.command, open.fault.map_or(Ok(()), Err));
            self.finished.push(Completion { command, payload, result, needs_sync });
        }
    }

    /// Fails waiting requests while the file under the image accepts no writes, so that no client
    /// waits indefinitely: requests that change data complete with the error. Data already in the
    /// layer stay there, and are written when there is space.
    pub(super) fn fail_waiting(&mut self) {
        let Some(fault) = self.failure else { return };
        let changes = |open: &OpenRequest<P>| !matches!(open.command, Command::Read { .. });
        let all = self.requests.iter_mut().filter(|(_, open)| changes(open));
        let all: Vec<_> = all.map(|(id, _)| id).collect();
        for id in all {
            self.requests.get(id).fault = Some(fault);
            self.detach_request(id);
        }
    }

    /// Completes a failed request before the layer is done with it; the layer continues with a copy
    /// of its data.
    fn detach_request(&mut self, id: RequestId) {
        let open = self.requests.get(id);
        let RequestBytes::Owned(payload) = &open.bytes else { return };
        let copy = RequestBytes::Detached(payload.bytes().to_vec());
        let fault = open.fault.unwrap_or(IoError::Medium);
        let command = open.command;
        if let RequestBytes::Owned(payload) = std::mem::replace(&mut open.bytes, copy) {
            self.counters.failed += 1;
            self.finished.push(Completion {
                command,
                payload,
                result: Err(fault),
                needs_sync: false,
            });
        }
    }
}

/// The byte range of a sub-request in the buffer of its unit.
fn within(sub_request: SubRequest) -> (usize, usize) {
    let from = sub_request.start as usize * 512;
    (from, from + sub_request.len as usize * 512)
}
