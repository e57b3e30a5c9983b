//! Estimates the activity of hosts from an event log of Spark, which has what each task used from
//! its start to its end.
//!
//! What a task used is spread evenly over its run. Of shuffle data that a task fetched, the log
//! does not say from whom: they are divided among the other executors by what those wrote in the
//! stages that the task's stage reads.

use super::ActivityOptions;
use super::error::ActivityError;
use super::host::{CpuShares, DiskUse, HostActivity, HostSample, MemoryUse, NetworkUse, Recorded};
use crate::manifest::{IMPOSSIBLE_CPU, Unavailable};
use crate::spark::{EventLog, SenderShare, Senders, TaskFigures};
use gordon_units::{Ns, Progress};
use std::collections::BTreeMap;
use std::path::Path;

/// How to make an input.
pub(super) const HINT: &str = "spark.eventLog.enabled=true, and a log of an application that ran";
/// Name of the one disk and of the one network of a host.
const NAME: &str = "spark";
/// Size of requests, from which their number is estimated: the default read-ahead of Linux.
pub(super) const REQUEST: f64 = 131_072.0;
/// Applications that ran longer have samples of a minute.
const LONG: Ns = Ns(7 * 86_400 * Ns::SECOND.0);
/// Share of the CPU time that may exceed the cores of a second before a warning.
const MUCH_MOVED: f64 = 0.01;
/// Spark's times are in milliseconds, so that the CPU time of many tasks may exceed the cores a
/// little.
const ROUNDING_S: f64 = 0.05;

/// CPU time that exceeded the cores of its second.
struct LevelledCpu {
    /// Seconds that are in other samples.
    moved: f64,
    /// Seconds that fit into no sample.
    left_out: f64,
}

/// Reads the log at `path` and adds the activity of its hosts.
pub(super) fn read(
    path: &Path,
    options: &ActivityOptions,
    progress: &Progress,
    recorded: &mut Recorded,
) -> Result<EventLog, ActivityError> {
    let log = EventLog::read(path, options.skip_bad, progress)?;
    recorded.skipped.lines += log.skipped;
    recorded.skipped.notes.clone_from(&log.warnings);
    log.check(path)?;
    if log.end.is_none() {
        let why =
            "the log ends before it: the application was killed, still ran, or the log was cut";
        let what = "end of the application".to_owned();
        recorded.skipped.unavailable.push(Unavailable { what, why: why.to_owned() });
    }
    if log.estimated_cpu > 0 {
        let why = format!("{} tasks have none; their run time is taken", log.estimated_cpu);
        let what = "CPU time of tasks".to_owned();
        recorded.skipped.unavailable.push(Unavailable { what, why });
    }
    for (host, mut usage) in hosts(&log) {
        let cores = options.cores.unwrap_or(usage.cores);
        if cores > 0 {
            let total: f64 = usage.cpu.iter().sum();
            let LevelledCpu { moved, left_out } = usage.level_cpu(cores);
            let notes = &mut recorded.skipped.notes;
            if left_out > ROUNDING_S {
                let most = total - left_out;
                notes.push(format!(
                    "cores: {left_out:.1} s of CPU time of tasks of `{host}` are left out: {cores} \
                     cores cannot use {total:.1} s in the time of \
                     the application, but {most:.1} s at most"
                ));
                recorded.skipped.unavailable.push(Unavailable {
                    what: IMPOSSIBLE_CPU.to_owned(),
                    why: format!("{left_out:.1} s of {total:.1} s on {cores} cores"),
                });
            }
            if moved > MUCH_MOVED * total {
                notes.push(format!(
                    "cores: tasks of `{host}` used more than {cores} cores at times; {moved:.1} s \
                     of CPU time are in later or earlier samples"
                ));
            }
        }
        recorded.hosts.insert(host, usage.activity(log.start, cores));
    }
    for host in recorded.hosts.keys() {
        let named: BTreeMap<String, String> =
            log.accelerators.iter().map(|name| (name.clone(), name.clone())).collect();
        if !named.is_empty() {
            recorded.accelerators.insert(host.clone(), named);
        }
    }
    Ok(log)
}

