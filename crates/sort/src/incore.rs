//! Records in memory, put in order.
//!
//! What is moved is not records but [entries](crate::entries). By radix, those of a chunk are
//! scattered by ranges of keys that fit a processor's cache, and each range is sorted there. By
//! merging, as many as fit the cache are sorted as they come, and a range is what all these runs
//! have of it, merged. Then a range's records are gathered straight into what is written. The place
//! is part of the entry, so that equal keys stay in the order in which they came.

use crate::SortError;
use crate::context::key_hash;
use crate::entries::{ArenaSlice, ArenaSplitter, EntrySorter};
use crate::format::{KeyOffset, PREFIX_BITS, RecordFormat, Tiebreak};
use crate::output::Emitter;
use crate::partition::Partition;
use crate::stream::Chunk;
use gordon_sys::memory::prefetch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Method to sort entries in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InCore {
    /// Entries are partitioned by key range, then each range is sorted. This is the fastest method
    /// for most keys.
    #[default]
    Radix,
    /// Cache-sized runs are sorted by comparison as records arrive, then merged. More of the work
    /// overlaps with reading, and the time does not depend on the distribution of keys.
    Merge,
}

/// Bits of an entry that say where in a chunk the record starts.
const START_BITS: u32 = 32;
/// Bits that say in which chunk.
const CHUNK_BITS: u32 = u128::BITS - PREFIX_BITS - START_BITS;
/// Chunks that can be sorted together.
pub const MOST_CHUNKS: usize = 1 << CHUNK_BITS;
/// Bytes of a chunk's tables for a range.
pub const TABLE: usize = size_of::<u32>() + size_of::<u64>();

/// Entries of a range, where they are sorted: 64 KiB, so that two threads of a core have theirs in
/// its cache.
const RANGE: u64 = 4096;
/// More ranges would scatter over more memory than the cache has lines for.
const MOST_RANGES: u64 = 4096;
/// Records asked for before they are gathered: what a core has under way at a time.
const GATHER_AHEAD: usize = 16;
/// Bytes of a line of the cache.
const LINE: usize = 64;
/// Bytes asked for before their keys are looked at.
const PREFETCH_BYTES: usize = 3072;
/// Entries of a run: 1 MiB, of which a core's cache has two or more.
const RUN: usize = 1 << 16;

/// Prefixes taken from a key one after the other before whole keys are compared: what repeats
/// longer than that is compared as memory is.
const DEEPEST: u32 = 64;
/// So few are compared at once.
const FEW: usize = 4;

/// The ranges to sort so many records by.
pub fn ranges(records: u64) -> usize {
    // No more than MOST_RANGES.
    (records / RANGE).clamp(1, MOST_RANGES) as usize
}

/// What makes entries of records.
pub struct KeyExtractor<'a, S> {
    pub format: &'a S,
    pub partition: &'a Partition,
    pub in_core: InCore,
}

/// The entries of a chunk, each run of them by their ranges.
pub struct PartitionedChunk<'r> {
    entries: ArenaSlice<'r>,
    /// Of each run, where each range starts; one more at its end.
    starts: Vec<u32>,
    /// Bytes of the records of each range.
    bytes: Vec<u64>,
    /// Of all their keys.
    sum: u64,
    /// Bytes of the longest record.
    longest: usize,
}

/// What a thread uses again from one chunk to the next.
#[derive(Default)]
pub struct EntryScratch {
    entries: Vec<u128>,
    ranges: Vec<u16>,
}

