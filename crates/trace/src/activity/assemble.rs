//! Makes the samples of a trace from what was recorded of a host.

use super::devices::{counted_interfaces, number, virtual_disks};
use super::error::ActivityError;
use super::facts::Facts;
use super::host::{CpuShares, DiskUse, HostActivity, HostSample};
use super::left_out::{LeftOut, check, usual_span};
use super::{ActivityOptions, prometheus, rezolus, spark, sysstat};
use crate::activity_format::ActivityFormat;
use crate::columns::Columns;
use crate::estimate::{CycleEstimate, ProfileRates};
use crate::manifest::{DiskInfo, ImportSource, InterfaceInfo, MachineInfo, Manifest};
use crate::model::{DiskSample, Sample};
use gordon_units::{Bytes, Ns};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The most cores of a machine: Linux has at most 8192 (NR_CPUS on x86).
const CORES: u32 = 1 << 13;
/// Share of the CPU time from which stolen time is worth a warning.
const MUCH_STEAL: f64 = 0.01;
/// The clock that is assumed if none is recorded: that of the Core 2 in Gordon's Table 4, which
/// also gives the assumed instructions per cycle.
const CLOCK_MHZ: f64 = 2400.0;

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
                ActivityFormat::SparkEventlog => spark::HINT,
            },
        });
    };
    for (name, left_out) in &empty {
        first.warnings.push(format!("host {name} is left out: {}", reasons(left_out)));
    }
    Ok(assembled)
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
        accelerators: Vec::new(),
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
