//! Time, energy, price and limits of machines.
//!
//! Designs at the same place with the same cores but for their speed are prepared together. All
//! places of the same cores are evaluated in turn, because a trace has the same stretches at all of
//! them. Choices compare the upper ends of ranges: where ranges do not overlap, the
//! estimates have the same order. A machine whose memory may be too small is not a candidate.

use super::JobSurvey;
use super::place::{TraceReference, bandwidth};
use crate::model::job::group::{JOB_LIMITS, JobDesign, JobGroup};
use crate::model::job::load::{JobLoad, JobStretches};
use crate::model::job::range::RANGE_SOURCES;
use crate::model::job::report::{JobReport, MachineReport};
use crate::space::cores::Cores;
use crate::space::cores::{UNKNOWN_SPEED, speed_error};
use crate::space::machine::{Machine, StorageTable};
use crate::space::machines::{MachineDesign, MachineSpace, Place};
use crate::space::measured::{MeasuredStorage, OpPatterns, READS, WRITES};
use crate::survey::select::{Choice, Chunk, chunks, in_order};
use crate::trace::alignment::Lags;
use crate::trace::job_stream::{JobStream, MemoryFit};
use crate::trace::report::StageOnDesign;
use crate::trace::stages::StageWindow;
use std::collections::BTreeMap;

/// Names of designs.
const NAMES: [&str; 3] = ["fastest", "cheapest", "least-energy"];
/// Number of names.
pub(super) const NAME_COUNT: usize = NAMES.len();
pub(super) const FASTEST: usize = 0;
const CHEAPEST: usize = 1;
const LEAST_ENERGY: usize = 2;

/// How much longer than the fastest design the recommended one may take.
pub(super) const SLACK: f64 = 0.1;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The fronts: of the report, of time and price, and of time and energy. A recommended design is on
/// one of the last two.
pub(super) const REPORTED: usize = 0;
pub(super) const BY_PRICE: usize = 1;
pub(super) const BY_ENERGY: usize = 2;

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

    /// Bytes that a node writes, at most, where files live longer than in the trace.
    #[allow(clippy::cast_precision_loss)]
    fn write_more(&self) -> f64 {
        let bytes = self.streams.iter().map(|stream| stream.memory.unwritten);
        bytes.max().unwrap_or_default().0 as f64
    }

    /// Whether a storage is that of all traced machines.
    fn has_storage(&self, survey: &JobSurvey, table: &StorageTable) -> bool {
        let of = |reference: &TraceReference<'_>| {
            reference.machine.is_some_and(|at| survey.machines[at].storage[0].0 == *table)
        };
        self.references.iter().all(of)
    }
}

/// Machines at the places that their traces were replayed at.
pub(super) struct Evaluator<'a> {
    pub survey: &'a JobSurvey,
    pub space: &'a MachineSpace<'a>,
    /// The traces, by place.
    pub loads: Vec<JobLoad>,
    pub traced: Traced<'a>,
    /// By place: seconds for a byte that is read again.
    read_again: Vec<f64>,
    /// By place: seconds for all that may be written in addition.
    write_more: Vec<f64>,
    /// Size of a node's volume.
    volume_gib: f64,
    /// Numbers of the designs with the same cores, by place.
    same_cores: Vec<Vec<usize>>,
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

/// What distinguishes the cores of groups.
type CoresKey = (u32, u32, Option<u64>);

