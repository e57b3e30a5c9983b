//! A simulated flash device: Gordon's translation layer over simulated NAND.
//!
//! Requests go to [`gordon_ftl::Ftl`], which issues flash operations. [`DieGroups`] computes when
//! they are done, from the bus and die time that they take. The layer handles each completed
//! operation, and a request completes when all of its sub-requests are acknowledged. Without a
//! write buffer, a write is acknowledged after it was programmed.
//!
//! - The host link, if its bandwidth is configured, transfers the data of one request at a time:
//!   those of a write before the write starts, those of a read after it is done. A configured
//!   latency delays each completion.
//! - An erase fails if it exceeds the budget of a block ([`Endurance`]); the block is bad from then
//!   on. When too few good blocks are left, the device refuses writes.
//! - After [`IDLE_AFTER`] without a request, the device collects garbage in the background and
//!   programs the full super-pages of its write buffer.
//!
//! Not modelled: processing time of the controller, read errors, and failing programs (blocks wear
//! out at an erase).

mod bits;
mod config;
mod controller;
mod die_groups;
mod error;
mod link;
mod spare;
mod startup;
mod stats;
mod timing;

pub use config::{
    EnduranceConfig, FtlConfig, GeometryConfig, HostLink, Power, ShapeConfig, SsdConfig, SuperPage,
};
pub use die_groups::{
    CommandDone, CommandKind, CommandStats, DieGroupStats, DieGroups, FlashCommand,
    MAX_READ_BYPASSES, MAX_SUSPENSIONS,
};
pub use error::SsdError;
pub use gordon_ftl::{VictimChooser, VictimPolicy};
pub use spare::Spare;
pub use stats::{Lifetime, SsdStats, Wear};
pub use timing::{PageTimes, TimingConfig};

use bits::{bits_from, first_clear, set_bits};
use config::Resolved;
use controller::{Controller, OpenRequest};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_ftl::{
    ActionSink, Extent, Ftl, HostRequest, Input, PAGES_A_STEP, PreloadError, RequestId,
};
use gordon_nand::{Buf, Endurance, FlashOp};
use gordon_units::{BlockId, Bytes, Lpn, Ns, Progress, Stopped};
use link::{Link, LinkEvent};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Idle time after which a device starts background work.
pub const IDLE_AFTER: Ns = Ns(1_000_000);

/// A simulated flash device.
#[derive(Clone, Debug)]
pub struct Ssd {
    capacity: Bytes,
    raw_capacity: Bytes,
    page: Bytes,
    sectors_per_page: u32,
    endurance: Endurance,
    seed: u64,
    /// Number of physical blocks in a super-block.
    planes: u32,
    ftl: Ftl<Controller>,
    link: Link,
    now: Ns,
    /// Time at which background work starts unless a request arrives before.
    idle_at: Option<Ns>,
    in_background: bool,
    /// Bitmap of the logical pages to be mapped before the first request, up to the last of them:
    /// most loads need a small part of a large device.
    prefill_bitmap: Vec<u64>,
    /// Whether blocks are being collected; since when; and total time of collection before that.
    collecting: bool,
    collecting_since: Ns,
    collected: Ns,
}

impl Ssd {
    /// Creates a device with erased blocks and an empty map, with seed 0.
    pub fn new(config: &SsdConfig) -> Result<Self, SsdError> {
        Self::with_seed(config, 0)
    }

