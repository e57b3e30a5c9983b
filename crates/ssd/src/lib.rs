//! A flash device: Gordon's translation layer over simulated NAND.
//!
//! A request is handed to [`gordon_ftl::Ftl`]; the operations that it issues take bus and die time
//! ([`DieGroups`]); when they are done the layer is told, and when all sub-requests of a request
//! are acknowledged it completes. Without a write buffer an acknowledged write is programmed.
//!
//! - The link to the host, where its speed is given, carries the data of one request after the
//!   other, those of a write before it starts and those of a read when it is done; where a latency
//!   is given, each completion comes that much later.
//! - A block fails to be erased when its budget ([`Endurance`]) is used up, and is bad from then
//!   on; with too few good blocks left the device refuses writes.
//! - When nothing has been asked of it for [`IDLE_AFTER`], it collects garbage in the background
//!   and writes its write buffer out.
//!
//! Not modelled: the controller's own work, read errors, failing programs (a block wears out at an
//! erase).

mod config;
mod controller;
mod die_groups;
mod link;
mod startup;
mod stats;
mod timing;

pub use config::{
    EnduranceConfig, FtlConfig, GeometryConfig, HostLink, Power, ShapeConfig, SsdConfig, SsdError,
    SuperPage, VictimPolicy,
};
pub use die_groups::{
    CommandDone, CommandKind, CommandStats, DieGroupStats, DieGroups, FlashCommand,
    MAX_READ_BYPASSES,
};
pub use stats::{Lifetime, SsdStats, Wear};
pub use timing::{PageTimes, TimingConfig};

use config::Resolved;
use controller::{Controller, OpenRequest};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_ftl::{
    ActionSink, Extent, Ftl, HostRequest, Input, PAGES_A_STEP, PreloadError, RequestId,
};
use gordon_nand::{Buf, Endurance, FlashOp};
use gordon_units::{BlockId, Bytes, Lpn, Ns, Progress, Stopped};
use link::{Link, LinkEvent};
use std::sync::atomic::Ordering;

