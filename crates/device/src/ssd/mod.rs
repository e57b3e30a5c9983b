//! A flash device: Gordon's translation layer over simulated NAND.
//!
//! A request is handed to [`gordon_ftl::Ftl`]; the operations that it issues take bus and die time
//! ([`Lanes`]); when they are done the layer is told, and when all pieces of a request are
//! acknowledged it completes. Without a write buffer an acknowledged write is programmed.
//!
//! - The link to the host, where its speed is given, carries the data of one request after the
//!   other, those of a write before it starts and those of a read when it is done; where a latency
//!   is given, each completion comes that much later.
//! - A block fails to be erased when its budget ([`Endurance`]) is used up, and is bad from then on;
//!   with too few good blocks left the device refuses writes.
//! - When nothing has been asked of it for [`IDLE_AFTER`], it collects garbage in the background
//!   and writes its write buffer out.
//!
//! Not modelled: the controller's own work, read errors, failing programs (a block wears out at an
//! erase).

mod config;
mod lanes;
mod memory;
mod stats;
mod timing;

pub use config::{
    EnduranceConfig, FtlConfig, GeometryConfig, HostLink, Policy, Power, ShapeConfig, SsdConfig,
    SsdError, SuperPage,
};
pub use lanes::{Done, Kind, KindStats, LaneStats, Lanes, OVERTAKINGS, Work};
pub use stats::{Lifetime, SsdStats, Wear};
pub use timing::{PageTimes, TimingConfig};

use crate::{Cause, Completion, Device, Op, Request, SECTOR, Usage};
use config::Resolved;
use gordon_des::{Events, Timeline};
use gordon_ftl::{Action, Extent, Ftl, Host, How, Input, RequestId};
use gordon_nand::{Buf, Endurance, FlashOp};
use gordon_units::{BlockId, Bytes, Lpn, Ns};

/// How long nothing is asked of a device until it works in the background.
pub const IDLE_AFTER: Ns = Ns(1_000_000);

/// A request not yet complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: u64,
    request: Request,
    /// Acknowledgements to come.
    left: u32,
    cause: Cause,
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The data of a write are in the controller.
    Start(RequestId),
    Completed(Completion),
}

/// A simulated flash device.
#[derive(Clone, Debug)]
pub struct Ssd {
    capacity: Bytes,
    page: Bytes,
    sectors_per_page: u32,
    endurance: Endurance,
    seed: u64,
    /// Physical blocks of a super-block.
    planes: u32,
    link: Option<Bytes>,
    latency: Ns,
    wire: Timeline,
    ftl: Ftl,
    lanes: Lanes,
    events: Events<Event>,
    open: Vec<Open>,
    /// Places of `open` to be used again.
    free: Vec<u32>,
    /// Requests completed at this instant, still in `open`.
    completed: Vec<RequestId>,
    /// When it starts to work in the background, if nothing comes.
    idle_at: Option<Ns>,
    in_background: bool,
    /// Pages to be mapped before the first request: a bit each.
    wanted: Vec<u64>,
    /// Operations handed to the lanes and not done, since when there have been any, and how long
    /// there were before.
    in_flight: u32,
    active_since: Ns,
    active: Ns,
    /// Whether blocks are being emptied, since when, and how long there were before.
    collecting: bool,
    collecting_since: Ns,
    collected: Ns,
}

impl Ssd {
    /// A device as new: erased, nothing mapped.
    pub fn new(config: &SsdConfig) -> Result<Self, SsdError> {
        Self::with_seed(config, 0)
    }

