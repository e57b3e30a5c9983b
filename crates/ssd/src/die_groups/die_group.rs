//! One die group: the batch that it serves, the commands that wait, and the handling of its events.

use super::command::{CommandDone, CommandKind, FlashCommand, NO_COMMAND};
use super::queue::{CommandQueue, NONE, Node};
use super::{MAX_READ_BYPASSES, MAX_SUSPENSIONS, SharedState, add, count};
use gordon_units::Ns;

/// Stage of the front batch. The die group's next event ends this stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupStage {
    /// There is no batch and no event.
    Idle,
    /// Cache reads: the dies sense.
    Sensing,
    /// Reads: the data of one command are on the bus. Without cache reads, the stage includes
    /// sensing.
    Sending,
    /// Cache programs: the data are on the bus.
    Loading,
    /// Programs and erases: the dies work. Without cache programs, the stage includes the bus.
    Working,
    /// The dies stop a program or erase, to serve reads.
    Stopping,
}

/// The next event of a die group after it accepted a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextEvent {
    /// The group was idle: its first event.
    First(Ns),
    /// The event is at another time now.
    Moved(Ns),
    /// The event is where it was.
    Unchanged,
}

/// Commands that are carried out together, usually one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// The first command that is not done, and the head of the list of the others.
    pub command: FlashCommand,
    pub rest: u32,
    started: Ns,
    /// Whether background work was served while the first command waited.
    behind_background: bool,
    /// Whether any command is background work or an erase.
    background: bool,
}

impl Batch {
    const NONE: Self = Self {
        command: NO_COMMAND,
        rest: NONE,
        started: Ns::ZERO,
        behind_background: false,
        background: false,
    };
}

/// The fields that every command uses come first: two cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct DieGroup {
    number: u32,
    bus: u32,
    stage: GroupStage,
    /// Whether `back` holds a batch.
    has_back: bool,
    /// The batch being served.
    front: Batch,
    /// Waiting commands. With `read_first`, queue 0 holds reads and queue 1 the other commands;
    /// otherwise queue 0 holds all.
    queues: [CommandQueue; 2],
    /// Batches with background work started, and completed.
    background: u32,
    background_done: u32,
    /// Time up to which `busy` has been counted.
    since: Ns,
    busy: Ns,
    /// Number of reads started in a row while other commands waited.
    reads_bypassed: u32,
    tickets: u32,
    /// With a cache register: the batch behind the front, and the time when it is sensed or loaded.
    back: Batch,
    back_at: Ns,
    /// End of the program or erase that the dies work on.
    work_ends: Ns,
    /// The program or erase that was stopped, the time that it still needs, and how often it was.
    suspended: Option<Batch>,
    remaining: Ns,
    suspensions: u32,
    /// Number of waiting reads that are not background work; only with suspension.
    host_reads: u32,
}

impl DieGroup {
    pub fn new(number: u32, bus: u32) -> Self {
        Self {
            number,
            bus,
            stage: GroupStage::Idle,
            has_back: false,
            front: Batch::NONE,
            queues: [CommandQueue::EMPTY; 2],
            background: 0,
            background_done: 0,
            since: Ns::ZERO,
            busy: Ns::ZERO,
            reads_bypassed: 0,
            tickets: 0,
            back: Batch::NONE,
            back_at: Ns::ZERO,
            work_ends: Ns::ZERO,
            suspended: None,
            remaining: Ns::ZERO,
            suspensions: 0,
            host_reads: 0,
        }
    }

    pub fn busy(&self) -> Ns {
        self.busy
    }

    /// Accepts a command.
    #[inline(always)]
    pub fn accept(&mut self, s: &mut SharedState, now: Ns, command: FlashCommand) -> NextEvent {
        debug_assert!(
            (command.transfer_slots as usize) < s.costs.transfers.len(),
            "{command:?}: more slots than there are"
        );
        count(&mut s.kinds[command.kind.index()].issued, true);
        if self.stage != GroupStage::Idle {
            return self.queue(s, now, command);
        }
        self.since = now;
        NextEvent::First(self.begin(s, now, command, false))
    }

