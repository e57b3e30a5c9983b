//! The counters of one node.

use super::network::NodeNetwork;
use super::options::NodeOptions;
use super::processes::NodeProcesses;
use crate::cgroup::{ControlGroup, Hierarchies};
use crate::command::{ANONYMOUS_PAGES, GROUP_CPU_PRESSURE, GROUP_IO_PRESSURE, pressure_of};
use crate::error::CaptureError;
use crate::machine::{describe_clock, describe_work};
use crate::machine_counters::PressureFiles;
use crate::observer::ProblemLog;
use crate::pmu::CounterPair;
use crate::recording::CountedWork;
use crate::throttling::ThrottledTime;
use gordon_trace::{
    ColumnKind, Columns, CommandSample, MachineInfo, NodeScope, Profile, ProfileRates, Sample,
    Shared,
};
use gordon_units::{Bytes, Ns};
use std::path::Path;

const NETWORK: [&str; 4] = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
const PRESSURE: [&str; 4] =
    ["psi_io_full_ns", "psi_cpu_some_ns", "command_psi_io_full_ns", "command_psi_cpu_some_ns"];

/// Reads the counters of a node. One that can no longer be read keeps its last value: a node may
/// end before its capture.
pub(super) struct NodeCounters {
    group: Option<ControlGroup>,
    processes: NodeProcesses,
    network: Option<NodeNetwork>,
    pressure: Result<PressureFiles, String>,
    throttled: Result<ThrottledTime, String>,
    pmu: CounterPair,
    /// Hardware counters of the node that are not available, and why. Empty if the machine has
    /// none.
    without: Vec<(&'static str, String)>,
    /// Counted work at the start.
    counted_before: CountedWork,
    /// Numbers of the devices of the node; empty if it has none of its own.
    pub(super) devices: Vec<u32>,
    pub(super) memory_limit: Option<Bytes>,
    pub(super) scope: NodeScope,
    /// Whether the counters of a process may not be read.
    pub(super) has_hidden: bool,
    /// Totals before the start, and at the last sample.
    base: Sample,
    last: Sample,
}

impl NodeCounters {
    /// Finds what the node consists of. `has_hardware_counters` says whether the machine has some,
    /// which are then opened for the control group of the node.
    pub(super) fn open(
        root: &Path,
        options: &NodeOptions,
        machine: &MachineInfo,
        has_hardware_counters: bool,
    ) -> Result<Self, CaptureError> {
        let group = match &options.cgroup {
            None => None,
            Some(path) => Some(find_group(root, options, path)?),
        };
        for pid in &options.processes {
            if !root.join(format!("proc/{pid}/stat")).exists() {
                let (node, pid) = (options.name.clone(), *pid);
                return Err(CaptureError::UnknownProcess { node, pid });
            }
        }
        let network = NodeNetwork::open(root, options)?;
        let pressure = pressure_of(group.as_ref());
        let throttled = match &group {
            Some(group) => ThrottledTime::open(&Hierarchies::find(root), Some(group)),
            None => Err("the node has no control group".to_owned()),
        };
        let (pmu, without) = match &group {
            Some(group) if has_hardware_counters => group_counters(root, group),
            _ => (CounterPair::default(), Vec::new()),
        };
        let mut devices = Vec::new();
        let mut names = Vec::new();
        for name in &options.devices {
            let name = name.trim_start_matches("/dev/");
            let disk = machine.disks.iter().find(|disk| disk.name == name);
            let disk = disk.ok_or_else(|| CaptureError::UnknownDevice {
                node: options.name.clone(),
                device: name.to_owned(),
            })?;
            devices.push(disk.device);
            names.push(name.to_owned());
        }
        let memory_limit = group.as_ref().and_then(ControlGroup::memory_limit);
        let scope = NodeScope {
            name: options.name.clone(),
            cores: options.cores,
            cgroup: options.cgroup.clone(),
            processes: options.processes.clone(),
            network_namespace: network.as_ref().map(|network| network.inode),
            devices: names,
            shared: Vec::new(),
        };
        Ok(Self {
            group,
            processes: NodeProcesses::new(options.processes.clone()),
            network,
            pressure,
            throttled,
            pmu,
            without,
            counted_before: CountedWork::default(),
            devices,
            memory_limit,
            scope,
            has_hidden: false,
            base: Sample::default(),
            last: Sample::default(),
        })
    }

