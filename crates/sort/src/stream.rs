//! Reads files sequentially ahead of the consumer, in chunks of whole records.

use crate::Progress;
use crate::SortError;
use crate::file::SortFile;
use crate::format::RecordFormat;
use crate::memory::{Buffer, PAGE};
use crate::queue::{IoQueue, Op, TransferDone, TransferRequest};
use crate::stop::moved;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Maximum space before the data of a transfer, for the start of a record that ends in it.
const HEAD: usize = 16 * PAGE;

/// Maximum length of a record: positions in a chunk have 32 bits.
const LONGEST: usize = 1 << 31;

/// Fraction of a transfer (one in `WASTE`) that a chunk may waste at its end on the start of a
/// record.
const WASTE: usize = 32;

/// The space before the data of a transfer, a small fraction of it.
pub fn head(transfer: usize) -> usize {
    (transfer / 8).next_multiple_of(PAGE).clamp(PAGE, HEAD)
}

/// Bytes of a buffer for transfers of this size.
pub fn room(transfer: usize) -> usize {
    head(transfer) + transfer.next_multiple_of(PAGE) + PAGE
}

/// A buffer of whole records.
#[derive(Debug, Default)]
pub struct Chunk {
    pub buffer: Buffer,
    /// Start of the first record.
    pub start: usize,
    /// End of the last record.
    pub end: usize,
}

impl Chunk {
    /// The buffer up to the end of the last record; positions of records count from its start.
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
    pub file: Arc<SortFile>,
    /// Offset in the file, a multiple of the page size.
    pub offset: u64,
    pub len: u64,
}

/// Reads parts of files in order. Each part consists of whole records.
pub struct RecordStream<'a, S> {
    format: &'a S,
    queue: &'a IoQueue,
    progress: &'a Progress,
    extents: VecDeque<Extent>,
    transfer: usize,
    reply: Sender<TransferDone>,
    replies: Receiver<TransferDone>,
    /// By transfer, in order: whether it ends an extent, and its result when it is done.
    ahead: VecDeque<(bool, Option<TransferDone>)>,
    depth: usize,
    taken: u64,
    /// The bytes after the last whole record of the previous chunk.
    carry: Vec<u8>,
    spare: Vec<Buffer>,
}

impl<'a, S: RecordFormat> RecordStream<'a, S> {
    /// A stream with `depth` transfers in flight.
    pub fn new(
        format: &'a S,
        queue: &'a IoQueue,
        progress: &'a Progress,
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
            format,
            queue,
            progress,
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

    /// Returns a buffer for reuse.
    pub fn give_back(&mut self, buffer: Buffer) {
        if buffer.len() == room(self.transfer) && buffer.is_aligned() {
            self.spare.push(buffer);
        }
    }

    fn submit_read(&mut self) {
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
            self.queue.submit(TransferRequest {
                op: Op::Read,
                file,
                offset,
                buffer,
                // At most the length of a transfer.
                part: head..head + len as usize,
                tag,
                reply: self.reply.clone(),
            });
        }
    }

    /// The next chunk; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Chunk>, SortError> {
        loop {
            self.progress.check()?;
            self.submit_read();
            let Some((last, waiting)) = self.ahead.front_mut() else { return Ok(None) };
            let Some(done) = waiting.take() else {
                // This stream holds a sender, so receiving never fails.
                let Ok(done) = self.replies.recv() else { return Ok(None) };
                let at = (done.tag - self.taken) as usize;
                self.ahead[at].1 = Some(done);
                continue;
            };
            let last = *last;
            self.ahead.pop_front();
            self.taken += 1;
            done.result?;
            moved(self.progress, done.part.len() as u64);
            self.submit_read();
            let chunk = self.prepend_carry(done.buffer, done.part.end, last);
            if self.carry.len() > LONGEST {
                let why = "it is longer than 2 GiB, and an entry of the sort cannot address more";
                let hint = "--zero-terminated, if lines end in a zero byte";
                return Err(SortError::impossible("a record", why, hint));
            }
            if chunk.len() > 0 {
                return Ok(Some(chunk));
            }
            self.give_back(chunk.buffer);
        }
    }

    /// The number of bytes of `read` up to the end of the last record that ends in it.
    fn ended(&self, read: &[u8]) -> usize {
        match self.format.length() {
            Some(length) => read.len().saturating_sub((self.carry.len() + read.len()) % length),
            // The carried bytes hold no end of a record.
            None => self.format.complete_len(read),
        }
    }

    /// Puts the start of the first record before the bytes read, and keeps the start of the last
    /// record for the next chunk. A record that is long compared with a transfer gets a chunk of
    /// exactly its size: buffers that are half used would take twice the memory of their records.
    fn prepend_carry(&mut self, mut buffer: Buffer, mut end: usize, last: bool) -> Chunk {
        let head = head(self.transfer);
        if last
            && let Some(separator) = self.format.separator()
            && buffer.get()[end - 1] != separator
        {
            buffer.get_mut()[end] = separator;
            end += 1;
        }
        let whole = head + self.ended(&buffer.get()[head..end]);
        if whole == head {
            self.carry.extend_from_slice(&buffer.get()[head..end]);
            return Chunk { buffer, start: head, end: head };
        }
        if self.carry.len() <= head && end - whole <= self.transfer / WASTE {
            let start = head - self.carry.len();
            buffer.get_mut()[start..head].copy_from_slice(&self.carry);
            self.carry.clear();
            self.carry.extend_from_slice(&buffer.get()[whole..end]);
            return Chunk { buffer, start, end: whole };
        }
        let mut bytes = std::mem::take(&mut self.carry);
        bytes.reserve_exact(whole - head);
        bytes.extend_from_slice(&buffer.get()[head..whole]);
        bytes.shrink_to_fit();
        self.carry.extend_from_slice(&buffer.get()[whole..end]);
        self.give_back(buffer);
        // The chunk replaces spare buffers, whose memory would otherwise be held in addition.
        let instead = bytes.len().div_ceil(room(self.transfer));
        self.spare.truncate(self.spare.len().saturating_sub(instead));
        Chunk { end: bytes.len(), buffer: Buffer::of(bytes), start: 0 }
    }
}
