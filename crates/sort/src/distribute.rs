//! Two passes by distribution: records are distributed to buckets by key range, which are stored as
//! blocks in temporary files; then each bucket is read, sorted and written.

use crate::SortError;
use crate::context::{SortContext, WorkerScratch};
use crate::entries::EntryArena;
use crate::file::SortFile;
use crate::format::RecordFormat;
use crate::incore::{MOST_CHUNKS, key_hash};
use crate::memory::{Buffer, PAGE};
use crate::output::{SortOutput, Writer, Written};
use crate::partition::Partition;
use crate::queue::{Op, TransferRequest};
use crate::space::Space;
use crate::stop::moved;
use crate::stream::{Chunk, RecordStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A block of a bucket in a temporary file: whole records, starting at a page.
#[derive(Clone, Debug)]
pub struct BucketBlock {
    pub file: Arc<SortFile>,
    pub offset: u64,
    pub len: u64,
}

/// The records of a key range, in the order of the input.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    pub blocks: Vec<BucketBlock>,
    pub records: u64,
    pub bytes: u64,
    /// Whether all keys are equal, so that no sorting is needed.
    pub is_equal: bool,
}

impl Bucket {
    /// The memory that its blocks take in buffers of at least `room` bytes. A block that ends
    /// before a wide record does not fill its buffer; the last block takes only its own length.
    fn memory(&self, room: usize) -> u64 {
        let Some((last, full)) = self.blocks.split_last() else { return 0 };
        full.iter().map(|block| memory_of(block, room)).sum::<u64>() + last.len
    }
}

/// The memory of a block in a buffer of at least `room` bytes.
fn memory_of(block: &BucketBlock, room: usize) -> u64 {
    block.len.max(room as u64)
}

/// Distributes all records of a stream to buckets; also returns the length of the longest record.
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
    // By bucket: the buffer that has not been written yet, and its fill.
    let mut open: Vec<(Buffer, usize)> = (0..partition.len()).map(|_| Default::default()).collect();
    let mut write = |range: usize, bucket: &mut Bucket, (buffer, len): (Buffer, usize)| {
        // Only whole pages are written.
        let written = len.next_multiple_of(PAGE);
        // The blocks of a bucket are spread over all devices, which are read in parallel.
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
                    // Each is written before the next, since the writer does not limit the number
                    // of such buffers.
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

/// A memory budget shared by workers.
struct MemoryShare {
    all: u64,
    left: Mutex<u64>,
    changed: Condvar,
}

impl MemoryShare {
    fn new(all: u64) -> Self {
        Self { all, left: Mutex::new(all), changed: Condvar::new() }
    }

    /// Runs `work` when `bytes` of the budget are available; a larger amount takes the whole
    /// budget.
    fn with<T>(&self, bytes: u64, work: impl FnOnce() -> T) -> T {
        let bytes = bytes.min(self.all);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = self.changed.wait_while(left, |left| *left < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        let _taken = MemoryGrant { budget: self, bytes };
        work()
    }
}

/// A worker's share of the budget, which is returned on drop.
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

/// A pool of buffers of one size, into which buckets are read.
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

    /// Returns the buffers to the pool, except those of a single wide record.
    fn give_back(&self, chunks: Vec<Chunk>) {
        let mut spare = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers = chunks.into_iter().map(|chunk| chunk.buffer);
        spare.extend(buffers.filter(|buffer| buffer.len() == self.room));
    }
}

/// Reads all blocks of a bucket in parallel.
fn read<S: RecordFormat>(
    context: &SortContext<'_, S>,
    blocks: &[BucketBlock],
    spare: &SpareBuffers,
) -> Result<Vec<Chunk>, SortError> {
    let (reply, replies) = channel();
    for (tag, block) in (0..).zip(blocks) {
        // The length of a block in memory, which fits.
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
        moved(context.progress, end as u64);
        chunks[at] = Chunk { buffer: done.buffer, start: 0, end };
    }
    failed.map(|()| chunks)
}

/// Sorts the buckets that fit in `most` bytes and writes them from byte `at` of the output on, by
/// up to `workers` threads as memory permits. Returns the remaining buckets with their positions in
/// the output, and counts of what was written. With `unique`, at most one bucket may be passed,
/// since the position of the next one is not known before.
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
            // Equal keys: the records are written in input order, a part of the bucket at a time.
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
            // Estimates the records of a part of a bucket in proportion to its bytes.
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
                    // The arena grew beyond this worker's share, so it is freed.
                    bench.arena = EntryArena::default();
                }
                Ok::<_, SortError>(())
            })?;
        }
        Ok(())
    })?;
    Ok((large, written.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
