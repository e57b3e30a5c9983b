//! A flash device: Gordon's translation layer over simulated NAND.
//!
//! A request is cut into pieces at page borders and handed to [`gordon_ftl::Ftl`]; the operations
//! it issues take bus and die time (`lanes.rs`); when they are done the layer is told, and when all
//! pieces of a request are acknowledged it completes. An acknowledged write is programmed: there
//! is no write buffer.
//!
//! Not modelled: the host link and the controller's own latency (a read from a buffer takes no
//! time), failing operations, wear-out.

mod config;
mod lanes;
mod stats;

pub use config::{
    Endurance, FtlConfig, GeometryConfig, Power, ShapeConfig, SsdConfig, SsdError, SuperPage,
    TimingConfig,
};
pub use stats::{Lifetime, SsdStats, Wear};

use crate::{Cause, Completion, Device, Op, Request, SECTOR, Usage};
use gordon_des::Events;
use gordon_ftl::{Action, Ftl, Host, Input, Piece, RequestId};
use gordon_nand::{FlashOp, LaneId};
use gordon_units::{BlockId, Bytes, Lpn, Ns};
use lanes::{Lanes, Next};

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The pages a lane reads are in the registers of its dies.
    Sensed(LaneId),
    /// The operation of a lane is done.
    Done(LaneId),
    /// A request that needed no operation completes.
    Completed(u64),
}

/// A request not yet complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: u64,
    /// Acknowledgements to come.
    left: u32,
}

/// A simulated flash device.
#[derive(Clone, Debug)]
pub struct Ssd {
    capacity: Bytes,
    page: Bytes,
    sectors_per_page: u32,
    erase_budget: u64,
    ftl: Ftl,
    lanes: Lanes,
    events: Events<Event>,
    open: Vec<Open>,
    /// Places of `open` to be used again.
    free: Vec<u32>,
    /// Requests completed at this instant.
    completed: Vec<u64>,
    /// Operations handed to the lanes and not done, since when there have been any, and how long
    /// there were before.
    in_flight: u32,
    active_since: Ns,
    active: Ns,
}

impl Ssd {
    /// A device as new: erased, nothing mapped.
    pub fn new(config: &SsdConfig) -> Result<Self, SsdError> {
        let (layout, ftl, timing) = config.resolve()?;
        Ok(Self {
            capacity: *config.capacity,
            page: layout.page_bytes(),
            sectors_per_page: ftl.sectors_per_page,
            erase_budget: *config.endurance.erase_budget,
            ftl: Ftl::new(layout, ftl)?,
            lanes: Lanes::new(layout, &timing),
            events: Events::default(),
            open: Vec::new(),
            free: Vec::new(),
            completed: Vec::new(),
            in_flight: 0,
            active_since: Ns::ZERO,
            active: Ns::ZERO,
        })
    }

