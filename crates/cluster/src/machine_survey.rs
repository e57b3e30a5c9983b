//! Surveys of machines, by the `job` model ([`crate::job`]) or by the paper's model.
//!
//! Each distinct storage part is replayed once for each stream, as in [`crate::survey`]. The time
//! of a volume that is described by its limits comes from the counts of each sample.

use crate::config::{Charge, Model, Parts};
use crate::error::ClusterError;
use crate::job::{JobSample, JobTarget, JobTime, TimeParts, job_time, mark_steady, node_time};
use crate::machine::{Machine, StorageTable, check};
use crate::node::{Energy, StoragePower};
use crate::replay::DEFAULT_DEPTH;
use crate::report::{
    Assumption, JobReport, MachineOutcome, MachineReport, MachineSurveyReport, ReferenceReport,
};
use crate::requests::Requests;
use crate::simulate::{Node, spread};
use crate::stream::{Replayed, Stream, storage_id, storage_report};
use gordon_blockio::{IoOp, Usage};
use gordon_replay::threads::on_all_cores;
use gordon_trace::{ColumnKind, Sample};
use gordon_units::{Bytes, Joules, Ns, Progress, Sourced};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Length of samples above which phases of a job are averaged, so that a survey gives a warning.
const LONG_SAMPLE_S: f64 = 5.0;
/// Share of busy cores above which a machine of one or two cores says little about more cores.
const MOSTLY_BUSY: f64 = 0.8;

/// A survey of machines to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSurvey {
    /// Folders that contain the traces.
    pub traces: Vec<String>,
    /// Number of nodes; for the `job` model the number of traces.
    pub nodes: u32,
    /// For the `paper` model, as in a survey of designs.
    pub shift: Sourced<f64>,
    /// Processor time that is simulated. Default: `machine`.
    #[serde(default)]
    pub charge: Charge,
    /// The model.
    pub model: Model,
    /// Machines to compare.
    pub machines: Vec<Machine>,
    /// Name of the machine on which the traces were recorded: one of `machines`, or `unit`.
    #[serde(default)]
    pub reference: Option<String>,
    /// Name of the machine whose `core_speed` is 1.
    #[serde(default)]
    pub unit: Option<String>,
    /// Catalogue of the storage parts.
    pub parts: Parts,
}

/// What a trace says about the machine on which it was recorded.
#[derive(Clone, Copy)]
struct Reference<'a> {
    name: Option<&'a str>,
    speed: f64,
    /// Index of the machine, if it is in the space; its storage and network are known then.
    machine: Option<usize>,
}

/// Block I/O of a sample.
#[derive(Clone, Copy, Default)]
struct SampleIo {
    reads: f64,
    writes: f64,
    read: f64,
    write: f64,
    /// Seconds in which the device was busy.
    busy: f64,
    /// Mean number of outstanding requests while the device was busy, from a block log.
    depth: Option<f64>,
}

/// A trace, as the models need it.
struct JobStream {
    stream: Stream,
    samples: Vec<JobSample>,
    io: Vec<SampleIo>,
    /// Bytes of the busier direction in each sample.
    network: Vec<f64>,
    has_iowait: bool,
}

/// Runs `survey`; each replay is a step of `progress`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue, a value is invalid,
/// or a stop is requested.
pub fn run(
    survey: &MachineSurvey,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    on_all_cores(|| surveyed(survey, progress))
}

