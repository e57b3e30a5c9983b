//! Bus and die time: when operations on lanes are done.
//!
//! A lane is a rectangle of dies that carry a super-page together. It serves its works in the order
//! they are issued: first come first served starves nobody, and it is what the paper's controller,
//! with one ready line a die, can do without a scheduler of its own. Lanes work in parallel, but
//! those that hang on the same buses take turns there, in the order of the times at which they ask:
//!
//! - program: the bus is asked for at the start, and carries the pages of the lane's dies one after
//!   the other, without a gap (section 4.2.2: "stream out the data without interruption"); done
//!   t_PROG after the last.
//! - read: the dies sense together, t_R; then the bus is asked for, and carries what is wanted of
//!   the super-page; done with the last.
//! - erase: the command cycles on the bus, then t_BERS.
//!
//! At one instant reads ask first, each by the time of its start; other events of one instant happen
//! in the order of lanes. All buses of a lane carry the same share at the same time, so one stands
//! for them.
//! The command cycles of a read are counted with its data.
//!
//! [`Modes`](gordon_nand::Modes) change that:
//!
//! - multi-plane, where a super-page has fewer planes than the die: when a work starts, those waiting
//!   for the same lane join it that are of its kind, each the first that waits for its set of planes,
//!   and (not for erases, nor for reads where these are independent) of its page number. So nothing
//!   overtakes within a set of planes. The bus carries their data in one go, in the order of the
//!   queue; sensing, programming or erasing takes place once. Reads are done one by one as their
//!   data have crossed.
//! - cache read: while data cross the bus the dies sense for the next work, if that is a read; it
//!   asks for the bus when it is sensed and the data before it have crossed.
//! - cache program: while the dies program, the bus is asked for the data of the next work, if that
//!   is a program; programming goes on when both are done.
//! - read first: reads overtake waiting programs and erases, never each other; when that has
//!   happened [`OVERTAKINGS`] times to those of a lane, its next work is again the one that came
//!   first. The owner must not issue a read of what a waiting program is to bring.
//!
//! Not covered: the short busy times between multi-plane and cache commands (t_DBSY, t_CBSY, below
//! 3 us), transfers cut short for others, suspending programs and erases, slots of one read that are
//! no neighbours.
//!
//! Cost: each lane has one event to come at most. A work takes one, with a cache register some take
//! two; the rest is lists in a pool.

mod bus;
mod cost;
mod lane;
mod queue;
mod work;

pub use work::{Done, Kind, KindStats, LaneStats, Work};

use bus::{Bus, Moved};
use cost::{Costs, Share};
use gordon_des::Agenda;
use gordon_nand::{LaneId, Layout, Modes, Timing};
use gordon_units::{BlockId, Ns};
use lane::{Batch, Lane};
use queue::{Class, NONE, Pool};

/// How often in a row reads overtake what waits for their lane.
pub const OVERTAKINGS: u32 = 16;

/// All lanes and their buses.
#[derive(Clone, Debug)]
pub struct Lanes {
    agenda: Agenda,
    lanes: Vec<Lane>,
    shared: Shared,
    now: Ns,
}

/// What all lanes use.
#[derive(Clone, Debug)]
struct Shared {
    layout: Layout,
    pool: Pool,
    /// By group of buses.
    buses: Vec<Bus>,
    /// Lanes whose next event is put off.
    moved: Moved,
    costs: Costs,
    modes: Modes,
    /// By kind: the bits of a page number that have to be the same for works to be carried out together.
    alike: [u32; 3],
    kinds: [KindStats; 3],
    /// By kind: the sum of the times of start less those of issue, modulo 2^64; and how many wait.
    waited: [u64; 3],
    waiting: [u64; 3],
    die_read: Ns,
    die_write: Ns,
}

impl Shared {
    /// The set of planes of a block, as a bit. Of more than 32 some share a bit, and do not join.
    #[inline]
    fn set(&self, block: BlockId) -> u32 {
        1 << (self.layout.plane_set_of(block) % 32)
    }

