//! Time, energy, price and limits of clusters.
//!
//! A design is a machine with a number of nodes. Each is simulated once; its answer is kept.

use super::application::{AppStage, Application};
use super::demand::{Demands, TaskDemand, TracedNode};
use super::durations::Durations;
use super::executor::{Executor, recorded_executor};
use super::memory::{Held, Needs};
use super::node::{Cluster, PARTS, Part, Parts};
use super::place::{node, speeds};
use super::range::{Doubts, SOURCES, TasksRange, range};
use super::report::{
    ApplicationReport, StageLimit, StageOnCluster, StageRecorded, TasksReport, TasksTime,
};
use super::simulate::{Outcome, Simulator, critical_path};
use super::split::{count, follows, split};
use super::traced::{find_written_back, idle_share, reference_of, traced_node};
use super::warm_up::WarmUp;
use super::{TasksSpace, TasksSurvey, median};
use crate::error::ClusterError;
use crate::model::bill::{BillInputs, BillReport, Drives, Run, WrittenBytes, busy_power};
use crate::model::cost::{Compared, Figures};
use crate::model::hardware::Hardware;
use crate::space::cores::{UNKNOWN_SPEED, speed_error};
use crate::space::machine::StorageTable;
use crate::space::machines::{MachineDesign, cluster_id, part_of};
use crate::space::measured::{MeasuredStorage, READS, WRITES};
use crate::space::node::{StoragePower, StorageWork, storage_power};
use crate::space::part_times::part_times;
use crate::space::reference::TraceReference;
use crate::space::resources::{BURST, Rate, StorageTimes};
use crate::space::storage::Storage;
use crate::space::wear::NewDrives;
use crate::space::whole::WholePower;
use crate::survey::{Chunk, Model};
use crate::trace::job_stream::JobStream;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Bytes a second of a storage without known limits: it never limits.
const UNLIMITED: f64 = 1e15;
/// Share of a stage's time from which its longest task limits it.
const SKEWED: f64 = 0.5;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Clusters of machines for an application.
pub struct TasksModel<'a> {
    pub(super) survey: &'a TasksSurvey,
    pub(super) space: &'a TasksSpace<'a>,
    pub(super) reference: TraceReference<'a>,
    pub(super) has_traces: bool,
    traced: TracedNode,
    /// With as many tasks as were recorded, or as `--partitions` says.
    work: Work<'a>,
    /// By stage.
    warm_ups: Vec<WarmUp>,
    /// Whether stages have more or fewer tasks on clusters with other numbers of slots.
    has_followers: bool,
    /// By place.
    storages: Vec<StorageRates>,
    /// By place.
    drives: Vec<Drives>,
    /// By place: power of its simulated storage, if any.
    storage_power: Vec<Option<StoragePower>>,
    /// By place: the same while they are new; `None` without a part of the catalogue.
    new_drives: Vec<Option<NewDrives>>,
    needs: Needs,
    durations: Durations,
    /// Bytes of all tasks: read, written, and read of others.
    moved: [f64; 2],
    shuffled: f64,
    /// Core seconds if all cached blocks were computed again.
    recomputed: f64,
    /// Share of the recorded time in which nodes may have waited for cores that others used.
    contended: f64,
    pub(super) compared: Compared,
    /// By design, once it is simulated.
    pub(super) answers: Vec<OnceLock<Answer>>,
    /// Designs whose stages are reported, once they are chosen.
    pub(super) notable: OnceLock<Vec<u64>>,
}

/// An application with the demands of its tasks.
#[derive(Clone)]
struct Work<'a> {
    application: Cow<'a, Application>,
    demands: Cow<'a, [TaskDemand]>,
}

impl Work<'_> {
    /// As many tasks as `number` gives.
    fn split(&self, number: impl Fn(&AppStage) -> u32) -> Work<'static> {
        let (application, demands) = split(&self.application, &self.demands, number);
        Work { application: Cow::Owned(application), demands: Cow::Owned(demands) }
    }

    fn run<'s>(&self, simulator: &'s mut Simulator, cluster: &Cluster) -> &'s Outcome {
        simulator.run(&self.application, &self.demands, cluster)
    }
}

/// The answer of a design.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub time: f64,
    pub low: f64,
    pub high: f64,
    pub floor: f64,
    by: [[f64; 2]; SOURCES.len()],
    parts: Parts,
    nodes: u32,
    power: Option<WholePower>,
    /// Of the simulated storage of a node, if any.
    storage: Option<StoragePower>,
    rate: Option<Rate>,
    /// Share of the time in which all cores of all nodes are busy.
    busy: f64,
    written: WrittenBytes,
}

