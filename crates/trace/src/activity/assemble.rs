//! Makes the samples of a trace from what was recorded of a host: checks them, counts what is left
//! out, and describes the columns.

use super::devices::{counted_interfaces, number, virtual_disks};
use super::error::ActivityError;
use super::host::{CpuShares, DiskUse, HostActivity, HostSample};
use super::{ActivityOptions, prometheus, rezolus, sysstat};
use crate::activity_format::ActivityFormat;
use crate::columns::{ColumnKind, Columns, PSI_CPU_SOME, PSI_IO_FULL};
use crate::estimate::{CycleEstimate, ProfileRates};
use crate::manifest::{
    BLOCK_LOG, DiskInfo, ImportSource, InterfaceInfo, MEMORY, MachineInfo, Manifest, NETWORK,
    SAMPLES, SOME_IO, STEADY_CLOCK, TIME_OF_RESTARTS, Unavailable,
};
use crate::model::{DiskSample, Sample};
use gordon_units::{Bytes, Ns};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// The longest interval of a sample. Damaged files have intervals of thousands of years.
const LONGEST: Ns = Ns(7 * 86_400 * Ns::SECOND.0);
/// Samples after this length of a trace are left out.
const LONGEST_TRACE: Ns = Ns(100 * 366 * 86_400 * Ns::SECOND.0);
/// The largest sum of the amounts of a trace, and the largest gauge. Totals below it do not overflow.
const LARGEST: f64 = (1_u64 << 62) as f64;
/// Shares of time may exceed 1 by the tick in which a sample was taken.
const MOST: f64 = 1.05;
/// The most cores of a machine: Linux has at most 8192 (NR_CPUS on x86).
const CORES: u32 = 1 << 13;
/// Share of the CPU time from which stolen time is worth a warning.
const MUCH_STEAL: f64 = 0.01;
/// The clock that is assumed if none is recorded: that of the Core 2 in Gordon's Table 4, which
/// also gives the assumed instructions per cycle.
const CLOCK_MHZ: f64 = 2400.0;

/// Samples that were left out, and irregular times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Samples that repeat the time of another one. They are left out.
    pub duplicates: u64,
    /// Samples without a valid time. They are left out.
    pub without_time: u64,
    /// Samples without an interval, or with one of more than a week. They are left out.
    pub bad_intervals: u64,
    /// Samples without CPU time. They are left out.
    pub without_cpu: u64,
    /// Samples with negative or impossible amounts. They are left out.
    pub implausible: u64,
    /// Stretches of time that no sample covers.
    pub gaps: u64,
    /// Time that no sample covers.
    pub gaps_s: f64,
    /// Samples whose clock is behind the end of the sample before them. They are kept in order.
    pub clock_jumps: u64,
    /// Samples whose interval is not the most frequent one. They are kept.
    pub mixed_intervals: u64,
    /// Restarts of the machine or of its monitor between the first sample and the last.
    pub restarts: u64,
    /// Samples without disks, in a trace that has disks. They are kept, without I/O.
    pub without_disks: u64,
}

/// The trace of a host, ready to be written.
pub(super) struct AssembledHost {
    samples: Vec<HostSample>,
    layout: Layout,
    pub name: String,
    pub manifest: Manifest,
    pub columns: Columns,
    pub left_out: LeftOut,
    pub warnings: Vec<String>,
}

