//! Simulates an application on a cluster: a list schedule of its tasks. Tasks of the same node
//! share its cores, its storage and its link.
//!
//! Stages start when what they wait for has ended and the driver has submitted them; the tasks of
//! an earlier stage start first, in their recorded order, each on the node with the fewest busy
//! slots of those that it may run on (`placing`). Of equal nodes the first one is taken, so that no
//! node has a task before those ahead of it have had one: a node is added to the simulation once
//! the one ahead of it is in use, and a large cluster costs no more than the part of it that has
//! tasks.
//!
//! A task computes, waits for the bytes that it waited for when it was recorded, and computes
//! again; the point at which it waits differs from task to task, so that those that start together
//! do not all wait for the same device. Storage and link move its other bytes meanwhile. It ends
//! when both are done.

use super::application::Application;
use super::demand::TaskDemand;
use super::node::{Cluster, Part, Parts, TaskPhases};
use super::placing::Waiting;
use super::station::Station;
use super::{key, turn};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Seconds of the application.
    pub time: f64,
    /// What the chain of tasks that ended last waited for; adds up to `time`.
    pub parts: Parts,
    /// Seconds of cores that were busy.
    pub busy: f64,
    /// The stages, in their order.
    pub stages: Vec<StageOutcome>,
}

impl Outcome {
    /// The computing of the chain that ended last, for each second of that of the chains of all
    /// stages: below 1 where stages overlap.
    pub fn alone(&self) -> f64 {
        let all: f64 = self.stages.iter().map(|stage| computing(&stage.chain)).sum();
        if all > 0.0 { (computing(&self.parts) / all).min(1.0) } else { 1.0 }
    }
}

/// Seconds of computing among these parts.
pub fn computing(parts: &Parts) -> f64 {
    let of = |part: Part| parts[part as usize];
    of(Part::Compute) + of(Part::WarmUp) + of(Part::Uncounted) + of(Part::Gc)
}

/// A simulated stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageOutcome {
    /// When its tasks could start.
    pub ready: f64,
    /// When the last one ended.
    pub ended: f64,
    /// The longest task.
    pub longest: f64,
    /// Seconds of all tasks, by part.
    pub tasks: Parts,
    /// What it took of the chain of tasks that ended last.
    pub chain: Parts,
}

const CORES: u32 = 0;
const LINK: u32 = 1;
const STORAGE: u32 = 2;
const STATIONS: u32 = 3;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An executor has started; one of its slots.
    Executor(u32),
    /// The driver has submitted a stage.
    Stage(u32),
    /// The tasks of a stage no longer wait for a slot near their data.
    Anywhere(u32),
    /// The seconds of a task that nothing shortens are over.
    Fixed(u32),
    /// A task of a station is done, if the station has not changed.
    Station(u32, u32),
}

/// A step of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Step {
    #[default]
    Fixed,
    First,
    Disk,
    Second,
    /// Waiting for the bytes that are moved behind the task's computing.
    Behind,
}

/// Whether bytes are moved behind the computing of a task.
#[derive(Clone, Copy)]
enum Behind {
    No = 0,
    Yes = 1,
}

/// A slot and its task.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    task: u32,
    stage: u32,
    /// The stage whose tasks it has run last.
    warm_for: Option<u32>,
    step: Step,
    /// When its task started.
    started: f64,
    /// When its step started, or when it became free.
    since: f64,
    phases: TaskPhases,
    warm_up: f64,
    /// Resources that still move bytes behind its computing.
    behind: u8,
    /// Whether the last of them is the link.
    is_behind_link: bool,
    /// What the chain of tasks up to its task waited for.
    chain: Parts,
    /// Seconds of its task, by part.
    spent: Parts,
}

impl Slot {
    fn computing(&self) -> f64 {
        self.phases.compute + self.phases.uncounted + self.warm_up + self.phases.recompute
    }

    /// The next step, with its station and what it needs of it.
    fn step_after(&self) -> Option<(Step, u32, f64)> {
        Some(match self.step {
            Step::Fixed => (Step::First, CORES, self.computing() * turn(self.task)),
            Step::First => (Step::Disk, STORAGE, self.phases.disk),
            Step::Disk => (Step::Second, CORES, self.computing() * (1.0 - turn(self.task))),
            Step::Second | Step::Behind => return None,
        })
    }

