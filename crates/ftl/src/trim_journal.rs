//! The trim journal, which makes trims survive a power cut.
//!
//! A trim leaves no mark on the array: a scan would find the last copy of the trimmed page. So
//! trims are recorded in separate blocks when a flush requires it or a journal page is full. A
//! record with sequence number T means that no copy of its pages with a number below T counts. This
//! remains true, because any page programmed later has a higher number. So records need no order
//! among themselves, and obsolete ones do no harm.
//!
//! The size of the journal is bounded. When it has twice as many records as a snapshot, a
//! *snapshot* of all unmapped pages, one bit each, is started in a new block. When the snapshot is
//! complete, the older journal blocks are erased.
//!
//! A page may be unmapped while its program is in flight with a sequence number below T. Such a
//! page is left out of the record. Its trim waits for a later record; a snapshot instead keeps the
//! old journal until that program is done.
//!
//! This module holds the state of the journal; [`trim_recording`](crate::trim_recording) writes it.

use alloc::vec;
use alloc::vec::Vec;
use gordon_units::{BlockId, Lpn};

/// The content of a journal page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrimRecord {
    /// Trimmed pages: first page and count of each range, at most
    /// [`Config::journal_ranges`](crate::Config::journal_ranges) ranges.
    Trimmed(Vec<(Lpn, u32)>),
    /// A part of a snapshot.
    Unmapped {
        /// The page of the first bit.
        first: Lpn,
        /// Number of pages, at most [`Config::journal_span`](crate::Config::journal_span).
        count: u32,
        /// One bit for each page, set if it is unmapped; bit 0 of the first word is the first page.
        bits: Vec<u64>,
    },
}

impl TrimRecord {
    /// The pages that the record marks as trimmed or unmapped.
    pub fn pages(&self) -> impl Iterator<Item = Lpn> {
        let ranges: &[(Lpn, u32)] = if let Self::Trimmed(ranges) = self { ranges } else { &[] };
        let (start, words): (u32, &[u64]) = match self {
            Self::Unmapped { first, bits, .. } => (first.0, bits),
            Self::Trimmed(_) => (0, &[]),
        };
        let bits = words.iter().zip((start..).step_by(64)).flat_map(|(&word, start)| {
            let mut word = word;
            core::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(Lpn(start + bit))
            })
        });
        ranges.iter().flat_map(|&(first, count)| (first.0..first.0 + count).map(Lpn)).chain(bits)
    }
}

/// The state of the journal, including trims not yet recorded.
#[derive(Clone, Debug)]
pub(crate) struct TrimJournal {
    /// Trims not yet recorded: first page and count of each range.
    pub pending: Vec<(u32, u32)>,
    /// Flush epochs that wait for the pending trims, and for those in the record in flight.
    pub waiting_epochs: Vec<u32>,
    pub inflight_epochs: Vec<u32>,
    /// Blocks to be erased when the pending trims are recorded, and when the record in flight is.
    pub deferred_erases: Vec<BlockId>,
    pub inflight_erases: Vec<BlockId>,
    /// The record in flight.
    pub inflight_record: Option<TrimRecord>,
    /// The sequence number of its page.
    pub inflight_sequence: u64,
    /// Blocks since the start of the last snapshot; the last of them is open. `next` is its next
    /// page.
    pub blocks: Vec<BlockId>,
    pub next: u32,
    /// Number of records since the last snapshot.
    pub records: u32,
    /// The first page of the next part of the snapshot in progress; `None` without one.
    pub snapshot: Option<u32>,
    /// Older blocks that are needed until the snapshot is complete.
    pub superseded: Vec<BlockId>,
    /// Pages that the last snapshot left out because their programs were in flight.
    pub racing_programs: Vec<u32>,
}

impl TrimJournal {
    /// A journal found in `superseded` blocks, which the next snapshot replaces.
    pub fn new(superseded: Vec<BlockId>) -> Self {
        Self {
            pending: vec![],
            waiting_epochs: vec![],
            inflight_epochs: vec![],
            deferred_erases: vec![],
            inflight_erases: vec![],
            inflight_record: None,
            inflight_sequence: 0,
            blocks: vec![],
            next: 0,
            records: 0,
            snapshot: None,
            superseded,
            racing_programs: vec![],
        }
    }

    /// Starts a snapshot that replaces the journal found at mount.
    pub fn start_snapshot(&mut self) {
        self.snapshot = (!self.superseded.is_empty()).then_some(0);
    }

    /// The sequence number of the page in flight, or of the last one.
    pub fn sequence_in_flight(&self) -> u64 {
        self.inflight_sequence
    }

    /// Whether a record is in flight or a snapshot in progress.
    pub fn is_busy(&self) -> bool {
        self.inflight_record.is_some() || self.snapshot.is_some()
    }
}
