//! A trace at a place: the time that storage and network need for each sample.
//!
//! Storage takes the longest of the replay on its simulated devices, or its measured time, and the
//! limits of its volume.
//! Not modelled: the effect of less memory, bursts of a volume, clocks that fall with the load.

use super::space::Place;
use crate::designs::{JobCost, JobNode, PaperSample};
use crate::job_stream::{JobStream, SampleIo};
use crate::machine::{Machine, StorageTable};
use crate::measured::{MeasuredStorage, MeasuredStorages};
use crate::replay::DEFAULT_DEPTH;
use crate::stream::Replayed;
use gordon_blockio::Usage;
use gordon_trace::MachineInfo;
use gordon_units::Bytes;

/// What a trace says about the machine on which it was recorded.
#[derive(Clone, Copy)]
pub(super) struct TraceReference<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) speed: f64,
    /// Index of the machine, if it is in the space; its storage and network are known then.
    pub(super) machine: Option<usize>,
}

/// The machine whose processor was traced. Sizes of a family share a processor and its speed, so one
/// with as many cores is preferred, and then the one with the nearest memory. With another number
/// of threads a core, the same processor has another speed for each of them.
pub(super) fn same_processor<'a>(
    machines: &'a [Machine],
    traced: &MachineInfo,
    cores: u32,
) -> Option<&'a Machine> {
    let has_threads = |machine: &Machine| match (&machine.threads_per_core, traced.threads_per_core)
    {
        (Some(known), Some(found)) => **known == found,
        _ => true,
    };
    #[allow(clippy::cast_precision_loss)]
    let distance = |machine: &Machine| match traced.memory {
        Bytes(0) => 0.0,
        memory => (machine.memory.0 as f64 / memory.0 as f64).ln().abs(),
    };
    machines
        .iter()
        .filter(|m| m.models.iter().any(|name| traced.cpu_model.contains(name.as_str())))
        .filter(|m| has_threads(m))
        .min_by(|a, b| {
            let cores_differ = (*a.cores != cores).cmp(&(*b.cores != cores));
            cores_differ.then(distance(a).total_cmp(&distance(b)))
        })
}

/// A trace at a place.
pub(super) struct TraceLoad<'a> {
    pub(super) stream: &'a JobStream,
    pub(super) measured: &'a MeasuredStorages,
    pub(super) place: Place<'a>,
    pub(super) replayed: Option<&'a Replayed>,
    pub(super) reference: TraceReference<'a>,
    /// Storage of the traced machine, and its replay if it is simulated; `None` if it is unknown.
    pub(super) traced: Option<(&'a StorageTable, Option<&'a Replayed>)>,
}

impl TraceLoad<'_> {
    /// The samples, for the `job` model.
    pub(super) fn job(&self) -> JobNode {
        JobNode {
            costs: (0..self.stream.samples.len()).map(|index| self.cost(index)).collect(),
            usage: self.replayed.map_or_else(Usage::default, |replayed| {
                let mut usage = Usage::default();
                replayed.replay.costs.iter().for_each(|cost| usage += cost.usage);
                usage
            }),
            reference_speed: self.reference.speed * self.stream.core_share,
        }
    }

    fn cost(&self, index: usize) -> JobCost {
        let mut sample = self.stream.samples[index];
        let io = &self.stream.io[index];
        let depth = self.depth(io);
        let there = self.device_time(self.place.storage, self.replayed, index, depth);
        let traced = self
            .traced
            .map(|(storage, replayed)| self.device_time(storage, replayed, index, depth));
        // Without a description of the traced device, its busy time is compared with the target's
        // device time; without a busy time, the modelled time stands for it.
        if sample.busy <= 0.0 {
            sample.busy = traced.unwrap_or(there).min(sample.span);
        }
        let here = traced.unwrap_or(sample.busy);
        JobCost {
            sample,
            storage_ratio: if here > 0.0 { there / here } else { 1.0 },
            network: self.network(index),
        }
    }

    /// The samples, for the `paper` model. An instruction is a second of a core of speed 1.
    pub(super) fn paper(&self) -> Vec<PaperSample> {
        let sample = |index: usize| {
            let io = &self.stream.io[index];
            PaperSample {
                instructions: self.stream.samples[index].cpu
                    * self.reference.speed
                    * self.stream.core_share,
                storage: self.device_time(self.place.storage, self.replayed, index, self.depth(io)),
                network: self.network(index),
                memory: 0.0,
                usage: self.replayed.map_or_else(Usage::default, |r| r.replay.costs[index].usage),
            }
        };
        (0..self.stream.samples.len()).map(sample).collect()
    }

    fn network(&self, index: usize) -> f64 {
        self.stream.network[index] / self.place.network
    }

    /// The mean number of outstanding requests in a sample: from the log; from the latency of the
    /// traced storage, by Little's law; otherwise assumed as in replays.
    fn depth(&self, io: &SampleIo) -> f64 {
        if let Some(depth) = io.depth {
            return depth;
        }
        match self.traced.and_then(|(storage, _)| self.latencies(storage, io)) {
            Some(latencies) if io.busy > 0.0 => (latencies / io.busy).max(1.0),
            #[allow(clippy::cast_precision_loss)]
            _ => DEFAULT_DEPTH as f64,
        }
    }

    /// Sum of the latencies of the I/O of a sample on a volume, or on a measured storage without
    /// queueing; `None` if they are unknown.
    fn latencies(&self, storage: &StorageTable, io: &SampleIo) -> Option<f64> {
        let of_volume = storage.latency.as_ref().map(|latency| latency.as_secs());
        match of_volume {
            Some(latency) => Some((io.reads + io.writes) * latency),
            None => Some(self.measured_of(storage)?.unloaded_latency(io.loads())),
        }
    }

    fn measured_of(&self, storage: &StorageTable) -> Option<&MeasuredStorage> {
        self.measured.get(storage.measured.as_ref()?)
    }

    /// Seconds that a storage needs for the I/O of a sample: the longest of its replay, if it has
    /// devices of the catalogue, its measured time, and the limits of the volume.
    fn device_time(
        &self,
        storage: &StorageTable,
        replayed: Option<&Replayed>,
        index: usize,
        depth: f64,
    ) -> f64 {
        let io = &self.stream.io[index];
        let mut time = replayed.map_or(0.0, |r| r.replay.costs[index].time.as_secs());
        if let Some(measured) = self.measured_of(storage) {
            time = time.max(measured.device_time(io.loads(), depth));
        }
        if let Some(bandwidth) = &storage.bandwidth {
            let write = storage.write_bandwidth.as_ref().unwrap_or(bandwidth);
            time = time.max(io.read / bandwidth.0 + io.write / write.0);
        }
        if let Some(iops) = &storage.iops {
            let write = storage.write_iops.as_ref().unwrap_or(iops);
            time = time.max(io.reads / **iops + io.writes / **write);
        }
        if let Some(latency) = &storage.latency {
            time = time.max((io.reads + io.writes) * latency.as_secs() / depth);
        }
        time
    }
}