fn surveyed(
    survey: &MachineSurvey,
    progress: &Progress,
) -> Result<MachineSurveyReport, ClusterError> {
    check_survey(survey)?;
    let mut parts: Vec<(&str, u32)> = survey
        .machines
        .iter()
        .filter_map(|m| Some((m.storage().part.as_deref()?, m.devices())))
        .collect();
    parts.sort_unstable();
    parts.dedup();
    for (name, count) in &parts {
        StoragePower::new(name, *count, &survey.parts)?;
    }
    let streams = survey
        .traces
        .par_iter()
        .map(|path| JobStream::open(path, survey.charge))
        .collect::<Result<Vec<_>, _>>()?;
    let pairs: Vec<_> = (0..parts.len())
        .flat_map(|part| (0..streams.len()).map(move |stream| (part, stream)))
        .collect();
    progress.total.store(pairs.len() as u64, Ordering::Relaxed);
    let replays = pairs
        .par_iter()
        .map(|&(part, stream)| {
            let (name, count) = parts[part];
            let replayed = streams[stream].stream.replay(name, count, &survey.parts, progress);
            progress.step(1);
            replayed
        })
        .collect::<Result<Vec<_>, _>>()?;
    // Indexed as replays[part][stream].
    let replays: Vec<&[Replayed]> = replays.chunks(streams.len()).collect();
    let replay_of = |machine: &Machine, stream: usize| {
        let part = machine.storage().part.as_deref()?;
        let at = parts.binary_search(&(part, machine.devices())).ok()?;
        Some(&replays[at][stream])
    };
    let references: Vec<Reference<'_>> =
        streams.iter().map(|stream| reference_of(survey, stream)).collect();
    let lengths: Vec<usize> = streams.iter().map(|s| s.samples.len()).collect();
    let nodes = spread(&lengths, survey.nodes as usize, *survey.shift);
    let peak = streams.iter().map(JobStream::peak_memory).max().unwrap_or_default();
    let machines: Vec<MachineReport> = survey
        .machines
        .par_iter()
        .enumerate()
        .map(|(index, machine)| {
            let loads: Vec<MachineLoad<'_>> = streams
                .iter()
                .zip(&references)
                .enumerate()
                .map(|(at, (stream, reference))| MachineLoad {
                    stream,
                    machine,
                    replayed: replay_of(machine, at),
                    reference: *reference,
                    traced: reference.machine.map(|traced| {
                        let traced = &survey.machines[traced];
                        (traced.storage(), replay_of(traced, at))
                    }),
                })
                .collect();
            let mut report = machine_report(machine);
            report.is_reference = references.iter().any(|r| r.machine == Some(index));
            report.memory_below_peak = *machine.memory < peak;
            match survey.model {
                Model::Job => job_outcome(survey, machine, &loads, &mut report)?,
                Model::Paper => paper_outcome(survey, machine, &loads, &nodes, &mut report)?,
            }
            Ok(report)
        })
        .collect::<Result<_, ClusterError>>()?;
    let storages =
        parts.iter().zip(&replays).map(|(part, replayed)| storage_report(*part, replayed));
    Ok(MachineSurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        model: survey.model,
        nodes: survey.nodes,
        charge: survey.charge,
        reference: reference_report(survey, &references),
        peak_memory_bytes: peak.0,
        traces: streams.iter().map(|s| s.stream.report()).collect(),
        storages: storages.collect(),
        warnings: warnings(survey, &streams, &references, &machines, peak),
        assumptions: assumptions(survey, &streams),
        machines,
    })
}

fn check_survey(survey: &MachineSurvey) -> Result<(), ClusterError> {
    let impossible =
        |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
    if survey.machines.is_empty() {
        return impossible("machines", "the space has none".into());
    }
    if survey.traces.is_empty() {
        return impossible("traces", "at least one is needed".into());
    }
    if survey.traces.len() > survey.nodes as usize {
        return impossible("traces", "there are more of them than nodes to run them".into());
    }
    if survey.model == Model::Job && survey.traces.len() != survey.nodes as usize {
        let why = format!(
            "the job model needs a trace of each node, and there are {} for {}",
            survey.traces.len(),
            survey.nodes
        );
        return impossible("nodes", why);
    }
    if !(0.0..=1.0).contains(&*survey.shift) {
        return impossible("shift", "it is a share of the trace's length, 0 to 1".into());
    }
    check(&survey.machines)?;
    if let Some(name) = &survey.reference
        && survey.unit.as_ref() != Some(name)
        && survey.machines.iter().all(|m| m.id != *name)
    {
        return impossible("reference", format!("no machine of the space is `{name}`"));
    }
    Ok(())
}

/// The machine that was given; otherwise the first whose processor the manifest names; otherwise
/// an unknown machine of speed 1.
fn reference_of<'a>(survey: &'a MachineSurvey, stream: &JobStream) -> Reference<'a> {
    if let Some(name) = &survey.reference {
        let machine = survey.machines.iter().position(|m| m.id == *name);
        let speed = machine.map_or(1.0, |at| *survey.machines[at].core_speed);
        return Reference { name: Some(name), speed, machine };
    }
    let model = &stream.stream.trace.manifest().machine.cpu_model;
    let same_processor =
        survey.machines.iter().find(|m| m.models.iter().any(|name| model.contains(name.as_str())));
    match same_processor {
        Some(machine) => {
            Reference { name: Some(&machine.id), speed: *machine.core_speed, machine: None }
        }
        None => Reference { name: None, speed: 1.0, machine: None },
    }
}