/// How long nothing is asked of a device until it works in the background.
pub const IDLE_AFTER: Ns = Ns(1_000_000);

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
    ftl: Ftl<Controller>,
    link: Link,
    now: Ns,
    /// When it starts to work in the background, if nothing comes.
    idle_at: Option<Ns>,
    in_background: bool,
    /// Pages to be mapped before the first request: a bit each.
    prefill_bitmap: Vec<u64>,
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
        let sectors_per_page = ftl.sectors_per_page;
        let controller = Controller {
            now: Ns::ZERO,
            layout,
            slots,
            die_groups: DieGroups::new(layout, &timing, slots),
            open_requests: Vec::new(),
            free: Vec::new(),
            completed: Vec::new(),
            behind: false,
            in_flight: 0,
            active_since: Ns::ZERO,
            active: Ns::ZERO,
            issued: None,
        };
        let page = layout.page_bytes() / u64::from(slots);
        let ftl = Ftl::with_bad(layout, ftl, &bad, controller)
            .map_err(|error| SsdError::of(error, page))?;
        ftl.tables().into_iter().for_each(gordon_sys::memory::advise_large_pages);
        Ok(Self {
            capacity: *config.capacity,
            page,
            sectors_per_page,
            endurance,
            seed,
            planes: layout.shape().pages(),
            ftl,
            link: Link::new(
                config.host.link.as_ref().map(|link| **link),
                config.host.latency.as_ref().map_or(Ns::ZERO, |latency| **latency),
            ),
            now: Ns::ZERO,
            idle_at: None,
            in_background: false,
            prefill_bitmap: Vec::new(),
            collecting: false,
            collecting_since: Ns::ZERO,
            collected: Ns::ZERO,
        })
    }

    /// The seed that it was made with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What it counted.
    pub fn stats(&self) -> SsdStats {
        let (layout, die_groups) = (self.ftl.layout(), self.ftl.sink().die_groups.stats());
        SsdStats {
            ftl: *self.ftl.stats(),
            events: die_groups.events + self.link.events(),
            die_groups,
            wear: Wear::of(self.erases()),
            lifetime: Lifetime {
                erase_budget: self.endurance.rated(),
                blocks: u64::from(self.ftl.good_blocks()) + self.ftl.stats().grown_bad,
                pages_per_block: u64::from(layout.pages_per_block()),
                block_bytes: layout.page_bytes() * u64::from(layout.pages_per_block()),
                programs: self.ftl.stats().program_operations,
            },
            ftl_memory: Bytes(self.ftl.memory()),
            collecting: self.collecting(),
        }
    }

    /// How often each super-block was erased, but for those that are bad from the start.
    pub fn erases(&self) -> impl Iterator<Item = u32> + Clone {
        let blocks = (0..self.ftl.layout().blocks()).map(BlockId);
        let served = blocks.filter(|&block| !self.ftl.is_bad_from_the_start(block));
        served.map(|block| self.ftl.erases(block))
    }

    /// The part of the super-blocks that last for the rated erases.
    pub fn survival(&self) -> f64 {
        self.endurance.survival(self.planes, self.endurance.rated())
    }

    /// For tests: the operations issued since this was last asked, in order. The first answer is
    /// empty: from then on they are kept, where debug assertions are on. Elsewhere it stays empty,
    /// and costs nothing.
    pub fn issued(&mut self) -> Vec<FlashOp> {
        self.ftl.sink_mut().issued.replace(Vec::new()).unwrap_or_default()
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl<impl ActionSink> {
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
    /// # Errors
    /// Where `progress` stops it: the device is then of no use.
    ///
    /// # Panics
    /// Where `fraction` is not between 0 and 1, or the device was used before.
    pub fn precondition(&mut self, fraction: f64, progress: &Progress) -> Result<(), Stopped> {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} of the capacity");
        let exported = self.ftl.config().exported;
        // At most `exported`.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let first = (f64::from(exported) * fraction).round() as u32;
        // The bits are given back before memory of the tables is used.
        let more: Vec<_> = bits(&std::mem::take(&mut self.prefill_bitmap))
            .filter(|lpn| *lpn >= first)
            .map(Lpn)
            .collect();
        self.ftl.precondition(first, &more, self.seed, progress)
    }

    /// Maps the pages to be preloaded now, rather than with the first request.
    ///
    /// # Errors
    /// Where `progress` stops it: the device is then of no use.
    pub fn load(&mut self, progress: &Progress) -> Result<(), Stopped> {
        let wanted = std::mem::take(&mut self.prefill_bitmap);
        if wanted.is_empty() {
            return Ok(());
        }
        let pages: u64 = wanted.iter().map(|word| u64::from(word.count_ones())).sum();
        progress.total.fetch_add(pages / PAGES_A_STEP, Ordering::Relaxed);
        match self.ftl.preload(bits(&wanted).map(Lpn), &mut |_, _, _| (), progress) {
            Ok(()) => Ok(()),
            Err(PreloadError::Stopped) => Err(Stopped),
            Err(PreloadError::NoRoom { .. }) => {
                panic!("before the first request there is room for all that is exported")
            }
        }
    }

    /// The same, where nobody watches.
    fn load_unwatched(&mut self) {
        self.load(&Progress::default()).expect("nobody stops it");
    }

    /// Gives up what the write buffer holds, where the array is worn out: [`Ftl::give_up_buffer`].
    pub fn give_up_buffer(&mut self) -> u64 {
        self.ftl.give_up_buffer()
    }

    /// Hands out what the device has become, piece by piece: [`Ftl::checkpoint`]. False where work
    /// is under way.
    pub fn checkpoint(&mut self, out: &mut dyn FnMut(&[u8])) -> bool {
        if self.ftl.sink().is_idle() && !self.ftl.is_busy() {
            self.load_unwatched();
            self.ftl.checkpoint(out);
            return true;
        }
        false
    }

    /// A device as it was at its checkpoint, at time zero; its counts start again.
    ///
    /// # Errors
    /// Where the device cannot exist, the bytes are not those of such a device, or `progress` stops
    /// it.
    pub fn restore(
        config: &SsdConfig,
        seed: u64,
        input: &mut dyn FnMut(&mut [u8]) -> bool,
        progress: &Progress,
    ) -> Result<Self, SsdError> {
        let mut ssd = Self::with_seed(config, seed)?;
        let controller = ssd.ftl.sink().clone();
        let (layout, knobs) = (*ssd.ftl.layout(), *ssd.ftl.config());
        ssd.ftl = Ftl::restore(layout, knobs, controller, input, progress)?;
        ssd.ftl.tables().into_iter().for_each(gordon_sys::memory::advise_large_pages);
        Ok(ssd)
    }

    /// Hands one input to the layer, which has the controller carry out what it wants. `behind`:
    /// what is acknowledged had to wait for garbage collection.
    #[inline(always)]
    fn dispatch(&mut self, input: Input, behind: bool) {
        let now = self.now;
        let controller = self.ftl.sink_mut();
        (controller.now, controller.behind) = (now, behind);
        self.ftl.handle(input);
        if self.ftl.is_collecting() != self.collecting {
            if self.collecting {
                self.collected += now - self.collecting_since;
            }
            (self.collecting, self.collecting_since) = (!self.collecting, now);
        }
    }

    /// How long blocks were being emptied, by garbage collection or wear levelling.
    pub fn collecting(&self) -> Ns {
        match self.collecting {
            true => self.collected + (self.now - self.collecting_since),
            false => self.collected,
        }
    }

    /// How long each group of buses carried something, reservations to come included.
    pub fn bus_busy(&self) -> impl ExactSizeIterator<Item = Ns> {
        self.ftl.sink().die_groups.bus_busy()
    }

    /// An operation is over.
    #[inline(always)]
    fn done(&mut self, done: CommandDone) {
        let CommandDone { command, behind_background: behind } = done;
        let FlashCommand { block, page, transfer_slots: share, tag, kind, .. } = command;
        let now = self.now;
        let controller = self.ftl.sink_mut();
        controller.in_flight -= 1;
        if controller.in_flight == 0 {
            controller.active += now - controller.active_since;
        }
        let ppn = controller.layout.ppn(block, page);
        match kind {
            CommandKind::Read => {
                let op = FlashOp::Read { ppn, slots: share, buf: Buf(tag) };
                self.dispatch(Input::Done(op), behind);
            }
            CommandKind::Program => {
                self.dispatch(Input::Done(FlashOp::Program { ppn, buf: Buf(tag) }), behind);
            }
            CommandKind::Erase => self.erased(block, behind),
        }
    }

    fn erased(&mut self, block: BlockId, behind: bool) {
        let op = FlashOp::Erase { block };
        let worn = self.is_worn(block);
        self.dispatch(if worn { Input::Failed(op) } else { Input::Done(op) }, behind);
    }

    /// Whether a block's erases are used up. No budget lies below a quarter of the rating: of
    /// 10^13 blocks none would.
    fn is_worn(&self, block: BlockId) -> bool {
        let erases = self.ftl.erases(block) + 1;
        u64::from(erases) * 4 > self.endurance.rated()
            && erases > self.endurance.budget_of_block(self.seed, block.0, self.planes)
    }

    /// Hands a request, its data being here, to the layer.
    #[inline(always)]
    fn start(&mut self, tag: RequestId, request: Request) {
        let Request { op, offset, len } = request;
        let (first, sectors) = (offset.0 / SECTOR.0, len.0 / SECTOR.0);
        match op {
            IoOp::Read => {
                let extent = Extent { request: tag, first, sectors };
                self.dispatch(Input::Host(HostRequest::Read(extent)), false);
            }
            IoOp::Write => {
                let extent = Extent { request: tag, first, sectors };
                self.dispatch(Input::Host(HostRequest::Write(extent)), false);
            }
            IoOp::Discard => {
                let (first, end) = self.whole_pages(first, sectors);
                for lpn in first..end {
                    let lpn = Lpn(u32::try_from(lpn).expect("within the capacity"));
                    self.dispatch(Input::Host(HostRequest::Trim(tag, lpn)), false);
                }
            }
            IoOp::Flush => self.dispatch(Input::Host(HostRequest::Flush(tag)), false),
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

    /// Answers what has been acknowledged; what the host has at once is handed out, if that can be.
    fn complete(&mut self, mut out: Option<&mut Vec<Completion>>) {
        let controller = self.ftl.sink_mut();
        for &tag in &controller.completed {
            let OpenRequest { id, request, cause, failed, .. } =
                controller.open_requests[tag.0 as usize];
            controller.free.push(tag.0);
            let completion = Completion { id, at: self.now, cause, failed };
            if let Some(here) = self.link.transfer_out(request, completion, out.is_none())
                && let Some(out) = &mut out
            {
                out.push(here);
            }
        }
        controller.completed.clear();
    }

    /// The next event but for background work, which a request may forestall.
    #[inline]
    fn under_way(&self) -> Option<Ns> {
        match (self.ftl.sink().die_groups.next_at(), self.link.next_at()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Simulates so many events, up to a time, until one completes a request.
    fn run(&mut self, until: Ns, events: u64, completed: &mut Vec<Completion>) {
        let until = until.min(Ns(u64::MAX - 1));
        for _ in 0..events {
            let (die_groups, link) = (self.ftl.sink().die_groups.next_at(), self.link.next_at());
            let (die_groups, link) = (die_groups.unwrap_or(Ns::MAX), link.unwrap_or(Ns::MAX));
            let next = die_groups.min(link);
            // At one instant the die groups come first, background work last.
            if let Some(idle) = self.idle_at
                && idle < next
            {
                if idle > until {
                    return;
                }
                self.now = idle;
                (self.idle_at, self.in_background) = (None, true);
                self.dispatch(Input::Idle, false);
                continue;
            }
            if next > until {
                return;
            }
            self.now = next;
            if die_groups == next {
                let (_, done) = self.ftl.sink_mut().die_groups.step();
                let Some(done) = done else { continue };
                self.done(done);
            } else {
                match self.link.pop() {
                    Some((_, LinkEvent::Completed(completion))) => completed.push(completion),
                    Some((_, LinkEvent::Start(tag))) => {
                        let request = self.ftl.sink().open_requests[tag.0 as usize].request;
                        self.start(tag, request);
                    }
                    None => {}
                }
            }
            if !self.ftl.sink().completed.is_empty() {
                self.complete(Some(completed));
            }
            if self.ftl.sink().is_idle() {
                self.schedule_idle();
            }
            if !completed.is_empty() {
                return;
            }
        }
    }

    /// Nothing is under way: a time for work in the background, soon or, where that has begun, now.
    fn schedule_idle(&mut self) {
        if self.in_background {
            self.dispatch(Input::Idle, false);
        } else if self.idle_at.is_none() {
            self.idle_at = Some(self.now + IDLE_AFTER);
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
        if !self.prefill_bitmap.is_empty() {
            self.load_unwatched();
        }
        assert!(at >= self.now, "a request of {at}, when it is {} already", self.now);
        debug_assert!(self.under_way().is_none_or(|next| next >= at), "an event before {at}");
        self.now = at;
        (self.idle_at, self.in_background) = (None, false);
        let Request { op, offset, len } = request;
        let sector = |bytes: Bytes| {
            assert!(bytes.0.is_multiple_of(SECTOR.0), "{request:?} is not aligned to {SECTOR}");
            bytes.0 / SECTOR.0
        };
        let (first, sectors) = (sector(offset), sector(len));
        let inside = offset.0.checked_add(len.0).is_some_and(|end| end <= self.capacity.0);
        assert!(inside, "{request:?} ends beyond {}", self.capacity);
        assert!(op == IoOp::Flush || sectors > 0, "{request:?} is empty");
        let extent = Extent { request: RequestId(0), first, sectors };
        let left = match op {
            IoOp::Read | IoOp::Write => extent.count(self.sectors_per_page),
            IoOp::Discard => {
                let (first, end) = self.whole_pages(first, sectors);
                end.saturating_sub(first)
            }
            IoOp::Flush => 1,
        };
        let left = u32::try_from(left).expect("fewer than 2^32 pages");
        let open = OpenRequest { id, request, left, cause: Cause::Buffer, failed: false };
        let tag = self.ftl.sink_mut().claim(open);
        if left == 0 {
            self.ftl.sink_mut().completed.push(tag);
        } else if self.link.transfer_in(at, tag, request) {
            self.start(tag, request);
        }
        // Completions come out of `step`.
        if !self.ftl.sink().completed.is_empty() {
            self.complete(None);
        }
    }

    /// Maps the pages of the range that are not mapped yet, which takes no time: with the first
    /// request, with [`load`](Ssd::load), or with [`precondition`](Ssd::precondition).
    fn preload(&mut self, offset: Bytes, len: Bytes) {
        assert!(offset + len <= self.capacity, "{len} at {offset} end beyond {}", self.capacity);
        if len == Bytes::ZERO {
            return;
        }
        let exported = self.ftl.config().exported as usize;
        self.prefill_bitmap.resize(exported.div_ceil(64), 0);
        let page = self.page.0;
        for lpn in offset.0 / page..(offset + len).0.div_ceil(page) {
            let lpn = usize::try_from(lpn).expect("within the capacity");
            self.prefill_bitmap[lpn / 64] |= 1 << (lpn % 64);
        }
    }

    #[inline]
    fn prefetch(&self, request: &Request, stage: usize) {
        self.ftl.prefetch(request.offset.0 / SECTOR.0, stage > 0);
    }

    #[inline]
    fn next_event(&self) -> Option<Ns> {
        let next = self.under_way();
        match self.idle_at {
            Some(idle) => Some(next.map_or(idle, |next| next.min(idle))),
            None => next,
        }
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        self.run(Ns::MAX, 1, completed);
    }

    fn advance(&mut self, until: Ns, completed: &mut Vec<Completion>) {
        self.run(until, u64::MAX, completed);
    }

    fn usage(&self) -> Usage {
        let controller = self.ftl.sink();
        let (read, write) = controller.die_groups.die_time();
        Usage { read, write, controller: controller.active(self.now) }
    }
}
