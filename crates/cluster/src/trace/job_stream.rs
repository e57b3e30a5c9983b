//! A trace as the models of machines need it: the work of cores, storage and network in a sample.
//!
//! The mean number of outstanding requests and the share of sequential ones come from a block log,
//! if the trace has one. I/O and pressure of all programs count as the job's; CPU time does too,
//! unless the command is charged. Time in which the job wanted a core and others had it is kept as
//! unserved demand.

use crate::error::ClusterError;
use crate::space::measured::{OpLoad, READS, WRITES};
use crate::trace::charge::Charge;
use crate::trace::demand::sample_at;
use crate::trace::requests::Requests;
use crate::trace::sample::{JobSample, mark_steady};
use crate::trace::stream::Stream;
use gordon_blockio::IoOp;
use gordon_trace::{ColumnKind, Sample};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeMap;

/// Formats of monitors, which record machines and not jobs.
const MONITORS: [&str; 3] = ["sysstat", "prometheus", "rezolus"];
/// Seconds from which a record of a monitor may be that of a service. Assumed.
const LONG_RECORD: f64 = 1800.0;
/// Share of the 99th percentile of busy cores that the median of a service has at least: nights
/// have less load than days, and a machine that waits for jobs has none. Assumed.
const STEADY: f64 = 0.1;

/// A trace, as the models need it.
pub struct JobStream {
    pub(crate) stream: Stream,
    pub(crate) samples: Vec<JobSample>,
    pub(crate) io: Vec<SampleIo>,
    /// Bytes of the busier direction in each sample.
    pub(crate) network: Vec<f64>,
    pub(crate) has_iowait: bool,
    /// Bytes a second of its network link; `None` if it is unknown.
    pub(crate) link: Option<f64>,
    pub(crate) memory: TracedMemory,
    /// Speed of a core relative to a whole one. A quota of `q` cores is read as the next whole
    /// number of cores, each slower in proportion; 1 without a quota.
    pub(crate) core_share: f64,
}

impl AsRef<Stream> for JobStream {
    fn as_ref(&self) -> &Stream {
        &self.stream
    }
}

/// Block I/O of a sample.
#[derive(Clone, Copy, Default)]
pub struct SampleIo {
    pub(crate) reads: f64,
    pub(crate) writes: f64,
    pub(crate) read: f64,
    pub(crate) write: f64,
    /// Seconds in which the device was busy.
    pub(crate) busy: f64,
    /// Mean number of outstanding requests while the device was busy, from a block log.
    pub(crate) depth: Option<f64>,
    /// Shares of the reads and of the writes that are sequential, from a block log; otherwise 1.
    pub(crate) sequential: [f64; 2],
}

impl SampleIo {
    /// The reads and the writes.
    pub(crate) fn loads(&self) -> [OpLoad; 2] {
        let [reads, writes] = self.sequential;
        [
            OpLoad { patterns: READS, requests: self.reads, bytes: self.read, sequential: reads },
            OpLoad {
                patterns: WRITES,
                requests: self.writes,
                bytes: self.write,
                sequential: writes,
            },
        ]
    }
}

impl JobStream {
    pub(crate) fn open(path: &str, charge: Charge) -> Result<Self, ClusterError> {
        let stream = Stream::open(path.into(), charge, &[])?;
        let Some(cores) = TracedCores::of(&stream) else {
            return Err(ClusterError::Impossible {
                what: format!("trace {path}"),
                why: "the number of cores of its machine is unknown".into(),
            });
        };
        let logged = logged(&stream)?;
        let io: Vec<SampleIo> = stream
            .samples
            .iter()
            .zip(&logged)
            .map(|(sample, logged)| sample_io(sample, &stream, logged))
            .collect();
        let samples = job_samples(&stream, &io, cores, |sample| stream.cpu(sample));
        #[allow(clippy::cast_precision_loss)]
        let network =
            stream.samples.iter().map(|s| s.rx_bytes.0.max(s.tx_bytes.0) as f64).collect();
        let has_iowait = is_measured(&stream, "iowait_ns");
        let link = link(&stream);
        let memory = TracedMemory::of(&stream);
        Ok(Self { stream, samples, io, network, has_iowait, link, memory, core_share: cores.share })
    }