    /// Queues a command; the die group is busy.
    #[inline(never)]
    fn queue(&mut self, s: &mut SharedState, now: Ns, command: FlashCommand) -> NextEvent {
        let is_host_read = command.kind == CommandKind::Read && !command.background;
        let is_first_read = is_host_read && self.host_reads == 0;
        self.host_reads += u32::from(is_host_read);
        let kind = command.kind.index();
        s.waited[kind] = s.waited[kind].wrapping_sub(now.0);
        count(&mut s.waiting[kind], true);
        let ticket = self.tickets;
        self.tickets = ticket.wrapping_add(1);
        let background = self.background_done;
        let at = s.pool.put(Node { command, next: NONE, ticket, background });
        let queue = usize::from(s.modes.read_first && command.kind != CommandKind::Read);
        self.queues[queue].push(&mut s.pool, at);
        if s.modes.multi_plane {
            self.queues[queue].count_key(s.set(command.block), s.key_bucket(command));
        }
        if s.modes.cache_read || s.modes.cache_program {
            self.try_start_back_batch(s, now);
        }
        // The command counts as queued unless the back batch has just taken it.
        count(&mut s.kinds[kind].queued, self.queues[queue].is_last(at));
        match s.modes.suspend {
            Some(stop) if is_first_read => self.suspend(s, now, stop),
            _ => NextEvent::Unchanged,
        }
    }

    /// A read arrived: suspends the program or erase that the dies work on, if that is of use.
    #[cold]
    fn suspend(&mut self, s: &mut SharedState, now: Ns, stop: Ns) -> NextEvent {
        if self.stage != GroupStage::Working || self.suspensions >= MAX_SUSPENSIONS {
            return NextEvent::Unchanged;
        }
        // Until then the data are on the bus.
        let begun = self.work_ends - s.cells(&self.front.command);
        let from = now.max(begun);
        if self.work_ends - from <= stop {
            return NextEvent::Unchanged;
        }
        // The dies work until they have stopped, and do that part again.
        let first = s.transfer_cost(&self.front.command).dies;
        let dies = s.list(self.front.rest).map(|other| s.transfer_cost(other).dies);
        s.die_write += stop * dies.fold(first, u64::max);
        self.set_aside(self.work_ends - from);
        self.stage = GroupStage::Stopping;
        NextEvent::Moved(from + stop)
    }

    /// The front batch gives way to reads. Until it resumes, nothing waits behind it.
    fn set_aside(&mut self, remaining: Ns) {
        let is_background = self.front.background;
        self.background_done = self.background_done.wrapping_add(u32::from(is_background));
        self.suspended = Some(self.front);
        self.remaining = remaining;
        self.suspensions += 1;
        self.reads_bypassed = 0;
    }

    /// Whether a read is to be served while a program or erase is suspended. Reads of background
    /// work are served only before one that the host waits for.
    fn is_read_due(&self) -> bool {
        self.host_reads > 0 && self.reads_bypassed < MAX_READ_BYPASSES
    }

    /// Serves the next read while a program or erase is suspended, or resumes that. Returns the
    /// time of the next event.
    #[cold]
    fn serve_or_resume(&mut self, s: &mut SharedState, now: Ns, suspended: Batch) -> Ns {
        if self.is_read_due() {
            let (command, behind) = self.pop(s, now, 0);
            let rest = if s.modes.multi_plane { self.gather(s, now, command, 0) } else { NONE };
            return match rest {
                NONE => self.begin(s, now, command, behind),
                rest => self.begin_many(s, now, command, behind, rest),
            };
        }
        self.suspended = None;
        self.serve(suspended.background);
        self.front = suspended;
        self.stage = GroupStage::Working;
        self.work_ends = now + self.remaining;
        let is_program = self.front.command.kind == CommandKind::Program;
        if s.modes.cache_program && is_program {
            self.start_back_batch(s, now);
        }
        self.work_ends
    }

    /// With a cache register, a new command may start as the back batch.
    #[cold]
    fn try_start_back_batch(&mut self, s: &mut SharedState, now: Ns) {
        let ahead = match self.stage {
            GroupStage::Sending => s.modes.cache_read,
            GroupStage::Working => {
                s.modes.cache_program && self.front.command.kind == CommandKind::Program
            }
            _ => false,
        };
        if ahead {
            self.start_back_batch(s, now);
        }
    }

