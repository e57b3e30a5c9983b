//! The trim log: makes trims outlive a power cut.
//!
//! A trim leaves no mark on the array: what a scan finds of a trimmed page is its last copy. So
//! trims are recorded, in blocks of their own, when a flush asks for it or a page of them is full.
//! A record of sequence number T says of its pages: no copy with a number below T counts. That
//! stays true for ever, as any page programmed later has a higher number: records need no order
//! among themselves, and those that outlive their use do no harm.
//!
//! The log does not grow without end. When as many records as make two snapshots are written, a
//! *snapshot* is begun in a fresh block: all pages not mapped, a bit each. When it is complete the
//! blocks before it are erased.
//!
//! A page may be on its way when a record is made: it is not mapped, and its program, in flight,
//! has a number below T. It is left out, and waits: for a later record, or, in a snapshot, by
//! keeping the old log until that program is done.

use crate::buffer::{BufferState, NONE, PageBuffer};
use crate::io::{Action, Out};
use crate::machine::Ftl;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn, Ppn};

/// Stands for the write point of a page of the log.
pub(crate) const LOG: u32 = NONE;

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Trimmed: first pages and counts, at most [`Config::log_ranges`](crate::Config::log_ranges).
    Trimmed(Vec<(Lpn, u32)>),
    /// Part of a snapshot.
    Unmapped {
        /// The page of the first bit.
        first: Lpn,
        /// How many pages, at most [`Config::log_span`](crate::Config::log_span).
        count: u32,
        /// A bit a page, from the lowest of the first word on: it is not mapped.
        bits: Vec<u64>,
    },
}

impl Record {
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

/// The log, and what is yet to go into it.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// Trimmed, not recorded: first pages and counts.
    pending: Vec<(u32, u32)>,
    /// Flush epochs that wait for the pending ones, and for those in flight.
    owed: Vec<u32>,
    carried: Vec<u32>,
    /// Blocks to be erased when the pending ones are recorded, and those in flight.
    held: Vec<BlockId>,
    carried_blocks: Vec<BlockId>,
    /// The content of the record in flight.
    record: Option<Record>,
    /// Blocks since the last snapshot began, the last of which is written; its next page.
    blocks: Vec<BlockId>,
    next: u32,
    /// Records since the last snapshot.
    records: u32,
    /// The page at which the snapshot under way goes on.
    snapshot: Option<u32>,
    /// Blocks that are needed until the snapshot is complete.
    old: Vec<BlockId>,
    /// Pages whose programs the last snapshot left out.
    unsettled: Vec<u32>,
}

impl Log {
    /// A log in `old` blocks, which a snapshot is to replace when it is next written.
    pub fn new(old: Vec<BlockId>) -> Self {
        Self {
            pending: vec![],
            owed: vec![],
            carried: vec![],
            held: vec![],
            carried_blocks: vec![],
            record: None,
            blocks: vec![],
            next: 0,
            records: 0,
            snapshot: None,
            old,
            unsettled: vec![],
        }
    }

    /// A snapshot is to replace what was found.
    pub fn renew(&mut self) {
        self.snapshot = (!self.old.is_empty()).then_some(0);
    }

    /// Whether it is being written.
    pub fn is_busy(&self) -> bool {
        self.record.is_some() || self.snapshot.is_some()
    }
}

impl<O: Out> Ftl<O> {
    /// The content of the page of the log in flight.
    ///
    /// # Panics
    /// Where there is none.
    pub fn record(&self) -> &Record {
        self.log.record.as_ref().expect("a page of the log is in flight")
    }

    /// A page is trimmed; flushes of `epoch` and later ones wait until that is recorded.
    pub(crate) fn note_trim(&mut self, lpn: Lpn, epoch: Option<u32>) {
        if !self.config.durable {
            return;
        }
        let log = &mut self.log;
        append(&mut log.pending, lpn.0);
        let epoch = epoch.unwrap_or_else(|| self.epochs.present());
        if log.owed.last() != Some(&epoch) {
            self.epochs.enter_in(epoch);
            log.owed.push(epoch);
        }
    }

