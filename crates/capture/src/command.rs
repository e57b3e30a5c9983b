//! The traced command: its start, its processes, its counters and its end.

use crate::cgroup::{ControlGroup, Hierarchies};
use crate::error::CaptureError;
use crate::machine_counters::PressureFiles;
use crate::observer::ProblemLog;
use crate::process_tree::ProcessTree;
use gordon_trace::{ColumnKind, Columns, CommandEnd, CommandReads, CommandSample};
use gordon_units::{Bytes, Ns};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, child_subreaper, getpid, pidfd_open, set_child_subreaper};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Child;

/// The command, before and after its start.
pub(crate) struct TracedCommand {
    group: Option<ControlGroup>,
    earlier_children: BTreeSet<u32>,
    running: Option<RunningCommand>,
    limited: bool,
    /// Pressure of the command's control group; the reason if it has none.
    pressure: Result<PressureFiles, String>,
    /// Processes that were alive at the last sample.
    living: u32,
    /// Totals of `full` of `io` and `some` of `cpu` at the last sample.
    last_pressure: (Ns, Ns),
    /// Whether a process with unreadable I/O counters has been reported.
    reported_hidden: bool,
    _subreaper: Subreaper,
}

struct RunningCommand {
    child: Child,
    pidfd: OwnedFd,
    tree: ProcessTree,
}

/// Makes this process the parent of all orphaned descendants while the value lives.
struct Subreaper {
    was: bool,
}

impl Subreaper {
    fn new() -> Self {
        let was = child_subreaper().is_ok_and(|set| set.is_some());
        let _ = set_child_subreaper(Some(getpid()));
        Self { was }
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        if !self.was {
            let _ = set_child_subreaper(None);
        }
    }
}

const COMMAND: &str = "control group of the command";
/// Sources of columns, for the manifest.
pub(crate) const ANONYMOUS_PAGES: &str =
    "resident - shared pages in /proc/PID/statm, so without shared memory";
pub(crate) const GROUP_IO_PRESSURE: &str = "io.pressure of the control group: full, total";
pub(crate) const GROUP_CPU_PRESSURE: &str = "cpu.pressure of the control group: some, total";

/// The pressure of a control group.
///
/// # Errors
/// The reason, if it has none.
pub(crate) fn pressure_of(group: Option<&ControlGroup>) -> Result<PressureFiles, String> {
    let paths = group.and_then(ControlGroup::pressure);
    let paths = paths.ok_or("only a control group of version 2 has it")?;
    PressureFiles::at(paths.map(|path| {
        let name = path.display().to_string();
        (path, name)
    }))
}

impl TracedCommand {
    /// Creates the control group of the command, and describes the command's columns.
    pub(crate) fn prepare(
        root: &Path,
        problems: &mut ProblemLog<'_>,
        columns: &mut Columns,
    ) -> Self {
        let (group, reasons) = ControlGroup::create(&Hierarchies::find(root));
        let group = (!group.is_empty()).then_some(group);
        if group.as_ref().is_none_or(|g| g.cpu().is_none()) {
            problems.unavailable(
                COMMAND,
                &format!("{}; its processes are read one by one", reasons.join("; ")),
            );
        }
        let command = Self {
            earlier_children: BTreeSet::new(),
            running: None,
            limited: false,
            pressure: pressure_of(group.as_ref()),
            living: 0,
            last_pressure: (Ns::ZERO, Ns::ZERO),
            group,
            reported_hidden: false,
            _subreaper: Subreaper::new(),
        };
        command.describe(columns);
        command
    }

    /// Describes the source of each of the command's columns.
    fn describe(&self, columns: &mut Columns) {
        let walked = "sum over its processes";
        let source =
            |of: fn(&ControlGroup) -> Option<&'static str>| self.group.as_ref().and_then(of);
        let cpu = source(ControlGroup::cpu_source)
            .map_or(format!("/proc/PID/stat, {walked}"), str::to_owned);
        let memory = source(ControlGroup::memory_source);
        let memory =
            memory.map_or(format!("resident pages in /proc/PID/statm, {walked}"), str::to_owned);
        columns.set(&["command_cpu_ns"], ColumnKind::Measured, &cpu);
        columns.set(&["command_memory_bytes"], ColumnKind::Measured, &memory);
        let kinds = self.group.as_ref().and_then(ControlGroup::memory_kinds_sources);
        match kinds {
            Some([how, _]) => {
                columns.set(&["command_anonymous_bytes"], ColumnKind::Measured, how);
            }
            None => {
                let how = format!("{ANONYMOUS_PAGES}, {walked}");
                columns.set(&["command_anonymous_bytes"], ColumnKind::Estimated, &how);
            }
        }
        let pressure = ["command_psi_io_full_ns", "command_psi_cpu_some_ns"];
        match &self.pressure {
            Ok(_) => {
                let files = [GROUP_IO_PRESSURE, GROUP_CPU_PRESSURE];
                for (name, how) in pressure.into_iter().zip(files) {
                    columns.set(&[name], ColumnKind::Measured, how);
                }
            }
            Err(why) => columns.set(&pressure, ColumnKind::Missing, why),
        }
        columns.set(
            &["command_read_bytes"],
            ColumnKind::Measured,
            &format!("read_bytes of /proc/PID/io, {walked}"),
        );
        columns.set(
            &["command_write_bytes"],
            ColumnKind::Measured,
            &format!("write_bytes of /proc/PID/io, {walked}"),
        );
        let members = if self.group.is_some() { "cgroup.procs" } else { "children in /proc" };
        columns.set(&["command_processes"], ColumnKind::Measured, members);
    }

