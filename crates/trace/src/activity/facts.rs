//! Describes the columns of a converted trace: where their values come from, and what is missing.

use super::ActivityOptions;
use super::left_out::LeftOut;
use crate::activity_format::ActivityFormat;
use crate::columns::{ColumnKind, Columns, PSI_CPU_SOME, PSI_IO_FULL};
use crate::estimate::ProfileRates;
use crate::manifest::{BLOCK_LOG, MEMORY, NETWORK, Unavailable};

/// What is known of a host, from which its columns are described.
pub(super) struct Facts<'a> {
    pub format: ActivityFormat,
    pub cores: u32,
    pub rates: ProfileRates,
    pub assumed_mhz: f64,
    pub has_clock: bool,
    /// Whether every sample has the pressure of I/O, and that of the cores.
    pub has_pressure: [bool; 2],
    pub has_memory: bool,
    pub has_network: bool,
    pub has_disks: bool,
    pub is_per_core: bool,
    pub left_out: &'a LeftOut,
}

impl Facts<'_> {
    pub(super) fn columns(&self, options: &ActivityOptions) -> Columns {
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

    pub(super) fn unavailable(&self, options: &ActivityOptions) -> Vec<Unavailable> {
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