    /// What it counted.
    pub fn stats(&self) -> SsdStats {
        let layout = self.ftl.layout();
        SsdStats {
            ftl: *self.ftl.stats(),
            bus_busy: self.lanes.bus_busy(),
            lane_busy: self.lanes.lane_busy(),
            events: self.events.scheduled(),
            wear: Wear::of((0..layout.blocks()).map(|id| self.ftl.erases(BlockId(id)))),
            lifetime: Lifetime {
                erase_budget: self.erase_budget,
                blocks: u64::from(layout.blocks()),
                pages_per_block: u64::from(layout.pages_per_block()),
                block_bytes: layout.page_bytes() * u64::from(layout.pages_per_block()),
                programs: self.ftl.stats().programs(),
            },
            ftl_memory: Bytes(self.ftl.memory()),
        }
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    fn claim(&mut self, open: Open) -> RequestId {
        if let Some(at) = self.free.pop() {
            self.open[at as usize] = open;
            return RequestId(at);
        }
        self.open.push(open);
        RequestId(u32::try_from(self.open.len() - 1).expect("fewer than 2^32 requests in flight"))
    }

    /// Hands one input to the layer, and carries out what it wants.
    fn feed(&mut self, input: Input) {
        self.ftl.handle(input);
        loop {
            match self.ftl.poll() {
                Action::Wait => return,
                Action::Flash(op) => self.issue(op),
                Action::Ack(RequestId(at)) => {
                    let open = &mut self.open[at as usize];
                    open.left -= 1;
                    if open.left == 0 {
                        self.completed.push(open.id);
                        self.free.push(at);
                    }
                }
                // There are no contents here.
                Action::Zero(_)
                | Action::Fill(..)
                | Action::Summarize(..)
                | Action::Give(..)
                | Action::GiveZeros(_) => {}
            }
        }
    }

    fn issue(&mut self, op: FlashOp) {
        let now = self.events.now();
        if self.in_flight == 0 {
            self.active_since = now;
        }
        self.in_flight += 1;
        let (lane, next) = self.lanes.issue(now, op);
        self.expect(lane, next);
    }

    fn expect(&mut self, lane: LaneId, next: Option<Next>) {
        match next {
            None => {}
            Some(Next::Sensed(at)) => self.events.schedule(at, Event::Sensed(lane)),
            Some(Next::Done(at)) => self.events.schedule(at, Event::Done(lane)),
        }
    }

    /// The time with any operation in flight.
    fn controller(&self) -> Ns {
        match self.in_flight {
            0 => self.active,
            _ => self.active + (self.events.now() - self.active_since),
        }
    }
}

impl Device for Ssd {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        self.events.advance_to(at);
        let Request { op, offset, len } = request;
        let sector = |bytes: Bytes| {
            assert!(bytes.0.is_multiple_of(SECTOR.0), "{request:?} is not aligned to {SECTOR}");
            bytes.0 / SECTOR.0
        };
        let (first, sectors) = (sector(offset), sector(len));
        let inside = offset.0.checked_add(len.0).is_some_and(|end| end <= self.capacity.0);
        assert!(inside, "{request:?} ends beyond {}", self.capacity);
        assert!(op == Op::Flush || sectors > 0, "{request:?} is empty");
        let per_page = self.sectors_per_page;
        let page = u64::from(per_page);
        // A trim takes whole pages, be the last one exported in part; what is left over is kept.
        let end = self.capacity.0 / SECTOR.0;
        let (first_whole, end_whole) = match first + sectors {
            stop if stop == end => (first.div_ceil(page), stop.div_ceil(page)),
            stop => (first.div_ceil(page), stop / page),
        };
        let left = match op {
            Op::Read | Op::Write => (first + sectors).div_ceil(page) - first / page,
            Op::Trim => end_whole.saturating_sub(first_whole),
            Op::Flush => 1,
        };
        if left == 0 {
            self.events.schedule(at, Event::Completed(id));
            return;
        }
        let left = u32::try_from(left).expect("fewer than 2^32 pages");
        let tag = self.claim(Open { id, left });
        let pieces = Piece::cut(tag, first, sectors, per_page);
        match op {
            Op::Read => pieces.for_each(|piece| self.feed(Input::Host(Host::Read(piece)))),
            Op::Write => pieces.for_each(|piece| self.feed(Input::Host(Host::Write(piece)))),
            Op::Trim => (first_whole..end_whole).for_each(|lpn| {
                let lpn = Lpn(u32::try_from(lpn).expect("within the capacity"));
                self.feed(Input::Host(Host::Trim(tag, lpn)));
            }),
            Op::Flush => self.feed(Input::Host(Host::Flush(tag))),
        }
        // Completions come out of `step`.
        for id in self.completed.drain(..) {
            self.events.schedule(at, Event::Completed(id));
        }
    }

    /// Maps the pages of the range that are not mapped yet, which takes no time.
    fn preload(&mut self, offset: Bytes, len: Bytes) {
        assert!(offset + len <= self.capacity, "{len} at {offset} end beyond {}", self.capacity);
        let lpn = |bytes: u64| u32::try_from(bytes / self.page.0).expect("within the capacity");
        let (first, end) = (lpn(offset.0), lpn((offset + len).0 + self.page.0 - 1));
        let loaded = self.ftl.preload((first..end).map(Lpn), |_| ());
        loaded.expect("before the first request there is room for all that is exported");
    }

    fn next_event(&self) -> Option<Ns> {
        self.events.next_at()
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let Some((now, event)) = self.events.pop() else { return };
        match event {
            Event::Completed(id) => {
                completed.push(Completion { id, at: now, cause: Cause::Medium });
            }
            Event::Sensed(lane) => {
                let next = self.lanes.sensed(now, lane);
                self.expect(lane, Some(next));
            }
            Event::Done(lane) => {
                let (op, next) = self.lanes.done(now, lane);
                self.expect(lane, next);
                self.in_flight -= 1;
                if self.in_flight == 0 {
                    self.active += now - self.active_since;
                }
                self.feed(Input::Done(op));
                let done = |id| Completion { id, at: now, cause: Cause::Medium };
                completed.extend(self.completed.drain(..).map(done));
            }
        }
        if self.in_flight == 0 && self.open.len() == self.free.len() {
            self.feed(Input::Idle);
        }
    }

    fn usage(&self) -> Usage {
        let (read, write) = self.lanes.die_time();
        Usage { read, write, controller: self.controller() }
    }
}
