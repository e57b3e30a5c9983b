//! The rows of sadf's sections, with the field names of JSON, and the amounts that they mean.

use crate::activity::disks::virtual_disks;
use crate::activity::host::{CpuShares, DiskUse, HostSample, MemoryUse, NetworkUse};
use gordon_units::Ns;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of sysstat's kB, and of its sectors.
const KB: f64 = 1024.0;
const SECTOR: f64 = 512.0;

/// The sections of one sample.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub end: Ns,
    pub span: Ns,
    /// Rows by number of the core; `None` is the row of all cores.
    pub cpu: BTreeMap<Option<u32>, CpuRow>,
    /// Clock in MHz, by number of the core.
    pub clock: BTreeMap<Option<u32>, f64>,
    /// Per cent of the interval: `full` of PSI `io`, and `some` of PSI `cpu`.
    pub io_full: Option<f64>,
    pub cpu_some: Option<f64>,
    pub memory: Option<MemoryRow>,
    pub disks: Option<BTreeMap<String, DiskRow>>,
    pub io: Option<IoRow>,
    pub network: Option<BTreeMap<String, NetworkRow>>,
}

/// Percentages of time. `-u ALL` prints `usr`, which lacks the time of guests, and interrupts apart
/// from `sys`. Fields that every version prints have no default: without them the time is unknown,
/// not 0.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct CpuRow {
    #[serde(alias = "usr")]
    pub user: f64,
    #[serde(default)]
    pub nice: f64,
    #[serde(alias = "sys")]
    pub system: f64,
    #[serde(default)]
    pub iowait: f64,
    #[serde(default)]
    pub steal: f64,
    #[serde(default)]
    pub irq: f64,
    #[serde(default)]
    pub soft: f64,
    #[serde(default)]
    pub guest: f64,
    #[serde(default)]
    pub gnice: f64,
    /// `None` if the input leaves it out.
    pub idle: Option<f64>,
}

/// Rates of a disk. Up to version 11.5 bytes are in sectors only.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct DiskRow {
    pub tps: f64,
    pub rd_sec: Option<f64>,
    pub wr_sec: Option<f64>,
    #[serde(default)]
    pub dc_sec: f64,
    #[serde(rename = "rkB")]
    pub rkb: Option<f64>,
    #[serde(rename = "wkB")]
    pub wkb: Option<f64>,
    #[serde(rename = "dkB")]
    pub dkb: Option<f64>,
    #[serde(default, rename = "util-percent")]
    pub util: f64,
}

/// Rates of all disks together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IoRow {
    pub rtps: f64,
    pub wtps: f64,
    pub dtps: f64,
    /// Sectors read, written and discarded.
    pub bread: f64,
    pub bwrtn: f64,
    pub bdscd: f64,
}

/// Memory in kB. `memused` excludes free memory (up to 11), also caches (12.0), or is what is not
/// available (12.7).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MemoryRow {
    pub memfree: f64,
    pub avail: Option<f64>,
    pub memused: f64,
    #[serde(rename = "memused-percent")]
    pub percent: f64,
    pub buffers: f64,
    pub cached: f64,
    /// Printed with `-r ALL`.
    pub anonpg: Option<f64>,
}

/// Rates of an interface.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct NetworkRow {
    #[serde(default)]
    pub rxpck: f64,
    #[serde(default)]
    pub txpck: f64,
    #[serde(rename = "rxkB")]
    pub rxkb: f64,
    #[serde(rename = "txkB")]
    pub txkb: f64,
    /// Per cent of the link's speed.
    #[serde(default, rename = "ifutil-percent")]
    pub ifutil: f64,
}

impl Sections {
    pub fn at(end: Ns, span: Ns) -> Self {
        Self { end, span, ..Self::default() }
    }

