//! Records a trace, from the probing of the machine to the finished folder.

use crate::block::{self, BlockLogger, BlockRoute};
use crate::clock::{monotonic, own_cpu};
use crate::command::TracedCommand;
use crate::error::CaptureError;
use crate::machine::MachineSource;
use crate::machine_info;
use crate::observer::{CaptureObserver, ProblemLog};
use crate::recording::Recording;
use crate::signals::Signals;
use gordon_trace::{
    BLOCK_LOG, BlockLog, ColumnKind, Columns, Manifest, OUTLIVING_WORK, Profile, Scope, TraceError,
    TraceFolder, TracePart, Unavailable,
};
use gordon_units::{Bytes, Ns};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The shortest interval. Reading all counters takes some tenths of a millisecond.
pub(crate) const MIN_INTERVAL: Ns = Ns(100_000_000);

/// Options of a capture.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// Path of the trace, a folder that must not exist.
    pub out: PathBuf,
    /// Time between samples, at least 100 ms.
    pub interval: Ns,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Memory limit of the command, page cache included; `None` for no limit.
    pub memory: Option<Bytes>,
    /// Rates that replace counters which the machine lacks.
    pub profile: Profile,
}

impl CaptureOptions {
    /// Options with one sample per second, no memory limit and the default rates.
    pub fn new(out: impl Into<PathBuf>, command: impl IntoIterator<Item: Into<OsString>>) -> Self {
        Self {
            out: out.into(),
            interval: Ns::SECOND,
            command: command.into_iter().map(Into::into).collect(),
            memory: None,
            profile: Profile::default(),
        }
    }
}

/// Result of a capture.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CaptureOutcome {
    /// Exit status of the command, or 128 plus the signal that ended it.
    pub exit_status: i32,
    /// The manifest of the trace.
    pub manifest: Manifest,
    /// The texts passed to [`CaptureObserver::warning`].
    pub warnings: Vec<String>,
}

/// Runs a command and writes its trace.
///
/// While the command runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT sent to this process are forwarded
/// to the command. Signals that this process was started to ignore (by `nohup`, or in the
/// background) stay ignored, also in the command. Orphans of the command become children of this
/// process, and so other children that this process starts in the meantime are counted as the
/// command's. A second capture in the same process waits for the first.
///
/// # Errors
/// When the command cannot be started or the trace cannot be written. There is no trace then,
/// and a command that was started has ended.
pub fn record(
    options: &CaptureOptions,
    observer: &mut dyn CaptureObserver,
) -> Result<CaptureOutcome, CaptureError> {
    if options.interval < MIN_INTERVAL {
        let why = format!("{} is too short; try {MIN_INTERVAL} or more", options.interval);
        return Err(CaptureError::Option { option: "interval", why });
    }
    if options.command.is_empty() {
        let why = "there is none; try: -- COMMAND ARGUMENTS".to_owned();
        return Err(CaptureError::Option { option: "command", why });
    }
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = TraceFolder::create(&options.out)?;
    let mut problems = ProblemLog { observer, warnings: Vec::new(), unavailable: Vec::new() };
    let mut capture = Capture::prepare(options, folder, &mut problems)?;
    let end = capture.run(&mut problems)?;
    capture.finish(options, end, problems)
}

/// A running capture.
struct Capture {
    recording: Option<CommandRecording>,
    command: TracedCommand,
    signals: Signals,
    interval: Ns,
    start: Ns,
    start_unix_ns: u64,
    cpu_before: Ns,
    memory_limit: Option<Bytes>,
}

/// The parts of a capture that are dropped when the trace cannot be written. Fields are dropped in
/// order.
struct CommandRecording {
    logger: Option<BlockLogger>,
    machine: MachineSource,
    recording: Recording,
}

impl Capture {
    /// Probes the machine, then starts the command.
    fn prepare(
        options: &CaptureOptions,
        folder: TraceFolder,
        problems: &mut ProblemLog<'_>,
    ) -> Result<Self, CaptureError> {
        let cpu_before = own_cpu();
        let root = Path::new("/");
        let refused = |what: &str, source| CaptureError::System { what: what.to_owned(), source };
        let mut columns = Columns::all(ColumnKind::Measured, "");
        let mut command = TracedCommand::prepare(root, problems, &mut columns);
        if let Some(Err(why)) = options.memory.map(|limit| command.limit(limit)) {
            problems.unavailable("memory limit", &why);
        }
        let mut machine = MachineSource::open(root)?;
        machine.describe(&mut columns, &options.profile, problems);
        let source = match block::open(None) {
            Ok(source) => {
                for column in &mut columns.block {
                    source.how().clone_into(&mut column.how);
                }
                Some(source)
            }
            Err(why) => {
                problems.unavailable(BLOCK_LOG, &why);
                None
            }
        };
        let mut recording = Recording::create(folder, columns, &options.profile)?;
        let writer = match source {
            Some(source) => Some((source, recording.block_writer()?)),
            None => None,
        };
        let signals = Signals::catch().map_err(|e| refused("signals", e))?;

        let start_unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = monotonic();
        recording.start(machine.start(start)?)?;
        let route = |writer| vec![BlockRoute::new(None, writer)];
        let logger = writer
            .map(|(source, writer)| BlockLogger::start(source, route(writer), start))
            .transpose()
            .map_err(|e| refused("the block log", e))?;
        command.start(&options.command)?;
        command.enter_group(problems, &mut recording.columns);
        machine.throttled_as(command.group(), &mut recording.columns);
        let memory_limit = options.memory.filter(|_| command.is_limited());
        problems.observer.started(command.pid());
        Ok(Self {
            recording: Some(CommandRecording { logger, machine, recording }),
            command,
            signals,
            interval: options.interval,
            start,
            start_unix_ns: u64::try_from(start_unix.as_nanos()).unwrap_or(u64::MAX),
            cpu_before,
            memory_limit,
        })
    }