/// Makes the traces of all hosts. Hosts without a sample are left out, with a warning in the first
/// trace.
pub(super) fn assemble(
    hosts: BTreeMap<String, HostActivity>,
    inputs: &[PathBuf],
    format: ActivityFormat,
    options: &ActivityOptions,
) -> Result<Vec<AssembledHost>, ActivityError> {
    let mut assembled: Vec<AssembledHost> = Vec::new();
    let mut empty = Vec::new();
    for (name, mut activity) in hosts {
        let left_out = check(&mut activity);
        if activity.samples.is_empty() {
            empty.push((name, left_out));
        } else {
            assembled.push(host(name, activity, left_out, inputs, format, options)?);
        }
    }
    let reasons = |left_out: &LeftOut| {
        let reasons = left_out.dropped();
        let reasons: Vec<_> =
            reasons.iter().map(|(what, count)| format!("{count} {what}")).collect();
        if reasons.is_empty() { "no sample".to_owned() } else { reasons.join(", ") }
    };
    let Some(first) = assembled.first_mut() else {
        let whys = empty.iter().map(|(name, left_out)| format!("{name}: {}", reasons(left_out)));
        let why = whys.collect::<Vec<_>>().join("; ");
        return Err(ActivityError::NoSamples {
            path: inputs.first().cloned().unwrap_or_default(),
            why: if why.is_empty() { why } else { format!(" ({why})") },
            hint: match format {
                ActivityFormat::Sysstat => sysstat::HINT,
                ActivityFormat::Prometheus => prometheus::HINT,
                ActivityFormat::Rezolus => rezolus::HINT,
            },
        });
    };
    for (name, left_out) in &empty {
        first.warnings.push(format!("host {name} is left out: {}", reasons(left_out)));
    }
    Ok(assembled)
}

/// Removes the samples that cannot be used, and counts irregular times.
fn check(activity: &mut HostActivity) -> LeftOut {
    let mut left_out = LeftOut {
        duplicates: activity.duplicates,
        without_time: activity.without_time,
        ..LeftOut::default()
    };
    let mut times = HashSet::new();
    let (mut amounts, mut time) = (0.0, Ns::ZERO);
    activity.samples.retain(|sample| {
        let (of_sample, is_valid) = sample.amounts(LARGEST);
        let shares = sample.all.iter().chain(sample.cores.values());
        let pressure = sample.io_full.into_iter().chain(sample.cpu_some);
        let most = shares.map(|s| s.busy + s.iowait + s.steal).chain(pressure).fold(0.0, f64::max);
        let counter = if sample.span == Ns::ZERO || sample.span > LONGEST || time > LONGEST_TRACE {
            &mut left_out.bad_intervals
        } else if sample.all.is_none() && sample.cores.is_empty() {
            &mut left_out.without_cpu
        } else if !is_valid || amounts + of_sample > LARGEST || most > MOST {
            &mut left_out.implausible
        } else if !times.insert(sample.end) {
            &mut left_out.duplicates
        } else {
            amounts += of_sample;
            time += sample.span;
            return true;
        };
        *counter += 1;
        false
    });
    if let [first, .., last] = activity.samples.as_slice() {
        let during = |time: &&Ns| first.end < **time && **time <= last.end;
        left_out.restarts = activity.restarts.iter().filter(during).count() as u64;
    }
    let usual = usual_span(&activity.samples);
    left_out.mixed_intervals =
        activity.samples.iter().filter(|sample| sample.span != usual).count() as u64;
    for pair in activity.samples.windows(2) {
        let [before, now] = pair else { unreachable!("windows of two") };
        // sadf rounds both times and intervals to seconds.
        let tolerance = if now.span > Ns::SECOND { Ns::SECOND } else { Ns::ZERO };
        if now.end > before.end + now.span + tolerance {
            left_out.gaps += 1;
            left_out.gaps_s += (now.end - before.end - now.span).as_secs();
        } else if now.end + tolerance < before.end + now.span {
            left_out.clock_jumps += 1;
        }
    }
    left_out.without_disks = match activity.samples.iter().any(|sample| sample.disks.is_some()) {
        true => activity.samples.iter().filter(|sample| sample.disks.is_none()).count() as u64,
        false => 0,
    };
    left_out
}