impl JobStream {
    fn open(path: &str, charge: Charge) -> Result<Self, ClusterError> {
        let stream = Stream::open(path.into(), charge, &[])?;
        let manifest = stream.trace.manifest();
        let seen = stream.samples.iter().map(|s| s.cpu_per_core.len()).max().unwrap_or(0);
        let cores = manifest.machine.cores.max(u32::try_from(seen).unwrap_or(u32::MAX));
        if cores == 0 {
            return Err(ClusterError::Impossible {
                what: format!("trace {path}"),
                why: "the number of cores of its machine is unknown".into(),
            });
        }
        let has_iowait = stream.trace.kinds().get("iowait_ns") == Some(&ColumnKind::Measured);
        let depths = depths(&stream)?;
        let io: Vec<SampleIo> = stream
            .samples
            .iter()
            .zip(&depths)
            .map(|(sample, depth)| sample_io(sample, &stream, *depth))
            .collect();
        let mut samples: Vec<JobSample> = stream
            .samples
            .iter()
            .zip(&io)
            .map(|(sample, io)| job_sample(sample, stream.cpu(sample), io, cores, has_iowait))
            .collect();
        mark_steady(&mut samples);
        #[allow(clippy::cast_precision_loss)]
        let network =
            stream.samples.iter().map(|s| s.rx_bytes.0.max(s.tx_bytes.0) as f64).collect();
        Ok(Self { stream, samples, io, network, has_iowait })
    }

    fn peak_memory(&self) -> Bytes {
        self.stream.samples.iter().map(|s| s.memory).max().unwrap_or_default()
    }

    fn has_io(&self) -> bool {
        self.io.iter().any(|io| io.reads + io.writes > 0.0)
    }

    fn cores(&self) -> u32 {
        self.samples[0].cores
    }

    /// Share of the cores that were busy.
    fn busy_share(&self) -> f64 {
        let cpu: f64 = self.samples.iter().map(|s| s.cpu).sum();
        cpu / (self.span() * f64::from(self.cores()))
    }

    fn span(&self) -> f64 {
        self.samples.iter().map(|s| s.span).sum()
    }
}

/// The mean number of outstanding requests of each sample, from the latencies of a block log
/// (Little's law: the sum of latencies over the busy time); `None` without one.
fn depths(stream: &Stream) -> Result<Vec<Option<f64>>, ClusterError> {
    if !stream.logged {
        return Ok(vec![None; stream.samples.len()]);
    }
    let mut waits = vec![0.0; stream.samples.len()];
    for batch in Requests::of(&stream.trace, &stream.samples)?.batches()? {
        for io in &batch? {
            if matches!(io.op, IoOp::Read | IoOp::Write)
                && let Some(latency) = io.latency
            {
                waits[crate::demand::sample_at(&stream.starts, io.at)] += latency.as_secs();
            }
        }
    }
    let depth = |(sample, wait): (&Sample, f64)| {
        let busy = busy(sample, stream);
        (busy > 0.0 && wait > 0.0).then(|| (wait / busy).max(1.0))
    };
    Ok(stream.samples.iter().zip(waits).map(depth).collect())
}

/// Seconds in which a device of the sample was busy; of several devices, that of the busiest.
fn busy(sample: &Sample, stream: &Stream) -> f64 {
    let real = sample.disks.iter().filter(|d| !stream.trace.is_virtual(d.device));
    let most = real.map(|d| d.busy).max().unwrap_or_default();
    most.as_secs().min(sample.span.as_secs())
}

#[allow(clippy::cast_precision_loss)]
fn sample_io(sample: &Sample, stream: &Stream, depth: Option<f64>) -> SampleIo {
    let mut io = SampleIo { busy: busy(sample, stream), depth, ..SampleIo::default() };
    for disk in sample.disks.iter().filter(|d| !stream.trace.is_virtual(d.device)) {
        io.reads += disk.reads as f64;
        io.writes += disk.writes as f64;
        io.read += disk.read_bytes.0 as f64;
        io.write += disk.write_bytes.0 as f64;
    }
    io
}

fn job_sample(sample: &Sample, cpu: Ns, io: &SampleIo, cores: u32, has_iowait: bool) -> JobSample {
    let span = sample.span.as_secs();
    let all = span * f64::from(cores);
    // A sample cannot compute more than its cores; ticks of the clock may say so.
    let cpu = cpu.as_secs().min(all);
    // Without iowait one thread is taken to wait while the device is busy.
    let iowait = if has_iowait { sample.iowait.as_secs() } else { io.busy };
    JobSample {
        span,
        cpu,
        iowait: iowait.min(all - cpu),
        cores,
        busy: io.busy,
        read: io.read,
        write: io.write,
        ..JobSample::default()
    }
}

