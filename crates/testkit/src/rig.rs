//! The translation layer on an array model, with page contents.
//!
//! Operations complete in random order. Each changes the array either when it is issued or when it
//! completes, at random. Programs and erases can be made to fail. Every answer is compared with the
//! [`Model`]; an operation that the array refuses, or a contract that the layer breaks, is a panic.

use crate::scars::Scars;
use crate::{Model, Random};
use gordon_ftl::{
    Action, Config, Extent, Ftl, HostRequest, Input, RequestId, SubRequest, TrimRecord,
};
use gordon_nand::{Array, Buf, FlashOp, Layout, PageContent};
use gordon_units::{BlockId, Lpn, Ppn, Progress};

/// Value of the sectors of a page that was not programmed since its erase.
const GARBAGE: u32 = u32::MAX;

/// A request, in sectors; a trim is of one logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read sectors.
    Read {
        /// First sector.
        first: u64,
        /// Number of sectors.
        len: u64,
    },
    /// Write sectors.
    Write {
        /// First sector.
        first: u64,
        /// Number of sectors.
        len: u64,
    },
    /// Write sectors durably (FUA).
    WriteDurably {
        /// First sector.
        first: u64,
        /// Number of sectors.
        len: u64,
    },
    /// Trim a logical page.
    Trim(Lpn),
    /// Flush.
    Flush,
}

/// A request in flight.
#[derive(Clone, Debug)]
struct Open {
    request: Request,
    /// Acknowledgements still expected.
    left: usize,
    /// A write or trim: the number of its change, else 0.
    change: u32,
    /// A read: the floors of its sectors when it was submitted.
    floors: Vec<u32>,
    /// A flush: the changes that it waits for.
    before: Vec<u32>,
    /// A part of the request was refused.
    refused: bool,
}

/// The content of a super-page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The logical page in each slot.
    pub lpns: Vec<Option<Lpn>>,
    sectors: Vec<u32>,
    pub more: More,
}

/// Content of a page other than sector data.
#[derive(Clone, Debug)]
pub(crate) enum More {
    Nothing,
    /// One page of a summary: for its share of the data pages, the sequence number of each page and
    /// the logical page in each slot.
    Summary(Vec<u64>, Vec<Option<Lpn>>),
    Trims(TrimRecord),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Flying {
    pub op: FlashOp,
    /// The operation changed the array when it was issued.
    pub early: bool,
    fails: bool,
}

/// A translation layer with its array, its driver and the reference model.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The layer.
    pub ftl: Ftl,
    pub(crate) array: Array<Page>,
    bufs: Vec<Vec<u32>>,
    /// By buffer: content other than sector data.
    more: Vec<More>,
    pub(crate) flying: Vec<Flying>,
    open: Vec<Option<Open>>,
    /// By request: its change. The entry outlives the request, because a write buffer may copy the
    /// data after it is acknowledged.
    changes: Vec<u32>,
    pub(crate) model: Model,
    pub(crate) random: Random,
    trimmed: bool,
    /// Blocks whose erase failed.
    pub(crate) retired: Vec<BlockId>,
    pub(crate) scars: Scars,
    /// Number of programs and erases in 1000 that fail.
    pub faults: usize,
}

impl Rig {
    /// A layer on an erased array.
    ///
    /// # Panics
    /// Panics if the configuration is invalid.
    pub fn new(layout: Layout, config: Config, seed: u64) -> Self {
        let per_page = config.sectors_per_page;
        let garbage = Page {
            lpns: vec![None; config.slots as usize],
            sectors: vec![GARBAGE; (per_page * config.slots) as usize],
            more: More::Nothing,
        };
        Self {
            ftl: Ftl::new(layout, config).unwrap_or_else(|e| panic!("{e}")),
            array: Array::new(layout, garbage),
            bufs: vec![],
            more: vec![],
            retired: vec![],
            scars: Scars::default(),
            flying: vec![],
            open: vec![],
            changes: vec![],
            model: Model::new(u64::from(config.exported) * u64::from(per_page)),
            random: Random::new(seed),
            trimmed: false,
            faults: 0,
        }
    }

