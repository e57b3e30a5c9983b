//! The machine as the source of a trace's columns: its counters, and those of its processors.

use crate::accelerators::accelerators;
use crate::cgroup::{ControlGroup, Hierarchies};
use crate::error::CaptureError;
use crate::machine_counters::MachineCounters;
use crate::observer::ProblemLog;
use crate::pmu::{CounterPair, Pmu};
use crate::recording::CountedWork;
use crate::throttling::ThrottledTime;
use gordon_trace::{ColumnKind, Columns, Profile, ProfileRates, Sample};
use gordon_units::Ns;
use std::io;
use std::path::Path;

/// The counters of the machine.
pub(crate) struct MachineSource {
    counters: MachineCounters,
    pmu: Pmu,
    hierarchies: Hierarchies,
    /// Throttling of this process, or of the command; the reason if it is not counted.
    throttled: Result<ThrottledTime, String>,
    accelerators: Vec<String>,
}

/// Name of the time of accelerators among what is not available.
const ACCELERATORS: &str = "time and power of accelerators";

fn refused(source: io::Error) -> CaptureError {
    CaptureError::System { what: "machine counters".to_owned(), source }
}

impl MachineSource {
    /// Opens the counters. Must be called on the thread that will start the command, if any.
    pub(crate) fn open(root: &Path) -> Result<Self, CaptureError> {
        let counters = MachineCounters::open(root).map_err(refused)?;
        let hierarchies = Hierarchies::find(root);
        let throttled = ThrottledTime::open(&hierarchies, None);
        let accelerators = accelerators(root);
        Ok(Self { counters, pmu: Pmu::open(root), hierarchies, throttled, accelerators })
    }

    /// Counts the throttling of the command that has started in `group`; `None` if it stayed in the
    /// group of this process.
    pub(crate) fn throttled_as(&mut self, group: Option<&ControlGroup>, columns: &mut Columns) {
        self.throttled = ThrottledTime::open(&self.hierarchies, group);
        self.describe_throttled(columns);
    }

    fn describe_throttled(&self, columns: &mut Columns) {
        match &self.throttled {
            Ok(time) => columns.set(&["throttled_ns"], ColumnKind::Measured, time.source()),
            Err(why) => columns.set(&["throttled_ns"], ColumnKind::Missing, why),
        }
    }

    /// Leaves out the counters of a command, if none will be started.
    pub(crate) fn count_no_command(&mut self) {
        self.pmu.command = CounterPair::default();
    }

    /// Totals at the start, in which only the gauges are not zero.
    pub(crate) fn start(&mut self, now: Ns) -> Result<Sample, CaptureError> {
        self.counters.start(now).map_err(refused)
    }

    /// Totals since the start.
    pub(crate) fn totals(&mut self, now: Ns) -> Result<Sample, CaptureError> {
        let mut totals = self.counters.totals(now).map_err(refused)?;
        totals.throttled = self.throttled.as_mut().map_or(Ns::ZERO, ThrottledTime::read);
        Ok(totals)
    }

