//! A file read from its start, ahead of who wants it, in pieces of whole records.

use crate::SortError;
use crate::Watch;
use crate::file::File;
use crate::memory::{Buffer, PAGE};
use crate::queue::{Done, Op, Queue, Request};
use crate::shape::Shape;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The most room before what is read: the start of a record whose rest comes is put there.
const HEAD: usize = 16 * PAGE;

/// That room: little beside a transfer.
fn head(transfer: usize) -> usize {
    (transfer / 8).next_multiple_of(PAGE).clamp(PAGE, HEAD)
}

/// Bytes of a buffer for pieces of such transfers.
pub fn room(transfer: usize) -> usize {
    head(transfer) + transfer.next_multiple_of(PAGE) + PAGE
}

/// Whole records.
#[derive(Debug, Default)]
pub struct Chunk {
    pub buffer: Buffer,
    /// Where the first starts.
    pub start: usize,
    /// Where the last ends.
    pub end: usize,
}

impl Chunk {
    /// The buffer up to the last record's end: positions of records count from its start.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.get()[..self.end]
    }

    pub fn len(&self) -> usize {
        self.end - self.start
    }
}

/// A part of a file.
#[derive(Clone, Debug)]
pub struct Extent {
    pub file: Arc<File>,
    /// A whole page.
    pub offset: u64,
    pub len: u64,
}

/// Parts of files, read one after the other. Each starts with a record and ends with one.
pub struct Stream<'a, S> {
    shape: &'a S,
    queue: &'a Queue,
    watch: &'a Watch,
    extents: VecDeque<Extent>,
    transfer: usize,
    reply: Sender<Done>,
    replies: Receiver<Done>,
    /// Of each transfer under way or done, in order: whether an extent ends with it; and when it is
    /// done, what it brought.
    ahead: VecDeque<(bool, Option<Done>)>,
    depth: usize,
    taken: u64,
    /// What the last piece ended with: the start of a record.
    carry: Vec<u8>,
    spare: Vec<Buffer>,
}

impl<'a, S: Shape> Stream<'a, S> {
    /// Keeps `depth` transfers under way.
    pub fn new(
        shape: &'a S,
        queue: &'a Queue,
        watch: &'a Watch,
        extents: impl IntoIterator<Item = Extent>,
        transfer: usize,
        depth: usize,
    ) -> Self {
        let (reply, replies) = channel();
        let extents = extents.into_iter().filter(|extent| extent.len > 0).collect();
        let transfer = transfer.next_multiple_of(PAGE);
        let (ahead, carry, spare) = (VecDeque::new(), Vec::new(), Vec::new());
        let (depth, taken) = (depth.max(1), 0);
        Self {
            shape,
            queue,
            watch,
            extents,
            transfer,
            reply,
            replies,
            ahead,
            depth,
            taken,
            carry,
            spare,
        }
    }

    /// Takes a buffer back.
    pub fn give_back(&mut self, buffer: Buffer) {
        if buffer.len() == room(self.transfer) {
            self.spare.push(buffer);
        }
    }

    fn ask(&mut self) {
        let head = head(self.transfer);
        while self.ahead.len() < self.depth {
            let Some(extent) = self.extents.front_mut() else { return };
            let len = extent.len.min(self.transfer as u64);
            let (file, offset) = (extent.file.clone(), extent.offset);
            extent.offset += len;
            extent.len -= len;
            let last = extent.len == 0;
            if last {
                self.extents.pop_front();
            }
            let buffer = self.spare.pop();
            let buffer = buffer.unwrap_or_else(|| Buffer::new(room(self.transfer)));
            let tag = self.taken + self.ahead.len() as u64;
            self.ahead.push_back((last, None));
            self.queue.ask(Request {
                op: Op::Read,
                file,
                offset,
                buffer,
                // No more than a transfer.
                part: head..head + len as usize,
                tag,
                reply: self.reply.clone(),
            });
        }
    }

    /// The next piece; none at the end.
    pub fn next(&mut self) -> Result<Option<Chunk>, SortError> {
        loop {
            self.watch.check()?;
            self.ask();
            let Some((last, waiting)) = self.ahead.front_mut() else { return Ok(None) };
            let Some(done) = waiting.take() else {
                // We hold a sender: this never fails.
                let Ok(done) = self.replies.recv() else { return Ok(None) };
                let at = (done.tag - self.taken) as usize;
                self.ahead[at].1 = Some(done);
                continue;
            };
            let last = *last;
            self.ahead.pop_front();
            self.taken += 1;
            done.result?;
            self.watch.step(done.part.len() as u64);
            self.ask();
            let chunk = self.cut(done.buffer, done.part.end, last);
            if chunk.len() > 0 {
                return Ok(Some(chunk));
            }
            self.give_back(chunk.buffer);
        }
    }

    /// Puts the start of the first record before what was read, and takes that of the last away.
    fn cut(&mut self, mut buffer: Buffer, mut end: usize, last: bool) -> Chunk {
        let head = head(self.transfer);
        let mut start = head;
        if self.carry.len() <= head {
            start -= self.carry.len();
        } else {
            let mut larger = Buffer::new(self.carry.len() + end - head + PAGE);
            let read = end - head;
            start = 0;
            end = self.carry.len() + read;
            larger.get_mut()[self.carry.len()..end]
                .copy_from_slice(&buffer.get()[head..head + read]);
            self.give_back(std::mem::replace(&mut buffer, larger));
        }
        buffer.get_mut()[start..start + self.carry.len()].copy_from_slice(&self.carry);
        self.carry.clear();
        if last
            && let Some(separator) = self.shape.separator()
            && buffer.get()[end - 1] != separator
        {
            buffer.get_mut()[end] = separator;
            end += 1;
        }
        let whole = start + self.shape.whole(&buffer.get()[start..end]);
        self.carry.extend_from_slice(&buffer.get()[whole..end]);
        Chunk { buffer, start, end: whole }
    }
}
