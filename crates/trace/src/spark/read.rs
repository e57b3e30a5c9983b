//! Reads the events of a log, one line each, and makes executors, stages and tasks of them.

use super::error::EventLogError;
use super::events::{
    ApplicationEnd, ApplicationStart, EnvironmentUpdate, EventName, ExecutorAdded, ExecutorRemoved,
    JobEnd, JobStart, LogStart, QueryPlanEvent, StageEvent, StageExecutorMetrics, StageInfo,
    TaskEnd, TaskInfo, TaskMetrics, TaskStart,
};
use super::files::{LogFiles, codec};
use super::log::EventLog;
use super::model::{
    CachedRdd, Executor, FIGURES, Stage, StageStatus, StageTotals, Task, TaskFigures, TaskStatus,
};
use super::stage_name::{QueryPlan, StageOperators};
use crate::formats::{FormatError, open_input, sizes};
use gordon_units::{Bytes, Ns, Progress};
use serde::Deserialize;
use serde::de::Error as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, ErrorKind, Read as _};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The longest line; the plan of a query may have some megabytes.
const LONGEST: u64 = 1 << 28;
/// Distinct names of ignored events; further ones are counted as `others`.
const NAMES: usize = 256;
/// The largest sum of the amounts of tasks. Totals below it do not overflow.
const LARGEST: u64 = 1 << 62;
/// Bytes of the longest magic number of a compression.
const MAGIC: usize = 8;
/// Events with the plan of a SQL query, and with what adaptive execution makes of it.
const QUERY_START: &str = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart";
const QUERY_UPDATE: &str =
    "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate";
const HINT: &str = "a file or an eventlog_v2_APP folder of spark.eventLog.dir";

impl EventLog {
    /// Reads the log at `path`: a file, the folder of a rolled log, or a folder that holds one of
    /// either. With `skip_bad`, malformed lines are counted and left out. `progress` counts bytes
    /// of the files, before decompression, and can stop the reading.
    ///
    /// A last line or compressed block that is cut short, as a killed application leaves it, is a
    /// warning.
    ///
    /// # Errors
    /// When the log cannot be read, is malformed, or is not an event log.
    pub fn read(path: &Path, skip_bad: bool, progress: &Progress) -> Result<Self, EventLogError> {
        let found = LogFiles::of(path)?;
        let mut reader = Reader::default();
        reader.log.warnings = found.warnings;
        reader.log.reads_host_local_disk = true;
        progress.begin(sizes(&found.files));
        for file in &found.files {
            reader.file(file, skip_bad, progress)?;
        }
        if reader.log.events == 0 {
            let why = "it is empty".to_owned();
            return Err(EventLogError::NotEventLog { path: path.to_owned(), why, hint: HINT });
        }
        reader.finish(path)
    }
}

/// Events that have been read so far.
#[derive(Default)]
struct Reader {
    log: EventLog,
    names: HashMap<String, u32>,
    /// Indices of executors by their identifiers.
    executors: HashMap<String, usize>,
    stages: BTreeMap<(u32, u32), Stage>,
    /// Jobs of each stage.
    jobs: BTreeMap<u32, Vec<u32>>,
    failed_jobs: u64,
    /// Operators of the stages that SQL queries need.
    operators: BTreeMap<(u32, u32), StageOperators>,
    /// Plans by the number of the query.
    plans: BTreeMap<u64, QueryPlan>,
    /// Tasks that have started and not ended.
    running: BTreeMap<u64, Task>,
    /// Tasks that have ended. The event of a start may follow that of the end.
    ended: HashSet<u64>,
    /// Number of end events of tasks that had ended already.
    repeated_ends: u64,
    has_start: bool,
    /// Indices of the tasks whose figures have no CPU time.
    without_cpu: Vec<usize>,
    /// Whether a task of a later attempt of its stage has no partition, but only its number in the
    /// attempt.
    lacks_partitions: bool,
    /// Tasks whose output was lost with their executor, and that are repeated.
    resubmitted: u64,
    /// The sum of the largest amount of each task.
    amounts: u64,
}

/// How a line was used.
enum Line {
    Read,
    Ignored(String),
    SecondApplication,
}

