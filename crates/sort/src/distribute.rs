//! Two passes, by distribution: records are put into buckets of a range of keys each, which are files
//! in pieces; then one bucket after the other is read, sorted and written.

use crate::SortError;
use crate::entries::Room;
use crate::file::File;
use crate::incore::MOST_CHUNKS;
use crate::memory::{Buffer, PAGE};
use crate::output::{Output, Writer};
use crate::partition::Partition;
use crate::queue::{Op, Request};
use crate::shape::Shape;
use crate::space::Space;
use crate::stream::{Chunk, Stream};
use crate::work::{Bench, Work, weight};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A piece of a bucket in a temporary file: whole records from a page on.
#[derive(Clone, Debug)]
pub struct Block {
    pub file: Arc<File>,
    pub offset: u64,
    pub len: u64,
}

/// Records of a range of keys, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    pub blocks: Vec<Block>,
    pub records: u64,
    pub bytes: u64,
    /// Whether all their keys are equal: there is nothing to sort.
    pub is_equal: bool,
}

/// Puts all records of a stream into buckets.
pub fn scatter<S: Shape>(
    work: &Work<'_, S>,
    stream: &mut Stream<'_, S>,
    partition: &Partition,
    writer: &Writer<'_>,
    space: &mut Space,
) -> Result<Vec<Bucket>, SortError> {
    let (shape, mut away) = (work.shape, 0u64);
    let mut buckets: Vec<Bucket> = (0..partition.len())
        .map(|range| Bucket {
            is_equal: shape.is_whole() && partition.is_single(range),
            ..Bucket::default()
        })
        .collect();
    // Of each bucket what is not written yet.
    let mut open: Vec<(Buffer, usize)> = (0..partition.len()).map(|_| Default::default()).collect();
    let mut write = |range: usize, bucket: &mut Bucket, (buffer, len): (Buffer, usize)| {
        // A page is never written in part.
        let written = len.next_multiple_of(PAGE);
        // Each bucket lies on all devices: they are read at a time.
        let (file, offset) = space.block(range + bucket.blocks.len(), written as u64);
        bucket.blocks.push(Block { file: file.clone(), offset, len: len as u64 });
        writer.write(file, offset, buffer, 0..written);
    };
    while let Some(chunk) = stream.next()? {
        let bytes = chunk.bytes();
        let mut start = chunk.start;
        while start < bytes.len() {
            let end = shape.end(bytes, start);
            let record = &bytes[start..end];
            let prefix = shape.prefix(record);
            away = away.wrapping_add(weight(prefix));
            let range = partition.of(prefix);
            let bucket = &mut buckets[range];
            bucket.records += 1;
            bucket.bytes += record.len() as u64;
            let (buffer, len) = &mut open[range];
            let after = *len + record.len();
            if let Some(place) = buffer.get_mut().get_mut(*len..after) {
                place.copy_from_slice(record);
                *len = after;
            } else {
                let full = std::mem::take(&mut open[range]);
                if full.1 > 0 {
                    write(range, bucket, full);
                }
                let mut buffer = if record.len() <= writer.transfer() {
                    writer.take()?
                } else {
                    Buffer::new(record.len())
                };
                buffer.get_mut()[..record.len()].copy_from_slice(record);
                open[range] = (buffer, record.len());
            }
            start = end;
        }
        stream.give_back(chunk.buffer);
    }
    for (range, (bucket, rest)) in buckets.iter_mut().zip(open).enumerate() {
        if rest.1 > 0 {
            write(range, bucket, rest);
        }
    }
    writer.finish()?;
    work.away(away);
    Ok(buckets)
}

/// Memory that workers share.
struct Budget {
    all: u64,
    left: Mutex<u64>,
    changed: Condvar,
}

impl Budget {
    fn new(all: u64) -> Self {
        Self { all, left: Mutex::new(all), changed: Condvar::new() }
    }