impl Answer {
    /// Energy of all nodes over `secs` seconds. Tasks do not say when drives work, which count with
    /// their idle power.
    pub fn energy(&self, secs: f64) -> Option<f64> {
        let power = self.power?;
        let storage = self.storage.map(StorageWork::idle);
        let machine = power.even(secs, self.busy * self.time);
        Some(power.total(secs, machine, storage).0 * f64::from(self.nodes))
    }

    /// Price of all nodes over `secs` seconds.
    pub fn price(&self, secs: f64) -> Option<f64> {
        Some(self.rate?.price(self.nodes, secs))
    }

    /// A run of `secs` seconds on nodes with these drives.
    fn run(&self, secs: f64, drives: &Drives, new: Option<&NewDrives>) -> Run {
        Run {
            nodes: self.nodes,
            time: secs,
            energy: self.energy(secs),
            rate: self.rate,
            wear: drives.written(new, &self.written),
        }
    }
}

/// Bytes a second that a storage reads and writes.
struct StorageRates {
    /// Of a volume, those of its burst.
    burst: [f64; 2],
    sustained: [f64; 2],
}

impl StorageRates {
    /// The mean rates while `bytes` are read and written: a volume has its burst bandwidth until
    /// it has been busy for [`BURST`].
    fn mean(&self, bytes: [f64; 2]) -> [f64; 2] {
        let busy = secs(bytes, self.burst);
        if busy <= BURST {
            return self.burst;
        }
        let share = BURST / busy;
        let of = |op: usize| share / self.burst[op] + (1.0 - share) / self.sustained[op];
        [0, 1].map(|op| 1.0 / of(op))
    }
}

/// Seconds in which a storage reads and writes `bytes` at `rates`.
fn secs(bytes: [f64; 2], rates: [f64; 2]) -> f64 {
    bytes[0] / rates[0] + bytes[1] / rates[1]
}

