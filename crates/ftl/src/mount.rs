//! Mounting: rebuilds a layer from the content of an array.
//!
//! The map is not stored on the array but derived from it (section 4.2.2 of the paper): of each
//! page the newest copy counts, that is, the one with the highest sequence number in its
//! out-of-band data, and of equals the later one. [`Mount`] requests the summary of each block and,
//! if a block has none, its pages one by one. Several scan requests may be outstanding and may be
//! answered in any order, so the same code serves simulation, tests and stores.
//!
//! After a clean shutdown the layer continues in its last state. After a power cut it first repairs
//! the effects of the cut with ordinary operations, so that another cut during the repair does no
//! harm:
//!
//! 1. The last page of an open block may be readable now and fail later (an *unstable page*). Its
//!    content is rewritten.
//! 2. The same applies to the last page of the trim journal. The journal is rewritten as a
//!    snapshot.
//! 3. Blocks without a summary, or with an unreadable page, are emptied and erased. The unreadable
//!    page might become readable at the next cut, and is older than data served since.
//!
//! Until the first two steps are done, no block with data is erased, since it may hold the previous
//! copy of a page that is now unstable. A block that seems erased may be partly erased, or have a
//! partly programmed page: it is erased again before it is used.

use crate::blocks::{BlockCondition, BlockSnapshot, Blocks};
use crate::buffer::{CopyCause, NONE};
use crate::config::{Config, FtlConfigError};
use crate::io::ActionSink;
use crate::machine::{Ftl, Recovery, RecoveryStage};
use crate::map::Map;
use crate::trim_journal::{TrimJournal, TrimRecord};
use crate::write_point::WriteStream;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_nand::Layout;
use gordon_units::{BlockId, Lpn, Ppn};

/// Gap in sequence numbers after a power cut, which skips the numbers of pages that are unreadable
/// now. Such pages are erased before anything is served, except in a block that wrongly seems
/// erased; if such a page becomes readable, its lower number marks it as older.
const SKIPPED: u64 = 1 << 32;
/// Sequence numbers from here on are never assigned, so a page with one is not valid.
const LIMIT: u64 = 1 << 63;

/// The next thing to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanRequest {
    /// The summary pages of this block, to be answered with [`Mount::summary`]. The block has a
    /// summary only if all of these pages are readable and belong to the same summary.
    Summary(BlockId),
    /// This page, to be answered with [`Mount::page`].
    Page(Ppn),
    /// Wait for an outstanding answer.
    Wait,
    /// The scan is complete.
    Done,
}

/// The content of a page, as scanned.
#[derive(Clone, Debug)]
pub enum ScanResult<'a> {
    /// The page seems not to have been programmed since its block was erased.
    Erased,
    /// The page is unreadable, or was not written by this layer.
    Unreadable,
    /// A data page.
    Data {
        /// Sequence number of the page.
        sequence: u64,
        /// The logical page in each slot.
        lpns: &'a [Option<Lpn>],
        /// The data are readable too. If not, and no later page of the block is programmed, the
        /// program was interrupted and its data never counted as written.
        sound: bool,
    },
    /// A page of a summary.
    Summary,
    /// A page of the trim journal, with its sequence number.
    Trims(u64, TrimRecord),
}

/// The state of a layer at a clean shutdown that cannot be derived from the array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanShutdownState {
    /// The open blocks, and whether each belongs to the write points for copies.
    pub open: Vec<(BlockId, bool)>,
    /// Blocks that must be erased before they are used, because of an earlier power cut.
    pub suspects: Vec<BlockId>,
}

/// Why a layer cannot be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The configuration is invalid.
    Config(FtlConfigError),
    /// The clean shutdown state lists a block as open that cannot be open.
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

/// The result of scanning a block.
#[derive(Clone, Copy, Debug)]
struct ScannedBlock {
    content: BlockContent,
    /// The summary was found, so the block is complete.
    is_complete: bool,
    /// The highest sequence number of its pages.
    sequence: u64,
    /// The last readable page, and the first page that is erased (or the number of pages).
    last: u32,
    end: u32,
    /// The last data page scanned and its sequence number, if its data are unreadable.
    torn: Option<(Ppn, u64)>,
}

impl ScannedBlock {
    fn saw(&mut self, page: u32, sequence: u64, holds: BlockContent) {
        (self.content, self.last, self.torn) = (holds, page, None);
        self.sequence = self.sequence.max(sequence);
    }
}

/// A run of consecutive pages of a block with the same sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PageRun {
    sequence: u64,
    first: u32,
    pages: u32,
}

/// A mount in progress.
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
    /// Pages to scan.
    pages: VecDeque<Ppn>,
    /// The next block to scan; `bad` is sorted.
    next: u32,
    outstanding: u32,
    unreadable: u64,
}

impl Mount {
    /// Starts a mount. `erases` is the erase count of each block.
    ///
    /// # Panics
    /// Panics if `erases` does not have an entry for each block.
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

    /// The next scan request.
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

    /// Reports the summary of a block: the sequence number of each data page and the logical page
    /// in each slot; `None` if the block has no summary.
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

    /// Reports the content of a page.
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

    /// A page with unreadable data counts if a later page of the block is programmed, since its own
    /// program had completed by then. If it did not count, reads would return an older copy.
    fn count_torn(&mut self, torn: Option<(Ppn, u64)>) {
        if let Some((ppn, sequence)) = torn {
            self.count(ppn, sequence);
        }
    }

