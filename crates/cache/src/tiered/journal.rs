//! The journal in which a cache with bytes records removals, as far as the flash that it takes
//! depends on it: records are packed into pages, and a full half is compacted into the other one.
//!
//! [`SimulatedJournal`] is that of the simulator, which has no sequence numbers. It counts in
//! segments written instead: a record matters as long as the medium has a segment that was written
//! before it.

use super::{Io, IoQueue, TieredMachine};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The pages of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalShape {
    /// Number of pages in each of the two halves.
    pub pages: u32,
    /// Bytes that a page takes on the medium, its copy included.
    pub page: u32,
    /// Bytes of a page for records, which do not cross pages.
    pub capacity: u32,
}

impl JournalShape {
    /// Number of pages that records of these lengths take. A page is written even without records.
    pub fn pages_of(&self, lengths: impl IntoIterator<Item = usize>) -> u32 {
        let mut pages = 1;
        let mut used = 0;
        for length in lengths {
            if used + length > self.capacity as usize {
                pages += 1;
                used = 0;
            }
            used += length;
        }
        pages
    }

    /// Number of pages that records may take after a compaction: a quarter of a half is kept for
    /// new ones.
    pub fn most_compacted(&self) -> u32 {
        self.pages * 3 / 4
    }
}

/// The journal of a simulated cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JournalSettings {
    /// Its pages.
    pub shape: JournalShape,
    /// Length of the record of a removal in bytes.
    pub record: u32,
    /// Mean number of records that are written together, at least 1: removals by several clients at
    /// the same time share a page.
    pub batch: f64,
}

/// A record of the simulator.
#[derive(Clone, Copy)]
struct Removed {
    key: u64,
    /// Number of segments that were written before it.
    after: u64,
}

pub(super) struct SimulatedJournal {
    settings: JournalSettings,
    /// Offset of the journal in the flash.
    offset: u64,
    /// Records on the medium and, at the end, those that are not written yet.
    records: Vec<Removed>,
    pending: usize,
    /// Number of records so far.
    recorded: u64,
    generation: u64,
    next_page: u32,
    /// Number of segments of the log, and of their writes.
    segments: u64,
    written: u64,
    /// Number of writes whose segments were evicted because the records did not fit.
    evicted: u64,
}

impl SimulatedJournal {
    /// The journal of a new cache: its first page is written.
    pub fn new(settings: JournalSettings, segments: u32, offset: u64) -> Self {
        Self {
            settings,
            offset,
            records: Vec::new(),
            pending: 0,
            recorded: 0,
            generation: 1,
            next_page: 1,
            segments: segments.into(),
            written: 0,
            evicted: 0,
        }
    }

    /// A segment was written.
    pub fn segment_written(&mut self) {
        self.written += 1;
    }

    /// Records the removal of all objects of a key so far.
    pub fn record(&mut self, key: u64) {
        self.records.push(Removed { key, after: self.written });
        self.pending += 1;
        self.recorded += 1;
    }

    /// Writes the records that are pending, if there are enough for a write.
    pub fn commit(&mut self, machine: &mut TieredMachine, io_queue: &mut IoQueue) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // records far below 2^53
        let writes = |records: u64| (records as f64 / self.settings.batch) as u64;
        let before = self.recorded - self.pending as u64;
        if self.pending == 0 || writes(self.recorded) == writes(before) {
            return;
        }
        let JournalSettings { shape, record, .. } = self.settings;
        let pages_of =
            |records: usize| shape.pages_of(core::iter::repeat_n(record as usize, records));
        let new = pages_of(self.pending);
        self.pending = 0;
        let (first, pages) = if self.next_page + new <= shape.pages {
            (self.next_page, new)
        } else {
            self.compact(machine, |records| pages_of(records) <= shape.most_compacted());
            self.generation += 1;
            (0, pages_of(self.records.len()))
        };
        self.next_page = first + pages;
        let start = u64::from(shape.pages) * (self.generation % 2) + u64::from(first);
        let bytes = pages * shape.page;
        machine.count_journal(bytes.into());
        let offset = self.offset + start * u64::from(shape.page);
        io_queue.io.push(Io { write: true, offset, bytes });
    }

    /// Drops records that no longer matter. While the others do not fit, evicts the segment with
    /// the oldest objects.
    fn compact(&mut self, machine: &mut TieredMachine, fit: impl Fn(usize) -> bool) {
        loop {
            // Writes of segments that the medium no longer has.
            let gone = self.written.saturating_sub(self.segments).max(self.evicted);
            let mut newest: BTreeMap<u64, u64> = BTreeMap::new();
            for Removed { key, after } in self.records.drain(..).filter(|one| one.after > gone) {
                newest.insert(key, after);
            }
            self.records = newest.into_iter().map(|(key, after)| Removed { key, after }).collect();
            if fit(self.records.len()) || gone == self.written {
                return;
            }
            // Segments are written in turn, from the first one.
            #[allow(clippy::cast_possible_truncation)] // fewer than 2^30 segments
            let segment = (gone % self.segments) as u32;
            if machine.is_stored(segment) {
                machine.evict_segment(segment);
            }
            self.evicted = gone + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_do_not_cross_pages() {
        let shape = JournalShape { pages: 16, page: 8192, capacity: 100 };
        assert_eq!(shape.pages_of([]), 1);
        assert_eq!(shape.pages_of([40, 40]), 1);
        assert_eq!(shape.pages_of([40, 40, 40]), 2);
        assert_eq!(shape.pages_of([50, 50, 1, 100]), 3);
    }
}