    /// Describes the source of each column, and what the node shares with others.
    pub(super) fn describe(
        &mut self,
        columns: &mut Columns,
        clock: Option<&str>,
        profile: &Profile,
        problems: &mut ProblemLog<'_>,
    ) {
        let walked = "sum over its processes";
        let mut measured = |names: &[&str], how: &str| {
            columns.set(names, ColumnKind::Measured, how);
        };
        measured(&["t_ns"], "monotonic clock, since the start");
        let group = self.group.as_ref();
        let cpu = match group {
            Some(group) if group.cpu_per_core().is_some() => "cgroup v1 cpuacct.usage_percpu",
            Some(group) if group.cpu().is_some() => "cgroup v2 cpu.stat: the sum of all cores",
            _ => "/proc/PID/stat, sum over its processes and all cores",
        };
        measured(&["cpu_ns", "command_cpu_ns"], cpu);
        let resident = format!("resident pages in /proc/PID/statm, {walked}");
        let memory = group.and_then(ControlGroup::memory_source).unwrap_or(&resident);
        measured(&["memory_bytes", "command_memory_bytes"], memory);
        measured(&["command_read_bytes"], &format!("read_bytes of /proc/PID/io, {walked}"));
        measured(&["command_write_bytes"], &format!("write_bytes of /proc/PID/io, {walked}"));
        let members = if group.is_some() { "cgroup.procs" } else { "children in /proc" };
        measured(&["command_processes"], members);
        match &self.pressure {
            Ok(_) => {
                measured(&[PRESSURE[0], PRESSURE[2]], GROUP_IO_PRESSURE);
                measured(&[PRESSURE[1], PRESSURE[3]], GROUP_CPU_PRESSURE);
            }
            Err(why) => columns.set(&PRESSURE, ColumnKind::Missing, why),
        }
        match &self.throttled {
            Ok(time) => columns.set(&["throttled_ns"], ColumnKind::Measured, time.source()),
            Err(why) => columns.set(&["throttled_ns"], ColumnKind::Missing, why),
        }
        let steal = "the kernel counts it for the whole machine only";
        columns.set(&["steal_ns"], ColumnKind::Missing, steal);
        match group.and_then(ControlGroup::memory_kinds_sources) {
            Some([anonymous, cache]) => {
                let names = ["anonymous_bytes", "command_anonymous_bytes"];
                columns.set(&names, ColumnKind::Measured, anonymous);
                columns.set(&["cache_bytes"], ColumnKind::Measured, cache);
            }
            None => {
                let names = ["anonymous_bytes", "command_anonymous_bytes"];
                let how = format!("{ANONYMOUS_PAGES}, {walked}");
                columns.set(&names, ColumnKind::Estimated, &how);
                let why = "only memory.stat of a control group has it, with its shared memory";
                columns.set(&["cache_bytes"], ColumnKind::Missing, why);
            }
        }
        let iowait = "the kernel counts it for the whole machine only";
        columns.set(&["iowait_ns"], ColumnKind::Missing, iowait);
        if self.network.is_some() {
            let how =
                "/proc/PID/net/dev of its network namespace: the interfaces marked as counted";
            columns.set(&NETWORK, ColumnKind::Measured, how);
        } else {
            let why = "the node has no network namespace of its own";
            columns.set(&NETWORK, ColumnKind::Missing, why);
            problems.unavailable("network", why);
        }
        describe_clock(columns, clock, problems);
        let mut share = |what: &str, why: &str| {
            self.scope.shared.push(Shared { what: what.to_owned(), why: why.to_owned() });
        };
        if clock.is_some() {
            share("mhz", "the clock of the machine's cores");
        }
        for (what, why) in &self.without {
            problems.unavailable(&format!("counted {what}"), why);
        }
        for prefix in ["", "command_"] {
            let rates = ProfileRates::of(profile);
            describe_work(columns, prefix, self.pmu.is_counted(), clock.is_some(), rates);
        }
        if self.group.is_none() {
            let why = "resident pages, and those of several processes count for each of them";
            share("memory_bytes", why);
            let why = "its processes are read one by one: those that end between two samples, and \
                       whose parent is not of the node, are missing";
            problems.unavailable("control group", why);
        }
        if self.devices.is_empty() {
            let how = "the machine's, shared out by the bytes in /proc/PID/io";
            share("disks", how);
            share("block log", how);
            problems.warn(format!(
                "no block devices of its own: the I/O of the machine's disks is {}",
                how.trim_start_matches("the machine's, ")
            ));
        }
        for column in &mut columns.disks {
            let is_key = ["t_ns", "device"].contains(&column.name.as_str());
            if self.devices.is_empty() && !is_key {
                column.kind = ColumnKind::Scaled;
                "/proc/diskstats, shared out by the bytes in /proc/PID/io"
                    .clone_into(&mut column.how);
            } else {
                "/proc/diskstats".clone_into(&mut column.how);
            }
        }
    }

