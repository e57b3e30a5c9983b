//! Event logs as the `tasks` model reads them.

use gordon_cluster::model::tasks::application::{Application, LeftOut, Window};
use gordon_cluster::model::tasks::cached::{Block, CachedBlocks};
use gordon_cluster::model::tasks::warm_up::First;
use gordon_trace::spark::EventLog;
use gordon_units::{Ns, Progress};
use serde_json::{Value, json};

/// Milliseconds since 1970 at which the logs start.
const START: u64 = 1_700_000_000_000;

/// A log that is written event by event; times are milliseconds after its start.
struct Log(Vec<Value>);

impl Log {
    fn new() -> Self {
        let mut log = Self(Vec::new());
        log.add("LogStart", json!({ "Spark Version": "3.5.1" }));
        log.add("ApplicationStart", json!({ "App Name": "made", "Timestamp": START }));
        log
    }

    fn add(&mut self, name: &str, mut fields: Value) {
        fields["Event"] = format!("SparkListener{name}").into();
        self.0.push(fields);
    }

    fn executor(&mut self, id: u64, at: u64, cores: u32) {
        let info = json!({ "Host": format!("host-{id}"), "Total Cores": cores });
        let at = START + at;
        let added =
            json!({ "Timestamp": at, "Executor ID": id.to_string(), "Executor Info": info });
        self.add("ExecutorAdded", added);
    }

    fn stage(&mut self, id: u32, parents: &[u32], from: u64, to: u64) {
        let info = json!({
            "Stage ID": id,
            "Stage Attempt ID": 0,
            "Stage Name": format!("stage {id}"),
            "Number of Tasks": 1,
            "Parent IDs": parents,
            "Submission Time": START + from,
            "Completion Time": START + to,
        });
        self.add("StageCompleted", json!({ "Stage Info": info }));
    }

    /// A task that computes all of its time on the executor with this number.
    fn task(&mut self, stage: u32, index: u32, executor: u64, from: u64, to: u64) {
        self.ended(stage, index, executor, from, to, "Success");
    }

    fn ended(&mut self, stage: u32, index: u32, executor: u64, from: u64, to: u64, reason: &str) {
        let run = to - from;
        let info = json!({
            "Task ID": self.0.len(),
            "Index": index,
            "Attempt": 0,
            "Launch Time": START + from,
            "Finish Time": START + to,
            "Executor ID": executor.to_string(),
            "Host": format!("host-{executor}"),
            "Locality": "ANY",
        });
        let metrics = json!({ "Executor Run Time": run, "Executor CPU Time": run * 1_000_000 });
        let end = json!({
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Task End Reason": { "Reason": reason },
            "Task Info": info,
            "Task Metrics": metrics,
        });
        self.add("TaskEnd", end);
    }

