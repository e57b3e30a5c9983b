//! The state of the layer, and its public interface.

use crate::blocks::{BlockCondition, Blocks};
use crate::buffer::{BufferList, BufferPool, BufferState, NONE, Programmed, SubRequestPool};
use crate::collector::Collector;
use crate::config::{Config, FtlConfigError};
use crate::flush::Epochs;
use crate::io::{Action, ActionSink, Input, PageSegment, split};
use crate::map::Map;
use crate::stats::Stats;
use crate::trim_journal::TrimJournal;
use crate::victim_chooser::VictimChooser;
use crate::write_point::WritePoints;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use gordon_nand::{Buf, DieGroupId, FlashOp, Layout, Oob, PageContent};
use gordon_units::{BlockId, Lpn, Ppn};

/// A page-mapped translation layer.
///
/// A driver reports events with [`handle`](Self::handle), and carries out the actions sent to the
/// [`ActionSink`] in order. The default sink is a queue: after each input the driver calls
/// [`poll`](Self::poll) until that returns [`Action::Wait`].
///
/// Each logical page with work in flight has one *page buffer*, to which the map refers until the
/// page is on the array again. A write of a whole page fills the buffer; a write of a part first
/// reads the page, then overwrites that part. A full buffer waits for a write point and is
/// programmed together with others that fit into the same super-page. Only then is the map updated
/// and the write acknowledged. Writes to a waiting buffer join it (write combining); writes to a
/// buffer being programmed are deferred to the page's next program. Reads of a page with a buffer
/// are served from the buffer. So at most one program of a logical page is in flight, and it goes
/// to a block whose sequence number is at least that of the page's previous copy. On the array, the
/// newest copy is thus the one with the highest sequence number, then the highest page and slot.
///
/// If a program or erase fails, its block is emptied and taken out of service. If too few blocks
/// are left for the exported capacity, the layer refuses writes.
///
/// With [`Config::durable`], flushed data survive a power cut: trims are recorded on the array, and
/// [`Mount`](crate::Mount) rebuilds the map from the array.
#[derive(Clone, Debug)]
pub struct Ftl<O = VecDeque<Action>> {
    pub(crate) layout: Layout,
    pub(crate) config: Config,
    /// Data super-pages of a block.
    pub(crate) data_pages: u32,
    pub(crate) map: Map,
    pub(crate) blocks: Blocks,
    pub(crate) write_points: WritePoints,
    pub(crate) buffers: BufferPool,
    pub(crate) sub_requests: SubRequestPool,
    /// Host buffers that wait for a write point.
    pub(crate) ready: BufferList,
    /// Host buffers that wait for a place in the write buffer.
    pub(crate) outside: BufferList,
    /// Number of pages in the write buffer.
    pub(crate) buffered: u32,
    pub(crate) draining: Draining,
    /// Number of sub-requests that wait for the array although they are in the write buffer.
    pub(crate) durable_writes: u32,
    /// Number of programs of host data in flight.
    pub(crate) host_programs: u32,
    pub(crate) collector: Collector,
    /// The buffer that caches the page read last.
    pub(crate) cached: Option<u32>,
    pub(crate) epochs: Epochs,
    /// The highest sequence number of a block that held a trimmed page. Trims leave no mark on the
    /// array, so an unmapped page may have copies in blocks up to this number.
    pub(crate) trim_floor: u64,
    pub(crate) trim_journal: TrimJournal,
    /// Free blocks that neither the host nor garbage collection may use; they are for recovery and
    /// for growth of the trim journal.
    pub(crate) recovery_reserve: u32,
    pub(crate) recovery: Option<Recovery>,
    /// Number of times that the host stalled for garbage collection.
    pub(crate) stalls: u32,
    pub(crate) stalled: bool,
    /// Too few good blocks are left, so writes are refused.
    pub(crate) worn_out: bool,
    pub(crate) sink: O,
    pub(crate) stats: Stats,
}