    /// The machine as this node has it: its memory limit, its devices, the interfaces of its
    /// namespace.
    pub(super) fn machine_info(&mut self, machine: &MachineInfo) -> MachineInfo {
        let mut info = machine.clone();
        info.memory = self.memory_limit.unwrap_or(info.memory).min(info.memory);
        info.interfaces.iter_mut().for_each(|interface| interface.counted = false);
        if let Some(network) = &mut self.network {
            info.interfaces = network.interfaces();
        }
        if !self.devices.is_empty() {
            info.disks.retain(|disk| self.devices.contains(&disk.device));
            info.disks.iter_mut().for_each(|disk| disk.is_virtual = false);
        }
        info
    }

    /// Starts the trace: later totals count from now on. Returns the first totals, in which only
    /// the gauges are not zero. `machine` has those of the machine.
    pub(super) fn start(&mut self, machine: &Sample) -> Sample {
        let now = self.read(machine);
        self.last.cpu_per_core = vec![Ns::ZERO; now.cpu_per_core.len()];
        self.last.mhz_per_core.clone_from(&now.mhz_per_core);
        (self.last.memory, self.last.command.memory) = (now.memory, now.memory);
        self.last.anonymous = now.anonymous;
        self.last.command.anonymous = now.anonymous;
        self.last.cache = now.cache;
        self.last.command.processes = now.command.processes;
        self.base = now;
        self.counted_before = self.pmu.read();
        self.last.clone()
    }

    /// Counted work since the start, of the node and of its command, which are the same.
    pub(super) fn counted(&mut self) -> [CountedWork; 2] {
        let now = self.pmu.read();
        let before = self.counted_before;
        let since = |now: Option<u64>, before: Option<u64>| {
            now.map(|now| now.saturating_sub(before.unwrap_or(0)))
        };
        let work = CountedWork {
            instructions: since(now.instructions, before.instructions),
            llc_misses: since(now.llc_misses, before.llc_misses),
        };
        [work; 2]
    }

    /// Marks the columns whose counters shared the hardware.
    pub(super) fn describe_scaled(&self, columns: &mut Columns) {
        for prefix in ["", "command_"] {
            self.pmu.describe_scaled(columns, prefix);
        }
    }

    /// Totals since the start, at the time of the totals of the machine. The disks are those of the
    /// node's own devices.
    pub(super) fn totals(&mut self, machine: &Sample) -> Sample {
        let mut now = self.read(machine).since(&self.base);
        (now.start, now.span) = (Ns::ZERO, machine.span);
        let is_own = |disk: &&gordon_trace::DiskSample| self.devices.contains(&disk.device);
        now.disks = machine.disks.iter().filter(is_own).copied().collect();
        self.last = now.clone();
        now
    }

