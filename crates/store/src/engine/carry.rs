//! Carrying out what the layer wants done.

use super::request::{Bytes, Command, Completion, Open};
use super::{Engine, Moved, Payload};
use crate::checksums::Proof;
use crate::error::Fault;
use crate::format::{NO_LPN, summary, trims};
use crate::log;
use gordon_ftl::{Action, HostRequest, Input, PageSegment, RequestId, SubRequest};
use gordon_nand::{Buf, FlashOp};
use gordon_units::BlockId;

impl<P: Payload> Engine<P> {
    /// Does what the layer wants, until it waits.
    pub(super) fn carry_out(&mut self) {
        loop {
            match self.ftl.poll() {
                Action::Wait => return,
                Action::Flash(op) => self.issue(op, false),
                Action::Copy(op) => self.issue(op, true),
                Action::Zero(buf) => self.buffers.get_mut(buf).fill(0),
                Action::Fill(buf, piece) => self.fill(buf, piece),
                Action::Summarize(buf, block, part) => self.summarize(buf, block, part),
                Action::Record(buf) => {
                    let mut bytes = self.scratch.spare.pop().unwrap_or_default();
                    trims::encode(&mut bytes, self.ftl.trim_record());
                    self.note(buf, bytes);
                }
                Action::Give(buf, piece) => {
                    let sector = self.sector(piece);
                    let (from, to) = within(piece);
                    let bytes = &self.buffers.get(buf)[from..to];
                    let open = self.open.get(piece.request);
                    if let Some(part) = open.part_mut(sector, piece.len) {
                        part.copy_from_slice(bytes);
                    }
                }
                Action::GiveZeros(piece) => {
                    let sector = self.sector(piece);
                    let open = self.open.get(piece.request);
                    if let Some(part) = open.part_mut(sector, piece.len) {
                        part.fill(0);
                    }
                }
                Action::Ack(id, _) => self.answered(id, false),
                Action::Refuse(id) => self.answered(id, true),
            }
        }
    }

    /// Moves the bytes of an operation.
    fn issue(&mut self, op: FlashOp, copies: bool) {
        self.log = log::add(self.log, op);
        self.count_op(op);
        // What is read with one call in large parts gains nothing by being cut up.
        if let FlashOp::Read { ppn, buf, slots: 0..4 } = op
            && self.image.disk.media().is_parallel()
        {
            // The page stays as it is, and the buffers wait for it, until the layer hears of it.
            self.reads.push((ppn, buf));
            self.moved.push_back(Moved { op, copies, failed: false });
            return;
        }
        self.attempt(op, copies);
    }

    /// Tries an operation; where the file under the image refuses, it is kept for later.
    fn attempt(&mut self, op: FlashOp, copies: bool) -> bool {
        match self.transfer(op) {
            Ok(done) => self.moved.push_back(Moved { op, copies, failed: !done }),
            Err(error) => {
                self.counters.medium_errors += 1;
                self.failure = Some(Fault::of(&error));
                self.stuck.push_back((op, copies));
                return false;
            }
        }
        true
    }

    /// Tries again what the file under the image refused; says why if it still does.
    pub(super) fn retry(&mut self) -> Option<Fault> {
        if self.disk().is_broken() {
            if !self.distrusted {
                self.distrusted = true;
                self.image.distrust();
            }
            self.failure = Some(Fault::Medium);
            return self.failure;
        }
        self.failure?;
        self.failure = None;
        for _ in 0..self.stuck.len() {
            let (op, copies) = self.stuck.pop_front()?;
            if !self.attempt(op, copies) {
                self.stuck.rotate_right(1);
                break;
            }
        }
        self.failure
    }

    fn fill(&mut self, buf: Buf, piece: SubRequest) {
        let sector = self.sector(piece);
        let (from, to) = within(piece);
        let buffer = &mut self.buffers.get_mut(buf)[from..to];
        let open = self.open.get(piece.request);
        match open.part(sector, piece.len) {
            Some(part) => buffer.copy_from_slice(part),
            None => buffer.fill(0),
        }
        open.placed(piece.lpn.0);
        if open.is_over() {
            self.step_on(piece.request);
        }
    }

    /// Encodes the summary of a block for the program of its page number `part`. All parts but the
    /// head, which is in part 0, are the same each time: the data pages of the block are
    /// programmed.
    fn summarize(&mut self, buf: Buf, block: BlockId, part: u32) {
        let (pages, slots) =
            (self.image.resolved.config.data_pages(self.ftl.layout()), self.ftl.config().slots);
        let mut bytes = self.scratch.spare.pop().unwrap_or_default();
        summary::start(&mut bytes, block, pages, slots, self.disk().syncs());
        let (places, media) = (&self.image.places, self.image.disk.media());
        // Without numbers it is none, and a mount looks at the pages.
        let proof = Proof { ftl: &self.ftl, erases: self.rules.block(block).erases };
        let numbers = self.checksums.sequences(block, places, media, proof).unwrap_or_default();
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
        self.note(buf, bytes);
    }

