//! The trim journal: makes trims outlive a power cut.
//!
//! A trim leaves no mark on the array: what a scan finds of a trimmed page is its last copy. So
//! trims are recorded, in blocks of their own, when a flush asks for it or a page of them is full.
//! A record of sequence number T says of its pages: no copy with a number below T counts. That
//! stays true for ever, as any page programmed later has a higher number: records need no order
//! among themselves, and those that outlive their use do no harm.
//!
//! The journal does not grow without end. When as many records as make two snapshots are written, a
//! *snapshot* is begun in a fresh block: all pages not mapped, a bit each. When it is complete the
//! blocks before it are erased.
//!
//! A page may be on its way when a record is made: it is not mapped, and its program, in flight,
//! has a number below T. It is left out, and waits: for a later record, or, in a snapshot, by
//! keeping the old journal until that program is done.

use crate::buffer::{BufferState, NONE, PageBuffer};
use crate::io::{Action, ActionSink};
use crate::machine::Ftl;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn, Ppn};

/// Stands for the write point of a page of the journal.
pub(crate) const JOURNAL_POINT: u32 = NONE;

/// A page of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrimRecord {
    /// Trimmed: first pages and counts, at most
    /// [`Config::journal_ranges`](crate::Config::journal_ranges).
    Trimmed(Vec<(Lpn, u32)>),
    /// Part of a snapshot.
    Unmapped {
        /// The page of the first bit.
        first: Lpn,
        /// How many pages, at most [`Config::journal_span`](crate::Config::journal_span).
        count: u32,
        /// A bit a page, from the lowest of the first word on: it is not mapped.
        bits: Vec<u64>,
    },
}

impl TrimRecord {
    /// The pages that it speaks of.
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

/// The journal, and what is yet to go into it.
#[derive(Clone, Debug)]
pub(crate) struct TrimJournal {
    /// Trimmed, not recorded: first pages and counts.
    pending: Vec<(u32, u32)>,
    /// Flush epochs that wait for the pending ones, and for those in flight.
    waiting_epochs: Vec<u32>,
    inflight_epochs: Vec<u32>,
    /// Blocks to be erased when the pending ones are recorded, and those in flight.
    deferred_erases: Vec<BlockId>,
    inflight_erases: Vec<BlockId>,
    /// The content of the record in flight.
    inflight_record: Option<TrimRecord>,
    /// Blocks since the last snapshot began, the last of which is written; its next page.
    blocks: Vec<BlockId>,
    next: u32,
    /// Records since the last snapshot.
    records: u32,
    /// The page at which the snapshot under way continues.
    snapshot: Option<u32>,
    /// Blocks that are needed until the snapshot is complete.
    superseded: Vec<BlockId>,
    /// Pages whose programs the last snapshot left out.
    racing_programs: Vec<u32>,
}

impl TrimJournal {
    /// A journal in `superseded` blocks, which a snapshot is to replace when it is next written.
    pub fn new(superseded: Vec<BlockId>) -> Self {
        Self {
            pending: vec![],
            waiting_epochs: vec![],
            inflight_epochs: vec![],
            deferred_erases: vec![],
            inflight_erases: vec![],
            inflight_record: None,
            blocks: vec![],
            next: 0,
            records: 0,
            snapshot: None,
            superseded,
            racing_programs: vec![],
        }
    }

    /// A snapshot is to replace what was found.
    pub fn start_snapshot(&mut self) {
        self.snapshot = (!self.superseded.is_empty()).then_some(0);
    }

    /// Whether it is being written.
    pub fn is_busy(&self) -> bool {
        self.inflight_record.is_some() || self.snapshot.is_some()
    }
}

impl<O: ActionSink> Ftl<O> {
    /// The content of the page of the journal in flight.
    ///
    /// # Panics
    /// Where there is none.
    pub fn trim_record(&self) -> &TrimRecord {
        self.trim_journal.inflight_record.as_ref().expect("a page of the journal is in flight")
    }

    /// A page is trimmed; flushes of `epoch` and later ones wait until that is recorded.
    pub(crate) fn note_trim(&mut self, lpn: Lpn, epoch: Option<u32>) {
        if !self.config.durable {
            return;
        }
        let journal = &mut self.trim_journal;
        append(&mut journal.pending, lpn.0);
        let epoch = epoch.unwrap_or_else(|| self.epochs.present());
        if journal.waiting_epochs.last() != Some(&epoch) {
            self.epochs.enter_in(epoch);
            journal.waiting_epochs.push(epoch);
        }
    }

    /// Whether a flush or an erase waits for trims to be recorded.
    fn is_awaited_by_any(&self) -> bool {
        let journal = &self.trim_journal;
        !journal.pending.is_empty()
            && (self.epochs.is_flushing() || !journal.deferred_erases.is_empty())
    }