impl<'a> TasksModel<'a> {
    /// Prepares the designs.
    ///
    /// # Errors
    /// Returns an error if a storage part is not in the catalogue or is invalid.
    pub(super) fn new(
        survey: &'a TasksSurvey,
        space: &'a TasksSpace<'a>,
        streams: &'a [JobStream],
    ) -> Result<Self, ClusterError> {
        let application = &space.application;
        let parts = space.machines.storage_parts();
        let times: Vec<MeasuredStorage> = parts
            .par_iter()
            .map(|part| part_times(&Storage::of(*part, &survey.catalogue.parts)?))
            .collect::<Result<_, _>>()?;
        let new: Vec<NewDrives> = parts
            .par_iter()
            .map(|part| NewDrives::of(&Storage::of(*part, &survey.catalogue.parts)?))
            .collect::<Result<_, _>>()?;
        let part_at =
            |table: &StorageTable| part_of(table).and_then(|part| parts.binary_search(&part).ok());
        let bandwidths = |table: &StorageTable| {
            let at = part_at(table);
            let file = table.measured.as_ref();
            let times = StorageTimes {
                table,
                part: at.map(|at| &times[at]),
                measured: file.and_then(|file| survey.catalogue.measured.get(file)),
            };
            [true, false].map(|has_burst| [READS, WRITES].map(|op| times.bandwidth(op, has_burst)))
        };
        let reference = reference_of(survey, streams);
        let machine = reference.machine.map(|at| &survey.catalogue.machines[at]);
        let of_machine = machine.and_then(|machine| {
            let [[read, write], _] = bandwidths(&machine.storage[0].0);
            Some([read?, write?])
        });
        let storage = match (survey.storage_rate, of_machine) {
            (Some(limit), Some(rates)) => Some(rates.map(|rate| rate.min(limit))),
            (limit, rates) => rates.or(limit.map(|limit| [limit; 2])),
        };
        let traced = traced_node(survey, application, &reference, streams, storage);
        let mut ran = Cow::Borrowed(application);
        if !streams.is_empty() {
            find_written_back(ran.to_mut(), survey, streams, storage.map(|[_, write]| write));
        }
        let Demands { tasks, warm_ups } = Demands::of(&ran, &traced);
        let mut work = Work { application: ran, demands: Cow::Owned(tasks) };
        if let Some(partitions) = survey.partitions {
            work = work.split(|stage| match stage.is_shuffled {
                true => partitions,
                false => stage.tasks_total(),
            });
        }
        let memory = machine.map(|machine| machine.memory.0 as f64);
        let needs = Needs::of(&work.application, &work.demands).as_recorded(
            &recorded_executor(application),
            application.executors.hosts,
            memory,
            application.missed(),
        );
        let sum = |of: fn(&TaskDemand) -> f64| work.demands.iter().map(of).sum::<f64>();
        let known = |table: &StorageTable| {
            let rates = bandwidths(table).map(|of| of.map(|rate| rate.unwrap_or(UNLIMITED)));
            let [burst, sustained] = rates;
            StorageRates { burst, sustained }
        };
        let mut model = Self {
            survey,
            space,
            reference,
            has_traces: !streams.is_empty(),
            storages: space.machines.places.iter().map(|place| known(place.storage)).collect(),
            drives: (space.machines.places.iter())
                .map(|place| Drives::of(place.storage, &survey.catalogue.parts))
                .collect::<Result<_, _>>()?,
            storage_power: (space.machines.places.iter())
                .map(|place| storage_power(place.storage, &survey.catalogue.parts))
                .collect::<Result<_, _>>()?,
            new_drives: (space.machines.places.iter())
                .map(|place| part_at(place.storage).map(|at| new[at]))
                .collect(),
            needs,
            durations: Durations::default(),
            recomputed: sum(|demand| demand.recompute.work),
            contended: survey.full_share * idle_share(survey, application, streams),
            moved: [
                sum(|demand| demand.moved[0]),
                sum(|demand| demand.moved[1]) + work.application.written_back,
            ],
            shuffled: sum(|demand| demand.shuffled),
            compared: Compared::of(&survey.catalogue.machines, &survey.goals),
            answers: (0..space.held.len() * space.nodes.len()).map(|_| OnceLock::new()).collect(),
            notable: OnceLock::new(),
            traced,
            warm_ups,
            has_followers: survey.partitions.is_none()
                && application.stages.iter().any(|stage| follows(stage, application)),
            work,
        };
        let most = (0..model.designs_total()).map(|number| {
            let cluster = model.simulated(number);
            cluster.nodes.saturating_mul(cluster.node.slots)
        });
        let first = Cluster { nodes: 1, replicas: 1, ..model.simulated(0) };
        let Work { application, demands } = &model.work;
        model.durations = Durations::of(application, demands, &first, most.max().unwrap_or(1));
        Ok(model)
    }

    pub(super) fn application(&self) -> &Application {
        &self.space.application
    }

    /// The machine of a design, its executors and the number of nodes.
    pub(super) fn cluster(&self, number: u64) -> (&MachineDesign<'_>, Executor, u32) {
        let (held, nodes) = self.parts_of(number);
        (self.space.design(held), self.space.held[held].1, nodes)
    }

    fn parts_of(&self, number: u64) -> (usize, u32) {
        #[allow(clippy::cast_possible_truncation)]
        let number = number as usize;
        let choices = self.space.nodes.len();
        (number / choices, self.space.nodes[number % choices])
    }

    /// Name of a design.
    pub(super) fn name(&self, number: u64) -> String {
        let (design, _, nodes) = self.cluster(number);
        cluster_id(nodes, &design.id())
    }

    /// Numbers of a chunk.
    pub(super) fn members(&self, chunk: &Chunk) -> impl Iterator<Item = u64> + use<> {
        chunk.members.start as u64..chunk.members.end as u64
    }

    /// Whether the gains of lone threads of both machines are known: one says nothing.
    fn has_gains(&self, design: &MachineDesign<'_>) -> bool {
        self.reference.single.is_some() && design.machine.lone_gain().is_some()
    }

    /// A design, as it is simulated.
    fn simulated(&self, number: u64) -> Cluster {
        let (design, executor, nodes) = self.cluster(number);
        let place = &self.space.machines.places[design.place];
        let cores = f64::from(*design.machine.cores);
        let speeds = speeds(design.machine, cores, self.has_gains(design));
        let memory = design.machine.memory.0 as f64;
        let held = Held::of(&self.needs, &executor, nodes, Some(memory));
        let storage = self.storages[design.place].mean(self.moved_by(&held, nodes));
        let driver = self.survey.driver_speed;
        let node = node(&executor, speeds, storage, place.network, held, &self.traced, driver);
        let is_scattered = self.survey.scattered_input;
        Cluster { nodes, replicas: self.replicas().min(nodes), is_scattered, node }
    }

