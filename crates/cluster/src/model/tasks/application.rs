//! An application as it was recorded: its stages in the order of their submission, what each waited
//! for, and the successful task of each partition.
//!
//! A stage waits for its parents. If none of them had run, or something else ended between them and
//! the stage, it waits for the stage that ended last before it was submitted, too: the program did
//! not submit it earlier. The time from there to its submission is the driver's.

use super::cached::{Block, CachedBlocks};
use super::slots::{Concurrency, slots_by_executor, turnaround};
use super::warm_up::First;
use gordon_trace::spark::{EventLog, Settings, Stage, StageStatus, Task, TaskFigures, TaskStatus};
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Seconds within which a stage follows its parents at once.
pub(super) const AT_ONCE: f64 = 0.05;
/// Mean delay of an executor after the first one, as a share of the time in which that one starts:
/// the last of two, and of four, started 4 and 7 % of this time later on local nodes of 0.2 to 0.8
/// cores (docs/validation/cluster.md).
const MEAN_DELAY: f64 = 0.055;
/// What the two times of a task in milliseconds may be too short by.
const ROUNDING: Ns = Ns(2_000_000);

/// A recorded application. Times are seconds after its start.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its length.
    pub duration: f64,
    /// When its first executor had started; 0 if executors were there before. A part of a log
    /// begins once they are: `gordon workload run` waits for them, on any cluster.
    pub startup: f64,
    /// Stages that ran, by submission.
    pub stages: Vec<AppStage>,
    /// The tasks of all stages.
    pub tasks: Vec<AppTask>,
    /// Seconds of the driver after the last stage.
    pub tail: f64,
    /// Bytes that all nodes write back after the last stage, before the application has ended.
    pub written_back: f64,
    /// The executors that ran it.
    pub executors: Executors,
    /// Seconds between the end of a task and the start of the next one in its slot.
    pub turnaround: f64,
    /// The settings of its executors.
    pub settings: Settings,
    /// The blocks that it cached in memory.
    pub cached: Vec<CachedBlocks>,
    /// The most bytes of shuffle data that a stage wrote.
    pub most_shuffled: f64,
    /// Tasks whose recorded CPU time was above their time, which is taken instead.
    pub capped: usize,
    /// Accelerators that it may have used, whose work the log does not have.
    pub accelerators: Vec<String>,
    /// Numbers of stages that never succeeded: what they would have done is unknown.
    pub failed: Vec<u32>,
    /// Whether it is a stream, which waits for data.
    pub is_stream: bool,
    /// What is not simulated.
    pub left_out: LeftOut,
}

/// The executors that ran an application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executors {
    /// Number of executors.
    pub count: u32,
    /// Number of hosts that ran a task.
    pub hosts: u32,
    /// Tasks that an executor runs at a time; the median.
    pub slots: u32,
    /// The most executors of a host.
    pub per_host: u32,
    /// Seconds from the start of the first executor to that of each, ascending.
    pub delays: Vec<f64>,
    /// The same of executors that were not recorded, as a mean.
    pub mean_delay: f64,
    /// Whether their number follows the number of waiting tasks.
    pub is_dynamic: bool,
}

/// Attempts of tasks that are not simulated, because they would not be made again or have no
/// figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Failed ones.
    pub failed: u64,
    /// Killed ones, those that speculation made too many included.
    pub killed: u64,
    /// Ones without an end.
    pub unfinished: u64,
    /// Successful ones without figures.
    pub without_figures: u64,
    /// Successful ones of a partition that had succeeded before.
    pub repeated: u64,
    /// Ones that ended before the time that is simulated.
    pub before: u64,
}

impl LeftOut {
    /// Why no task is left.
    pub(super) fn why_empty(self) -> String {
        let Self { failed, killed, unfinished, without_figures, before, .. } = self;
        if self == Self::default() {
            return "no task has started in it".into();
        }
        format!(
            "no task in it succeeded: {failed} failed, {killed} were killed, {unfinished} have no \
             end, {without_figures} have no figures, {before} ended before the run"
        )
    }