    /// A device as new, whose bad blocks, erase budgets and random choices follow from a seed.
    pub fn with_seed(config: &SsdConfig, seed: u64) -> Result<Self, SsdError> {
        let Resolved { layout, ftl, timing, endurance, bad } = config.resolve(seed)?;
        let slots = ftl.slots;
        let (sectors_per_page, ftl) = (ftl.sectors_per_page, Ftl::with_bad(layout, ftl, &bad)?);
        ftl.tables().into_iter().for_each(memory::want_large_pages);
        Ok(Self {
            capacity: *config.capacity,
            page: layout.page_bytes() / u64::from(slots),
            sectors_per_page,
            endurance,
            seed,
            planes: layout.shape().pages(),
            link: config.host.link.as_ref().map(|link| **link),
            latency: config.host.latency.as_ref().map_or(Ns::ZERO, |latency| **latency),
            wire: Timeline::default(),
            lanes: Lanes::new(layout, &timing, slots),
            ftl,
            events: Events::default(),
            open: Vec::new(),
            free: Vec::new(),
            completed: Vec::new(),
            idle_at: None,
            in_background: false,
            wanted: Vec::new(),
            in_flight: 0,
            active_since: Ns::ZERO,
            active: Ns::ZERO,
            collecting: false,
            collecting_since: Ns::ZERO,
            collected: Ns::ZERO,
        })
    }

    /// What it counted.
    pub fn stats(&self) -> SsdStats {
        let (layout, lanes) = (self.ftl.layout(), self.lanes.stats());
        SsdStats {
            ftl: *self.ftl.stats(),
            bus_busy: lanes.bus_busy.clone(),
            lane_busy: lanes.lane_busy.clone(),
            events: lanes.events + self.events.scheduled(),
            lanes,
            wear: Wear::of((0..layout.blocks()).map(|id| self.ftl.erases(BlockId(id)))),
            lifetime: Lifetime {
                erase_budget: self.endurance.rated(),
                blocks: u64::from(layout.blocks()),
                pages_per_block: u64::from(layout.pages_per_block()),
                block_bytes: layout.page_bytes() * u64::from(layout.pages_per_block()),
                programs: self.ftl.stats().program_operations,
            },
            ftl_memory: Bytes(self.ftl.memory()),
            collecting: self.collecting(),
        }
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// Data of one logical page.
    pub fn page_bytes(&self) -> Bytes {
        self.page
    }

    /// Maps the first `fraction` of the exported pages, and those to be
    /// [preloaded](Device::preload), in the steady state of uniform random overwrites: see
    /// [`Ftl::precondition`].
    ///
    /// # Panics
    /// Where `fraction` is not between 0 and 1, or the device was used before.
    pub fn precondition(&mut self, fraction: f64) {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} of the capacity");
        let exported = self.ftl.config().exported;
        // At most `exported`.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let first = (f64::from(exported) * fraction).round() as u32;
        let wanted = std::mem::take(&mut self.wanted);
        let more = bits(&wanted).filter(|lpn| *lpn >= first).map(Lpn);
        self.ftl.precondition(first, &more.collect::<Vec<_>>(), self.seed);
    }

    /// Maps the pages to be preloaded now, rather than with the first request.
    pub fn load(&mut self) {
        let wanted = std::mem::take(&mut self.wanted);
        if !wanted.is_empty() {
            let loaded = self.ftl.preload(bits(&wanted).map(Lpn), &mut |_, _, _| ());
            loaded.expect("before the first request there is room for all that is exported");
        }
    }

    /// Hands out what the device has become, piece by piece: [`Ftl::checkpoint`]. False where work
    /// is under way.
    pub fn checkpoint(&mut self, out: &mut dyn FnMut(&[u8])) -> bool {
        let idle = self.in_flight == 0 && self.open.len() == self.free.len();
        if idle && !self.ftl.is_busy() {
            self.load();
            self.ftl.checkpoint(out);
            return true;
        }
        false
    }