    /// Handles an event that completes no command. Returns the time of the next event, or `None` if
    /// the event completes a command.
    #[inline(always)]
    pub fn advance(&mut self, s: &mut SharedState, now: Ns) -> Option<Ns> {
        match self.stage {
            GroupStage::Sensing => Some(self.transfer_out(s, now)),
            GroupStage::Loading => Some(self.program_cells(s, now)),
            GroupStage::Stopping => {
                let suspended = self.suspended.expect("the dies stop because of it");
                Some(self.serve_or_resume(s, now, suspended))
            }
            _ => None,
        }
    }

    /// Handles an event that completes a command. Returns it, and the time of the next event if
    /// any.
    #[inline(always)]
    pub fn finish(&mut self, s: &mut SharedState, now: Ns) -> (CommandDone, Option<Ns>) {
        let Batch { command, rest, started, behind_background: behind, background } = self.front;
        let stats = &mut s.kinds[command.kind.index()];
        count(&mut stats.done, true);
        add(&mut stats.served.0, now.0.wrapping_sub(started.0));
        let done = CommandDone { command, behind_background: behind };
        if rest != NONE {
            return (done, Some(self.shift(s, now)));
        }
        add(&mut self.busy.0, now.0.wrapping_sub(self.since.0));
        self.since = now;
        self.background_done = self.background_done.wrapping_add(u32::from(background));
        if s.modes.suspend.is_some() {
            if command.kind != CommandKind::Read {
                self.suspensions = 0;
            } else if let Some(suspended) = self.suspended
                && !(self.has_back && self.back.command.kind == CommandKind::Read)
            {
                return (done, Some(self.serve_or_resume(s, now, suspended)));
            }
        }
        if self.has_back {
            return (done, Some(self.promote(s, now)));
        }
        let Some(queue) = self.choose(s) else {
            self.stage = GroupStage::Idle;
            return (done, None);
        };
        let (command, behind) = self.pop(s, now, queue);
        if s.modes.multi_plane
            && self.queues[queue].may_contain(s.set(command.block), s.key_bucket(command))
        {
            let rest = self.gather(s, now, command, queue);
            if rest != NONE {
                return (done, Some(self.begin_many(s, now, command, behind, rest)));
            }
        }
        (done, Some(self.begin(s, now, command, behind)))
    }

    /// The first command of a batch is done; moves on to the next one.
    #[cold]
    fn shift(&mut self, s: &mut SharedState, now: Ns) -> Ns {
        let Node { command, next, background, .. } = s.pool.take(self.front.rest);
        self.front =
            Batch { command, rest: next, behind_background: background == 1, ..self.front };
        match self.stage {
            GroupStage::Sending => now + s.costs.transfers[command.transfer_slots as usize].bus,
            _ => now,
        }
    }

    /// Moves the back batch to the front. Returns the time of its next event.
    #[cold]
    fn promote(&mut self, s: &mut SharedState, now: Ns) -> Ns {
        self.front = self.back;
        self.has_back = false;
        let ready = self.back_at <= now;
        match self.front.command.kind {
            CommandKind::Read if ready => self.transfer_out(s, now),
            _ if ready => self.program_cells(s, now),
            kind => {
                self.stage = if kind == CommandKind::Read {
                    GroupStage::Sensing
                } else {
                    GroupStage::Loading
                };
                self.back_at
            }
        }
    }