    /// Adds the time of the step that ends now.
    fn end_step(&mut self, now: f64) {
        let secs = now - self.since;
        self.since = now;
        let computing = self.computing();
        let phases = &self.phases;
        let mut add = |part: Part, secs: f64| self.spent[part as usize] += secs;
        match self.step {
            Step::Fixed => {
                add(Part::Scheduling, phases.scheduling);
                add(Part::Gc, phases.gc);
                add(Part::Network, phases.fetch);
            }
            Step::First | Step::Second => {
                let of_all = secs / computing;
                add(Part::Compute, phases.compute * of_all);
                add(Part::Uncounted, phases.uncounted * of_all);
                add(Part::WarmUp, self.warm_up * of_all);
                add(Part::Recompute, phases.recompute * of_all);
            }
            Step::Behind if self.is_behind_link => add(Part::Network, secs),
            Step::Behind => add(Part::Disk, secs),
            Step::Disk => {
                add(Part::Spill, secs * phases.spill);
                add(Part::Recompute, secs * phases.evicted);
                add(Part::Disk, secs * (1.0 - phases.spill - phases.evicted));
            }
        }
    }
}

/// How far a stage is.
#[derive(Clone, Debug, Default)]
struct Progressing {
    /// Number of stages that it still waits for.
    waits_for: u32,
    /// Its tasks that have not started, once it is submitted.
    waiting: Waiting,
    /// Number of tasks that have not ended.
    left: usize,
    /// When it was submitted, and what its submission waited for.
    ready_at: f64,
    ready: Parts,
}

/// The state of a simulation, which another one can use again.
#[derive(Debug, Default)]
pub struct Simulator {
    events: BinaryHeap<Reverse<(u64, Event)>>,
    stations: Vec<Station>,
    slots: Vec<Slot>,
    /// Free slots of each node, and the number of busy ones.
    free: Vec<Vec<u32>>,
    /// Nodes with a free slot: the number of busy ones, and the node.
    open: BTreeSet<(u32, u32)>,
    busy: Vec<u32>,
    stages: Vec<Progressing>,
    /// Submitted stages with tasks that have not started.
    pending: BTreeSet<u32>,
    /// The node of each task that has started.
    ran_on: Vec<Option<u32>>,
    outcome: Outcome,
}

/// What a simulation does not change.
struct Run<'a> {
    application: &'a Application,
    demands: &'a [TaskDemand],
    cluster: &'a Cluster,
}

impl Run<'_> {
    /// What each task of a station gets a second.
    fn rate(&self, station: u32, tasks: u32) -> f64 {
        match station % STATIONS {
            CORES => self.cluster.node.speeds.each(tasks),
            _ => 1.0 / f64::from(tasks.max(1)),
        }
    }
}

/// Seconds that no number of nodes such as those of `cluster` removes: the longest chain of stages,
/// each with the driver's time before it and its longest task alone on a node.
pub fn critical_path(application: &Application, demands: &[TaskDemand], cluster: &Cluster) -> f64 {
    let node = &cluster.node;
    // A task alone meets no other one on a disk.
    let apart = Cluster { is_scattered: false, ..cluster.clone() };
    let startup = application.startup * node.startup_ratio;
    let mut ends: Vec<f64> = Vec::with_capacity(application.stages.len());
    for stage in &application.stages {
        let after = stage.after.iter().map(|at| ends[*at]).fold(0.0, f64::max);
        let since = if stage.after_startup { startup } else { after };
        let submitted = since + stage.driver * node.driver_ratio;
        let alone = |task: &TaskDemand| TaskPhases::of(task, &apart).alone(node);
        let longest = demands[stage.tasks.clone()].iter().map(alone).fold(0.0, f64::max);
        ends.push(submitted.max(startup) + longest);
    }
    let [driver, disk] = tail(application, cluster);
    ends.into_iter().fold(0.0, f64::max) + driver + disk
}

