//! Captures nodes: parts of this machine that stand for machines of a cluster, each into a trace of
//! its own, until the capture is stopped.
//!
//! One thread samples all of them, so that their samples have the same times, and one block log
//! serves all their traces. The machine's own counters are read with each sample: a node takes its
//! devices and the clock of the cores from them, and their totals are the sum that the totals of
//! the nodes are compared with. A trace of the machine can be captured at the same time.

mod counters;
mod deadline;
mod machine_load;
mod network;
mod options;
mod processes;
mod shared_io;

pub use machine_load::MachineTotals;
pub use options::{MachineOptions, NodeOptions, NodesOptions, ScopeOptions};

use crate::block::{self, BlockLogger, BlockRoute, CausedIo, CausedQueue, LogResult};
use crate::clock::{monotonic, own_cpu};
use crate::error::CaptureError;
use crate::machine::MachineSource;
use crate::machine_info;
use crate::observer::{NoObserver, ProblemLog};
use crate::recording::Recording;
use counters::NodeCounters;
use deadline::Deadlines;
use gordon_trace::{
    BLOCK_LOG, BlockLog, ColumnKind, Columns, MachineInfo, Manifest, Sample, Scope, ScopePart,
    TraceError, TraceFolder, TracePart, Unavailable,
};
use gordon_units::{Bytes, Ns};
use machine_load::MachineLoad;
use shared_io::SharedIo;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// A capture that is running. Dropping it without [`stop`](Self::stop) removes its traces.
#[derive(Debug)]
pub struct Running {
    stop: Sender<()>,
    thread: Option<JoinHandle<Option<NodesOutcome>>>,
    warnings: Vec<String>,
}

/// Result of a capture of nodes.
#[derive(Debug)]
pub struct NodesOutcome {
    /// The trace of each scope, in the order of the options.
    pub traces: Vec<ScopeOutcome>,
    /// Totals of the machine over the time of the capture.
    pub machine: MachineTotals,
    /// CPU time of this process during the capture.
    pub capture_cpu: Ns,
}

/// Result of one scope.
#[derive(Debug)]
pub struct ScopeOutcome {
    /// Name of the node or machine.
    pub name: String,
    /// Folder of the trace.
    pub folder: PathBuf,
    /// The manifest of the trace, or why there is no trace.
    pub result: Result<Manifest, CaptureError>,
    /// What was not available, and what happened during the capture.
    pub warnings: Vec<String>,
}

/// Starts a capture.
///
/// # Errors
/// When a scope does not exist, overlaps with another or cannot be captured. There is no trace
/// then.
pub fn start(options: &NodesOptions) -> Result<Running, CaptureError> {
    options.check()?;
    let root = Path::new("/");
    let (sampler, warnings) = Sampler::prepare(options, root)?;
    let (stop, stopped) = mpsc::channel();
    let thread = thread::Builder::new()
        .spawn(move || sampler.run(&stopped))
        .map_err(|source| CaptureError::System { what: "a thread".to_owned(), source })?;
    Ok(Running { stop, thread: Some(thread), warnings })
}

impl Running {
    /// What is not available, each once and with the names of its nodes.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Takes the last sample and completes the traces.
    pub fn stop(mut self) -> NodesOutcome {
        // Fails only if the thread has panicked, which joining it reports.
        let _ = self.stop.send(());
        let thread = self.thread.take().expect("only stopping and dropping take it");
        let outcome = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.expect("it was stopped, not dropped")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // Replacing the sender disconnects the thread.
        self.stop = mpsc::channel().0;
        let _ = thread.join();
    }
}

/// What the columns of a trace are read from.
enum ScopeSource {
    Machine,
    Node(Box<NodeCounters>),
}

/// One scope during the capture.
struct ScopeCapture {
    name: String,
    folder: PathBuf,
    source: ScopeSource,
    /// The recording, or the error that ended it.
    recording: Result<Recording, CaptureError>,
    warnings: Vec<String>,
    unavailable: Vec<Unavailable>,
}

/// Takes the samples of all scopes.
struct Sampler {
    scopes: Vec<ScopeCapture>,
    /// Number of the scope that each file of the block log is of.
    log_files: Vec<usize>,
    logger: Option<BlockLogger>,
    machine: MachineSource,
    info: MachineInfo,
    /// Nodes without devices, by the number of their scope, and the machine's I/O among them.
    sharing: Vec<usize>,
    shared_io: SharedIo,
    caused: CausedQueue,
    options: NodesOptions,
    deadlines: Deadlines,
    start: Ns,
    start_unix_ns: u64,
    cpu_before: Ns,
    load: MachineLoad,
}