    /// Nodes that keep each byte of output, if there are as many.
    pub(super) fn replicas(&self) -> u32 {
        self.survey.output_replicas.unwrap_or(self.application().settings.output_replicas)
    }

    /// The answer of a design.
    pub(super) fn answer(&self, number: u64) -> &Answer {
        #[allow(clippy::cast_possible_truncation)]
        let place = &self.answers[number as usize];
        place.get_or_init(|| {
            let cluster = self.simulated(number);
            let work = self.work_on(&cluster);
            let mut simulator = Simulator::default();
            let outcome = work.run(&mut simulator, &cluster);
            self.answered(number, &cluster, &work, outcome)
        })
    }

    /// The work on a cluster: stages that follow its slots have as many tasks for each as when they
    /// were recorded.
    fn work_on(&self, cluster: &Cluster) -> Cow<'_, Work<'a>> {
        let Work { application, demands } = &self.work;
        let slots = cluster.nodes * cluster.node.slots;
        if !self.has_followers || slots == application.executors.slots_total() {
            return Cow::Borrowed(&self.work);
        }
        Cow::Owned(self.work.split(|stage| match follows(stage, application) {
            true => count(stage, application, demands, slots),
            false => stage.tasks_total(),
        }))
    }

    fn answered(
        &self,
        number: u64,
        cluster: &Cluster,
        work: &Work<'_>,
        outcome: &Outcome,
    ) -> Answer {
        let (design, _, nodes) = self.cluster(number);
        let floor = critical_path(&work.application, &work.demands, cluster).min(outcome.time);
        let as_recorded = match std::ptr::eq(work, &self.work) {
            true => outcome.time,
            false => self.work.run(&mut Simulator::default(), cluster).time,
        };
        let warm_up = assumed_warm_up(&self.warm_ups, outcome);
        let doubts = Doubts { as_recorded, warm_up, ..self.doubts(design, cluster, floor) };
        let TasksRange { low, high, by } = range(outcome, &cluster.node, &doubts);
        let cores = f64::from(nodes) * f64::from(*design.machine.cores);
        let all = cores * outcome.time;
        Answer {
            time: outcome.time,
            low,
            high,
            floor,
            by,
            parts: outcome.parts,
            nodes,
            power: design.machine.power(&self.survey.catalogue.parts),
            storage: self.storage_power[design.place],
            rate: design.machine.rate(self.volume_gib(nodes)),
            busy: if all > 0.0 { (outcome.busy / all).min(1.0) } else { 0.0 },
            written: self.written(cluster, work),
        }
    }

    /// Bytes that are written to the drives of each node, spread evenly.
    fn written(&self, cluster: &Cluster, work: &Work<'_>) -> WrittenBytes {
        let held = &cluster.node.held;
        let moved = self.application().cached.iter().filter(|blocks| blocks.moves_to_disk);
        let evicted = moved.map(|blocks| blocks.bytes * held.missing).sum::<f64>();
        let sum = |of: &dyn Fn(&TaskDemand) -> f64| work.demands.iter().map(of).sum::<f64>();
        let temporary = sum(&|task| task.files[0] + task.spilled(held));
        let nodes = f64::from(cluster.nodes);
        WrittenBytes {
            kept: sum(&|task| task.files[1]) * f64::from(cluster.replicas) / nodes,
            temporary: (temporary + evicted) / nodes,
        }
    }

    /// Size of a node's volume in whole GiB: its share of all bytes that the tasks read and wrote.
    fn volume_gib(&self, nodes: u32) -> f64 {
        (self.moved.iter().sum::<f64>() / f64::from(nodes) / GIB).ceil()
    }

    /// Bytes that the storage of each node reads and writes.
    fn moved_by(&self, held: &Held, nodes: u32) -> [f64; 2] {
        let [read, written] = self.moved;
        let read = read + self.shuffled * held.shuffle_on_disk;
        [read, written].map(|bytes| bytes / f64::from(nodes))
    }

