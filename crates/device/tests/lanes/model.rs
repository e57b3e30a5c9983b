//! The slow way: the same rules on lists that are searched, one event after the other.

use gordon_device::ssd::{Done, Kind, Work};
use gordon_nand::{Layout, Timing};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Sense,
    Send,
    Load,
    Work,
}

struct Waits {
    work: Work,
    issued: Ns,
    behind: bool,
}

struct Batch {
    works: Vec<Waits>,
    started: Ns,
    /// When sensed or loaded.
    ready: Ns,
    /// Any of them, done or not.
    background: bool,
}

#[derive(Default)]
struct Lane {
    queue: Vec<Waits>,
    front: Option<Batch>,
    back: Option<Batch>,
    overtakings: u32,
    busy: Ns,
    since: Ns,
}

pub struct Model {
    layout: Layout,
    timing: Timing,
    slots: u32,
    lanes: Vec<Lane>,
    bus_free: Vec<Ns>,
    pub bus_busy: Vec<Ns>,
    /// When, the order of planning, which lane, what ends. At one instant they happen by lane; but
    /// without a cache register reads first ask for the bus, in the order of their starts.
    events: Vec<(Ns, u64, usize, Phase)>,
    planned: u64,
    pub die_read: Ns,
    pub die_write: Ns,
    pub served: [Ns; 3],
    pub waited: [Ns; 3],
}

impl Model {
    pub fn new(layout: Layout, timing: Timing, slots: u32) -> Self {
        let groups = layout.bus_groups() as usize;
        Self {
            layout,
            timing,
            slots,
            lanes: (0..layout.lanes()).map(|_| Lane::default()).collect(),
            bus_free: vec![Ns(0); groups],
            bus_busy: vec![Ns(0); groups],
            events: vec![],
            planned: 0,
            die_read: Ns(0),
            die_write: Ns(0),
            served: [Ns(0); 3],
            waited: [Ns(0); 3],
        }
    }

    pub fn lane_busy(&self) -> Vec<Ns> {
        self.lanes.iter().map(|lane| lane.busy).collect()
    }

    /// The events, each with what decides when it happens.
    fn in_order(&self) -> impl Iterator<Item = ((Ns, bool, u64), usize)> {
        let first = |phase| phase == Phase::Sense && !self.timing.modes.cache_read;
        self.events.iter().zip(0..).map(move |(&(at, planned, lane, phase), number)| {
            let rank = if first(phase) { planned } else { lane as u64 };
            ((at, !first(phase), rank), number)
        })
    }

    pub fn next_at(&self) -> Option<Ns> {
        self.events.iter().map(|event| event.0).min()
    }

    fn plan(&mut self, at: Ns, lane: usize, phase: Phase) {
        self.events.push((at, self.planned, lane, phase));
        self.planned += 1;
    }

    /// Bus time, dies touched, and bus time summed over pages, of what a work moves. Page by page.
    fn moves(&self, work: &Work) -> (Ns, u64, Ns) {
        let (shape, geometry) = (self.layout.shape(), self.layout.geometry());
        let all_dies = u64::from(self.layout.dies_per_lane());
        if work.kind == Kind::Erase {
            let blocks = u64::from(shape.planes * shape.dies_per_bus);
            return (self.timing.command * blocks, all_dies, Ns(0));
        }
        let share = if work.kind == Kind::Program { self.slots } else { work.share };
        let page = u64::from(geometry.page_bytes);
        let wanted = self.layout.page_bytes().0 * u64::from(share) / u64::from(self.slots);
        let mut buses = vec![Ns(0); shape.buses as usize];
        let mut dies = BTreeSet::new();
        for p in 0..shape.pages() {
            let bytes = wanted.saturating_sub(u64::from(p) * page).min(page);
            if bytes > 0 {
                let with_oob = (bytes * (page + u64::from(geometry.oob_bytes))).div_ceil(page);
                buses[(p % shape.buses) as usize] += self.timing.transfer(Bytes(with_oob));
                dies.insert((p % shape.buses, p / shape.buses / shape.planes));
            }
        }
        let longest = *buses.iter().max().expect("there is a bus");
        (longest, dies.len() as u64, buses.into_iter().sum())
    }

