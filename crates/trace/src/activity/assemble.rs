//! Makes the samples of a trace from what was recorded of a host.

use super::cores::HostCores;
use super::disks::{number, virtual_disks};
use super::error::ActivityError;
use super::facts::{Facts, Section};
use super::host::{CpuShares, DiskUse, HostActivity, HostSample};
use super::left_out::{LeftOut, check, usual_span};
use super::network::HostNetwork;
use super::{ActivityOptions, prometheus, rezolus, spark, sysstat};
use crate::activity_format::ActivityFormat;
use crate::columns::Columns;
use crate::estimate::{CycleEstimate, ProfileRates};
use crate::manifest::{DiskInfo, ImportSource, MachineInfo, Manifest};
use crate::model::{DiskSample, Sample};
use gordon_units::{Bytes, Ns};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

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
    let zones: BTreeSet<bool> =
        hosts.values().flat_map(|host| host.is_utc.iter().copied()).collect();
    if zones.len() > 1 {
        return Err(ActivityError::Content {
            path: inputs.first().cloned().unwrap_or_default(),
            why: "some times are UTC, and others those of a time zone: nothing says which are \
                  the same"
                .to_owned(),
            hint: "sadf -j without -t and -T for all files, which prints UTC",
        });
    }
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
    warnings.extend(activity.notes.iter().cloned());
    if activity.is_utc.contains(&false) && (left_out.duplicates > 0 || left_out.gaps > 0) {
        warnings.push(
            "local_time: times are those of a time zone. Where daylight saving ends, an hour \
             repeats, and the second sample of a time is left out; where it starts, an hour is \
             skipped, which looks like a gap. sadf without -t and -T prints UTC"
                .into(),
        );
    }
    let cores = HostCores::of(&name, &activity, options, &mut warnings)?;
    let samples = &activity.samples;
    let is_per_core = cores.describe(samples, &mut warnings);
    let mut disks: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, disk) in samples.iter().flat_map(|s| s.disks.iter().flatten()) {
        *disks.entry(name).or_default() += disk.bytes();
    }
    let not_counted = virtual_disks(&disks);
    let network = HostNetwork::of(&activity, &mut warnings);
    let devices: Vec<(&str, DiskInfo)> = (0..)
        .zip(disks.keys())
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
        cores: cores.clone(),
        rates,
        clock_mhz: (!has_clock).then_some(assumed_mhz),
        devices: devices.iter().map(|(name, info)| ((*name).to_owned(), info.device)).collect(),
        interfaces: network.counted.clone(),
    };
    let cores = cores.count;
    let memory = samples.iter().filter_map(|s| s.memory).map(|m| m.total).fold(0.0, f64::max);
    manifest.machine = MachineInfo {
        cpu_model: String::new(),
        cores,
        threads_per_core: None,
        memory: Bytes(memory.round() as u64),
        kernel: activity.kernel,
        disks: devices.into_iter().map(|(_, info)| info).collect(),
        interfaces: network.interfaces,
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
        has_memory_kinds: [
            samples.iter().all(|s| s.memory.is_some_and(|memory| memory.anonymous.is_some())),
            samples.iter().all(|s| s.memory.is_some_and(|memory| memory.cache.is_some())),
        ],
        has_network: network.is_recorded,
        has_disks: !disks.is_empty(),
        is_per_core,
        left_out: &left_out,
        without: &activity.without,
    };
    let columns = facts.columns(options);
    manifest.unavailable = facts.unavailable(options);
    if facts.has_network && network.counted.is_empty() {
        warnings.push("network: the input lists the loopback alone, so there is no traffic".into());
    }
    for (section, is_there, result) in [
        (Section::Network, facts.has_network, "the network never limits a design"),
        (Section::Disks, facts.has_disks, "storage never limits a design"),
        (Section::Memory, facts.has_memory, "the memory that is needed is unknown"),
    ] {
        let how = section.how_to_record(format);
        // Memory that no input of the format has is missing in the manifest alone.
        let is_silent = how.is_empty() && matches!(section, Section::Memory);
        if !is_there && !is_silent {
            let name = section.name();
            warnings.push(format!("{name}: the input has none, so {result}{how}"));
        }
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
            "steal: the hypervisor ran others for {:.1} s in which a core had work; they are in \
             the trace as steal_ns, and a survey counts them as demand",
            spent.steal
        ));
    }
    Ok(assembled)
}

/// What the samples of a host have in common.
struct Layout {
    cores: HostCores,
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
            let all: CpuShares = self.layout.cores.shares(sample).0.into_iter().sum();
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
        let (shares, _) = self.cores.shares(recorded);
        let memory = recorded.memory.unwrap_or_default();
        let mut interval = Sample {
            start: before.end(),
            span: recorded.span,
            cpu_per_core: shares.iter().map(|share| Ns::from_secs(share.busy * span)).collect(),
            iowait: Ns::from_secs(shares.iter().map(|share| share.iowait).sum::<f64>() * span),
            psi_io_full: Ns::from_secs(recorded.io_full.unwrap_or(0.0) * span),
            psi_cpu_some: Ns::from_secs(recorded.cpu_some.unwrap_or(0.0) * span),
            steal: Ns::from_secs(shares.iter().map(|share| share.steal).sum::<f64>() * span),
            mhz_per_core: vec![mhz.round() as u32; self.cores.count as usize],
            memory: Bytes(memory.used as u64),
            anonymous: Bytes(memory.anonymous.unwrap_or(0.0) as u64),
            cache: Bytes(memory.cache.unwrap_or(0.0) as u64),
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
