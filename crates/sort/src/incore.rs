//! Records in memory, put in order.
//!
//! What is moved is not records but entries of 128 bits: the start of the key and the place of the
//! record. Entries are scattered by ranges of keys that fit a processor's cache, each range is sorted
//! there, and its records are gathered straight into what is written. The place is part of the entry,
//! so that equal keys stay in the order in which they came.

use crate::SortError;
use crate::memory::want_soon;
use crate::output::Emitter;
use crate::partition::Partition;
use crate::shape::{Depth, PREFIX_BITS, Rest, Shape};
use crate::stream::Chunk;
use std::ops::Range;

/// Bits of an entry that say where in a chunk the record starts.
const START_BITS: u32 = 32;
/// Bits that say in which chunk.
const CHUNK_BITS: u32 = u128::BITS - PREFIX_BITS - START_BITS;
/// Chunks that can be sorted together.
pub const MOST_CHUNKS: usize = 1 << CHUNK_BITS;
/// Bytes of an entry.
pub const ENTRY: usize = size_of::<u128>();

/// Entries of a range, where they are sorted: 64 KiB, so that two threads of a core have theirs in its
/// cache.
const RANGE: u64 = 4096;
/// More ranges would scatter over more memory than the cache has lines for.
const MOST_RANGES: u64 = 4096;
/// Records asked for before they are gathered: what a core has under way at a time.
const AHEAD: usize = 16;

/// The ranges to sort so many records by.
pub fn ranges(records: u64) -> usize {
    // No more than MOST_RANGES.
    (records / RANGE).clamp(1, MOST_RANGES) as usize
}

/// Records with one prefix that are few enough to be compared.
const FEW: usize = 4;
/// Depths at which prefixes are looked at before keys are compared: each looks for the record's end again.
const LEVELS: u32 = 16;

/// The entries of a chunk by their ranges.
pub struct Keyed {
    entries: Vec<u128>,
    /// Where each range starts; one more at the end.
    starts: Vec<u32>,
    /// Bytes of the records of each range.
    bytes: Vec<u64>,
}

/// What a thread uses again from one chunk to the next.
#[derive(Default)]
pub struct Scratch {
    entries: Vec<u128>,
    ranges: Vec<u16>,
}

impl Keyed {
    /// The entries of chunk `number`.
    pub fn new<S: Shape>(
        shape: &S,
        chunk: &Chunk,
        number: usize,
        partition: &Partition,
        scratch: &mut Scratch,
    ) -> Self {
        let all = chunk.bytes();
        let place = (number as u128) << START_BITS;
        let mut starts = vec![0u32; partition.len() + 1];
        let mut bytes = vec![0u64; partition.len()];
        scratch.entries.clear();
        scratch.ranges.clear();
        let mut start = chunk.start;
        while start < all.len() {
            let end = shape.end(all, start);
            let prefix = shape.prefix(&all[start..end]);
            let range = partition.of(prefix);
            scratch.entries.push(prefix << (u128::BITS - PREFIX_BITS) | place | start as u128);
            // Ranges are fewer.
            scratch.ranges.push(range as u16);
            starts[range] += 1;
            bytes[range] += (end - start) as u64;
            start = end;
        }
        let mut at = 0;
        for start in &mut starts {
            at += std::mem::replace(start, at);
        }
        let mut entries = vec![0; scratch.entries.len()];
        let mut next = starts.clone();
        for (&entry, &range) in scratch.entries.iter().zip(&scratch.ranges) {
            let next = &mut next[usize::from(range)];
            entries[*next as usize] = entry;
            *next += 1;
        }
        Self { entries, starts, bytes }
    }

    fn of(&self, range: usize) -> &[u128] {
        &self.entries[self.starts[range] as usize..self.starts[range + 1] as usize]
    }
}

/// Chunks and their entries, all by one partition.
pub struct Batch<'a, S> {
    shape: &'a S,
    partition: &'a Partition,
    bytes: Vec<&'a [u8]>,
    keyed: &'a [Keyed],
}

