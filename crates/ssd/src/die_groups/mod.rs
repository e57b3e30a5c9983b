//! Bus and die time: when operations on die groups are done.
//!
//! A die group is a rectangle of dies that carry a super-page together. It serves its commands in
//! the order they are issued: first come first served starves nobody, and it is what the paper's
//! controller, with one ready line a die, can do without a scheduler of its own. Die groups work in
//! parallel, but those that hang on the same buses take turns there, in the order of the times at
//! which they ask:
//!
//! - program: the bus is asked for at the start, and carries the pages of the die group's dies one
//!   after the other, without a gap (section 4.2.2: "stream out the data without interruption");
//!   done t_PROG after the last.
//! - read: the dies sense together, t_R; then the bus is asked for, and carries what is wanted of
//!   the super-page; done with the last.
//! - erase: the command cycles on the bus, then t_BERS.
//!
//! At one instant reads ask first, each by the time of its start; other events of one instant
//! happen in the order of die groups. All buses of a die group carry the same share at the same
//! time, so one stands for them. The command cycles of a read are counted with its data.
//!
//! [`Modes`](gordon_nand::Modes) change that:
//!
//! - multi-plane, where a super-page has fewer planes than the die: when a command starts, those
//!   waiting for the same die group join it that are of its kind, each the first that waits for its
//!   set of planes, and (not for erases, nor for reads where these are independent) of its page
//!   number. So nothing overtakes within a set of planes. The bus carries their data in one go, in
//!   the order of the queue; sensing, programming or erasing takes place once. Reads are done one
//!   by one as their data have crossed.
//! - cache read: while data cross the bus the dies sense for the next command, if that is a read;
//!   it asks for the bus when it is sensed and the data before it have crossed.
//! - cache program: while the dies program, the bus is asked for the data of the next command, if
//!   that is a program; programming continues when both are done.
//! - read first: reads overtake waiting programs and erases, never each other; when that has
//!   happened [`MAX_READ_BYPASSES`] times to those of a die group, its next command is again the
//!   one that came first. The owner must not issue a read of what a waiting program is to bring.
//!
//! Not covered: the short busy times between multi-plane and cache commands (t_DBSY, t_CBSY, below
//! 3 us), transfers cut short for others, suspending programs and erases, slots of one read that
//! are no neighbours.
//!
//! Cost: each die group has one event to come at most. A command takes one, with a cache register
//! some take two; the rest is lists in a pool.

mod bus;
mod command;
mod cost;
mod die_group;
mod queue;

pub use command::{CommandDone, CommandKind, CommandStats, DieGroupStats, FlashCommand};

use bus::{BusGroup, PostponedEvents};
use cost::{Costs, TransferCost};
use die_group::{Batch, DieGroup};
use gordon_nand::{DieGroupId, Layout, Modes, Timing};
use gordon_sim::SlotScheduler;
use gordon_units::{BlockId, Ns};
use queue::{KeyBucket, NONE, Pool};

/// How often in a row reads overtake what waits for their die group.
pub const MAX_READ_BYPASSES: u32 = 16;

/// All die groups and their buses.
#[derive(Clone, Debug)]
pub struct DieGroups {
    scheduler: SlotScheduler,
    groups: Vec<DieGroup>,
    shared: SharedState,
    now: Ns,
}

/// What all die groups use.
#[derive(Clone, Debug)]
struct SharedState {
    layout: Layout,
    pool: Pool,
    /// By group of buses.
    buses: Vec<BusGroup>,
    /// Die groups whose next event is deferred.
    postponed: PostponedEvents,
    costs: Costs,
    modes: Modes,
    /// By kind: the bits of a page number that have to be the same for commands to be carried out
    /// together.
    page_match_mask: [u32; 3],
    kinds: [CommandStats; 3],
    /// By kind: the sum of the times of start less those of issue, modulo 2^64; and how many wait.
    waited: [u64; 3],
    waiting: [u64; 3],
    die_read: Ns,
    die_write: Ns,
}