    /// A device as it was at its checkpoint, at time zero; its counts start anew.
    ///
    /// # Errors
    /// Where the device cannot exist, or the bytes are not those of such a device.
    pub fn restore(
        config: &SsdConfig,
        seed: u64,
        input: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<Self, SsdError> {
        let mut ssd = Self::with_seed(config, seed)?;
        ssd.ftl = Ftl::restore(*ssd.ftl.layout(), *ssd.ftl.config(), input)?;
        ssd.ftl.tables().into_iter().for_each(memory::want_large_pages);
        Ok(ssd)
    }

    /// The present.
    fn now(&self) -> Ns {
        self.events.now()
    }

    fn claim(&mut self, open: Open) -> RequestId {
        if let Some(at) = self.free.pop() {
            self.open[at as usize] = open;
            return RequestId(at);
        }
        self.open.push(open);
        RequestId(u32::try_from(self.open.len() - 1).expect("fewer than 2^32 requests in flight"))
    }

    /// Hands one input to the layer, and carries out what it wants. `behind`: what is acknowledged
    /// had to wait for garbage collection.
    fn feed(&mut self, input: Input, behind: bool) {
        self.ftl.handle(input);
        loop {
            match self.ftl.poll() {
                Action::Wait => break,
                Action::Flash(op) => self.issue(op),
                Action::Ack(request, how) => {
                    let cause = match how {
                        How::Buffer => Cause::Buffer,
                        How::Stalled => Cause::Collection,
                        How::Flash | How::Merge if behind => Cause::Collection,
                        How::Flash => Cause::Medium,
                        How::Merge => Cause::Merge,
                    };
                    self.acknowledge(request, cause, false);
                }
                Action::Refuse(request) => self.acknowledge(request, Cause::Buffer, true),
                // There are no contents here.
                Action::Zero(_)
                | Action::Fill(..)
                | Action::Summarize(..)
                | Action::Give(..)
                | Action::GiveZeros(_) => {}
            }
        }
        if self.ftl.is_collecting() != self.collecting {
            if self.collecting {
                self.collected += self.now() - self.collecting_since;
            }
            (self.collecting, self.collecting_since) = (!self.collecting, self.now());
        }
    }

    /// How long blocks were being emptied, by garbage collection or wear levelling.
    pub fn collecting(&self) -> Ns {
        match self.collecting {
            true => self.collected + (self.now() - self.collecting_since),
            false => self.collected,
        }
    }

    /// How long each group of buses carried something, reservations to come included.
    pub fn bus_busy(&self) -> impl ExactSizeIterator<Item = Ns> {
        self.lanes.bus_busy()
    }

    #[inline]
    fn acknowledge(&mut self, request: RequestId, cause: Cause, failed: bool) {
        let open = &mut self.open[request.0 as usize];
        open.left -= 1;
        open.cause = open.cause.max(cause);
        open.failed |= failed;
        if open.left == 0 {
            self.completed.push(request);
        }
    }

    fn issue(&mut self, op: FlashOp) {
        let now = self.now();
        if self.in_flight == 0 {
            self.active_since = now;
        }
        self.in_flight += 1;
        let layout = self.ftl.layout();
        let work = match op {
            FlashOp::Read { ppn, slots, buf } => Work {
                block: layout.block_of(ppn),
                page: layout.page_of(ppn),
                share: slots,
                tag: buf.0,
                kind: Kind::Read,
                background: self.ftl.is_copy(buf),
            },
            FlashOp::Program { ppn, buf } => Work {
                block: layout.block_of(ppn),
                page: layout.page_of(ppn),
                share: self.ftl.config().slots,
                tag: buf.0,
                kind: Kind::Program,
                background: self.ftl.is_copy(buf),
            },
            FlashOp::Erase { block } => {
                Work { block, page: 0, share: 0, tag: 0, kind: Kind::Erase, background: true }
            }
        };
        self.lanes.issue(now, work);
    }

    /// An operation is over.
    fn done(&mut self, done: Done) {
        let Done { work, behind_background } = done;
        let Work { block, page, share, tag, kind, .. } = work;
        let input = match kind {
            Kind::Read => {
                let ppn = self.ftl.layout().ppn(block, page);
                Input::Done(FlashOp::Read { ppn, slots: share, buf: Buf(tag) })
            }
            Kind::Program => {
                let ppn = self.ftl.layout().ppn(block, page);
                Input::Done(FlashOp::Program { ppn, buf: Buf(tag) })
            }
            Kind::Erase if self.is_worn(block) => Input::Failed(FlashOp::Erase { block }),
            Kind::Erase => Input::Done(FlashOp::Erase { block }),
        };
        self.in_flight -= 1;
        if self.in_flight == 0 {
            self.active += self.now() - self.active_since;
        }
        self.feed(input, behind_background);
    }

    /// Whether a block's erases are used up. No budget lies below a quarter of the rating: of
    /// 10^13 blocks none would.
    fn is_worn(&self, block: BlockId) -> bool {
        let erases = self.ftl.erases(block) + 1;
        u64::from(erases) * 4 > self.endurance.rated()
            && erases > self.endurance.budget_of_block(self.seed, block.0, self.planes)
    }

    /// Hands a request, its data being here, to the layer.
    fn start(&mut self, tag: RequestId) {
        let Request { op, offset, len } = self.open[tag.0 as usize].request;
        let (first, sectors) = (offset.0 / SECTOR.0, len.0 / SECTOR.0);
        match op {
            Op::Read => {
                let extent = Extent { request: tag, first, sectors };
                self.feed(Input::Host(Host::Read(extent)), false);
            }
            Op::Write => {
                let extent = Extent { request: tag, first, sectors };
                self.feed(Input::Host(Host::Write(extent)), false);
            }
            Op::Trim => {
                let (first, end) = self.whole_pages(first, sectors);
                for lpn in first..end {
                    let lpn = Lpn(u32::try_from(lpn).expect("within the capacity"));
                    self.feed(Input::Host(Host::Trim(tag, lpn)), false);
                }
            }
            Op::Flush => self.feed(Input::Host(Host::Flush(tag)), false),
        }
    }

    /// A trim takes whole pages, be the last one exported in part; what is left over is kept.
    fn whole_pages(&self, first: u64, sectors: u64) -> (u64, u64) {
        let (page, end) = (u64::from(self.sectors_per_page), self.capacity.0 / SECTOR.0);
        match first + sectors {
            stop if stop == end => (first.div_ceil(page), stop.div_ceil(page)),
            stop => (first.div_ceil(page), stop / page),
        }
    }

    /// Hands out what has completed at this instant; what takes longer is scheduled.
    fn complete(&mut self, mut out: Option<&mut Vec<Completion>>) {
        let now = self.now();
        for at in 0..self.completed.len() {
            let tag = self.completed[at];
            let Open { id, request, cause, failed, .. } = self.open[tag.0 as usize];
            self.free.push(tag.0);
            let mut at = now + self.latency;
            if let Some(link) = self.link.filter(|_| request.op == Op::Read) {
                at = self.wire.reserve(now, request.len.time_at(link)) + self.latency;
            }
            let completion = Completion { id, at, cause, failed };
            match &mut out {
                Some(out) if at == now => out.push(completion),
                _ => self.events.schedule(at, Event::Completed(completion)),
            }
        }
        self.completed.clear();
    }

    /// The time with any operation in flight.
    fn controller(&self) -> Ns {
        match self.in_flight {
            0 => self.active,
            _ => self.active + (self.now() - self.active_since),
        }
    }

    /// Nothing is under way: a time for work in the background, soon or, where that has begun, now.
    fn rest(&mut self) {
        if self.in_background {
            self.feed(Input::Idle, false);
        } else if self.idle_at.is_none() {
            self.idle_at = Some(self.now() + IDLE_AFTER);
        }
    }
}

/// The numbers of the bits that are set.
fn bits(words: &[u64]) -> impl Iterator<Item = u32> {
    (0..).step_by(64).zip(words).flat_map(|(first, &word)| {
        let mut word = word;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(first + bit)
        })
    })
}

