//! Describes the columns of a converted trace: where their values come from, and what is missing.

use super::ActivityOptions;
use super::left_out::LeftOut;
use super::spark::REQUEST;
use crate::activity_format::ActivityFormat;
use crate::columns::{ColumnKind, Columns, PSI_CPU_SOME, PSI_IO_FULL};
use crate::estimate::ProfileRates;
use crate::manifest::{BLOCK_LOG, MEMORY, NETWORK, Unavailable};
use std::collections::BTreeSet;

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
    /// Whether every sample has the memory that cannot be dropped, and the page cache.
    pub has_memory_kinds: [bool; 2],
    pub has_network: bool,
    pub has_disks: bool,
    pub is_per_core: bool,
    pub left_out: &'a LeftOut,
    /// Columns for which the input has no counter.
    pub without: &'a BTreeSet<&'static str>,
}

/// A part of an input that may be missing.
#[derive(Clone, Copy)]
pub(super) enum Section {
    Network,
    Disks,
    Memory,
}

impl Section {
    /// Its name in warnings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Disks => "disks",
            Self::Memory => "memory",
        }
    }

    /// What makes the input have it, as the end of a sentence; empty if nothing does.
    pub fn how_to_record(self, format: ActivityFormat) -> String {
        let how = match (format, self) {
            (ActivityFormat::Sysstat, Self::Network) => "add -n DEV to the options of sadf",
            (ActivityFormat::Sysstat, Self::Disks) => "add -d to the options of sadf",
            (ActivityFormat::Sysstat, Self::Memory) => "add -r ALL to the options of sadf",
            (ActivityFormat::Prometheus, Self::Network) => {
                "query node_network_receive_bytes_total and node_network_transmit_bytes_total, too"
            }
            (ActivityFormat::Prometheus, Self::Disks) => "query node_disk_.*_total, too",
            (ActivityFormat::Prometheus, Self::Memory) => "query node_memory_.*_bytes, too",
            _ => return String::new(),
        };
        format!(" ({how})")
    }
}

