//! The recorded nodes: the machines that they ran on, and their load.

use super::ServiceSurvey;
use super::disk::disk_use;
use super::load::{NodeRecord, ServiceLoad};
use super::resource::LoadUse;
use super::sample::{Rates, Recorded, node_samples};
use crate::error::ClusterError;
use crate::model::job::report::ReferenceReport;
use crate::space::machine::StorageTable;
use crate::space::machines::{MachineSpace, part_of};
use crate::space::measured::MeasuredStorage;
use crate::space::part_times::part_times;
use crate::space::reference::{TraceReference, same_processor};
use crate::space::resources::{IoState, StorageTimes};
use crate::space::storage::Storage;
use crate::trace::job_stream::JobStream;
use gordon_units::Bytes;
use rayon::prelude::*;

/// The recorded nodes, and the storages of the space.
pub(super) struct ServiceTraces<'a> {
    pub survey: &'a ServiceSurvey,
    pub streams: &'a [JobStream],
    /// By node.
    pub references: Vec<TraceReference<'a>>,
    pub load: ServiceLoad,
    /// Each of several nodes by itself, if time is missing within the record of one: nothing says
    /// which of its samples are of the same time as those of others.
    pub alone: Vec<ServiceLoad>,
    storages: Storages<'a>,
}

/// The times of the storages of the space.
struct Storages<'a> {
    survey: &'a ServiceSurvey,
    parts: Vec<(&'a str, u32)>,
    /// By part.
    times: Vec<MeasuredStorage>,
}