impl Sampler {
    fn prepare(options: &NodesOptions, root: &Path) -> Result<(Self, Vec<String>), CaptureError> {
        let cpu_before = own_cpu();
        let info = machine_info::machine_info(root);
        let mut machine = MachineSource::open(root)?;
        machine.count_no_command();
        let mut scopes = Vec::new();
        for scope in &options.scopes {
            scopes.push(ScopeCapture::open(scope, options, &info, &mut machine, root)?);
        }
        check_apart(&scopes)?;
        let sharing = scopes.iter().enumerate();
        let sharing: Vec<usize> =
            sharing.filter(|(_, scope)| scope.is_sharing_disks()).map(|(at, _)| at).collect();
        let caused = CausedQueue::default();
        let (log_files, logs) = open_log(&mut scopes, &sharing, &caused, &info)?;

        let start_unix_ns = unix_now();
        let start = monotonic();
        let first = machine.start(start)?;
        for scope in &mut scopes {
            let Ok(recording) = &mut scope.recording else { continue };
            recording.start(match &mut scope.source {
                ScopeSource::Machine => first.clone(),
                ScopeSource::Node(node) => node.start(&first),
            })?;
        }
        let logger = logs.map(|(source, routes)| BlockLogger::start(source, routes, start));
        let logger = logger
            .transpose()
            .map_err(|source| CaptureError::System { what: "the block log".to_owned(), source })?;
        let shared_io = SharedIo::new(physical(&info), sharing.len());
        let warnings = grouped(&scopes);
        let deadlines = Deadlines::new(options.interval_ns, options.phase_unix_ns, unix_now());
        let options = options.clone();
        let sampler = Self {
            scopes,
            log_files,
            logger,
            machine,
            info,
            sharing,
            shared_io,
            caused,
            options,
            deadlines,
            start,
            start_unix_ns,
            cpu_before,
            load: MachineLoad::start(root, first),
        };
        Ok((sampler, warnings))
    }