impl Facts<'_> {
    pub(super) fn columns(&self, options: &ActivityOptions) -> Columns {
        use ColumnKind::{Estimated, Measured, Missing};
        if self.format == ActivityFormat::SparkEventlog {
            return self.columns_of_tasks(options);
        }
        let from = self.format.name();
        let is_sysstat = self.format == ActivityFormat::Sysstat;
        let pick = |sysstat: &str, prometheus: &str, rezolus: &str| {
            let how = match self.format {
                ActivityFormat::Sysstat => sysstat,
                ActivityFormat::Prometheus => prometheus,
                ActivityFormat::Rezolus => rezolus,
                ActivityFormat::SparkEventlog => "estimated from tasks",
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
        let steal = pick("%steal", "node_cpu_seconds_total: steal", "cpu_usage: steal");
        columns.set(&["steal_ns"], Measured, &steal);
        for name in ["iowait_ns", "steal_ns"].iter().filter(|name| self.without.contains(*name)) {
            columns.set(&[name], Missing, "the input has no such mode of node_cpu_seconds_total");
        }
        let throttled = format!("{from} has no quotas of CPU time");
        columns.set(&["throttled_ns"], Missing, &throttled);
        self.memory_kinds(&mut columns);
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
                name if self.has_disks && self.without.contains(name) => {
                    (Missing, "the input has no such counter".to_owned())
                }
                _ if self.has_disks => {
                    (kind, pick("section disk, or io", "node_disk_*", "blockio_*"))
                }
                _ => (kind, absent.clone()),
            };
        }
        columns
    }

    /// Memory that cannot be dropped, and page cache. Only Prometheus has the shared memory, which
    /// belongs to the first and which the kernel counts with the second.
    fn memory_kinds(&self, columns: &mut Columns) {
        use ColumnKind::{Estimated, Measured, Missing};
        let [anonymous, cache] = match self.format {
            ActivityFormat::Sysstat => [
                (
                    Estimated,
                    "kbanonpg, without shared memory",
                    "no kbanonpg in every sample (sar -r ALL)",
                ),
                (
                    Estimated,
                    "kbbuffers + kbcached, which has the shared memory, too",
                    "no kbbuffers and kbcached in every sample (sar -r ALL)",
                ),
            ],
            ActivityFormat::Prometheus => [
                (
                    Measured,
                    "node_memory: AnonPages + Shmem",
                    "AnonPages or Shmem is not in the input",
                ),
                (
                    Measured,
                    "node_memory: Cached + Buffers - Shmem",
                    "Cached, Buffers or Shmem is not in the input",
                ),
            ],
            ActivityFormat::Rezolus | ActivityFormat::SparkEventlog => {
                [(Missing, "", "it has no shared memory"); 2]
            }
        };
        let names = ["anonymous_bytes", "cache_bytes"];
        for ((name, is_known), (kind, how, absent)) in
            names.into_iter().zip(self.has_memory_kinds).zip([anonymous, cache])
        {
            match is_known && kind != Missing {
                true => columns.set(&[name], kind, how),
                false => columns.set(&[name], Missing, absent),
            }
        }
    }

    /// The columns of a trace that is estimated from the tasks of an application.
    fn columns_of_tasks(&self, options: &ActivityOptions) -> Columns {
        use ColumnKind::{Estimated, Missing};
        let mut columns = Columns::all(Missing, "spark-eventlog has what tasks used only");
        let cores = self.cores;
        let cpu = format!(
            "CPU time of each task's thread, spread evenly over its run and divided equally among \
             {cores} cores; without Python workers, garbage collection and the system"
        );
        let clock = match options.clock {
            Some(_) => "given with --clock",
            None => "assumed: Gordon, ASPLOS 2009, Table 4, Core 2",
        };
        let instructions =
            format!("CPU time x frequency x {} instructions a cycle", self.rates.ipc);
        let misses = format!("instructions x {} / 1000", self.rates.mpki);
        let mut known = vec![
            ("t_ns", "the driver's clock, from the start of the application to its end"),
            ("cpu_ns", cpu.as_str()),
            ("mhz", clock),
            ("instructions", instructions.as_str()),
            ("llc_misses", misses.as_str()),
        ];
        if self.has_memory {
            known.push(("memory_bytes", "the peak of each executor, from its start to its end"));
        }
        if self.has_network {
            known.push((
                "rx_bytes",
                "remote bytes of shuffles, and the input of tasks with locality RACK_LOCAL or ANY",
            ));
            known.push((
                "tx_bytes",
                "what others received, divided by what each had written of the shuffle; of input, \
                 equally",
            ));
        }
        for (name, how) in known {
            columns.set(&[name], Estimated, how);
        }
        for column in &mut columns.disks {
            let how = match column.name.as_str() {
                "t_ns" => "as in the activity".to_owned(),
                "device" => "one disk stands for all".to_owned(),
                "read_bytes" => {
                    "bytes requested by tasks: input, shuffles (at the host that wrote them), spill"
                        .to_owned()
                }
                "write_bytes" => {
                    "bytes written by tasks: output, shuffles, spill, remote blocks kept on disk"
                        .to_owned()
                }
                "reads" | "writes" => {
                    format!("requests of {} KiB, the default read-ahead of Linux", REQUEST / 1024.0)
                }
                _ => continue,
            };
            column.kind = Estimated;
            column.how = how;
        }
        columns
    }

    pub(super) fn unavailable(&self, options: &ActivityOptions) -> Vec<Unavailable> {
        let from = self.format.name();
        let mut list = Vec::new();
        let mut add = |what: &str, why: String| {
            list.push(Unavailable { what: what.to_owned(), why });
        };
        let is_spark = self.format == ActivityFormat::SparkEventlog;
        match is_spark {
            true => add(BLOCK_LOG, format!("{from} has the bytes of tasks, not requests")),
            false => add(BLOCK_LOG, format!("{from} has totals of each disk, not requests")),
        }
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
        match is_spark {
            true => add("activity outside of tasks", format!("{from} records tasks only")),
            false => add("figures of one command", format!("{from} records the whole machine")),
        }
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
