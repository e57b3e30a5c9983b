//! Time, energy, price and limits of machines, by the `job` model and by the paper's.
//!
//! Designs at the same place are prepared together; for the `job` model, those with the same cores
//! but for their speed. Choices compare the upper ends of ranges: where ranges do not overlap, the
//! estimates have the same order. A machine whose memory may be too small is not a candidate.

use super::MachineSurvey;
use super::load::{TraceReference, lone_gain, read_bandwidth};
use super::space::{MachineDesign, MachineSpace, Place};
use crate::alignment::Lags;
use crate::config::Model;
use crate::designs::{
    JOB_LIMITS, JobDesign, JobGroup, JobLoad, PAPER_LIMITS, PaperDesign, PaperGroup, PaperLimits,
    PaperLoad, Rate,
};
use crate::job::{Cores, RANGE_SOURCES, UNKNOWN_SPEED, speed_error};
use crate::job_stream::{JobStream, MemoryFit};
use crate::machine::Machine;
use crate::measured::MeasuredStorage;
use crate::node::{NodePower, Power, StoragePower};
use crate::report::{JobReport, MachineOutcome, MachineReport, StageOnDesign};
use crate::select::{Choice, Chunk, chunks, in_groups};
use crate::simulate::ClusterOutcome;
use crate::stages::StageWindow;
use std::collections::BTreeMap;

/// Names of designs by the `job` model, then by the paper's: least average power, most work per
/// joule, least time; each of all machines, and of those with disks.
const NAMES: [&str; 9] = [
    "fastest",
    "cheapest",
    "least-energy",
    "MinP",
    "MaxE",
    "MinT",
    "MinP-disk",
    "MaxE-disk",
    "MinT-disk",
];
/// Number of names.
pub(super) const NAME_COUNT: usize = NAMES.len();
pub(super) const FASTEST: usize = 0;
const CHEAPEST: usize = 1;
const LEAST_ENERGY: usize = 2;
const PAPER_NAMES: usize = 3;
const PAPER_DISK_NAMES: usize = 6;

/// How much longer than the fastest design the recommended one may take.
pub(super) const SLACK: f64 = 0.1;

/// Hours of a month for which the price of a volume is.
const HOURS_OF_MONTH: f64 = 730.0;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Choices of a recommendation.
pub(super) const CHEAPEST_NEAR: usize = 0;
pub(super) const LEAST_ENERGY_NEAR: usize = 1;

/// The traces at all places.
pub(super) enum Loads {
    Job(Vec<JobLoad>),
    Paper(Vec<PaperLoad>, Vec<PaperLimits>),
}

/// The traces, and what is known of the machines that they were recorded on.
#[derive(Clone, Copy)]
pub(super) struct Traced<'a> {
    pub streams: &'a [JobStream],
    /// By stream.
    pub references: &'a [TraceReference<'a>],
}

impl Traced<'_> {
    /// Whether a machine with this memory holds the node that needs most.
    pub fn fit(&self, machine: &Machine) -> MemoryFit {
        let fits = self.streams.iter().map(|stream| stream.memory.fit(*machine.memory));
        fits.max().unwrap_or(MemoryFit::Unknown)
    }

    /// Error of the speed of a machine relative to the traced ones, as a logarithm.
    fn speed_error(&self, machine: &Machine) -> f64 {
        let of = |reference: &TraceReference<'_>| match reference.is_assumed {
            false => speed_error(*machine.core_speed / reference.speed),
            true => UNKNOWN_SPEED,
        };
        self.references.iter().map(of).fold(0.0, f64::max)
    }

    /// Size of a node's volume in whole GiB: that of the data that the trace touched.
    #[allow(clippy::cast_precision_loss)]
    fn volume_gib(&self) -> f64 {
        let bytes = self.streams.iter().map(|stream| stream.stream.footprint.touched());
        (bytes.max().unwrap_or_default().0 as f64 / GIB).ceil()
    }

    /// Bytes that a node reads again, at most, because a machine has less memory.
    #[allow(clippy::cast_precision_loss)]
    fn read_again(&self, machine: &Machine) -> f64 {
        let bytes = self.streams.iter().map(|s| s.memory.read_again(*machine.memory));
        bytes.max().unwrap_or_default().0 as f64
    }
}

