//! One die group: what it serves, what waits for it, and what its next event means.

use super::command::{CommandDone, CommandKind, FlashCommand, NO_COMMAND};
use super::queue::{CommandQueue, NONE, Node};
use super::{MAX_READ_BYPASSES, SharedState, add, count};
use gordon_units::Ns;

/// What a die group's event to come ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupStage {
    /// There is none.
    Idle,
    /// Reads, with a cache register: cells to registers.
    Sensing,
    /// Reads: a command's data on the bus; without a cache register, their sensing too.
    Sending,
    /// Programs, with a cache register: the data on the bus.
    Loading,
    /// Programs and erases.
    Working,
}

/// Commands carried out together; mostly one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// The first of those not done, and the list of the others.
    pub command: FlashCommand,
    pub rest: u32,
    started: Ns,
    /// While the first waited, background work was served.
    behind_background: bool,
    /// One of them is background work or an erase.
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

/// What every command touches comes first: two lines of the processor's cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct DieGroup {
    number: u32,
    bus: u32,
    stage: GroupStage,
    /// Is there a batch behind the front?
    has_back: bool,
    /// What is served.
    front: Batch,
    /// What waits: all in the first, or where reads go first, these there and others in the second.
    queues: [CommandQueue; 2],
    /// Batches of background work started, and those served to the end.
    background: u32,
    background_done: u32,
    /// Up to when `busy` counts.
    since: Ns,
    busy: Ns,
    /// Reads that overtook, since something else was served or nothing else waited.
    reads_bypassed: u32,
    tickets: u32,
    /// With a cache register: what is served behind the front, and when it is sensed or loaded.
    back: Batch,
    back_at: Ns,
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
        }
    }

    pub fn busy(&self) -> Ns {
        self.busy
    }

    /// Takes a command; the time of the die group's next event where there was none.
    #[inline(always)]
    pub fn accept(&mut self, s: &mut SharedState, now: Ns, command: FlashCommand) -> Option<Ns> {
        debug_assert!(
            (command.transfer_slots as usize) < s.costs.transfers.len(),
            "{command:?}: more slots than there are"
        );
        count(&mut s.kinds[command.kind.index()].issued, true);
        if self.stage != GroupStage::Idle {
            self.queue(s, now, command);
            return None;
        }
        self.since = now;
        Some(self.begin(s, now, command, false))
    }

    /// The die group is busy.
    #[inline(never)]
    fn queue(&mut self, s: &mut SharedState, now: Ns, command: FlashCommand) {
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
        // Still the last that waits?
        count(&mut s.kinds[kind].queued, self.queues[queue].is_last(at));
    }

    /// With a cache register, what has come may be for the next batch.
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

    /// The die group's event happens, and ends no command: when the next one is.
    #[inline(always)]
    pub fn advance(&mut self, s: &mut SharedState, now: Ns) -> Option<Ns> {
        match self.stage {
            GroupStage::Sensing => Some(self.transfer_out(s, now)),
            GroupStage::Loading => Some(self.program_cells(s, now)),
            _ => None,
        }
    }

    /// The die group's event happens, and ends a command: which, and when the next one is.
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

    /// The first of a batch is done, and the next is to come.
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

    /// The batch behind comes to the front; when its next event happens.
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

    /// Serves a command from its start; when its first event happens.
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
                if cache { loaded } else { loaded + cells }
            }
            CommandKind::Erase => {
                background = true;
                add(&mut s.die_write.0, s.costs.commands.die_time(s.costs.erase));
                self.stage = GroupStage::Working;
                bus.reserve(now, s.costs.commands.bus, &mut s.postponed) + s.costs.erase
            }
        };
        self.serve(background);
        self.front =
            Batch { command, rest: NONE, started: now, behind_background: behind, background };
        next
    }

    /// Serves commands that were gathered from their start; when their first event happens.
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
                s.reserve(now, &self.front, self.bus) + s.cells(&command)
            }
        }
    }

    /// The front is sensed, and its data are to cross the bus; when the first have.
    #[cold]
    fn transfer_out(&mut self, s: &mut SharedState, now: Ns) -> Ns {
        let (first, all) = (s.transfer_cost(&self.front.command).bus, s.on_bus(&self.front));
        let end = s.reserve(now, &self.front, self.bus);
        self.stage = GroupStage::Sending;
        self.start_back_batch(s, now);
        end - all + first
    }

    /// The front's data are in the dies, which program; when they have.
    #[cold]
    fn program_cells(&mut self, s: &mut SharedState, now: Ns) -> Ns {
        self.stage = GroupStage::Working;
        // A batch of programs is of one page number.
        let done = now + s.costs.program.of(self.front.command.page);
        self.start_back_batch(s, now);
        done
    }

    /// With a cache register, starts the next batch behind the front, if it is of its kind.
    #[cold]
    fn start_back_batch(&mut self, s: &mut SharedState, now: Ns) {
        if self.has_back {
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

    /// The queue whose first is next, if anything waits.
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
                // Fewer than 2^31 wait, so the difference tells which came first.
                let age = s.pool.at(read).ticket.wrapping_sub(s.pool.at(other).ticket);
                Some(usize::from(age < 1 << 31))
            }
        }
    }

    /// Takes the first of a queue, which starts; was background work served while it waited?
    #[inline(always)]
    fn pop(&mut self, s: &mut SharedState, now: Ns, queue: usize) -> (FlashCommand, bool) {
        let others = self.queues[1].head != NONE;
        self.reads_bypassed = if queue == 0 && others { self.reads_bypassed + 1 } else { 0 };
        let head = self.queues[queue].unlink(&mut s.pool, NONE);
        let Node { command, background, .. } = s.pool.take(head);
        if s.modes.multi_plane {
            self.queues[queue].uncount_key(s.key_bucket(command));
        }
        let behind = s.start(now, command, background, self.background);
        (command, behind)
    }

    /// The list of the commands of a queue that can join `first`.
    #[inline(never)]
    fn gather(&mut self, s: &mut SharedState, now: Ns, first: FlashCommand, queue: usize) -> u32 {
        let (mut seen, mut list, mut before) = (s.set(first.block), CommandQueue::EMPTY, NONE);
        let alike = s.batch_key(first);
        let CommandQueue { head: mut at, sets, .. } = self.queues[queue];
        while sets & !seen != 0 {
            if at == NONE {
                // There are no others.
                self.queues[queue].sets = seen;
                break;
            }
            let Node { command, next, background, .. } = *s.pool.at(at);
            let set = s.set(command.block);
            // Only the first of each set of planes may come before others.
            if (seen & set == 0) & (s.batch_key(command) == alike) {
                self.queues[queue].unlink(&mut s.pool, before);
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

    /// A batch that starts now.
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

    /// A batch starts; background work is counted.
    #[inline]
    fn serve(&mut self, background: bool) {
        self.background = self.background.wrapping_add(u32::from(background));
    }
}