    fn read(mut self, end: u64) -> EventLog {
        self.add("ApplicationEnd", json!({ "Timestamp": START + end }));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("app");
        let lines: Vec<String> = self.0.iter().map(|event| format!("{event}\n")).collect();
        std::fs::write(&path, lines.concat()).expect("a file");
        EventLog::read(&path, false, &Progress::default()).expect("a log")
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn the_driver_has_the_time_between_stages() {
    let mut log = Log::new();
    log.executor(1, 2000, 1);
    for (id, parents, from, to) in
        [(0, &[][..], 3000, 4000), (1, &[0], 4010, 5000), (2, &[0], 8000, 9000)]
    {
        log.task(id, 0, 1, from, to);
        log.stage(id, parents, from, to);
    }
    let application = Application::of(&log.read(9500), None);
    let of = |at: usize| &application.stages[at];
    near(application.startup, 2.0);
    assert!(of(0).after_startup);
    near(of(0).driver, 1.0);
    assert_eq!(of(1).after, [0]);
    near(of(1).driver, 0.01);
    // Its parent had ended long before: the program waited for the stage before it.
    assert_eq!(of(2).after, [0, 1]);
    near(of(2).driver, 3.0);
    near(application.tail, 0.5);
    near(application.driver_time(), 1.0 + 0.01 + 3.0 + 0.5);
}

#[test]
fn a_stage_that_waits_for_its_first_task_while_none_runs_waits_for_the_driver() {
    let mut log = Log::new();
    log.executor(1, 1000, 1);
    // It is submitted before an executor registers, which takes tasks half a second later.
    log.stage(0, &[], 500, 3000);
    log.task(0, 0, 1, 1500, 3000);
    // No task runs for two seconds after its submission.
    log.stage(1, &[0], 3000, 6000);
    log.task(1, 0, 1, 5000, 6000);
    // It waits for the slot alone.
    log.stage(2, &[0], 3100, 7000);
    log.task(2, 0, 1, 6000, 7000);
    let application = Application::of(&log.read(7000), None);
    near(application.startup, 1.5);
    for (stage, [waited, driver]) in [[0.0, 0.5], [2.0, 2.0], [0.0, 0.1]].into_iter().enumerate() {
        near(application.stages[stage].waited, waited);
        near(application.stages[stage].driver, driver);
    }
    near(application.driver_time(), 0.1);
}

#[test]
fn stages_that_overlap_do_not_wait_for_each_other() {
    let mut log = Log::new();
    log.executor(1, 0, 4);
    for (id, from, to) in [(0, 1000, 5000), (1, 1100, 4000), (2, 4000, 6000)] {
        log.task(id, 0, 1, from, to);
        log.stage(id, if id == 2 { &[1] } else { &[] }, from, to);
    }
    let application = Application::of(&log.read(6000), None);
    assert!(application.stages[1].after.is_empty());
    assert_eq!(application.stages[2].after, [1]);
}

#[test]
fn the_pause_of_a_slot_is_not_a_task_of_another_slot() {
    // Of two slots, one task of 100 ms after the other. The driver notes each end after the start
    // of the next task in the slot, or before.
    let pause_of = |apart: i64| {
        let mut log = Log::new();
        log.executor(1, 0, 2);
        for index in 0..12 {
            let from = 50 * u64::from(index) + 20;
            let to = (from + 100).checked_add_signed(-apart).expect("a time");
            log.task(0, index, 1, from, to);
        }
        log.stage(0, &[], 0, 800);
        Application::of(&log.read(800), None).turnaround
    };
    near(pause_of(-3), 0.0);
    near(pause_of(0), 0.0);
    near(pause_of(30), 0.03);
    // The next stage waits for the driver.
    let mut log = Log::new();
    log.executor(1, 0, 1);
    for stage in 0..8 {
        log.task(stage, 0, 1, 100 * u64::from(stage), 100 * u64::from(stage) + 60);
        log.stage(stage, &[], 0, 800);
    }
    near(Application::of(&log.read(800), None).turnaround, 0.0);
}

#[test]
fn one_successful_attempt_of_each_partition_is_kept() {
    let mut log = Log::new();
    log.executor(1, 0, 1);
    log.ended(0, 0, 1, 0, 1000, "ExceptionFailure");
    log.task(0, 0, 1, 1000, 2000);
    log.task(0, 0, 1, 2000, 4000);
    log.ended(0, 1, 1, 4000, 5000, "TaskKilled");
    log.task(0, 1, 1, 5000, 6000);
    log.stage(0, &[], 0, 6000);
    let application = Application::of(&log.read(6000), None);
    assert_eq!(application.tasks.len(), 2);
    near(application.tasks.iter().map(|task| task.cpu).sum(), 2.0);
    let left_out = LeftOut { failed: 1, killed: 1, repeated: 1, ..LeftOut::default() };
    assert_eq!(application.left_out, left_out);
}

#[test]
fn the_first_tasks_of_slots_are_marked() {
    let mut log = Log::new();
    for executor in 1..=3 {
        log.executor(executor, 0, 1);
        let index = u32::try_from(executor).unwrap();
        log.task(0, index, executor, 0, 3000);
        log.task(0, index + 3, executor, 3000, 4000);
    }
    log.stage(0, &[], 0, 4000);
    let application = Application::of(&log.read(4000), None);
    assert_eq!(application.tasks.iter().filter(|task| task.first != First::No).count(), 3);
    assert_eq!((application.executors.count, application.executors.hosts), (3, 3));
}

#[test]
fn a_window_leaves_out_what_ended_before_it() {
    let mut log = Log::new();
    log.executor(1, 1000, 1);
    for (id, from, to) in [(0, 2000, 3000), (1, 5000, 7000)] {
        log.task(id, 0, 1, from, to);
        log.stage(id, &[], from, to);
    }
    let at = |ms: u64| Ns((START + ms) * 1_000_000);
    let window = Window { start: at(4000), end: at(8000) };
    let log = log.read(9000);
    let application = Application::of(&log, Some(window));
    assert_eq!(application.stages.len(), 1);
    assert_eq!(application.left_out.before, 1);
    near(application.startup, 0.0);
    near(application.duration, 4.0);
    near(application.stages[0].driver, 1.0);
    near(application.tail, 1.0);
    // Its executor had run a task before, but none of this stage.
    assert_eq!(application.tasks[0].first, First::OfStage);
    let with_start = Window { start: at(500), end: at(8000) };
    let application = Application::of(&log, Some(with_start));
    assert_eq!(application.left_out.before, 0);
    near(application.startup, 0.5);
}

#[test]
fn concurrent_tasks_share_their_host() {
    let mut log = Log::new();
    log.executor(1, 0, 2);
    log.task(0, 0, 1, 0, 4000);
    log.task(0, 1, 1, 2000, 4000);
    log.stage(0, &[], 0, 4000);
    let application = Application::of(&log.read(4000), None);
    let concurrent: Vec<f64> = application.tasks.iter().map(|task| task.concurrent).collect();
    near(concurrent[0], 1.5);
    near(concurrent[1], 2.0);
}

#[test]
fn a_task_that_found_its_block_has_the_blocks_size_as_input() {
    let rdd = |id: u32, in_memory: bool| json!({ "RDD ID": id, "Storage Level": { "Use Disk": false, "Use Memory": in_memory } });
    let mut log = Log::new();
    log.executor(1, 0, 1);
    // A file of two parts is cached by stage 0; stage 2 has nothing of it.
    let inputs = [(0, 0, 100), (0, 1, 90), (1, 0, 40), (1, 1, 90), (2, 0, 100), (2, 1, 0)];
    for (at, (stage, index, input)) in (0u64..).zip(inputs) {
        log.task(stage, index, 1, 1000 * at, 1000 * (at + 1));
        log.0.last_mut().expect("a task")["Task Metrics"]["Input Metrics"] =
            json!({ "Bytes Read": input });
    }
    for (stage, rdds) in [(0, [4, 3]), (1, [4, 5]), (2, [6, 7])] {
        log.stage(stage, &[], 2000 * u64::from(stage), 2000 * (u64::from(stage) + 1));
        log.0.last_mut().expect("a stage")["Stage Info"]["RDD Info"] =
            json!(rdds.map(|id| rdd(id, id == 4)));
    }
    let application = Application::of(&log.read(6000), None);
    let blocks = CachedBlocks {
        made_by: 0,
        last_read_by: 1,
        bytes: 80.0,
        reads: 2,
        missed: 1,
        moves_to_disk: false,
    };
    assert_eq!(application.cached, [blocks]);
    let cached: Vec<_> = application.stages.iter().map(|stage| stage.cached).collect();
    assert_eq!(cached, [None, Some(0), None]);
    let of: Vec<Block> = application.tasks.iter().map(|task| task.block).collect();
    let [no, found, missed] = [Block::No, Block::Found, Block::Missed];
    assert_eq!(of, [no, no, found, missed, no, no]);
}

#[test]
fn the_default_file_system_decides_the_replicas() {
    let replicas = |spark: Value, hadoop: Value| {
        let mut log = Log::new();
        let settings = json!({ "Spark Properties": spark, "Hadoop Properties": hadoop });
        log.add("EnvironmentUpdate", settings);
        log.task(0, 0, 1, 0, 1000);
        log.read(2000).settings.output_replicas
    };
    let hdfs = json!({ "fs.defaultFS": "hdfs://namenode:8020", "dfs.replication": "2" });
    assert_eq!(replicas(json!({}), hdfs.clone()), 2);
    assert_eq!(replicas(json!({ "spark.hadoop.dfs.replication": "1" }), hdfs), 1);
    assert_eq!(replicas(json!({ "spark.hadoop.fs.defaultFS": "hdfs://other" }), json!({})), 3);
    for other in ["file:///", "s3a://bucket"] {
        let hadoop = json!({ "fs.defaultFS": other, "dfs.replication": "3" });
        assert_eq!(replicas(json!({}), hadoop), 1);
    }
    assert_eq!(replicas(json!({}), json!({})), 1);
}