/// Seconds of the driver, and of writing back, after the last stage.
fn tail(application: &Application, cluster: &Cluster) -> [f64; 2] {
    let node = &cluster.node;
    let rate = node.storage[1] * f64::from(cluster.nodes);
    [application.tail * node.driver_ratio, application.written_back / rate]
}

impl Simulator {
    /// Runs `application`, whose tasks have these demands, on `cluster`.
    pub fn run(
        &mut self,
        application: &Application,
        demands: &[TaskDemand],
        cluster: &Cluster,
    ) -> &Outcome {
        let run = Run { application, demands, cluster };
        self.start(&run);
        let mut last = (0.0, Parts::default());
        while let Some(Reverse((at, event))) = self.events.pop() {
            let now = f64::from_bits(at);
            match event {
                Event::Stage(stage) => {
                    let at = stage as usize;
                    let is_held = |task: usize| !run.demands[task].is_evicted(&cluster.node.held);
                    let of = &application.stages[at];
                    self.stages[at].waiting =
                        Waiting::of(application, of, &self.ran_on, is_held, now);
                    self.stages[at].ready_at = now;
                    self.outcome.stages[at].ready = now;
                    self.pending.insert(stage);
                    self.dispatch(&run, now);
                }
                Event::Anywhere(stage) => {
                    self.stages[stage as usize].waiting.end_patience();
                    self.dispatch(&run, now);
                }
                Event::Executor(slot) => {
                    self.start_slot(&run, slot, now);
                    // Tasks go to the slots of all executors that start now.
                    let next = self.events.peek();
                    if !matches!(next, Some(Reverse((then, Event::Executor(_)))) if *then == at) {
                        self.dispatch(&run, now);
                    }
                }
                Event::Fixed(slot) => self.next_step(&run, slot, now, &mut last),
                Event::Station(station, version) => {
                    let held = &mut self.stations[station as usize];
                    if held.version != version {
                        continue;
                    }
                    let rate = run.rate(station, held.len());
                    if let Some(job) = held.leave(now, rate) {
                        self.watch(&run, station);
                        let is_link = station % STATIONS == LINK;
                        self.station_done(&run, (job, is_link), now, &mut last);
                    }
                }
            }
        }
        let [driver, disk] = tail(application, cluster);
        let (mut time, mut parts) = last;
        time += driver + disk;
        parts[Part::Driver as usize] += driver;
        parts[Part::Disk as usize] += disk;
        (self.outcome.time, self.outcome.parts) = (time, parts);
        &self.outcome
    }

    fn start(&mut self, run: &Run<'_>) {
        let (application, cluster) = (run.application, run.cluster);
        self.events.clear();
        self.stations.clear();
        self.slots.clear();
        self.free.clear();
        self.busy.clear();
        self.open.clear();
        self.pending.clear();
        self.ran_on.clear();
        self.ran_on.resize(run.demands.len(), None);
        self.outcome.busy = 0.0;
        self.outcome.stages.clear();
        self.outcome.stages.resize(application.stages.len(), StageOutcome::default());
        self.stages.clear();
        let startup = application.startup * cluster.node.startup_ratio;
        self.add_node(run, f64::NEG_INFINITY);
        for (at, stage) in application.stages.iter().enumerate() {
            let waits_for = u32::try_from(stage.after.len()).unwrap_or(u32::MAX);
            let left = stage.tasks.len();
            self.stages.push(Progressing { waits_for, left, ..Progressing::default() });
            if stage.after.is_empty() {
                let mut chain = Parts::default();
                if stage.after_startup {
                    chain[Part::Startup as usize] = startup;
                }
                self.submit(run, at, chain, if stage.after_startup { startup } else { 0.0 });
            }
        }
    }

