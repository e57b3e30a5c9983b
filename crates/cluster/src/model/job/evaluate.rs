//! Time, energy, price and limits of machines.
//!
//! Designs at the same place with the same cores but for their speed are prepared together. All
//! places of the same cores are evaluated in turn, because a trace has the same stretches at all of
//! them. Choices compare the upper ends of ranges: where ranges do not overlap, the
//! estimates have the same order. A machine whose memory may be too small is not a candidate.

use super::JobSurvey;
use super::group::{JOB_LIMITS, JobDesign, JobGroup};
use super::load::{JobLoad, JobStretches};
use super::range::RANGE_SOURCES;
use super::report::{JobReport, MachineReport};
use super::traces::JobTraces;
use crate::error::ClusterError;
use crate::model::bill::{BillInputs, BillReport, Drives, Run, busy_power};
use crate::model::cost::{Compared, Figures};
use crate::model::hardware::Hardware;
use crate::space::cores::Cores;
use crate::space::machines::{MachineDesign, MachineSpace, Place};
use crate::space::measured::{OpPatterns, READS, WRITES};
use crate::survey::Chunk;
use crate::trace::job_stream::JobStream;
use crate::trace::replays::Replays;
use std::collections::BTreeMap;

/// Machines at the places that their traces were replayed at.
pub struct JobModel<'a> {
    pub(super) survey: &'a JobSurvey,
    pub(super) space: &'a MachineSpace<'a>,
    /// The traces, by place.
    pub(super) loads: Vec<JobLoad>,
    pub(super) traces: JobTraces<'a>,
    /// By place.
    drives: Vec<Drives>,
    /// By place: seconds for a byte that is read again.
    read_again: Vec<f64>,
    /// By place: seconds for all that may be written in addition.
    write_more: Vec<f64>,
    /// Numbers of the designs with the same cores, by place.
    pub(super) same_cores: Vec<Vec<usize>>,
    pub(super) compared: Compared,
}

/// Idle time, which no machine shortens.
pub(super) struct Floor {
    pub secs: f64,
    pub share: f64,
}

/// What distinguishes the cores of groups.
pub(super) type CoresKey = (u32, u32, Option<u64>);