/// What the executors of a host used, in samples of equal length.
struct HostUsage {
    interval: Ns,
    /// The most cores of its executors at a time; 0 if unknown.
    cores: u32,
    /// Seconds of CPU time.
    cpu: Vec<f64>,
    read: Vec<f64>,
    write: Vec<f64>,
    rx: Vec<f64>,
    tx: Vec<f64>,
    memory: Vec<f64>,
    has_network: bool,
}

/// A time span in seconds after the start of the trace.
type Span = (f64, f64);

impl HostUsage {
    fn new(samples: usize, interval: Ns) -> Self {
        let zeros = || vec![0.0; samples];
        Self {
            interval,
            cores: 0,
            cpu: zeros(),
            read: zeros(),
            write: zeros(),
            rx: zeros(),
            tx: zeros(),
            memory: zeros(),
            has_network: false,
        }
    }

    /// Moves CPU time that exceeds the cores to later samples, and what is left at the end to
    /// earlier ones. What no sample has room for is left out.
    fn level_cpu(&mut self, cores: u32) -> LevelledCpu {
        let most = f64::from(cores) * self.interval.as_secs();
        let before = self.cpu.clone();
        let level = |samples: &mut dyn Iterator<Item = &mut f64>| {
            let mut over = 0.0;
            for cpu in samples {
                let wanted = *cpu + over;
                *cpu = wanted.min(most);
                over = wanted - *cpu;
            }
            over
        };
        let mut left_out = level(&mut self.cpu.iter_mut());
        if left_out > 0.0 {
            if let Some(last) = self.cpu.last_mut() {
                *last += left_out;
            }
            left_out = level(&mut self.cpu.iter_mut().rev());
        }
        let gains = before.iter().zip(&self.cpu).map(|(before, now)| (now - before).max(0.0));
        LevelledCpu { moved: gains.sum(), left_out }
    }

    /// The samples of a host with `cores` cores.
    fn activity(self, start: Ns, cores: u32) -> HostActivity {
        let span = self.interval.as_secs();
        // Without a core, the assembly asks for --cores.
        let share = 1.0 / (span * f64::from(cores.max(1)));
        let has_memory = self.memory.iter().any(|memory| *memory > 0.0);
        let sample = |at: usize| {
            let disk = DiskUse {
                reads: (self.read[at] / REQUEST).ceil(),
                read_bytes: self.read[at],
                writes: (self.write[at] / REQUEST).ceil(),
                write_bytes: self.write[at],
                ..DiskUse::default()
            };
            let network = NetworkUse {
                rx_bytes: self.rx[at],
                tx_bytes: self.tx[at],
                ..NetworkUse::default()
            };
            let busy = self.cpu[at] * share;
            let memory = self.memory[at];
            HostSample {
                end: start + self.interval * (at as u64 + 1),
                span: self.interval,
                all: Some(CpuShares { busy, ..CpuShares::default() }),
                memory: has_memory.then_some(MemoryUse { used: memory, ..MemoryUse::default() }),
                disks: Some(BTreeMap::from([(NAME.to_owned(), disk)])),
                network: self.has_network.then(|| BTreeMap::from([(NAME.to_owned(), network)])),
                ..HostSample::default()
            }
        };
        HostActivity {
            cores: BTreeMap::from([(Ns::ZERO, self.cores)]),
            samples: (0..self.cpu.len()).map(sample).collect(),
            ..HostActivity::default()
        }
    }
}