    fn cells(&self, work: &Work) -> Ns {
        match work.kind {
            Kind::Read => self.timing.read.of(work.page),
            Kind::Program => self.timing.program.of(work.page),
            Kind::Erase => self.timing.erase,
        }
    }

    fn set(&self, work: &Work) -> u32 {
        work.block.0 / (self.layout.geometry().blocks_per_plane * self.layout.lanes())
    }

    fn batch_cells(&self, batch: &Batch) -> Ns {
        batch.works.iter().map(|w| self.cells(&w.work)).max().expect("not empty")
    }

    /// Reads that are sensed by now ask for the bus before anything else does.
    fn sensed(&mut self, now: Ns, lane: usize) {
        let layout = self.layout;
        let bus = |lane: usize| layout.bus_group(gordon_nand::LaneId(lane as u32));
        while let Some((_, at)) = self
            .in_order()
            .filter(|&((at, other, _), event)| {
                at <= now && !other && bus(self.events[event].2) == bus(lane)
            })
            .min()
        {
            let (at, _, lane, _) = self.events.remove(at);
            self.send(at, lane);
        }
    }

    fn reserve(&mut self, now: Ns, lane: usize, batch: &Batch) -> Ns {
        if batch.works[0].work.kind != Kind::Read {
            self.sensed(now, lane);
        }
        let span: Ns = batch.works.iter().map(|w| self.moves(&w.work).0).sum();
        let bus = self.layout.bus_group(gordon_nand::LaneId(lane as u32));
        self.bus_free[bus] = self.bus_free[bus].max(now) + span;
        self.bus_busy[bus] += span;
        self.bus_free[bus]
    }

    pub fn issue(&mut self, now: Ns, work: Work) {
        let id = self.layout.lane_of(work.block).index();
        let lane = &mut self.lanes[id];
        let behind = [&lane.front, &lane.back].into_iter().flatten().any(|batch| batch.background);
        lane.queue.push(Waits { work, issued: now, behind });
        if lane.front.is_none() {
            lane.since = now;
            self.start(now, id);
        } else {
            let phase = self.events.iter().find(|event| event.2 == id).expect("it is busy").3;
            self.ahead(now, id, phase);
        }
    }

    /// Which of the queue is next.
    fn choose(&self, id: usize) -> Option<usize> {
        let lane = &self.lanes[id];
        let read = lane.queue.iter().position(|w| w.work.kind == Kind::Read);
        let other = lane.queue.iter().position(|w| w.work.kind != Kind::Read);
        match (read, other) {
            _ if !self.timing.modes.read_first => (!lane.queue.is_empty()).then_some(0),
            (Some(_), Some(_)) if lane.overtakings >= 16 => Some(0),
            (Some(read), _) => Some(read),
            (None, other) => other,
        }
    }

    fn form(&mut self, now: Ns, id: usize, at: usize) -> Batch {
        let first = self.lanes[id].queue.remove(at);
        let work = first.work;
        let modes = self.timing.modes;
        let others = self.lanes[id].queue.iter().any(|w| w.work.kind != Kind::Read);
        let overtakes = modes.read_first && work.kind == Kind::Read && others;
        self.lanes[id].overtakings = if overtakes { self.lanes[id].overtakings + 1 } else { 0 };
        let mut works = vec![first];
        if modes.multi_plane {
            let mut seen = BTreeSet::from([self.set(&work)]);
            let mut at = 0;
            while at < self.lanes[id].queue.len() {
                let other = self.lanes[id].queue[at].work;
                let reads = (work.kind == Kind::Read, other.kind == Kind::Read);
                // Reads that go first are a queue of their own.
                let same_queue = !modes.read_first || reads.0 == reads.1;
                if !same_queue || !seen.insert(self.set(&other)) {
                    at += 1;
                    continue;
                }
                let any_page = work.kind == Kind::Erase || reads.0 && modes.independent_reads;
                if other.kind == work.kind && (any_page || other.page == work.page) {
                    works.push(self.lanes[id].queue.remove(at));
                } else {
                    at += 1;
                }
            }
        }
        let background = works.iter().any(|w| w.work.background || w.work.kind == Kind::Erase);
        let batch = Batch { works, started: now, ready: Ns(0), background };
        if background {
            self.lanes[id].queue.iter_mut().for_each(|w| w.behind = true);
        }
        for w in &batch.works {
            self.waited[w.work.kind.index()] += now - w.issued;
        }
        let moves: Vec<_> = batch.works.iter().map(|w| self.moves(&w.work)).collect();
        let dies = moves.iter().map(|m| m.1).max().expect("not empty");
        let time = self.batch_cells(&batch) * dies + moves.iter().map(|m| m.2).sum::<Ns>();
        if work.kind == Kind::Read {
            self.die_read += time
        } else {
            self.die_write += time
        }
        batch
    }