/// How the write buffer is being written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draining {
    /// Full super-pages, while the buffer is more than half full.
    Excess,
    /// All full super-pages.
    Full,
    /// All pages, even if super-pages are not full.
    All,
}

/// Repairs after a power cut that are still to be done.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub(crate) stage: RecoveryStage,
    /// Pages that may be unstable.
    pub(crate) rewrite: Vec<Ppn>,
    /// Blocks of the trim journal found at mount.
    pub(crate) log: Vec<BlockId>,
    /// Blocks without a summary or with an unreadable page.
    pub(crate) partial: Vec<BlockId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryStage {
    Rewrite,
    Log,
    Empty,
}

impl Ftl {
    /// A layer on an erased array.
    pub fn new(layout: Layout, config: Config) -> Result<Self, FtlConfigError> {
        Self::with_bad(layout, config, &[], VecDeque::new())
    }
}

impl Ftl<VecDeque<Action>> {
    /// Returns the next action.
    #[inline]
    pub fn poll(&mut self) -> Action {
        self.sink.pop_front().unwrap_or(Action::Wait)
    }
}

impl<O: ActionSink> Ftl<O> {
    /// A layer on an erased array with bad blocks. Actions go to `out`.
    pub fn with_bad(
        layout: Layout,
        config: Config,
        bad: &[BlockId],
        out: O,
    ) -> Result<Self, FtlConfigError> {
        let ftl = Self::worn(layout, config, bad, out)?;
        config.check_room(ftl.blocks.good(), &layout)?;
        Ok(ftl)
    }

    /// As [`with_bad`](Self::with_bad), but also with too few good blocks.
    pub(crate) fn worn(
        layout: Layout,
        config: Config,
        bad: &[BlockId],
        out: O,
    ) -> Result<Self, FtlConfigError> {
        config.validate(&layout)?;
        let data_pages = config.data_pages(&layout);
        let most_valid = data_pages * config.slots;
        let levels = config.wear_spread > 0;
        let blocks = Blocks::new(&layout, config.victim, most_valid, levels, bad);
        Ok(Self {
            data_pages,
            map: Map::new(config.exported, layout.pages() * config.slots),
            blocks,
            write_points: WritePoints::new(
                config.write_points,
                config.copy_points,
                layout.die_groups(),
                layout.pages_per_block(),
                config.low_water - config.reserve,
            ),
            buffers: BufferPool::new(),
            sub_requests: SubRequestPool::new(),
            ready: BufferList::EMPTY,
            outside: BufferList::EMPTY,
            buffered: 0,
            draining: Draining::Excess,
            durable_writes: 0,
            host_programs: 0,
            collector: Collector::new(&config),
            cached: None,
            epochs: Epochs::new(),
            trim_floor: 0,
            trim_journal: TrimJournal::new(vec![]),
            recovery_reserve: config.recovery_reserve(&layout, 0),
            recovery: None,
            stalls: 0,
            stalled: false,
            worn_out: false,
            sink: out,
            stats: Stats::default(),
            layout,
            config,
        })
    }

    /// Lets `chooser` choose the victims of garbage collection from now on, in place of the
    /// configured policy. Which blocks are allowed to be collected does not change: if its choices
    /// free no space, the block with the fewest valid pages is collected.
    pub fn choose_victims_by(&mut self, chooser: Arc<dyn VictimChooser>) {
        self.blocks.choose_by(chooser, self.data_pages * self.config.slots);
    }

    /// Processes an event.
    ///
    /// # Panics
    /// Panics if a range lies outside the exported pages, or if an operation completes that was not
    /// issued; drivers check their input.
    #[inline(always)]
    pub fn handle(&mut self, input: Input) {
        match input {
            Input::Host(host) => self.host(host),
            Input::Done(op) => self.done(op),
            Input::Failed(op) => self.failed(op),
            Input::Lost(buf) => self.lose(buf.0),
            Input::Idle => self.idle(),
            Input::ShutDown => self.drain(Draining::All),
        }
        self.advance();
    }