impl<S: RecordFormat> KeyExtractor<'_, S> {
    /// The entries of chunk `number`.
    pub fn of<'r>(
        &self,
        chunk: &Chunk,
        number: usize,
        scratch: &mut EntryScratch,
        share: &ArenaSplitter<'r>,
    ) -> PartitionedChunk<'r> {
        let Self { format, partition, in_core } = *self;
        let all = chunk.bytes();
        let place = (number as u128) << START_BITS;
        let mut bytes = vec![0u64; partition.len()];
        scratch.entries.clear();
        scratch.ranges.clear();
        let (mut start, mut sum, mut longest) = (chunk.start, 0u64, 0);
        while start < all.len() {
            let end = format.end(all, start);
            prefetch(all.get(start + PREFETCH_BYTES..).unwrap_or_default());
            let prefix = format.prefix(&all[start..end]);
            let range = partition.of(prefix);
            scratch.entries.push(prefix << (u128::BITS - PREFIX_BITS) | place | start as u128);
            // Ranges are fewer.
            scratch.ranges.push(range as u16);
            sum = sum.wrapping_add(key_hash(prefix));
            bytes[range] += (end - start) as u64;
            longest = longest.max(end - start);
            start = end;
        }
        let count = scratch.entries.len();
        let run = if in_core == InCore::Merge { RUN } else { count.max(1) };
        let mut entries = share.take(count);
        let mut starts = Vec::with_capacity((partition.len() + 1) * count.div_ceil(run));
        let mut next = Vec::new();
        let found = scratch.entries.chunks(run).zip(scratch.ranges.chunks(run));
        for (at, (found, ranges)) in (0..).step_by(run).zip(found) {
            next.clear();
            next.resize(partition.len(), 0u32);
            ranges.iter().for_each(|&range| next[usize::from(range)] += 1);
            // Entries of a chunk are below 2^32.
            let mut at = at as u32;
            for next in &mut next {
                starts.push(at);
                at += std::mem::replace(next, at);
            }
            starts.push(at);
            if in_core == InCore::Merge {
                let run = &mut entries[at as usize - found.len()..at as usize];
                run.copy_from_slice(found);
                // Their order is that of their ranges, too.
                run.sort_unstable();
                continue;
            }
            for (&entry, &range) in found.iter().zip(ranges) {
                let next = &mut next[usize::from(range)];
                entries[*next as usize] = entry;
                *next += 1;
            }
        }
        PartitionedChunk { entries, starts, bytes, sum, longest }
    }
}

impl PartitionedChunk<'_> {
    /// The weight of all their keys.
    pub fn key_hash(&self) -> u64 {
        self.sum
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of the longest record.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// What each run has of a range.
    fn of(&self, range: usize) -> impl Iterator<Item = &[u128]> {
        let runs = self.starts.chunks_exact(self.bytes.len() + 1);
        runs.map(move |run| &self.entries[run[range] as usize..run[range + 1] as usize])
    }
}

/// Chunks and their entries, all by one partition.
pub struct SortBatch<'a, S> {
    keys: &'a KeyExtractor<'a, S>,
    bytes: Vec<&'a [u8]>,
    keyed: &'a [PartitionedChunk<'a>],
    /// Where records end that differ in length, about: the end is looked for.
    last: Option<usize>,
}