impl<'a> JobModel<'a> {
    /// Prepares the designs.
    ///
    /// # Errors
    /// Returns an error if a storage part is not in the catalogue or is invalid.
    pub fn new(
        survey: &'a JobSurvey,
        space: &'a MachineSpace<'a>,
        streams: &'a [JobStream],
        replays: &'a Replays<'_>,
    ) -> Result<Self, ClusterError> {
        let traces = JobTraces::new(survey, streams, replays)?;
        let secs_per_byte = |patterns: OpPatterns| {
            let of_place = |place: &Place<'a>| {
                let rate = traces.times(place.storage).bandwidth(patterns, true);
                rate.map_or(0.0, |rate| 1.0 / rate)
            };
            space.places.iter().map(of_place).collect::<Vec<f64>>()
        };
        let more = |(place, secs): (&Place<'a>, f64)| match traces.has_storage(place.storage) {
            true => 0.0,
            false => traces.write_more() * traces.nodes(place.nodes).part() * secs,
        };
        let mut made = Self {
            survey,
            space,
            loads: traces.loads(space)?,
            drives: (space.places.iter())
                .map(|place| Drives::of(place.storage, &survey.catalogue.parts))
                .collect::<Result<_, _>>()?,
            read_again: secs_per_byte(READS),
            write_more: space.places.iter().zip(secs_per_byte(WRITES)).map(more).collect(),
            traces,
            same_cores: Vec::new(),
            compared: Compared::of(&survey.catalogue.machines, &survey.goals),
        };
        let mut same_cores: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, design) in space.designs.iter().enumerate() {
            same_cores.entry(cores_key(design)).or_default().push(number);
        }
        made.same_cores = same_cores.into_values().collect();
        for numbers in &mut made.same_cores {
            numbers.sort_by_key(|number| space.designs[*number].place);
        }
        Ok(made)
    }

    pub(super) fn job_design(&self, design: &MachineDesign<'_>) -> JobDesign {
        let machine = design.machine;
        let place = design.place;
        let again = self.traces.read_again(design) * self.read_again[place];
        JobDesign {
            speed: *machine.core_speed,
            speed_error: self.traces.speed_error(machine),
            uncached: again + self.write_more[place],
            power: machine.power(&self.survey.catalogue.parts),
            rate: machine.rate(self.traces.volume_gib(design.nodes)),
        }
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
            let stretches = JobStretches::new(&self.loads[first.place], first.cores());
            for same in same_cores.chunk_by(|a, b| place(a) == place(b)) {
                let group = JobGroup::new(&self.loads[place(&same[0])], &stretches);
                take(&group, &same.iter().map(design).collect::<Vec<_>>(), same);
            }
        }
    }

    /// The figures of designs of a group, in their order.
    pub(super) fn figures(
        &self,
        group: &JobGroup<'_>,
        designs: &[&MachineDesign<'_>],
    ) -> Vec<Figures> {
        let own: Vec<_> = designs.iter().map(|design| self.job_design(design)).collect();
        let figures = |((own, time), design): ((&JobDesign, f64), &&MachineDesign<'_>)| {
            let drives = &self.drives[design.place];
            let run = group.run(own, drives, time);
            Figures {
                power: busy_power(own.power, drives, design.nodes),
                ..Figures::of_run(
                    &run,
                    self.bill(&run, own, design).map(|found| found.bill).as_ref(),
                )
            }
        };
        own.iter().zip(group.upper_ends(&own)).zip(designs).map(figures).collect()
    }

    /// What a run costs in all; `None` if it is not said how machines are used.
    fn bill(&self, run: &Run, own: &JobDesign, design: &MachineDesign<'_>) -> Option<BillReport> {
        let operation = self.survey.catalogue.operation.as_ref()?;
        let drives = &self.drives[design.place];
        Some(BillInputs::of(run, design.machine, own.power, drives).report(operation))
    }

    /// What a run of `secs` seconds costs in all; `None` if it is not said how machines are used.
    pub(super) fn bill_of(
        &self,
        group: &JobGroup<'_>,
        own: &JobDesign,
        design: &MachineDesign<'_>,
        secs: f64,
    ) -> Option<BillReport> {
        self.bill(&group.run(own, &self.drives[design.place], secs), own, design)
    }

    /// The idle time that no machine shortens, and its share of the time of a design.
    pub(super) fn floor(&self, number: u64) -> Floor {
        let mut floor = Floor { secs: 0.0, share: 0.0 };
        self.each_group(&[index(number)], |group, designs, _| {
            let time = group.times(&[self.job_design(designs[0])])[0];
            floor.secs = group.floor();
            floor.share = if time > 0.0 { floor.secs / time } else { 0.0 };
        });
        floor
    }

    /// Whether a design is the traced machine, or as many of it as were traced.
    pub(super) fn is_reference(&self, design: &MachineDesign<'_>) -> bool {
        let mut references = self.traces.references.iter();
        design.is_first()
            && !self.traces.nodes(design.nodes).differ()
            && references.any(|traced| traced.machine == Some(design.index))
    }

    pub(super) fn price_per_month(&self, design: &MachineDesign<'_>) -> Option<f64> {
        let volume_gib = self.traces.volume_gib(design.nodes);
        let operation = self.survey.catalogue.operation.as_ref();
        design.machine.price_per_month(design.nodes, volume_gib, operation)
    }

    pub(super) fn report(&self, group: &JobGroup<'_>, design: &MachineDesign<'_>) -> MachineReport {
        let own = self.job_design(design);
        let found = group.ranges(&[own])[0];
        let time = found.job;
        let pairs = RANGE_SOURCES.iter().copied().zip(found.by);
        let is_doubt = |(_, [low, high]): &(_, [f64; 2])| *low != time.time || *high != time.time;
        MachineReport {
            hardware: Hardware::of(
                self.space,
                design,
                self.space.id(design),
                design.nodes,
                self.price_per_month(design),
            ),
            is_reference: self.is_reference(design),
            memory_fits: self.traces.fit(design).known(),
            reads_again: self.traces.read_again(design) > 0.0,
            job: JobReport {
                time_s: time.time,
                time_s_low: time.low,
                time_s_high: time.high,
                range_by_s: pairs.filter(is_doubt).collect(),
                energy_j: group.energy(&own, time.time),
                price: group.price(&own, time.time),
                price_high: group.price(&own, time.high),
                spin_down: group.spin_down(&own, time.time),
            },
            bill: self.bill_of(group, &own, design, time.time),
            limits: shares(&group.limits(&own)),
        }
    }
}

/// Index of a design in the space.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn index(number: u64) -> usize {
    number as usize
}

/// What distinguishes the cores of a design.
pub(super) fn cores_key(design: &MachineDesign<'_>) -> CoresKey {
    let Cores { count, threads, single } = design.cores();
    (count, threads, single.map(f64::to_bits))
}

/// The shares above zero, by name.
pub(super) fn shares(shares: &[f64]) -> BTreeMap<String, f64> {
    let pairs = JOB_LIMITS.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    pairs.map(|(name, share)| ((*name).to_owned(), *share)).collect()
}