/// A trace on a machine.
struct MachineLoad<'a> {
    stream: &'a JobStream,
    machine: &'a Machine,
    replayed: Option<&'a Replayed>,
    reference: Reference<'a>,
    /// Storage of the traced machine, and its replay if it is simulated; `None` if it is unknown.
    traced: Option<(&'a StorageTable, Option<&'a Replayed>)>,
}

impl MachineLoad<'_> {
    fn speed(&self) -> f64 {
        *self.machine.core_speed / self.reference.speed
    }

    /// The mean number of outstanding requests in a sample: from the log; from the latency of the
    /// traced volume, by Little's law; otherwise assumed as in replays.
    fn depth(&self, io: &SampleIo) -> f64 {
        if let Some(depth) = io.depth {
            return depth;
        }
        let latency = self.traced.and_then(|(storage, _)| storage.latency.as_ref());
        match latency {
            Some(latency) if io.busy > 0.0 => {
                ((io.reads + io.writes) * latency.as_secs() / io.busy).max(1.0)
            }
            #[allow(clippy::cast_precision_loss)]
            _ => DEFAULT_DEPTH as f64,
        }
    }

    /// The sample, and what the machine does with it.
    fn at(&self, index: usize) -> (JobSample, JobTarget) {
        let mut sample = self.stream.samples[index];
        let io = &self.stream.io[index];
        let depth = self.depth(io);
        let there = device_time(self.machine.storage(), self.replayed, index, io, depth);
        let traced =
            self.traced.map(|(storage, replayed)| device_time(storage, replayed, index, io, depth));
        // Without a description of the traced device, its busy time is compared with the target's
        // device time; without a busy time, the modelled time stands for it.
        if sample.busy <= 0.0 {
            sample.busy = traced.unwrap_or(there).min(sample.span);
        }
        let here = traced.unwrap_or(sample.busy);
        let storage_ratio = if here > 0.0 { there / here } else { 1.0 };
        let network = self.stream.network[index] / self.machine.network.0;
        let cores = *self.machine.cores;
        (sample, JobTarget { cores, speed: self.speed(), storage_ratio, network })
    }

    fn indices(&self) -> std::ops::Range<usize> {
        0..self.stream.samples.len()
    }

    /// Seconds in which all cores together are busy on the machine.
    fn cpu_secs(&self) -> f64 {
        self.stream.samples.iter().map(|s| s.cpu).sum::<f64>() / self.speed()
    }

    /// Cost of a sample by the paper's model.
    fn paper(&self, index: usize) -> TimeParts {
        let (sample, target) = self.at(index);
        let io = &self.stream.io[index];
        let cores = f64::from(target.cores);
        TimeParts {
            storage: device_time(self.machine.storage(), self.replayed, index, io, self.depth(io)),
            network: target.network,
            computing: sample.cpu / (target.speed * cores),
            ..TimeParts::default()
        }
    }

    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for cost in self.replayed.iter().flat_map(|r| &r.replay.costs) {
            usage.read += cost.usage.read;
            usage.write += cost.usage.write;
            usage.controller += cost.usage.controller;
        }
        usage
    }

    /// Energy of the machine if it is on for `secs` seconds; `None` if its power is unknown.
    fn energy(&self, secs: f64, parts: &Parts) -> Result<Option<f64>, ClusterError> {
        let (Some(idle), Some(active)) = (&self.machine.idle, &self.machine.active) else {
            return Ok(None);
        };
        let busy = (self.cpu_secs() / f64::from(*self.machine.cores)).min(secs);
        let mut energy = Energy {
            cpu: Joules::of(**idle, secs) + Joules::of(**active - **idle, busy),
            ..Energy::default()
        };
        if let Some(part) = &self.machine.storage().part {
            let power = StoragePower::new(part, self.machine.devices(), parts)?;
            power.add(secs, &self.usage(), &mut energy);
        }
        Ok(Some(energy.total().0))
    }
}