    fn doubts(&self, design: &MachineDesign<'_>, cluster: &Cluster, critical_path: f64) -> Doubts {
        let nodes = f64::from(cluster.nodes);
        let lone = cluster.node.lone_ratio;
        let speed = match self.reference.is_assumed {
            true => UNKNOWN_SPEED,
            false => speed_error(lone),
        };
        let is_traced = self.is_reference(design, cluster.nodes);
        let held = &cluster.node.held;
        let speed_of_all =
            cluster.node.speeds.each(cluster.node.slots) * f64::from(cluster.node.slots) * nodes;
        Doubts {
            durations: self.durations.at(cluster.nodes * cluster.node.slots),
            startup: self.application().startup,
            warm_up: [0.0; 2],
            as_recorded: 0.0,
            speed,
            lone,
            all_disk: match is_traced {
                true => 0.0,
                false => {
                    let rates = self.storages[design.place].sustained;
                    secs(self.moved_by(held, cluster.nodes), rates)
                }
            },
            all_network: self.shuffled * (1.0 - 1.0 / nodes) / nodes / cluster.node.network,
            more_recompute: self.recomputed / speed_of_all * (held.most_missing - held.missing),
            contended: self.contended,
            critical_path,
        }
    }

    /// What choices compare of a design.
    pub(super) fn figures(&self, number: u64) -> Figures {
        let (design, _, nodes) = self.cluster(number);
        let answer = self.answer(number);
        let run = self.run(number, answer.high);
        Figures {
            power: busy_power(answer.power, &self.drives[design.place], nodes),
            ..Figures::of_run(&run, self.bill(number, &run).map(|found| found.bill).as_ref())
        }
    }

    /// A run of a design that takes `secs` seconds.
    pub(super) fn run(&self, number: u64, secs: f64) -> Run {
        let place = self.cluster(number).0.place;
        self.answer(number).run(secs, &self.drives[place], self.new_drives[place].as_ref())
    }

    /// What a run costs in all; `None` if it is not said how machines are used.
    pub(super) fn bill(&self, number: u64, run: &Run) -> Option<BillReport> {
        let operation = self.survey.catalogue.operation.as_ref()?;
        let design = self.cluster(number).0;
        let drives = &self.drives[design.place];
        let power = self.answer(number).power;
        Some(BillInputs::of(run, design.machine, power, drives).report(operation))
    }

    /// Whether a design is the recorded cluster.
    pub(super) fn is_reference(&self, design: &MachineDesign<'_>, nodes: u32) -> bool {
        design.is_first()
            && self.reference.machine == Some(design.index)
            && nodes == self.application().executors.hosts
    }

    pub(super) fn price_per_month(&self, number: u64) -> Option<f64> {
        let (design, _, nodes) = self.cluster(number);
        let operation = self.survey.catalogue.operation.as_ref();
        design.machine.price_per_month(nodes, self.volume_gib(nodes), operation)
    }

    pub(super) fn report(&self, number: u64) -> TasksReport {
        let (design, executor, nodes) = self.cluster(number);
        let answer = self.answer(number);
        let parts = || PARTS.iter().zip(answer.parts).filter(|(_, secs)| *secs > 0.0);
        let pairs = SOURCES.iter().copied().zip(answer.by);
        let is_doubt =
            |(_, [low, high]): &(_, [f64; 2])| *low != answer.time || *high != answer.time;
        TasksReport {
            hardware: Hardware::of(
                &self.space.machines,
                design,
                self.name(number),
                nodes,
                self.price_per_month(number),
            ),
            is_reference: self.is_reference(design, nodes),
            memory_fits: Some(true),
            executors_per_node: executor.count,
            slots_per_node: executor.count * executor.slots,
            tasks: TasksTime {
                time_s: answer.time,
                time_s_low: answer.low,
                time_s_high: answer.high,
                range_by_s: pairs.filter(is_doubt).collect(),
                parts_s: parts().map(|(part, secs)| (part.name().into(), secs)).collect(),
                floor_s: answer.floor,
                energy_j: answer.energy(answer.time),
                price: answer.price(answer.time),
                price_high: answer.price(answer.high),
            },
            bill: self.bill(number, &self.run(number, answer.time)),
            limits: parts().map(|(part, secs)| (part.name().into(), secs / answer.time)).collect(),
            stages: match self.notable.get().is_some_and(|notable| notable.contains(&number)) {
                true => self.stages(number),
                false => Vec::new(),
            },
        }
    }

