//! Records trims in the [trim journal](crate::trim_journal), and completes the flushes and erases
//! that wait for them.

use crate::buffer::{BufferState, NONE, PageBuffer, Programmed};
use crate::io::{Action, ActionSink};
use crate::machine::Ftl;
use crate::trim_journal::TrimRecord;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn, Ppn};

impl<O: ActionSink> Ftl<O> {
    /// The record of the journal page in flight.
    ///
    /// # Panics
    /// Panics if no journal page is in flight.
    pub fn trim_record(&self) -> &TrimRecord {
        self.trim_journal.inflight_record.as_ref().expect("a page of the journal is in flight")
    }

    /// Notes a trim; flushes of `epoch` and later wait until it is recorded.
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

    /// An emptied block may be erased only when the trims that made its pages stale are recorded;
    /// until then a power cut would bring back older copies. Returns true if the erase is deferred.
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

    /// Whether [`write_journal`](Self::write_journal) may have work to do.
    pub(crate) fn wants_journal_write(&self) -> bool {
        let journal = &self.trim_journal;
        let full = journal.pending.len() >= self.config.journal_ranges() as usize;
        let asked = self.is_awaited_by_any();
        let replaced = !journal.superseded.is_empty() && !journal.blocks.is_empty();
        journal.inflight_record.is_none()
            && (journal.snapshot.is_some() || full || asked || replaced)
    }

    /// Writes the next journal page if one is due. Returns true if no block is free for it.
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
            // All trimmed pages have been written again, or are being written.
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
        // The record gets the highest sequence number so far; pages programmed from now on get
        // higher ones.
        let sequence = self.blocks.renumber(block);
        self.trim_floor = sequence;
        self.renumber_points();
        self.trim_journal.inflight_sequence = sequence;
        let content = Programmed::Trims;
        let state = BufferState::Programming { psn: self.slot(ppn, 0), content };
        let at = self.buffers.add(PageBuffer::new(0, NONE, state));
        self.write_points.add_load(self.layout.die_group_of(block));
        self.stats.journal_programs += u64::from(self.config.slots);
        self.stats.program_operations += 1;
        self.with_buffer(Action::Record(Buf(at)));
        self.emit(Action::Flash(FlashOp::Program { ppn, buf: Buf(at) }));
        false
    }

    /// Pages whose program is in flight and that have no copy on the array, in ascending order.
    /// Their programs have already been assigned a sequence number.
    fn fresh_programs(&self) -> Vec<u32> {
        let buffers = (0..self.buffers.capacity()).filter(|&at| {
            let buffer = &self.buffers[at];
            is_fresh_program(buffer) && self.map.buffer_of(buffer.lpn) == Some(at)
        });
        let mut programs: Vec<u32> = buffers.map(|at| self.buffers[at].lpn).collect();
        programs.sort_unstable();
        programs
    }

    /// Completes the flushes and erases that waited for the record.
    fn complete_waiting(&mut self) {
        for epoch in take(&mut self.trim_journal.inflight_epochs) {
            self.epochs.leave(epoch);
        }
        for block in take(&mut self.trim_journal.inflight_erases) {
            self.erase(block);
        }
        self.ack_flushes();
    }

    /// Handles the completion of a journal page.
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

    /// Handles the failure of a journal page. A snapshot is started in another block, which also
    /// covers the lost record. The trims that flushes wait for are recorded again.
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

    /// Erases the older blocks when the snapshot is complete and its racing programs are done.
    fn erase_superseded(&mut self) {
        if self.trim_journal.snapshot.is_some() || self.trim_journal.blocks.is_empty() {
            return;
        }
        let mut unsettled = take(&mut self.trim_journal.racing_programs);
        unsettled.retain(|&lpn| {
            let at = self.map.buffer_of(lpn);
            at.is_some_and(|at| is_fresh_program(&self.buffers[at]))
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

    /// Updates the recovery reserve after the journal's number of blocks changed.
    pub(crate) fn update_recovery_reserve(&mut self) {
        let blocks = self.trim_journal.blocks.len() + self.trim_journal.superseded.len();
        // Block numbers have 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let journal = blocks as u32;
        self.recovery_reserve = self.config.recovery_reserve(&self.layout, journal);
    }

    /// Whether a page is unmapped and has no program in flight with a low sequence number.
    fn is_unmapped(&self, lpn: u32, programs: &[u32]) -> bool {
        self.mapped_psn(Lpn(lpn)).is_none() && programs.binary_search(&lpn).is_err()
    }

    /// Takes as many pending trims as fit into a journal page.
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

    /// The part of a snapshot that starts at page `first`.
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

/// Whether a page is being programmed that has no copy on the array.
fn is_fresh_program(buffer: &PageBuffer) -> bool {
    let data = |content| matches!(content, Programmed::Data { .. });
    matches!(buffer.state, BufferState::Programming { content, .. } if data(content))
        && buffer.mapped_psn == NONE
}

/// Whether a page extends the last range.
fn follows(ranges: &[(u32, u32)], lpn: u32) -> bool {
    ranges.last().is_some_and(|&(first, count)| first + count == lpn)
}

/// Appends a page to ranges.
fn append(ranges: &mut Vec<(u32, u32)>, lpn: u32) {
    if follows(ranges, lpn) {
        ranges.last_mut().expect("it follows one").1 += 1;
    } else {
        ranges.push((lpn, 1));
    }
}