    /// The amounts of the interval.
    pub fn sample(self) -> HostSample {
        let span = self.span.as_secs();
        let mut cores: BTreeMap<Option<u32>, CpuShares> =
            self.cpu.into_iter().filter_map(|(core, row)| Some((core, row.shares()?))).collect();
        let all = cores.remove(&None);
        let clocks: Vec<f64> = match self.clock.get(&None) {
            Some(all) => vec![*all],
            None => self.clock.values().copied().collect(),
        };
        let mean_clock = clocks.iter().sum::<f64>() / clocks.len().max(1) as f64;
        let disks = match (self.disks, self.io) {
            (Some(rows), io) => Some(disks(rows, io, span)),
            (None, Some(io)) => Some(BTreeMap::from([("all".to_owned(), io.disk(span))])),
            (None, None) => None,
        };
        HostSample {
            end: self.end,
            span: self.span,
            all,
            cores: cores.into_iter().filter_map(|(core, row)| Some((core?, row))).collect(),
            // An idle guest may report 0 MHz.
            mhz: (mean_clock > 0.0).then_some(mean_clock),
            io_full: self.io_full.map(|percent| percent / 100.0),
            cpu_some: self.cpu_some.map(|percent| percent / 100.0),
            // The section has the swap space alone with `-S`.
            memory: self.memory.filter(|row| row.memused > 0.0).map(MemoryRow::memory),
            disks,
            network: self.network.map(|rows| {
                rows.into_iter().map(|(name, row)| (name, row.network(span))).collect()
            }),
        }
    }
}

impl CpuRow {
    /// `None` for a row of zeros, idle time included: sysstat prints them for a core that is
    /// offline.
    fn shares(self) -> Option<CpuShares> {
        let interrupts = self.irq + self.soft;
        let guests = self.guest + self.gnice;
        let busy = self.user + self.nice + self.system + interrupts + guests;
        let is_offline =
            self.idle.is_some_and(|idle| busy + self.iowait + self.steal + idle == 0.0);
        (!is_offline).then_some(CpuShares {
            busy: busy / 100.0,
            iowait: self.iowait / 100.0,
            steal: self.steal / 100.0,
        })
    }
}

/// The disks of a sample. sadf prints transfers of all kinds in one number. If a single disk had
/// any, they are divided as those of the machine are, and otherwise in proportion to the bytes.
fn disks(
    rows: BTreeMap<String, DiskRow>,
    io: Option<IoRow>,
    span: f64,
) -> BTreeMap<String, DiskUse> {
    let moved = rows.iter().map(|(name, row)| (name.as_str(), row.disk(None, span).bytes()));
    let not_counted = virtual_disks(&moved.collect());
    let mut active = rows
        .iter()
        .filter(|(name, row)| row.tps > 0.0 && !not_counted.contains(name.as_str()))
        .map(|(name, _)| name.clone());
    let single = active.next().filter(|_| active.next().is_none());
    let io = io.filter(|io| io.rtps + io.wtps + io.dtps > 0.0);
    rows.into_iter()
        .map(|(name, row)| {
            let io = io.filter(|_| single.as_ref() == Some(&name));
            (name, row.disk(io, span))
        })
        .collect()
}

impl DiskRow {
    /// The field of the bytes that are missing, if any.
    pub fn lacks(&self) -> Option<&'static str> {
        match (self.rkb.or(self.rd_sec), self.wkb.or(self.wr_sec)) {
            (None, _) => Some("rkB"),
            (_, None) => Some("wkB"),
            _ => None,
        }
    }

    fn disk(self, io: Option<IoRow>, span: f64) -> DiskUse {
        let bytes =
            |kb: Option<f64>, sectors: f64| kb.map_or(sectors * SECTOR, |kb| kb * KB) * span;
        let moved = [
            bytes(self.rkb, self.rd_sec.unwrap_or(0.0)),
            bytes(self.wkb, self.wr_sec.unwrap_or(0.0)),
            bytes(self.dkb, self.dc_sec),
        ];
        let weights = io.map_or(moved, |io| [io.rtps, io.wtps, io.dtps]);
        let sum: f64 = weights.iter().sum();
        let [reads, writes, discards] =
            weights.map(|weight| if sum > 0.0 { self.tps * span * weight / sum } else { 0.0 });
        DiskUse {
            reads,
            read_bytes: moved[0],
            writes,
            write_bytes: moved[1],
            discards,
            discard_bytes: moved[2],
            flushes: 0.0,
            busy_s: self.util / 100.0 * span,
        }
    }
}