impl SharedState {
    /// The set of planes of a block, as a bit. Of more than 32 some share a bit, and do not join.
    #[inline]
    fn set(&self, block: BlockId) -> u32 {
        1 << (self.layout.plane_set_of(block) % 32)
    }

    /// What commands have in common that are carried out together, on different sets of planes: the
    /// kind, and the page where that has to be the same.
    #[inline]
    fn batch_key(&self, command: FlashCommand) -> (CommandKind, u32) {
        (command.kind, command.page & self.page_match_mask[command.kind.index()])
    }

    /// The class of commands that may have that in common with one.
    #[inline]
    fn key_bucket(&self, command: FlashCommand) -> KeyBucket {
        let (kind, page) = self.batch_key(command);
        KeyBucket::of(page ^ kind as u32)
    }

    /// Starts a queued command. Returns whether a background batch ran while the command waited:
    /// `before` counts the batches completed when it arrived, `started` those started by now.
    #[inline]
    fn start(&mut self, now: Ns, command: FlashCommand, before: u32, started: u32) -> bool {
        let kind = command.kind.index();
        self.waiting[kind] = self.waiting[kind].wrapping_sub(1);
        self.waited[kind] = self.waited[kind].wrapping_add(now.0);
        count(&mut self.kinds[kind].behind_background, before != started);
        before != started
    }

    /// The commands of a list.
    #[inline]
    fn list(&self, head: u32) -> impl Iterator<Item = &FlashCommand> {
        let mut at = head;
        std::iter::from_fn(move || {
            let node = (at != NONE).then(|| self.pool.at(at))?;
            at = node.next;
            Some(&node.command)
        })
    }

    /// How long the dies work at a command alone.
    #[inline]
    fn cells(&self, command: &FlashCommand) -> Ns {
        match command.kind {
            CommandKind::Read => self.costs.read.of(command.page),
            CommandKind::Program => self.costs.program.of(command.page),
            CommandKind::Erase => self.costs.erase,
        }
    }

    /// What a command moves; an erase takes all dies.
    #[inline]
    fn transfer_cost(&self, command: &FlashCommand) -> TransferCost {
        match command.kind {
            CommandKind::Read => self.costs.transfers[command.transfer_slots as usize],
            CommandKind::Program => self.costs.full_transfer,
            CommandKind::Erase => self.costs.commands,
        }
    }

    /// How long the dies sense for a batch of reads.
    #[inline]
    fn sensing(&self, batch: &Batch) -> Ns {
        let mut longest = self.costs.read.of(batch.command.page);
        if batch.rest != NONE {
            longest =
                self.list(batch.rest).map(|command| self.cells(command)).fold(longest, Ns::max);
        }
        longest
    }

    /// How long a batch takes the bus.
    #[inline]
    fn on_bus(&self, batch: &Batch) -> Ns {
        let mut all = self.transfer_cost(&batch.command).bus;
        if batch.rest != NONE {
            all += self.list(batch.rest).map(|command| self.transfer_cost(command).bus).sum();
        }
        all
    }

    /// The bus for all of a batch, asked for now; when it is free again.
    #[inline]
    fn reserve(&mut self, now: Ns, batch: &Batch, bus: u32) -> Ns {
        let span = self.on_bus(batch);
        self.buses[bus as usize].reserve(now, span, &mut self.postponed)
    }

