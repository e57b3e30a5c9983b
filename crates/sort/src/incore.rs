//! Sorts records in memory.
//!
//! The sort moves [entries](crate::entries) instead of records. With radix, the entries of a chunk
//! are partitioned by key ranges that fit a processor's cache, and each range is sorted there. With
//! merge, as many entries as fit the cache are sorted as they arrive, and each range is merged from
//! the parts that all these runs have of it. Then the records of a range are copied directly to the
//! output buffer. The position is part of the entry, so records with equal keys stay in input
//! order.

use crate::SortError;
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

/// Bits of an entry for the start of the record in its chunk.
const START_BITS: u32 = 32;
/// Bits of an entry for the chunk.
const CHUNK_BITS: u32 = u128::BITS - PREFIX_BITS - START_BITS;
/// Maximum number of chunks that can be sorted together.
pub const MOST_CHUNKS: usize = 1 << CHUNK_BITS;
/// Bytes of a chunk's tables for each range.
pub const TABLE: usize = size_of::<u32>() + size_of::<u64>();

/// Entries of a range while it is sorted: 64 KiB, so that the ranges of two threads fit the cache
/// of a core.
const RANGE: u64 = 4096;
/// Maximum number of ranges: more would write to more memory locations than the cache has lines
/// for.
const MOST_RANGES: u64 = 4096;
/// Number of records prefetched ahead of the one being copied, which is about the number of
/// outstanding misses of a core.
const GATHER_AHEAD: usize = 16;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes prefetched ahead of the key being examined.
const PREFETCH_BYTES: usize = 3072;
/// Entries of a run: 1 MiB, where the cache of a core has 2 MiB or more.
const RUN: usize = 1 << 16;

/// Maximum number of prefixes taken from a key before whole keys are compared; longer repetitions
/// are compared directly in memory.
const DEEPEST: u32 = 64;
/// Number of records that are compared directly instead of by further prefixes.
const FEW: usize = 4;

/// The number of ranges for sorting this number of records.
pub fn ranges(records: u64) -> usize {
    // At most MOST_RANGES, which fits.
    (records / RANGE).clamp(1, MOST_RANGES) as usize
}

/// The share of a key in a checksum that detects temporary files whose contents changed.
#[inline]
pub fn key_hash(prefix: u128) -> u64 {
    // The hash depends on all bits of the prefix.
    (prefix as u64) ^ ((prefix >> 64) as u64).rotate_left(40)
}

/// Makes entries of records.
pub struct KeyExtractor<'a, S> {
    pub format: &'a S,
    pub partition: &'a Partition,
    pub in_core: InCore,
}

/// The entries of a chunk, partitioned by range within each run.
pub struct PartitionedChunk<'r> {
    entries: ArenaSlice<'r>,
    /// By run: the start of each range, and the end of the last one.
    starts: Vec<u32>,
    /// By range: bytes of its records.
    bytes: Vec<u64>,
    /// Sum of the hashes of all keys.
    sum: u64,
    /// Bytes of the longest record.
    longest: usize,
}

/// Buffers that a thread reuses from one chunk to the next.
#[derive(Default)]
pub struct EntryScratch {
    entries: Vec<u128>,
    ranges: Vec<u16>,
}

impl<S: RecordFormat> KeyExtractor<'_, S> {
    /// Makes the entries of chunk `number`.
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
            // There are fewer than 2^16 ranges.
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
            // Entry counts of a chunk are below 2^32.
            let mut at = at as u32;
            for next in &mut next {
                starts.push(at);
                at += std::mem::replace(next, at);
            }
            starts.push(at);
            if in_core == InCore::Merge {
                let run = &mut entries[at as usize - found.len()..at as usize];
                run.copy_from_slice(found);
                // The order of entries is also that of their ranges.
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
    /// Sum of the hashes of all keys.
    pub fn key_hash(&self) -> u64 {
        self.sum
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of the longest record.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The parts of a range, one from each run.
    fn of(&self, range: usize) -> impl Iterator<Item = &[u128]> {
        let runs = self.starts.chunks_exact(self.bytes.len() + 1);
        runs.map(move |run| &self.entries[run[range] as usize..run[range + 1] as usize])
    }
}

/// Chunks with their entries, all partitioned in the same way.
pub struct SortBatch<'a, S> {
    keys: &'a KeyExtractor<'a, S>,
    bytes: Vec<&'a [u8]>,
    keyed: &'a [PartitionedChunk<'a>],
    /// Approximate offset of the end of a record to prefetch, if records have no fixed length.
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

    /// Number of ranges.
    pub fn ranges(&self) -> usize {
        self.keys.partition.len()
    }

    /// Bytes of the records of a range.
    pub fn bytes(&self, range: usize) -> u64 {
        self.keyed.iter().map(|keyed| keyed.bytes[range]).sum()
    }

    /// Writes the records of these ranges in order; with `unique`, only the first of records with
    /// equal keys. Records with equal keys are in the same range.
    pub fn emit(
        &self,
        ranges: Range<usize>,
        unique: bool,
        entries: &mut EntrySorter,
        emitter: &mut Emitter<'_, '_>,
    ) -> Result<(), SortError> {
        for range in ranges {
            if self.keys.format.prefix_is_full_key() && self.keys.partition.is_single(range) {
                // The entries are in input order already; all records may be in this range.
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
                // Equal keys have equal prefixes at any depth.
                entries.all.dedup_by(|&mut next, &mut first| {
                    first >> START_BITS >> CHUNK_BITS == next >> START_BITS >> CHUNK_BITS
                        && self.keys.format.compare(self.record(first), self.record(next)).is_eq()
                });
            }
            self.gather(&entries.all, emitter)?;
        }
        Ok(())
    }

    /// Sorts runs of entries with equal prefixes by the rest of their keys.
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
        // The low bits are the position.
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