    /// Starts a single command. Returns the time of its first event.
    #[inline(always)]
    fn begin(&mut self, s: &mut SharedState, now: Ns, command: FlashCommand, behind: bool) -> Ns {
        let bus = &mut s.buses[self.bus as usize];
        let mut background = command.background;
        let next = match command.kind {
            CommandKind::Read => {
                let cells = s.costs.read.of(command.page);
                let share = &s.costs.transfers[command.transfer_slots as usize];
                add(&mut s.die_read.0, share.die_time(cells));
                let sensed = now + cells;
                if s.modes.cache_read {
                    self.stage = GroupStage::Sensing;
                    sensed
                } else {
                    self.stage = GroupStage::Sending;
                    bus.read(now, self.number, sensed, [share.bus; 2], &mut s.postponed)
                }
            }
            CommandKind::Program => {
                let cells = s.costs.program.of(command.page);
                add(&mut s.die_write.0, s.costs.full_transfer.die_time(cells));
                let loaded = bus.reserve(now, s.costs.full_transfer.bus, &mut s.postponed);
                let cache = s.modes.cache_program;
                self.stage = if cache { GroupStage::Loading } else { GroupStage::Working };
                self.work_ends = loaded + cells;
                if cache { loaded } else { self.work_ends }
            }
            CommandKind::Erase => {
                background = true;
                add(&mut s.die_write.0, s.costs.commands.die_time(s.costs.erase));
                self.stage = GroupStage::Working;
                let begun = bus.reserve(now, s.costs.commands.bus, &mut s.postponed);
                self.work_ends = begun + s.costs.erase;
                self.work_ends
            }
        };
        self.serve(background);
        self.front =
            Batch { command, rest: NONE, started: now, behind_background: behind, background };
        next
    }

    /// Starts commands gathered into a batch. Returns the time of their first event.
    #[cold]
    fn begin_many(
        &mut self,
        s: &mut SharedState,
        now: Ns,
        command: FlashCommand,
        behind: bool,
        rest: u32,
    ) -> Ns {
        self.front = self.batch(s, now, command, behind, rest);
        match command.kind {
            CommandKind::Read => {
                let sensed = now + s.sensing(&self.front);
                if s.modes.cache_read {
                    self.stage = GroupStage::Sensing;
                    return sensed;
                }
                self.stage = GroupStage::Sending;
                let spans = [s.transfer_cost(&command).bus, s.on_bus(&self.front)];
                let bus = &mut s.buses[self.bus as usize];
                bus.read(now, self.number, sensed, spans, &mut s.postponed)
            }
            CommandKind::Program if s.modes.cache_program => {
                self.stage = GroupStage::Loading;
                s.reserve(now, &self.front, self.bus)
            }
            CommandKind::Program | CommandKind::Erase => {
                self.stage = GroupStage::Working;
                self.work_ends = s.reserve(now, &self.front, self.bus) + s.cells(&command);
                self.work_ends
            }
        }
    }

    /// The front batch is sensed and requests the bus. Returns the time when the first command's
    /// data have crossed.
    #[cold]
    fn transfer_out(&mut self, s: &mut SharedState, now: Ns) -> Ns {
        let (first, all) = (s.transfer_cost(&self.front.command).bus, s.on_bus(&self.front));
        let end = s.reserve(now, &self.front, self.bus);
        self.stage = GroupStage::Sending;
        self.start_back_batch(s, now);
        end - all + first
    }

    /// The dies hold the front batch's data and program them. Returns the time when they are done.
    #[cold]
    fn program_cells(&mut self, s: &mut SharedState, now: Ns) -> Ns {
        self.stage = GroupStage::Working;
        // All programs of a batch have the same page number.
        let cells = s.costs.program.of(self.front.command.page);
        self.work_ends = now + cells;
        self.start_back_batch(s, now);
        let may_wait = self.suspensions < MAX_SUSPENSIONS;
        if s.modes.suspend.is_some() && self.host_reads > 0 && may_wait {
            self.set_aside(cells);
            return self.serve_or_resume(s, now, self.front);
        }
        self.work_ends
    }

    /// With a cache register, starts the next batch behind the front if it is of the same kind.
    #[cold]
    fn start_back_batch(&mut self, s: &mut SharedState, now: Ns) {
        if self.has_back || (self.suspended.is_some() && !self.is_read_due()) {
            return;
        }
        let Some(queue) = self.choose(s) else { return };
        if s.pool.at(self.queues[queue].head).command.kind != self.front.command.kind {
            return;
        }
        let (command, behind) = self.pop(s, now, queue);
        let rest = if s.modes.multi_plane { self.gather(s, now, command, queue) } else { NONE };
        self.back = self.batch(s, now, command, behind, rest);
        self.has_back = true;
        self.back_at = match self.back.command.kind {
            CommandKind::Read => now + s.sensing(&self.back),
            _ => s.reserve(now, &self.back, self.bus),
        };
    }

