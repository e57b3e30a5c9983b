//! The traces of a survey of machines: the machines on which they were recorded, their times on the
//! storages and networks of the space, and what they need of a machine.

use super::JobSurvey;
use super::load::JobLoad;
use super::numbers::NodeNumbers;
use super::place::{TraceLoad, TraceStorage};
use super::pool::pooled;
use super::report::ReferenceReport;
use crate::error::ClusterError;
use crate::space::cores::{UNKNOWN_SPEED, speed_error};
use crate::space::machine::{Machine, StorageTable};
use crate::space::machines::{MachineDesign, MachineSpace, Place, part_of};
use crate::space::measured::MeasuredStorage;
use crate::space::node::storage_power;
use crate::space::part_times::part_times;
use crate::space::reference::{TraceReference, same_processor};
use crate::space::resources::StorageTimes;
use crate::space::storage::Storage;
use crate::trace::alignment::{Lags, are_simultaneous, start};
use crate::trace::job_stream::{JobStream, MemoryFit};
use crate::trace::replays::Replays;
use crate::trace::stream::{Replayed, Stream};
use gordon_units::{Bytes, DataRate, Sourced};
use rayon::prelude::*;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The traces of a survey, and their replays.
pub(super) struct JobTraces<'a> {
    pub survey: &'a JobSurvey,
    pub streams: &'a [JobStream],
    /// By stream.
    pub references: Vec<TraceReference<'a>>,
    /// By stream: seconds after the start of the first one; `None` if they were not recorded at the
    /// same time.
    pub starts: Option<Vec<f64>>,
    /// By stream: the storage of the traced machine, if it was limited.
    limited: Vec<Option<StorageTable>>,
    /// Bytes of storage that the largest trace touched.
    touched: Bytes,
    replays: &'a Replays<'a>,
    /// By storage part; empty if no trace needs them.
    part_times: Vec<MeasuredStorage>,
}

impl<'a> JobTraces<'a> {
    /// Prepares the traces for the storages that were replayed.
    pub fn new(
        survey: &'a JobSurvey,
        streams: &'a [JobStream],
        replays: &'a Replays<'_>,
    ) -> Result<Self, ClusterError> {
        let references: Vec<_> =
            streams.iter().map(|stream| reference_of(survey, stream)).collect();
        let part_times = times_of_parts(survey, streams, &replays.storages)?;
        let touched = streams.iter().map(|stream| stream.stream.footprint.touched()).max();
        Ok(Self {
            survey,
            streams,
            limited: references.iter().map(|reference| limited(survey, reference)).collect(),
            starts: starts(survey, streams),
            references,
            touched: touched.unwrap_or_default(),
            replays,
            part_times,
        })
    }