    /// Whether a flush or an erase waits for trims to be recorded.
    fn is_asked(&self) -> bool {
        let log = &self.log;
        !log.pending.is_empty() && (self.epochs.is_flushing() || !log.held.is_empty())
    }

    /// An emptied block may be erased only when the trims are recorded that made its pages stale:
    /// until then a cut would bring back what was there before them. True if it has to wait.
    pub(crate) fn holds_erase(&mut self, block: BlockId) -> bool {
        let log = &mut self.log;
        if !log.pending.is_empty() {
            log.held.push(block);
        } else if matches!(log.record, Some(Record::Trimmed(_))) {
            log.carried_blocks.push(block);
        } else {
            return false;
        }
        true
    }

    /// Whether [`write_log`](Self::write_log) may have something to do.
    pub(crate) fn wants_log(&self) -> bool {
        let log = &self.log;
        let full = log.pending.len() >= self.config.log_ranges() as usize;
        let asked = self.is_asked();
        let replaced = !log.old.is_empty() && !log.blocks.is_empty();
        log.record.is_none() && (log.snapshot.is_some() || full || asked || replaced)
    }

    /// Writes the next page of the log, if one is due; true if there is no room for it.
    pub(crate) fn write_log(&mut self) -> bool {
        if !self.wants_log() || self.worn_out {
            return false;
        }
        self.release_old();
        let full = self.log.pending.len() >= self.config.log_ranges() as usize;
        let due = full || self.is_asked();
        let mounted = self.log.blocks.is_empty() && !self.log.old.is_empty();
        if due && mounted && self.log.snapshot.is_none() {
            self.log.snapshot = Some(0);
        }
        if self.log.snapshot.is_none() && !due {
            return false;
        }
        let fits = !self.log.blocks.is_empty() && self.log.next < self.layout.pages_per_block();
        if !fits && self.blocks.free() == 0 {
            return true;
        }
        let large = self.log.records >= 2 * self.config.snapshot_pages();
        if !fits && large && self.log.snapshot.is_none() && self.log.old.is_empty() {
            self.log.old = take(&mut self.log.blocks);
            self.log.snapshot = Some(0);
        }
        let programs = self.fresh_programs();
        let record = match self.log.snapshot {
            Some(first) => self.snapshot(first, &programs),
            None => self.due(&programs),
        };
        if record == Record::Trimmed(vec![]) {
            // All were written since, or are about to be.
            self.owe_nothing();
            return false;
        }
        if !fits {
            let Some((block, ..)) = self.blocks.open() else { return true };
            self.log.blocks.push(block);
            self.log.next = 0;
            self.set_apart();
        }
        self.log.record = Some(record);
        let block = *self.log.blocks.last().expect("opened");
        let ppn = self.layout.ppn(block, self.log.next);
        self.log.next += 1;
        // Above all that is on the array; what is written from now on gets a number above it.
        let sequence = self.blocks.renumber(block);
        self.trim_floor = sequence;
        self.renumber_points();
        let mut buffer = PageBuffer::new(0, NONE, BufferState::Programming);
        (buffer.psn, buffer.point_or_prev, buffer.sequence) = (self.slot(ppn, 0), LOG, sequence);
        let at = self.buffers.add(buffer);
        self.points.add_load(self.layout.lane_of(block));
        self.stats.log_programs += u64::from(self.config.slots);
        self.stats.program_operations += 1;
        self.with_buffer(Action::Record(Buf(at)));
        self.act(Action::Flash(FlashOp::Program { ppn, buf: Buf(at) }));
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
    fn owe_nothing(&mut self) {
        for epoch in take(&mut self.log.carried) {
            self.epochs.leave(epoch);
        }
        for block in take(&mut self.log.carried_blocks) {
            self.erase(block);
        }
        self.ack_flushes();
    }

    /// A page of the log is programmed.
    pub(crate) fn log_done(&mut self, ppn: Ppn, at: u32) {
        self.points.drop_load(self.lane_of(ppn));
        self.buffers.remove(at);
        match self.log.record.take() {
            Some(Record::Unmapped { first, count, .. }) => {
                let next = first.0 + count;
                self.log.snapshot = (next < self.config.exported).then_some(next);
                self.log.records = 0;
            }
            _ => self.log.records += 1,
        }
        self.release_old();
        self.owe_nothing();
    }

    /// A page of the log could not be programmed: a snapshot is begun elsewhere, which also tells
    /// what was in that page; but what flushes wait for is recorded once more.
    pub(crate) fn log_failed(&mut self, ppn: Ppn, at: u32) {
        let block = self.layout.block_of(ppn);
        self.points.drop_load(self.layout.lane_of(block));
        self.buffers.remove(at);
        self.blocks.abandon(block);
        let log = &mut self.log;
        if let Some(Record::Trimmed(ranges)) = log.record.take() {
            log.pending.extend(ranges.iter().map(|&(first, count)| (first.0, count)));
        }
        log.owed.append(&mut log.carried);
        log.held.append(&mut log.carried_blocks);
        let blocks = take(&mut log.blocks);
        log.old.extend(blocks);
        log.snapshot = Some(0);
    }

    /// Erases the blocks before a snapshot that is complete.
    fn release_old(&mut self) {
        if self.log.snapshot.is_some() || self.log.blocks.is_empty() {
            return;
        }
        let mut unsettled = take(&mut self.log.unsettled);
        unsettled.retain(|&lpn| {
            let at = self.map.buffer_of(lpn);
            at.is_some_and(|at| {
                let buffer = &self.buffers[at];
                buffer.state == BufferState::Programming && buffer.mapped_psn == NONE
            })
        });
        self.log.unsettled = unsettled;
        if self.log.unsettled.is_empty() {
            for block in take(&mut self.log.old) {
                self.blocks.discard(block);
                self.emptied(block);
            }
            self.set_apart();
        }
    }

    /// A block of the log more or less: it has room to grow all the same.
    pub(crate) fn set_apart(&mut self) {
        let blocks = self.log.blocks.len() + self.log.old.len();
        // Blocks are numbered in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let log = blocks as u32;
        self.apart = self.config.apart(&self.layout, log);
    }

    /// Whether a page has no copy that counts, nor will have one with a low number.
    fn is_unmapped(&self, lpn: u32, programs: &[u32]) -> bool {
        self.mapped_psn(Lpn(lpn)).is_none() && programs.binary_search(&lpn).is_err()
    }

    /// As many of the pending trims as fit into a page.
    fn due(&mut self, programs: &[u32]) -> Record {
        let most = self.config.log_ranges() as usize;
        let (mut due, mut left) = (vec![], vec![]);
        for (first, count) in take(&mut self.log.pending) {
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
            self.log.carried = take(&mut self.log.owed);
            self.log.carried_blocks = take(&mut self.log.held);
        }
        self.log.pending = left;
        Record::Trimmed(due.into_iter().map(|(first, count)| (Lpn(first), count)).collect())
    }

    /// The part of a snapshot from one page on.
    fn snapshot(&mut self, first: u32, programs: &[u32]) -> Record {
        let count = self.config.log_span().min(self.config.exported - first);
        let mut bits = vec![];
        if self.config.contents {
            bits.resize(count.div_ceil(64) as usize, 0);
            for (at, lpn) in (first..first + count).enumerate() {
                let unmapped = self.is_unmapped(lpn, programs);
                bits[at / 64] |= u64::from(unmapped) << (at % 64);
            }
        }
        let within = |&&lpn: &&u32| (first..first + count).contains(&lpn);
        self.log.unsettled.extend(programs.iter().filter(within));
        Record::Unmapped { first: Lpn(first), count, bits }
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