    /// What works have in common that are carried out together, on different sets of planes: the kind,
    /// and the page where that has to be the same.
    #[inline]
    fn likeness(&self, work: Work) -> (Kind, u32) {
        (work.kind, work.page & self.alike[work.kind.index()])
    }

    /// The class of works that may have that in common with one.
    #[inline]
    fn class(&self, work: Work) -> Class {
        let (kind, page) = self.likeness(work);
        Class::of(page ^ kind as u32)
    }

    /// A work that waited starts; was background work served meanwhile? So many batches had been
    /// served to the end when it came, and so many have been started.
    #[inline]
    fn start(&mut self, now: Ns, work: Work, before: u32, started: u32) -> bool {
        let kind = work.kind.index();
        self.waiting[kind] = self.waiting[kind].wrapping_sub(1);
        self.waited[kind] = self.waited[kind].wrapping_add(now.0);
        count(&mut self.kinds[kind].behind_background, before != started);
        before != started
    }

    /// The works of a list.
    #[inline]
    fn list(&self, head: u32) -> impl Iterator<Item = &Work> {
        let mut at = head;
        std::iter::from_fn(move || {
            let node = (at != NONE).then(|| self.pool.at(at))?;
            at = node.next;
            Some(&node.work)
        })
    }

    /// How long the dies work at a work alone.
    #[inline]
    fn cells(&self, work: &Work) -> Ns {
        match work.kind {
            Kind::Read => self.costs.read.of(work.page),
            Kind::Program => self.costs.program.of(work.page),
            Kind::Erase => self.costs.erase,
        }
    }

    /// What a work moves; an erase takes all dies.
    #[inline]
    fn share(&self, work: &Work) -> Share {
        match work.kind {
            Kind::Read => self.costs.shares[work.share as usize],
            Kind::Program => self.costs.whole,
            Kind::Erase => self.costs.commands,
        }
    }

    /// How long the dies sense for a batch of reads.
    #[inline]
    fn sensing(&self, batch: &Batch) -> Ns {
        let mut longest = self.costs.read.of(batch.work.page);
        if batch.rest != NONE {
            longest = self.list(batch.rest).map(|work| self.cells(work)).fold(longest, Ns::max);
        }
        longest
    }

    /// How long a batch takes the bus.
    #[inline]
    fn on_bus(&self, batch: &Batch) -> Ns {
        let mut all = self.share(&batch.work).bus;
        if batch.rest != NONE {
            all += self.list(batch.rest).map(|work| self.share(work).bus).sum();
        }
        all
    }

    /// The bus for all of a batch, asked for now; when it is free again.
    #[inline]
    fn reserve(&mut self, now: Ns, batch: &Batch, bus: u32) -> Ns {
        let span = self.on_bus(batch);
        self.buses[bus as usize].reserve(now, span, &mut self.moved)
    }

    /// Counts die time.
    #[inline]
    fn charge(&mut self, work: &Work, cells: Ns, on_bus: Ns) {
        if work.kind == Kind::Read {
            self.die_read += cells + on_bus;
        } else {
            self.die_write += cells + on_bus;
        }
    }
}

/// Counts. (2^64 are never reached.)
#[inline]
fn add(counter: &mut u64, more: u64) {
    *counter = counter.wrapping_add(more);
}

/// Counts up where `yes`.
#[inline]
fn count(counter: &mut u64, yes: bool) {
    add(counter, u64::from(yes));
}