    /// Adds the next node, if any, with the executors that have started by now; others start later.
    fn add_node(&mut self, run: &Run<'_>, now: f64) {
        let (application, cluster) = (run.application, run.cluster);
        let node = &cluster.node;
        let at = u32::try_from(self.busy.len()).unwrap_or(u32::MAX);
        if at >= cluster.nodes {
            return;
        }
        self.stations.extend((0..STATIONS).map(|_| Station::default()));
        self.slots.resize(self.slots.len() + node.slots as usize, Slot::default());
        self.free.push(Vec::new());
        self.busy.push(node.slots);
        // Executors start by turns of the nodes, each after the recorded delay of its number.
        let startup = application.startup * node.startup_ratio;
        let of_each = node.slots / node.executor_slots.max(1);
        for of_node in 0..of_each {
            let (number, count) = (of_node * cluster.nodes + at, of_each * cluster.nodes);
            let delay = application.executors.delay(number, count);
            let start = startup + delay * node.startup_ratio;
            let first = at * node.slots + of_node * node.executor_slots;
            for slot in first..first + node.executor_slots {
                if start <= now {
                    self.start_slot(run, slot, start);
                } else {
                    self.events.push(Reverse((key(start), Event::Executor(slot))));
                }
            }
        }
    }

    /// Starts the executor of a slot, and frees the slot.
    fn start_slot(&mut self, run: &Run<'_>, slot: u32, start: f64) {
        let place = &mut self.slots[slot as usize];
        place.chain[Part::Startup as usize] = start;
        place.since = start;
        self.release(run, slot);
    }

    /// Submits a stage after the driver's time; `chain` adds up to `now`.
    fn submit(&mut self, run: &Run<'_>, stage: usize, mut chain: Parts, now: f64) {
        let driver = run.application.stages[stage].driver * run.cluster.node.driver_ratio;
        chain[Part::Driver as usize] += driver;
        self.stages[stage].ready = chain;
        let number = u32::try_from(stage).unwrap_or(u32::MAX);
        self.events.push(Reverse((key(now + driver), Event::Stage(number))));
    }

    /// Starts waiting tasks in free slots.
    fn dispatch(&mut self, run: &Run<'_>, now: f64) {
        let mut next = self.pending.first().copied();
        while let (Some(stage), false) = (next, self.open.is_empty()) {
            let waiting = &self.stages[stage as usize].waiting;
            let found = self.open.iter().find(|(_, node)| waiting.may_start_on(*node)).copied();
            match found {
                Some((_, node)) => self.dispatch_to(run, stage, node, now),
                None => {
                    if let Some(until) = self.stages[stage as usize].waiting.leave_unused() {
                        self.events.push(Reverse((key(until.max(now)), Event::Anywhere(stage))));
                    }
                    next = self.pending.range(stage + 1..).next().copied();
                    continue;
                }
            }
            next = self.pending.range(stage..).next().copied();
        }
    }

    /// Starts a task of a stage on a node.
    fn dispatch_to(&mut self, run: &Run<'_>, stage: u32, node: u32, now: f64) {
        let slot = self.free[node as usize].pop().expect("an open node has a free slot");
        let busy = self.busy[node as usize];
        self.open.remove(&(busy, node));
        self.busy[node as usize] = busy + 1;
        if !self.free[node as usize].is_empty() {
            self.open.insert((busy + 1, node));
        }
        let ready = &self.stages[stage as usize];
        let place = &mut self.slots[slot as usize];
        // A slot that was free before waited for the stage; otherwise the task for the slot.
        if place.since <= ready.ready_at {
            place.chain = ready.ready;
            place.since = ready.ready_at;
        }
        place.chain[Part::Scheduling as usize] += now - place.since;
        self.launch(run, slot, stage, now);
        if node as usize + 1 == self.busy.len() {
            self.add_node(run, now);
        }
    }

    /// Frees a slot.
    fn release(&mut self, run: &Run<'_>, slot: u32) {
        let node = slot / run.cluster.node.slots;
        let busy = self.busy[node as usize];
        self.open.remove(&(busy, node));
        self.busy[node as usize] = busy - 1;
        self.free[node as usize].push(slot);
        self.open.insert((busy - 1, node));
    }