impl Device for Ssd {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        if !self.wanted.is_empty() {
            self.load();
        }
        self.events.advance_to(at);
        (self.idle_at, self.in_background) = (None, false);
        let Request { op, offset, len } = request;
        let sector = |bytes: Bytes| {
            assert!(bytes.0.is_multiple_of(SECTOR.0), "{request:?} is not aligned to {SECTOR}");
            bytes.0 / SECTOR.0
        };
        let (first, sectors) = (sector(offset), sector(len));
        let inside = offset.0.checked_add(len.0).is_some_and(|end| end <= self.capacity.0);
        assert!(inside, "{request:?} ends beyond {}", self.capacity);
        assert!(op == Op::Flush || sectors > 0, "{request:?} is empty");
        let extent = Extent { request: RequestId(0), first, sectors };
        let left = match op {
            Op::Read | Op::Write => extent.count(self.sectors_per_page),
            Op::Trim => {
                let (first, end) = self.whole_pages(first, sectors);
                end.saturating_sub(first)
            }
            Op::Flush => 1,
        };
        let left = u32::try_from(left).expect("fewer than 2^32 pages");
        let tag = self.claim(Open { id, request, left, cause: Cause::Buffer, failed: false });
        if left == 0 {
            self.completed.push(tag);
        } else if let Some(link) = self.link.filter(|_| op == Op::Write) {
            let here = self.wire.reserve(at, len.time_at(link));
            self.events.schedule(here, Event::Start(tag));
        } else {
            self.start(tag);
        }
        // Completions come out of `step`.
        if !self.completed.is_empty() {
            self.complete(None);
        }
    }

    /// Maps the pages of the range that are not mapped yet, which takes no time: with the first
    /// request, with [`load`](Ssd::load), or with [`precondition`](Ssd::precondition).
    fn preload(&mut self, offset: Bytes, len: Bytes) {
        assert!(offset + len <= self.capacity, "{len} at {offset} end beyond {}", self.capacity);
        let exported = self.ftl.config().exported as usize;
        self.wanted.resize(exported.div_ceil(64), 0);
        let page = self.page.0;
        for lpn in offset.0 / page..(offset + len).0.div_ceil(page) {
            let lpn = usize::try_from(lpn).expect("within the capacity");
            self.wanted[lpn / 64] |= 1 << (lpn % 64);
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Ns> {
        let next = match (self.lanes.next_at(), self.events.next_at()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        match self.idle_at {
            Some(idle) => Some(next.map_or(idle, |next| next.min(idle))),
            None => next,
        }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        // At one instant the lanes come first, background work last.
        let (lanes, events) = (self.lanes.next_at(), self.events.next_at());
        let next = match (lanes, events) {
            (Some(one), Some(other)) => one.min(other),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Ns::MAX,
        };
        if let Some(idle) = self.idle_at
            && idle < next
        {
            self.events.advance_to(idle);
            (self.idle_at, self.in_background) = (None, true);
            self.feed(Input::Idle, false);
            return;
        }
        if lanes == Some(next) {
            let (now, done) = self.lanes.step();
            self.events.advance_to(now);
            let Some(done) = done else { return };
            self.done(done);
            if !self.completed.is_empty() {
                self.complete(Some(completed));
            }
        } else {
            match self.events.pop() {
                None => return,
                Some((_, Event::Completed(completion))) => completed.push(completion),
                Some((_, Event::Start(tag))) => {
                    self.start(tag);
                    self.complete(Some(completed));
                }
            }
        }
        if self.in_flight == 0 && self.open.len() == self.free.len() {
            self.rest();
        }
    }

    fn usage(&self) -> Usage {
        let (read, write) = self.lanes.die_time();
        Usage { read, write, controller: self.controller() }
    }
}