    /// What was left out, in words; `None` if nothing was.
    pub(super) fn note(self) -> Option<String> {
        let Self { failed, killed, unfinished, without_figures, repeated, .. } = self;
        let counts = [
            (failed, "failed"),
            (killed, "killed"),
            (unfinished, "without an end"),
            (without_figures, "without figures"),
            (repeated, "of a partition that had succeeded"),
        ];
        let words: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!words.is_empty())
            .then(|| format!("attempts of tasks that are not simulated: {}", words.join(", ")))
    }
}

/// A stage that ran.
#[derive(Clone, Debug, Default)]
pub struct AppStage {
    /// Spark's number.
    pub id: u32,
    /// What it does.
    pub name: String,
    /// When it was submitted.
    pub submitted: f64,
    /// When it ended.
    pub ended: f64,
    /// Indices of the stages that it waits for.
    pub after: Vec<usize>,
    /// Indices of the stages that wait for it.
    pub before: Vec<usize>,
    /// Whether it also waits for the first executor.
    pub after_startup: bool,
    /// Seconds from its submission, and the start of the first executor, to its first task, in
    /// which no task ran.
    pub waited: f64,
    /// Seconds of the driver between what it waits for and its submission, and `waited`.
    pub driver: f64,
    /// Its tasks, in the order of their starts.
    pub tasks: std::ops::Range<usize>,
    /// Number of its partitions.
    pub partitions: u32,
    /// Whether it reads shuffle data.
    pub is_shuffled: bool,
    /// Indices of the stages whose shuffle data it reads.
    pub reads: Vec<usize>,
    /// Index of the cached blocks that it reads.
    pub cached: Option<usize>,
    /// Of each of its tasks: the place, among the tasks of the stage that made the cached blocks,
    /// of the one that made its block. Nothing if that is not known of each.
    pub blocks: Vec<u32>,
}

/// A successful task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AppTask {
    /// When it started.
    pub started: f64,
    /// Seconds from its start to its end, as the driver saw them.
    pub wall: f64,
    /// Seconds of `wall` that are neither of its run nor of its deserialisation.
    pub scheduling: f64,
    /// CPU seconds of its thread.
    pub cpu: f64,
    /// Seconds in which garbage was collected.
    pub gc: f64,
    /// Seconds in which it waited for shuffle data.
    pub fetch: f64,
    /// Mean number of tasks that ran on its host meanwhile, itself included.
    pub concurrent: f64,
    /// Whether it was the first task of its slot.
    pub first: First,
    /// Its partition.
    pub partition: u32,
    /// Whether it found the cached block that it reads.
    pub block: Block,
    /// Bytes read of files and of cached data.
    pub input: f64,
    /// Shuffle bytes read.
    pub shuffled: f64,
    /// The part of `shuffled` that came from other hosts.
    pub remote: f64,
    /// Bytes written to files.
    pub output: f64,
    /// Bytes written as shuffle data.
    pub shuffle_written: f64,
    /// Bytes that it spilled, as they were in memory.
    pub spilled: f64,
    /// Bytes that it spilled, as they were written.
    pub spilled_disk: f64,
    /// The peak of its execution memory in bytes.
    pub peak: f64,
}

/// The time that is simulated: from `start` to `end` since 1970, with executors that were there.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its start.
    pub start: Ns,
    /// Its end.
    pub end: Ns,
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn bytes(amount: Bytes) -> f64 {
    amount.0 as f64
}

impl Application {
    /// The application of `log`, or its part in `window`.
    pub fn of(log: &EventLog, window: Option<Window>) -> Self {
        let start = window.map_or(log.start, |window| window.start);
        let end = window.map_or(log.start + log.duration(), |window| window.end);
        let clock = Clock(start);
        let mut kept = Kept::of(log, start);
        kept.find_first(log);
        let concurrent = Concurrency::of(kept.tasks.iter().map(|index| &log.tasks[*index]));
        let added = log.executors.iter().map(|executor| clock.secs(executor.added));
        let first = added.fold(f64::INFINITY, f64::min);
        let mut application = Self {
            name: log.name.clone(),
            duration: clock.secs(end),
            startup: if first.is_finite() { first.max(0.0) } else { 0.0 },
            executors: Executors::of(log, &kept, start),
            turnaround: turnaround(log),
            settings: log.settings.clone(),
            capped: kept.tasks.iter().filter(|index| is_above(&log.tasks[**index])).count(),
            accelerators: log.accelerators.clone(),
            failed: failed_stages(log, start),
            is_stream: log.ignored.keys().any(|event| is_of_stream(event)),
            left_out: kept.left_out,
            ..Self::default()
        };
        application.add_stages(log, &kept, &concurrent, clock);
        application.find_waiting(log, clock);
        application.executors.mean_delay = MEAN_DELAY * application.startup;
        application.find_predecessors(log);
        let last = application.stages.iter().map(|stage| stage.ended).fold(0.0, f64::max);
        application.find_cached(log);
        application.most_shuffled = application.written_by_stages();
        application.tail = (application.duration - last.max(application.startup)).max(0.0);
        application
    }

