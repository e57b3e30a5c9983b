//! The JSON of `sadf -j`.

use super::rows::{CpuRow, DiskRow, IoRow, MemoryRow, NetworkRow, Sections};
use super::{JSON_HINT, time};
use crate::activity::error::ActivityError;
use crate::activity::host::{HostActivity, Recorded};
use crate::activity::input::documents;
use gordon_units::Ns;
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

#[derive(Deserialize)]
struct Document {
    sysstat: Sysstat,
}

#[derive(Deserialize)]
struct Sysstat {
    hosts: Vec<Host>,
}

#[derive(Deserialize)]
struct Host {
    #[serde(default)]
    nodename: String,
    #[serde(default)]
    release: String,
    #[serde(rename = "number-of-cpus")]
    cores: Option<u32>,
    #[serde(default)]
    statistics: Vec<Statistics>,
    #[serde(default)]
    restarts: Vec<Restart>,
}

#[derive(Deserialize)]
struct Restart {
    boot: Option<Boot>,
}

#[derive(Deserialize)]
struct Boot {
    #[serde(default)]
    date: String,
    #[serde(default)]
    time: String,
    #[serde(rename = "cpu_count")]
    cores: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Statistics {
    timestamp: Option<Timestamp>,
    cpu_load: Option<Vec<Cpu>>,
    /// Name of the section with `-u ALL`, up to version 11.
    cpu_load_all: Option<Vec<Cpu>>,
    memory: Option<MemoryRow>,
    disk: Option<Vec<Disk>>,
    io: Option<Io>,
    network: Option<Network>,
    power_management: Option<Power>,
    psi: Option<Pressure>,
}

#[derive(Deserialize)]
struct Timestamp {
    #[serde(default)]
    date: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    interval: f64,
    /// 1 if the time is UTC, 0 if it is that of a zone.
    utc: Option<u8>,
}

#[derive(Deserialize)]
struct Cpu {
    cpu: String,
    #[serde(flatten)]
    row: CpuRow,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AnyDisk {
    disk_device: String,
    #[serde(flatten)]
    row: DiskRow,
}

/// A disk whose bytes are known.
#[derive(Deserialize)]
#[serde(try_from = "AnyDisk")]
struct Disk(String, DiskRow);

impl TryFrom<AnyDisk> for Disk {
    type Error = String;

    fn try_from(disk: AnyDisk) -> Result<Self, String> {
        match disk.row.lacks() {
            Some(field) => Err(format!("missing field `{field}` of disk {}", disk.disk_device)),
            None => Ok(Self(disk.disk_device, disk.row)),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Io {
    io_reads: Reads,
    io_writes: Writes,
    #[serde(default)]
    io_discard: Discards,
}

#[derive(Deserialize)]
struct Reads {
    rtps: f64,
    bread: f64,
}

#[derive(Deserialize)]
struct Writes {
    wtps: f64,
    bwrtn: f64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Discards {
    dtps: f64,
    bdscd: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Network {
    net_dev: Option<Vec<Interface>>,
}

#[derive(Deserialize)]
struct Interface {
    iface: String,
    #[serde(flatten)]
    row: NetworkRow,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Power {
    #[serde(default)]
    cpu_frequency: Vec<Frequency>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Pressure {
    psi_cpu: Option<CpuPressure>,
    psi_io: Option<IoPressure>,
}

/// `some_avg` is the mean of the interval, from the kernel's totals. `some_avg10` and the like are
/// means of other times and are not read.
#[derive(Deserialize)]
struct CpuPressure {
    some_avg: Option<f64>,
}

#[derive(Deserialize)]
struct IoPressure {
    full_avg: Option<f64>,
}

#[derive(Deserialize)]
struct Frequency {
    number: String,
    frequency: f64,
}

/// Adds the samples of a file, which may hold several documents.
pub(super) fn read(
    path: &Path,
    from: impl Read,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    documents(
        path,
        from,
        |document: Document| {
            for host in document.sysstat.hosts {
                let name = match host.nodename.as_str() {
                    "" => "host",
                    name => name,
                };
                add(recorded.hosts.entry(name.to_owned()).or_default(), host);
            }
            Ok(())
        },
        JSON_HINT,
    )
}

fn add(to: &mut HostActivity, host: Host) {
    // The header of the file is before its samples and restarts.
    let samples = host.statistics.iter().filter_map(Statistics::start);
    let restarts = host.restarts.iter().filter_map(|restart| restart.boot.as_ref()?.at());
    to.cores.extend(samples.chain(restarts).min().zip(host.cores));
    to.kernel = host.release;
    for boot in host.restarts.into_iter().filter_map(|restart| restart.boot) {
        let at = boot.at();
        to.restarts.extend(at);
        to.cores.extend(at.zip(boot.cores));
    }
    let stamps = host.statistics.iter().filter_map(|statistics| statistics.timestamp.as_ref()?.utc);
    to.is_utc.extend(stamps.map(|utc| utc > 0));
    for statistics in host.statistics {
        match statistics.sections() {
            Some(sections) => to.samples.push(sections.sample()),
            None => to.without_time += 1,
        }
    }
}

impl Boot {
    fn at(&self) -> Option<Ns> {
        time::parse(&format!("{} {}", self.date, self.time))
    }
}

impl Statistics {
    /// The start of the sample; `None` without a time.
    fn start(&self) -> Option<Ns> {
        let stamp = self.timestamp.as_ref()?;
        let end = time::parse(&format!("{} {}", stamp.date, stamp.time))?;
        Some(end.saturating_sub(Ns::from_secs(stamp.interval)))
    }

    /// `None` without a time.
    fn sections(self) -> Option<Sections> {
        let stamp = self.timestamp?;
        let end = time::parse(&format!("{} {}", stamp.date, stamp.time))?;
        let mut sections = Sections::at(end, Ns::from_secs(stamp.interval));
        for cpu in self.cpu_load.or(self.cpu_load_all).into_iter().flatten() {
            sections.cpu.insert(core(&cpu.cpu), cpu.row);
        }
        for clock in self.power_management.into_iter().flat_map(|power| power.cpu_frequency) {
            sections.clock.insert(core(&clock.number), clock.frequency);
        }
        sections.memory = self.memory;
        if let Some(pressure) = self.psi {
            sections.io_full = pressure.psi_io.and_then(|io| io.full_avg);
            sections.cpu_some = pressure.psi_cpu.and_then(|cpu| cpu.some_avg);
        }
        sections.disks =
            self.disk.map(|disks| disks.into_iter().map(|Disk(name, row)| (name, row)).collect());
        sections.io = self.io.map(|io| IoRow {
            rtps: io.io_reads.rtps,
            wtps: io.io_writes.wtps,
            dtps: io.io_discard.dtps,
            bread: io.io_reads.bread,
            bwrtn: io.io_writes.bwrtn,
            bdscd: io.io_discard.bdscd,
        });
        sections.network = self
            .network
            .and_then(|network| network.net_dev)
            .map(|links| links.into_iter().map(|link| (link.iface, link.row)).collect());
        Some(sections)
    }
}

/// The number of a core; `None` for `all`.
fn core(name: &str) -> Option<u32> {
    name.parse().ok()
}