    /// The queue whose head is to be served next; `None` if nothing waits.
    #[inline]
    fn choose(&self, s: &SharedState) -> Option<usize> {
        let (first, second) = (self.queues[0].head, self.queues[1].head);
        if second == NONE {
            return (first != NONE).then_some(0);
        }
        match (first, second) {
            (NONE, _) => Some(1),
            (_, _) if self.reads_bypassed < MAX_READ_BYPASSES => Some(0),
            (read, other) => {
                // Fewer than 2^31 commands wait, so the wrapped difference shows which came first.
                let age = s.pool.at(read).ticket.wrapping_sub(s.pool.at(other).ticket);
                Some(usize::from(age < 1 << 31))
            }
        }
    }

    /// Takes the head of a queue to start it. Returns whether background work was served while it
    /// waited.
    #[inline(always)]
    fn pop(&mut self, s: &mut SharedState, now: Ns, queue: usize) -> (FlashCommand, bool) {
        let others = self.queues[1].head != NONE || self.suspended.is_some();
        self.reads_bypassed = if queue == 0 && others { self.reads_bypassed + 1 } else { 0 };
        let head = self.queues[queue].unlink(&mut s.pool, NONE);
        let Node { command, background, .. } = s.pool.take(head);
        self.leave(command);
        if s.modes.multi_plane {
            self.queues[queue].uncount_key(s.key_bucket(command));
        }
        let behind = s.start(now, command, background, self.background);
        (command, behind)
    }

    /// A command does not wait any more.
    #[inline]
    fn leave(&mut self, command: FlashCommand) {
        let is_host_read = command.kind == CommandKind::Read && !command.background;
        self.host_reads -= u32::from(is_host_read);
    }

    /// Removes the commands that can join `first` from a queue, and returns the list of them.
    #[inline(never)]
    fn gather(&mut self, s: &mut SharedState, now: Ns, first: FlashCommand, queue: usize) -> u32 {
        let (mut seen, mut list, mut before) = (s.set(first.block), CommandQueue::EMPTY, NONE);
        let alike = s.batch_key(first);
        let CommandQueue { head: mut at, sets, .. } = self.queues[queue];
        while sets & !seen != 0 {
            if at == NONE {
                // The whole queue has been searched, so `seen` holds exactly the sets in it.
                self.queues[queue].sets = seen;
                break;
            }
            let Node { command, next, background, .. } = *s.pool.at(at);
            let set = s.set(command.block);
            // Only the first waiting command of each set of planes may overtake others.
            if (seen & set == 0) & (s.batch_key(command) == alike) {
                self.queues[queue].unlink(&mut s.pool, before);
                self.leave(command);
                self.queues[queue].uncount_key(s.key_bucket(command));
                let behind = s.start(now, command, background, self.background);
                s.pool.at_mut(at).background = u32::from(behind);
                s.kinds[command.kind.index()].joined += if list.head == NONE { 2 } else { 1 };
                list.push(&mut s.pool, at);
            } else {
                before = at;
            }
            seen |= set;
            at = next;
        }
        list.head
    }

    /// Creates a batch that starts now, and counts its die time.
    #[cold]
    fn batch(
        &mut self,
        s: &mut SharedState,
        now: Ns,
        command: FlashCommand,
        behind: bool,
        rest: u32,
    ) -> Batch {
        let first = s.transfer_cost(&command);
        let (mut dies, mut on_bus) = (first.dies, first.dies_on_bus);
        let (mut background, mut cells) =
            (command.background || command.kind == CommandKind::Erase, s.cells(&command));
        for command in s.list(rest) {
            background |= command.background;
            cells = cells.max(s.cells(command));
            dies = dies.max(s.transfer_cost(command).dies);
            on_bus += s.transfer_cost(command).dies_on_bus;
        }
        self.serve(background);
        s.charge(&command, cells * dies, on_bus);
        Batch { command, rest, started: now, behind_background: behind, background }
    }

    /// Counts the start of a batch if it is background work.
    #[inline]
    fn serve(&mut self, background: bool) {
        self.background = self.background.wrapping_add(u32::from(background));
    }
}