impl Reader {
    fn file(
        &mut self,
        path: &Path,
        skip_bad: bool,
        progress: &Progress,
    ) -> Result<(), EventLogError> {
        let mut number = 0;
        let failed = |line, source| EventLogError::Read { path: path.to_owned(), line, source };
        let mut input = match open_input(path) {
            Ok(input) => input,
            // A compressed file to which nothing was written.
            Err(FormatError::Read { source, .. })
                if source.kind() == ErrorKind::UnexpectedEof && self.log.events > 0 =>
            {
                self.cut_short(path, 0);
                return Ok(());
            }
            Err(FormatError::Open { path, source }) => {
                return Err(EventLogError::Open { path, source });
            }
            Err(FormatError::Read { source, .. }) => return Err(failed(0, source)),
            Err(other) => return Err(failed(0, std::io::Error::other(other.to_string()))),
        };
        // A read error occurs again below.
        let _ = input.want(MAGIC);
        if let Some((codec, hint)) = codec(input.bytes()) {
            return Err(EventLogError::Compression { path: path.to_owned(), codec, hint });
        }
        let (bytes, mut reported) = (input.bytes_read(), 0);
        let mut lines = BufReader::with_capacity(1 << 16, input.into_reader());
        let mut line = Vec::new();
        loop {
            if progress.stopped() {
                return Err(EventLogError::Stopped);
            }
            let read = bytes.load(Ordering::Relaxed);
            progress.step(read - std::mem::replace(&mut reported, read));
            line.clear();
            let got = lines.by_ref().take(LONGEST).read_until(b'\n', &mut line);
            match got {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && self.log.events > 0 => {
                    self.cut_short(path, number);
                    return Ok(());
                }
                Err(error) => return Err(failed(number, error)),
            }
            number += 1;
            let is_whole = line.last() == Some(&b'\n');
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            match self.line(text, is_whole) {
                Ok(Line::Read) => self.log.events += 1,
                Ok(Line::Ignored(name)) => {
                    self.log.events += 1;
                    self.ignore(name);
                }
                // Not a malformed line: without it, the work of both would be that of one.
                Ok(Line::SecondApplication) => {
                    let (path, line) = (path.to_owned(), number);
                    return Err(EventLogError::SecondApplication { path, line });
                }
                Err(error) if self.log.events == 0 => {
                    let why = match error.is_eof() {
                        true => "its first line is cut short".to_owned(),
                        false => format!("its first line is not an event: {error}"),
                    };
                    let (path, hint) = (path.to_owned(), HINT);
                    return Err(EventLogError::NotEventLog { path, why, hint });
                }
                Err(_) if !is_whole => {
                    self.cut_short(path, number - 1);
                    return Ok(());
                }
                Err(_) if skip_bad => self.log.skipped += 1,
                Err(error) => {
                    // The line of the event is that of the log; serde_json counts within it.
                    let why = error.to_string().replace(" at line 1 column ", " at column ");
                    let (path, line) = (path.to_owned(), number);
                    return Err(EventLogError::Bad { path, line, why });
                }
            }
        }
    }

    fn cut_short(&mut self, path: &Path, lines: u64) {
        self.log.is_cut_short = true;
        self.log.warnings.push(format!(
            "truncated: {} ends within an event after line {lines}; the application or the copy \
             was cut short",
            path.display()
        ));
    }

    fn ignore(&mut self, name: String) {
        let ignored = &mut self.log.ignored;
        let is_new = !ignored.contains_key(&name) && ignored.len() >= NAMES;
        *ignored.entry(if is_new { "others".to_owned() } else { name }).or_default() += 1;
    }

