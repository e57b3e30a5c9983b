//! Two passes, by distribution: records are put into buckets of a range of keys each, which are
//! files in pieces; then one bucket after the other is read, sorted and written.

use crate::SortError;
use crate::context::{SortContext, WorkerScratch, key_hash};
use crate::entries::EntryArena;
use crate::file::SortFile;
use crate::format::RecordFormat;
use crate::incore::MOST_CHUNKS;
use crate::memory::{Buffer, PAGE};
use crate::output::{SortOutput, Writer, Written};
use crate::partition::Partition;
use crate::queue::{Op, TransferRequest};
use crate::space::Space;
use crate::stream::{Chunk, RecordStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A piece of a bucket in a temporary file: whole records from a page on.
#[derive(Clone, Debug)]
pub struct BucketBlock {
    pub file: Arc<SortFile>,
    pub offset: u64,
    pub len: u64,
}

/// Records of a range of keys, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    pub blocks: Vec<BucketBlock>,
    pub records: u64,
    pub bytes: u64,
    /// Whether all their keys are equal: there is nothing to sort.
    pub is_equal: bool,
}

impl Bucket {
    /// The memory that its blocks take in buffers of `room` bytes or more: those that end before a
    /// wide record are not full. The last block takes what it holds.
    fn memory(&self, room: usize) -> u64 {
        let Some((last, full)) = self.blocks.split_last() else { return 0 };
        full.iter().map(|block| memory_of(block, room)).sum::<u64>() + last.len
    }
}

/// The memory of a block in a buffer of `room` bytes or more.
fn memory_of(block: &BucketBlock, room: usize) -> u64 {
    block.len.max(room as u64)
}