impl<'a, S: RecordFormat> SortBatch<'a, S> {
    pub fn new(
        keys: &'a KeyExtractor<'a, S>,
        chunks: &'a [Chunk],
        keyed: &'a [PartitionedChunk<'a>],
    ) -> Self {
        let records: usize = keyed.iter().map(PartitionedChunk::len).sum();
        let bytes: usize = chunks.iter().map(Chunk::len).sum();
        let mean = (bytes / records.max(1)).saturating_sub(1);
        let last = if keys.format.length().is_none() { Some(mean) } else { None };
        Self { keys, bytes: chunks.iter().map(Chunk::bytes).collect(), keyed, last }
    }

    /// How many ranges there are.
    pub fn ranges(&self) -> usize {
        self.keys.partition.len()
    }

    /// Bytes of the records of a range.
    pub fn bytes(&self, range: usize) -> u64 {
        self.keyed.iter().map(|keyed| keyed.bytes[range]).sum()
    }

    /// Writes the records of these ranges in order; with `unique`, the first of each run of records
    /// whose keys are equal. Equal keys lie in one range.
    pub fn emit(
        &self,
        ranges: Range<usize>,
        unique: bool,
        entries: &mut EntrySorter,
        emitter: &mut Emitter<'_, '_>,
    ) -> Result<(), SortError> {
        for range in ranges {
            if self.keys.format.prefix_is_full_key() && self.keys.partition.is_single(range) {
                // They lie in the order in which they came; they may be all there are.
                for some in self.keyed.iter().flat_map(|keyed| keyed.of(range)) {
                    if unique && !some.is_empty() {
                        self.gather(&some[..1], emitter)?;
                        break;
                    }
                    self.gather(some, emitter)?;
                }
                continue;
            }
            let some = self.keyed.iter().flat_map(|keyed| keyed.of(range));
            match self.keys.in_core {
                InCore::Radix => {
                    entries.all.clear();
                    some.for_each(|some| entries.all.extend_from_slice(some));
                    entries.sort();
                }
                InCore::Merge => entries.merge(some),
            }
            if !self.keys.format.prefix_is_full_key() {
                self.order_ties(&mut entries.all, KeyOffset::default(), DEEPEST);
            }
            if unique {
                // Equal keys have equal prefixes, at any depth.
                entries.all.dedup_by(|&mut next, &mut first| {
                    first >> START_BITS >> CHUNK_BITS == next >> START_BITS >> CHUNK_BITS
                        && self.keys.format.compare(self.record(first), self.record(next)).is_eq()
                });
            }
            self.gather(&entries.all, emitter)?;
        }
        Ok(())
    }

    /// Puts sorted entries with equal prefixes in the order of the rest of their keys.
    fn order_ties(&self, entries: &mut [u128], depth: KeyOffset, more: u32) {
        const REST: u32 = u128::BITS - PREFIX_BITS;
        for run in entries.chunk_by_mut(|&a, &b| a >> REST == b >> REST) {
            if run.len() == 1 {
                continue;
            }
            match self.keys.format.tiebreak(run[0] >> REST, depth) {
                Tiebreak::Nothing => {}
                Tiebreak::At(next) if more > 0 && run.len() >= FEW => {
                    for at in 0..run.len() {
                        if let Some(&soon) = run.get(at + GATHER_AHEAD) {
                            let (bytes, start) = self.locate(soon);
                            prefetch(bytes.get(start + next.bytes()..).unwrap_or_default());
                        }
                        let (bytes, start) = self.locate(run[at]);
                        let prefix = self.keys.format.prefix_from(bytes, start, next);
                        run[at] = prefix << REST | run[at] & ((1 << REST) - 1);
                    }
                    run.sort_unstable();
                    self.order_ties(run, next, more - 1);
                }
                _ => run.sort_by(|&a, &b| self.keys.format.compare(self.record(a), self.record(b))),
            }
        }
    }

    #[inline]
    fn locate(&self, entry: u128) -> (&'a [u8], usize) {
        // The low bits are the place.
        let chunk = (entry as u64 >> START_BITS) as usize % MOST_CHUNKS;
        (self.bytes[chunk], entry as u32 as usize)
    }

    #[inline]
    fn record(&self, entry: u128) -> &'a [u8] {
        let (bytes, start) = self.locate(entry);
        &bytes[start..self.keys.format.end(bytes, start)]
    }

    fn gather(&self, entries: &[u128], emitter: &mut Emitter<'_, '_>) -> Result<(), SortError> {
        for (at, &entry) in entries.iter().enumerate() {
            if let Some(&soon) = entries.get(at + GATHER_AHEAD) {
                let (bytes, start) = self.locate(soon);
                let record = &bytes[start..];
                prefetch(record);
                prefetch(record.get(LINE..).unwrap_or_default());
                if let Some(last) = self.last {
                    prefetch(record.get(last..).unwrap_or_default());
                }
            }
            emitter.push(self.record(entry))?;
        }
        Ok(())
    }
}