    /// Share of the demand for cores that was not served.
    pub(crate) fn unserved_share(&self) -> f64 {
        let unserved: f64 = self.samples.iter().map(|s| s.unserved).sum();
        let cpu: f64 = self.samples.iter().map(|s| s.cpu).sum();
        if unserved > 0.0 { unserved / (unserved + cpu) } else { 0.0 }
    }

    pub(crate) fn has_io(&self) -> bool {
        self.io.iter().any(|io| io.reads + io.writes > 0.0)
    }

    /// Whether it has reads, and whether it has writes.
    pub(crate) fn ops(&self) -> [bool; 2] {
        let has = |op: usize| self.io.iter().any(|io| io.loads()[op].is_any());
        [has(0), has(1)]
    }

    pub(crate) fn has_stalled(&self) -> bool {
        self.samples.iter().all(|sample| sample.stalled.is_some())
    }

    pub(crate) fn cores(&self) -> u32 {
        self.samples[0].cores
    }

    /// Share of the computing time in which all cores were busy.
    pub(crate) fn saturated_share(&self) -> f64 {
        let (mut saturated, mut computing) = (0.0, 0.0);
        for sample in &self.samples {
            let split = sample.split(sample.blocked_time());
            computing += split.computing;
            if split.width >= FULL * sample.cores_f() {
                saturated += split.computing;
            }
        }
        if computing > 0.0 { saturated / computing } else { 0.0 }
    }

    pub(crate) fn span(&self) -> f64 {
        self.samples.iter().map(|s| s.span).sum()
    }

    /// Whether it looks like the record of a service: it comes from a monitor, without a command,
    /// is long, and its load is steady, that is, its median is near the most.
    pub(crate) fn looks_like_service(&self) -> bool {
        let manifest = self.stream.trace.manifest();
        let is_of_monitor =
            manifest.imported.as_ref().is_some_and(|from| MONITORS.contains(&from.format.as_str()));
        let mut busy: Vec<f64> =
            self.samples.iter().map(|sample| sample.cpu / sample.span).collect();
        busy.sort_by(f64::total_cmp);
        let of = |share: usize| busy[(busy.len() - 1) * share / 100];
        is_of_monitor
            && manifest.command.is_empty()
            && self.span() >= LONG_RECORD
            && of(50) > 0.0
            && of(50) >= STEADY * of(99)
    }
}

/// The cores of a traced machine or node, as the `job` model reads them.
#[derive(Clone, Copy)]
pub struct TracedCores {
    /// At least 1.
    pub(crate) count: u32,
    /// Speed of each relative to a whole one; see [`JobStream::core_share`].
    pub(crate) share: f64,
}

impl TracedCores {
    /// `None` if the number is unknown.
    pub(crate) fn of(stream: &Stream) -> Option<Self> {
        let manifest = stream.trace.manifest();
        let seen = stream.samples.iter().map(|s| s.cpu_per_core.len()).max().unwrap_or(0);
        let machine = manifest.machine.cores.max(u32::try_from(seen).unwrap_or(u32::MAX));
        let quota = manifest.scope.node().and_then(|node| node.cores);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let count = quota.map_or(machine, |quota| quota.ceil() as u32);
        let share = quota.map_or(1.0, |quota| quota / f64::from(count));
        (count > 0).then_some(Self { count, share })
    }

    /// Their number, in whole cores.
    pub(crate) fn whole(self) -> f64 {
        f64::from(self.count) * self.share
    }
}

/// The samples of a trace with all CPU time of its machine or node, whatever the survey charges.
pub(crate) fn recorded_samples(stream: &Stream, cores: TracedCores) -> Vec<JobSample> {
    let counts = |sample: &Sample| sample_io(sample, stream, &LoggedIo::default());
    let io: Vec<SampleIo> = stream.samples.iter().map(counts).collect();
    job_samples(stream, &io, cores, Sample::cpu)
}