    /// Source of the frequencies, for the manifest; `None` if they are unknown.
    pub(crate) fn clock(&self) -> Option<&'static str> {
        self.counters.clock()
    }

    /// Counted work of the machine and of the command since the counters were opened.
    pub(crate) fn counted(&mut self) -> [CountedWork; 2] {
        [&mut self.pmu.machine, &mut self.pmu.command].map(CounterPair::read)
    }

    /// Whether the processors have counters that count.
    pub(crate) fn has_hardware_counters(&self) -> bool {
        self.pmu.is_verified
    }

    /// Whether the time in which a quota held this process, or the command, back is counted.
    pub(crate) fn has_throttled_time(&self) -> bool {
        self.throttled.is_ok()
    }

    /// Whether the kernel has pressure stall information of the machine.
    pub(crate) fn has_pressure(&self) -> bool {
        self.counters.without_pressure().is_none()
    }

    /// Marks the columns whose counters shared the hardware, which is known only at the end.
    pub(crate) fn describe_scaled(&self, columns: &mut Columns) {
        self.pmu.machine.describe_scaled(columns, "");
        self.pmu.command.describe_scaled(columns, "command_");
    }

    /// Describes the source of each column of the machine.
    pub(crate) fn describe(
        &mut self,
        columns: &mut Columns,
        profile: &Profile,
        problems: &mut ProblemLog<'_>,
    ) {
        for column in &mut columns.disks {
            "/proc/diskstats".clone_into(&mut column.how);
        }
        let mut measured = |name, how| columns.set(&[name], ColumnKind::Measured, how);
        measured("t_ns", "monotonic clock, since the start");
        measured("cpu_ns", "/proc/stat: user, nice, system, irq, softirq");
        measured("iowait_ns", "/proc/stat: iowait of all cores");
        measured("steal_ns", "/proc/stat: steal of all cores");
        measured("memory_bytes", "/proc/meminfo: MemTotal - MemAvailable");
        measured("anonymous_bytes", "/proc/meminfo: AnonPages + Shmem");
        measured("cache_bytes", "/proc/meminfo: Cached + Buffers - Shmem");
        if !self.counters.has_memory_kinds() {
            let kinds = ["anonymous_bytes", "cache_bytes"];
            columns.set(&kinds, ColumnKind::Missing, "not in /proc/meminfo");
        }
        self.describe_throttled(columns);
        let mut measured = |name, how| columns.set(&[name], ColumnKind::Measured, how);
        let pressure = ["psi_io_full_ns", "psi_cpu_some_ns"];
        match self.counters.without_pressure() {
            None => {
                measured(pressure[0], "/proc/pressure/io: full, total");
                measured(pressure[1], "/proc/pressure/cpu: some, total");
            }
            Some(why) => {
                columns.set(&pressure, ColumnKind::Missing, why);
                problems.unavailable("pressure stall information", why);
            }
        }
        let network = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
        if self.counters.has_network() {
            let how = "/proc/net/dev: the interfaces marked as counted";
            columns.set(&network, ColumnKind::Measured, how);
        } else {
            columns.set(&network, ColumnKind::Missing, "no /proc/net/dev");
            problems.unavailable("network", "no /proc/net/dev");
        }
        describe_clock(columns, self.clock(), problems);
        if !self.accelerators.is_empty() {
            let names = self.accelerators.join(", ");
            let why = format!("capture reads no counters of {names}");
            problems.unavailable(ACCELERATORS, &why);
        }
        for (what, why) in &self.pmu.missing {
            problems.unavailable(&format!("counted {what}"), why);
        }
        let (rates, has_clock) = (ProfileRates::of(profile), self.clock().is_some());
        for (prefix, pair) in [("", &self.pmu.machine), ("command_", &self.pmu.command)] {
            describe_work(columns, prefix, pair.is_counted(), has_clock, rates);
        }
    }
}

/// The description of the frequencies.
pub(crate) fn describe_clock(
    columns: &mut Columns,
    clock: Option<&str>,
    problems: &mut ProblemLog<'_>,
) {
    const UNKNOWN: &str = "neither cpufreq nor /proc/cpuinfo reports it";
    match clock {
        Some(how) => columns.set(&["mhz"], ColumnKind::Measured, how),
        None => {
            columns.set(&["mhz"], ColumnKind::Missing, UNKNOWN);
            problems.unavailable("core frequency", UNKNOWN);
        }
    }
}

/// The description of the instructions and cache misses whose columns start with `prefix`:
/// counted, or estimated from the CPU time and the frequency.
pub(crate) fn describe_work(
    columns: &mut Columns,
    prefix: &str,
    counted: [bool; 2],
    has_clock: bool,
    rates: ProfileRates,
) {
    let [instructions, misses] =
        ["instructions", "llc_misses"].map(|name| format!("{prefix}{name}"));
    let missing = "neither counters nor frequency";
    if counted[0] {
        columns.set(&[&instructions], ColumnKind::Measured, "perf");
    } else if has_clock {
        let how = format!("CPU time x frequency x {} instructions a cycle", rates.ipc);
        columns.set(&[&instructions], ColumnKind::Estimated, &how);
    } else {
        columns.set(&[&instructions], ColumnKind::Missing, missing);
    }
    if counted[1] {
        columns.set(&[&misses], ColumnKind::Measured, "perf");
    } else if counted[0] || has_clock {
        let how = format!("instructions x {} / 1000", rates.mpki);
        columns.set(&[&misses], ColumnKind::Estimated, &how);
    } else {
        columns.set(&[&misses], ColumnKind::Missing, missing);
    }
}