    /// Seconds of the driver in which no stage ran.
    pub fn driver_time(&self) -> f64 {
        let mut spans: Vec<(f64, f64)> =
            self.stages.iter().map(|stage| (stage.submitted + stage.waited, stage.ended)).collect();
        spans.push((0.0, self.startup));
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut covered, mut until) = (0.0, 0.0);
        for (from, to) in spans {
            covered += (to - from.max(until)).max(0.0);
            until = to.max(until);
        }
        (self.duration - covered).max(0.0)
    }

    /// Nodes that kept each byte of its output.
    pub(super) fn recorded_replicas(&self) -> u32 {
        self.settings.output_replicas.min(self.executors.hosts).max(1)
    }

    /// The most bytes of shuffle data that a stage wrote.
    fn written_by_stages(&self) -> f64 {
        let of_stage = |stage: &AppStage| {
            self.tasks[stage.tasks.clone()].iter().map(|task| task.shuffle_written).sum()
        };
        self.stages.iter().map(of_stage).fold(0.0, f64::max)
    }

    /// All but the tasks.
    pub(super) fn without_tasks(&self) -> Self {
        Self {
            name: self.name.clone(),
            executors: self.executors.clone(),
            settings: self.settings.clone(),
            accelerators: self.accelerators.clone(),
            failed: self.failed.clone(),
            cached: self.cached.clone(),
            stages: Vec::new(),
            tasks: Vec::new(),
            ..*self
        }
    }

    fn add_stages(&mut self, log: &EventLog, kept: &Kept, concurrent: &Concurrency, clock: Clock) {
        let mut stages: BTreeMap<u32, (Vec<&Stage>, Vec<usize>)> = BTreeMap::new();
        for stage in &log.stages {
            stages.entry(stage.id).or_default().0.push(stage);
        }
        for index in &kept.tasks {
            stages.entry(log.tasks[*index].stage).or_default().1.push(*index);
        }
        for (id, (attempts, mut indices)) in stages {
            if indices.is_empty() {
                continue;
            }
            indices.sort_by_key(|index| (log.tasks[*index].started, log.tasks[*index].id));
            let from = self.tasks.len();
            for index in &indices {
                let task = &log.tasks[*index];
                self.tasks.push(AppTask {
                    concurrent: concurrent.of_task(task),
                    first: kept.first.get(index).copied().unwrap_or_default(),
                    started: clock.secs(task.started),
                    ..AppTask::of(task)
                });
            }
            let tasks = indices.iter().map(|index| &log.tasks[*index]);
            let started = tasks.clone().map(|task| task.started).min().unwrap_or_default();
            let ended = tasks.filter_map(|task| task.ended).max().unwrap_or_default();
            let submitted = attempts.iter().filter_map(|stage| stage.submitted).min();
            let completed = attempts.iter().filter_map(|stage| stage.ended).max();
            let submitted = clock.secs(submitted.unwrap_or(started).min(started)).max(0.0);
            self.stages.push(AppStage {
                id,
                name: attempts.first().map(|stage| stage.name.clone()).unwrap_or_default(),
                submitted,
                ended: clock.secs(completed.unwrap_or(ended).max(ended)).max(submitted),
                tasks: from..self.tasks.len(),
                partitions: attempts.iter().map(|stage| stage.partitions).max().unwrap_or(0),
                is_shuffled: self.tasks[from..].iter().any(|task| task.shuffled > 0.0),
                ..AppStage::default()
            });
        }
        self.stages.sort_by(|a, b| a.submitted.total_cmp(&b.submitted).then(a.id.cmp(&b.id)));
    }

    /// Finds how long stages waited for their first task while no task ran: for the first one, an
    /// executor that registers, loads plug-ins and only then takes tasks; for later ones the
    /// driver, or executors that were removed.
    fn find_waiting(&mut self, log: &EventLog, clock: Clock) {
        let mut tasks: Vec<(f64, f64)> = (log.tasks.iter())
            .map(|task| (clock.secs(task.started), clock.secs(task.ended.unwrap_or(task.started))))
            .collect();
        tasks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((first, _)) = tasks.first().copied() else { return };
        if self.stages.iter().any(|stage| stage.submitted < self.startup) {
            self.startup = self.startup.max(first);
        }
        let mut busy_until: Vec<f64> = Vec::with_capacity(tasks.len());
        for (_, ended) in &tasks {
            busy_until.push(busy_until.last().map_or(*ended, |before| before.max(*ended)));
        }
        for stage in &mut self.stages {
            let started = self.tasks[stage.tasks.clone()].iter().map(|task| task.started);
            let launched = started.fold(f64::INFINITY, f64::min);
            let before = tasks.partition_point(|(started, _)| *started < launched);
            let busy = if before > 0 { busy_until[before - 1] } else { 0.0 };
            let since = stage.submitted.max(self.startup).max(busy);
            stage.waited = (launched - since).max(0.0);
        }
    }

    fn find_predecessors(&mut self, log: &EventLog) {
        let by_id: HashMap<u32, usize> =
            self.stages.iter().enumerate().map(|(at, stage)| (stage.id, at)).collect();
        let parents: HashMap<u32, &[u32]> =
            log.stages.iter().map(|stage| (stage.id, stage.parents.as_slice())).collect();
        for at in 0..self.stages.len() {
            let submitted = self.stages[at].submitted;
            let ended = |other: usize| self.stages[other].ended;
            let has_ended = |other: &usize| *other < at && ended(*other) <= submitted + AT_ONCE;
            let parents = parents.get(&self.stages[at].id).copied().unwrap_or_default();
            let mut after: Vec<usize> =
                parents.iter().filter_map(|id| by_id.get(id).copied()).filter(has_ended).collect();
            let reads = after.clone();
            let last = |of: &[usize]| of.iter().map(|at| ended(*at)).fold(0.0, f64::max);
            if last(&after) + AT_ONCE < submitted {
                let others = (0..at).filter(has_ended);
                let latest = others.max_by(|a, b| ended(*a).total_cmp(&ended(*b)));
                after.extend(latest.filter(|latest| ended(*latest) > last(&after)));
            }
            let after_startup = after.is_empty() && self.startup <= submitted;
            let since = if after_startup { self.startup } else { last(&after) };
            let stage = &mut self.stages[at];
            stage.driver = (submitted - since).max(0.0) + stage.waited;
            stage.after_startup = after_startup;
            for other in &after {
                self.stages[*other].before.push(at);
            }
            (self.stages[at].after, self.stages[at].reads) = (after, reads);
        }
    }
}