/// Machines at the places that their traces were replayed at.
pub(super) struct Evaluator<'a> {
    pub survey: &'a MachineSurvey,
    pub space: &'a MachineSpace<'a>,
    pub loads: Loads,
    pub traced: Traced<'a>,
    /// By place: bytes a second of sequential reads; `None` if they are unknown.
    read_bandwidths: Vec<Option<f64>>,
    /// Size of a node's volume.
    volume_gib: f64,
    /// By place: simulated storage.
    storages: Vec<Option<StoragePower>>,
    /// Numbers of the designs of each group.
    groups: Vec<Vec<usize>>,
    compared: Compared,
}

/// What the front compares.
#[derive(Clone, Copy)]
struct Compared {
    /// Only designs with a price are compared.
    priced_only: bool,
    /// Whether all designs that are compared have a price.
    price: bool,
    /// Whether all designs that are compared have a power. An unknown energy can neither beat
    /// another nor be beaten.
    energy: bool,
}

/// Designs of a group, prepared.
pub(super) enum Group<'a> {
    Job(JobGroup<'a>),
    Paper(Box<PaperGroup>, &'a PaperLimits),
}

/// Idle time, which no machine shortens.
pub(super) struct Floor {
    pub secs: f64,
    pub share: f64,
}

/// What choices compare: the upper end of the time, and energy and price of that time.
struct Figures {
    time: f64,
    energy: Option<f64>,
    price: Option<f64>,
}

/// What distinguishes the groups of the `job` model at a place.
type CoresKey = (u32, u32, Option<u64>);

impl<'a> Evaluator<'a> {
    /// Prepares the designs; `storages` holds the power of the simulated storage of each place.
    pub fn new(
        survey: &'a MachineSurvey,
        space: &'a MachineSpace<'a>,
        loads: Loads,
        traced: Traced<'a>,
        storages: Vec<Option<StoragePower>>,
        part_times: impl Fn(usize) -> Option<&'a MeasuredStorage>,
    ) -> Self {
        let machines = || survey.machines.iter();
        let priced_only = machines().any(|machine| machine.price_per_hour.is_some());
        let is_compared = |m: &&Machine| !priced_only || m.price_per_hour.is_some();
        let compared = Compared {
            priced_only,
            price: priced_only,
            energy: machines().filter(is_compared).all(|machine| power(machine).is_some()),
        };
        let bandwidth = |(at, place): (usize, &Place<'a>)| {
            let measured = place.storage.measured.as_ref();
            let measured = measured.and_then(|file| survey.measured.get(file));
            read_bandwidth(place.storage, part_times(at), measured)
        };
        let read_bandwidths = space.places.iter().enumerate().map(bandwidth).collect();
        let mut made = Self {
            survey,
            space,
            loads,
            traced,
            read_bandwidths,
            volume_gib: traced.volume_gib(),
            storages,
            groups: Vec::new(),
            compared,
        };
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, design) in space.designs.iter().enumerate() {
            groups.entry(made.group_key(design)).or_default().push(number);
        }
        made.groups = groups.into_values().collect();
        made
    }

    /// The place and the cores; with the paper's model none, because the number of cores only
    /// multiplies the speed.
    fn group_key(&self, design: &MachineDesign<'_>) -> (usize, CoresKey) {
        let Cores { count, threads, single } = match self.loads {
            Loads::Job(_) => cores(design.machine),
            Loads::Paper(..) => Cores::uniform(0),
        };
        (design.place, (count, threads, single.map(f64::to_bits)))
    }

    /// The design, for the `job` model.
    pub(super) fn job_design(&self, design: &MachineDesign<'_>) -> JobDesign {
        let machine = design.machine;
        let bandwidth = self.read_bandwidths[design.place];
        let reread = bandwidth.map_or(0.0, |rate| self.traced.read_again(machine) / rate);
        JobDesign {
            speed: *machine.core_speed,
            speed_error: self.traced.speed_error(machine),
            reread,
            power: power(machine),
            rate: self.rate(machine),
        }
    }

    /// What a machine costs, with a volume that holds the data of the trace.
    fn rate(&self, machine: &Machine) -> Option<Rate> {
        let per_hour = **machine.price_per_hour.as_ref()?;
        let volume = machine
            .volume_price_per_gib_month
            .as_ref()
            .map_or(0.0, |price| **price * self.volume_gib / HOURS_OF_MONTH);
        let minimum = machine.minimum_billing.as_ref().map_or(0.0, |time| time.as_secs());
        Some(Rate { per_hour: per_hour + volume, minimum })
    }

    /// All designs, in groups.
    pub fn chunks(&self) -> Vec<Chunk> {
        chunks(self.groups.iter().map(Vec::len))
    }

    /// Number of objectives of the front.
    pub fn objectives(&self) -> usize {
        1 + usize::from(self.compared.price) + usize::from(self.compared.energy)
    }

    pub(super) fn members(&self, chunk: &Chunk) -> &[usize] {
        &self.groups[chunk.group][chunk.members.clone()]
    }

    pub(super) fn group(&self, design: &MachineDesign<'_>) -> Group<'_> {
        let place = design.place;
        match &self.loads {
            Loads::Job(loads) => Group::Job(JobGroup::new(&loads[place], cores(design.machine))),
            Loads::Paper(loads, limits) => {
                let node = NodePower::of_machine(self.storages[place]);
                Group::Paper(Box::new(PaperGroup::new(&loads[place], &node)), &limits[place])
            }
        }
    }

    pub(super) fn price(&self, design: &MachineDesign<'_>, secs: f64) -> Option<f64> {
        self.rate(design.machine).map(|rate| rate.price(self.survey.nodes, secs))
    }

    fn figures(&self, group: &Group<'_>, design: &MachineDesign<'_>) -> Figures {
        let (time, energy) = match group {
            Group::Job(group) => {
                let own = self.job_design(design);
                let time = group.upper_end(&own);
                (time, group.energy(&own, time))
            }
            Group::Paper(group, _) => {
                let own = paper_design(design);
                let outcome = match self.survey.model {
                    Model::Stages => group.stages(&own),
                    Model::Job | Model::Paper => group.sync(&own),
                };
                let energy = power(design.machine).map(|_| outcome.energy.total().0);
                (outcome.time, energy)
            }
        };
        Figures { time, energy, price: self.price(design, time) }
    }

    /// Calls `take` with the number, the design and the figures of each candidate of a chunk.
    fn each(&self, chunk: &Chunk, mut take: impl FnMut(u64, &MachineDesign<'_>, Figures)) {
        let members = self.members(chunk);
        let Some(first) = members.first() else {
            return;
        };
        let group = self.group(&self.space.designs[*first]);
        for &number in members {
            let design = &self.space.designs[number];
            if !self.traced.fit(design.machine).is_candidate() {
                continue;
            }
            take(number as u64, design, self.figures(&group, design));
        }
    }

    /// Compares the designs of a chunk.
    pub fn compare(&self, chunk: &Chunk, choice: &mut Choice<NAME_COUNT>) {
        self.each(chunk, |number, design, Figures { time, energy, price }| {
            if price.is_some() || !self.compared.priced_only {
                let mut objectives = vec![time];
                objectives.extend(price.filter(|_| self.compared.price));
                objectives.extend(energy.filter(|_| self.compared.energy));
                choice.compare(number, &objectives);
            }
            let cost = price.unwrap_or(f64::INFINITY);
            choice.propose(FASTEST, number, [time, cost, 0.0]);
            if let Some(price) = price {
                choice.propose(CHEAPEST, number, [price, time, 0.0]);
            }
            let Some(energy) = energy else {
                return;
            };
            choice.propose(LEAST_ENERGY, number, [energy, time, cost]);
            let watts = if time > 0.0 { energy / time } else { 0.0 };
            let keys = [[watts, energy, time], [energy, time, 0.0], [time, energy, 0.0]];
            let part = self.space.places[design.place].storage.part.as_ref();
            let is_disk = part.is_some_and(|part| self.survey.parts.disk.contains_key(part));
            for (name, key) in keys.into_iter().enumerate() {
                choice.propose(PAPER_NAMES + name, number, key);
                if is_disk {
                    choice.propose(PAPER_DISK_NAMES + name, number, key);
                }
            }
        });
    }

    /// Compares the designs of a chunk that take at most [`SLACK`] longer than `fastest`.
    pub fn compare_near(&self, chunk: &Chunk, fastest: f64, choice: &mut Choice<2>) {
        self.each(chunk, |number, _, Figures { time, energy, price }| {
            if time > fastest * (1.0 + SLACK) {
                return;
            }
            if let Some(price) = price {
                choice.propose(CHEAPEST_NEAR, number, [price, time, 0.0]);
            }
            if let Some(energy) = energy {
                choice.propose(LEAST_ENERGY_NEAR, number, [energy, time, 0.0]);
            }
        });
    }

    /// The upper end of the time of a design in seconds, which choices compare.
    pub fn time(&self, number: usize) -> f64 {
        let design = &self.space.designs[number];
        self.figures(&self.group(design), design).time
    }

    /// The idle time that no machine shortens, and its share of the time of a design.
    pub fn floor(&self, number: u64) -> Floor {
        #[allow(clippy::cast_possible_truncation)]
        let design = &self.space.designs[number as usize];
        match self.group(design) {
            Group::Job(group) => {
                let secs = group.floor();
                let time = group.time(&self.job_design(design));
                Floor { secs, share: if time > 0.0 { secs / time } else { 0.0 } }
            }
            Group::Paper(..) => Floor { secs: 0.0, share: 0.0 },
        }
    }

    /// The names that the model gives, each with the number of its design.
    pub fn named(&self, best: [Option<u64>; NAME_COUNT]) -> Vec<(&'static str, Option<u64>)> {
        let names = match self.survey.model {
            Model::Job => 0..PAPER_NAMES,
            Model::Paper | Model::Stages => PAPER_NAMES..NAME_COUNT,
        };
        names.map(|name| (NAMES[name], best[name])).collect()
    }

    /// Name of a design.
    #[allow(clippy::cast_possible_truncation)]
    pub fn id(&self, number: u64) -> String {
        self.space.designs[number as usize].id()
    }

    /// Reports designs, in their order.
    pub fn reports(&self, numbers: &[usize]) -> Vec<MachineReport> {
        let key = |number: &usize| self.group_key(&self.space.designs[*number]);
        in_groups(numbers, key, |same| {
            let group = self.group(&self.space.designs[same[0]]);
            let report = |number: &usize| self.report(&group, &self.space.designs[*number]);
            same.iter().map(report).collect()
        })
    }

    /// A stage on the designs with these numbers, in their order.
    pub fn in_stage(&self, numbers: &[usize], window: &StageWindow) -> Vec<StageOnDesign> {
        let lags = Lags::new(&self.survey.lags);
        let on_design = |number: &usize| {
            let design = &self.space.designs[*number];
            let place = design.place;
            let (time_s, limits) = match &self.loads {
                Loads::Job(loads) => {
                    let load = loads[place].in_stage(window, |trace| lags.of(trace));
                    let group = JobGroup::new(&load, cores(design.machine));
                    let own = self.job_design(design);
                    (group.time(&own), shares(&JOB_LIMITS, &group.limits(&own)))
                }
                Loads::Paper(loads, _) => {
                    let load = loads[place].in_stage(window);
                    let node = NodePower::of_machine(self.storages[place]);
                    let group = PaperGroup::new(&load, &node);
                    let own = paper_design(design);
                    let limits = group.limits(&own, &PaperLimits::new(&load));
                    (group.nosync(&own).time, shares(&PAPER_LIMITS, &limits))
                }
            };
            StageOnDesign { id: design.id(), time_s, limits }
        };
        numbers.iter().map(on_design).collect()
    }

    fn report(&self, group: &Group<'_>, design: &MachineDesign<'_>) -> MachineReport {
        let mut report = machine_report(design, self.space);
        report.memory_fits = self.traced.fit(design.machine).known();
        match group {
            Group::Job(group) => {
                let own = self.job_design(design);
                let found = group.range(&own);
                let time = found.job;
                let pairs = RANGE_SOURCES.iter().copied().zip(found.by);
                let is_doubt =
                    |(_, [low, high]): &(_, [f64; 2])| *low != time.time || *high != time.time;
                report.job = Some(JobReport {
                    time_s: time.time,
                    time_s_low: time.low,
                    time_s_high: time.high,
                    range_by_s: pairs.filter(is_doubt).collect(),
                    energy_j: group.energy(&own, time.time),
                    price: self.price(design, time.time),
                    price_high: self.price(design, time.high),
                });
                report.limits = shares(&JOB_LIMITS, &group.limits(&own));
            }
            Group::Paper(group, limits) => {
                let own = paper_design(design);
                report.sync = Some(self.outcome(design, &group.sync(&own)));
                report.nosync = Some(self.outcome(design, &group.nosync(&own)));
                report.stages = (self.survey.model == Model::Stages)
                    .then(|| self.outcome(design, &group.stages(&own)));
                report.limits = shares(&PAPER_LIMITS, &group.limits(&own, limits));
            }
        }
        report
    }

    fn outcome(&self, design: &MachineDesign<'_>, outcome: &ClusterOutcome) -> MachineOutcome {
        let is_known = power(design.machine).is_some();
        let watts = is_known.then(|| outcome.power());
        MachineOutcome {
            time_s: outcome.time,
            energy_j: is_known.then(|| outcome.energy.total().0),
            power_w: watts,
            node_power_w: watts.map(|watts| watts / f64::from(self.survey.nodes)),
            price: self.price(design, outcome.time),
        }
    }
}

/// The cores of a machine.
pub(super) fn cores(machine: &Machine) -> Cores {
    Cores {
        count: *machine.cores,
        threads: machine.threads_per_core.as_ref().map_or(1, |threads| **threads),
        single: lone_gain(machine),
    }
}

/// Power of a whole machine; `None` if it is unknown.
pub(super) fn power(machine: &Machine) -> Option<Power> {
    let (idle, active) = machine.idle.as_ref().zip(machine.active.as_ref())?;
    Some(Power { idle: **idle, active: **active })
}

/// The machine as one processor, whose instruction is a second of a core of speed 1.
pub(super) fn paper_design(design: &MachineDesign<'_>) -> PaperDesign {
    let machine = design.machine;
    PaperDesign {
        instructions_per_s: *machine.core_speed * f64::from(*machine.cores),
        cpu: power(machine).unwrap_or_default(),
    }
}

/// The shares above zero, by name.
fn shares(names: &[&str], shares: &[f64]) -> BTreeMap<String, f64> {
    let pairs = names.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    pairs.map(|(name, share)| ((*name).to_owned(), *share)).collect()
}

fn machine_report(design: &MachineDesign<'_>, space: &MachineSpace<'_>) -> MachineReport {
    let machine = design.machine;
    let place = &space.places[design.place];
    MachineReport {
        id: design.id(),
        machine: machine.id.clone(),
        summary: machine.summary.clone(),
        cores: *machine.cores,
        core_speed: *machine.core_speed,
        memory_bytes: machine.memory.0,
        storage: place.storage.label(),
        storage_part: place.storage.part.clone(),
        network_bytes_per_s: place.network,
        price_per_hour: machine.price_per_hour.as_ref().map(|price| **price),
        is_reference: false,
        memory_fits: None,
        job: None,
        sync: None,
        nosync: None,
        stages: None,
        limits: BTreeMap::new(),
    }
}