impl Lanes {
    /// Idle lanes. A super-page has `slots` parts that can be read alone.
    ///
    /// # Panics
    /// Where `slots` is 0.
    pub fn new(layout: Layout, timing: &Timing, slots: u32) -> Self {
        assert!(slots > 0, "a super-page has at least one slot");
        let sets = layout.geometry().planes_per_die / layout.shape().planes;
        let modes = Modes { multi_plane: timing.modes.multi_plane && sets > 1, ..timing.modes };
        // Fewer groups than lanes.
        #[allow(clippy::cast_possible_truncation)]
        let bus = |lane| layout.bus_group(LaneId(lane)) as u32;
        let lanes = (0..layout.lanes()).map(|lane| Lane::new(lane, bus(lane)));
        Self {
            agenda: Agenda::new(layout.lanes() as usize),
            lanes: lanes.collect(),
            shared: Shared {
                layout,
                pool: Pool::new(),
                buses: vec![Bus::default(); layout.bus_groups() as usize],
                moved: vec![],
                costs: Costs::new(&layout, timing, slots),
                modes,
                alike: [if modes.independent_reads { 0 } else { u32::MAX }, u32::MAX, 0],
                kinds: [KindStats::default(); 3],
                waited: [0; 3],
                waiting: [0; 3],
                die_read: Ns::ZERO,
                die_write: Ns::ZERO,
            },
            now: Ns::ZERO,
        }
    }

    /// Starts a work, or queues it.
    ///
    /// Events before `now` have been simulated, none after it. A work asks for no more slots than
    /// there are.
    #[inline(always)]
    pub fn issue(&mut self, now: Ns, work: Work) {
        debug_assert!(now >= self.now, "a work of {now}, when it is {} already", self.now);
        debug_assert!(
            self.agenda.next_at().is_none_or(|next| next >= now),
            "an event lies before {now}"
        );
        self.now = now;
        let lane = self.shared.layout.lane_of(work.block).index();
        if let Some(at) = self.lanes[lane].accept(&mut self.shared, now, work) {
            self.agenda.plan(lane, at);
        }
        self.put_off();
    }

    /// Puts off events, where what was begun came between.
    #[inline(always)]
    fn put_off(&mut self) {
        while let Some((lane, at)) = self.shared.moved.pop() {
            self.agenda.put_off(lane as usize, at);
        }
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.agenda.next_at()
    }

    /// Simulates the next event; says when that is, and what it ends. At most one work ends: where
    /// several end together there is an event for each.
    ///
    /// # Panics
    /// Where there is none.
    #[inline(always)]
    pub fn step(&mut self) -> (Ns, Option<Done>) {
        let (now, lane) = self.agenda.next().expect("there is an event");
        self.now = now;
        let part = &mut self.lanes[lane];
        if let Some(next) = part.go_on(&mut self.shared, now) {
            self.agenda.replace(lane, next);
            self.put_off();
            return (now, None);
        }
        let (done, next) = part.finish(&mut self.shared, now);
        match next {
            Some(next) => self.agenda.replace(lane, next),
            None => self.agenda.remove(lane),
        }
        self.put_off();
        // The lane of the next event, while the owner deals with this one.
        gordon_pages::want_soon(self.lanes.get(self.agenda.next_slot()..).unwrap_or_default());
        (now, Some(done))
    }

    /// The time of the last work issued or event simulated.
    #[inline]
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Summed over dies, for all works started: reading, and writing or erasing. Waiting for the bus
    /// is not work.
    pub fn die_time(&self) -> (Ns, Ns) {
        (self.shared.die_read, self.shared.die_write)
    }

    /// How long each group of buses carried something, reservations to come included.
    pub fn bus_busy(&self) -> impl ExactSizeIterator<Item = Ns> {
        self.shared.buses.iter().map(|bus| bus.busy(self.now))
    }

    /// What was counted.
    pub fn stats(&self) -> LaneStats {
        let s = &self.shared;
        let mut kinds = s.kinds;
        for (kind, stats) in kinds.iter_mut().enumerate() {
            // Those that wait have waited until now.
            let until_now = s.waiting[kind].wrapping_mul(self.now.0);
            stats.waited = Ns(s.waited[kind].wrapping_add(until_now));
        }
        LaneStats {
            kinds,
            bus_busy: self.bus_busy().collect(),
            lane_busy: self.lanes.iter().map(Lane::busy).collect(),
            die_read: s.die_read,
            die_write: s.die_write,
            waiting: s.waiting.iter().sum(),
            events: self.agenda.planned(),
        }
    }
}
