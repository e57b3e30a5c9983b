//! Writes sorted records to a file: any thread can write any part of it.

use crate::Progress;
use crate::SortError;
use crate::file::SortFile;
use crate::memory::{Buffer, PAGE};
use crate::queue::{IoQueue, Op, TransferDone, TransferRequest};
use crate::stop::moved;
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A limited number of buffers that are written to files and reused.
pub struct Writer<'a> {
    queue: &'a IoQueue,
    progress: &'a Progress,
    transfer: usize,
    most: usize,
    reply: Sender<TransferDone>,
    returned: Mutex<ReturnedBuffers>,
    /// Number of buffers being written.
    under_way: AtomicUsize,
}

/// Receives buffers that have been written. A thread that waits here holds the lock, and depends on
/// no thread that does not.
struct ReturnedBuffers {
    replies: Receiver<TransferDone>,
    spare: Vec<Buffer>,
    made: usize,
}

impl<'a> Writer<'a> {
    /// A writer with at most `most` buffers of `transfer` bytes.
    pub fn new(queue: &'a IoQueue, progress: &'a Progress, transfer: usize, most: usize) -> Self {
        let (reply, replies) = channel();
        let back = Mutex::new(ReturnedBuffers { replies, spare: Vec::new(), made: 0 });
        let transfer = transfer.next_multiple_of(PAGE);
        Self {
            queue,
            progress,
            transfer,
            most,
            reply,
            returned: back,
            under_way: AtomicUsize::new(0),
        }
    }

    pub fn transfer(&self) -> usize {
        self.transfer
    }

    /// Keeps a buffer that was written, and reports an error of the write.
    fn keep(&self, back: &mut ReturnedBuffers, done: TransferDone) -> Result<(), SortError> {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        // A buffer for a single long record is not part of the pool. The buffer of a failed write
        // is kept, since other threads may wait for it.
        if done.buffer.len() == self.transfer {
            back.spare.push(done.buffer);
        } else if done.buffer.len() == 0 {
            // The buffer was lost.
            back.made -= 1;
        }
        done.result?;
        moved(self.progress, done.part.len() as u64);
        Ok(())
    }

    /// Waits until a buffer is returned.
    fn wait(&self, back: &mut ReturnedBuffers) -> Result<(), SortError> {
        // This writer holds a sender, so receiving never fails.
        back.replies.recv().map_or(Ok(()), |done| self.keep(back, done))
    }

    /// Returns an empty buffer, and waits for one if necessary.
    pub fn take(&self) -> Result<Buffer, SortError> {
        let mut back = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.progress.check()?;
            while let Ok(done) = back.replies.try_recv() {
                self.keep(&mut back, done)?;
            }
            if let Some(buffer) = back.spare.pop() {
                return Ok(buffer);
            }
            if back.made < self.most {
                back.made += 1;
                return Ok(Buffer::new(self.transfer));
            }
            self.wait(&mut back)?;
        }
    }

    /// Returns a buffer that was not needed.
    pub fn give_back(&self, buffer: Buffer) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        // This writer holds both ends of the channel, so sending never fails.
        let _ = self.reply.send(TransferDone { tag: 0, buffer, part: 0..0, result: Ok(()) });
    }

    /// Writes a part of a buffer at `offset`.
    pub fn write(&self, file: Arc<SortFile>, offset: u64, buffer: Buffer, part: Range<usize>) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let reply = self.reply.clone();
        self.queue.submit(TransferRequest {
            op: Op::Write,
            file,
            offset,
            buffer,
            part,
            tag: 0,
            reply,
        });
    }

    /// Waits until everything is written.
    pub fn finish(&self) -> Result<(), SortError> {
        let mut back = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        while self.under_way.load(Ordering::Relaxed) > 0 {
            self.wait(&mut back)?;
        }
        Ok(())
    }
}

/// A part of a file that several threads write in any order, each byte once.
pub struct SortOutput<'a> {
    writer: &'a Writer<'a>,
    file: Arc<SortFile>,
    /// Offset of the part in the file, a multiple of the page size.
    base: u64,
    /// Incomplete pages by position, in which the parts of two threads meet.
    edges: Mutex<BTreeMap<u64, (Buffer, usize)>>,
}

impl<'a> SortOutput<'a> {
    pub fn new(writer: &'a Writer<'a>, file: Arc<SortFile>, base: u64) -> Self {
        Self { writer, file, base, edges: Mutex::default() }
    }

