//! One lane: what it serves, what waits for it, and what its next event means.

use super::queue::{NONE, Node, Queue};
use super::work::{Done, Kind, NOTHING, Work};
use super::{OVERTAKINGS, Shared, add, count};
use gordon_units::Ns;

/// What a lane's event to come ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Idle,
    /// Reads, with a cache register: cells to registers.
    Sensing,
    /// Reads: a work's data on the bus; without a cache register, their sensing too.
    Sending,
    /// Programs, with a cache register: the data on the bus.
    Loading,
    /// Programs and erases.
    Working,
}

/// Works carried out together; mostly one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// The first of those not done, and the list of the others.
    pub work: Work,
    pub rest: u32,
    started: Ns,
    /// While the first waited, background work was served.
    behind: bool,
    /// One of them is background work or an erase.
    background: bool,
}

impl Batch {
    const NONE: Self =
        Self { work: NOTHING, rest: NONE, started: Ns::ZERO, behind: false, background: false };
}

/// What every work touches comes first: two lines of the processor's cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Lane {
    number: u32,
    bus: u32,
    stage: Stage,
    /// Is there a batch behind the front?
    has_back: bool,
    /// What is served.
    front: Batch,
    /// What waits: all in the first, or where reads go first, these there and others in the second.
    queues: [Queue; 2],
    /// Batches of background work started, and those served to the end.
    background: u32,
    background_done: u32,
    /// Up to when `busy` counts.
    since: Ns,
    busy: Ns,
    /// Reads that overtook, since something else was served or nothing else waited.
    overtakings: u32,
    tickets: u32,
    /// With a cache register: what is served behind the front, and when it is sensed or loaded.
    back: Batch,
    back_at: Ns,
}

impl Lane {
    pub fn new(number: u32, bus: u32) -> Self {
        Self {
            number,
            bus,
            stage: Stage::Idle,
            has_back: false,
            front: Batch::NONE,
            queues: [Queue::EMPTY; 2],
            background: 0,
            background_done: 0,
            since: Ns::ZERO,
            busy: Ns::ZERO,
            overtakings: 0,
            tickets: 0,
            back: Batch::NONE,
            back_at: Ns::ZERO,
        }
    }

    pub fn busy(&self) -> Ns {
        self.busy
    }

    /// Takes a work; the time of the lane's next event where there was none.
    #[inline(always)]
    pub fn accept(&mut self, s: &mut Shared, now: Ns, work: Work) -> Option<Ns> {
        debug_assert!(
            (work.share as usize) < s.costs.shares.len(),
            "{work:?}: more slots than there are"
        );
        count(&mut s.kinds[work.kind.index()].issued, true);
        if self.stage != Stage::Idle {
            self.queue(s, now, work);
            return None;
        }
        self.since = now;
        Some(self.begin(s, now, work, false))
    }

    /// The lane is busy.
    #[inline(never)]
    fn queue(&mut self, s: &mut Shared, now: Ns, work: Work) {
        let kind = work.kind.index();
        s.waited[kind] = s.waited[kind].wrapping_sub(now.0);
        count(&mut s.waiting[kind], true);
        let ticket = self.tickets;
        self.tickets = ticket.wrapping_add(1);
        let background = self.background_done;
        let at = s.pool.put(Node { work, next: NONE, ticket, background });
        let queue = usize::from(s.modes.read_first && work.kind != Kind::Read);
        self.queues[queue].push(&mut s.pool, at);
        if s.modes.multi_plane {
            self.queues[queue].note(s.set(work.block), s.class(work));
        }
        if s.modes.cache_read || s.modes.cache_program {
            self.ahead_of_front(s, now);
        }
        // Still the last that waits?
        count(&mut s.kinds[kind].queued, self.queues[queue].is_last(at));
    }

    /// With a cache register, what has come may be for the next batch.
    #[cold]
    fn ahead_of_front(&mut self, s: &mut Shared, now: Ns) {
        let ahead = match self.stage {
            Stage::Sending => s.modes.cache_read,
            Stage::Working => s.modes.cache_program && self.front.work.kind == Kind::Program,
            _ => false,
        };
        if ahead {
            self.ahead(s, now);
        }
    }

    /// The lane's event happens, and ends no work: when the next one is.
    #[inline(always)]
    pub fn go_on(&mut self, s: &mut Shared, now: Ns) -> Option<Ns> {
        match self.stage {
            Stage::Sensing => Some(self.send(s, now)),
            Stage::Loading => Some(self.work(s, now)),
            _ => None,
        }
    }