    fn launch(&mut self, run: &Run<'_>, slot: u32, stage: u32, now: f64) {
        let node = slot / run.cluster.node.slots;
        let waiting = &mut self.stages[stage as usize].waiting;
        let task = waiting.take(node, now);
        if waiting.is_empty() {
            self.pending.remove(&stage);
        }
        self.ran_on[task] = Some(node);
        let phases = TaskPhases::of(&run.demands[task], run.cluster);
        let place = &mut self.slots[slot as usize];
        place.task = u32::try_from(task).unwrap_or(u32::MAX);
        place.stage = stage;
        place.step = Step::Fixed;
        (place.started, place.since, place.phases) = (now, now, phases);
        let is_warm = place.warm_for == Some(stage);
        place.warm_up = if is_warm { 0.0 } else { run.demands[task].warm_up };
        place.warm_for = Some(stage);
        place.spent = Parts::default();
        place.behind = 0;
        let fixed = phases.scheduling + phases.gc + phases.fetch;
        self.events.push(Reverse((key(now + fixed), Event::Fixed(slot))));
        for (station, demand) in [STORAGE, LINK].into_iter().zip(phases.behind) {
            if demand > 0.0 {
                self.slots[slot as usize].behind += 1;
                self.join(run, slot, station, demand, now, Behind::Yes);
            }
        }
    }

    /// Adds the demand of a slot's task to a station of its node.
    fn join(&mut self, run: &Run<'_>, slot: u32, station: u32, demand: f64, now: f64, is: Behind) {
        let at = slot / run.cluster.node.slots * STATIONS + station;
        let held = &mut self.stations[at as usize];
        let rate = run.rate(at, held.len());
        held.join(now, rate, demand, slot * 2 + is as u32);
        self.watch(run, at);
    }

    /// Takes what a station has done.
    fn station_done(
        &mut self,
        run: &Run<'_>,
        (job, is_link): (u32, bool),
        now: f64,
        last: &mut (f64, Parts),
    ) {
        let slot = job / 2;
        if job % 2 == Behind::No as u32 {
            return self.next_step(run, slot, now, last);
        }
        let place = &mut self.slots[slot as usize];
        place.behind -= 1;
        place.is_behind_link = is_link;
        if place.behind == 0 && place.step == Step::Behind {
            place.end_step(now);
            self.finish(run, slot, now, last);
        }
    }

    /// Ends the step of a slot's task, and starts the next one that takes time.
    fn next_step(&mut self, run: &Run<'_>, slot: u32, now: f64, last: &mut (f64, Parts)) {
        let place = &mut self.slots[slot as usize];
        if now > place.since {
            place.end_step(now);
        }
        while let Some((step, station, demand)) = place.step_after() {
            place.step = step;
            if demand > 0.0 {
                return self.join(run, slot, station, demand, now, Behind::No);
            }
        }
        place.step = Step::Behind;
        if place.behind == 0 {
            self.finish(run, slot, now, last);
        }
    }

    /// Plans the event of the station's next task.
    fn watch(&mut self, run: &Run<'_>, station: u32) {
        let held = &self.stations[station as usize];
        if let Some(at) = held.next(run.rate(station, held.len())) {
            self.events.push(Reverse((key(at), Event::Station(station, held.version))));
        }
    }

    fn finish(&mut self, run: &Run<'_>, slot: u32, now: f64, last: &mut (f64, Parts)) {
        let place = &mut self.slots[slot as usize];
        for (sum, spent) in place.chain.iter_mut().zip(place.spent) {
            *sum += spent;
        }
        let stage = place.stage as usize;
        let outcome = &mut self.outcome.stages[stage];
        outcome.longest = outcome.longest.max(now - place.started);
        for (sum, spent) in outcome.tasks.iter_mut().zip(place.spent) {
            *sum += spent;
        }
        let computing = [Part::Compute, Part::WarmUp, Part::Uncounted, Part::Gc, Part::Recompute];
        self.outcome.busy += computing.iter().map(|part| place.spent[*part as usize]).sum::<f64>();
        place.since = now;
        let chain = place.chain;
        *last = (now, chain);
        let progress = &mut self.stages[stage];
        progress.left -= 1;
        if progress.left == 0 {
            outcome.ended = now;
            let ready = progress.ready;
            for ((part, end), start) in outcome.chain.iter_mut().zip(chain).zip(ready) {
                *part = end - start;
            }
            for &follower in &run.application.stages[stage].before {
                self.stages[follower].waits_for -= 1;
                if self.stages[follower].waits_for == 0 {
                    self.submit(run, follower, chain, now);
                }
            }
        }
        self.release(run, slot);
        self.dispatch(run, now);
    }
}