    /// Takes one event. A line without its end is parsed whole, because it may be cut short.
    fn line(&mut self, text: &[u8], is_whole: bool) -> Result<Line, serde_json::Error> {
        let quick = quick_name(text).filter(|_| is_whole);
        let name = match quick {
            Some(name) => name.to_owned(),
            None => serde_json::from_slice::<EventName<'_>>(text)?.name.into_owned(),
        };
        match name.as_str() {
            "SparkListenerLogStart" => {
                let event: LogStart = parse(text)?;
                self.log.version = event.version;
            }
            "SparkListenerApplicationStart" if self.has_start => {
                return Ok(Line::SecondApplication);
            }
            "SparkListenerApplicationStart" => self.application(parse(text)?),
            "SparkListenerApplicationEnd" => {
                let event: ApplicationEnd = parse(text)?;
                let end = self.at(event.timestamp);
                self.log.end = Some(end);
            }
            "SparkListenerEnvironmentUpdate" => {
                let EnvironmentUpdate { properties, hadoop } = parse(text)?;
                self.log.reads_host_local_disk = properties.reads_host_local_disk();
                self.log.accelerators = properties.accelerators();
                self.log.settings = properties.settings(&hadoop);
            }
            "SparkListenerExecutorAdded" => self.executor_added(parse(text)?),
            "SparkListenerExecutorRemoved" => self.executor_removed(parse(text)?),
            "SparkListenerStageExecutorMetrics" => {
                let event: StageExecutorMetrics = parse(text)?;
                if let Some(&index) = self.executors.get(&event.id) {
                    let executor = &mut self.log.executors[index];
                    executor.peak_memory = executor.peak_memory.max(Bytes(event.metrics.peak()));
                }
            }
            "SparkListenerJobStart" => {
                let JobStart { id, stages } = parse(text)?;
                for stage in stages {
                    self.jobs.entry(stage).or_default().push(id);
                }
            }
            "SparkListenerJobEnd" => {
                let event: JobEnd = parse(text)?;
                self.failed_jobs += u64::from(event.result.name == "JobFailed");
            }
            "SparkListenerStageSubmitted" => {
                let StageEvent { info, properties } = parse(text)?;
                if let Some(properties) = properties
                    && let Some(query) = properties.query.and_then(|query| query.parse().ok())
                {
                    let scope = properties.scope.as_deref();
                    let operators = StageOperators::new(query, &info.rdds, scope);
                    self.operators.insert((info.id, info.attempt), operators);
                }
                self.stage_info(info);
            }
            "SparkListenerStageCompleted" => {
                let StageEvent { info, .. } = parse(text)?;
                let is_failed = info.failure.is_some();
                let stage = self.stage_info(info);
                stage.status = if is_failed { StageStatus::Failed } else { StageStatus::Complete };
            }
            "SparkListenerTaskStart" => {
                let TaskStart { stage, attempt, info } = parse(text)?;
                let task = self.task(stage, attempt, &info);
                if !self.ended.contains(&task.id) {
                    self.running.insert(task.id, task);
                }
            }
            "SparkListenerTaskEnd" => self.task_end(parse(text)?)?,
            QUERY_START | QUERY_UPDATE => match parse::<QueryPlanEvent>(text) {
                Ok(event) => {
                    let plan = self.plans.entry(event.execution_id).or_default();
                    plan.add(&event.spark_plan_info);
                }
                // The plan is too deep, or of another version. Stages are then named without it.
                Err(_) => return Ok(Line::Ignored(name)),
            },
            _ => return Ok(Line::Ignored(name)),
        }
        Ok(Line::Read)
    }

    /// A time in milliseconds since 1970.
    fn at(&mut self, millis: u64) -> Ns {
        let at = Ns(millis.saturating_mul(1_000_000));
        self.log.last = self.log.last.max(at);
        at
    }

    fn application(&mut self, event: ApplicationStart) {
        self.has_start = true;
        self.log.start = self.at(event.timestamp);
        self.log.name = event.name;
        self.log.id = event.id.unwrap_or_default();
    }

    fn executor_added(&mut self, event: ExecutorAdded) {
        let executor = Executor {
            added: self.at(event.timestamp),
            host: event.info.host,
            cores: event.info.cores,
            removed: None,
            reason: String::new(),
            peak_memory: Bytes(0),
            id: event.id,
        };
        self.executors.insert(executor.id.clone(), self.log.executors.len());
        self.log.executors.push(executor);
    }

    fn executor_removed(&mut self, event: ExecutorRemoved) {
        let at = self.at(event.timestamp);
        if let Some(&index) = self.executors.get(&event.id) {
            let executor = &mut self.log.executors[index];
            executor.removed = Some(at);
            executor.reason = event.reason;
        }
    }

    /// The stage of an event, with what the event adds.
    fn stage_info(&mut self, info: StageInfo) -> &mut Stage {
        let submitted = info.submitted.map(|at| self.at(at));
        let ended = info.ended.map(|at| self.at(at));
        let stage = self.stage(info.id, info.attempt);
        stage.spark_name = info.name;
        stage.partitions = info.tasks;
        stage.parents = info.parents;
        stage.cached = info
            .rdds
            .iter()
            .filter(|rdd| rdd.level.in_memory)
            .map(|rdd| CachedRdd { id: rdd.id, moves_to_disk: rdd.level.on_disk })
            .collect();
        stage.submitted = submitted.or(stage.submitted);
        stage.ended = ended.or(stage.ended);
        stage
    }

    fn stage(&mut self, id: u32, attempt: u32) -> &mut Stage {
        self.stages.entry((id, attempt)).or_insert_with(|| Stage {
            id,
            attempt,
            name: String::new(),
            spark_name: String::new(),
            status: StageStatus::Unfinished,
            submitted: None,
            started: None,
            ended: None,
            partitions: 0,
            parents: Vec::new(),
            cached: Vec::new(),
            jobs: Vec::new(),
            totals: StageTotals::default(),
        })
    }