    /// Waits until so much is left; what is more than all has all.
    fn with<T>(&self, bytes: u64, work: impl FnOnce() -> T) -> T {
        let bytes = bytes.min(self.all);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = self.changed.wait_while(left, |left| *left < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        let _taken = Taken { budget: self, bytes };
        work()
    }
}

/// What a worker has of it; it comes back however the work ends.
struct Taken<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.budget.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.changed.notify_all();
    }
}

/// Buffers that buckets are read into, used again.
#[derive(Default)]
pub struct Spare(Mutex<Vec<Buffer>>);

impl Spare {
    fn take(&self, len: usize) -> Buffer {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match spare.iter().rposition(|buffer| buffer.len() >= len) {
            Some(found) => spare.swap_remove(found),
            None => Buffer::new(len),
        }
    }

    fn give_back(&self, chunks: Vec<Chunk>) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(chunks.into_iter().map(|chunk| chunk.buffer));
    }
}

/// Reads blocks, all at a time.
fn read<S: Shape>(
    work: &Work<'_, S>,
    blocks: &[Block],
    room: usize,
    spare: &Spare,
) -> Result<Vec<Chunk>, SortError> {
    let (reply, replies) = channel();
    for (tag, block) in (0..).zip(blocks) {
        // As much as is in memory at a time.
        let len = block.len as usize;
        work.queue.ask(Request {
            op: Op::Read,
            file: block.file.clone(),
            offset: block.offset,
            buffer: spare.take(room.max(len)),
            // Whole pages were written.
            part: 0..len.next_multiple_of(PAGE),
            tag,
            reply: reply.clone(),
        });
    }
    let mut chunks: Vec<Chunk> = blocks.iter().map(|_| Chunk::default()).collect();
    let mut failed = Ok(());
    for done in replies.iter().take(blocks.len()) {
        failed = failed.and(done.result);
        let at = done.tag as usize;
        let end = blocks[at].len as usize;
        work.watch.step(end as u64);
        chunks[at] = Chunk { buffer: done.buffer, start: 0, end };
    }
    failed.map(|()| chunks)
}

/// Sorts the buckets that fit in `most` bytes and writes them, as many of `workers` at a time as have
/// place there; answers with the others, and where each belongs.
pub fn gather<S: Shape>(
    work: &Work<'_, S>,
    buckets: &[Bucket],
    output: &Output<'_>,
    (most, room, workers): (u64, usize, usize),
) -> Result<Vec<(Bucket, u64)>, SortError> {
    let mut at = 0;
    let mut tasks = Vec::new();
    let mut large = Vec::new();
    for bucket in buckets {
        if bucket.is_equal {
            // As they came, a part at a time.
            let mut from = at;
            let parts = (most / workers as u64 / room as u64).clamp(1, MOST_CHUNKS as u64);
            for blocks in bucket.blocks.chunks(parts as usize) {
                tasks.push((blocks, bucket, from));
                from += blocks.iter().map(|block| block.len).sum::<u64>();
            }
        } else if bucket.bytes <= most && bucket.blocks.len() <= MOST_CHUNKS {
            tasks.push((&bucket.blocks[..], bucket, at));
        } else {
            large.push((bucket.clone(), at));
        }
        at += bucket.bytes;
    }
    let next = AtomicUsize::new(0);
    let (spare, budget) = (Spare::default(), Budget::new(most));
    let work = Work { threads: workers, ..*work };
    work.on_all(|failed| {
        let mut bench = Bench::default();
        while let Some(&(blocks, bucket, at)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            failed.check(work.watch)?;
            let bytes: u64 = blocks.iter().map(|block| block.len).sum();
            // Of a part of a bucket about its part of them.
            let part = bytes as f64 / bucket.bytes.max(1) as f64;
            let records = (bucket.records as f64 * part).ceil() as u64;
            budget.with(bytes, || {
                let chunks = read(&work, blocks, room, &spare)?;
                let to = (output, at);
                work.sort_batch(&chunks, records, to, &mut bench)?;
                spare.give_back(chunks);
                if bytes > most / workers as u64 {
                    // It took what is the others'.
                    bench.room = Room::default();
                }
                Ok::<_, SortError>(())
            })?;
        }
        Ok(())
    })?;
    Ok(large)
}
