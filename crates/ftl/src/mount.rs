//! Mounting: from what the array holds to a layer that continues with it.
//!
//! The map is not kept on the array; it follows from what is (section 4.2.2 of the paper): of each
//! page the freshest copy counts, by the sequence number beside it, and of equal ones the later.
//! [`Mount`] asks for the summary of each block and, where there is none, for its pages one by one.
//! Many looks may be outstanding, to be answered in any order. So mounting can be simulated, tested
//! and done by the same code.
//!
//! After a clean stop the layer continues where it stood. After a cut it first makes good what that
//! may have left, with ordinary operations, so that a cut in the midst of it does no harm:
//!
//! 1. The last page of a block that was being written may read well now and fail later (an
//!    *unstable page*): what it holds is rewritten.
//! 2. So may the last page of the trim journal: the journal is written again, as a snapshot.
//! 3. Blocks without a summary are emptied and erased, and those with a page that cannot be read:
//!    it might come back after the next cut, older than what was served since.
//!
//! Before the first two are done nothing is erased that holds data, for it may be what an unstable
//! page stands before. A block that seems erased may be half so, or have a page half programmed: it
//! is erased again before it is used.

use crate::blocks::Blocks;
use crate::buffer::{CopyCause, NONE};
use crate::config::{Config, FtlConfigError};
use crate::io::ActionSink;
use crate::machine::Ftl;
use crate::map::Map;
use crate::trim_journal::{TrimJournal, TrimRecord};
use crate::write_point::WriteStream;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_nand::Layout;
use gordon_units::{BlockId, Lpn, Ppn};

/// Numbers that pages may have which cannot be read now are skipped after a cut. Such pages are
/// erased before anything is served, but for one that seems erased and is not: should it ever be
/// read, it is the older.
const SKIPPED: u64 = 1 << 32;
/// Higher ones than any layer gives.
const LIMIT: u64 = 1 << 63;

/// What is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanRequest {
    /// The summary pages of this block: answer with [`Mount::summary`]. The block has a summary
    /// only if all of these pages can be read and belong to the same summary.
    Summary(BlockId),
    /// This page: answer with [`Mount::page`].
    Page(Ppn),
    /// Nothing before another answer.
    Wait,
    /// Nothing more.
    Done,
}

/// What a page holds.
#[derive(Clone, Debug)]
pub enum ScanResult<'a> {
    /// It seems not to have been programmed since its block was erased.
    Erased,
    /// It cannot be read, or is no page of this layer.
    Unreadable,
    /// Data.
    Data {
        /// Its sequence number.
        sequence: u64,
        /// The logical page in each slot.
        lpns: &'a [Option<Lpn>],
        /// The data can be read too. If not, and no page after it is programmed, be it data or a
        /// summary, its program was cut short, and it never counted.
        sound: bool,
    },
    /// A page of a summary.
    Summary,
    /// A page of the trim journal, with its sequence number.
    Trims(u64, TrimRecord),
}

/// Where a layer stood when it was stopped at rest: what the array alone does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanShutdownState {
    /// The open blocks, and whether copies of garbage collection go there.
    pub open: Vec<(BlockId, bool)>,
    /// Blocks that have to be erased before they are used, since an earlier cut.
    pub suspects: Vec<BlockId>,
}

/// Why a layer cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The knobs cannot be.
    Config(FtlConfigError),
    /// What is said to have been open cannot have been.
    OpenBlock(BlockId),
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::OpenBlock(block) => {
                write!(
                    f,
                    "block {block} is said to have been open, and is not; mount as after a cut"
                )
            }
        }
    }
}

impl core::error::Error for MountError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockContent {
    Nothing,
    Data,
    Log,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug)]
struct ScannedBlock {
    content: BlockContent,
    /// Its summary was found: it is complete.
    is_complete: bool,
    /// The highest number of its pages.
    sequence: u64,
    /// The last page that could be read, and the first that is erased or beyond the end.
    last: u32,
    end: u32,
    /// The last data page seen and its sequence number, if its data cannot be read.
    torn: Option<(Ppn, u64)>,
}

