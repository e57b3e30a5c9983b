//! One lane: what it serves, what waits for it, and what its next event means.

use super::queue::{NONE, Node, Queue};
use super::work::{Done, Kind, Work};
use super::{OVERTAKINGS, Shared, join};
use gordon_units::Ns;

/// What a lane's event to come ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Idle,
    /// Reads: cells to registers.
    Sensing,
    /// Reads: a work's data on the bus.
    Sending,
    /// Programs, with a cache register: the data on the bus.
    Loading,
    /// Programs and erases.
    Working,
}

/// Works carried out together; mostly one.
#[derive(Clone, Copy, Debug)]
struct Batch {
    /// The list of those not done.
    head: u32,
    kind: Kind,
    /// One of them is background work or an erase.
    background: bool,
    started: Ns,
}

impl Batch {
    const NONE: Self = Self { head: NONE, kind: Kind::Read, background: false, started: Ns::ZERO };
}

#[derive(Clone, Debug)]
pub(super) struct Lane {
    bus: usize,
    stage: Stage,
    /// What is served.
    front: Batch,
    /// With a cache register: what is served behind it, and when that is sensed or loaded.
    back: Batch,
    back_at: Ns,
    /// When the data on the bus of the work now sending have crossed.
    cursor: Ns,
    /// What waits: all in the first, or where reads go first, these there and others in the second.
    queues: [Queue; 2],
    /// Reads that overtook, since something else was served or nothing else waited.
    overtakings: u32,
    tickets: u32,
    /// Batches of background work started, and of these the ones being served.
    background: u32,
    in_service: u32,
    /// Up to when `busy` counts.
    since: Ns,
    busy: Ns,
}

impl Lane {
    pub fn new(bus: usize) -> Self {
        Self {
            bus,
            stage: Stage::Idle,
            front: Batch::NONE,
            back: Batch::NONE,
            back_at: Ns::ZERO,
            cursor: Ns::ZERO,
            queues: [Queue::EMPTY; 2],
            overtakings: 0,
            tickets: 0,
            background: 0,
            in_service: 0,
            since: Ns::ZERO,
            busy: Ns::ZERO,
        }
    }

    pub fn busy(&self) -> Ns {
        self.busy
    }

    /// Takes a work; the time of the lane's next event where there was none.
    #[inline]
    pub fn accept(&mut self, s: &mut Shared, now: Ns, work: Work) -> Option<Ns> {
        assert!((work.share as usize) < s.costs.shares.len(), "{work:?}: more slots than there are");
        let kind = work.kind.index();
        s.kinds[kind].issued += 1;
        s.waiting[kind] += 1;
        s.waited[kind] = s.waited[kind].wrapping_sub(now.0);
        let ticket = self.tickets;
        self.tickets = ticket.wrapping_add(1);
        let background = self.background.wrapping_sub(self.in_service);
        let at = s.pool.put(Node { work, next: NONE, ticket, background });
        if self.stage == Stage::Idle {
            self.since = now;
            let batch = self.single(s, now, at);
            return Some(self.begin(s, now, batch));
        }
        let queue = usize::from(s.modes.read_first && work.kind != Kind::Read);
        self.queues[queue].push(&mut s.pool, at);
        let ahead = match self.stage {
            Stage::Sending => s.modes.cache_read,
            Stage::Working => s.modes.cache_program && self.front.kind == Kind::Program,
            _ => false,
        };
        if ahead {
            self.ahead(s, now);
        }
        // Still the last that waits?
        if self.queues[queue].last() == Some(at) {
            s.kinds[kind].queued += 1;
        }
        None
    }

    /// The lane's event happens: what it ends, and when the next one is.
    #[inline]
    pub fn advance(&mut self, s: &mut Shared, now: Ns) -> (Option<Done>, Option<Ns>) {
        match self.stage {
            Stage::Sensing => return (None, Some(self.send(s, now))),
            Stage::Loading => return (None, Some(self.work(s, now))),
            Stage::Idle | Stage::Sending | Stage::Working => {}
        }
        let Node { work, next, background, .. } = s.pool.take(self.front.head);
        self.front.head = next;
        let stats = &mut s.kinds[work.kind.index()];
        stats.done += 1;
        stats.served += now - self.front.started;
        let done = Done { work, behind_background: background == 1 };
        if next != NONE {
            if self.stage == Stage::Sending {
                self.cursor += s.costs.shares[s.pool.at(next).work.share as usize].bus;
                return (Some(done), Some(self.cursor));
            }
            return (Some(done), Some(now));
        }
        self.busy += now - self.since;
        self.since = now;
        self.in_service -= u32::from(self.front.background);
        let next = if self.back.head == NONE {
            self.next(s, now).map(|batch| self.begin(s, now, batch))
        } else {
            self.front = self.back;
            self.back = Batch::NONE;
            Some(match (self.front.kind, self.back_at <= now) {
                (Kind::Read, true) => self.send(s, now),
                (_, true) => self.work(s, now),
                (Kind::Read, false) => self.wait_in(Stage::Sensing),
                (_, false) => self.wait_in(Stage::Loading),
            })
        };
        if next.is_none() {
            self.stage = Stage::Idle;
        }
        (Some(done), next)
    }

    /// The batch behind has come to the front before it was sensed or loaded.
    fn wait_in(&mut self, stage: Stage) -> Ns {
        self.stage = stage;
        self.back_at
    }

