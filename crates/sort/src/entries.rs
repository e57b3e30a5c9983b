//! Sort entries of 128 bits each, made of the prefix of a key and the position of the record; the
//! memory that holds them, and sorting.

use gordon_sys::memory::advise_large_pages;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Bytes of an entry.
pub const ENTRY: usize = size_of::<u128>();

/// Mean number of entries in a cell if keys are uniform. With keys of letters, cells have several
/// times as many; they are still sorted by insertion.
const CELL: usize = 4;

/// Memory for entries, reused from one batch of records to the next: if it were freed, the system
/// would clear its pages each time.
#[derive(Debug, Default)]
pub struct EntryArena(Vec<u128>);

impl EntryArena {
    /// Makes space for at least `count` entries; the system allocates pages when they are used.
    pub fn fit(&mut self, count: usize) {
        if self.0.len() < count {
            // The old memory is freed first.
            self.0 = Vec::new();
            self.0 = vec![0; count];
            let all = self.0.as_ptr_range();
            advise_large_pages(all.start.cast()..all.end.cast());
        }
    }

    /// The whole arena, to be divided among threads.
    pub fn split(&mut self) -> ArenaSplitter<'_> {
        ArenaSplitter(Mutex::new(&mut self.0))
    }
}

/// The part of an arena that has not been handed out.
#[derive(Debug)]
pub struct ArenaSplitter<'r>(Mutex<&'r mut [u128]>);

impl<'r> ArenaSplitter<'r> {
    /// Space for `count` entries: from the arena, or allocated separately if the arena is full.
    pub fn take(&self, count: usize) -> ArenaSlice<'r> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if count > left.len() {
            return ArenaSlice::Own(vec![0; count]);
        }
        let (taken, rest) = std::mem::take(&mut *left).split_at_mut(count);
        *left = rest;
        ArenaSlice::Part(taken)
    }
}

/// Space for entries, from an arena or allocated separately.
#[derive(Debug)]
pub enum ArenaSlice<'r> {
    Part(&'r mut [u128]),
    Own(Vec<u128>),
}

impl Deref for ArenaSlice<'_> {
    type Target = [u128];

    #[inline]
    fn deref(&self) -> &[u128] {
        match self {
            Self::Part(part) => part,
            Self::Own(own) => own,
        }
    }
}

impl DerefMut for ArenaSlice<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u128] {
        match self {
            Self::Part(part) => part,
            Self::Own(own) => own,
        }
    }
}

/// Sorts the entries of a range; a thread reuses it from one range to the next.
#[derive(Default)]
pub struct EntrySorter {
    pub all: Vec<u128>,
    scattered: Vec<u128>,
    starts: Vec<u32>,
}

impl EntrySorter {
    /// Sorts the entries: distributes them to cells of equal key width, which hold few entries each
    /// if keys are uniform, and sorts each cell.
    pub fn sort(&mut self) {
        let Self { all, scattered, starts } = self;
        let top = |entry: u128| (entry >> 64) as u64;
        let count = all.len();
        let (least, most) = all.iter().fold((u64::MAX, 0), |(least, most), &entry| {
            (least.min(top(entry)), most.max(top(entry)))
        });
        let cells = (count / CELL).next_power_of_two();
        let width = u64::BITS - most.saturating_sub(least).leading_zeros();
        if count < 8 * CELL || width == 0 || u32::try_from(count).is_err() {
            all.sort_unstable();
            return;
        }
        let shift = width.saturating_sub(cells.trailing_zeros());
        // The result is below the number of cells, which fits.
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
        // Each start has advanced to the end of its cell.
        let mut from = 0;
        for &end in &starts[..cells] {
            let end = end as usize;
            if end > from + 1 {
                all[from..end].sort_unstable();
            }
            from = end;
        }
    }

    /// Merges sorted runs: adjacent runs are merged pairwise until one is left.
    pub fn merge<'a>(&mut self, runs: impl Iterator<Item = &'a [u128]>) {
        let Self { all, scattered, starts } = self;
        all.clear();
        starts.clear();
        for run in runs.filter(|run| !run.is_empty()) {
            // A range has fewer than 2^32 entries.
            starts.push(all.len() as u32);
            all.extend_from_slice(run);
        }
        scattered.resize(all.len(), 0);
        while starts.len() > 1 {
            starts.push(all.len() as u32);
            for pair in starts.windows(3).step_by(2) {
                let [from, middle, to] = [pair[0], pair[1], pair[2]].map(|at| at as usize);
                merge_two(&all[from..middle], &all[middle..to], &mut scattered[from..to]);
            }
            starts.pop();
            if starts.len() % 2 == 1 {
                // An odd last run has no neighbour.
                let from = starts[starts.len() - 1] as usize;
                scattered[from..].copy_from_slice(&all[from..]);
            }
            let mut second = false;
            starts.retain(|_| {
                second = !second;
                second
            });
            std::mem::swap(all, scattered);
        }
    }
}

/// Merges two runs, whose total length is that of `into`.
fn merge_two(a: &[u128], b: &[u128], into: &mut [u128]) {
    let (mut at, mut bt) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.get(at), b.get(bt)) {
        let first = x < y;
        // Branchless, since the condition is unpredictable.
        into[at + bt] = if first { x } else { y };
        at += usize::from(first);
        bt += usize::from(!first);
    }
    let (a, b) = (&a[at..], &b[bt..]);
    let (left, right) = into[at + bt..].split_at_mut(a.len());
    left.copy_from_slice(a);
    right.copy_from_slice(b);
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
            cuts in prop::collection::vec(0usize..600, 0..20),
        ) {
            let mut entries = EntrySorter { all: wide, ..EntrySorter::default() };
            entries.all.extend(narrow.iter().map(|entry| entry << shift));
            let mut runs = entries.all.clone();
            let mut expected = entries.all.clone();
            expected.sort_unstable();
            entries.sort();
            prop_assert_eq!(&entries.all, &expected);
            // Sorts again, with the reused buffers.
            entries.sort();
            prop_assert_eq!(&entries.all, &expected);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(runs.len())).collect();
            cuts.extend([0, runs.len()]);
            cuts.sort_unstable();
            cuts.windows(2).for_each(|cut| runs[cut[0]..cut[1]].sort_unstable());
            entries.merge(cuts.windows(2).map(|cut| &runs[cut[0]..cut[1]]));
            prop_assert_eq!(entries.all, expected);
        }
    }

    #[test]
    fn entries_beyond_the_arena_are_allocated_separately() {
        let mut arena = EntryArena::default();
        arena.fit(5);
        let share = arena.split();
        let parts: Vec<ArenaSlice<'_>> = [3, 3, 2, 1].map(|count| share.take(count)).into();
        assert!(parts.iter().map(|part| part.len()).eq([3, 3, 2, 1]));
        let own = parts.iter().map(|part| matches!(part, ArenaSlice::Own(_)));
        assert!(own.eq([false, true, false, true]));
    }
}
