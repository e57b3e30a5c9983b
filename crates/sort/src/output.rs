//! Sorted records on their way to a file: any thread writes any part of it.

use crate::Progress;
use crate::SortError;
use crate::file::SortFile;
use crate::memory::{Buffer, PAGE};
use crate::queue::{IoQueue, Op, TransferDone, TransferRequest};
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Buffers that go to files and come back; so many and no more.
pub struct Writer<'a> {
    queue: &'a IoQueue,
    progress: &'a Progress,
    transfer: usize,
    most: usize,
    reply: Sender<TransferDone>,
    returned: Mutex<ReturnedBuffers>,
    /// Buffers that will come back.
    under_way: AtomicUsize,
}

/// Where buffers come back. Who waits here holds it, and needs nothing of those who do not.
struct ReturnedBuffers {
    replies: Receiver<TransferDone>,
    spare: Vec<Buffer>,
    made: usize,
}

impl<'a> Writer<'a> {
    /// `most` buffers of `transfer` bytes.
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

    /// Keeps what came back.
    fn keep(&self, back: &mut ReturnedBuffers, done: TransferDone) -> Result<(), SortError> {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        // One for a single long record was made beside the others. Others may wait for one of a
        // failed write.
        if done.buffer.len() == self.transfer {
            back.spare.push(done.buffer);
        } else if done.buffer.len() == 0 {
            // It was lost.
            back.made -= 1;
        }
        done.result?;
        self.progress.step(done.part.len() as u64);
        Ok(())
    }

    /// Waits until something comes back.
    fn wait(&self, back: &mut ReturnedBuffers) -> Result<(), SortError> {
        // We hold a sender: this never fails.
        back.replies.recv().map_or(Ok(()), |done| self.keep(back, done))
    }

    /// An empty buffer, when there is one.
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

    /// Puts one back that was not needed.
    pub fn give_back(&self, buffer: Buffer) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        // Both ends are ours.
        let _ = self.reply.send(TransferDone { tag: 0, buffer, part: 0..0, result: Ok(()) });
    }

    /// Writes a part of a buffer there.
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

    /// Waits until all is written.
    pub fn finish(&self) -> Result<(), SortError> {
        let mut back = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        while self.under_way.load(Ordering::Relaxed) > 0 {
            self.wait(&mut back)?;
        }
        Ok(())
    }
}

/// A part of a file that is written from several places at once, in any order, each byte once.
pub struct SortOutput<'a> {
    writer: &'a Writer<'a>,
    file: Arc<SortFile>,
    /// Where it starts in the file: a page.
    base: u64,
    /// Pages of which a part has come, by their place: two neighbours meet in them.
    edges: Mutex<BTreeMap<u64, (Buffer, usize)>>,
}

impl<'a> SortOutput<'a> {
    pub fn new(writer: &'a Writer<'a>, file: Arc<SortFile>, base: u64) -> Self {
        Self { writer, file, base, edges: Mutex::default() }
    }

    /// Bytes of a part of a page; a whole page is written.
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
        self.writer.progress.step(filled as u64);
        Ok(())
    }

    /// Writes what is left: the start of the last page. All emitters have ended.
    pub fn finish(&self) -> Result<(), SortError> {
        self.writer.finish()?;
        let edges = std::mem::take(&mut *self.edges.lock().unwrap_or_else(PoisonError::into_inner));
        edges.iter().try_for_each(|(&place, (page, filled))| self.write_page(place, page, *filled))
    }
}

/// The records that were written to an output.
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

/// Writes records one after the other from some place of an output on.
pub struct Emitter<'o, 'a> {
    output: &'o SortOutput<'a>,
    buffer: Buffer,
    /// Where the first record starts in the output.
    start: u64,
    records: u64,
    /// Where the buffer starts in the output.
    base: u64,
    from: usize,
    to: usize,
}

impl<'o, 'a> Emitter<'o, 'a> {
    /// From byte `at` of the output on.
    pub fn new(output: &'o SortOutput<'a>, at: u64) -> Result<Self, SortError> {
        let buffer = output.writer.take()?;
        // Less than a buffer.
        let from = (at % buffer.len() as u64) as usize;
        Ok(Self { output, base: at - from as u64, buffer, start: at, records: 0, from, to: from })
    }

    /// The next record.
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

    /// Sends off what there is: whole pages by the writer, parts of pages by way of the edges.
    fn flush(&mut self) -> Result<(), SortError> {
        let buffer = std::mem::take(&mut self.buffer);
        let (from, to) = (self.from, self.to);
        let (first, last) = (from.next_multiple_of(PAGE).min(to), to - to % PAGE);
        let output = self.output;
        let start = output.edge(self.base + from as u64, &buffer.get()[from..first]);
        // Less where all of it lay within one page.
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

    /// No more come.
    pub fn finish(mut self) -> Result<Written, SortError> {
        let bytes = self.base + self.to as u64 - self.start;
        self.flush()?;
        Ok(Written { records: self.records, bytes })
    }
}

impl Drop for Emitter<'_, '_> {
    /// Where it ends early, others may wait for its buffer.
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if buffer.len() > 0 {
            self.output.writer.give_back(buffer);
        }
    }
}