    /// Counts the pages of a data page as written.
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

    /// Completes the mount when the scan is done. `clean_state` is the state at a clean shutdown.
    /// Without it a power cut is assumed: the layer then issues repair operations from the first
    /// input on ([`Input::Idle`](crate::Input::Idle) suffices) until it no longer
    /// [recovers](Ftl::is_recovering), and must not serve requests before that.
    ///
    /// # Panics
    /// Panics if [`next_scan`](Self::next_scan) has not returned [`ScanRequest::Done`].
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
        let mut found = Vec::with_capacity(valid.len());
        let mut suspects = vec![false; valid.len()];
        for block in &clean_state.suspects {
            *suspects.get_mut(block.index()).ok_or(MountError::OpenBlock(*block))? = true;
        }
        let (mut log, mut rewrite, mut partial) = (vec![], vec![], vec![]);
        for (id, block) in (0..).map(BlockId).zip(&self.blocks) {
            let at = id.index();
            let condition = match block.content {
                _ if self.bad.binary_search(&id).is_ok() => BlockCondition::Bad,
                BlockContent::Log => {
                    log.push(id);
                    BlockCondition::Open
                }
                BlockContent::Nothing if clean && block.end == 0 && !suspects[at] => {
                    BlockCondition::Free
                }
                BlockContent::Data => {
                    if !clean && !block.is_complete {
                        partial.push(id);
                        rewrite.push(layout.ppn(id, block.last));
                    }
                    BlockCondition::Closed
                }
                BlockContent::Nothing => {
                    if !clean && block.end > 0 {
                        partial.push(id);
                    }
                    ftl.collector.erasable.push(id);
                    BlockCondition::Closed
                }
            };
            let (sequence, valid, erases) = (block.sequence, valid[at], self.erases[at]);
            found.push(BlockSnapshot { sequence, valid, erases, condition });
        }
        for &(id, _) in &clean_state.open {
            let block = self.blocks.get(id.index()).ok_or(MountError::OpenBlock(id))?;
            let condition = &mut found[id.index()].condition;
            let partial = !block.is_complete && block.end < ftl.data_pages;
            if *condition != BlockCondition::Closed
                || block.content != BlockContent::Data
                || !partial
            {
                return Err(MountError::OpenBlock(id));
            }
            *condition = BlockCondition::Open;
        }
        let is_closed = |&id: &u32| found[id as usize].condition == BlockCondition::Closed;
        let mut closed: Vec<_> = (0..layout.blocks()).filter(is_closed).collect();
        closed.sort_by_key(|&id| found[id as usize].sequence);
        let most =
            found.iter().map(|block| block.sequence).chain(self.records.iter().map(|r| r.0)).max();
        let most = most.unwrap_or(0);
        ftl.blocks = Blocks::new(
            &layout,
            config.victim,
            ftl.data_pages * config.slots,
            config.wear_spread > 0,
            &self.bad,
        );
        let next = most + if clean { 1 } else { SKIPPED };
        ftl.blocks.restore(&found, &closed, next);
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

    /// Marks a complete block to be emptied and erased as after a power cut, because its metadata
    /// are damaged. Call this when the scan is done.
    pub fn refresh(&mut self, block: BlockId) {
        self.blocks[block.index()].is_complete = false;
    }

    /// Completes the mount as a read-only layer, which issues no operations but reads.
    ///
    /// # Panics
    /// Panics if [`next_scan`](Self::next_scan) has not returned [`ScanRequest::Done`].
    pub fn into_frozen_ftl<O: ActionSink>(self, out: O) -> Result<Ftl<O>, MountError> {
        let mut ftl = self.into_ftl(None, out)?;
        (ftl.recovery, ftl.worn_out) = (None, true);
        Ok(ftl)
    }

    /// By logical page: the highest sequence number of a copy or trim record that was found; 0 if
    /// none was.
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

    /// Number of unreadable pages where programmed pages were expected. The logical pages in them
    /// may appear in an older version, or as unmapped.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Builds the map by replaying copies and trims in the order of their sequence numbers.
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

    /// Sets the valid bitmap; returns the valid count of each block.
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

fn is_number(sequence: u64) -> bool {
    (1..LIMIT).contains(&sequence)
}

impl<O: ActionSink> Ftl<O> {
    /// Whether the effects of a power cut are being repaired; no requests may be served until then.
    pub fn is_recovering(&self) -> bool {
        self.recovery.is_some() && !self.worn_out
    }

    /// The state for [`Mount::into_ftl`] after a clean shutdown.
    ///
    /// # Panics
    /// Panics if work is in flight or waiting.
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

    /// Whether pages on the array may be unstable, so that no data may be erased.
    pub(crate) fn is_array_unstable(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.stage != RecoveryStage::Empty)
    }

    /// Continues the repairs after a power cut.
    #[cold]
    pub(crate) fn recover(&mut self) {
        let Some(mut recovery) = self.recovery.take() else { return };
        if recovery.stage == RecoveryStage::Rewrite {
            while self.collector.copies < self.collector.most_copies
                && let Some(ppn) = recovery.rewrite.pop()
            {
                self.copy_page(ppn, CopyCause::Collection);
            }
            // A journal record written before a possibly unstable page was rewritten could be
            // wrong.
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