/// The most frequent interval, the shortest of several.
fn usual_span(samples: &[HostSample]) -> Ns {
    let mut counts: BTreeMap<Ns, usize> = BTreeMap::new();
    for sample in samples {
        *counts.entry(sample.span).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    counts.into_iter().find(|(_, count)| *count == most).map_or(Ns::ZERO, |(span, _)| span)
}

impl LeftOut {
    /// The samples that are not in the trace, by reason.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("duplicates: samples that repeat a time", self.duplicates),
            ("without_time: samples without a valid time", self.without_time),
            ("bad_intervals: samples without a valid interval", self.bad_intervals),
            ("without_cpu: samples without CPU time", self.without_cpu),
            ("implausible: samples with impossible amounts", self.implausible),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// A sentence for each count that is not 0.
    fn warnings(&self) -> Vec<String> {
        let sentence = |(what, count): &(&str, u64)| {
            let (name, rest) = what.split_once(": ").unwrap_or(("", what));
            format!("{name}: {count} {rest}, left out")
        };
        let mut warnings: Vec<String> = self.dropped().iter().map(sentence).collect();
        let mut warn = |count: u64, text: String| {
            if count > 0 {
                warnings.push(text);
            }
        };
        warn(
            self.gaps,
            format!(
                "gaps: {}, {:.0} s in all, that no sample covers; the time is not in the trace",
                counted(self.gaps, "stretch", "stretches"),
                self.gaps_s
            ),
        );
        warn(
            self.clock_jumps,
            format!(
                "clock_jumps: {} before the end of the sample before; kept in the order of the \
                 input",
                counted(self.clock_jumps, "sample starts", "samples start")
            ),
        );
        warn(
            self.mixed_intervals,
            format!(
                "mixed_intervals: {} not of the most frequent length; each keeps its own",
                counted(self.mixed_intervals, "sample is", "samples are")
            ),
        );
        warn(
            self.restarts,
            format!(
                "restarts: {} of the machine or of its monitor; the time in between is not in the \
                 trace",
                self.restarts
            ),
        );
        warn(
            self.without_disks,
            format!(
                "without_disks: {} no disks, taken as no I/O",
                counted(self.without_disks, "sample has", "samples have")
            ),
        );
        warnings
    }

    /// What the trace lacks, so that its readers learn of it too.
    fn unavailable(&self) -> Vec<Unavailable> {
        let mut list = Vec::new();
        let mut add = |what: String, why: String| list.push(Unavailable { what, why });
        if self.gaps > 0 {
            let gaps = counted(self.gaps, "gap", "gaps");
            add(format!("{SAMPLES}for {:.0} s", self.gaps_s), format!("the input has {gaps}"));
        }
        for (what, count) in self.dropped() {
            let what = what.split_once(": ").map_or(what, |(_, rest)| rest);
            let why = format!("the conversion left out {count} of them");
            add(what.to_owned(), why);
        }
        if self.clock_jumps > 0 {
            let jumps = counted(self.clock_jumps, "sample starts", "samples start");
            let why = format!("{jumps} before the end of the sample before");
            add(STEADY_CLOCK.to_owned(), why);
        }
        if self.restarts > 0 {
            let restarts = counted(self.restarts, "restart", "restarts");
            let why = format!("the input has {restarts} of the machine or of its monitor");
            add(TIME_OF_RESTARTS.to_owned(), why);
        }
        if self.without_disks > 0 {
            let samples = counted(self.without_disks, "sample", "samples");
            add(SOME_IO.to_owned(), format!("{samples} without disks"));
        }
        list
    }
}

/// A number with the noun that agrees with it.
fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The number of cores of a host.
fn cores_of(
    name: &str,
    activity: &HostActivity,
    options: &ActivityOptions,
    warnings: &mut Vec<String>,
) -> Result<u32, ActivityError> {
    let stated: BTreeSet<u32> = activity.cores.iter().copied().filter(|cores| *cores > 0).collect();
    let listed = activity.samples.iter().filter_map(|s| s.cores.keys().next_back()).max();
    let wrong = |why: String| ActivityError::Cores { host: name.to_owned(), why };
    let list = || stated.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ");
    let cores = match (options.cores, stated.len(), listed) {
        (Some(cores), ..) => {
            if !stated.is_empty() && !stated.contains(&cores) {
                warnings
                    .push(format!("--cores {cores} replaces {}, which the input states", list()));
            }
            cores
        }
        (None, 1, _) => stated.iter().copied().next().unwrap_or_default(),
        (None, 0, Some(last)) => last + 1,
        (None, 0, None) => {
            return Err(wrong("the input does not state the number of cores".to_owned()));
        }
        (None, ..) => {
            return Err(wrong(format!("the input states {} cores", list())));
        }
    };
    if let Some(last) = listed
        && *last >= cores
    {
        return Err(wrong(format!("the input has a core {last} (from 0) of {cores} cores")));
    }
    if cores == 0 || cores > CORES {
        return Err(wrong(format!("{cores} is not a number of cores between 1 and {CORES}")));
    }
    Ok(cores)
}

/// Makes the trace of a host from checked samples.
fn host(
    name: String,
    activity: HostActivity,
    left_out: LeftOut,
    inputs: &[PathBuf],
    format: ActivityFormat,
    options: &ActivityOptions,
) -> Result<AssembledHost, ActivityError> {
    let mut warnings = left_out.warnings();
    let cores = cores_of(&name, &activity, options, &mut warnings)?;
    let samples = &activity.samples;
    let names = |of: fn(&HostSample) -> Vec<&str>| -> BTreeSet<&str> {
        samples.iter().flat_map(of).collect()
    };
    let disks = names(|s| s.disks.iter().flat_map(|d| d.keys().map(String::as_str)).collect());
    let links = names(|s| s.network.iter().flat_map(|n| n.keys().map(String::as_str)).collect());
    let not_counted = virtual_disks(&disks);
    let counted = counted_interfaces(&links);
    let devices: Vec<(&str, DiskInfo)> = (0..)
        .zip(&disks)
        .map(|(index, name)| {
            let (major, minor) = number(name).unwrap_or((0, index));
            let info = DiskInfo {
                name: (*name).to_owned(),
                device: major << 20 | minor,
                major,
                minor,
                is_virtual: not_counted.contains(name),
                ..DiskInfo::default()
            };
            (*name, info)
        })
        .collect();
    let usual = usual_span(samples);
    let assumed_mhz = options.clock.map_or(CLOCK_MHZ, |clock| clock.0 / 1e6);
    let has_clock = options.clock.is_none() && samples.iter().all(|s| s.mhz.is_some());

    let mut manifest = Manifest::new(Vec::new(), usual, MachineInfo::default());
    let rates = ProfileRates::of(&manifest.profile);
    let layout = Layout {
        cores,
        rates,
        clock_mhz: (!has_clock).then_some(assumed_mhz),
        devices: devices.iter().map(|(name, info)| ((*name).to_owned(), info.device)).collect(),
        interfaces: counted.iter().map(|name| (*name).to_owned()).collect(),
    };
    let memory = samples.iter().filter_map(|s| s.memory).map(|m| m.total).fold(0.0, f64::max);
    manifest.machine = MachineInfo {
        cpu_model: String::new(),
        cores,
        threads_per_core: None,
        memory: Bytes(memory.round() as u64),
        kernel: activity.kernel,
        disks: devices.into_iter().map(|(_, info)| info).collect(),
        interfaces: links
            .iter()
            .map(|name| InterfaceInfo {
                name: (*name).to_owned(),
                megabits: None,
                counted: counted.contains(name),
            })
            .collect(),
    };
    let start = samples[0].end.saturating_sub(samples[0].span);
    manifest.start_unix_ns = start.0;
    manifest.duration = samples.iter().map(|sample| sample.span).sum();
    let files = inputs.iter().filter_map(|path| path.file_name());
    manifest.imported = Some(ImportSource {
        format: format.name().to_owned(),
        file: files.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(", "),
    });
    let facts = Facts {
        format,
        cores,
        rates,
        assumed_mhz,
        has_clock,
        has_pressure: [
            samples.iter().all(|s| s.io_full.is_some()),
            samples.iter().all(|s| s.cpu_some.is_some()),
        ],
        has_memory: samples.iter().any(|s| s.memory.is_some()),
        has_network: !links.is_empty(),
        has_disks: !disks.is_empty(),
        is_per_core: samples.iter().all(|s| uses_cores(s, cores)),
        left_out: &left_out,
    };
    let columns = facts.columns(options);
    manifest.unavailable = facts.unavailable(options);
    if facts.has_network && counted.is_empty() {
        warnings.push("network: the input lists the loopback alone, so there is no traffic".into());
    }
    if !facts.has_network {
        warnings.push("network: the input has none, so the network never limits a design".into());
    }
    if !facts.has_disks {
        warnings.push("disks: the input has none, so storage never limits a design".into());
    }
    let mut assembled = AssembledHost {
        samples: activity.samples,
        layout,
        name,
        manifest,
        columns,
        left_out,
        warnings,
    };
    let spent = assembled.cpu_seconds();
    if spent.steal > MUCH_STEAL * spent.busy {
        assembled.warnings.push(format!(
            "steal: the hypervisor took {:.1} s of CPU time, which are not in the trace; the job \
             would have been faster without",
            spent.steal
        ));
    }
    Ok(assembled)
}

/// What the samples of a host have in common.
struct Layout {
    cores: u32,
    rates: ProfileRates,
    /// The clock of all samples; `None` if each has its own.
    clock_mhz: Option<f64>,
    /// Numbers of the disks.
    devices: BTreeMap<String, u32>,
    /// The interfaces that are counted.
    interfaces: BTreeSet<String>,
}

impl AssembledHost {
    /// Number of samples.
    pub fn len(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Seconds of all cores, by what they were spent on.
    pub fn cpu_seconds(&self) -> CpuShares {
        let of_sample = |sample: &HostSample| {
            let all: CpuShares = shares(sample, self.layout.cores).into_iter().sum();
            let span = sample.span.as_secs();
            CpuShares { busy: all.busy * span, iowait: all.iowait * span, steal: all.steal * span }
        };
        self.samples.iter().map(of_sample).sum()
    }

    /// Calls `each` with the totals since the start at the end of each sample.
    pub fn totals<E>(&self, mut each: impl FnMut(&Sample) -> Result<(), E>) -> Result<(), E> {
        let mut estimate = CycleEstimate::new(self.layout.rates);
        let mut before = Sample::default();
        for recorded in &self.samples {
            let mut total = before.clone();
            total.add(&self.layout.interval(recorded, &before));
            estimate.add(&before, &total);
            (total.instructions, total.llc_misses) = estimate.machine(None);
            each(&total)?;
            before = total;
        }
        Ok(())
    }
}

impl Layout {
    /// The activity of one sample, after the totals `before`.
    fn interval(&self, recorded: &HostSample, before: &Sample) -> Sample {
        let span = recorded.span.as_secs();
        let mhz = self.clock_mhz.or(recorded.mhz).unwrap_or(CLOCK_MHZ);
        let shares = shares(recorded, self.cores);
        let mut interval = Sample {
            start: before.end(),
            span: recorded.span,
            cpu_per_core: shares.iter().map(|share| Ns::from_secs(share.busy * span)).collect(),
            iowait: Ns::from_secs(shares.iter().map(|share| share.iowait).sum::<f64>() * span),
            psi_io_full: Ns::from_secs(recorded.io_full.unwrap_or(0.0) * span),
            psi_cpu_some: Ns::from_secs(recorded.cpu_some.unwrap_or(0.0) * span),
            mhz_per_core: vec![mhz.round() as u32; self.cores as usize],
            memory: Bytes(recorded.memory.map_or(0.0, |memory| memory.used) as u64),
            ..Sample::default()
        };
        for (name, link) in recorded.network.iter().flatten() {
            if self.interfaces.contains(name) {
                interval.rx_bytes += Bytes(link.rx_bytes.round() as u64);
                interval.rx_packets += link.rx_packets.round() as u64;
                interval.tx_bytes += Bytes(link.tx_bytes.round() as u64);
                interval.tx_packets += link.tx_packets.round() as u64;
            }
        }
        for (name, disk) in recorded.disks.iter().flatten() {
            let disk = disk_sample(self.devices[name], disk);
            // A device has no row before its first activity.
            if !disk.is_idle() || before.disks.iter().any(|then| then.device == disk.device) {
                interval.disks.push(disk);
            }
        }
        interval.disks.sort_unstable_by_key(|disk| disk.device);
        interval
    }
}

/// Whether a sample has its cores one by one. Some inputs list only a part of them.
fn uses_cores(sample: &HostSample, cores: u32) -> bool {
    sample.all.is_none() || sample.cores.len() == cores as usize
}

/// The shares of each core. Without rows of the cores, each has an equal share.
fn shares(sample: &HostSample, cores: u32) -> Vec<CpuShares> {
    (0..cores)
        .map(|core| match sample.all {
            Some(all) if !uses_cores(sample, cores) => all,
            // A core without a row was offline.
            _ => sample.cores.get(&core).copied().unwrap_or_default(),
        })
        .collect()
}

/// Whole sectors, and at least one request for bytes, so that a replay moves them all.
fn disk_sample(device: u32, disk: &DiskUse) -> DiskSample {
    let sectors = |bytes: f64| Bytes((bytes / 512.0).round() as u64 * 512);
    let requests = |count: f64, bytes: Bytes| match bytes {
        Bytes(0) => 0,
        _ => (count.round() as u64).max(1),
    };
    let read_bytes = sectors(disk.read_bytes);
    let write_bytes = sectors(disk.write_bytes);
    let discard_bytes = sectors(disk.discard_bytes);
    DiskSample {
        device,
        reads: requests(disk.reads, read_bytes),
        read_bytes,
        writes: requests(disk.writes, write_bytes),
        write_bytes,
        discards: requests(disk.discards, discard_bytes),
        discard_bytes,
        flushes: disk.flushes.round() as u64,
        busy: Ns::from_secs(disk.busy_s),
    }
}

/// What is known of a host, from which its columns are described.
struct Facts<'a> {
    format: ActivityFormat,
    cores: u32,
    rates: ProfileRates,
    assumed_mhz: f64,
    has_clock: bool,
    /// Whether every sample has the pressure of I/O, and that of the cores.
    has_pressure: [bool; 2],
    has_memory: bool,
    has_network: bool,
    has_disks: bool,
    is_per_core: bool,
    left_out: &'a LeftOut,
}

impl Facts<'_> {
    fn columns(&self, options: &ActivityOptions) -> Columns {
        use ColumnKind::{Estimated, Measured, Missing};
        let from = self.format.name();
        let is_sysstat = self.format == ActivityFormat::Sysstat;
        let pick = |sysstat: &str, prometheus: &str, rezolus: &str| {
            let how = match self.format {
                ActivityFormat::Sysstat => sysstat,
                ActivityFormat::Prometheus => prometheus,
                ActivityFormat::Rezolus => rezolus,
            };
            how.to_owned()
        };
        let mut columns = Columns::all(Missing, &format!("{from} records the whole machine only"));
        columns.set(&["t_ns"], Measured, "intervals of the input, without the gaps between them");
        let mut cpu = pick(
            "%user, %nice, %system and interrupts",
            "node_cpu_seconds_total: user, nice, system, irq, softirq",
            "cpu_usage: user, nice, system, irq, softirq",
        );
        if !self.is_per_core {
            cpu += &format!(", of all cores together, divided equally among {}", self.cores);
        }
        columns.set(&["cpu_ns"], Measured, &cpu);
        let iowait = pick("%iowait", "node_cpu_seconds_total: iowait", "rezolus has none");
        let kind = if self.format == ActivityFormat::Rezolus { Missing } else { Measured };
        columns.set(&["iowait_ns"], kind, &iowait);
        let pressures = [
            (PSI_IO_FULL, "full_avg of psi-io, or %fio: per cent of the interval"),
            (PSI_CPU_SOME, "some_avg of psi-cpu, or %scpu: per cent of the interval"),
        ];
        for ((name, how), is_known) in pressures.into_iter().zip(self.has_pressure) {
            let absent = pick(
                "not in every sample (sar -q PSI, sysstat 12.3.3 and later)",
                "not taken from prometheus",
                "not taken from rezolus",
            );
            match is_known {
                true => columns.set(&[name], Measured, how),
                false => columns.set(&[name], Missing, &absent),
            }
        }
        let clock = match (self.has_clock, options.clock) {
            (true, _) => {
                pick("mean of cpu-frequency", "mean of node_cpu_scaling_frequency_hertz", "")
            }
            (false, Some(_)) => "given with --clock".to_owned(),
            (false, None) => "assumed: Gordon, ASPLOS 2009, Table 4, Core 2".to_owned(),
        };
        let kind = if self.has_clock { Measured } else { Estimated };
        columns.set(&["mhz"], kind, &clock);
        let instructions =
            format!("CPU time x frequency x {} instructions a cycle", self.rates.ipc);
        columns.set(&["instructions"], Estimated, &instructions);
        let misses = format!("instructions x {} / 1000", self.rates.mpki);
        columns.set(&["llc_misses"], Estimated, &misses);
        let absent = format!("{from} input has no such section");
        let memory = pick(
            "kbavail, or what memory caches do not use",
            "MemTotal - MemAvailable",
            "memory_total - memory_available",
        );
        match self.has_memory {
            true => columns.set(&["memory_bytes"], Measured, &memory),
            false => columns.set(&["memory_bytes"], Missing, &absent),
        }
        let network = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
        match self.has_network {
            true => columns.set(&network, Measured, "the interfaces marked as counted"),
            false => columns.set(&network, Missing, &absent),
        }
        let kind = if self.has_disks { Measured } else { Missing };
        for column in &mut columns.disks {
            (column.kind, column.how) = match column.name.as_str() {
                "reads" | "writes" | "discards" if self.has_disks && is_sysstat => {
                    let how = "tps, divided by what the machine's rtps and wtps are, or by bytes";
                    (Estimated, how.to_owned())
                }
                "flushes" if is_sysstat => (Missing, "sysstat does not count them".to_owned()),
                "busy_ns" if self.format == ActivityFormat::Rezolus => {
                    (Missing, "rezolus does not count it".to_owned())
                }
                _ if self.has_disks => {
                    (kind, pick("section disk, or io", "node_disk_*", "blockio_*"))
                }
                _ => (kind, absent.clone()),
            };
        }
        columns
    }

    fn unavailable(&self, options: &ActivityOptions) -> Vec<Unavailable> {
        let from = self.format.name();
        let mut list = Vec::new();
        let mut add = |what: &str, why: String| {
            list.push(Unavailable { what: what.to_owned(), why });
        };
        add(BLOCK_LOG, format!("{from} has totals of each disk, not requests"));
        add("counted instructions", "they are not taken from the input, but estimated".to_owned());
        match (self.has_clock, options.clock) {
            (true, _) => {}
            (false, Some(_)) => {
                let mhz = self.assumed_mhz;
                add("core frequency", format!("the input has none; --clock gave {mhz:.0} MHz"));
            }
            (false, None) => {
                let mhz = self.assumed_mhz;
                let why =
                    format!("the input has none; {mhz:.0} MHz is assumed (convert with --clock)");
                add("core frequency", why);
            }
        }
        add("figures of one command", format!("{from} records the whole machine"));
        if !self.has_memory {
            add(MEMORY, "the input has no such section".to_owned());
        }
        if !self.has_network {
            add(NETWORK, "the input has no such section".to_owned());
        }
        if !self.has_disks {
            add("disks", "the input has no such section".to_owned());
        }
        list.extend(self.left_out.unavailable());
        list
    }
}