    /// An emptied block may be erased only when the trims are recorded that made its pages stale:
    /// until then a cut would bring back what was there before them. True if it has to wait.
    pub(crate) fn defers_erase(&mut self, block: BlockId) -> bool {
        let journal = &mut self.trim_journal;
        if !journal.pending.is_empty() {
            journal.deferred_erases.push(block);
        } else if matches!(journal.inflight_record, Some(TrimRecord::Trimmed(_))) {
            journal.inflight_erases.push(block);
        } else {
            return false;
        }
        true
    }

    /// Whether [`write_journal`](Self::write_journal) may have something to do.
    pub(crate) fn wants_journal_write(&self) -> bool {
        let journal = &self.trim_journal;
        let full = journal.pending.len() >= self.config.journal_ranges() as usize;
        let asked = self.is_awaited_by_any();
        let replaced = !journal.superseded.is_empty() && !journal.blocks.is_empty();
        journal.inflight_record.is_none()
            && (journal.snapshot.is_some() || full || asked || replaced)
    }

    /// Writes the next page of the journal, if one is due; true if there is no room for it.
    pub(crate) fn write_journal(&mut self) -> bool {
        if !self.wants_journal_write() || self.worn_out {
            return false;
        }
        self.erase_superseded();
        let full = self.trim_journal.pending.len() >= self.config.journal_ranges() as usize;
        let due = full || self.is_awaited_by_any();
        let mounted =
            self.trim_journal.blocks.is_empty() && !self.trim_journal.superseded.is_empty();
        if due && mounted && self.trim_journal.snapshot.is_none() {
            self.trim_journal.snapshot = Some(0);
        }
        if self.trim_journal.snapshot.is_none() && !due {
            return false;
        }
        let fits = !self.trim_journal.blocks.is_empty()
            && self.trim_journal.next < self.layout.pages_per_block();
        if !fits && self.blocks.free() == 0 {
            return true;
        }
        let large = self.trim_journal.records >= 2 * self.config.snapshot_pages();
        if !fits
            && large
            && self.trim_journal.snapshot.is_none()
            && self.trim_journal.superseded.is_empty()
        {
            self.trim_journal.superseded = take(&mut self.trim_journal.blocks);
            self.trim_journal.snapshot = Some(0);
        }
        let programs = self.fresh_programs();
        let record = match self.trim_journal.snapshot {
            Some(first) => self.snapshot_part(first, &programs),
            None => self.next_trims(&programs),
        };
        if record == TrimRecord::Trimmed(vec![]) {
            // All were written since, or are about to be.
            self.complete_waiting();
            return false;
        }
        if !fits {
            let Some((block, ..)) = self.blocks.open() else { return true };
            self.trim_journal.blocks.push(block);
            self.trim_journal.next = 0;
            self.update_recovery_reserve();
        }
        self.trim_journal.inflight_record = Some(record);
        let block = *self.trim_journal.blocks.last().expect("opened");
        let ppn = self.layout.ppn(block, self.trim_journal.next);
        self.trim_journal.next += 1;
        // Above all that is on the array; what is written from now on gets a number above it.
        let sequence = self.blocks.renumber(block);
        self.trim_floor = sequence;
        self.renumber_points();
        let mut buffer = PageBuffer::new(0, NONE, BufferState::Programming);
        (buffer.psn, buffer.point_or_prev, buffer.sequence) =
            (self.slot(ppn, 0), JOURNAL_POINT, sequence);
        let at = self.buffers.add(buffer);
        self.write_points.add_load(self.layout.die_group_of(block));
        self.stats.journal_programs += u64::from(self.config.slots);
        self.stats.program_operations += 1;
        self.with_buffer(Action::Record(Buf(at)));
        self.emit(Action::Flash(FlashOp::Program { ppn, buf: Buf(at) }));
        false
    }

    /// Pages on their way to the array that have no place there yet, in order: what is programmed
    /// has a number already.
    fn fresh_programs(&self) -> Vec<u32> {
        let buffers = (0..self.buffers.capacity()).filter(|&at| {
            let buffer = &self.buffers[at];
            let fresh = buffer.in_map
                && buffer.state == BufferState::Programming
                && buffer.mapped_psn == NONE;
            fresh && self.map.buffer_of(buffer.lpn) == Some(at)
        });
        let mut programs: Vec<u32> = buffers.map(|at| self.buffers[at].lpn).collect();
        programs.sort_unstable();
        programs
    }

    /// What flushes waited for is on the array.
    fn complete_waiting(&mut self) {
        for epoch in take(&mut self.trim_journal.inflight_epochs) {
            self.epochs.leave(epoch);
        }
        for block in take(&mut self.trim_journal.inflight_erases) {
            self.erase(block);
        }
        self.ack_flushes();
    }

    /// A page of the journal is programmed.
    pub(crate) fn journal_done(&mut self, ppn: Ppn, at: u32) {
        self.write_points.drop_load(self.die_group_of(ppn));
        self.buffers.remove(at);
        match self.trim_journal.inflight_record.take() {
            Some(TrimRecord::Unmapped { first, count, .. }) => {
                let next = first.0 + count;
                self.trim_journal.snapshot = (next < self.config.exported).then_some(next);
                self.trim_journal.records = 0;
            }
            _ => self.trim_journal.records += 1,
        }
        self.erase_superseded();
        self.complete_waiting();
    }