    /// Creates a device whose factory-bad blocks, erase budgets and random choices follow from a
    /// seed.
    pub fn with_seed(config: &SsdConfig, seed: u64) -> Result<Self, SsdError> {
        let Resolved { layout, ftl, timing, endurance, bad } = config.resolve(seed)?;
        let raw_capacity = config.raw_of(&layout);
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
            raw_capacity,
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

    /// The seed with which the device was created.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Counters and derived statistics.
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
                block_bytes: layout.block_bytes(),
                programs: self.ftl.stats().program_operations,
            },
            ftl_memory: Bytes(self.ftl.memory()),
            collecting: self.collecting(),
        }
    }

    /// Raw data capacity of the array, without the blocks that are never used.
    pub fn raw_capacity(&self) -> Bytes {
        self.raw_capacity
    }

    /// Number of erases of each super-block, without factory-bad ones.
    pub fn erases(&self) -> impl Iterator<Item = u32> + Clone {
        let blocks = (0..self.ftl.layout().blocks()).map(BlockId);
        let served = blocks.filter(|&block| !self.ftl.is_bad_from_the_start(block));
        served.map(|block| self.ftl.erases(block))
    }

    /// Expected fraction of super-blocks that reach the rated number of erases.
    pub fn survival(&self) -> f64 {
        self.endurance.survival(self.planes, self.endurance.rated())
    }

    /// Returns the operations issued since the last call, for tests. Recording starts with the
    /// first call, which returns nothing. Without debug assertions, nothing is recorded.
    pub fn issued(&mut self) -> Vec<FlashOp> {
        self.ftl.sink_mut().issued.replace(Vec::new()).unwrap_or_default()
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl<impl ActionSink> {
        &self.ftl
    }

    /// Size of a logical page in bytes.
    pub fn page_bytes(&self) -> Bytes {
        self.page
    }

    /// Lets `chooser` choose the victims of garbage collection from now on:
    /// [`Ftl::choose_victims_by`].
    pub fn choose_victims_by(&mut self, chooser: Arc<dyn VictimChooser>) {
        self.ftl.choose_victims_by(chooser);
    }

    /// Maps the first `fraction` of the logical pages, and those to be
    /// [preloaded](Device::preload), in the steady state of uniform random overwrites: see
    /// [`Ftl::precondition`].
    ///
    /// # Errors
    /// Returns [`Stopped`] if `progress` stops it; the device is then unusable.
    ///
    /// # Panics
    /// Panics if `fraction` is not between 0 and 1, or if the device was used before.
    pub fn precondition(&mut self, fraction: f64, progress: &Progress) -> Result<(), Stopped> {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} of the capacity");
        let exported = self.ftl.config().exported;
        // The product is at most `exported`.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let first = (f64::from(exported) * fraction).round() as u32;
        let wanted = std::mem::take(&mut self.prefill_bitmap);
        // Pages that follow without a gap extend the fraction; a list has 4 bytes for each.
        let first = first_clear(&wanted, first);
        let more: Vec<_> = bits_from(&wanted, first).map(Lpn).collect();
        // Frees the bitmap before the layer allocates its own.
        drop(wanted);
        self.ftl.precondition(first, &more, self.seed, progress)
    }

    /// Maps the pages to be preloaded now, instead of with the first request.
    ///
    /// # Errors
    /// Returns [`Stopped`] if `progress` stops it; the device is then unusable.
    pub fn load(&mut self, progress: &Progress) -> Result<(), Stopped> {
        let wanted = std::mem::take(&mut self.prefill_bitmap);
        if wanted.is_empty() {
            return Ok(());
        }
        let pages: u64 = wanted.iter().map(|word| u64::from(word.count_ones())).sum();
        progress.total.fetch_add(pages / PAGES_A_STEP, Ordering::Relaxed);
        let first = first_clear(&wanted, 0);
        let loaded = if u64::from(first) == pages {
            drop(wanted);
            self.ftl.preload_first(first, progress)
        } else {
            self.ftl.preload(bits_from(&wanted, 0).map(Lpn), &mut |_, _, _| (), progress)
        };
        match loaded {
            Ok(()) => Ok(()),
            Err(PreloadError::Stopped) => Err(Stopped),
            Err(PreloadError::NoRoom { .. }) => {
                panic!("before the first request there is room for all that is exported")
            }
        }
    }

    /// Maps the pages to be preloaded, without progress reports.
    fn load_unwatched(&mut self) {
        self.load(&Progress::default()).expect("nobody stops it");
    }

    /// Discards the content of the write buffer when the array is worn out:
    /// [`Ftl::give_up_buffer`].
    pub fn give_up_buffer(&mut self) -> u64 {
        self.ftl.give_up_buffer()
    }

    /// Writes the state of the device to `out` in pieces: [`Ftl::checkpoint`]. Returns false if
    /// requests or operations are in flight.
    pub fn checkpoint(&mut self, out: &mut dyn FnMut(&[u8])) -> bool {
        if self.ftl.sink().is_idle() && !self.ftl.is_busy() {
            self.load_unwatched();
            self.ftl.checkpoint(out);
            return true;
        }
        false
    }

    /// Restores a device from its checkpoint. Time and counters start at zero.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid, if the bytes are not a checkpoint of such
    /// a device, or if `progress` stops it.
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

    /// Passes one input to the layer, which pushes its actions to the controller. `behind`: the
    /// requests acknowledged by it waited for garbage collection.
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

    /// Total time during which blocks were collected by garbage collection or wear levelling.
    pub fn collecting(&self) -> Ns {
        match self.collecting {
            true => self.collected + (self.now - self.collecting_since),
            false => self.collected,
        }
    }

    /// Busy time of each group of buses, including reservations in the future.
    pub fn bus_busy(&self) -> impl ExactSizeIterator<Item = Ns> {
        self.ftl.sink().die_groups.bus_busy()
    }

    /// Handles a completed command.
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

    /// Whether this erase exceeds the block's budget. The budget is not computed below a quarter of
    /// the rated erases: fewer than one block in 10^13 has such a budget.
    fn is_worn(&self, block: BlockId) -> bool {
        let erases = self.ftl.erases(block) + 1;
        u64::from(erases) * 4 > self.endurance.rated()
            && erases > self.endurance.budget_of_block(self.seed, block.0, self.planes)
    }

    /// Passes a request to the layer; data of a write have arrived.
    #[inline(always)]
    fn start(&mut self, tag: RequestId, request: Request) {
        let Request { op, offset, len, durable } = request;
        let (first, sectors) = (offset.0 / SECTOR.0, len.0 / SECTOR.0);
        match op {
            IoOp::Read => {
                let extent = Extent { request: tag, first, sectors };
                self.dispatch(Input::Host(HostRequest::Read(extent)), false);
            }
            IoOp::Write => {
                let extent = Extent { request: tag, first, sectors };
                let write = match durable {
                    false => HostRequest::Write(extent),
                    true => HostRequest::WriteDurably(extent),
                };
                self.dispatch(Input::Host(write), false);
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

    /// The whole logical pages in a range of sectors; only these are trimmed. The last page of the
    /// device counts as whole even if it is exported in part.
    fn whole_pages(&self, first: u64, sectors: u64) -> (u64, u64) {
        let (page, end) = (u64::from(self.sectors_per_page), self.capacity.0 / SECTOR.0);
        match first + sectors {
            stop if stop == end => (first.div_ceil(page), stop.div_ceil(page)),
            stop => (first.div_ceil(page), stop / page),
        }
    }

    /// Completes the acknowledged requests. Completions without delay go to `out`; if `out` is
    /// `None`, they become events of the link.
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

    /// Time of the next event other than the start of background work, which a request would
    /// cancel.
    #[inline]
    fn under_way(&self) -> Option<Ns> {
        match (self.ftl.sink().die_groups.next_at(), self.link.next_at()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Simulates at most `events` events up to the time `until`, and stops after a completion.
    fn run(&mut self, until: Ns, events: u64, completed: &mut Vec<Completion>) {
        let until = until.min(Ns(u64::MAX - 1));
        for _ in 0..events {
            let (die_groups, link) = (self.ftl.sink().die_groups.next_at(), self.link.next_at());
            let (die_groups, link) = (die_groups.unwrap_or(Ns::MAX), link.unwrap_or(Ns::MAX));
            let next = die_groups.min(link);
            // At one instant, events of die groups come before those of the link, and background
            // work is last.
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

    /// Accepts a request; see [`Device::submit`].
    #[inline(always)]
    fn accept(&mut self, at: Ns, id: u64, request: Request) {
        if !self.prefill_bitmap.is_empty() {
            self.load_unwatched();
        }
        assert!(at >= self.now, "a request of {at}, when it is {} already", self.now);
        debug_assert!(self.under_way().is_none_or(|next| next >= at), "an event before {at}");
        self.now = at;
        (self.idle_at, self.in_background) = (None, false);
        let Request { op, offset, len, .. } = request;
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
        // Completions may only be returned by `step`.
        if !self.ftl.sink().completed.is_empty() {
            self.complete(None);
        }
    }

    /// Completes all requests and writes the write buffer out, as before the power is switched off.
    pub fn shut_down(&mut self) {
        loop {
            self.run_until(Ns::MAX, &mut Vec::new());
            if !self.ftl.is_busy() || self.ftl.is_worn_out() {
                return;
            }
            // Pages that were being read are in the buffer now.
            self.dispatch(Input::ShutDown, false);
        }
    }

    /// Nothing is in flight: continues background work, or schedules its start.
    fn schedule_idle(&mut self) {
        if self.in_background {
            self.dispatch(Input::Idle, false);
        } else if self.idle_at.is_none() {
            self.idle_at = Some(self.now + IDLE_AFTER);
        }
    }
}

impl Device for Ssd {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        self.accept(at, id, request);
    }

    /// Maps the pages of the range that are not mapped yet; that takes no simulated time. It
    /// happens with the first request, [`load`](Ssd::load) or [`precondition`](Ssd::precondition).
    fn preload(&mut self, offset: Bytes, len: Bytes) {
        assert!(offset + len <= self.capacity, "{len} at {offset} end beyond {}", self.capacity);
        if len == Bytes::ZERO {
            return;
        }
        let page = self.page.0;
        let as_index = |lpn| usize::try_from(lpn).expect("within the capacity");
        let pages = as_index(offset.0 / page)..as_index((offset + len).0.div_ceil(page));
        let words = pages.end.div_ceil(64);
        if words > self.prefill_bitmap.len() {
            self.prefill_bitmap.resize(words, 0);
        }
        set_bits(&mut self.prefill_bitmap, pages);
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
