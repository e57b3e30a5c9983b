//! The machine: its state, and the way in and out.

use crate::blocks::Blocks;
use crate::config::{Config, ConfigError};
use crate::flush::Epochs;
use crate::gc::Collector;
use crate::io::{Action, Input};
use crate::packed::Packed;
use crate::place::Point;
use crate::stats::Stats;
use crate::table::Table;
use crate::units::{Pieces, Unit, Units};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use gordon_nand::{Buf, FlashOp, LaneId, Layout};
use gordon_units::{BlockId, Lpn, Ppn};

/// A page-mapped translation layer.
///
/// A driver hands in what happened with [`handle`](Self::handle), and after each carries out what
/// [`poll`](Self::poll) hands out, in order, until it says [`Action::Wait`].
///
/// How it works: each logical page with work in flight has one *unit*, a page-sized buffer. A
/// write of a whole page fills the buffer; one of a part reads the page first, and fills over it.
/// A full buffer waits for a write point, is programmed, and only then is the map changed and the
/// write acknowledged. Writes that come while it waits join it (write combining), writes that
/// come while it is programmed are held and go into the page's next program. Reads of a page with
/// a unit are served from its buffer. So at most one program of a logical page is in flight, and
/// each goes to a block with a sequence number not below that of the page's last copy: on the
/// array, the copy in the latest place is the freshest.
///
/// Not modelled yet: recovery, durable trims, failing operations and bad blocks, static wear
/// levelling, hot and cold separation, mapping units below the super-page.
#[derive(Clone, Debug)]
pub struct Ftl {
    pub(crate) layout: Layout,
    pub(crate) config: Config,
    /// Pages of a block that hold data: all but the summary page.
    pub(crate) data_pages: u32,
    /// Logical to physical page; 0: not mapped, else the page + 1.
    pub(crate) map: Packed,
    /// What each physical page was last programmed with: 0, or the logical page + 1. This is the
    /// content of the summary pages. It is never cleared: a page is valid if the map points back.
    pub(crate) written: Packed,
    pub(crate) blocks: Blocks,
    pub(crate) points: Vec<Point>,
    /// Write points without a program in flight.
    pub(crate) idle_points: u32,
    /// By lane: operations in flight.
    pub(crate) load: Vec<u32>,
    pub(crate) units: Units,
    pub(crate) pieces: Pieces,
    pub(crate) table: Table,
    /// Units of the host that wait for a write point.
    pub(crate) ready: VecDeque<u32>,
    pub(crate) collector: Collector,
    /// The unit that holds the last page read.
    pub(crate) cached: Option<u32>,
    pub(crate) epochs: Epochs,
    /// The highest sequence number of a block that held a trimmed page. Trims leave no mark on
    /// the array, so a page not mapped may have copies in blocks up to this number.
    pub(crate) trim_floor: u64,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) stats: Stats,
}

impl Ftl {
    /// A layer on an erased array.
    pub fn new(layout: Layout, config: Config) -> Result<Self, ConfigError> {
        config.validate(&layout)?;
        Ok(Self {
            data_pages: layout.pages_per_block() - 1,
            // The last page of the array is a summary page, so no entry exceeds its number.
            map: Packed::new(config.exported, layout.pages() - 1),
            written: Packed::new(layout.pages(), config.exported),
            blocks: Blocks::new(&layout),
            points: vec![Point::CLOSED; config.write_points as usize],
            idle_points: config.write_points,
            load: vec![0; layout.lanes() as usize],
            units: Units::default(),
            pieces: Pieces::default(),
            table: Table::new(),
            ready: VecDeque::new(),
            collector: Collector::default(),
            cached: None,
            epochs: Epochs::new(),
            trim_floor: 0,
            actions: VecDeque::new(),
            stats: Stats::default(),
            layout,
            config,
        })
    }

    /// Takes in what happened.
    ///
    /// # Panics
    /// Where a piece lies outside the exported pages or its page, or an operation is done that was
    /// not handed out: drivers check their input.
    #[inline]
    pub fn handle(&mut self, input: Input) {
        match input {
            Input::Host(host) => self.host(host),
            Input::Done(op) => self.done(op),
            Input::Idle => self.collect_idle(),
        }
        self.advance();
    }

    /// Hands out the next thing to do.
    #[inline]
    pub fn poll(&mut self) -> Action {
        self.actions.pop_front().unwrap_or(Action::Wait)
    }

    /// Where a logical page is.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        match self.map.get(lpn.0) {
            0 => None,
            place => Some(Ppn(place - 1)),
        }
    }

    /// The logical page of each data page of `block`, as its summary page records it.
    pub fn summary(&self, block: BlockId) -> impl Iterator<Item = Lpn> {
        let first = self.layout.ppn(block, 0).0;
        // Summaries are written when every data page is.
        (first..first + self.data_pages).map(|ppn| Lpn(self.written.get(ppn).wrapping_sub(1)))
    }

    /// The array it runs on.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its knobs.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What it counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Blocks that are erased and not at a write point.
    pub fn free_blocks(&self) -> u32 {
        self.blocks.free()
    }

    /// How often a block was erased.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.blocks.erases(block)
    }

    /// Whether work is in flight or waits.
    pub fn is_busy(&self) -> bool {
        self.units.len() > usize::from(self.cached.is_some()) || self.collector.is_active()
    }

    /// Bytes of memory that map, summaries and block table hold.
    pub fn memory(&self) -> u64 {
        self.map.memory() + self.written.memory() + self.blocks.memory()
    }

    /// Moves everything on that can move.
    fn advance(&mut self) {
        loop {
            self.collect();
            if !self.dispatch() {
                return;
            }
        }
    }

    #[inline]
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    #[inline]
    pub(crate) fn lane_of(&self, ppn: Ppn) -> LaneId {
        self.layout.lane_of(self.layout.block_of(ppn))
    }

    /// Starts reading `ppn` into the buffer of a new unit.
    pub(crate) fn read_page(&mut self, ppn: Ppn, unit: Unit) -> u32 {
        let at = self.units.add(Unit { ppn: ppn.0, ..unit });
        let block = self.layout.block_of(ppn);
        self.blocks.pin(block);
        self.load[self.layout.lane_of(block).index()] += 1;
        self.act(Action::Flash(FlashOp::Read { ppn, buf: Buf(at) }));
        at
    }

    /// The page that `ppn` held is mapped no more.
    pub(crate) fn invalidate(&mut self, ppn: Ppn) {
        let block = self.layout.block_of(ppn);
        if self.blocks.drop_valid(block) {
            self.erase(block);
        }
    }
}