/// Adds an amount, spread evenly over `span`, to samples of `interval` seconds.
fn spread(samples: &mut [f64], interval: f64, (from, to): Span, amount: f64) {
    if amount <= 0.0 || samples.is_empty() {
        return;
    }
    let at = |time: f64| ((time / interval) as usize).min(samples.len() - 1);
    let (first, last) = (at(from), at(to));
    if first == last || to <= from {
        samples[first] += amount;
        return;
    }
    for (index, sample) in samples.iter_mut().enumerate().take(last + 1).skip(first) {
        let start = index as f64 * interval;
        let end = if index == last { to } else { start + interval };
        *sample += amount * (end.min(to) - start.max(from)).max(0.0) / (to - from);
    }
}

/// The usage of each host, by its name.
fn hosts(log: &EventLog) -> BTreeMap<String, HostUsage> {
    let interval = if log.duration() > LONG { Ns::SECOND * 60 } else { Ns::SECOND };
    let count = log.duration().0.div_ceil(interval.0).max(1) as usize;
    let mut hosts: BTreeMap<String, HostUsage> = BTreeMap::new();
    for executor in &log.executors {
        hosts.entry(executor.host.clone()).or_insert_with(|| HostUsage::new(count, interval));
    }
    cores(log, &mut hosts);
    memory(log, &mut hosts);
    let senders = Senders::new(log);
    let names: Vec<String> = hosts.keys().cloned().collect();
    let mut shares_of: BTreeMap<(u32, u32, u32), BTreeMap<String, f64>> = BTreeMap::new();
    let second = |at: Ns| at.saturating_sub(log.start).as_secs();
    for task in &log.tasks {
        let (Some(figures), Some(ended)) = (&task.figures, task.ended) else { continue };
        let span = (second(task.started), second(ended));
        let executor = senders.index(log.text(task.executor));
        let host = &log.executors[executor].host;
        let mut add = |host: &str, of: fn(&mut HostUsage) -> &mut Vec<f64>, amount: f64| {
            let usage = hosts.get_mut(host).expect("each executor has a host");
            spread(of(usage), interval.as_secs(), span, amount);
        };
        let (read, write) = own_bytes(figures);
        add(host, |usage| &mut usage.cpu, figures.cpu.as_secs());
        add(host, |usage| &mut usage.write, write);
        add(host, |usage| &mut usage.read, read);
        let mut fetch = |from: &str, bytes: f64| {
            add(from, |usage| &mut usage.read, bytes);
            if from != host {
                add(from, |usage| &mut usage.tx, bytes);
                add(host, |usage| &mut usage.rx, bytes);
            }
        };
        let remote = figures.shuffle_remote.0 as f64;
        if remote > 0.0 {
            let key = (task.stage, task.stage_attempt, task.executor);
            let shares = shares_of
                .entry(key)
                .or_insert_with(|| by_host(log, executor, &senders.shares(log, key.0, executor)));
            for (sender, part) in shares.iter() {
                fetch(sender, remote * part);
            }
        }
        let input = figures.input.0 as f64;
        let others = names.iter().filter(|name| *name != host);
        if is_local(log.text(task.locality)) || names.len() == 1 {
            fetch(host, input);
        } else {
            for other in others {
                fetch(other, input / (names.len() - 1) as f64);
            }
        }
    }
    let is_used = |usage: &HostUsage| usage.rx.iter().chain(&usage.tx).any(|bytes| *bytes > 0.0);
    let has_network = hosts.len() > 1 || hosts.values().any(is_used);
    for usage in hosts.values_mut() {
        usage.has_network = has_network;
    }
    hosts
}

/// The parts by the hosts of the executors that sent them, for bytes that `receiver` fetched.
fn by_host(log: &EventLog, receiver: usize, shares: &[SenderShare]) -> BTreeMap<String, f64> {
    let mut parts: BTreeMap<String, f64> = BTreeMap::new();
    for share in shares {
        let host = log.executors[share.executor].host.clone();
        *parts.entry(host).or_default() += share.part;
    }
    if parts.is_empty() {
        // No other executor is known: the data did not leave the host.
        parts.insert(log.executors[receiver].host.clone(), 1.0);
    }
    parts
}

