//! Records in memory, put in order.
//!
//! What is moved is not records but entries of 128 bits: the start of the key and the place of the
//! record. Entries are scattered by ranges of keys that fit a processor's cache, each range is sorted
//! there, and its records are gathered straight into what is written. The place is part of the entry,
//! so that equal keys stay in the order in which they came.

use crate::SortError;
use crate::output::Emitter;
use crate::partition::Partition;
use crate::shape::{Depth, PREFIX_BITS, Rest, Shape};
use crate::stream::Chunk;
use gordon_pages::want_soon;
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

/// Prefixes taken from a key one after the other before whole keys are compared: what repeats longer than
/// that is compared as memory is.
const DEEPEST: u32 = 64;
/// Entries of a cell: as many as are sorted by insertion.
const CELL: usize = 8;
/// So few are compared at once.
const FEW: usize = 4;

/// The ranges to sort so many records by.
pub fn ranges(records: u64) -> usize {
    // No more than MOST_RANGES.
    (records / RANGE).clamp(1, MOST_RANGES) as usize
}

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

    /// How many.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn of(&self, range: usize) -> &[u128] {
        &self.entries[self.starts[range] as usize..self.starts[range + 1] as usize]
    }
}

/// Entries of a range while they are sorted; what a thread uses again from one to the next.
#[derive(Default)]
pub struct Entries {
    all: Vec<u128>,
    scattered: Vec<u128>,
    starts: Vec<u32>,
}

impl Entries {
    /// Sorts them: scatters them over cells of equal width, of which each holds a few where keys are spread
    /// evenly, and sorts each cell.
    fn sort(&mut self) {
        let Self { all, scattered, starts } = self;
        let top = |entry: u128| (entry >> 64) as u64;
        let count = all.len();
        let (least, most) = all.iter().fold((u64::MAX, 0), |(least, most), &entry| {
            (least.min(top(entry)), most.max(top(entry)))
        });
        let cells = (count / CELL).next_power_of_two();
        let width = u64::BITS - most.saturating_sub(least).leading_zeros();
        if count < 4 * CELL || width == 0 || u32::try_from(count).is_err() {
            all.sort_unstable();
            return;
        }
        let shift = width.saturating_sub(cells.trailing_zeros());
        // Below the number of cells.
        let cell = |entry: u128| ((top(entry) - least) >> shift) as usize;
        starts.clear();
        starts.resize(cells + 1, 0);
        for &entry in &*all {
            starts[cell(entry) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        scattered.clear();
        scattered.resize(count, 0);
        for &entry in &*all {
            let next = &mut starts[cell(entry)];
            scattered[*next as usize] = entry;
            *next += 1;
        }
        std::mem::swap(all, scattered);
        // Each start is now its cell's end.
        let mut from = 0;
        for &end in &starts[..cells] {
            let end = end as usize;
            if end > from + 1 {
                all[from..end].sort_unstable();
            }
            from = end;
        }
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
        entries: &mut Entries,
        emitter: &mut Emitter<'_, '_>,
    ) -> Result<(), SortError> {
        for range in ranges {
            entries.all.clear();
            self.keyed.iter().for_each(|keyed| entries.all.extend_from_slice(keyed.of(range)));
            self.order(range, entries);
            self.gather(&entries.all, emitter)?;
        }
        Ok(())
    }

    fn order(&self, range: usize, entries: &mut Entries) {
        let whole = self.shape.is_whole();
        if whole && self.partition.is_single(range) {
            // They lie in the order in which they came.
            return;
        }
        entries.sort();
        if !whole {
            self.order_ties(&mut entries.all, Depth::default(), DEEPEST);
        }
    }

    /// Puts sorted entries with equal prefixes in the order of the rest of their keys.
    fn order_ties(&self, entries: &mut [u128], depth: Depth, more: u32) {
        const REST: u32 = u128::BITS - PREFIX_BITS;
        for run in entries.chunk_by_mut(|&a, &b| a >> REST == b >> REST) {
            if run.len() == 1 {
                continue;
            }
            match self.shape.rest(run[0] >> REST, depth) {
                Rest::Nothing => {}
                Rest::At(next) if more > 0 && run.len() >= FEW => {
                    for at in 0..run.len() {
                        if let Some(&soon) = run.get(at + AHEAD) {
                            let (bytes, start) = self.place(soon);
                            want_soon(bytes.get(start + next.bytes()..).unwrap_or_default());
                        }
                        let (bytes, start) = self.place(run[at]);
                        let prefix = self.shape.prefix_from(bytes, start, next);
                        run[at] = prefix << REST | run[at] & ((1 << REST) - 1);
                    }
                    run.sort_unstable();
                    self.order_ties(run, next, more - 1);
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
                want_soon(&bytes[start..]);
                want_soon(bytes.get(start + 64..).unwrap_or_default());
            }
            emitter.push(self.record(entry))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_are_sorted(
            wide in prop::collection::vec(any::<u128>(), 0..300),
            narrow in prop::collection::vec(0u128..50, 0..300),
            shift in 0u32..120,
        ) {
            let mut entries = Entries { all: wide, ..Entries::default() };
            entries.all.extend(narrow.iter().map(|entry| entry << shift));
            let mut expected = entries.all.clone();
            expected.sort_unstable();
            entries.sort();
            prop_assert_eq!(&entries.all, &expected);
            // And again, with what it left.
            entries.sort();
            prop_assert_eq!(entries.all, expected);
        }
    }
}
