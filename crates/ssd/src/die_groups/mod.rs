//! Die groups and buses: computes when flash commands are done.
//!
//! A die group is a rectangle of dies that carry a super-page together. It serves its commands in
//! the order of issue: first come, first served never starves a command, and the paper's
//! controller, with one ready line per die, can do it without a scheduler. Die groups work in
//! parallel, but those on the same buses share them in the order of their requests:
//!
//! - program: the bus is requested at the start, and transfers the pages of the die group's dies
//!   sequentially without a gap (section 4.2.2: "stream out the data without interruption"); the
//!   program is done t_PROG after the last page.
//! - read: the dies sense together for t_R; then the bus is requested, and transfers the slots
//!   requested; the read is done after the last slot.
//! - erase: the command cycles on the bus, then t_BERS.
//!
//! At one instant, bus requests of reads come first, in the order of their starts; other events are
//! ordered by die group. All buses of a die group carry the same share at the same time, so one
//! represents them. The command cycles of a read are counted with its data.
//!
//! [`Modes`] change this:
//!
//! - multi-plane, if a super-page has fewer planes than the die: when a command starts, other
//!   waiting commands of the die group join it. Each must be of the same kind, the first that waits
//!   for its set of planes, and have the same page number (except for erases and independent
//!   reads). So nothing overtakes within a set of planes. The bus transfers the data of all of them
//!   in the order of the queue; sensing, programming or erasing takes place once. Reads complete
//!   one by one, as soon as their data have crossed.
//! - cache read: while data cross the bus, the dies sense for the next command if it is a read; it
//!   requests the bus when it is sensed and the data before it have crossed.
//! - cache program: while the dies program, the data of the next command cross the bus if it is a
//!   program; its programming starts when both are done.
//! - read first: reads overtake waiting programs and erases, but not other reads. After
//!   [`MAX_READ_BYPASSES`] such reads in a row, the die group's next command is again the oldest.
//!   The owner must not issue a read of a page that a waiting program will write.
//! - suspend, with read first: a read of the host that arrives while no other of the host waits
//!   suspends the program or erase that the dies work on, as soon as its data have crossed the bus.
//!   The reads are served when the dies have stopped, at most [`MAX_READ_BYPASSES`] in a row; then
//!   the operation resumes where it stopped. A cached program whose data have crossed lets waiting
//!   reads go first in the same way. An operation is suspended at most [`MAX_SUSPENSIONS`] times.
//!
//! Not covered: the short busy times between multi-plane and cache commands (t_DBSY, t_CBSY, below
//! 3 us), preemption of bus transfers, and reads of slots that are not contiguous.
//!
//! Cost: each die group has at most one pending event. A command takes one event, or up to two with
//! a cache register; the rest is lists in a pool.

mod bus;
mod command;
mod cost;
mod die_group;
mod queue;

pub use command::{CommandDone, CommandKind, CommandStats, DieGroupStats, FlashCommand};

use bus::{BusGroup, PostponedEvents};
use cost::{Costs, TransferCost};
use die_group::{Batch, DieGroup, NextEvent};
use gordon_nand::{DieGroupId, Layout, Modes, Timing};
use gordon_sim::SlotScheduler;
use gordon_units::{BlockId, Ns};
use queue::{KeyBucket, NONE, Pool};

/// Maximum number of reads in a row that overtake other commands of their die group.
pub const MAX_READ_BYPASSES: u32 = 16;

/// Maximum number of times that a program or erase is suspended.
pub const MAX_SUSPENSIONS: u32 = 16;

/// All die groups and their buses.
#[derive(Clone, Debug)]
pub struct DieGroups {
    scheduler: SlotScheduler,
    groups: Vec<DieGroup>,
    shared: SharedState,
    now: Ns,
}

/// State shared by all die groups.
#[derive(Clone, Debug)]
struct SharedState {
    layout: Layout,
    pool: Pool,
    /// Indexed by group of buses.
    buses: Vec<BusGroup>,
    /// Die groups whose next event was postponed.
    postponed: PostponedEvents,
    costs: Costs,
    modes: Modes,
    /// By kind: bits of the page number that must be equal in commands carried out together.
    page_match_mask: [u32; 3],
    kinds: [CommandStats; 3],
    /// By kind: the sum of start times minus the sum of issue times, modulo 2^64; and the number of
    /// waiting commands.
    waited: [u64; 3],
    waiting: [u64; 3],
    die_read: Ns,
    die_write: Ns,
}

impl SharedState {
    /// The set of planes of a block, as a bit. If there are more than 32 sets, some share a bit and
    /// do not join.
    #[inline]
    fn set(&self, block: BlockId) -> u32 {
        1 << (self.layout.plane_set_of(block) % 32)
    }

    /// Commands with equal keys, on different sets of planes, can be carried out together. The key
    /// is the kind and, if it matters, the page number.
    #[inline]
    fn batch_key(&self, command: FlashCommand) -> (CommandKind, u32) {
        (command.kind, command.page & self.page_match_mask[command.kind.index()])
    }

    /// The counter for commands with the same batch key; other keys may share it.
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