    /// The lane's event happens, and ends a work: which, and when the next one is.
    #[inline(always)]
    pub fn finish(&mut self, s: &mut Shared, now: Ns) -> (Done, Option<Ns>) {
        let Batch { work, rest, started, behind, background } = self.front;
        let stats = &mut s.kinds[work.kind.index()];
        count(&mut stats.done, true);
        add(&mut stats.served.0, now.0.wrapping_sub(started.0));
        let done = Done { work, behind_background: behind };
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
            self.stage = Stage::Idle;
            return (done, None);
        };
        let (work, behind) = self.pop(s, now, queue);
        if s.modes.multi_plane && self.queues[queue].may_have(s.set(work.block), s.class(work)) {
            let rest = self.gather(s, now, work, queue);
            if rest != NONE {
                return (done, Some(self.begin_many(s, now, work, behind, rest)));
            }
        }
        (done, Some(self.begin(s, now, work, behind)))
    }

    /// The first of a batch is done, and the next is to come.
    #[cold]
    fn shift(&mut self, s: &mut Shared, now: Ns) -> Ns {
        let Node { work, next, background, .. } = s.pool.take(self.front.rest);
        self.front = Batch { work, rest: next, behind: background == 1, ..self.front };
        match self.stage {
            Stage::Sending => now + s.costs.shares[work.share as usize].bus,
            _ => now,
        }
    }

    /// The batch behind comes to the front; when its next event happens.
    #[cold]
    fn promote(&mut self, s: &mut Shared, now: Ns) -> Ns {
        self.front = self.back;
        self.has_back = false;
        let ready = self.back_at <= now;
        match self.front.work.kind {
            Kind::Read if ready => self.send(s, now),
            _ if ready => self.work(s, now),
            kind => {
                self.stage = if kind == Kind::Read { Stage::Sensing } else { Stage::Loading };
                self.back_at
            }
        }
    }

    /// Serves a work from its start; when its first event happens.
    #[inline(always)]
    fn begin(&mut self, s: &mut Shared, now: Ns, work: Work, behind: bool) -> Ns {
        let bus = &mut s.buses[self.bus as usize];
        let mut background = work.background;
        let next = match work.kind {
            Kind::Read => {
                let cells = s.costs.read.of(work.page);
                let share = &s.costs.shares[work.share as usize];
                add(&mut s.die_read.0, share.die_time(cells));
                let sensed = now + cells;
                if s.modes.cache_read {
                    self.stage = Stage::Sensing;
                    sensed
                } else {
                    self.stage = Stage::Sending;
                    bus.read(now, self.number, sensed, [share.bus; 2], &mut s.moved)
                }
            }
            Kind::Program => {
                let cells = s.costs.program.of(work.page);
                add(&mut s.die_write.0, s.costs.whole.die_time(cells));
                let loaded = bus.reserve(now, s.costs.whole.bus, &mut s.moved);
                let cache = s.modes.cache_program;
                self.stage = if cache { Stage::Loading } else { Stage::Working };
                if cache { loaded } else { loaded + cells }
            }
            Kind::Erase => {
                background = true;
                add(&mut s.die_write.0, s.costs.commands.die_time(s.costs.erase));
                self.stage = Stage::Working;
                bus.reserve(now, s.costs.commands.bus, &mut s.moved) + s.costs.erase
            }
        };
        self.serve(background);
        self.front = Batch { work, rest: NONE, started: now, behind, background };
        next
    }

    /// Serves works that were gathered from their start; when their first event happens.
    #[cold]
    fn begin_many(&mut self, s: &mut Shared, now: Ns, work: Work, behind: bool, rest: u32) -> Ns {
        self.front = self.batch(s, now, work, behind, rest);
        match work.kind {
            Kind::Read => {
                let sensed = now + s.sensing(&self.front);
                if s.modes.cache_read {
                    self.stage = Stage::Sensing;
                    return sensed;
                }
                self.stage = Stage::Sending;
                let spans = [s.share(&work).bus, s.on_bus(&self.front)];
                let bus = &mut s.buses[self.bus as usize];
                bus.read(now, self.number, sensed, spans, &mut s.moved)
            }
            Kind::Program if s.modes.cache_program => {
                self.stage = Stage::Loading;
                s.reserve(now, &self.front, self.bus)
            }
            Kind::Program | Kind::Erase => {
                self.stage = Stage::Working;
                s.reserve(now, &self.front, self.bus) + s.cells(&work)
            }
        }
    }

    /// The front is sensed, and its data are to cross the bus; when the first have.
    #[cold]
    fn send(&mut self, s: &mut Shared, now: Ns) -> Ns {
        let (first, all) = (s.share(&self.front.work).bus, s.on_bus(&self.front));
        let end = s.reserve(now, &self.front, self.bus);
        self.stage = Stage::Sending;
        self.ahead(s, now);
        end - all + first
    }

    /// The front's data are in the dies, which program; when they have.
    #[cold]
    fn work(&mut self, s: &mut Shared, now: Ns) -> Ns {
        self.stage = Stage::Working;
        // A batch of programs is of one page number.
        let done = now + s.costs.program.of(self.front.work.page);
        self.ahead(s, now);
        done
    }

    /// With a cache register, starts the next batch behind the front, if it is of its kind.
    #[cold]
    fn ahead(&mut self, s: &mut Shared, now: Ns) {
        if self.has_back {
            return;
        }
        let Some(queue) = self.choose(s) else { return };
        if s.pool.at(self.queues[queue].head).work.kind != self.front.work.kind {
            return;
        }
        let (work, behind) = self.pop(s, now, queue);
        let rest = if s.modes.multi_plane { self.gather(s, now, work, queue) } else { NONE };
        self.back = self.batch(s, now, work, behind, rest);
        self.has_back = true;
        self.back_at = match self.back.work.kind {
            Kind::Read => now + s.sensing(&self.back),
            _ => s.reserve(now, &self.back, self.bus),
        };
    }

    /// The queue whose first is next, if anything waits.
    #[inline]
    fn choose(&self, s: &Shared) -> Option<usize> {
        let (first, second) = (self.queues[0].head, self.queues[1].head);
        if second == NONE {
            return (first != NONE).then_some(0);
        }
        match (first, second) {
            (NONE, _) => Some(1),
            (_, _) if self.overtakings < OVERTAKINGS => Some(0),
            (read, other) => {
                // Fewer than 2^31 wait, so the difference tells which came first.
                let age = s.pool.at(read).ticket.wrapping_sub(s.pool.at(other).ticket);
                Some(usize::from(age < 1 << 31))
            }
        }
    }

    /// Takes the first of a queue, which starts; was background work served while it waited?
    #[inline(always)]
    fn pop(&mut self, s: &mut Shared, now: Ns, queue: usize) -> (Work, bool) {
        let others = self.queues[1].head != NONE;
        self.overtakings = if queue == 0 && others { self.overtakings + 1 } else { 0 };
        let head = self.queues[queue].unlink(&mut s.pool, NONE);
        let Node { work, background, .. } = s.pool.take(head);
        if s.modes.multi_plane {
            self.queues[queue].forget(s.class(work));
        }
        let behind = s.start(now, work, background, self.background);
        (work, behind)
    }

    /// The list of the works of a queue that can join `first`.
    #[inline(never)]
    fn gather(&mut self, s: &mut Shared, now: Ns, first: Work, queue: usize) -> u32 {
        let (mut seen, mut list, mut before) = (s.set(first.block), Queue::EMPTY, NONE);
        let alike = s.likeness(first);
        let Queue { head: mut at, sets, .. } = self.queues[queue];
        while sets & !seen != 0 {
            if at == NONE {
                // There are no others.
                self.queues[queue].sets = seen;
                break;
            }
            let Node { work, next, background, .. } = *s.pool.at(at);
            let set = s.set(work.block);
            // Only the first of each set of planes may come before others.
            if (seen & set == 0) & (s.likeness(work) == alike) {
                self.queues[queue].unlink(&mut s.pool, before);
                self.queues[queue].forget(s.class(work));
                let behind = s.start(now, work, background, self.background);
                s.pool.at_mut(at).background = u32::from(behind);
                s.kinds[work.kind.index()].joined += if list.head == NONE { 2 } else { 1 };
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
    fn batch(&mut self, s: &mut Shared, now: Ns, work: Work, behind: bool, rest: u32) -> Batch {
        let first = s.share(&work);
        let (mut dies, mut on_bus) = (first.dies, first.dies_on_bus);
        let (mut background, mut cells) =
            (work.background || work.kind == Kind::Erase, s.cells(&work));
        for work in s.list(rest) {
            background |= work.background;
            cells = cells.max(s.cells(work));
            dies = dies.max(s.share(work).dies);
            on_bus += s.share(work).dies_on_bus;
        }
        self.serve(background);
        s.charge(&work, cells * dies, on_bus);
        Batch { work, rest, started: now, behind, background }
    }

    /// A batch starts; background work is counted.
    #[inline]
    fn serve(&mut self, background: bool) {
        self.background = self.background.wrapping_add(u32::from(background));
    }
}