/// Puts all records of a stream into buckets; answers with the length of the longest record, too.
pub fn scatter<S: RecordFormat>(
    context: &SortContext<'_, S>,
    stream: &mut RecordStream<'_, S>,
    partition: &Partition,
    writer: &Writer<'_>,
    space: &mut Space,
) -> Result<(Vec<Bucket>, usize), SortError> {
    let (format, mut away, mut longest) = (context.format, 0u64, 0);
    let mut buckets: Vec<Bucket> = (0..partition.len())
        .map(|range| Bucket {
            is_equal: format.prefix_is_full_key() && partition.is_single(range),
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
        bucket.blocks.push(BucketBlock { file: file.clone(), offset, len: len as u64 });
        writer.write(file, offset, buffer, 0..written);
    };
    while let Some(chunk) = stream.next()? {
        let bytes = chunk.bytes();
        let mut start = chunk.start;
        while start < bytes.len() {
            let end = format.end(bytes, start);
            let record = &bytes[start..end];
            let prefix = format.prefix(record);
            away = away.wrapping_add(key_hash(prefix));
            let range = partition.of(prefix);
            let bucket = &mut buckets[range];
            bucket.records += 1;
            bucket.bytes += record.len() as u64;
            longest = longest.max(record.len());
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
                let is_wide = record.len() > writer.transfer();
                let mut buffer = if is_wide { Buffer::new(record.len()) } else { writer.take()? };
                buffer.get_mut()[..record.len()].copy_from_slice(record);
                if is_wide {
                    // One at a time: the writer does not bound the number of such buffers.
                    write(range, bucket, (buffer, record.len()));
                    writer.finish()?;
                } else {
                    open[range] = (buffer, record.len());
                }
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
    context.add_spilled(away);
    Ok((buckets, longest))
}

/// Memory that workers share.
struct MemoryShare {
    all: u64,
    left: Mutex<u64>,
    changed: Condvar,
}

impl MemoryShare {
    fn new(all: u64) -> Self {
        Self { all, left: Mutex::new(all), changed: Condvar::new() }
    }

    /// Waits until so much is left; what is more than all has all.
    fn with<T>(&self, bytes: u64, work: impl FnOnce() -> T) -> T {
        let bytes = bytes.min(self.all);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = self.changed.wait_while(left, |left| *left < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        let _taken = MemoryGrant { budget: self, bytes };
        work()
    }
}

/// What a worker has of it; it comes back however the work ends.
struct MemoryGrant<'a> {
    budget: &'a MemoryShare,
    bytes: u64,
}

impl Drop for MemoryGrant<'_> {
    fn drop(&mut self) {
        *self.budget.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.changed.notify_all();
    }
}

/// Buffers of one size that buckets are read into, used again.
pub struct SpareBuffers {
    room: usize,
    buffers: Mutex<Vec<Buffer>>,
}

impl SpareBuffers {
    fn new(room: usize) -> Self {
        Self { room: room.next_multiple_of(PAGE), buffers: Mutex::default() }
    }

    fn take(&self, len: usize) -> Buffer {
        if len > self.room {
            return Buffer::new(len);
        }
        let mut spare = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_else(|| Buffer::new(self.room))
    }

    /// Keeps the buffers, but for those of a single wide record.
    fn give_back(&self, chunks: Vec<Chunk>) {
        let mut spare = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers = chunks.into_iter().map(|chunk| chunk.buffer);
        spare.extend(buffers.filter(|buffer| buffer.len() == self.room));
    }
}

/// Reads blocks, all at a time.
fn read<S: RecordFormat>(
    context: &SortContext<'_, S>,
    blocks: &[BucketBlock],
    spare: &SpareBuffers,
) -> Result<Vec<Chunk>, SortError> {
    let (reply, replies) = channel();
    for (tag, block) in (0..).zip(blocks) {
        // As much as is in memory at a time.
        let len = block.len as usize;
        context.queue.submit(TransferRequest {
            op: Op::Read,
            file: block.file.clone(),
            offset: block.offset,
            buffer: spare.take(len),
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
        context.progress.step(end as u64);
        chunks[at] = Chunk { buffer: done.buffer, start: 0, end };
    }
    failed.map(|()| chunks)
}

/// Sorts the buckets that fit in `most` bytes and writes them from byte `at` of the output on, as
/// many of `workers` at a time as have place there; answers with the others and where each belongs,
/// and with what was written. With `unique` there is one bucket: where the next one starts is not
/// known before.
pub fn gather<S: RecordFormat>(
    context: &SortContext<'_, S>,
    buckets: &[Bucket],
    (output, mut at): (&SortOutput<'_>, u64),
    (most, room, workers): (u64, usize, usize),
) -> Result<(Vec<(Bucket, u64)>, Written), SortError> {
    assert!(!context.unique || buckets.len() <= 1, "unique buckets are gathered one by one");
    let mut tasks = Vec::new();
    let mut large = Vec::new();
    for bucket in buckets {
        if bucket.is_equal && !context.unique {
            // As they came, a part at a time.
            let mut from = at;
            let mut rest = &bucket.blocks[..];
            while !rest.is_empty() {
                let mut left = most / workers as u64;
                let fit = rest.iter().take(MOST_CHUNKS).take_while(|block| {
                    let fits = memory_of(block, room) <= left;
                    left = left.saturating_sub(memory_of(block, room));
                    fits
                });
                let (blocks, after) = rest.split_at(fit.count().max(1));
                tasks.push((blocks, bucket, from));
                from += blocks.iter().map(|block| block.len).sum::<u64>();
                rest = after;
            }
        } else if bucket.memory(room) <= most && bucket.blocks.len() <= MOST_CHUNKS {
            tasks.push((&bucket.blocks[..], bucket, at));
        } else {
            large.push((bucket.clone(), at));
        }
        at += bucket.bytes;
    }
    let next = AtomicUsize::new(0);
    let (spare, budget) = (SpareBuffers::new(room), MemoryShare::new(most));
    let written = Mutex::new(Written::default());
    let context = SortContext { threads: workers, ..*context };
    context.on_all(|failed| {
        let mut bench = WorkerScratch::default();
        while let Some(&(blocks, bucket, at)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            failed.check(context.progress)?;
            let bytes: u64 = blocks.iter().map(|block| block.len).sum();
            // Of a part of a bucket about its part of them.
            let part = bytes as f64 / bucket.bytes.max(1) as f64;
            let records = (bucket.records as f64 * part).ceil() as u64;
            let taken = blocks.iter().map(|block| memory_of(block, room)).sum();
            budget.with(taken, || {
                let chunks = read(&context, blocks, &spare)?;
                let to = (output, at);
                let some = context.sort_batch(&chunks, records, to, &mut bench)?;
                *written.lock().unwrap_or_else(PoisonError::into_inner) += some;
                spare.give_back(chunks);
                if bytes > most / workers as u64 {
                    // It took what is the others'.
                    bench.arena = EntryArena::default();
                }
                Ok::<_, SortError>(())
            })?;
        }
        Ok(())
    })?;
    Ok((large, written.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