impl ScannedBlock {
    fn saw(&mut self, page: u32, sequence: u64, holds: BlockContent) {
        (self.content, self.last, self.torn) = (holds, page, None);
        self.sequence = self.sequence.max(sequence);
    }
}

/// Pages of a block that follow each other and have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PageRun {
    sequence: u64,
    first: u32,
    pages: u32,
}

/// A layer in the making.
#[derive(Clone, Debug)]
pub struct Mount {
    layout: Layout,
    config: Config,
    bad: Vec<BlockId>,
    erases: Vec<u32>,
    blocks: Vec<ScannedBlock>,
    map: Map,
    runs: Vec<PageRun>,
    records: Vec<(u64, TrimRecord)>,
    /// Pages to look at.
    pages: VecDeque<Ppn>,
    /// The next block to look at; `bad` is sorted.
    next: u32,
    outstanding: u32,
    unreadable: u64,
}

impl Mount {
    /// Begins, on an array with bad blocks, the others of which were erased so often. Sequences
    /// and pages are asked for.
    ///
    /// # Panics
    /// Where `erases` has not an entry for each block.
    pub fn new(
        layout: Layout,
        config: Config,
        bad: &[BlockId],
        erases: &[u32],
    ) -> Result<Self, FtlConfigError> {
        config.validate(&layout)?;
        assert_eq!(erases.len(), layout.blocks() as usize, "a count for each block");
        let block = ScannedBlock {
            content: BlockContent::Nothing,
            is_complete: false,
            sequence: 0,
            last: NONE,
            end: 0,
            torn: None,
        };
        let mut bad = bad.to_vec();
        bad.sort_unstable();
        Ok(Self {
            bad,
            erases: erases.to_vec(),
            blocks: vec![block; layout.blocks() as usize],
            map: Map::new(config.exported, layout.pages() * config.slots),
            runs: vec![],
            records: vec![],
            pages: VecDeque::new(),
            next: 0,
            outstanding: 0,
            unreadable: 0,
            layout,
            config,
        })
    }

    /// What to look at next.
    pub fn next_scan(&mut self) -> ScanRequest {
        if let Some(ppn) = self.pages.pop_front() {
            self.outstanding += 1;
            return ScanRequest::Page(ppn);
        }
        while self.next < self.layout.blocks() {
            let block = BlockId(self.next);
            self.next += 1;
            if self.bad.binary_search(&block).is_err() {
                self.outstanding += 1;
                return ScanRequest::Summary(block);
            }
        }
        if self.outstanding > 0 { ScanRequest::Wait } else { ScanRequest::Done }
    }

    /// The summary of a block, if it has one: the number of each data page, and the logical page in
    /// each slot.
    pub fn summary(&mut self, block: BlockId, found: Option<(&[u64], &[Option<Lpn>])>) {
        self.outstanding -= 1;
        let pages = self.config.data_pages(&self.layout) as usize;
        let slots = self.config.slots as usize;
        if let Some((sequences, lpns)) = found
            && (sequences.len(), lpns.len()) == (pages, pages * slots)
            && sequences.iter().all(|&sequence| is_number(sequence))
            && self.are_pages(lpns)
        {
            for (page, (&sequence, lpns)) in (0..).zip(sequences.iter().zip(lpns.chunks(slots))) {
                let ppn = self.layout.ppn(block, page);
                self.write(ppn, lpns);
                self.count(ppn, sequence);
            }
            let place = &mut self.blocks[block.index()];
            (place.is_complete, place.end) = (true, self.layout.pages_per_block());
        } else {
            self.pages.push_back(self.layout.ppn(block, 0));
        }
    }