    fn name(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.names.get(text) {
            return known;
        }
        let index = u32::try_from(self.log.names.len()).expect("names are fewer than tasks");
        self.log.names.push(text.to_owned());
        self.names.insert(text.to_owned(), index);
        index
    }

    /// A task that has not ended.
    fn task(&mut self, stage: u32, stage_attempt: u32, info: &TaskInfo) -> Task {
        let started = self.at(info.launched);
        if !self.executors.contains_key(&info.executor) {
            // The event of its start is missing, and with it the number of its cores.
            self.executors.insert(info.executor.clone(), self.log.executors.len());
            self.log.executors.push(Executor {
                id: info.executor.clone(),
                host: info.host.clone(),
                cores: 0,
                added: started,
                removed: None,
                reason: String::new(),
                peak_memory: Bytes(0),
            });
        }
        self.stage(stage, stage_attempt);
        self.lacks_partitions |= stage_attempt > 0 && info.partition().is_none();
        Task {
            id: info.id,
            stage,
            stage_attempt,
            partition: info.partition().unwrap_or(info.index),
            attempt: info.attempt,
            executor: self.name(&info.executor),
            host: self.name(&info.host),
            locality: self.name(&info.locality),
            status: TaskStatus::Unfinished,
            reason: self.name(""),
            is_speculative: info.is_speculative,
            started,
            ended: None,
            figures: None,
        }
    }

    fn task_end(&mut self, event: TaskEnd) -> Result<(), serde_json::Error> {
        let TaskEnd { stage, attempt, reason, info, executor, metrics } = event;
        let found = metrics.as_ref().map(figures);
        let largest = found.iter().flat_map(|found| FIGURES.map(|(_, of)| of(found))).max();
        let amounts = self.amounts.saturating_add(largest.unwrap_or(0));
        if amounts > LARGEST {
            return Err(serde_json::Error::custom("an amount of the task is impossible"));
        }
        self.amounts = amounts;
        // A second end of a task that had succeeded: its executor was lost with its output.
        if reason.reason == "Resubmitted" {
            self.resubmitted += 1;
            return Ok(());
        }
        if !self.ended.insert(info.id) {
            self.repeated_ends += 1;
            return Ok(());
        }
        let mut task = self.task(stage, attempt, &info);
        self.running.remove(&task.id);
        task.ended = (info.finished > 0).then(|| self.at(info.finished).max(task.started));
        task.status = match reason.reason.as_str() {
            "Success" => TaskStatus::Success,
            "TaskKilled" | "TaskCommitDenied" => TaskStatus::Killed,
            _ => TaskStatus::Failed,
        };
        task.reason = self.name(&reason.reason);
        task.figures = found;
        let has_cpu = metrics.as_ref().is_some_and(|metrics| metrics.cpu_ns.is_some());
        if metrics.is_some() && !has_cpu {
            self.without_cpu.push(self.log.tasks.len());
        }
        if let (Some(peaks), Some(&index)) = (executor, self.executors.get(&info.executor)) {
            let executor = &mut self.log.executors[index];
            executor.peak_memory = executor.peak_memory.max(Bytes(peaks.peak()));
        }
        self.log.tasks.push(task);
        Ok(())
    }