impl<'a> ServiceTraces<'a> {
    pub fn new(
        survey: &'a ServiceSurvey,
        space: &'a MachineSpace<'a>,
        streams: &'a [JobStream],
    ) -> Result<Self, ClusterError> {
        let parts = space.storage_parts();
        // The page cache of a smaller machine causes reads, even if the record has none.
        let times: Vec<MeasuredStorage> = parts
            .par_iter()
            .map(|part| part_times(&Storage::of(*part, &survey.catalogue.parts)?))
            .collect::<Result<_, _>>()?;
        let references: Vec<_> =
            streams.iter().map(|stream| reference_of(survey, stream)).collect();
        let storages = Storages { survey, parts, times };
        let start = |stream: &JobStream| stream.stream.trace.manifest().start_unix_ns;
        let first = streams.iter().map(start).min().unwrap_or(0);
        let records: Vec<NodeRecord> = streams
            .iter()
            .zip(&references)
            .map(|(stream, reference)| storages.record(stream, reference, start(stream) - first))
            .collect();
        let is_apart = records.len() > 1 && records.iter().any(|record| record.has_gaps);
        let alone = match is_apart {
            true => records
                .iter()
                .map(|record| ServiceLoad::new(std::slice::from_ref(record)))
                .collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        let load = ServiceLoad::new(&records)?;
        Ok(Self { survey, streams, references, load, alone, storages })
    }

    /// What is known of the times of a storage.
    pub fn times<'s>(&'s self, table: &'s StorageTable) -> StorageTimes<'s> {
        self.storages.times(table)
    }

    /// The sum of a demand of each node by itself, if which samples are of the same time is
    /// unknown: that of nodes whose peaks coincide.
    pub fn coinciding(&self, of: impl Fn(&ServiceLoad) -> LoadUse) -> Option<LoadUse> {
        self.alone.iter().map(of).reduce(LoadUse::plus)
    }

    /// Whether all records have the order of the requests.
    pub fn are_logged(&self) -> bool {
        self.streams.iter().all(|stream| stream.stream.logged)
    }

    /// Whether the speed of a recorded machine is unknown.
    pub fn is_assumed(&self) -> bool {
        self.references.iter().any(|reference| reference.is_assumed)
    }

    /// Whether the speed of a lone thread of all recorded machines is known.
    pub fn has_gains(&self) -> bool {
        self.references.iter().all(|reference| reference.single.is_some())
    }

    /// Main memory of the recorded machine with most; `None` if it is unknown.
    pub fn memory(&self) -> Option<f64> {
        let of = |(stream, reference): (&JobStream, &TraceReference<'_>)| {
            let recorded = stream.stream.trace.manifest().machine.memory;
            let known = reference.machine.map(|at| *self.survey.catalogue.machines[at].memory);
            Some(recorded).filter(|bytes| *bytes > Bytes(0)).or(known)
        };
        let all: Option<Vec<Bytes>> = self.streams.iter().zip(&self.references).map(of).collect();
        #[allow(clippy::cast_precision_loss)]
        all?.into_iter().max().map(|bytes| bytes.0 as f64)
    }

    /// Bytes a second that reads of a node took from its page cache, of the node with most; `None`
    /// if they are unknown.
    #[allow(clippy::cast_precision_loss)]
    pub fn cache_hits(&self) -> Option<f64> {
        let of = |stream: &JobStream| Some(stream.memory.cache_hits?.0 as f64 / stream.span());
        let all: Option<Vec<f64>> = self.streams.iter().map(of).collect();
        all?.into_iter().max_by(f64::total_cmp)
    }

    /// Size of a node's volume in whole GiB: that of the data that the record touched, if it has
    /// the addresses of the requests. Totals of requests say nothing of it.
    #[allow(clippy::cast_precision_loss)]
    pub fn volume_gib(&self) -> f64 {
        const GIB: f64 = (1u64 << 30) as f64;
        if !self.are_logged() {
            return 0.0;
        }
        let bytes = self.streams.iter().map(|stream| stream.stream.footprint.touched());
        (bytes.max().unwrap_or_default().0 as f64 / GIB).ceil()
    }
}

impl Storages<'_> {
    /// A node whose record starts `after` nanoseconds after that of the first one.
    #[allow(clippy::cast_precision_loss)]
    fn record(&self, stream: &JobStream, reference: &TraceReference<'_>, after: u64) -> NodeRecord {
        let machine = reference.machine.map(|at| &self.survey.catalogue.machines[at]);
        let storage = machine.map(|machine| self.times(&machine.storage[0].0));
        let disk = |at: usize| {
            let (io, secs) = (&stream.io[at], stream.samples[at].span);
            let rates = Rates {
                requests: [io.reads / secs, io.writes / secs],
                bytes: [io.read / secs, io.write / secs],
                sequential: [io.reads / secs, io.writes / secs],
                ..Rates::default()
            };
            let state = IoState { has_burst: true, is_random: false };
            storage.map(|storage| disk_use(&storage, &rates, state))
        };
        let link = stream.link.or(machine.map(|machine| machine.network[0].0));
        let (samples, left_out) = node_samples(stream, reference, disk, link);
        NodeRecord {
            start: after as f64 / 1e9,
            samples,
            left_out,
            recorded: Recorded::of(stream),
            has_gaps: stream.stream.trace.manifest().has_gaps(),
        }
    }

    /// What is known of the times of a storage.
    fn times<'s>(&'s self, table: &'s StorageTable) -> StorageTimes<'s> {
        let at = part_of(table).and_then(|part| self.parts.binary_search(&part).ok());
        let file = table.measured.as_ref();
        StorageTimes {
            table,
            part: at.and_then(|at| self.times.get(at)),
            measured: file.and_then(|file| self.survey.catalogue.measured.get(file)),
        }
    }
}

/// The machine that was given; otherwise one whose processor the manifest names; otherwise an
/// unknown machine of speed 1.
fn reference_of<'a>(survey: &'a ServiceSurvey, stream: &JobStream) -> TraceReference<'a> {
    if let Some(given) = survey.catalogue.given_reference() {
        return given;
    }
    let recorded = &stream.stream.trace.manifest().machine;
    let machine = same_processor(&survey.catalogue.machines, recorded, stream.cores());
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