    /// What a page holds.
    pub fn page(&mut self, ppn: Ppn, found: ScanResult<'_>) {
        self.outstanding -= 1;
        let (block, page) = self.layout.place_of(ppn);
        let ScannedBlock { content: holds, torn, .. } = self.blocks[block.index()];
        self.blocks[block.index()].end = page;
        if matches!(found, ScanResult::Erased) {
            return;
        }
        match found {
            ScanResult::Data { sequence, lpns, sound }
                if holds != BlockContent::Log
                    && page < self.config.data_pages(&self.layout)
                    && is_number(sequence)
                    && lpns.len() == self.config.slots as usize
                    && self.are_pages(lpns) =>
            {
                self.count_torn(torn);
                self.write(ppn, lpns);
                if sound {
                    self.count(ppn, sequence);
                } else {
                    self.blocks[block.index()].torn = Some((ppn, sequence));
                }
            }
            ScanResult::Trims(sequence, record)
                if holds != BlockContent::Data
                    && is_number(sequence)
                    && record.pages().all(|lpn| lpn.0 < self.config.exported) =>
            {
                self.blocks[block.index()].saw(page, sequence, BlockContent::Log);
                self.records.push((sequence, record));
            }
            ScanResult::Summary => self.count_torn(torn),
            _ => self.unreadable += 1,
        }
        if page + 1 < self.layout.pages_per_block() {
            self.pages.push_back(Ppn(ppn.0 + 1));
        } else {
            self.blocks[block.index()].end = page + 1;
        }
    }

    fn are_pages(&self, lpns: &[Option<Lpn>]) -> bool {
        lpns.iter().flatten().all(|lpn| lpn.0 < self.config.exported)
    }

    fn write(&mut self, ppn: Ppn, lpns: &[Option<Lpn>]) {
        for (psn, lpn) in (ppn.0 * self.config.slots..).zip(lpns) {
            self.map.write(psn, lpn.map(|lpn| lpn.0));
        }
    }

    /// A page whose data cannot be read counts as soon as a page after it turns out to be
    /// programmed: its own program had ended by then. Otherwise an older copy would be served in
    /// its place.
    fn count_torn(&mut self, torn: Option<(Ppn, u64)>) {
        if let Some((ppn, sequence)) = torn {
            self.count(ppn, sequence);
        }
    }

    /// What a page was written with counts.
    fn count(&mut self, ppn: Ppn, sequence: u64) {
        let (block, page) = self.layout.place_of(ppn);
        match self.runs.last_mut() {
            Some(run) if page > 0 && run.sequence == sequence && run.first + run.pages == ppn.0 => {
                run.pages += 1;
            }
            _ => self.runs.push(PageRun { sequence, first: ppn.0, pages: 1 }),
        }
        self.blocks[block.index()].saw(page, sequence, BlockContent::Data);
    }