/// The samples of a trace; `cpu` is the CPU time of a sample.
fn job_samples(
    stream: &Stream,
    io: &[SampleIo],
    cores: TracedCores,
    cpu: impl Fn(&Sample) -> Ns,
) -> Vec<JobSample> {
    let has_iowait = is_measured(stream, "iowait_ns");
    let has_stalled = is_measured(stream, "psi_io_full_ns");
    let has_waiting = is_measured(stream, "psi_cpu_some_ns");
    let of_sample = |(sample, io): (&Sample, &SampleIo)| {
        let limit = |time: Ns| time.min(sample.span).as_secs();
        let cpu = cpu(sample).as_secs() / cores.share;
        let read = JobSample {
            stalled: has_stalled.then(|| limit(sample.psi_io_full)),
            waiting: has_waiting.then(|| limit(sample.psi_cpu_some)),
            ..job_sample(sample, cpu, io, cores.count, has_iowait)
        };
        JobSample { unserved: unserved(sample, &read, cores), ..read }
    };
    let mut samples: Vec<JobSample> = stream.samples.iter().zip(io).map(of_sample).collect();
    mark_steady(&mut samples);
    samples
}

/// Share of busy cores from which programs wait for each other.
const FULL: f64 = 0.9;

/// Core-seconds that the job wanted in a sample and did not get: those that the hypervisor gave to
/// others, those in which its quota was used up, and, while other programs had all cores, what the
/// job lacks to one busy core.
fn unserved(sample: &Sample, read: &JobSample, cores: TracedCores) -> f64 {
    let free = (read.span * read.cores_f() - read.cpu).max(0.0);
    let taken = (sample.steal.as_secs() + sample.throttled.as_secs()) / cores.share;
    let all = sample.cpu().as_secs() / cores.share;
    let others = (all - read.cpu).max(0.0);
    let mut waited = 0.0;
    if all >= FULL * read.span * read.cores_f() {
        waited = others.min((read.span - read.cpu - read.blocked_time()).max(0.0));
    }
    (taken + waited).min(free)
}

/// Bytes a second of the links whose traffic is counted; `None` if the speed of one is unknown.
fn link(stream: &Stream) -> Option<f64> {
    let interfaces = &stream.trace.manifest().machine.interfaces;
    let mut counted = interfaces.iter().filter(|interface| interface.counted).peekable();
    counted.peek()?;
    let megabits: Option<Vec<u32>> = counted.map(|interface| interface.megabits).collect();
    let total: f64 = megabits?.into_iter().map(f64::from).sum();
    (total > 0.0).then_some(total * 1e6 / 8.0)
}

/// Mean size of requests from which a trace without a block log counts as sequential.
pub(crate) const SEQUENTIAL_SIZE: f64 = 65536.0;
/// Share of the memory outside of the page cache that may be the kernel's, and that another machine
/// may not need. Assumed.
pub(crate) const KERNEL_SHARE: f64 = 0.2;

/// The memory that a job used at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracedMemory {
    /// What the kernel could not drop, at least; `None` if it is unknown.
    pub(crate) least: Option<Bytes>,
    /// All memory that was in use and not page cache; `None` if it is unknown. The memory of nodes
    /// includes the page cache if the trace does not have both apart.
    pub(crate) used: Option<Bytes>,
    /// Page cache of files, next to the rest; 0 if it is unknown.
    pub(crate) cache: Bytes,
    /// Bytes that reads returned and that storage did not fetch; `None` if they are unknown.
    pub(crate) cache_hits: Option<Bytes>,
    /// Bytes that the command wrote and that no storage wrote: the files were deleted or truncated
    /// before their write-back. Writes to network file systems count. 0 if it is unknown.
    pub(crate) unwritten: Bytes,
}