impl<'a> Evaluator<'a> {
    /// Prepares the designs.
    pub fn new(
        survey: &'a JobSurvey,
        space: &'a MachineSpace<'a>,
        loads: Vec<JobLoad>,
        traced: Traced<'a>,
        part_times: impl Fn(usize) -> Option<&'a MeasuredStorage>,
    ) -> Self {
        let machines = || survey.machines.iter();
        let priced_only = machines().any(|machine| machine.price_per_hour.is_some());
        let is_compared = |m: &&Machine| !priced_only || m.price_per_hour.is_some();
        let compared = Compared {
            priced_only,
            price: priced_only,
            energy: machines().filter(is_compared).all(|machine| machine.power().is_some()),
        };
        let secs_per_byte = |patterns: OpPatterns| {
            let of_place = |(at, place): (usize, &Place<'a>)| {
                let measured = place.storage.measured.as_ref();
                let measured = measured.and_then(|file| survey.measured.get(file));
                let rate = bandwidth(place.storage, part_times(at), measured, patterns);
                rate.map_or(0.0, |rate| 1.0 / rate)
            };
            space.places.iter().enumerate().map(of_place).collect::<Vec<f64>>()
        };
        let more =
            |(place, secs): (&Place<'a>, f64)| match traced.has_storage(survey, place.storage) {
                true => 0.0,
                false => traced.write_more() * secs,
            };
        let mut made = Self {
            survey,
            space,
            loads,
            traced,
            read_again: secs_per_byte(READS),
            write_more: space.places.iter().zip(secs_per_byte(WRITES)).map(more).collect(),
            volume_gib: traced.volume_gib(),
            same_cores: Vec::new(),
            compared,
        };
        let mut same_cores: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, design) in space.designs.iter().enumerate() {
            same_cores.entry(cores_key(design)).or_default().push(number);
        }
        made.same_cores = same_cores.into_values().collect();
        for numbers in &mut made.same_cores {
            numbers.sort_by_key(|number| space.designs[*number].place);
        }
        made
    }

    pub(super) fn job_design(&self, design: &MachineDesign<'_>) -> JobDesign {
        let machine = design.machine;
        let place = design.place;
        let again = self.traced.read_again(machine) * self.read_again[place];
        JobDesign {
            speed: *machine.core_speed,
            speed_error: self.traced.speed_error(machine),
            uncached: again + self.write_more[place],
            power: machine.power(),
            rate: machine.rate(self.volume_gib),
        }
    }

    /// All designs, in groups.
    pub fn chunks(&self) -> Vec<Chunk> {
        chunks(self.same_cores.iter().map(Vec::len))
    }

    /// Numbers of objectives of the fronts.
    pub fn objectives(&self) -> [usize; 3] {
        [1 + usize::from(self.compared.price) + usize::from(self.compared.energy), 2, 2]
    }

    pub(super) fn members(&self, chunk: &Chunk) -> &[usize] {
        &self.same_cores[chunk.group][chunk.members.clone()]
    }

    /// Calls `take` with each group of `numbers`, which are in the order of their cores and then of
    /// their places, and with its designs.
    pub(super) fn each_group(
        &self,
        numbers: &[usize],
        mut take: impl FnMut(&JobGroup<'_>, &[&MachineDesign<'_>], &[usize]),
    ) {
        let design = |number: &usize| &self.space.designs[*number];
        let place = |number: &usize| design(number).place;
        let cores_of = |number: &usize| cores_key(design(number));
        for same_cores in numbers.chunk_by(|a, b| cores_of(a) == cores_of(b)) {
            let first = design(&same_cores[0]);
            let stretches = JobStretches::new(&self.loads[first.place], first.machine.all_cores());
            for same in same_cores.chunk_by(|a, b| place(a) == place(b)) {
                let group = JobGroup::new(&self.loads[place(&same[0])], &stretches);
                take(&group, &same.iter().map(design).collect::<Vec<_>>(), same);
            }
        }
    }

    /// The figures of designs of a group, in their order.
    fn figures(&self, group: &JobGroup<'_>, designs: &[&MachineDesign<'_>]) -> Vec<Figures> {
        let own: Vec<_> = designs.iter().map(|design| self.job_design(design)).collect();
        let figures = |(own, time): (&JobDesign, f64)| Figures {
            time,
            energy: group.energy(own, time),
            price: group.price(own, time),
        };
        own.iter().zip(group.upper_ends(&own)).map(figures).collect()
    }

    /// Compares the candidates of a chunk.
    pub fn compare(&self, chunk: &Chunk, choice: &mut Choice<NAME_COUNT>) {
        let is_candidate =
            |number: &usize| self.traced.fit(self.space.designs[*number].machine).is_candidate();
        let candidates: Vec<usize> =
            self.members(chunk).iter().copied().filter(is_candidate).collect();
        self.each_group(&candidates, |group, designs, numbers| {
            for (number, figures) in numbers.iter().zip(self.figures(group, designs)) {
                self.compare_design(*number as u64, &figures, choice);
            }
        });
    }

    fn compare_design(&self, number: u64, figures: &Figures, choice: &mut Choice<NAME_COUNT>) {
        let Figures { time, energy, price } = *figures;
        if price.is_some() || !self.compared.priced_only {
            let mut objectives = vec![time];
            objectives.extend(price.filter(|_| self.compared.price));
            objectives.extend(energy.filter(|_| self.compared.energy));
            choice.compare(REPORTED, number, &objectives);
        }
        let cost = price.unwrap_or(f64::INFINITY);
        choice.propose(FASTEST, number, [time, cost, 0.0]);
        if let Some(price) = price {
            choice.propose(CHEAPEST, number, [price, time, 0.0]);
            choice.compare(BY_PRICE, number, &[time, price]);
        }
        if let Some(energy) = energy {
            choice.propose(LEAST_ENERGY, number, [energy, time, cost]);
            choice.compare(BY_ENERGY, number, &[time, energy]);
        }
    }

    /// The idle time that no machine shortens, and its share of the time of a design.
    pub fn floor(&self, number: u64) -> Floor {
        #[allow(clippy::cast_possible_truncation)]
        let number = number as usize;
        let mut floor = Floor { secs: 0.0, share: 0.0 };
        self.each_group(&[number], |group, designs, _| {
            let time = group.times(&[self.job_design(designs[0])])[0];
            floor.secs = group.floor();
            floor.share = if time > 0.0 { floor.secs / time } else { 0.0 };
        });
        floor
    }

    /// The names, each with the number of its design.
    pub fn named(best: [Option<u64>; NAME_COUNT]) -> Vec<(&'static str, Option<u64>)> {
        NAMES.into_iter().zip(best).collect()
    }

    /// Name of a design.
    #[allow(clippy::cast_possible_truncation)]
    pub fn id(&self, number: u64) -> String {
        self.space.designs[number as usize].id()
    }

    /// Reports designs, in their order.
    pub fn reports(&self, numbers: &[usize]) -> Vec<MachineReport> {
        let key = |number: &usize| {
            let design = &self.space.designs[*number];
            (cores_key(design), design.place)
        };
        in_order(numbers, key, |some| {
            let mut reports = Vec::with_capacity(some.len());
            self.each_group(some, |group, designs, _| {
                reports.extend(designs.iter().map(|design| self.report(group, design)));
            });
            reports
        })
    }

    /// A stage on the designs with these numbers, in their order.
    pub fn in_stage(&self, numbers: &[usize], window: &StageWindow) -> Vec<StageOnDesign> {
        let lags = Lags::new(&self.survey.lags);
        let on_design = |number: &usize| {
            let design = &self.space.designs[*number];
            let load = self.loads[design.place].in_stage(window, |trace| lags.of(trace));
            let stretches = JobStretches::new(&load, design.machine.all_cores());
            let group = JobGroup::new(&load, &stretches);
            let own = self.job_design(design);
            StageOnDesign {
                id: design.id(),
                time_s: group.times(&[own])[0],
                limits: shares(&group.limits(&own)),
            }
        };
        numbers.iter().map(on_design).collect()
    }

    fn report(&self, group: &JobGroup<'_>, design: &MachineDesign<'_>) -> MachineReport {
        let machine = design.machine;
        let place = &self.space.places[design.place];
        let own = self.job_design(design);
        let found = group.ranges(&[own])[0];
        let time = found.job;
        let pairs = RANGE_SOURCES.iter().copied().zip(found.by);
        let is_doubt = |(_, [low, high]): &(_, [f64; 2])| *low != time.time || *high != time.time;
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
            memory_fits: self.traced.fit(machine).known(),
            job: JobReport {
                time_s: time.time,
                time_s_low: time.low,
                time_s_high: time.high,
                range_by_s: pairs.filter(is_doubt).collect(),
                energy_j: group.energy(&own, time.time),
                price: group.price(&own, time.time),
                price_high: group.price(&own, time.high),
            },
            limits: shares(&group.limits(&own)),
        }
    }
}

/// What distinguishes the cores of a design.
fn cores_key(design: &MachineDesign<'_>) -> CoresKey {
    let Cores { count, threads, single } = design.machine.all_cores();
    (count, threads, single.map(f64::to_bits))
}

/// The shares above zero, by name.
fn shares(shares: &[f64]) -> BTreeMap<String, f64> {
    let pairs = JOB_LIMITS.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    pairs.map(|(name, share)| ((*name).to_owned(), *share)).collect()
}