    /// The layer, when there is nothing more to look at. `standing` is where it was stopped at
    /// rest; without it, it was cut: then operations come out at the first input
    /// ([`Input::Idle`](crate::Input::Idle) will do) until it no longer
    /// [recovers](Ftl::is_recovering), and before that nothing is to be served.
    ///
    /// # Panics
    /// Where [`next_scan`](Self::next_scan) has not said [`ScanRequest::Done`].
    pub fn into_ftl<O: ActionSink>(
        mut self,
        clean_state: Option<&CleanShutdownState>,
        out: O,
    ) -> Result<Ftl<O>, MountError> {
        assert!(self.outstanding == 0 && self.pages.is_empty(), "there is more to scan");
        self.replay();
        let (layout, config) = (self.layout, self.config);
        let clean = clean_state.is_some();
        let nothing = CleanShutdownState::default();
        let clean_state = clean_state.unwrap_or(&nothing);
        let mut ftl = Ftl::with_bad(layout, config, &[], out).map_err(MountError::Config)?;
        let valid = self.valid();
        let mut states = vec![(0, 0, 0, FREE); valid.len()];
        let mut suspects = vec![false; valid.len()];
        for block in &clean_state.suspects {
            *suspects.get_mut(block.index()).ok_or(MountError::OpenBlock(*block))? = true;
        }
        let (mut log, mut rewrite, mut partial) = (vec![], vec![], vec![]);
        for (id, block) in (0..).map(BlockId).zip(&self.blocks) {
            let at = id.index();
            let state = match block.content {
                _ if self.bad.binary_search(&id).is_ok() => BAD,
                BlockContent::Log => {
                    log.push(id);
                    OPEN
                }
                BlockContent::Nothing if clean && block.end == 0 && !suspects[at] => FREE,
                BlockContent::Data => {
                    if !clean && !block.is_complete {
                        partial.push(id);
                        rewrite.push(layout.ppn(id, block.last));
                    }
                    CLOSED
                }
                BlockContent::Nothing => {
                    if !clean && block.end > 0 {
                        partial.push(id);
                    }
                    ftl.collector.erasable.push(id);
                    CLOSED
                }
            };
            states[at] = (block.sequence, valid[at], self.erases[at], state);
        }
        for &(id, _) in &clean_state.open {
            let block = self.blocks.get(id.index()).ok_or(MountError::OpenBlock(id))?;
            let open = &mut states[id.index()].3;
            let partial = !block.is_complete && block.end < ftl.data_pages;
            if *open != CLOSED || block.content != BlockContent::Data || !partial {
                return Err(MountError::OpenBlock(id));
            }
            *open = OPEN;
        }
        let closed = (0..layout.blocks()).filter(|&id| states[id as usize].3 == CLOSED);
        let mut closed: Vec<_> = closed.collect();
        closed.sort_by_key(|&id| states[id as usize].0);
        let most = states.iter().map(|state| state.0).chain(self.records.iter().map(|r| r.0)).max();
        let most = most.unwrap_or(0);
        ftl.blocks = Blocks::new(
            &layout,
            config.victim,
            ftl.data_pages * config.slots,
            config.wear_spread > 0,
            &self.bad,
        );
        let next = most + if clean { 1 } else { SKIPPED };
        ftl.blocks.restore(&states, &closed, next);
        ftl.map = self.map;
        ftl.trim_floor = most;
        for &(id, copies) in &clean_state.open {
            let kind = if copies { WriteStream::Copies } else { WriteStream::Host };
            let points = ftl.write_points.all().iter();
            let free = points.clone().position(|p| p.stream == kind && p.block.is_none());
            let at = free.ok_or(MountError::OpenBlock(id))?;
            let sequence = ftl.blocks.renumber(id);
            ftl.write_points.open(at, id, layout.die_group_of(id), sequence);
            ftl.write_points.skip_to(at, self.blocks[id.index()].end);
        }
        let stage = RecoveryStage::Rewrite;
        ftl.recovery = (!clean).then(|| Recovery { stage, rewrite, log: log.clone(), partial });
        ftl.trim_journal = TrimJournal::new(log);
        ftl.update_recovery_reserve();
        ftl.worn_out = u64::from(config.exported) > config.most_on(ftl.blocks.good(), &layout);
        Ok(ftl)
    }

    /// Has a block emptied and erased, as after a power cut, though it is complete: what describes
    /// it is damaged. To be called after all looks.
    pub fn refresh(&mut self, block: BlockId) {
        self.blocks[block.index()].is_complete = false;
    }

    /// A layer that only reads what was found, and starts no operation but reads.
    ///
    /// # Panics
    /// If [`next_scan`](Self::next_scan) has not said [`ScanRequest::Done`].
    pub fn into_frozen_ftl<O: ActionSink>(self, out: O) -> Result<Ftl<O>, MountError> {
        let mut ftl = self.into_ftl(None, out)?;
        (ftl.recovery, ftl.worn_out) = (None, true);
        Ok(ftl)
    }

    /// By logical page: the highest sequence number of what was found about it, a copy or a record
    /// of its trim; 0 if nothing was.
    #[must_use]
    pub fn evidence(&self) -> Vec<u64> {
        let mut evidence = vec![0; self.config.exported as usize];
        let mut raise = |lpn: u32, sequence: u64| {
            let highest: &mut u64 = &mut evidence[lpn as usize];
            *highest = (*highest).max(sequence);
        };
        for run in &self.runs {
            let slots = self.config.slots;
            let psns = run.first * slots..(run.first + run.pages) * slots;
            psns.filter_map(|psn| self.map.written(psn)).for_each(|lpn| raise(lpn, run.sequence));
        }
        for (sequence, record) in &self.records {
            record.pages().for_each(|lpn| raise(lpn.0, *sequence));
        }
        evidence
    }