impl<'a, S: Shape> Batch<'a, S> {
    pub fn new(
        shape: &'a S,
        partition: &'a Partition,
        chunks: &'a [Chunk],
        keyed: &'a [Keyed],
    ) -> Self {
        Self { shape, partition, bytes: chunks.iter().map(Chunk::bytes).collect(), keyed }
    }

    /// How many ranges there are.
    pub fn ranges(&self) -> usize {
        self.partition.len()
    }

    /// Bytes of the records of a range.
    pub fn bytes(&self, range: usize) -> u64 {
        self.keyed.iter().map(|keyed| keyed.bytes[range]).sum()
    }

    /// Writes the records of these ranges in order.
    pub fn emit(
        &self,
        ranges: Range<usize>,
        entries: &mut Vec<u128>,
        emitter: &mut Emitter<'_, '_>,
    ) -> Result<(), SortError> {
        for range in ranges {
            entries.clear();
            self.keyed.iter().for_each(|keyed| entries.extend_from_slice(keyed.of(range)));
            self.order(range, entries);
            self.gather(entries, emitter)?;
        }
        Ok(())
    }

    fn order(&self, range: usize, entries: &mut [u128]) {
        let whole = self.shape.is_whole();
        if whole && self.partition.is_single(range) {
            // They lie in the order in which they came.
            return;
        }
        entries.sort_unstable();
        if !whole {
            self.settle(entries, Depth::default(), LEVELS);
        }
    }

    /// Orders entries that are sorted by their prefixes of `depth`: where these are the same, by those of
    /// the next depth, which take their place, or by the whole keys. Records are looked at once for each
    /// depth, where comparing two at a time would look at each again and again.
    fn settle(&self, entries: &mut [u128], depth: Depth, levels: u32) {
        let prefix = |entry: u128| entry >> (u128::BITS - PREFIX_BITS);
        let place = u128::MAX >> PREFIX_BITS;
        for run in entries.chunk_by_mut(|&a, &b| prefix(a) == prefix(b)) {
            if run.len() == 1 {
                continue;
            }
            match self.shape.rest(prefix(run[0]), depth) {
                Rest::Nothing => {}
                Rest::At(next) if run.len() > FEW && levels > 0 => {
                    for at in 0..run.len() {
                        if let Some(&soon) = run.get(at + AHEAD) {
                            let (bytes, start) = self.place(soon);
                            want_soon(bytes, start + next.bytes());
                        }
                        let (bytes, start) = self.place(run[at]);
                        let deeper = self.shape.prefix_from(bytes, start, next);
                        run[at] = deeper << (u128::BITS - PREFIX_BITS) | run[at] & place;
                    }
                    run.sort_unstable();
                    self.settle(run, next, levels - 1);
                }
                _ => run.sort_by(|&a, &b| self.shape.compare(self.record(a), self.record(b))),
            }
        }
    }

    #[inline]
    fn place(&self, entry: u128) -> (&'a [u8], usize) {
        // The low bits are the place.
        let chunk = (entry as u64 >> START_BITS) as usize % MOST_CHUNKS;
        (self.bytes[chunk], entry as u32 as usize)
    }

    #[inline]
    fn record(&self, entry: u128) -> &'a [u8] {
        let (bytes, start) = self.place(entry);
        &bytes[start..self.shape.end(bytes, start)]
    }

    fn gather(&self, entries: &[u128], emitter: &mut Emitter<'_, '_>) -> Result<(), SortError> {
        for (at, &entry) in entries.iter().enumerate() {
            if let Some(&soon) = entries.get(at + AHEAD) {
                let (bytes, start) = self.place(soon);
                want_soon(bytes, start);
                want_soon(bytes, start + 64);
            }
            emitter.push(self.record(entry))?;
        }
        Ok(())
    }
}
