//! The state shared by all passes of a sort.

use crate::Progress;
use crate::SortError;
use crate::entries::{EntryArena, EntrySorter};
use crate::format::RecordFormat;
use crate::incore::{EntryScratch, InCore, KeyExtractor, PartitionedChunk, SortBatch, ranges};
use crate::memory::{Buffer, PAGE};
use crate::output::{Emitter, SortOutput, Written};
use crate::partition::Partition;
use crate::queue::{IoQueue, Op, TransferRequest};
use crate::stream::{Chunk, Extent};
use crate::threads::{FirstError, start};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bytes read at each sampled position of a file.
const SAMPLE: u64 = 2 * PAGE as u64;
/// Number of sampled positions, one at random in each of as many equal parts of the file; of sorted
/// records these are quantiles.
const SAMPLES: u64 = 512;
/// Number of records of a batch in memory whose keys are sampled.
const SAMPLED: usize = 1 << 14;

/// The state shared by all passes of a sort.
pub struct SortContext<'a, S> {
    pub format: &'a S,
    pub queue: &'a IoQueue,
    pub progress: &'a Progress,
    pub threads: usize,
    pub seed: u64,
    /// Method to sort records in memory.
    pub in_core: InCore,
    /// Of records with equal keys, only the first one is written.
    pub unique: bool,
    /// Sum of the key hashes of records in temporary files that have not been read back.
    pub spilled_hash: &'a AtomicU64,
}

/// Buffers that a thread reuses from one batch to the next.
#[derive(Default)]
pub struct WorkerScratch {
    scratch: EntryScratch,
    entries: EntrySorter,
    pub arena: EntryArena,
}