    /// Keeps the content of a page that is no unit until it is programmed.
    fn note(&mut self, buf: Buf, bytes: Vec<u8>) {
        self.notes.retain(|(other, _)| *other != buf);
        self.notes.push((buf, bytes));
    }

    fn sector(&self, piece: SubRequest) -> u64 {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        u64::from(piece.lpn.0) * per_page + u64::from(piece.start)
    }

    /// A piece of a request is done, or refused.
    pub(super) fn answered(&mut self, id: RequestId, refused: bool) {
        let worn_out = self.ftl.is_worn_out();
        let open = self.open.get(id);
        if refused {
            let reads = matches!(open.command, Command::Read { .. });
            let unreadable = reads || !worn_out;
            open.fault = Some(if unreadable { Fault::Unreadable } else { Fault::WornOut });
        }
        open.left -= 1;
        if open.is_over() {
            self.step_on(id);
        }
    }

    /// Tells the layer which units of a read are lost. Pieces of writes that waited for the rest of
    /// theirs go nowhere.
    #[cold]
    pub(super) fn lose(&mut self, buf: Buf) {
        let parts: Vec<PageSegment> =
            self.ftl.segments(buf).filter(|part| self.lost.contains(&part.buf)).collect();
        self.lost.retain(|lost| parts.iter().all(|part| part.buf != *lost));
        let awaited = parts.iter().filter(|part| self.ftl.is_awaited(part.buf));
        let lost: Vec<u32> = awaited.filter_map(|part| part.lpn.map(|lpn| lpn.0)).collect();
        for part in parts {
            self.ftl.handle(Input::Lost(part.buf));
        }
        let mut over = Vec::new();
        for (id, open) in self.open.iter_mut() {
            let before = open.late.len();
            open.late.retain(|lpn| !lost.contains(lpn));
            if open.late.len() < before {
                open.fault = Some(Fault::Unreadable);
                if open.is_over() {
                    over.push(id);
                }
            }
        }
        over.into_iter().for_each(|id| self.step_on(id));
    }

    /// All pieces of a request are done: it ends, or its flush follows.
    pub(super) fn step_on(&mut self, id: RequestId) {
        let open = self.open.get(id);
        let is_flush = open.command == Command::Flush || open.flushing;
        if open.fault.is_none() && open.wants_durable() && !is_flush {
            (open.flushing, open.left) = (true, 1);
            // What follows is carried out by whoever called.
            self.ftl.handle(Input::Host(HostRequest::Flush(id)));
        } else {
            self.end(id);
        }
    }

    /// A request ends.
    pub(super) fn end(&mut self, id: RequestId) {
        if !self.open.get(id).late.is_empty() {
            return self.orphan(id);
        }
        let open = self.open.remove(id);
        let durable = open.wants_durable() && open.fault.is_none();
        if let Bytes::Owned(payload) = open.bytes {
            self.counters.failed += u64::from(open.fault.is_some());
            let (command, result) = (open.command, open.fault.map_or(Ok(()), Err));
            self.finished.push(Completion { command, payload, result, durable });
        }
    }

    /// While the file under the image takes nothing, nobody is left waiting: requests that change
    /// something end with the reason. What the layer has taken in stays, and is written when there
    /// is room.
    pub(super) fn give_up(&mut self) {
        let Some(fault) = self.failure else { return };
        let changes = |open: &Open<P>| !matches!(open.command, Command::Read { .. });
        let all = self.open.iter_mut().filter(|(_, open)| changes(open));
        let all: Vec<_> = all.map(|(id, _)| id).collect();
        for id in all {
            self.open.get(id).fault = Some(fault);
            self.orphan(id);
        }
    }

    /// Ends a request that failed before the layer is through with it: a copy of its bytes stays.
    fn orphan(&mut self, id: RequestId) {
        let open = self.open.get(id);
        let Bytes::Owned(payload) = &open.bytes else { return };
        let copy = Bytes::Orphan(payload.bytes().to_vec());
        let fault = open.fault.unwrap_or(Fault::Medium);
        let command = open.command;
        if let Bytes::Owned(payload) = std::mem::replace(&mut open.bytes, copy) {
            self.counters.failed += 1;
            self.finished.push(Completion { command, payload, result: Err(fault), durable: false });
        }
    }
}

/// A piece's place in its unit's buffer.
fn within(piece: SubRequest) -> (usize, usize) {
    let from = piece.start as usize * 512;
    (from, from + piece.len as usize * 512)
}