    /// Takes samples until the command has ended, and returns the time of the end. After an error
    /// the command has ended as well.
    fn run(&mut self, problems: &mut ProblemLog<'_>) -> Result<Ns, CaptureError> {
        let mut next = self.start + self.interval;
        let mut failed = None;
        loop {
            let ended = self.wait(next).map_err(|source| CaptureError::System {
                what: "waiting for the command".to_owned(),
                source,
            })?;
            self.signals.forward(self.command.pidfd());
            let mut now = monotonic();
            if let Some(recording) = &mut self.recording {
                if let (true, Some(logger)) = (ended, &recording.logger) {
                    now = logger.end(now);
                }
                let due = ended || now >= next;
                let sampled = match due {
                    true => recording.sample(now, self.start, &mut self.command, problems),
                    false => Ok(()),
                };
                if let Err(error) = sampled.and_then(|()| recording.check()) {
                    problems.warn(format!("capture stops, the command continues: {error}"));
                    failed = Some(error);
                    // Frees the space on the disk at once.
                    self.recording = None;
                }
            }
            if now >= next {
                let passed = (now - self.start).0 / self.interval.0;
                next = self.start + self.interval * (passed + 1);
            }
            if ended {
                let Some(error) = failed else { return Ok(now) };
                // The exit status is lost together with the trace.
                let _ = self.command.wait();
                return Err(error);
            }
        }
    }

    /// Waits for `deadline`, a signal or the end of the command. Returns whether the command has
    /// ended.
    fn wait(&self, deadline: Ns) -> std::io::Result<bool> {
        let left = deadline.saturating_sub(monotonic());
        let timeout = match self.recording {
            Some(_) => Timespec::try_from(std::time::Duration::from_nanos(left.0)).ok(),
            None => None,
        };
        let mut fds = [
            PollFd::from_borrowed_fd(self.command.pidfd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!fds[0].revents().is_empty()),
            Err(e) => Err(e.into()),
        }
    }

    fn finish(
        mut self,
        options: &CaptureOptions,
        ended: Ns,
        mut problems: ProblemLog<'_>,
    ) -> Result<CaptureOutcome, CaptureError> {
        let end = self.command.wait().map_err(|source| CaptureError::System {
            what: "waiting for the command".to_owned(),
            source,
        })?;
        let recording = self.recording.take().expect("without it, run has failed");
        let lossy = |text: &OsString| text.to_string_lossy().into_owned();
        let mut manifest = Manifest::new(
            options.command.iter().map(lossy).collect(),
            options.interval,
            machine_info::machine_info(Path::new("/")),
        );
        let folder;
        (folder, manifest.parts, manifest.block) = recording.finish()?;
        if let Some(lost) = manifest.block.map(|b| b.lost_events).filter(|lost| *lost > 0) {
            problems.warn(format!("the kernel lost {lost} block events"));
        }
        if self.command.living() > 0 {
            let what = OUTLIVING_WORK.to_owned();
            let why = format!(
                "{} of its processes still ran when it ended; trace a command that waits for them",
                self.command.living()
            );
            problems.warn(format!("the trace lacks the {what}: {why}"));
            problems.unavailable.push(Unavailable { what, why });
        }
        let cwd = std::env::current_dir().unwrap_or_default();
        manifest.cwd = cwd.to_string_lossy().into_owned();
        manifest.start_unix_ns = self.start_unix_ns;
        manifest.scope = Scope::machine(machine_info::boot_id(Path::new("/")));
        manifest.duration = ended - self.start;
        manifest.end = end;
        manifest.memory_limit = self.memory_limit;
        manifest.reads = Some(self.command.reads());
        manifest.profile = options.profile.clone();
        manifest.unavailable = problems.unavailable;
        manifest.capture_cpu = own_cpu().saturating_sub(self.cpu_before);
        folder.commit(&manifest)?;
        Ok(CaptureOutcome { exit_status: end.status(), manifest, warnings: problems.warnings })
    }
}

impl CommandRecording {
    /// Reads all counters and stores them.
    fn sample(
        &mut self,
        now: Ns,
        start: Ns,
        command: &mut TracedCommand,
        problems: &mut ProblemLog<'_>,
    ) -> Result<(), CaptureError> {
        let mut totals = self.machine.totals(now)?;
        debug_assert_eq!(totals.end(), now - start);
        totals.command = command.sample(problems);
        let interval = self.recording.push(totals, self.machine.counted())?;
        problems.observer.sample(&interval);
        Ok(())
    }

    /// Returns the error of the block log, if it has failed.
    fn check(&mut self) -> Result<(), CaptureError> {
        if let Some(logger) = self.logger.take_if(|logger| logger.has_failed()) {
            block_log(logger)?;
        }
        Ok(())
    }

    #[allow(clippy::type_complexity)]
    fn finish(mut self) -> Result<(TraceFolder, Vec<TracePart>, Option<BlockLog>), TraceError> {
        self.machine.describe_scaled(&mut self.recording.columns);
        let (folder, mut parts) = self.recording.finish()?;
        let logged = self.logger.map(block_log).transpose()?;
        let block = logged.map(|(part, block)| {
            parts.push(part);
            block
        });
        Ok((folder, parts, block))
    }
}

/// Completes the only block log.
fn block_log(logger: BlockLogger) -> Result<(TracePart, BlockLog), TraceError> {
    logger.finish().pop().expect("there is one route with one file")
}