impl TracedMemory {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
    fn of(stream: &Stream) -> Self {
        let peak = |of: fn(&Sample) -> Bytes| {
            stream.samples.iter().map(of).max().filter(|peak| *peak > Bytes(0))
        };
        let manifest = stream.trace.manifest();
        let is_command = stream.charge == Charge::Command;
        let of_command = peak(|sample| sample.command.anonymous).filter(|_| is_command);
        let (column, anonymous) = match of_command {
            Some(peak) => ("command_anonymous_bytes", Some(peak)),
            None => ("anonymous_bytes", peak(|sample| sample.anonymous)),
        };
        let memory = peak(|sample| sample.memory);
        let is_machine = manifest.scope.node().is_none();
        let outside_of_cache = memory.filter(|_| is_machine && is_measured(stream, "memory_bytes"));
        let without_kernel =
            |used: Bytes| Bytes((used.0 as f64 * (1.0 - KERNEL_SHARE)).round() as u64);
        let reads = manifest.reads.filter(|reads| !reads.is_partial && !reads.is_asynchronous);
        Self {
            // Where it is estimated it lacks shared memory, and is a lower bound.
            least: anonymous.or_else(|| outside_of_cache.map(without_kernel)),
            used: anonymous.filter(|_| is_measured(stream, column)).or(memory).or(anonymous),
            cache: peak(|sample| sample.cache).unwrap_or_default(),
            cache_hits: reads.map(|reads| reads.returned.saturating_sub(reads.fetched)),
            unwritten: unwritten(stream),
        }
    }

    /// Whether a machine with this memory can hold the job.
    pub(crate) fn fit(&self, memory: Bytes) -> MemoryFit {
        match (self.least, self.used) {
            (Some(least), _) if memory < least => MemoryFit::TooSmall,
            (_, Some(used)) if memory >= used => MemoryFit::Fits,
            (_, Some(_)) => MemoryFit::MaybeTooSmall,
            (_, None) => MemoryFit::Unknown,
        }
    }

    /// Bytes that are read again on a machine with this memory, at most: the hits of the page cache
    /// if they are known, otherwise the page cache once. A cache that is a little too small for a
    /// scan may lose all of it.
    pub(crate) fn read_again(&self, memory: Bytes) -> Bytes {
        let needed = self.used.unwrap_or_default() + self.cache;
        if memory >= needed { Bytes(0) } else { self.cache_hits.unwrap_or(self.cache) }
    }
}

/// See [`TracedMemory::unwritten`].
fn unwritten(stream: &Stream) -> Bytes {
    if !is_measured(stream, "command_write_bytes") {
        return Bytes(0);
    }
    let real = |sample: &Sample| -> u64 {
        let disks = sample.disks.iter().filter(|d| !stream.trace.is_virtual(d.device));
        disks.map(|disk| disk.write_bytes.0).sum()
    };
    let written: u64 = stream.samples.iter().map(real).sum();
    let by_command: u64 = stream.samples.iter().map(|s| s.command.write_bytes.0).sum();
    Bytes(by_command.saturating_sub(written))
}

/// Whether the memory of a machine holds a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemoryFit {
    /// The memory holds what was used.
    Fits,
    /// The trace has no memory.
    Unknown,
    /// The memory is less than was used, and what could be dropped is unknown.
    MaybeTooSmall,
    /// The memory is less than what the kernel could not drop.
    TooSmall,
}

impl MemoryFit {
    /// Whether the machine may be named or recommended.
    pub(crate) fn is_candidate(self) -> bool {
        matches!(self, Self::Fits | Self::Unknown)
    }

    /// `None` if it is unknown.
    pub(crate) fn known(self) -> Option<bool> {
        match self {
            Self::Fits => Some(true),
            Self::TooSmall => Some(false),
            Self::Unknown | Self::MaybeTooSmall => None,
        }
    }
}

/// Whether a column of the activity was counted.
pub(crate) fn is_measured(stream: &Stream, column: &str) -> bool {
    stream.trace.kinds().get(column) == Some(&ColumnKind::Measured)
}

/// Sums over the requests of a sample in a block log; `[reads, writes]`.
#[derive(Clone, Copy, Default)]
struct LoggedIo {
    /// Sum of the latencies in seconds.
    waits: f64,
    requests: [u32; 2],
    /// Number of sequential requests.
    sequential: [u32; 2],
}

impl LoggedIo {
    /// Shares of the reads and of the writes that are sequential; 1 if there are none.
    fn shares(&self) -> [f64; 2] {
        [0, 1].map(|op| match self.requests[op] {
            0 => 1.0,
            all => f64::from(self.sequential[op]) / f64::from(all),
        })
    }
}