/// Whether a task of this locality read its input from its own host. Tasks without a preferred host
/// are `PROCESS_LOCAL`.
fn is_local(locality: &str) -> bool {
    !matches!(locality, "RACK_LOCAL" | "ANY")
}

/// Bytes that a task read from and wrote to the disks of its host, without its input and what it
/// fetched.
fn own_bytes(figures: &TaskFigures) -> (f64, f64) {
    let sum = |parts: &[u64]| parts.iter().map(|bytes| *bytes as f64).sum::<f64>();
    let spilled = figures.spill_disk.0;
    let stored = figures.shuffle_to_disk.0;
    let read = sum(&[figures.shuffle_local.0, spilled, stored]);
    let write = sum(&[figures.output.0, figures.shuffle_write.0, spilled, stored]);
    (read, write)
}

/// The most cores that the executors of each host had at a time.
fn cores(log: &EventLog, hosts: &mut BTreeMap<String, HostUsage>) {
    let mut changes: BTreeMap<&str, Vec<(Ns, i64)>> = BTreeMap::new();
    for executor in &log.executors {
        let changes = changes.entry(&executor.host).or_default();
        let cores = i64::from(executor.cores);
        changes.push((executor.added, cores));
        changes.extend(executor.removed.map(|at| (at, -cores)));
    }
    for (host, mut changes) in changes {
        // At the same time, a removal is before what replaces it.
        changes.sort_unstable();
        let (mut now, mut most) = (0, 0);
        for (_, change) in changes {
            now += change;
            most = i64::max(most, now);
        }
        let usage = hosts.get_mut(host).expect("each executor has a host");
        usage.cores = u32::try_from(most).unwrap_or(u32::MAX);
    }
}

/// The peaks of the executors that were on each host during each sample.
fn memory(log: &EventLog, hosts: &mut BTreeMap<String, HostUsage>) {
    for executor in &log.executors {
        let usage = hosts.get_mut(&executor.host).expect("each executor has a host");
        let index = |at: Ns| at.saturating_sub(log.start).0 / usage.interval.0;
        let first = index(executor.added) as usize;
        let last = index(executor.removed.unwrap_or(Ns(u64::MAX))) as usize;
        for memory in usage.memory.iter_mut().take(last.saturating_add(1)).skip(first) {
            *memory += executor.peak_memory.0 as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(samples: &[f64]) -> f64 {
        samples.iter().sum()
    }

    #[test]
    fn an_amount_is_spread_evenly_over_its_span() {
        let mut samples = vec![0.0; 4];
        spread(&mut samples, 1.0, (0.5, 2.5), 8.0);
        assert_eq!(samples, [2.0, 4.0, 2.0, 0.0]);
        spread(&mut samples, 1.0, (3.0, 3.0), 5.0);
        assert_eq!(samples, [2.0, 4.0, 2.0, 5.0]);
        // A span beyond the end keeps its amount.
        let mut samples = vec![0.0; 2];
        spread(&mut samples, 1.0, (1.5, 2.0), 3.0);
        assert!((total(&samples) - 3.0).abs() < 1e-12, "{samples:?}");
    }

    #[test]
    fn cpu_time_beyond_the_cores_is_moved_and_none_is_lost() {
        let mut usage = HostUsage::new(4, Ns::SECOND);
        usage.cpu = vec![0.0, 1.5, 0.25, 1.75];
        let levelled = usage.level_cpu(1);
        assert_eq!(usage.cpu, [0.5, 1.0, 1.0, 1.0]);
        assert_eq!((levelled.moved, levelled.left_out), (1.25, 0.0));
        let mut usage = HostUsage::new(2, Ns::SECOND);
        usage.cpu = vec![1.0, 2.0];
        assert!(usage.level_cpu(2).moved <= 0.0);
        assert_eq!(usage.cpu, [1.0, 2.0]);
        usage.cpu = vec![5.0, 2.5];
        let levelled = usage.level_cpu(2);
        assert_eq!((levelled.left_out, usage.cpu), (3.5, vec![2.0, 2.0]));
    }
}