    /// A page of the journal could not be programmed: a snapshot is begun elsewhere, which also
    /// tells what was in that page; but what flushes wait for is recorded once more.
    pub(crate) fn journal_failed(&mut self, ppn: Ppn, at: u32) {
        let block = self.layout.block_of(ppn);
        self.write_points.drop_load(self.layout.die_group_of(block));
        self.buffers.remove(at);
        self.blocks.abandon(block);
        let journal = &mut self.trim_journal;
        if let Some(TrimRecord::Trimmed(ranges)) = journal.inflight_record.take() {
            journal.pending.extend(ranges.iter().map(|&(first, count)| (first.0, count)));
        }
        journal.waiting_epochs.append(&mut journal.inflight_epochs);
        journal.deferred_erases.append(&mut journal.inflight_erases);
        let blocks = take(&mut journal.blocks);
        journal.superseded.extend(blocks);
        journal.snapshot = Some(0);
    }

    /// Erases the blocks before a snapshot that is complete.
    fn erase_superseded(&mut self) {
        if self.trim_journal.snapshot.is_some() || self.trim_journal.blocks.is_empty() {
            return;
        }
        let mut unsettled = take(&mut self.trim_journal.racing_programs);
        unsettled.retain(|&lpn| {
            let at = self.map.buffer_of(lpn);
            at.is_some_and(|at| {
                let buffer = &self.buffers[at];
                buffer.state == BufferState::Programming && buffer.mapped_psn == NONE
            })
        });
        self.trim_journal.racing_programs = unsettled;
        if self.trim_journal.racing_programs.is_empty() {
            for block in take(&mut self.trim_journal.superseded) {
                self.blocks.discard(block);
                self.emptied(block);
            }
            self.update_recovery_reserve();
        }
    }

    /// A block of the journal more or less: it has room to grow all the same.
    pub(crate) fn update_recovery_reserve(&mut self) {
        let blocks = self.trim_journal.blocks.len() + self.trim_journal.superseded.len();
        // Blocks are numbered in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let journal = blocks as u32;
        self.recovery_reserve = self.config.recovery_reserve(&self.layout, journal);
    }

    /// Whether a page has no copy that counts, nor will have one with a low number.
    fn is_unmapped(&self, lpn: u32, programs: &[u32]) -> bool {
        self.mapped_psn(Lpn(lpn)).is_none() && programs.binary_search(&lpn).is_err()
    }

    /// As many of the pending trims as fit into a page.
    fn next_trims(&mut self, programs: &[u32]) -> TrimRecord {
        let most = self.config.journal_ranges() as usize;
        let (mut due, mut left) = (vec![], vec![]);
        for (first, count) in take(&mut self.trim_journal.pending) {
            if due.len() == most {
                left.push((first, count));
                continue;
            }
            for lpn in first..first + count {
                if programs.binary_search(&lpn).is_ok() {
                    left.push((lpn, 1));
                } else if self.mapped_psn(Lpn(lpn)).is_none() {
                    let fits = due.len() < most || follows(&due, lpn);
                    append(if fits { &mut due } else { &mut left }, lpn);
                }
            }
        }
        if left.is_empty() {
            self.trim_journal.inflight_epochs = take(&mut self.trim_journal.waiting_epochs);
            self.trim_journal.inflight_erases = take(&mut self.trim_journal.deferred_erases);
        }
        self.trim_journal.pending = left;
        TrimRecord::Trimmed(due.into_iter().map(|(first, count)| (Lpn(first), count)).collect())
    }

    /// The part of a snapshot from one page on.
    fn snapshot_part(&mut self, first: u32, programs: &[u32]) -> TrimRecord {
        let count = self.config.journal_span().min(self.config.exported - first);
        let mut bits = vec![];
        if self.config.contents {
            bits.resize(count.div_ceil(64) as usize, 0);
            for (at, lpn) in (first..first + count).enumerate() {
                let unmapped = self.is_unmapped(lpn, programs);
                bits[at / 64] |= u64::from(unmapped) << (at % 64);
            }
        }
        let within = |&&lpn: &&u32| (first..first + count).contains(&lpn);
        self.trim_journal.racing_programs.extend(programs.iter().filter(within));
        TrimRecord::Unmapped { first: Lpn(first), count, bits }
    }
}

/// Whether a page follows the last range.
fn follows(ranges: &[(u32, u32)], lpn: u32) -> bool {
    ranges.last().is_some_and(|&(first, count)| first + count == lpn)
}

/// Adds a page to ranges.
fn append(ranges: &mut Vec<(u32, u32)>, lpn: u32) {
    if follows(ranges, lpn) {
        ranges.last_mut().expect("it follows one").1 += 1;
    } else {
        ranges.push((lpn, 1));
    }
}
