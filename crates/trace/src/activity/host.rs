//! The activity of a host as its monitor recorded it: what the readers fill.

use crate::manifest::Unavailable;
use gordon_units::Ns;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;

/// What was read from all inputs.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Samples by the name of the host.
    pub hosts: BTreeMap<String, HostActivity>,
    /// Counters over time, from which samples are made when all inputs have been read.
    pub series: BTreeMap<String, BTreeMap<SeriesKey, BTreeMap<Ns, f64>>>,
    /// Names of accelerators by the name of their host and of the accelerator. The host may be
    /// another target of the same machine.
    pub accelerators: BTreeMap<String, BTreeMap<String, String>>,
    /// Parts of the input that were left out.
    pub skipped: Skipped,
}

/// Metric, label and mode of a series of a host.
pub(super) type SeriesKey = (&'static str, String, String);

/// Parts of the input that were left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped {
    /// Malformed lines.
    pub lines: u64,
    /// Error of the first malformed line.
    pub first: Option<String>,
    /// Series of metrics that a trace has no place for.
    pub series: u64,
    /// Points of a series whose value is not finite.
    pub not_finite: u64,
    /// Points that repeat the time of their series with another value.
    pub contradictions: u64,
    /// Warnings of the server that answered, each once.
    pub of_server: BTreeSet<String>,
    /// Further warnings of the reader.
    pub notes: Vec<String>,
    /// What the traces of all hosts lack.
    pub unavailable: Vec<Unavailable>,
}

#[derive(Debug, Default)]
pub(super) struct HostActivity {
    /// The number of cores that the input states, from each time on, since 1970. A machine may be
    /// resized between restarts.
    pub cores: BTreeMap<Ns, u32>,
    /// Interfaces that are stacked on others, by what the input says of their links.
    pub stacked: BTreeSet<String>,
    /// Speed of the interfaces in megabits per second.
    pub megabits: BTreeMap<String, f64>,
    /// Columns for which the input has no counter, which is not the same as a counter of 0.
    pub without: BTreeSet<&'static str>,
    /// What was left out or assumed, one sentence each.
    pub notes: Vec<String>,
    /// Whether its times are UTC, or those of another zone; empty if the input does not say.
    pub is_utc: BTreeSet<bool>,
    /// Kernel release; empty if unknown.
    pub kernel: String,
    /// Times at which the machine or its monitor restarted, since 1970.
    pub restarts: Vec<Ns>,
    /// Samples that repeat the time of another sample, and were not kept.
    pub duplicates: u64,
    /// Samples without a time.
    pub without_time: u64,
    /// The samples, in the order of the input.
    pub samples: Vec<HostSample>,
}

/// The activity of a host in one interval. Amounts are totals over the interval.
#[derive(Clone, Debug, Default)]
pub(super) struct HostSample {
    /// End of the interval, since 1970.
    pub end: Ns,
    /// Length of the interval.
    pub span: Ns,
    /// Time of all cores together; `None` if not recorded.
    pub all: Option<CpuShares>,
    /// Time of the cores that were recorded one by one.
    pub cores: BTreeMap<u32, CpuShares>,
    /// Mean clock of the cores; `None` if not recorded.
    pub mhz: Option<f64>,
    /// Share of the time in which all tasks were stalled on I/O; `None` if not recorded.
    pub io_full: Option<f64>,
    /// Share of the time in which a runnable task waited for a core; `None` if not recorded.
    pub cpu_some: Option<f64>,
    /// `None` if not recorded.
    pub memory: Option<MemoryUse>,
    /// Disks by name; `None` if no disk was recorded.
    pub disks: Option<BTreeMap<String, DiskUse>>,
    /// Interfaces by name; `None` if no interface was recorded.
    pub network: Option<BTreeMap<String, NetworkUse>>,
}

/// Shares of the time of a core, or of all cores, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CpuShares {
    /// User, nice, system and interrupts, guests included.
    pub busy: f64,
    /// Idle, with a request in flight.
    pub iowait: f64,
    /// Time that the hypervisor gave to others.
    pub steal: f64,
}

impl Sum for CpuShares {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), |sum, one| Self {
            busy: sum.busy + one.busy,
            iowait: sum.iowait + one.iowait,
            steal: sum.steal + one.steal,
        })
    }
}

/// Memory at the end of an interval, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryUse {
    pub used: f64,
    pub total: f64,
    /// What cannot be dropped, and page cache; `None` if not recorded.
    pub anonymous: Option<f64>,
    pub cache: Option<f64>,
}

/// Amounts of one disk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DiskUse {
    pub reads: f64,
    pub read_bytes: f64,
    pub writes: f64,
    pub write_bytes: f64,
    pub discards: f64,
    pub discard_bytes: f64,
    pub flushes: f64,
    /// Seconds with a request in flight.
    pub busy_s: f64,
}

impl DiskUse {
    /// Bytes of all kinds of requests.
    pub fn bytes(&self) -> f64 {
        self.read_bytes + self.write_bytes + self.discard_bytes
    }
}

/// Amounts of one interface.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NetworkUse {
    pub rx_bytes: f64,
    pub rx_packets: f64,
    pub tx_bytes: f64,
    pub tx_packets: f64,
    /// Share of the link's speed that the larger direction used; 0 if unknown.
    pub utilisation: f64,
}

impl HostSample {
    /// The sum of all amounts, and whether all are numbers that are not negative and no gauge is
    /// above `most`.
    pub fn amounts(&self, most: f64) -> (f64, bool) {
        let mut amounts = Vec::new();
        for shares in self.all.iter().chain(self.cores.values()) {
            amounts.extend([shares.busy, shares.iowait, shares.steal]);
        }
        for disk in self.disks.iter().flat_map(BTreeMap::values) {
            amounts.extend([disk.reads, disk.writes, disk.discards, disk.flushes, disk.busy_s]);
            amounts.extend([disk.read_bytes, disk.write_bytes, disk.discard_bytes]);
        }
        for link in self.network.iter().flat_map(BTreeMap::values) {
            amounts.extend([link.rx_bytes, link.rx_packets, link.tx_bytes, link.tx_packets]);
        }
        amounts.extend(self.io_full.into_iter().chain(self.cpu_some));
        let memory = self.memory.iter().flat_map(|memory| [memory.used, memory.total]);
        let kinds =
            self.memory.iter().flat_map(|memory| memory.anonymous.into_iter().chain(memory.cache));
        let gauges: Vec<f64> = memory.chain(kinds).chain(self.mhz).collect();
        let is_valid = amounts.iter().chain(&gauges).all(|a| a.is_finite() && *a >= 0.0)
            && gauges.iter().all(|gauge| *gauge <= most);
        (amounts.iter().sum(), is_valid)
    }
}