impl IoRow {
    fn disk(self, span: f64) -> DiskUse {
        DiskUse {
            reads: self.rtps * span,
            read_bytes: self.bread * SECTOR * span,
            writes: self.wtps * span,
            write_bytes: self.bwrtn * SECTOR * span,
            discards: self.dtps * span,
            discard_bytes: self.bdscd * SECTOR * span,
            ..DiskUse::default()
        }
    }
}

impl MemoryRow {
    fn memory(self) -> MemoryUse {
        let fits = |total: &f64| (self.memused / total * 100.0 - self.percent).abs() < 0.006;
        let total =
            [Some(self.memfree + self.memused), self.avail.map(|avail| avail + self.memused)]
                .into_iter()
                .flatten()
                .find(fits)
                .unwrap_or(if self.percent > 0.0 {
                    self.memused / self.percent * 100.0
                } else {
                    0.0
                });
        let excludes_free_only = fits(&(self.memfree + self.memused));
        let used = match self.avail {
            Some(avail) => total - avail,
            None if excludes_free_only => self.memused - self.buffers - self.cached,
            None => self.memused,
        };
        MemoryUse {
            used: used.max(0.0) * KB,
            total: total.max(0.0) * KB,
            anonymous: self.anonpg.map(|anonymous| anonymous * KB),
            cache: (self.buffers + self.cached > 0.0).then_some((self.buffers + self.cached) * KB),
        }
    }
}

impl NetworkRow {
    fn network(self, span: f64) -> NetworkUse {
        NetworkUse {
            rx_bytes: self.rxkb * KB * span,
            rx_packets: self.rxpck * span,
            tx_bytes: self.txkb * KB * span,
            tx_packets: self.txpck * span,
            utilisation: self.ifutil / 100.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_is_the_same_in_all_versions() {
        // 1000 kB in all: 100 free, 50 buffers, 250 cached, 40 slab, 420 available.
        let row = MemoryRow {
            memfree: 100.0,
            avail: Some(420.0),
            buffers: 50.0,
            cached: 250.0,
            ..MemoryRow::default()
        };
        let old = MemoryRow { memused: 900.0, percent: 90.0, ..row };
        let without_caches = MemoryRow { memused: 560.0, percent: 56.0, ..row };
        let not_available = MemoryRow { memused: 580.0, percent: 58.0, ..row };
        for row in [old, without_caches, not_available] {
            let memory = row.memory();
            assert!((memory.total / KB - 1000.0).abs() < 1e-6, "{memory:?}");
            assert!((memory.used / KB - 580.0).abs() < 1e-6, "{memory:?}");
        }
        let without_avail = MemoryRow { avail: None, ..old }.memory();
        assert!((without_avail.used / KB - 600.0).abs() < 1e-6, "{without_avail:?}");
    }

    #[test]
    fn transfers_are_divided_by_bytes_or_as_those_of_the_machine() {
        let row = DiskRow { tps: 30.0, rkb: Some(100.0), wkb: Some(200.0), ..DiskRow::default() };
        let by_bytes = row.disk(None, 2.0);
        assert_eq!((by_bytes.reads, by_bytes.writes), (20.0, 40.0));
        let io = IoRow { rtps: 25.0, wtps: 5.0, ..IoRow::default() };
        let by_machine = row.disk(Some(io), 2.0);
        assert_eq!((by_machine.reads, by_machine.writes), (50.0, 10.0));
        assert_eq!(by_machine.read_bytes, 204_800.0);
    }
}