    /// The sink that receives the actions.
    #[inline]
    pub fn sink(&self) -> &O {
        &self.sink
    }

    /// The sink that receives the actions.
    #[inline]
    pub fn sink_mut(&mut self) -> &mut O {
        &mut self.sink
    }

    /// The segments of a read or program in flight, one for each logical page.
    pub fn segments(&self, buf: Buf) -> impl Iterator<Item = PageSegment> {
        let mut at = buf.0;
        core::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let buffer = &self.buffers[at];
            let (psn, lpn) = match buffer.state {
                BufferState::Programming {
                    psn,
                    content: Programmed::Summary { .. } | Programmed::Trims,
                } => (psn, None),
                _ => (buffer.psn(), Some(Lpn(buffer.lpn))),
            };
            let part =
                PageSegment { slot: psn - self.slot(self.page_of(psn), 0), lpn, buf: Buf(at) };
            at = buffer.next;
            Some(part)
        })
    }

    /// The out-of-band data of a program in flight.
    ///
    /// # Panics
    /// Panics if no program of the buffer is in flight.
    pub fn oob(&self, buf: Buf) -> Oob {
        let state = self.buffers[buf.0].state;
        let BufferState::Programming { content, .. } = state else {
            panic!("no program of the buffer is in flight: {state:?}")
        };
        let programmed_at = |point: u32| {
            let programming = self.write_points.get(point as usize).programming;
            programming.expect("a program at this write point is in flight")
        };
        match content {
            Programmed::Data { point } => {
                Oob { content: PageContent::Data, sequence: programmed_at(point) }
            }
            Programmed::Summary { point } => {
                Oob { content: PageContent::Summary, sequence: programmed_at(point) }
            }
            Programmed::Trims => Oob {
                content: PageContent::Trims,
                sequence: self.trim_journal.sequence_in_flight(),
            },
        }
    }

    /// Notes that the data of a page being read are unreadable.
    fn lose(&mut self, at: u32) {
        let state = &mut self.buffers[at].state;
        let BufferState::Reading { psn } = *state else {
            panic!("a buffer that is lost is being read, not {state:?}")
        };
        *state = BufferState::Lost { psn };
    }

    /// The super-page and slot of a logical page; `None` if it is not mapped to the array.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<(Ppn, u32)> {
        let psn = self.mapped_psn(lpn)?;
        let ppn = self.page_of(psn);
        Some((ppn, psn - self.slot(ppn, 0)))
    }

    /// The logical page with which a slot was last programmed.
    pub fn written(&self, ppn: Ppn, slot: u32) -> Option<Lpn> {
        self.map.written(self.slot(ppn, slot)).map(Lpn)
    }

    /// Whether a logical page has content, on the array or in a buffer.
    #[inline]
    pub fn is_mapped(&self, lpn: Lpn) -> bool {
        self.map.get(lpn.0) != NONE
    }

    /// Whether writes wait for this buffer of a read, to be merged with the data read.
    pub fn is_awaited(&self, buf: Buf) -> bool {
        let buffer = &self.buffers[buf.0];
        !buffer.pending_writes.is_empty() || !buffer.deferred.is_empty()
    }

    /// The logical page in each slot of each data page of `block`, which is the content of its
    /// summary.
    pub fn summary(&self, block: BlockId) -> impl Iterator<Item = Option<Lpn>> {
        let first = self.slot(self.layout.ppn(block, 0), 0);
        let end = first + self.data_pages * self.config.slots;
        (first..end).map(|psn| self.map.written(psn).map(Lpn))
    }

    /// Layout of the array.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Configuration of the layer.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether any block is being emptied by garbage collection or wear levelling.
    #[inline]
    pub fn is_collecting(&self) -> bool {
        self.collector.is_active()
    }

    /// Statistics since the layer was created.
    #[inline]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Number of erased blocks without a write point.
    pub fn free_blocks(&self) -> u32 {
        self.blocks.free()
    }

    /// Number of blocks in service.
    pub fn good_blocks(&self) -> u32 {
        self.blocks.good()
    }

    /// Number of logical pages in the write buffer.
    pub fn buffered(&self) -> u32 {
        self.buffered
    }

    /// Number of logical pages on the array. It is a sum over all blocks, so do not call it for
    /// each request.
    pub fn mapped(&self) -> u64 {
        (0..self.blocks.len()).map(|block| u64::from(self.blocks.valid(BlockId(block)))).sum()
    }

    /// Whether writes are refused because too many blocks have gone bad.
    pub fn is_worn_out(&self) -> bool {
        self.worn_out
    }

    /// Number of times that a block was erased.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.blocks.erases(block)
    }

    /// Whether a block was never in service: it is bad and was never opened.
    pub fn is_bad_from_the_start(&self, block: BlockId) -> bool {
        self.blocks.condition(block) == BlockCondition::Bad && self.blocks.sequence(block) == 0
    }

    /// Whether work is in flight or waiting.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.buffers.len() > usize::from(self.cached.is_some())
            || self.collector.is_active()
            || !self.worn_out && (self.recovery.is_some() || self.trim_journal.is_busy())
    }

    /// Address ranges of the tables that are accessed at random, for which the driver may request
    /// large pages.
    pub fn tables(&self) -> [Range<*const u8>; 4] {
        let [l2p, p2l, valid] = self.map.ranges();
        [l2p, p2l, valid, self.blocks.range()]
    }

    /// Prefetches for a request at `sector` that will be submitted soon: with `entry_is_there`
    /// false, the map entry of its page; later, with true, the state of the block to which the
    /// entry refers.
    #[inline]
    pub fn prefetch(&self, sector: u64, entry_is_there: bool) {
        let (lpn, _) = split(sector, self.config.sectors_per_page);
        if !entry_is_there {
            return self.map.prefetch_entry(&self.sink, lpn);
        }
        // To compute an entry twice takes longer than to wait for the block.
        if self.map.is_on_demand() {
            return;
        }
        if lpn >= u64::from(self.config.exported) {
            return;
        }
        // Exported page numbers have 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let lpn = lpn as u32;
        let psn = self.map.get(lpn);
        if psn != NONE && self.map.buffer(psn).is_none() {
            let (block, pins) = self.blocks.entry(self.block_of(psn));
            self.sink.prefetch(block);
            self.sink.prefetch(pins);
        }
    }

    /// Bytes of memory used by the map, the reverse map and the block table, once they are filled.
    pub fn memory(&self) -> u64 {
        self.map.memory() + self.blocks.memory()
    }

    /// Starts all work that can start.
    #[inline(always)]
    fn advance(&mut self) {
        let waiting = !self.ready.is_empty() || !self.collector.ready.is_empty();
        let logs = self.config.durable && (self.recovery.is_some() || self.wants_journal_write());
        if (waiting && self.write_points.any_idle()) || self.wants_collection() || logs {
            self.move_on();
        }
        let least = if self.draining == Draining::All { 1 } else { self.config.slots };
        if self.ready.len() < least {
            self.draining = Draining::Excess;
        }
    }

    #[inline(never)]
    fn move_on(&mut self) {
        if self.recovery.is_some() {
            self.recover();
        }
        loop {
            self.collect();
            let issued = self.dispatch();
            // Opening blocks may have made a collection necessary.
            let due = self.wants_collection() || !self.collector.ready.is_empty();
            if issued && due {
                continue;
            }
            let log_stands = self.config.durable && self.write_journal();
            if self.write_points.in_flight() > 0 || self.worn_out {
                return;
            }
            // Failed programs may have used up the reserve.
            let host_stands = self.stalled && !self.ready.is_empty();
            if !(host_stands || log_stands || !self.collector.ready.is_empty()) {
                return;
            }
            if !self.emergency_reclaim() {
                return self.wear_out();
            }
        }
    }

    fn idle(&mut self) {
        if self.buffered > 0 {
            self.drain(if self.config.idle_drain { Draining::All } else { Draining::Full });
        }
        self.collect_idle();
    }

    /// Writes out the write buffer, at least in this way.
    pub(crate) fn drain(&mut self, how: Draining) {
        self.draining = self.draining.max(how);
    }

    #[inline(always)]
    pub(crate) fn emit(&mut self, action: Action) {
        self.sink.push(action);
    }

    /// Emits an action on a buffer, if the driver stores page contents.
    #[inline]
    pub(crate) fn with_buffer(&mut self, action: Action) {
        if self.config.contents {
            self.sink.push(action);
        }
    }

    /// Emits a flash operation: for the host, or for copies.
    #[inline(always)]
    pub(crate) fn issue(&mut self, op: FlashOp, copies: bool) {
        self.sink.push(if copies { Action::Copy(op) } else { Action::Flash(op) });
    }

    #[inline]
    pub(crate) fn die_group_of(&self, ppn: Ppn) -> DieGroupId {
        self.layout.die_group_of(self.layout.block_of(ppn))
    }

    /// Starts to read the slots of one super-page into the chain of buffers that starts at `head`.
    #[inline(always)]
    pub(crate) fn read_pages(&mut self, head: u32, slots: u32) {
        let buffer = &self.buffers[head];
        let copies = buffer.copy_cause.is_some();
        let ppn = self.page_of(buffer.psn());
        let block = self.layout.block_of(ppn);
        self.blocks.pin(block);
        self.write_points.add_load(self.layout.die_group_of(block));
        self.stats.read_operations += 1;
        self.issue(FlashOp::Read { ppn, slots, buf: Buf(head) }, copies);
    }

    /// The slot no longer holds the current copy of a page.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, psn: u32) {
        self.map.empty(psn);
        let block = self.block_of(psn);
        if self.blocks.drop_valid(block) {
            self.emptied(block);
        }
    }

    /// The highest sequence number that a copy of the buffer's page may have on the array.
    #[inline(always)]
    pub(crate) fn floor_of(&self, at: u32) -> u64 {
        match self.buffers[at].mapped_psn {
            NONE => self.trim_floor,
            psn => self.blocks.sequence(self.block_of(psn)),
        }
    }

    /// The slot of the latest copy of a page on the array, even if work on the page is in flight.
    pub(crate) fn mapped_psn(&self, lpn: Lpn) -> Option<u32> {
        let place = self.map.get(lpn.0);
        let place = self.map.buffer(place).map_or(place, |at| self.buffers[at].mapped_psn);
        (place != NONE).then_some(place)
    }

    /// The slot number within the array of a slot of a super-page.
    #[inline]
    pub(crate) fn slot(&self, ppn: Ppn, slot: u32) -> u32 {
        ppn.0 * self.config.slots + slot
    }

    /// The slots of a block, including those of its summary pages.
    pub(crate) fn block_slots(&self, block: BlockId) -> Range<u32> {
        let first = self.slot(self.layout.ppn(block, 0), 0);
        first..first + self.layout.pages_per_block() * self.config.slots
    }

    /// The page in a slot whose valid bit is set.
    #[inline(always)]
    pub(crate) fn page_in(&self, psn: u32) -> u32 {
        self.map.written(psn).expect("the slot holds a page")
    }

    /// The super-page of a slot.
    #[inline]
    pub(crate) fn page_of(&self, psn: u32) -> Ppn {
        Ppn(match self.config.slots {
            1 => psn,
            slots => psn / slots,
        })
    }

    /// The block of a slot.
    #[inline]
    pub(crate) fn block_of(&self, psn: u32) -> BlockId {
        self.layout.block_of(self.page_of(psn))
    }
}