    fn replay_of(&self, storage: &StorageTable, stream: usize) -> Option<&'a Replayed> {
        Some(&self.replays.on(part_of(storage)?)?[stream])
    }

    /// What is known of the times of a storage.
    pub fn times<'s>(&'s self, table: &'s StorageTable) -> StorageTimes<'s> {
        let at = part_of(table).and_then(|part| self.replays.storages.binary_search(&part).ok());
        let file = table.measured.as_ref();
        StorageTimes {
            table,
            part: at.and_then(|at| self.part_times.get(at)),
            measured: file.and_then(|file| self.survey.catalogue.measured.get(file)),
        }
    }

    fn storage<'s>(&'s self, table: &'s StorageTable, at: usize) -> TraceStorage<'s> {
        TraceStorage { times: self.times(table), replayed: self.replay_of(table, at) }
    }

    fn load<'s>(&'s self, place: Place<'s>, at: usize) -> TraceLoad<'s> {
        let reference = self.references[at];
        TraceLoad {
            stream: &self.streams[at],
            place,
            storage: self.storage(place.storage, at),
            reference,
            traced: self.traced_storage(at).map(|table| self.storage(table, at)),
            link: reference
                .machine
                .map(|traced| self.survey.catalogue.machines[traced].network[0].0),
            is_limited: self.limited[at].is_some(),
        }
    }

    /// The storage of a traced machine; `None` if it is unknown.
    fn traced_storage(&self, at: usize) -> Option<&StorageTable> {
        let of_machine = |traced: usize| &self.survey.catalogue.machines[traced].storage[0].0;
        self.limited[at].as_ref().or_else(|| self.references[at].machine.map(of_machine))
    }

    /// The numbers of nodes of a design.
    pub fn nodes(&self, target: u32) -> NodeNumbers {
        numbers(self.streams, target)
    }

    /// The traces at all places.
    pub fn loads(&self, space: &MachineSpace<'_>) -> Result<Vec<JobLoad>, ClusterError> {
        let starts = self.starts.as_deref().unwrap_or_default();
        let load = |place: &Place<'_>, other| {
            let storage = storage_power(place.storage, &self.survey.catalogue.parts)?;
            let nodes = (0..self.streams.len()).map(|stream| self.load(*place, stream).job());
            let traced = pooled(nodes.collect(), starts);
            let load = JobLoad::new(traced, self.nodes(place.nodes), storage, other);
            Ok(match self.survey.spin_down {
                Some(spin_down) => load.spinning_down(spin_down),
                None => load,
            })
        };
        let first = load(&space.places[0], None)?;
        space.places.par_iter().map(|place| load(place, Some(&first))).collect()
    }

    /// Whether machines with this memory hold the node that needs most. Fewer nodes than were
    /// traced need more each.
    pub fn fit(&self, design: &MachineDesign<'_>) -> MemoryFit {
        let memory = self.memory(design);
        let fits = self.streams.iter().map(|stream| stream.memory.fit(memory));
        fits.max().unwrap_or(MemoryFit::Unknown)
    }

    fn memory(&self, design: &MachineDesign<'_>) -> Bytes {
        memory(design.machine, self.nodes(design.nodes))
    }

    /// Error of the speed of a machine relative to the traced ones, as a logarithm.
    pub fn speed_error(&self, machine: &Machine) -> f64 {
        let of = |reference: &TraceReference<'_>| match reference.is_assumed {
            false => speed_error(*machine.core_speed / reference.speed),
            true => UNKNOWN_SPEED,
        };
        self.references.iter().map(of).fold(0.0, f64::max)
    }

    /// Size of the volume of each of `nodes` nodes in whole GiB: that of the data that the largest
    /// trace touched.
    #[allow(clippy::cast_precision_loss)]
    pub fn volume_gib(&self, nodes: u32) -> f64 {
        (self.touched.0 as f64 * self.nodes(nodes).part() / GIB).ceil()
    }

    /// Bytes that a node reads again, at most, because a design has less memory.
    #[allow(clippy::cast_precision_loss)]
    pub fn read_again(&self, design: &MachineDesign<'_>) -> f64 {
        let memory = self.memory(design);
        let bytes = self.streams.iter().map(|s| s.memory.read_again(memory));
        bytes.max().unwrap_or_default().0 as f64 * self.nodes(design.nodes).part()
    }

    /// Bytes that a node writes, at most, where files live longer than in the trace.
    #[allow(clippy::cast_precision_loss)]
    pub fn write_more(&self) -> f64 {
        let bytes = self.streams.iter().map(|stream| stream.memory.unwritten);
        bytes.max().unwrap_or_default().0 as f64
    }

    /// Whether a storage is that of all traced machines.
    pub fn has_storage(&self, table: &StorageTable) -> bool {
        (0..self.streams.len()).all(|at| self.traced_storage(at) == Some(table))
    }
}