    /// Completes the log: sums of stages, and warnings.
    fn finish(mut self, path: &Path) -> Result<EventLog, EventLogError> {
        let unfinished = self.running.len();
        let mut log = self.log;
        log.estimate_cpu(&self.without_cpu);
        log.tasks.extend(std::mem::take(&mut self.running).into_values());
        if self.lacks_partitions {
            log.find_partitions(&self.stages);
        }
        let is_empty = self.stages.is_empty() && log.executors.is_empty();
        if !self.has_start && is_empty && log.version.is_empty() {
            let why = "it has no application, no executor and no stage".to_owned();
            return Err(EventLogError::NotEventLog { path: path.to_owned(), why, hint: HINT });
        }
        for task in &log.tasks {
            let stage = self.stages.get_mut(&(task.stage, task.stage_attempt));
            let stage = stage.expect("a task makes its stage");
            stage.started = Some(stage.started.map_or(task.started, |at| at.min(task.started)));
            let totals = &mut stage.totals;
            totals.tasks += 1;
            totals.failed += u32::from(task.status == TaskStatus::Failed);
            totals.killed += u32::from(task.status == TaskStatus::Killed);
            if let Some(figures) = &task.figures {
                totals.figures.add(figures);
            }
        }
        let mut stages: Vec<Stage> = self.stages.into_values().collect();
        for stage in &mut stages {
            stage.jobs = self.jobs.get(&stage.id).cloned().unwrap_or_default();
            let figures = &stage.totals.figures;
            let has_shuffled = figures.shuffle_write.0 > 0 || figures.shuffle_write_time.0 > 0;
            // A stage that has not ended may write shuffle data yet.
            let has_shuffled = has_shuffled || stage.status != StageStatus::Complete;
            let operators = self.operators.get(&(stage.id, stage.attempt));
            let name = operators.and_then(|operators| {
                operators.stage_name(self.plans.get(&operators.query), has_shuffled)
            });
            stage.name = name.unwrap_or_else(|| stage.spark_name.clone());
        }
        stages.sort_by_key(|stage| (stage.submitted.or(stage.started), stage.id, stage.attempt));
        log.stages = stages;
        if !self.has_start {
            let added = log.executors.iter().map(|executor| executor.added);
            let times = log.stages.iter().filter_map(|stage| stage.submitted).chain(added);
            log.start = times.min().unwrap_or(log.last);
            log.warnings.push(
                "start: the log does not have the start of the application; times count from its \
                 first event"
                    .into(),
            );
        }
        let mut warn = |count: u64, text: String| {
            if count > 0 {
                log.warnings.push(text);
            }
        };
        warn(
            u64::from(log.end.is_none()),
            "end: the log does not have the end of the application, which was killed or still runs"
                .into(),
        );
        warn(
            self.failed_jobs,
            format!(
                "failed: {} failed, and the log does not have what was left to do",
                counted(self.failed_jobs, "job")
            ),
        );
        warn(log.skipped, format!("skipped: {} malformed lines, left out", log.skipped));
        warn(
            self.repeated_ends,
            format!(
                "repeated: {} of tasks that had ended already, left out",
                counted(self.repeated_ends, "end")
            ),
        );
        warn(
            unfinished as u64,
            format!(
                "unfinished: {} without an end; what {} used is unknown",
                counted(unfinished as u64, "task"),
                if unfinished == 1 { "it" } else { "they" }
            ),
        );
        let unknown = log.tasks.iter().filter(|t| t.ended.is_some() && t.figures.is_none()).count();
        warn(
            unknown as u64,
            format!(
                "figures: {} of lost executors ended without figures",
                counted(unknown as u64, "task")
            ),
        );
        warn(
            self.resubmitted,
            format!(
                "resubmitted: the output of {} was lost with the executors and computed again",
                counted(self.resubmitted, "task")
            ),
        );
        Ok(log)
    }
}

/// `1 task`, `2 tasks`.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The name of an event that Spark wrote, which comes first and has no escapes.
fn quick_name(text: &[u8]) -> Option<&str> {
    let rest = text.strip_prefix(b"{\"Event\":\"")?;
    let name = &rest[..memchr::memchr2(b'"', b'\\', rest)?];
    let is_end = rest.get(name.len()) == Some(&b'"') && text.last() == Some(&b'}');
    std::str::from_utf8(name).ok().filter(|_| is_end)
}

/// Parses an event, and checks that nothing follows it.
fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text)
}

fn figures(metrics: &TaskMetrics) -> TaskFigures {
    let ms = |millis: u64| Ns(millis.saturating_mul(1_000_000));
    TaskFigures {
        cpu: Ns(metrics.cpu_ns.unwrap_or_default().0.saturating_add(metrics.deserialize_cpu_ns.0)),
        run: ms(metrics.run_ms.0),
        deserialize: ms(metrics.deserialize_ms.0),
        gc: ms(metrics.gc_ms.0),
        fetch_wait: ms(metrics.shuffle_read.wait_ms.0),
        shuffle_write_time: Ns(metrics.shuffle_write.time_ns.0),
        input: Bytes(metrics.input.bytes.0),
        output: Bytes(metrics.output.bytes.0),
        shuffle_local: Bytes(metrics.shuffle_read.local.0),
        shuffle_remote: Bytes(metrics.shuffle_read.remote.0),
        shuffle_to_disk: Bytes(metrics.shuffle_read.remote_to_disk.0),
        shuffle_write: Bytes(metrics.shuffle_write.bytes.0),
        spill_memory: Bytes(metrics.memory_spilled.0),
        spill_disk: Bytes(metrics.disk_spilled.0),
        result: Bytes(metrics.result_size.0),
        peak_memory: Bytes(metrics.peak_memory.0),
    }
}