    /// Bytes that its processes have read and written since the start.
    pub(super) fn counted_io(&self) -> [Bytes; 2] {
        [self.last.command.read_bytes, self.last.command.write_bytes]
    }

    /// All counters, with the last values for those that can no longer be read.
    fn read(&mut self, machine: &Sample) -> Sample {
        let group = self.group.as_ref();
        let reading = self.processes.read(group);
        self.has_hidden |= reading.hidden > 0;
        let (base, last) = (&self.base, &self.last);
        let before = |of: fn(&Sample) -> u64| of(base) + of(last);
        let cores = machine.cpu_per_core.len().max(1);
        let cpu_per_core = match group {
            // The kernel lists cores that could be plugged in as well.
            Some(group) => group
                .cpu_per_core()
                .map(|mut per_core| {
                    per_core.truncate(cores);
                    per_core
                })
                .or_else(|| group.cpu().map(|cpu| vec![cpu])),
            None => Some(vec![reading.totals.cpu]),
        };
        let cpu_per_core = cpu_per_core.unwrap_or_else(|| {
            let zero = [Ns::ZERO];
            let base = base.cpu_per_core.iter().chain(zero.iter().cycle());
            last.cpu_per_core.iter().zip(base).map(|(last, base)| *last + *base).collect()
        });
        let memory = group.and_then(ControlGroup::memory).unwrap_or(reading.resident);
        let kinds = group.and_then(ControlGroup::memory_kinds);
        let anonymous = kinds.map_or(reading.anonymous, |kinds| kinds.anonymous);
        let throttled = self.throttled.as_mut().map_or(Ns::ZERO, ThrottledTime::read);
        let (psi_io_full, psi_cpu_some) = self
            .pressure
            .as_mut()
            .ok()
            .and_then(|files| files.read().ok())
            .unwrap_or((Ns(before(|s| s.psi_io_full.0)), Ns(before(|s| s.psi_cpu_some.0))));
        let counts = self.network.as_mut().and_then(NodeNetwork::read);
        let [rx_bytes, rx_packets, tx_bytes, tx_packets] = counts.unwrap_or([
            before(|s| s.rx_bytes.0),
            before(|s| s.rx_packets),
            before(|s| s.tx_bytes.0),
            before(|s| s.tx_packets),
        ]);
        let command = CommandSample {
            cpu: cpu_per_core.iter().copied().sum(),
            memory,
            anonymous,
            psi_io_full,
            psi_cpu_some,
            read_bytes: reading.totals.read,
            write_bytes: reading.totals.written,
            processes: reading.processes,
            ..CommandSample::default()
        };
        Sample {
            cpu_per_core,
            psi_io_full,
            psi_cpu_some,
            throttled,
            mhz_per_core: machine.mhz_per_core.clone(),
            memory,
            anonymous,
            cache: kinds.map_or(Bytes::ZERO, |kinds| kinds.cache),
            rx_bytes: Bytes(rx_bytes),
            rx_packets,
            tx_bytes: Bytes(tx_bytes),
            tx_packets,
            command,
            ..Sample::default()
        }
    }
}

/// The hardware counters of a control group, and why those that are missing are.
fn group_counters(root: &Path, group: &ControlGroup) -> (CounterPair, Vec<(&'static str, String)>) {
    match group.perf_event() {
        Some(folder) => CounterPair::of_group(root, folder),
        None => {
            let why = "its control group is not in the hierarchy of perf_event".to_owned();
            (CounterPair::default(), vec![("instructions and LLC misses", why)])
        }
    }
}

fn find_group(
    root: &Path,
    options: &NodeOptions,
    path: &str,
) -> Result<ControlGroup, CaptureError> {
    let group = ControlGroup::existing(&Hierarchies::find(root), Path::new(path));
    // Without CPU time the group is of a hierarchy that does not help.
    group.filter(|group| group.cpu().is_some()).ok_or_else(|| CaptureError::UnknownControlGroup {
        node: options.name.clone(),
        group: path.to_owned(),
    })
}