    /// Counts die time.
    #[inline]
    fn charge(&mut self, command: &FlashCommand, cells: Ns, on_bus: Ns) {
        if command.kind == CommandKind::Read {
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

impl DieGroups {
    /// Idle die groups. A super-page has `slots` parts that can be read alone.
    ///
    /// # Panics
    /// Where `slots` is 0.
    pub fn new(layout: Layout, timing: &Timing, slots: u32) -> Self {
        assert!(slots > 0, "a super-page has at least one slot");
        let sets = layout.geometry().planes_per_die / layout.shape().planes;
        let modes = Modes { multi_plane: timing.modes.multi_plane && sets > 1, ..timing.modes };
        // Fewer groups than die groups.
        #[allow(clippy::cast_possible_truncation)]
        let bus = |die_group| layout.bus_group(DieGroupId(die_group)) as u32;
        let die_groups =
            (0..layout.die_groups()).map(|die_group| DieGroup::new(die_group, bus(die_group)));
        Self {
            scheduler: SlotScheduler::new(layout.die_groups() as usize),
            groups: die_groups.collect(),
            shared: SharedState {
                layout,
                pool: Pool::new(),
                buses: vec![BusGroup::default(); layout.bus_groups() as usize],
                postponed: vec![],
                costs: Costs::new(&layout, timing, slots),
                modes,
                page_match_mask: [if modes.independent_reads { 0 } else { u32::MAX }, u32::MAX, 0],
                kinds: [CommandStats::default(); 3],
                waited: [0; 3],
                waiting: [0; 3],
                die_read: Ns::ZERO,
                die_write: Ns::ZERO,
            },
            now: Ns::ZERO,
        }
    }

    /// Starts a command, or queues it.
    ///
    /// Events before `now` have been simulated, none after it. A command asks for no more slots
    /// than there are.
    #[inline(always)]
    pub fn issue(&mut self, now: Ns, command: FlashCommand) {
        debug_assert!(now >= self.now, "a command of {now}, when it is {} already", self.now);
        debug_assert!(
            self.scheduler.next_at().is_none_or(|next| next >= now),
            "an event lies before {now}"
        );
        self.now = now;
        let die_group = self.shared.layout.die_group_of(command.block).index();
        if let Some(at) = self.groups[die_group].accept(&mut self.shared, now, command) {
            self.scheduler.plan(die_group, at);
        }
        self.postpone_moved();
    }

    /// Puts off events, where what was begun came between.
    #[inline(always)]
    fn postpone_moved(&mut self) {
        while let Some((die_group, at)) = self.shared.postponed.pop() {
            self.scheduler.postpone(die_group as usize, at);
        }
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.scheduler.next_at()
    }

    /// Simulates the next event; says when that is, and what it ends. At most one command ends:
    /// where several end together there is an event for each.
    ///
    /// # Panics
    /// Where there is none.
    #[inline(always)]
    pub fn step(&mut self) -> (Ns, Option<CommandDone>) {
        let (now, die_group) = self.scheduler.next().expect("there is an event");
        self.now = now;
        let part = &mut self.groups[die_group];
        if let Some(next) = part.advance(&mut self.shared, now) {
            self.scheduler.replace(die_group, next);
            self.postpone_moved();
            return (now, None);
        }
        let (done, next) = part.finish(&mut self.shared, now);
        match next {
            Some(next) => self.scheduler.replace(die_group, next),
            None => self.scheduler.remove(die_group),
        }
        self.postpone_moved();
        // The die group of the next event, while the owner deals with this one.
        gordon_sys::memory::prefetch(
            self.groups.get(self.scheduler.next_slot()..).unwrap_or_default(),
        );
        (now, Some(done))
    }

    /// The time of the last command issued or event simulated.
    #[inline]
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Summed over dies, for all commands started: reading, and writing or erasing. Waiting for the
    /// bus is not work.
    pub fn die_time(&self) -> (Ns, Ns) {
        (self.shared.die_read, self.shared.die_write)
    }

    /// How long each group of buses carried something, reservations to come included.
    pub fn bus_busy(&self) -> impl ExactSizeIterator<Item = Ns> {
        self.shared.buses.iter().map(|bus| bus.busy(self.now))
    }

    /// What was counted.
    pub fn stats(&self) -> DieGroupStats {
        let s = &self.shared;
        let mut kinds = s.kinds;
        for (kind, stats) in kinds.iter_mut().enumerate() {
            // Those that wait have waited until now.
            let until_now = s.waiting[kind].wrapping_mul(self.now.0);
            stats.waited = Ns(s.waited[kind].wrapping_add(until_now));
        }
        DieGroupStats {
            kinds,
            bus_busy: self.bus_busy().collect(),
            group_busy: self.groups.iter().map(DieGroup::busy).collect(),
            die_read: s.die_read,
            die_write: s.die_write,
            waiting: s.waiting.iter().sum(),
            events: self.scheduler.planned(),
        }
    }
}