    /// Takes samples until it is stopped; `None` if the capture was dropped.
    fn run(mut self, stopped: &Receiver<()>) -> Option<NodesOutcome> {
        loop {
            match stopped.recv_timeout(self.deadlines.wait(unix_now())) {
                Err(RecvTimeoutError::Timeout) => {
                    if self.deadlines.is_due(unix_now()) {
                        self.sample(monotonic());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Ok(()) => {
                    let now = monotonic();
                    let now = self.logger.as_ref().map_or(now, |logger| logger.end(now));
                    self.sample(now);
                    return Some(self.finish(now));
                }
            }
        }
    }

    /// Reads all counters and stores them.
    fn sample(&mut self, now: Ns) {
        let machine = match self.machine.totals(now) {
            Ok(machine) => machine,
            // The files have been read before: the machine is out of memory. The next sample has
            // the totals of both.
            Err(_) => return,
        };
        let mut totals: Vec<Sample> = Vec::new();
        for scope in &mut self.scopes {
            totals.push(match &mut scope.source {
                ScopeSource::Machine => machine.clone(),
                ScopeSource::Node(node) => node.totals(&machine),
            });
        }
        self.share_disks(&machine, &mut totals);
        let counted = self.machine.counted();
        for (scope, totals) in self.scopes.iter_mut().zip(totals) {
            let counted = match &mut scope.source {
                ScopeSource::Machine => counted,
                ScopeSource::Node(node) => node.counted(),
            };
            let Ok(recording) = &mut scope.recording else { continue };
            if let Err(error) = recording.push(totals, counted) {
                scope.fail(error.into());
            }
        }
        self.load.add(machine);
    }

    fn share_disks(&mut self, machine: &Sample, totals: &mut [Sample]) {
        if self.sharing.is_empty() {
            return;
        }
        let counted = |at: &usize| match &self.scopes[*at].source {
            ScopeSource::Machine => [Bytes::ZERO; 2],
            ScopeSource::Node(node) => node.counted_io(),
        };
        let counted: Vec<[Bytes; 2]> = self.sharing.iter().map(counted).collect();
        let nodes = self.shared_io.divide(machine, counted);
        for (number, at) in self.sharing.iter().enumerate() {
            totals[*at].disks = self.shared_io.disks(number);
        }
        if self.logger.is_some() {
            self.caused.push(CausedIo { end: machine.end(), nodes });
        }
    }

    fn finish(mut self, end: Ns) -> NodesOutcome {
        let results = self.logger.take().map(BlockLogger::finish).unwrap_or_default();
        let mut logs: Vec<Option<LogResult>> = Vec::new();
        logs.resize_with(self.scopes.len(), || None);
        for (at, result) in self.log_files.iter().zip(results) {
            logs[*at] = Some(result);
        }
        let disks = physical(&self.info);
        let machine = self.load.totals(&self.machine, self.info.memory, &disks);
        let capture_cpu = own_cpu().saturating_sub(self.cpu_before);
        let share = Ns(capture_cpu.0 / self.scopes.len().max(1) as u64);
        let traces = std::mem::take(&mut self.scopes).into_iter().zip(logs).map(|(scope, log)| {
            let manifest = |machine: MachineInfo| {
                let command = self.options.command.clone();
                let interval = Ns(self.options.interval_ns);
                let mut manifest = Manifest::new(command, interval, machine);
                manifest.start_unix_ns = self.start_unix_ns;
                manifest.duration = end - self.start;
                manifest.profile = self.options.profile.clone();
                manifest.capture_cpu = share;
                manifest
            };
            scope.finish(log, &self.machine, &self.info, manifest)
        });
        NodesOutcome { traces: traces.collect(), machine, capture_cpu }
    }
}

impl ScopeCapture {
    fn open(
        scope: &ScopeOptions,
        options: &NodesOptions,
        info: &MachineInfo,
        machine: &mut MachineSource,
        root: &Path,
    ) -> Result<Self, CaptureError> {
        let mut columns = Columns::all(ColumnKind::Measured, "");
        let mut observer = NoObserver;
        let mut problems =
            ProblemLog { observer: &mut observer, warnings: Vec::new(), unavailable: Vec::new() };
        let source = match scope {
            ScopeOptions::Machine(_) => {
                machine.describe(&mut columns, &options.profile, &mut problems);
                for column in &mut columns.activity {
                    if column.name.starts_with("command_") {
                        column.kind = ColumnKind::Missing;
                        "the capture started no command".clone_into(&mut column.how);
                    }
                }
                ScopeSource::Machine
            }
            ScopeOptions::Node(node) => {
                let has_counters = machine.has_hardware_counters();
                let mut counters = NodeCounters::open(root, node, info, has_counters)?;
                let clock = machine.clock();
                counters.describe(&mut columns, clock, &options.profile, &mut problems);
                ScopeSource::Node(Box::new(counters))
            }
        };
        let (warnings, unavailable) = (problems.warnings, problems.unavailable);
        let folder = TraceFolder::create(scope.out())?;
        Ok(Self {
            name: scope.name().to_owned(),
            folder: scope.out().clone(),
            source,
            recording: Ok(Recording::create(folder, columns, &options.profile)?),
            warnings,
            unavailable,
        })
    }

    fn node(&self) -> Option<&NodeCounters> {
        match &self.source {
            ScopeSource::Machine => None,
            ScopeSource::Node(node) => Some(node),
        }
    }

    fn is_sharing_disks(&self) -> bool {
        self.node().is_some_and(|node| node.devices.is_empty())
    }

    /// Ends the recording, which frees its space on the disk. The other scopes continue.
    fn fail(&mut self, error: CaptureError) {
        self.warnings.push(format!("its capture has ended: {error}"));
        self.recording = Err(error);
    }

    fn finish(
        mut self,
        log: Option<LogResult>,
        source: &MachineSource,
        info: &MachineInfo,
        manifest: impl FnOnce(MachineInfo) -> Manifest,
    ) -> ScopeOutcome {
        let recording = std::mem::replace(&mut self.recording, Err(ended()));
        let result = recording.and_then(|mut recording| {
            let mut manifest = match &mut self.source {
                ScopeSource::Machine => {
                    source.describe_scaled(&mut recording.columns);
                    manifest(info.clone())
                }
                ScopeSource::Node(node) => {
                    node.describe_scaled(&mut recording.columns);
                    let mut manifest = manifest(node.machine_info(info));
                    manifest.memory_limit = node.memory_limit;
                    manifest.scope.part = ScopePart::Node(node.scope.clone());
                    if node.has_hidden {
                        let what = "I/O of all processes of the node".to_owned();
                        let why = "a process runs as another user; root would see it".to_owned();
                        self.warnings.push(format!("no {what}: {why}"));
                        self.unavailable.push(Unavailable { what, why });
                    }
                    manifest
                }
            };
            manifest.scope.host = machine_info::boot_id(Path::new("/"));
            manifest.unavailable = std::mem::take(&mut self.unavailable);
            let folder;
            (folder, manifest.parts, manifest.block) = complete(recording, log)?;
            if let Some(lost) = manifest.block.map(|b| b.lost_events).filter(|lost| *lost > 0) {
                self.warnings.push(format!("the kernel lost {lost} block events"));
            }
            folder.commit(&manifest)?;
            Ok(manifest)
        });
        let (name, folder, warnings) = (self.name, self.folder, self.warnings);
        ScopeOutcome { name, folder, result, warnings }
    }
}

/// A placeholder: the recording is taken once.
fn ended() -> CaptureError {
    CaptureError::Option { option: "scope", why: "its capture has ended".to_owned() }
}

#[allow(clippy::type_complexity)]
fn complete(
    recording: Recording,
    log: Option<LogResult>,
) -> Result<(TraceFolder, Vec<TracePart>, Option<BlockLog>), TraceError> {
    let (folder, mut parts) = recording.finish()?;
    let block = log.transpose()?.map(|(part, block)| {
        parts.push(part);
        block
    });
    Ok((folder, parts, block))
}

/// Returns an error for two nodes that have something in common.
fn check_apart(scopes: &[ScopeCapture]) -> Result<(), CaptureError> {
    let scope = |scope: &ScopeCapture| {
        let part = ScopePart::Node(scope.node()?.scope.clone());
        Some(Scope { host: Some(String::new()), part })
    };
    for (at, one) in scopes.iter().enumerate() {
        for other in &scopes[..at] {
            let (Some(a), Some(b)) = (scope(other), scope(one)) else { continue };
            if let Some(common) = a.overlap(&b) {
                let (one, other) = (other.name.clone(), one.name.clone());
                return Err(CaptureError::OverlappingScopes { one, other, common });
            }
        }
    }
    Ok(())
}

type OpenLog = (Box<dyn block::EventSource>, Vec<BlockRoute>);

/// Opens the block log and a file for each scope. Returns the number of the scope that each file is
/// of, in the order in which the log completes them; without a log `None`, and each scope states
/// it.
fn open_log(
    scopes: &mut [ScopeCapture],
    sharing: &[usize],
    caused: &CausedQueue,
    info: &MachineInfo,
) -> Result<(Vec<usize>, Option<OpenLog>), CaptureError> {
    let shared = physical(info);
    let devices_of = |scope: &ScopeCapture| match &scope.source {
        ScopeSource::Machine => None,
        ScopeSource::Node(node) if node.devices.is_empty() => Some(shared.clone()),
        ScopeSource::Node(node) => Some(node.devices.clone()),
    };
    let devices: Vec<Option<Vec<u32>>> = scopes.iter().map(devices_of).collect();
    let all = BlockRoute::all_devices(devices.iter().map(Option::as_deref));
    let source = match block::open(all.as_deref()) {
        Ok(source) => source,
        Err(why) => {
            for scope in scopes {
                scope.warnings.push(format!("no {BLOCK_LOG}: {why}"));
                let what = BLOCK_LOG.to_owned();
                scope.unavailable.push(Unavailable { what, why: why.clone() });
            }
            return Ok((Vec::new(), None));
        }
    };
    let (mut files, mut routes, mut writers) = (Vec::new(), Vec::new(), Vec::new());
    for (at, scope) in scopes.iter_mut().enumerate() {
        let Ok(recording) = &mut scope.recording else { continue };
        let is_shared = sharing.contains(&at);
        for column in &mut recording.columns.block {
            source.how().clone_into(&mut column.how);
            if is_shared {
                column.kind = ColumnKind::Scaled;
                column.how.push_str(", shared out by the bytes in /proc/PID/io");
            }
        }
        let writer = recording.block_writer()?;
        if is_shared {
            writers.push(writer);
        } else {
            routes.push(BlockRoute::new(devices[at].clone(), writer));
            files.push(at);
        }
    }
    if !writers.is_empty() {
        routes.push(BlockRoute::shared(shared, writers, caused.clone()));
        files.extend(sharing);
    }
    Ok((files, Some((source, routes))))
}

/// Devices that are made of no others; all devices, if the machine shows none of these.
fn physical(info: &MachineInfo) -> Vec<u32> {
    let of = |is_virtual| {
        let disks = info.disks.iter().filter(move |disk| disk.is_virtual == is_virtual);
        disks.map(|disk| disk.device).collect::<Vec<u32>>()
    };
    let found = of(false);
    if found.is_empty() { of(true) } else { found }
}

/// The warnings of all scopes, each once with the names of its scopes.
fn grouped(scopes: &[ScopeCapture]) -> Vec<String> {
    let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
    for scope in scopes {
        for text in &scope.warnings {
            match texts.iter_mut().find(|(known, _)| known == text) {
                Some((_, names)) => names.push(&scope.name),
                None => texts.push((text, vec![&scope.name])),
            }
        }
    }
    texts.into_iter().map(|(text, names)| format!("{}: {text}", names.join(", "))).collect()
}

/// The wall clock in nanoseconds since 1970.
fn unix_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