    /// Serves a batch from its start; when its first event happens.
    #[inline]
    fn begin(&mut self, s: &mut Shared, now: Ns, batch: Batch) -> Ns {
        self.front = batch;
        match batch.kind {
            Kind::Read => {
                self.stage = Stage::Sensing;
                now + s.sensing(batch.head)
            }
            Kind::Program if s.modes.cache_program => {
                self.stage = Stage::Loading;
                self.reserve(s, now, batch)
            }
            Kind::Program => {
                self.stage = Stage::Working;
                self.reserve(s, now, batch) + s.programming(batch.head)
            }
            Kind::Erase => {
                self.stage = Stage::Working;
                self.reserve(s, now, batch) + s.costs.erase
            }
        }
    }

    /// The bus for all of a batch, asked for now; when it is free again.
    #[inline]
    fn reserve(&self, s: &mut Shared, now: Ns, batch: Batch) -> Ns {
        let span = s.on_bus(batch.head);
        s.buses[self.bus].reserve(now, span)
    }

    /// The front is sensed, and its data are to cross the bus; when the first have.
    #[inline]
    fn send(&mut self, s: &mut Shared, now: Ns) -> Ns {
        let head = self.front.head;
        let first = s.costs.shares[s.pool.at(head).work.share as usize].bus;
        let all = s.on_bus(head);
        self.cursor = s.buses[self.bus].reserve(now, all) - all + first;
        self.stage = Stage::Sending;
        if s.modes.cache_read {
            self.ahead(s, now);
        }
        self.cursor
    }

    /// The front's data are in the dies, which program; when they have.
    fn work(&mut self, s: &mut Shared, now: Ns) -> Ns {
        self.stage = Stage::Working;
        let done = now + s.programming(self.front.head);
        self.ahead(s, now);
        done
    }

    /// With a cache register, starts the next batch behind the front, if it is of its kind.
    fn ahead(&mut self, s: &mut Shared, now: Ns) {
        if self.back.head != NONE {
            return;
        }
        let Some(queue) = self.choose(s) else { return };
        if s.pool.at(self.queues[queue].head).work.kind != self.front.kind {
            return;
        }
        self.back = self.form(s, now, queue);
        self.back_at = match self.back.kind {
            Kind::Read => now + s.sensing(self.back.head),
            _ => self.reserve(s, now, self.back),
        };
    }

    /// The next batch, if anything waits.
    #[inline]
    fn next(&mut self, s: &mut Shared, now: Ns) -> Option<Batch> {
        let queue = self.choose(s)?;
        Some(self.form(s, now, queue))
    }

    /// The queue whose first is next.
    #[inline]
    fn choose(&self, s: &Shared) -> Option<usize> {
        match self.queues.map(|queue| queue.head) {
            [NONE, NONE] => None,
            [_, NONE] => Some(0),
            [NONE, _] => Some(1),
            [_, _] if self.overtakings < OVERTAKINGS => Some(0),
            [read, other] => {
                // Fewer than 2^31 wait, so the sign of the difference tells which came first.
                let age = s.pool.at(read).ticket.wrapping_sub(s.pool.at(other).ticket);
                Some(usize::from(age < 1 << 31))
            }
        }
    }

    /// Takes the first of a queue, and what can join it.
    #[inline]
    fn form(&mut self, s: &mut Shared, now: Ns, queue: usize) -> Batch {
        let others = self.queues[1].head != NONE;
        self.overtakings = if queue == 0 && others { self.overtakings + 1 } else { 0 };
        let head = self.queues[queue].unlink(&mut s.pool, NONE);
        if s.modes.multi_plane && self.queues[queue].head != NONE {
            return self.gather(s, now, head, queue);
        }
        self.single(s, now, head)
    }

    /// A batch of one.
    #[inline]
    fn single(&mut self, s: &mut Shared, now: Ns, at: u32) -> Batch {
        s.pool.at_mut(at).next = NONE;
        let started = self.background;
        self.mark(s, now, at, started);
        self.batch(s, now, at)
    }

    /// A batch of `head` and the works of a queue that can join it.
    fn gather(&mut self, s: &mut Shared, now: Ns, head: u32, queue: usize) -> Batch {
        let first = s.pool.at(head).work;
        let started = self.background;
        s.pool.at_mut(head).next = NONE;
        self.mark(s, now, head, started);
        let (mut seen, mut last, mut before) = (s.set(first.block), head, NONE);
        let mut at = self.queues[queue].head;
        while at != NONE && seen != s.sets {
            let Node { work, next, .. } = *s.pool.at(at);
            let set = s.set(work.block);
            // Only the first of each set of planes may come before others.
            let joins = seen & set == 0 && join(s.modes, first, work);
            seen |= set;
            if joins {
                self.queues[queue].unlink(&mut s.pool, before);
                s.pool.at_mut(last).next = at;
                s.pool.at_mut(at).next = NONE;
                self.mark(s, now, at, started);
                s.kinds[work.kind.index()].joined += if last == head { 2 } else { 1 };
                last = at;
            } else {
                before = at;
            }
            at = next;
        }
        self.batch(s, now, head)
    }

    /// A work starts, when so many batches of background work had started before.
    #[inline]
    fn mark(&mut self, s: &mut Shared, now: Ns, at: u32, started: u32) {
        let node = s.pool.at_mut(at);
        let behind = node.background != started;
        node.background = u32::from(behind);
        let kind = node.work.kind.index();
        s.kinds[kind].behind_background += u64::from(behind);
        s.waiting[kind] -= 1;
        s.waited[kind] = s.waited[kind].wrapping_add(now.0);
    }

    /// The batch of a list.
    #[inline]
    fn batch(&mut self, s: &mut Shared, now: Ns, head: u32) -> Batch {
        let background = s.charge(head);
        self.background = self.background.wrapping_add(u32::from(background));
        self.in_service += u32::from(background);
        Batch { head, kind: s.pool.at(head).work.kind, background, started: now }
    }
}