impl AppTask {
    /// What a task's figures say of it.
    fn of(task: &Task) -> Self {
        let figures = task.figures.unwrap_or_default();
        let TaskFigures { run, deserialize, .. } = figures;
        let ended = task.ended.unwrap_or(task.started);
        // Clocks of driver and executor differ, so the sum may exceed what the driver saw.
        let ran = run + deserialize;
        let wall = ended.saturating_sub(task.started).max(ran);
        Self {
            started: 0.0,
            wall: wall.as_secs(),
            scheduling: wall.saturating_sub(ran).as_secs(),
            // A thread cannot compute for longer than it runs.
            cpu: figures.cpu.min(ran).as_secs(),
            gc: figures.gc.as_secs(),
            fetch: figures.fetch_wait.as_secs(),
            concurrent: 1.0,
            first: First::No,
            partition: task.partition,
            block: Block::No,
            input: bytes(figures.input),
            shuffled: bytes(figures.shuffle_local) + bytes(figures.shuffle_remote),
            remote: bytes(figures.shuffle_remote),
            output: bytes(figures.output),
            shuffle_written: bytes(figures.shuffle_write),
            spilled: bytes(figures.spill_memory),
            spilled_disk: bytes(figures.spill_disk),
            peak: bytes(figures.peak_memory),
        }
    }
}