/// Seconds that a storage needs for the I/O of a sample: the longest of its replay, if it has
/// devices of the catalogue, and the limits of the volume.
fn device_time(
    storage: &StorageTable,
    replayed: Option<&Replayed>,
    index: usize,
    io: &SampleIo,
    depth: f64,
) -> f64 {
    let mut time = replayed.map_or(0.0, |r| r.replay.costs[index].time.as_secs());
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

fn job_outcome(
    survey: &MachineSurvey,
    machine: &Machine,
    loads: &[MachineLoad<'_>],
    report: &mut MachineReport,
) -> Result<(), ClusterError> {
    let times: Vec<JobTime> = loads
        .iter()
        .map(|load| {
            node_time(load.indices().map(|index| {
                let (sample, target) = load.at(index);
                sample.time_on(&target)
            }))
        })
        .collect();
    let time = job_time(times.iter().copied());
    let longest = (0..loads.len()).max_by(|a, b| times[*a].time.total_cmp(&times[*b].time));
    let slowest = &loads[longest.unwrap_or(0)];
    report.limits = limits(slowest.indices().map(|index| {
        let (sample, target) = slowest.at(index);
        sample.parts_on(&target)
    }));
    // All nodes are on until the job ends.
    let energy = loads.iter().map(|load| load.energy(time.time, &survey.parts));
    let energy_j = energy.sum::<Result<Option<f64>, _>>()?;
    report.job = Some(JobReport {
        time_s: time.time,
        time_s_low: time.low,
        time_s_high: time.high,
        energy_j,
        price: price(machine, survey.nodes, time.time),
    });
    Ok(())
}

fn price(machine: &Machine, nodes: u32, secs: f64) -> Option<f64> {
    machine.price_per_hour.as_ref().map(|price| **price * f64::from(nodes) * secs / 3600.0)
}

/// Shares of the time by what takes it: `cpu`, `storage`, `network`, or `idle` for the time that no
/// part of the machine shortens.
fn limits(samples: impl Iterator<Item = TimeParts>) -> BTreeMap<String, f64> {
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let mut total = 0.0;
    for parts in samples {
        let time = parts.time();
        total += time;
        let mut add = |name: &str, secs: f64| *shares.entry(name.into()).or_default() += secs;
        if parts.own() >= time {
            add("cpu", parts.computing);
            add("storage", parts.blocked);
            add("idle", parts.idle);
        } else if parts.storage >= parts.network {
            add("storage", time);
        } else {
            add("network", time);
        }
    }
    if total > 0.0 {
        shares.values_mut().for_each(|share| *share /= total);
    }
    shares.retain(|_, share| *share > 0.0);
    shares
}

fn paper_outcome(
    survey: &MachineSurvey,
    machine: &Machine,
    loads: &[MachineLoad<'_>],
    nodes: &[Node],
    report: &mut MachineReport,
) -> Result<(), ClusterError> {
    let costs: Vec<Vec<TimeParts>> =
        loads.iter().map(|l| l.indices().map(|index| l.paper(index)).collect()).collect();
    let sums: Vec<f64> =
        costs.iter().map(|stream| stream.iter().map(TimeParts::time).sum()).collect();
    let longest = nodes.iter().map(|node| costs[node.stream].len()).max().unwrap_or(0);
    let running = |node: &&Node, sample: usize| sample < costs[node.stream].len();
    let slowest: Vec<f64> = (0..longest)
        .map(|sample| {
            let times = nodes.iter().filter(|node| running(node, sample)).map(|node| {
                let stream = &costs[node.stream];
                stream[(sample + node.shift) % stream.len()].time()
            });
            times.fold(0.0, f64::max)
        })
        .collect();
    // A node that has finished is off.
    let outcome = |time: f64, on: &dyn Fn(&Node) -> f64| {
        let energy = nodes.iter().map(|node| loads[node.stream].energy(on(node), &survey.parts));
        let energy_j = energy.sum::<Result<Option<f64>, _>>()?;
        let power_w = energy_j.filter(|_| time > 0.0).map(|joules| joules / time);
        Ok::<_, ClusterError>(MachineOutcome {
            time_s: time,
            energy_j,
            power_w,
            node_power_w: power_w.map(|watts| watts / f64::from(survey.nodes)),
            price: price(machine, survey.nodes, time),
        })
    };
    let sync_on = |node: &Node| slowest.iter().take(costs[node.stream].len()).sum();
    report.sync = Some(outcome(slowest.iter().sum(), &sync_on)?);
    let nosync = nodes.iter().map(|node| sums[node.stream]).fold(0.0, f64::max);
    report.nosync = Some(outcome(nosync, &|node| sums[node.stream])?);
    report.limits = limits(costs.iter().flatten().copied());
    Ok(())
}

fn machine_report(machine: &Machine) -> MachineReport {
    let storage = machine.storage();
    let part = storage.part.as_ref().map(|part| storage_id(part, machine.devices()));
    let volume = storage.bandwidth.as_ref().map(|bandwidth| format!("{}/s", **bandwidth));
    MachineReport {
        id: machine.id.clone(),
        summary: machine.summary.clone(),
        cores: *machine.cores,
        core_speed: *machine.core_speed,
        memory_bytes: machine.memory.0,
        storage: part.into_iter().chain(volume).collect::<Vec<_>>().join(", at most "),
        storage_part: storage.part.clone(),
        network_bytes_per_s: machine.network.0,
        price_per_hour: machine.price_per_hour.as_ref().map(|price| **price),
        is_reference: false,
        memory_below_peak: false,
        job: None,
        sync: None,
        nosync: None,
        limits: BTreeMap::new(),
    }
}

fn reference_report(survey: &MachineSurvey, references: &[Reference<'_>]) -> ReferenceReport {
    let first = references[0];
    ReferenceReport {
        machine: first.name.map(str::to_owned),
        core_speed: first.speed,
        is_assumed: survey.reference.is_none() && references.iter().any(|r| r.name.is_none()),
    }
}

fn warnings(
    survey: &MachineSurvey,
    streams: &[JobStream],
    references: &[Reference<'_>],
    machines: &[MachineReport],
    peak: Bytes,
) -> Vec<String> {
    let mut list = Vec::new();
    if references.iter().any(|reference| reference.name.is_none()) {
        list.push(
            "the speed of the traced machine is unknown: core_speed 1.0 is assumed, and CPU times \
             are in proportion to it. Give the traced machine with --reference"
                .into(),
        );
    }
    for stream in streams {
        let path = stream.stream.path.display();
        list.extend(stream_notes(survey, stream).into_iter().map(|note| format!("{path}: {note}")));
    }
    let small: Vec<&str> =
        machines.iter().filter(|m| m.memory_below_peak).map(|m| m.id.as_str()).collect();
    if let Some(first) = small.first() {
        let others = match small.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        list.push(format!(
            "{first}{others}: less memory than the {} that the trace used at most; the effect on \
             time is not modelled",
            peak.human()
        ));
    }
    list
}

fn stream_notes(survey: &MachineSurvey, stream: &JobStream) -> Vec<String> {
    let mut notes = Vec::new();
    let has_parts = survey.machines.iter().any(|m| m.storage().part.is_some());
    if !stream.has_io() {
        notes.push("no block I/O in it; storage never limits".into());
    } else if !stream.stream.logged && has_parts {
        notes.push(
            "no block log; storage times of simulated devices come from each sample's counts, as \
             if its requests were of equal size and sequential: a lower bound for disks"
                .into(),
        );
    }
    if survey.model == Model::Paper {
        return notes;
    }
    if !stream.has_iowait && stream.has_io() {
        notes
            .push("no iowait in it; one thread is assumed to wait while the device is busy".into());
    }
    let interval = stream.span() / stream.samples.len() as f64;
    if interval > LONG_SAMPLE_S {
        notes.push(format!(
            "samples of {interval:.1} s hide phases of the job; record one a second"
        ));
    }
    if stream.cores() <= 2 && stream.busy_share() >= MOSTLY_BUSY {
        notes.push(format!(
            "{:.0} % of {} cores were busy: the trace says little about machines with more cores, \
             which may be slower than predicted",
            stream.busy_share() * 100.0,
            stream.cores()
        ));
    }
    notes
}

fn assumptions(survey: &MachineSurvey, streams: &[JobStream]) -> Vec<Assumption> {
    let mut list = Vec::new();
    let mut add = |key: &str, value: String, why: &str| {
        list.push(Assumption { key: key.into(), value, why: why.into() });
    };
    if survey.model == Model::Job {
        add(
            "width",
            "geometric".into(),
            "cores that the job could use at any moment; of the distributions with the measured \
             mean, the one of greatest entropy",
        );
    }
    let has_limits = survey.machines.iter().any(|m| m.storage().bandwidth.is_some());
    let has_depth = streams.iter().all(|stream| stream.stream.logged);
    if has_limits && !has_depth && survey.reference.is_none() {
        add(
            "storage.depth",
            format!("{DEFAULT_DEPTH}"),
            "outstanding requests: the trace has no latencies, and the traced volume is unknown",
        );
    }
    list
}