    fn start(&mut self, now: Ns, id: usize) {
        let Some(at) = self.choose(id) else { return };
        let batch = self.form(now, id, at);
        let cells = self.batch_cells(&batch);
        match batch.works[0].work.kind {
            Kind::Read => self.plan(now + cells, id, Phase::Sense),
            Kind::Program if self.timing.modes.cache_program => {
                let loaded = self.reserve(now, id, &batch);
                self.plan(loaded, id, Phase::Load);
            }
            _ => {
                let loaded = self.reserve(now, id, &batch);
                self.plan(loaded + cells, id, Phase::Work);
            }
        }
        self.lanes[id].front = Some(batch);
    }

    /// The cache register takes the next batch, if it may.
    fn ahead(&mut self, now: Ns, id: usize, phase: Phase) {
        let kind = self.lanes[id].front.as_ref().expect("it is busy").works[0].work.kind;
        let may = match phase {
            Phase::Send => self.timing.modes.cache_read,
            Phase::Work => self.timing.modes.cache_program && kind == Kind::Program,
            Phase::Sense | Phase::Load => false,
        };
        let Some(at) = self.choose(id) else { return };
        let same = self.lanes[id].queue[at].work.kind == kind;
        if may && same && self.lanes[id].back.is_none() {
            let mut batch = self.form(now, id, at);
            batch.ready = match kind {
                Kind::Read => now + self.batch_cells(&batch),
                _ => self.reserve(now, id, &batch),
            };
            self.lanes[id].back = Some(batch);
        }
    }

    fn send(&mut self, now: Ns, id: usize) {
        let front = self.lanes[id].front.take().expect("it is busy");
        let end = self.reserve(now, id, &front);
        let spans: Vec<_> = front.works.iter().map(|w| self.moves(&w.work).0).collect();
        let first = end - spans.iter().copied().sum() + spans[0];
        self.lanes[id].front = Some(front);
        // What may start behind it does so before the end is planned.
        self.ahead(now, id, Phase::Send);
        self.plan(first, id, Phase::Send);
    }

    fn program(&mut self, now: Ns, id: usize) {
        let cells = self.batch_cells(self.lanes[id].front.as_ref().expect("it is busy"));
        self.ahead(now, id, Phase::Work);
        self.plan(now + cells, id, Phase::Work);
    }

    pub fn step(&mut self) -> (Ns, Option<Done>) {
        let (_, first) = self.in_order().min().expect("an event");
        let (now, _, id, phase) = self.events.remove(first);
        match phase {
            Phase::Sense => {
                self.send(now, id);
                return (now, None);
            }
            Phase::Load => {
                self.program(now, id);
                return (now, None);
            }
            Phase::Send | Phase::Work => {}
        }
        let front = self.lanes[id].front.as_mut().expect("it is busy");
        let Waits { work, behind, .. } = front.works.remove(0);
        self.served[work.kind.index()] += now - front.started;
        if let Some(next) = front.works.first().map(|w| w.work) {
            let wait = if phase == Phase::Send { self.moves(&next).0 } else { Ns(0) };
            self.plan(now + wait, id, phase);
        } else {
            let lane = &mut self.lanes[id];
            lane.busy += now - lane.since;
            lane.since = now;
            lane.front = lane.back.take();
            match &lane.front {
                None => self.start(now, id),
                Some(batch) => {
                    let ready = batch.ready;
                    match (phase, ready <= now) {
                        (Phase::Send, true) => self.send(now, id),
                        (Phase::Send, false) => self.plan(ready, id, Phase::Sense),
                        (_, true) => self.program(now, id),
                        (_, false) => self.plan(ready, id, Phase::Load),
                    }
                }
            }
        }
        (now, Some(Done { work, behind_background: behind }))
    }
}