    /// The stages on a design, which is simulated again.
    fn stages(&self, number: u64) -> Vec<StageOnCluster> {
        let cluster = self.simulated(number);
        let mut simulator = Simulator::default();
        let work = self.work_on(&cluster);
        let outcome = work.run(&mut simulator, &cluster);
        let slots = f64::from(cluster.nodes) * f64::from(cluster.node.slots);
        let stages = work.application.stages.iter().zip(&outcome.stages);
        let of = |(stage, found): (&AppStage, &super::simulate::StageOutcome)| {
            let driver = stage.driver * cluster.node.driver_ratio;
            let secs = found.ended - found.ready;
            let part = |part: Part| found.tasks[part as usize];
            let tasks: f64 = found.tasks.iter().sum();
            let memory = part(Part::Spill) + part(Part::Gc) + part(Part::Recompute);
            let most = |(limit, secs): (StageLimit, f64)| (secs > SKEWED * tasks).then_some(limit);
            let of_tasks = [
                (StageLimit::Network, part(Part::Network)),
                (StageLimit::Disk, part(Part::Disk)),
                (StageLimit::Memory, memory),
            ];
            #[allow(clippy::cast_precision_loss)]
            let tasks_per_slot = stage.tasks.len() as f64 / slots;
            let limit = if driver > secs {
                StageLimit::Driver
            } else if let Some(limit) = of_tasks.into_iter().find_map(most) {
                limit
            } else if tasks_per_slot <= 1.0 || found.longest > SKEWED * secs {
                StageLimit::Skew
            } else {
                StageLimit::Slots
            };
            StageOnCluster {
                id: stage.id,
                name: stage.name.clone(),
                tasks: stage.tasks.len(),
                start_s: found.ready,
                end_s: found.ended,
                longest_s: found.longest,
                driver_s: driver,
                limit,
            }
        };
        stages.map(of).collect()
    }

    pub(super) fn application_report(&self) -> ApplicationReport {
        let application = self.application();
        let recorded = |stage: &super::application::AppStage| {
            let tasks = &application.tasks[stage.tasks.clone()];
            let walls: Vec<f64> = tasks.iter().map(|task| task.wall).collect();
            StageRecorded {
                id: stage.id,
                name: stage.name.clone(),
                tasks: tasks.len(),
                start_s: stage.submitted,
                end_s: stage.ended,
                longest_s: walls.iter().copied().fold(0.0, f64::max),
                median_s: median(walls),
                cpu_s: tasks.iter().map(|task| task.cpu).sum(),
                driver_s: stage.driver,
                after: stage.after.iter().map(|at| application.stages[*at].id).collect(),
            }
        };
        ApplicationReport {
            name: application.name.clone(),
            time_s: application.duration,
            startup_s: application.startup,
            driver_s: application.driver_time(),
            warm_up_s: self.mean_warm_up(),
            tasks: application.tasks.len(),
            left_out: application.left_out,
            executors: application.executors.count,
            nodes: application.executors.hosts,
            slots_per_executor: application.executors.slots,
            stages: application.stages.iter().map(recorded).collect(),
        }
    }

    /// Mean seconds of the warm-up of a slot in a stage.
    fn mean_warm_up(&self) -> f64 {
        let all = self.warm_ups.iter().map(|warm_up| warm_up.secs);
        #[allow(clippy::cast_precision_loss)]
        let count = self.warm_ups.len().max(1) as f64;
        all.sum::<f64>() / count
    }
}

/// What assumed warm-ups may take from the time, and add.
fn assumed_warm_up(warm_ups: &[WarmUp], outcome: &Outcome) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for (warm_up, found) in warm_ups.iter().zip(&outcome.stages) {
        let of = |part: Part| found.chain[part as usize];
        let doubt = warm_up.doubt(of(Part::Compute) + of(Part::Uncounted), of(Part::WarmUp));
        for (sum, secs) in sums.iter_mut().zip(doubt) {
            *sum += secs;
        }
    }
    sums.map(|secs| secs * outcome.alone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_has_its_burst_until_it_has_been_busy_for_half_an_hour() {
        let rates = StorageRates { burst: [100.0, 50.0], sustained: [10.0, 5.0] };
        assert_eq!(rates.mean([90_000.0, 45_000.0]), rates.burst);
        // 3600 s at the burst rates: half of the bytes take ten times as long.
        let bytes = [180_000.0, 90_000.0];
        let mean = rates.mean(bytes);
        assert!((secs(bytes, mean) - (1800.0 + 18_000.0)).abs() < 1e-6, "{mean:?}");
    }
}