/// The requests of each sample, from a block log; none without one.
fn logged(stream: &Stream) -> Result<Vec<LoggedIo>, ClusterError> {
    let mut samples = vec![LoggedIo::default(); stream.samples.len()];
    if !stream.logged {
        return Ok(samples);
    }
    let mut recent: BTreeMap<_, RecentEnds> = BTreeMap::new();
    for batch in Requests::of(&stream.trace, &stream.samples)?.batches()? {
        for io in &batch? {
            let op = match io.op {
                IoOp::Read => 0,
                IoOp::Write => 1,
                _ => continue,
            };
            let sample = &mut samples[sample_at(&stream.starts, io.at)];
            sample.waits += io.latency.map_or(0.0, Ns::as_secs);
            sample.requests[op] += 1;
            let ends = recent.entry((io.device, op)).or_default();
            sample.sequential[op] += u32::from(ends.continues(io.sector, io.sectors.into()));
        }
    }
    Ok(samples)
}

/// Number of streams of requests that are recognised on a device, of each operation.
const STREAMS: usize = 64;

/// The sectors after the most recent requests of one operation to a device, the latest last.
#[derive(Default)]
struct RecentEnds(Vec<u64>);

impl RecentEnds {
    /// Whether a request starts where one of the recent ones ended. It becomes the latest.
    fn continues(&mut self, sector: u64, sectors: u64) -> bool {
        let found = self.0.iter().rposition(|end| *end == sector);
        if let Some(place) = found {
            self.0.remove(place);
        } else if self.0.len() == STREAMS {
            self.0.remove(0);
        }
        self.0.push(sector + sectors);
        found.is_some()
    }
}

/// Seconds in which a device of the sample was busy; of several devices, that of the busiest.
fn busy(sample: &Sample, stream: &Stream) -> f64 {
    let real = sample.disks.iter().filter(|d| !stream.trace.is_virtual(d.device));
    let most = real.map(|d| d.busy).max().unwrap_or_default();
    most.as_secs().min(sample.span.as_secs())
}

#[allow(clippy::cast_precision_loss)]
fn sample_io(sample: &Sample, stream: &Stream, logged: &LoggedIo) -> SampleIo {
    let busy = busy(sample, stream);
    let mut io = SampleIo {
        busy,
        // Little's law.
        depth: (busy > 0.0 && logged.waits > 0.0).then(|| (logged.waits / busy).max(1.0)),
        sequential: logged.shares(),
        ..SampleIo::default()
    };
    for disk in sample.disks.iter().filter(|d| !stream.trace.is_virtual(d.device)) {
        io.reads += disk.reads as f64;
        io.writes += disk.writes as f64;
        io.read += disk.read_bytes.0 as f64;
        io.write += disk.write_bytes.0 as f64;
    }
    io
}

fn job_sample(sample: &Sample, cpu: f64, io: &SampleIo, cores: u32, has_iowait: bool) -> JobSample {
    let span = sample.span.as_secs();
    let all = span * f64::from(cores);
    // A sample cannot compute more than its cores; ticks of the clock may say so.
    let cpu = cpu.min(all);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_sequential_and_scattered_requests_are_not() {
        let mut ends = RecentEnds::default();
        let streams = STREAMS as u64;
        let starts = (0..streams).map(|stream| stream * 1_000_000);
        assert!(starts.clone().all(|start| !ends.continues(start, 8)));
        assert!(starts.clone().all(|start| ends.continues(start + 8, 8)));
        // One more than are recognised: the oldest is forgotten.
        assert!(!ends.continues(streams * 1_000_000, 8));
        assert!(!ends.continues(16, 8));
        assert_eq!(ends.0.len(), STREAMS);
    }

    #[test]
    fn operations_without_requests_count_as_sequential() {
        let logged = LoggedIo { requests: [4, 0], sequential: [1, 0], ..LoggedIo::default() };
        assert_eq!(logged.shares(), [0.25, 1.0]);
    }
}