    /// Limits the memory of the command.
    pub(crate) fn limit(&mut self, limit: Bytes) -> Result<(), String> {
        self.group.as_ref().ok_or("no control group for the command")?.limit(limit)?;
        self.limited = true;
        Ok(())
    }

    /// Starts the command with the standard input and output of this process.
    pub(crate) fn start(&mut self, argv: &[OsString]) -> Result<(), CaptureError> {
        let name = argv[0].to_string_lossy().into_owned();
        self.earlier_children = ProcessTree::earlier_children();
        let mut command = std::process::Command::new(&argv[0]);
        let mut child = command.args(&argv[1..]).spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => CaptureError::CommandNotFound(name.clone()),
            _ => CaptureError::CannotRun { command: name.clone(), source },
        })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pidfd =
            pid.ok_or(rustix::io::Errno::SRCH).and_then(|p| pidfd_open(p, PidfdFlags::empty()));
        let pidfd = pidfd.map_err(|e| {
            // The exit status is lost together with the trace.
            let _ = child.wait();
            let what = "watching the command (Linux 5.3 or later is needed)".to_owned();
            CaptureError::System { what, source: e.into() }
        })?;
        let tree = ProcessTree::new(child.id(), std::mem::take(&mut self.earlier_children));
        self.running = Some(RunningCommand { child, pidfd, tree });
        Ok(())
    }

    /// Moves the command into its control group. Until then it runs outside for some tens of
    /// microseconds.
    pub(crate) fn enter_group(&mut self, problems: &mut ProblemLog<'_>, columns: &mut Columns) {
        let Some(group) = &self.group else { return };
        let Err(error) = self.running().tree.enter(group) else { return };
        self.group = None;
        self.pressure = pressure_of(None);
        self.describe(columns);
        let why = format!("it may not be moved: {error}; its processes are read one by one");
        problems.unavailable(COMMAND, &why);
        if std::mem::take(&mut self.limited) {
            problems.unavailable("memory limit", "the command is not in its control group");
        }
    }

    /// The control group of the command; `None` if it stayed in that of this process.
    pub(crate) fn group(&self) -> Option<&ControlGroup> {
        self.group.as_ref()
    }

    /// Whether the memory limit is in force.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running().child.id()
    }

    /// A descriptor that becomes readable when the command has ended.
    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.running().pidfd.as_fd()
    }

    fn running(&self) -> &RunningCommand {
        self.running.as_ref().expect("it was started")
    }

    /// Reads the totals of the command. Instructions and cache misses stay zero.
    pub(crate) fn sample(&mut self, problems: &mut ProblemLog<'_>) -> CommandSample {
        let group = self.group.as_ref();
        let running = self.running.as_mut().expect("it was started");
        let reading = running.tree.read(group);
        if reading.hidden > 0 && !self.reported_hidden {
            self.reported_hidden = true;
            let why = "a process of the command runs as another user; root would see it";
            problems.unavailable("I/O of all processes of the command", why);
        }
        let kinds = group.and_then(ControlGroup::memory_kinds);
        let pressure = self.pressure.as_mut().ok().and_then(|files| files.read().ok());
        let (psi_io_full, psi_cpu_some) = pressure.unwrap_or(self.last_pressure);
        self.last_pressure = (psi_io_full, psi_cpu_some);
        self.living = reading.processes;
        CommandSample {
            cpu: group.and_then(ControlGroup::cpu).unwrap_or(reading.totals.cpu),
            memory: group.and_then(ControlGroup::memory).unwrap_or(reading.resident),
            read_bytes: reading.totals.read,
            write_bytes: reading.totals.written,
            processes: reading.processes,
            anonymous: kinds.map_or(reading.anonymous, |kinds| kinds.anonymous),
            psi_io_full,
            psi_cpu_some,
            ..CommandSample::default()
        }
    }

    /// Processes of the command that were alive at the last sample. After its end, they outlive it.
    pub(crate) fn living(&self) -> u32 {
        self.living
    }

    /// What the command read until the last sample.
    pub(crate) fn reads(&self) -> CommandReads {
        let tree = &self.running().tree;
        let (totals, mappings) = (tree.totals(), tree.mappings());
        CommandReads {
            fetched: totals.read,
            returned: totals.returned,
            mapped: mappings.mapped(),
            is_asynchronous: mappings.is_asynchronous,
            is_partial: mappings.is_partial || tree.has_unread_mappings() || self.reported_hidden,
        }
    }

    /// Waits for the end of the command.
    pub(crate) fn wait(&mut self) -> io::Result<CommandEnd> {
        let running = self.running.as_mut().expect("it was started");
        running.child.wait().map(end)
    }
}

/// The exit status or the signal of an ended process.
fn end(status: std::process::ExitStatus) -> CommandEnd {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, signal) => CommandEnd::Signalled(signal.unwrap_or(0)),
    }
}