    /// Adds bytes of an incomplete page, and writes the page when it is complete.
    fn edge(&self, at: u64, bytes: &[u8]) -> Result<(), SortError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let within = (at % PAGE as u64) as usize;
        let place = at - within as u64;
        let page = {
            let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
            let (page, filled) = edges.entry(place).or_insert_with(|| (Buffer::new(PAGE), 0));
            page.get_mut()[within..within + bytes.len()].copy_from_slice(bytes);
            *filled += bytes.len();
            if *filled < PAGE {
                return Ok(());
            }
            edges.remove(&place)
        };
        page.map_or(Ok(()), |(page, filled)| self.write_page(place, &page, filled))
    }

    fn write_page(&self, place: u64, page: &Buffer, filled: usize) -> Result<(), SortError> {
        self.file.write(self.base + place, &page.get()[..filled])?;
        self.writer.queue.written.fetch_add(filled as u64, Ordering::Relaxed);
        moved(self.writer.progress, filled as u64);
        Ok(())
    }

    /// Writes the incomplete last page, after all emitters have ended.
    pub fn finish(&self) -> Result<(), SortError> {
        self.writer.finish()?;
        let edges = std::mem::take(&mut *self.edges.lock().unwrap_or_else(PoisonError::into_inner));
        edges.iter().try_for_each(|(&place, (page, filled))| self.write_page(place, page, *filled))
    }
}

/// Counts of the records written to an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub records: u64,
    pub bytes: u64,
}

impl AddAssign for Written {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.bytes += other.bytes;
    }
}

/// Writes records in order, from a position of an output on.
pub struct Emitter<'o, 'a> {
    output: &'o SortOutput<'a>,
    buffer: Buffer,
    /// Position of the first record in the output.
    start: u64,
    records: u64,
    /// Position of the buffer in the output.
    base: u64,
    from: usize,
    to: usize,
}

impl<'o, 'a> Emitter<'o, 'a> {
    /// An emitter that starts at byte `at` of the output.
    pub fn new(output: &'o SortOutput<'a>, at: u64) -> Result<Self, SortError> {
        let buffer = output.writer.take()?;
        // The value is below the length of a buffer.
        let from = (at % buffer.len() as u64) as usize;
        Ok(Self { output, base: at - from as u64, buffer, start: at, records: 0, from, to: from })
    }

    /// Appends a record.
    #[inline]
    pub fn push(&mut self, record: &[u8]) -> Result<(), SortError> {
        self.records += 1;
        let to = self.to + record.len();
        if let Some(place) = self.buffer.get_mut().get_mut(self.to..to) {
            place.copy_from_slice(record);
            self.to = to;
            return Ok(());
        }
        self.push_over(record)
    }

    #[cold]
    fn push_over(&mut self, mut record: &[u8]) -> Result<(), SortError> {
        while !record.is_empty() {
            if self.to == self.buffer.len() {
                self.flush()?;
                self.base += self.output.writer.transfer as u64;
                self.buffer = self.output.writer.take()?;
                (self.from, self.to) = (0, 0);
            }
            let (now, rest) = record.split_at(record.len().min(self.buffer.len() - self.to));
            self.buffer.get_mut()[self.to..self.to + now.len()].copy_from_slice(now);
            self.to += now.len();
            record = rest;
        }
        Ok(())
    }

    /// Sends the buffer: whole pages to the writer, incomplete pages to the edges of the output.
    fn flush(&mut self) -> Result<(), SortError> {
        let buffer = std::mem::take(&mut self.buffer);
        let (from, to) = (self.from, self.to);
        let (first, last) = (from.next_multiple_of(PAGE).min(to), to - to % PAGE);
        let output = self.output;
        let start = output.edge(self.base + from as u64, &buffer.get()[from..first]);
        // The last part is empty if the buffer held less than a page.
        let end = if last < first {
            Ok(())
        } else {
            output.edge(self.base + last as u64, &buffer.get()[last..to])
        };
        if last <= first || start.is_err() || end.is_err() {
            output.writer.give_back(buffer);
        } else {
            let offset = output.base + self.base + first as u64;
            output.writer.write(output.file.clone(), offset, buffer, first..last);
        }
        start.and(end)
    }

    /// Writes the rest.
    pub fn finish(mut self) -> Result<Written, SortError> {
        let bytes = self.base + self.to as u64 - self.start;
        self.flush()?;
        Ok(Written { records: self.records, bytes })
    }
}

impl Drop for Emitter<'_, '_> {
    /// If the emitter ends early, other threads may wait for its buffer.
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if buffer.len() > 0 {
            self.output.writer.give_back(buffer);
        }
    }
}