    /// Pages that could not be read where some were expected: what was in them may show as older
    /// than it was, or not at all.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Makes the map: copies and trims in the order in which they were programmed.
    fn replay(&mut self) {
        self.runs.sort_unstable();
        self.records.sort_by_key(|&(sequence, _)| sequence);
        let mut records = self.records.iter().peekable();
        let mut forget = |map: &mut Map, below: u64| {
            while let Some((_, record)) = records.next_if(|&&(sequence, _)| sequence <= below) {
                record.pages().for_each(|lpn| map.set(lpn.0, NONE));
            }
        };
        for run in &self.runs {
            forget(&mut self.map, run.sequence);
            let slots = self.config.slots;
            for psn in run.first * slots..(run.first + run.pages) * slots {
                if let Some(lpn) = self.map.written(psn) {
                    self.map.set(lpn, psn);
                }
            }
        }
        forget(&mut self.map, u64::MAX);
    }

    /// Marks what is valid; how much of each block.
    fn valid(&mut self) -> Vec<u32> {
        let mut valid = vec![0; self.blocks.len()];
        for lpn in 0..self.config.exported {
            let psn = self.map.get(lpn);
            if psn != NONE {
                self.map.fill(psn);
                valid[self.layout.block_of(Ppn(psn / self.config.slots)).index()] += 1;
            }
        }
        valid
    }
}

/// The states of [`Blocks::restore`].
const FREE: u8 = 0;
const OPEN: u8 = 1;
const CLOSED: u8 = 2;
const BAD: u8 = 3;

fn is_number(sequence: u64) -> bool {
    (1..LIMIT).contains(&sequence)
}

impl<O: ActionSink> Ftl<O> {
    /// Whether what a power cut left is being made good: until then nothing is to be served.
    pub fn is_recovering(&self) -> bool {
        self.recovery.is_some() && !self.worn_out
    }

    /// Where it stands, for [`Mount::into_ftl`] to go on from.
    ///
    /// # Panics
    /// Where work is in flight or waits.
    pub fn clean_shutdown_state(&self) -> CleanShutdownState {
        assert!(!self.is_busy(), "a layer is stopped when no work is in flight");
        let points = self.write_points.in_order().map(|at| self.write_points.get(at));
        let open = points.filter_map(|p| Some((p.block?, p.stream == WriteStream::Copies)));
        let suspects = self.collector.erasable.iter().copied();
        CleanShutdownState {
            open: open.collect(),
            suspects: suspects.filter(|&block| self.blocks.is_stale(block)).collect(),
        }
    }

    /// Whether what is on the array is not yet sure to stay: no data are to be erased.
    pub(crate) fn is_array_unstable(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.stage != RecoveryStage::Empty)
    }

    /// Continues with what a cut has left to be done.
    #[cold]
    pub(crate) fn recover(&mut self) {
        let Some(mut recovery) = self.recovery.take() else { return };
        if recovery.stage == RecoveryStage::Rewrite {
            while self.collector.copies < self.collector.most_copies
                && let Some(ppn) = recovery.rewrite.pop()
            {
                self.copy_page(ppn, CopyCause::Collection);
            }
            // What the journal said before of a page that may be unstable could be wrong.
            if recovery.rewrite.is_empty() && self.collector.copies == 0 {
                recovery.stage = RecoveryStage::Log;
                self.trim_journal.start_snapshot();
            }
        }
        if recovery.stage == RecoveryStage::Log && !self.trim_journal.is_busy() {
            recovery.stage = RecoveryStage::Empty;
            for block in recovery.partial.drain(..) {
                if self.blocks.is_closed(block) {
                    self.blocks.collect(block);
                    self.collector.retire_later(block);
                }
            }
        }
        let mut rests = !self.collector.has_pending_retire() && !self.collector.is_active();
        rests &= !recovery.log.iter().any(|&block| self.blocks.is_collecting(block));
        let done =
            recovery.stage == RecoveryStage::Empty && rests && self.blocks.free() > self.reserve();
        self.recovery = Some(recovery).filter(|_| !done);
    }
}

/// What a cut has left to be done.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    stage: RecoveryStage,
    /// Pages that may be unstable.
    rewrite: Vec<Ppn>,
    /// Blocks of the journal as it was.
    log: Vec<BlockId>,
    /// Blocks without a summary, and with a page that cannot be read.
    partial: Vec<BlockId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecoveryStage {
    Rewrite,
    Log,
    Empty,
}