    /// Maps pages with contents, as if they had been written before.
    pub fn preload(&mut self, lpns: impl IntoIterator<Item = Lpn>) {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let Self { ftl, array, model, .. } = self;
        let slots = ftl.config().slots as usize;
        let mut placed = |ppn: Ppn, oob, lpns: &[Option<Lpn>]| {
            let mut page = Page { lpns: lpns.to_vec(), sectors: vec![], more: More::Nothing };
            page.lpns.resize(slots, None);
            for lpn in &page.lpns {
                let change = lpn.map_or(GARBAGE, |lpn| {
                    let change = model.accept(u64::from(lpn.0) * per_page, per_page, false);
                    model.acknowledge(change);
                    change
                });
                page.sectors.extend((0..per_page).map(|_| change));
            }
            array.program(ppn, oob, page).unwrap_or_else(|e| panic!("{e}"));
        };
        let progress = Progress::default();
        ftl.preload(lpns, &mut placed, &progress).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Submits a request.
    pub fn submit(&mut self, request: Request) {
        let mut open =
            Open { request, left: 1, change: 0, floors: vec![], before: vec![], refused: false };
        let id = self.open.len();
        let tag = RequestId(u32::try_from(id).expect("few requests"));
        let per_page = self.ftl.config().sectors_per_page;
        let extent = |first, len| Extent { request: tag, first, sectors: len };
        let input = match request {
            Request::Read { first, len } => {
                open.floors = self.model.floors(first, len);
                HostRequest::Read(extent(first, len))
            }
            Request::Write { first, len } => {
                open.change = self.model.accept(first, len, false);
                HostRequest::Write(extent(first, len))
            }
            Request::WriteDurably { first, len } => {
                open.change = self.model.accept(first, len, false);
                HostRequest::WriteDurably(extent(first, len))
            }
            Request::Trim(lpn) => {
                self.trimmed = true;
                let first = u64::from(lpn.0) * u64::from(per_page);
                open.change = self.model.accept(first, u64::from(per_page), true);
                HostRequest::Trim(tag, lpn)
            }
            Request::Flush => {
                let open_ones = self.open.iter().flatten();
                open.before = open_ones.map(|o| o.change).filter(|&change| change > 0).collect();
                // A flush waits for all earlier changes, acknowledged or not.
                open.floors = self.model.accepted();
                HostRequest::Flush(tag)
            }
        };
        if let HostRequest::Read(extent)
        | HostRequest::Write(extent)
        | HostRequest::WriteDurably(extent) = input
        {
            open.left = usize::try_from(extent.count(per_page)).expect("a small request");
        }
        self.changes.push(open.change);
        self.open.push(Some(open));
        self.ftl.handle(Input::Host(input));
        self.carry_out();
    }

    /// Completes a random operation; returns false if none is in flight.
    pub fn step(&mut self) -> bool {
        if self.flying.is_empty() {
            return false;
        }
        let at = self.random.below(self.flying.len());
        let Flying { op, early, fails } = self.flying.swap_remove(at);
        if fails {
            let block = match op {
                FlashOp::Program { ppn, .. } => self.ftl.layout().block_of(ppn),
                FlashOp::Erase { block } => block,
                FlashOp::Read { .. } => panic!("reads do not fail here"),
            };
            if let FlashOp::Erase { .. } = op {
                self.retired.push(block);
            } else if self.ftl.config().durable && self.random.below(2) == 0 {
                // A failed program may leave a readable page.
                self.effect(op);
            } else if let FlashOp::Program { ppn, .. } = op {
                self.array.spoil(ppn);
            }
            self.array.mark_bad(block).unwrap_or_else(|e| panic!("{e}"));
            self.ftl.handle(Input::Failed(op));
            self.carry_out();
            return true;
        }
        if !early {
            self.effect(op);
        }
        self.ftl.handle(Input::Done(op));
        self.carry_out();
        true
    }

    /// Number of requests not yet acknowledged.
    pub fn pending(&self) -> usize {
        self.open.iter().flatten().count()
    }

    /// Completes all operations and checks the result: no request is left, the tables of the layer
    /// are consistent, every sector on the array holds the value that the model expects, and the
    /// newest copy of each page can be found from the array alone.
    pub fn settle(&mut self) {
        while self.step() {}
        assert!(self.pending() == 0, "requests wait for idle time: {:#?}", self.ftl);
        while self.ftl.is_busy() {
            self.shut_down();
            assert!(self.step() || self.ftl.is_worn_out(), "stuck: {:#?}", self.ftl);
            while self.step() {}
            if self.ftl.is_worn_out() {
                break;
            }
        }
        assert!(!self.ftl.is_worn_out() || self.faults > 0, "worn out: {:#?}", self.ftl);
        let stuck: Vec<_> = self.open.iter().flatten().map(|o| o.request).collect();
        assert!(stuck.is_empty(), "never acknowledged: {stuck:?}; {:?}", self.ftl.stats());
        self.ftl.check().unwrap_or_else(|e| panic!("{e}"));
        self.ftl.check_at_rest().unwrap_or_else(|e| panic!("{e}"));
        self.open.clear();
        self.changes.clear();
        self.check_contents();
        if self.ftl.config().durable {
            // A write refused when the array wore out may still have reached the array.
            if !self.ftl.is_worn_out() {
                self.check_mounts();
            }
        } else {
            self.check_freshest();
        }
    }

    /// Checks that a mount finds every mapped page where the map has it.
    fn check_mounts(&self) {
        let mut mounted = self.clone();
        mounted.mount(None);
        for lpn in (0..self.ftl.config().exported).map(Lpn) {
            if let Some(place) = self.ftl.lookup(lpn) {
                assert_eq!(mounted.ftl.lookup(lpn), Some(place), "page {lpn} after a mount");
            }
        }
    }

    /// Lets the layer do background work.
    pub fn idle(&mut self) {
        self.ftl.handle(Input::Idle);
        self.carry_out();
    }

    /// Lets the layer write its write buffer out.
    pub fn shut_down(&mut self) {
        self.ftl.handle(Input::ShutDown);
        self.carry_out();
    }

    pub(crate) fn carry_out(&mut self) {
        loop {
            match self.ftl.poll() {
                Action::Wait => return,
                Action::Flash(op) | Action::Copy(op) => {
                    let fails = match op {
                        FlashOp::Read { .. } => false,
                        // The block failed to program before the power cut.
                        FlashOp::Erase { block } if self.array.is_bad(block) => true,
                        _ => self.random.below(1000) < self.faults,
                    };
                    let early = !fails && self.random.below(2) == 0;
                    if early {
                        self.effect(op);
                    }
                    self.flying.push(Flying { op, early, fails });
                }
                Action::Zero(buf) => self.buf(buf).fill(0),
                Action::Fill(buf, sub_request) => {
                    let change = self.changes[sub_request.request.0 as usize];
                    self.part(buf, sub_request).fill(change);
                }
                Action::Summarize(buf, block, part) => self.summarize(buf, block, part),
                Action::Record(buf) => {
                    *self.more(buf) = More::Trims(self.ftl.trim_record().clone())
                }
                Action::Give(buf, sub_request) => {
                    let values = self.part(buf, sub_request).to_vec();
                    self.give(sub_request, &values);
                }
                Action::GiveZeros(sub_request) => {
                    self.give(sub_request, &vec![0; sub_request.len as usize])
                }
                Action::Ack(request, _) => self.acknowledge(request, false),
                Action::Refuse(request) => self.acknowledge(request, true),
            }
        }
    }

    /// Applies an operation to the array.
    pub(crate) fn effect(&mut self, op: FlashOp) {
        match op {
            FlashOp::Read { ppn, buf, slots } => {
                let (page, oob) = self.array.read(ppn).unwrap_or_else(|e| panic!("{e}"));
                assert!(oob.is_some(), "page {ppn} was read, which is not programmed");
                let page = page.clone();
                let parts: Vec<_> = self.ftl.segments(buf).collect();
                assert_eq!(parts.len(), slots as usize);
                for part in parts {
                    assert_eq!(page.lpns[part.slot as usize], part.lpn, "{op:?}, {part:?}");
                    let mut content = self.slot(&page, part.slot).to_vec();
                    if self.is_lost(ppn) {
                        content.fill(GARBAGE);
                    }
                    *self.buf(part.buf) = content;
                }
            }
            FlashOp::Program { ppn, buf } => {
                let (slots, per_page) =
                    (self.ftl.config().slots, self.ftl.config().sectors_per_page);
                let parts: Vec<_> = self.ftl.segments(buf).collect();
                let mut page = Page {
                    lpns: vec![None; slots as usize],
                    sectors: vec![GARBAGE; (slots * per_page) as usize],
                    more: std::mem::replace(self.more(buf), More::Nothing),
                };
                for part in parts {
                    let at = (part.slot * per_page) as usize;
                    let content = self.buf(part.buf).clone();
                    page.sectors[at..at + per_page as usize].copy_from_slice(&content);
                    page.lpns[part.slot as usize] = part.lpn;
                }
                let oob = self.ftl.oob(buf);
                self.array.program(ppn, oob, page).unwrap_or_else(|e| panic!("{e}"));
            }
            FlashOp::Erase { block } => {
                self.array.erase(block).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }

    fn buf(&mut self, buf: Buf) -> &mut Vec<u32> {
        let per_page = self.ftl.config().sectors_per_page as usize;
        if self.bufs.len() <= buf.index() {
            self.bufs.resize(buf.index() + 1, vec![GARBAGE; per_page]);
        }
        &mut self.bufs[buf.index()]
    }

    fn more(&mut self, buf: Buf) -> &mut More {
        if self.more.len() <= buf.index() {
            self.more.resize(buf.index() + 1, More::Nothing);
        }
        &mut self.more[buf.index()]
    }

    fn slot<'a>(&self, page: &'a Page, slot: u32) -> &'a [u32] {
        let per_page = self.ftl.config().sectors_per_page as usize;
        &page.sectors[slot as usize * per_page..][..per_page]
    }

    fn part(&mut self, buf: Buf, sub_request: SubRequest) -> &mut [u32] {
        let start = sub_request.start as usize;
        &mut self.buf(buf)[start..start + sub_request.len as usize]
    }

    /// Drops all requests and operations in flight, as a power cut does.
    pub(crate) fn drop_all(&mut self) -> Vec<Flying> {
        self.open.clear();
        self.changes.clear();
        std::mem::take(&mut self.flying)
    }

    fn request(&self, id: RequestId) -> &Open {
        self.open[id.0 as usize].as_ref().unwrap_or_else(|| panic!("{id:?} is over"))
    }

    /// Fills a summary page with its part of the summary, and checks the summary against the data
    /// pages.
    fn summarize(&mut self, buf: Buf, block: BlockId, part: u32) {
        let layout = *self.ftl.layout();
        let slots = self.ftl.config().slots;
        let lpns: Vec<_> = self.ftl.summary(block).collect();
        let mut sequences = vec![];
        for (at, &lpn) in (0..).zip(&lpns) {
            let ppn = layout.ppn(block, at / slots);
            let (page, oob) = self.array.read(ppn).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(oob.map(|oob| oob.content), Some(PageContent::Data), "block {block}.{at}");
            assert_eq!(page.lpns[(at % slots) as usize], lpn, "block {block}.{at}");
            if at % slots == 0 {
                sequences.extend(oob.map(|oob| oob.sequence));
            }
        }
        let config = self.ftl.config();
        assert!(part < config.summary_pages, "part {part} of the summary of block {block}");
        let pages = config.data_pages(&layout).div_ceil(config.summary_pages) as usize;
        let sequences = sequences.chunks(pages).nth(part as usize).unwrap_or_default().to_vec();
        let lpns = lpns.chunks(pages * slots as usize).nth(part as usize).unwrap_or_default();
        *self.more(buf) = More::Summary(sequences, lpns.to_vec());
        self.buf(buf).fill(GARBAGE);
    }

    fn give(&self, sub_request: SubRequest, values: &[u32]) {
        let open = self.request(sub_request.request);
        let Request::Read { first, .. } = open.request else {
            panic!("{:?} is given data", open.request)
        };
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let start = u64::from(sub_request.lpn.0) * per_page + u64::from(sub_request.start);
        for (sector, &value) in (start..).zip(values) {
            let floor = open.floors[usize::try_from(sector - first).expect("a small read")];
            assert!(
                self.model.allows(sector, floor, value),
                "sector {sector} reads {value}, acknowledged was {floor}"
            );
        }
    }

    fn acknowledge(&mut self, id: RequestId, refused: bool) {
        let slot = &mut self.open[id.0 as usize];
        let open = slot.as_mut().unwrap_or_else(|| panic!("{id:?} is acknowledged too often"));
        assert!(!refused || self.ftl.is_worn_out(), "{id:?} is refused");
        open.refused |= refused;
        open.left -= 1;
        if open.left > 0 {
            return;
        }
        let open = slot.take().expect("it is there");
        if open.refused {
            return;
        }
        if open.change > 0 {
            self.model.acknowledge(open.change);
        }
        for change in open.before {
            let waits = self.open.iter().flatten().any(|o| o.change == change);
            assert!(!waits, "flushed before change {change} was acknowledged");
        }
        if self.ftl.config().protected {
            // What is in the write buffer is durable, too.
            return;
        }
        if let Request::WriteDurably { first, len } = open.request {
            self.model.persist(open.change);
            for sector in first..first + len {
                let value = self.on_array(sector);
                let is_durable = self.model.allows(sector, open.change, value);
                assert!(is_durable, "sector {sector} holds {value} after {:?}", open.request);
            }
        }
        if open.request == Request::Flush && !self.ftl.is_worn_out() {
            self.model.persist_all(&open.floors);
            for (sector, floor) in (0..).zip(open.floors) {
                let value = self.on_array(sector);
                assert!(
                    self.model.allows(sector, floor, value),
                    "sector {sector} holds {value} after a flush, acknowledged before was {floor}"
                );
            }
        }
    }

    pub(crate) fn erases_at(&self, ppn: Ppn) -> u32 {
        self.array.erases(self.array.layout().block_of(ppn))
    }

    /// Whether a power cut has made the data of a page unreadable.
    fn is_lost(&self, ppn: Ppn) -> bool {
        self.scars.is_lost(ppn, self.erases_at(ppn))
    }

    /// The value of a sector, read directly from the array.
    pub(crate) fn on_array(&self, sector: u64) -> u32 {
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let lpn = Lpn(u32::try_from(sector / per_page).expect("a small disk"));
        let within = usize::try_from(sector % per_page).expect("a small page");
        self.ftl.lookup(lpn).map_or(0, |(ppn, slot)| {
            let (page, _) = self.array.read(ppn).unwrap_or_else(|e| panic!("{e}"));
            if self.is_lost(ppn) { GARBAGE } else { self.slot(page, slot)[within] }
        })
    }

    /// Checks that every sector on the array has the value that the model expects, or, on a
    /// worn-out array, a value that the model allows.
    fn check_contents(&self) {
        for sector in 0..self.model.sectors() {
            let value = self.on_array(sector);
            if self.ftl.is_worn_out() && self.ftl.config().write_buffer > 0 {
                // Some data stay in the write buffer forever.
            } else if self.ftl.is_worn_out() {
                let floor = self.model.floors(sector, 1)[0];
                assert!(self.model.allows(sector, floor, value), "sector {sector}: {value}");
            } else {
                assert_eq!(value, self.model.last(sector), "sector {sector}");
            }
        }
    }

    /// Checks that a scan of the array finds the copies that are mapped. "The freshest copy of an
    /// LBA's data is the last copy written to the block with the highest sequence number" (section
    /// 4.2.2). Trims leave no mark on the array, so unmapped pages are not checked.
    fn check_freshest(&self) {
        let exported = self.ftl.config().exported as usize;
        let mut freshest: Vec<Option<(u64, Ppn, u32)>> = vec![None; exported];
        for ppn in (0..self.ftl.layout().pages()).map(Ppn) {
            let (page, oob) = self.array.read(ppn).unwrap_or_else(|e| panic!("{e}"));
            if let Some(oob) = oob
                && oob.content == PageContent::Data
            {
                for (slot, lpn) in (0..).zip(&page.lpns) {
                    if let Some(lpn) = lpn {
                        let copy = Some((oob.sequence, ppn, slot));
                        freshest[lpn.index()] = freshest[lpn.index()].max(copy);
                    }
                }
            }
        }
        for (lpn, copy) in (0..).map(Lpn).zip(freshest) {
            let mapped = self.ftl.lookup(lpn);
            if mapped.is_some() || !self.trimmed {
                let copy = copy.map(|(_, ppn, slot)| (ppn, slot));
                assert_eq!(mapped, copy, "the freshest copy of page {lpn}");
            }
        }
    }
}