/// The storage of a traced machine behind the limit of its run; `None` without a limit.
fn limited(survey: &JobSurvey, reference: &TraceReference<'_>) -> Option<StorageTable> {
    let limit = survey.storage_rate?;
    let machine = reference.machine.map(|at| &survey.catalogue.machines[at]);
    let mut table = machine.map_or_else(StorageTable::default, |m| m.storage[0].0.clone());
    let least = |rate: Option<&Sourced<DataRate>>| {
        Some(Sourced::from(DataRate(rate.map_or(limit, |rate| rate.0.min(limit)))))
    };
    table.write_bandwidth = least(table.write_bandwidth.as_ref().or(table.bandwidth.as_ref()));
    table.bandwidth = least(table.bandwidth.as_ref());
    table.burst = None;
    Some(table)
}

/// Seconds after the start of the first trace at which each starts: by the lags of a run, otherwise
/// by the clocks; `None` if they were not recorded at the same time.
fn starts(survey: &JobSurvey, streams: &[JobStream]) -> Option<Vec<f64>> {
    if !survey.lags.is_empty() || streams.len() == 1 {
        let lags = Lags::new(&survey.lags);
        let start = |(at, stream): (usize, &JobStream)| {
            let interval = stream.samples.first().map_or(0.0, |sample| sample.span);
            lags.of(at) as f64 * interval
        };
        return Some(streams.iter().enumerate().map(start).collect());
    }
    let streams: Vec<&Stream> = streams.iter().map(AsRef::as_ref).collect();
    let all_at_once =
        streams.iter().all(|one| streams.iter().all(|other| are_simultaneous(one, other)));
    let first = streams.iter().map(|stream| start(stream)).min()?;
    let after = |stream: &&Stream| start(stream).saturating_sub(first).as_secs();
    all_at_once.then(|| streams.iter().map(after).collect())
}

#[allow(clippy::cast_possible_truncation)]
fn numbers(streams: &[JobStream], target: u32) -> NodeNumbers {
    NodeNumbers { traced: streams.len() as u32, target }
}

/// The memory of a node for what a traced one used: fewer nodes need more each.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn memory(machine: &Machine, nodes: NodeNumbers) -> Bytes {
    let of_one = *machine.memory;
    let part = nodes.part();
    if part > 1.0 { Bytes((of_one.0 as f64 / part) as u64) } else { of_one }
}

/// Times of requests to each part, if a trace needs them: it has no block log, or the page cache
/// saved reads or writes.
fn times_of_parts(
    survey: &JobSurvey,
    streams: &[JobStream],
    parts: &[(&str, u32)],
) -> Result<Vec<MeasuredStorage>, ClusterError> {
    let fewest = numbers(streams, survey.numbers()[0]);
    let lacks_cache = |stream: &JobStream| {
        let mut machines = survey.catalogue.machines.iter();
        stream.memory.unwritten > Bytes(0)
            || machines.any(|m| stream.memory.read_again(memory(m, fewest)) > Bytes(0))
    };
    let is_needed =
        |stream: &JobStream| (stream.has_io() && !stream.stream.logged) || lacks_cache(stream);
    if !streams.iter().any(is_needed) {
        return Ok(Vec::new());
    }
    parts.par_iter().map(|part| part_times(&Storage::of(*part, &survey.catalogue.parts)?)).collect()
}

/// The machine that was given; otherwise one whose processor the manifest names; otherwise an
/// unknown machine of speed 1.
fn reference_of<'a>(survey: &'a JobSurvey, stream: &JobStream) -> TraceReference<'a> {
    if let Some(given) = survey.catalogue.given_reference() {
        return given;
    }
    let traced = &stream.stream.trace.manifest().machine;
    let machine = same_processor(&survey.catalogue.machines, traced, stream.cores());
    machine.map_or(TraceReference::UNKNOWN, TraceReference::of)
}

/// The machine on which the traces were recorded.
pub(super) fn reference_report(references: &[TraceReference<'_>]) -> ReferenceReport {
    let first = references[0];
    ReferenceReport {
        machine: first.name.map(str::to_owned),
        core_speed: first.speed,
        is_assumed: references.iter().any(|reference| reference.is_assumed),
    }
}