impl<S: RecordFormat> SortContext<'_, S> {
    /// Samples the extents at random positions; each extent starts with a record. Returns the
    /// format, specialised for records like those sampled if `focus`; the prefixes of the sampled
    /// keys in that format; and the mean length of a record.
    pub fn sample(
        &self,
        extents: &[Extent],
        focus: bool,
    ) -> Result<(S, Vec<u128>, f64), SortError> {
        let all: u64 = extents.iter().map(|extent| extent.len).sum();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let (reply, replies) = channel();
        let places: Vec<u64> = if all <= SAMPLE * SAMPLES {
            (0..all.div_ceil(SAMPLE)).map(|block| block * SAMPLE).collect()
        } else {
            let part = all / SAMPLES;
            (0..SAMPLES).map(|n| n * part + random.next_u64() % part).collect()
        };
        let mut asked = Vec::new();
        for (tag, &place) in (0u64..).zip(&places) {
            let (mut place, mut extents) = (place, extents.iter());
            let extent = loop {
                let Some(extent) = extents.next() else { unreachable!("within all of them") };
                if place < extent.len {
                    break extent;
                }
                place -= extent.len;
            };
            place -= place % PAGE as u64;
            let len = (extent.len - place).min(SAMPLE);
            asked.push((place, len));
            self.queue.submit(TransferRequest {
                op: Op::Read,
                file: extent.file.clone(),
                offset: extent.offset + place,
                buffer: Buffer::new(SAMPLE as usize),
                part: 0..len as usize,
                tag,
                reply: reply.clone(),
            });
        }
        let mut pieces = Vec::new();
        for done in replies.iter().take(places.len()) {
            done.result?;
            pieces.push((asked[done.tag as usize], done.buffer));
        }
        let (mut records, mut sampled) = (Vec::new(), 0);
        for &((place, len), ref buffer) in &pieces {
            let bytes = &buffer.get()[..len as usize];
            let first = if place == 0 { Some(0) } else { self.first(place, bytes) };
            let Some(mut at) = first.filter(|&first| first < bytes.len()) else { continue };
            let end = at + self.format.complete_len(&bytes[at..]);
            sampled += end - at;
            while at < end {
                let next = self.format.end(bytes, at);
                records.push(&bytes[at..next]);
                at = next;
            }
        }
        let mean = if records.is_empty() {
            self.mean(&pieces)
        } else {
            sampled as f64 / records.len() as f64
        };
        let format = if focus { self.format.specialized(&records) } else { self.format.clone() };
        let sample = records.iter().map(|record| format.prefix(record)).collect();
        Ok((format, sample, mean))
    }

    /// The mean length of records, from the record ends in pieces that hold no whole record.
    fn mean(&self, pieces: &[((u64, u64), Buffer)]) -> f64 {
        if let Some(length) = self.format.length() {
            return length as f64;
        }
        let bytes: u64 = pieces.iter().map(|((_, len), _)| len).sum();
        let looked_at = pieces.iter().map(|((_, len), buffer)| &buffer.get()[..*len as usize]);
        let ends: usize = match self.format.separator() {
            Some(separator) => {
                looked_at.map(|bytes| memchr::memchr_iter(separator, bytes).count()).sum()
            }
            None => 0,
        };
        bytes.max(1) as f64 / ends.max(1) as f64
    }

    /// The start of the first record in bytes from the middle of a file.
    fn first(&self, place: u64, bytes: &[u8]) -> Option<usize> {
        match self.format.length() {
            Some(length) => Some((place.next_multiple_of(length as u64) - place) as usize),
            None => Some(memchr::memchr(self.format.separator()?, bytes)? + 1),
        }
    }

    /// Prefixes of keys spread over a batch.
    fn sample_chunks(&self, chunks: &[Chunk]) -> Vec<u128> {
        let each = (SAMPLED / chunks.len().max(1)).max(4);
        let mut sample = Vec::new();
        for chunk in chunks {
            let bytes = &chunk.bytes()[chunk.start..];
            let step = (bytes.len() / each).max(1);
            let mut place = 0;
            while place < bytes.len() {
                let from = &bytes[place..];
                let first = if place == 0 { Some(0) } else { self.first(place as u64, from) };
                let Some(at) = first.filter(|&at| at < from.len()) else { break };
                let end = self.format.end(from, at);
                sample.push(self.format.prefix(&from[at..end]));
                // The step excludes the record just sampled.
                place += step.max(end - 1);
            }
        }
        sample
    }

    /// Sorts a batch with one thread and writes it from byte `at` of the output on.
    pub fn sort_batch(
        &self,
        chunks: &[Chunk],
        records: u64,
        (output, at): (&SortOutput<'_>, u64),
        WorkerScratch { scratch, entries, arena }: &mut WorkerScratch,
    ) -> Result<Written, SortError> {
        let partition = &Partition::new(self.sample_chunks(chunks), ranges(records));
        let keys = &KeyExtractor { format: self.format, partition, in_core: self.in_core };
        arena.fit(records as usize);
        let share = arena.split();
        let keyed = chunks.iter().enumerate();
        let keyed = keyed.map(|(number, chunk)| keys.of(chunk, number, scratch, &share));
        let keyed: Vec<PartitionedChunk<'_>> = keyed.collect();
        self.remove_spilled(keyed.iter().fold(0, |sum, keyed| sum.wrapping_add(keyed.key_hash())));
        let batch = SortBatch::new(keys, chunks, &keyed);
        let mut emitter = Emitter::new(output, at)?;
        batch.emit(0..batch.ranges(), self.unique, entries, &mut emitter)?;
        emitter.finish()
    }

    /// Sorts a batch with all threads and writes it from byte `at` of the output on, in groups of
    /// at least `group` bytes. With `unique` a single thread does all of it, since the position of
    /// a group is known only when the earlier ones are sorted.
    pub fn emit_all(
        &self,
        batch: &SortBatch<'_, S>,
        (output, mut at): (&SortOutput<'_>, u64),
        group: u64,
    ) -> Result<Written, SortError> {
        let group = if self.unique { u64::MAX } else { group };
        let mut groups = Vec::new();
        let (mut first, mut bytes) = (0, 0);
        for range in 0..batch.ranges() {
            bytes += batch.bytes(range);
            if bytes >= group || range + 1 == batch.ranges() {
                groups.push((first..range + 1, at));
                at += std::mem::take(&mut bytes);
                first = range + 1;
            }
        }
        let next = AtomicUsize::new(0);
        let written = Mutex::new(Written::default());
        self.on_all(|failed| {
            let mut entries = EntrySorter::default();
            while let Some((ranges, at)) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                failed.check(self.progress)?;
                let mut emitter = Emitter::new(output, *at)?;
                batch.emit(ranges.clone(), self.unique, &mut entries, &mut emitter)?;
                *written.lock().unwrap_or_else(PoisonError::into_inner) += emitter.finish()?;
            }
            Ok(())
        })?;
        Ok(written.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the key hashes of records written to temporary files.
    pub fn add_spilled(&self, key_hash: u64) {
        self.spilled_hash.fetch_add(key_hash, Ordering::Relaxed);
    }

    /// Subtracts the key hashes of records read back from temporary files.
    pub fn remove_spilled(&self, key_hash: u64) {
        self.spilled_hash.fetch_sub(key_hash, Ordering::Relaxed);
    }

    /// Runs `work`, which moves records between temporary files: the sum of the hashes stays the
    /// same.
    pub fn with_frozen_spill<T>(&self, work: impl FnOnce() -> T) -> T {
        let away = self.spilled_hash.load(Ordering::Relaxed);
        let result = work();
        self.spilled_hash.store(away, Ordering::Relaxed);
        result
    }

    /// Runs `work` on every thread, with access to the first error of any thread.
    pub fn on_all(
        &self,
        work: impl Fn(&FirstError) -> Result<(), SortError> + Sync,
    ) -> Result<(), SortError> {
        let failed = FirstError::default();
        thread::scope(|scope| {
            for _ in 0..self.threads {
                failed.note(start(scope, || failed.note(work(&failed))));
            }
        });
        failed.result()
    }
}