    /// Time that the dies work for a single command.
    #[inline]
    fn cells(&self, command: &FlashCommand) -> Ns {
        match command.kind {
            CommandKind::Read => self.costs.read.of(command.page),
            CommandKind::Program => self.costs.program.of(command.page),
            CommandKind::Erase => self.costs.erase,
        }
    }

    /// Cost of the transfer of a command; an erase involves all dies.
    #[inline]
    fn transfer_cost(&self, command: &FlashCommand) -> TransferCost {
        match command.kind {
            CommandKind::Read => self.costs.transfers[command.transfer_slots as usize],
            CommandKind::Program => self.costs.full_transfer,
            CommandKind::Erase => self.costs.commands,
        }
    }

    /// Time that the dies sense for a batch of reads.
    #[inline]
    fn sensing(&self, batch: &Batch) -> Ns {
        let mut longest = self.costs.read.of(batch.command.page);
        if batch.rest != NONE {
            longest =
                self.list(batch.rest).map(|command| self.cells(command)).fold(longest, Ns::max);
        }
        longest
    }

    /// Bus time of a batch.
    #[inline]
    fn on_bus(&self, batch: &Batch) -> Ns {
        let mut all = self.transfer_cost(&batch.command).bus;
        if batch.rest != NONE {
            all += self.list(batch.rest).map(|command| self.transfer_cost(command).bus).sum();
        }
        all
    }

    /// Reserves the bus for a whole batch from now on. Returns when it is free again.
    #[inline]
    fn reserve(&mut self, now: Ns, batch: &Batch, bus: u32) -> Ns {
        let span = self.on_bus(batch);
        self.buses[bus as usize].reserve(now, span, &mut self.postponed)
    }

    /// Adds to the die time.
    #[inline]
    fn charge(&mut self, command: &FlashCommand, cells: Ns, on_bus: Ns) {
        if command.kind == CommandKind::Read {
            self.die_read += cells + on_bus;
        } else {
            self.die_write += cells + on_bus;
        }
    }
}

/// Adds to a counter, which never reaches 2^64.
#[inline]
fn add(counter: &mut u64, more: u64) {
    *counter = counter.wrapping_add(more);
}

/// Adds 1 to a counter if `yes`.
#[inline]
fn count(counter: &mut u64, yes: bool) {
    add(counter, u64::from(yes));
}

impl DieGroups {
    /// Creates idle die groups. A super-page has `slots` parts that can be read individually.
    ///
    /// # Panics
    /// Panics if `slots` is 0.
    pub fn new(layout: Layout, timing: &Timing, slots: u32) -> Self {
        assert!(slots > 0, "a super-page has at least one slot");
        let sets = layout.geometry().planes_per_die / layout.shape().planes;
        let modes = Modes { multi_plane: timing.modes.multi_plane && sets > 1, ..timing.modes };
        // There are at most as many groups of buses as die groups.
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

    /// Starts a command, or queues it. All events before `now` must have been simulated, and none
    /// after it. A command must not transfer more slots than a super-page has.
    #[inline(always)]
    pub fn issue(&mut self, now: Ns, command: FlashCommand) {
        debug_assert!(now >= self.now, "a command of {now}, when it is {} already", self.now);
        debug_assert!(
            self.scheduler.next_at().is_none_or(|next| next >= now),
            "an event lies before {now}"
        );
        self.now = now;
        let die_group = self.shared.layout.die_group_of(command.block).index();
        match self.groups[die_group].accept(&mut self.shared, now, command) {
            NextEvent::First(at) => self.scheduler.plan(die_group, at),
            NextEvent::Moved(at) => self.scheduler.postpone(die_group, at),
            NextEvent::Unchanged => {}
        }
        self.postpone_moved();
    }

    /// Reschedules events that other reservations postponed.
    #[inline(always)]
    fn postpone_moved(&mut self) {
        while let Some((die_group, at)) = self.shared.postponed.pop() {
            self.scheduler.postpone(die_group as usize, at);
        }
    }

    /// Time of the next event.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.scheduler.next_at()
    }

    /// Simulates the next event. Returns its time, and the command that it completes, if any.
    /// Commands that end at the same time have an event each.
    ///
    /// # Panics
    /// Panics if there is no event.
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
        // Prefetches the die group of the next event while the owner handles this one.
        gordon_sys::memory::prefetch(
            self.groups.get(self.scheduler.next_slot()..).unwrap_or_default(),
        );
        (now, Some(done))
    }

    /// Time of the last command issued or event simulated.
    #[inline]
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Die time summed over dies, for all commands started: of reads, and of programs and erases.
    /// Waiting for the bus does not count.
    pub fn die_time(&self) -> (Ns, Ns) {
        (self.shared.die_read, self.shared.die_write)
    }

    /// Busy time of each group of buses, including reservations in the future.
    pub fn bus_busy(&self) -> impl ExactSizeIterator<Item = Ns> {
        self.shared.buses.iter().map(|bus| bus.busy(self.now))
    }

    /// A copy of all counters.
    pub fn stats(&self) -> DieGroupStats {
        let s = &self.shared;
        let mut kinds = s.kinds;
        for (kind, stats) in kinds.iter_mut().enumerate() {
            // Commands that still wait have waited until now.
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