impl AppStage {
    /// Number of its tasks.
    pub fn tasks_total(&self) -> u32 {
        count(self.tasks.len())
    }
}

impl Executors {
    /// Tasks that all of them run at a time.
    pub fn slots_total(&self) -> u32 {
        self.count.saturating_mul(self.slots).max(1)
    }

    /// Whether more than one was recorded, and so when each starts.
    pub fn are_several(&self) -> bool {
        self.delays.len() > 1
    }

    /// Seconds from the start of the first of `count` executors to that of the one with this
    /// number: as recorded, or, of dynamic allocation, after the second in which Spark asks for it
    /// (1, 2, 4, ... a second). If only one was recorded, they start as independent ones with
    /// exponential delays do.
    pub fn delay(&self, number: u32, count: u32) -> f64 {
        if self.is_dynamic {
            f64::from((number + 1).next_power_of_two().ilog2())
        } else if self.are_several() {
            self.delays[(number as usize).min(self.delays.len() - 1)]
        } else {
            -self.mean_delay * (-f64::from(number) / f64::from(count)).ln_1p()
        }
    }

    /// Executors that ran a task; the delays are those after `start`.
    fn of(log: &EventLog, kept: &Kept, start: Ns) -> Self {
        let used: Vec<&Task> = kept.tasks.iter().map(|index| &log.tasks[*index]).collect();
        let distinct = |of: fn(&Task) -> u32| {
            let mut all: Vec<u32> = used.iter().map(|task| of(task)).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let executors = distinct(|task| task.executor);
        let hosts = distinct(|task| task.host);
        let named: HashMap<&str, _> =
            log.executors.iter().map(|executor| (executor.id.as_str(), executor)).collect();
        let known: Vec<_> =
            executors.iter().filter_map(|index| named.get(log.text(*index)).copied()).collect();
        let cpus = log.settings.task_cpus.max(1);
        let mut slots: Vec<u32> =
            known.iter().map(|executor| executor.cores / cpus).filter(|slots| *slots > 0).collect();
        slots.sort_unstable();
        let mut per_host: BTreeMap<&str, u32> = BTreeMap::new();
        for executor in &known {
            *per_host.entry(&executor.host).or_default() += 1;
        }
        let added = known.iter().map(|executor| executor.added.max(start));
        let first = added.clone().min().unwrap_or_default();
        let mut delays: Vec<f64> = added.map(|at| (at - first).as_secs()).collect();
        delays.sort_by(f64::total_cmp);
        Self {
            count: count(executors.len()),
            hosts: count(hosts.len()).max(1),
            // Without executors in the log, they had as many slots as tasks that ran at a time.
            slots: slots.get(slots.len() / 2).copied().unwrap_or_else(|| most_at_a_time(&used)),
            per_host: per_host.values().copied().max().unwrap_or(1),
            delays,
            mean_delay: 0.0,
            is_dynamic: log.settings.is_dynamic && first > start,
        }
    }
}

/// The most tasks that an executor ran at a time; the median of the executors.
fn most_at_a_time(tasks: &[&Task]) -> u32 {
    let mut changes: BTreeMap<u32, Vec<(Ns, i32)>> = BTreeMap::new();
    for task in tasks {
        let of_executor = changes.entry(task.executor).or_default();
        of_executor.push((task.started, 1));
        of_executor.push((task.ended.unwrap_or(task.started), -1));
    }
    let most = |changes: &mut Vec<(Ns, i32)>| {
        // Ends come before starts of the same millisecond.
        changes.sort_unstable();
        let running = changes.iter().scan(0, |number, (_, change)| {
            *number += change;
            Some(*number)
        });
        running.max().unwrap_or(0)
    };
    let mut all: Vec<i32> = changes.values_mut().map(most).collect();
    all.sort_unstable();
    let middle = all.get(all.len() / 2).copied().unwrap_or(1);
    u32::try_from(middle).unwrap_or(1).max(1)
}

/// Numbers of the stages that ended after `start` and never succeeded.
fn failed_stages(log: &EventLog, start: Ns) -> Vec<u32> {
    let mut succeeded: BTreeMap<u32, bool> = BTreeMap::new();
    for stage in log.stages.iter().filter(|stage| stage.ended.is_some_and(|at| at > start)) {
        match stage.status {
            StageStatus::Complete => *succeeded.entry(stage.id).or_default() = true,
            StageStatus::Failed => _ = succeeded.entry(stage.id).or_default(),
            StageStatus::Unfinished => {}
        }
    }
    succeeded.into_iter().filter(|(_, succeeded)| !succeeded).map(|(id, _)| id).collect()
}

/// Whether an event is one of Spark's streams, structured or not.
fn is_of_stream(event: &str) -> bool {
    ["org.apache.spark.sql.streaming.", "org.apache.spark.streaming."]
        .iter()
        .any(|package| event.starts_with(package))
}

/// Whether the CPU time of a task is above its time.
fn is_above(task: &Task) -> bool {
    task.figures.is_some_and(|figures| figures.cpu > figures.run + figures.deserialize + ROUNDING)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Seconds after a time.
#[derive(Clone, Copy)]
struct Clock(Ns);

impl Clock {
    fn secs(self, at: Ns) -> f64 {
        match at >= self.0 {
            true => (at - self.0).as_secs(),
            false => -(self.0 - at).as_secs(),
        }
    }
}

/// The tasks that are simulated.
struct Kept {
    /// Indices in the log.
    tasks: Vec<usize>,
    /// Those that were the first of their slot.
    first: HashMap<usize, First>,
    left_out: LeftOut,
}

impl Kept {
    fn of(log: &EventLog, start: Ns) -> Self {
        let mut kept: HashMap<(u32, u32), usize> = HashMap::new();
        let mut left_out = LeftOut::default();
        for (index, task) in log.tasks.iter().enumerate() {
            let counter = match (task.status, task.figures) {
                (TaskStatus::Failed, _) => &mut left_out.failed,
                (TaskStatus::Killed, _) => &mut left_out.killed,
                (TaskStatus::Unfinished, _) => &mut left_out.unfinished,
                (TaskStatus::Success, None) => &mut left_out.without_figures,
                _ if task.ended.is_some_and(|ended| ended <= start) => &mut left_out.before,
                _ => match kept.entry((task.stage, task.partition)) {
                    Entry::Vacant(place) => {
                        place.insert(index);
                        continue;
                    }
                    Entry::Occupied(_) => &mut left_out.repeated,
                },
            };
            *counter += 1;
        }
        let mut tasks: Vec<usize> = kept.into_values().collect();
        tasks.sort_unstable();
        Self { tasks, first: HashMap::new(), left_out }
    }

    /// Marks the first task of each slot, and of each stage in it, of all that an executor ever
    /// ran.
    fn find_first(&mut self, log: &EventLog) {
        let slots = slots_by_executor(log);
        let mut order: Vec<usize> = (0..log.tasks.len()).collect();
        order.sort_by_key(|index| (log.tasks[*index].started, log.tasks[*index].id));
        let kept: HashSet<usize> = self.tasks.iter().copied().collect();
        // Slots that have run nothing, and none of a stage.
        let (mut cold, mut free) = (HashMap::new(), HashMap::new());
        for index in order {
            let task = &log.tasks[index];
            let slots = slots.get(log.text(task.executor)).copied().unwrap_or(1);
            let of_stage = take(free.entry((task.executor, task.stage)).or_insert(slots));
            let of_executor = take(cold.entry(task.executor).or_insert(slots));
            let first = match (of_executor, of_stage) {
                (true, _) => First::OfExecutor,
                (false, true) => First::OfStage,
                (false, false) => continue,
            };
            if kept.contains(&index) {
                self.first.insert(index, first);
            }
        }
    }
}

/// Takes one of those left, if any.
fn take(left: &mut usize) -> bool {
    let had = *left > 0;
    *left = left.saturating_sub(1);
    had
}
