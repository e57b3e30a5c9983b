//! The events of a log that are read, with the keys that Spark's `JsonProtocol` gives them.

use super::settings::{Settings, replicas};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The name of an event.
#[derive(Deserialize)]
pub(super) struct EventName<'a> {
    #[serde(rename = "Event", borrow)]
    pub name: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct LogStart {
    #[serde(rename = "Spark Version")]
    pub version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ApplicationStart {
    #[serde(rename = "App Name", default)]
    pub name: String,
    #[serde(rename = "App ID", default)]
    pub id: Option<String>,
    pub timestamp: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ApplicationEnd {
    pub timestamp: u64,
}

#[derive(Deserialize)]
pub(super) struct EnvironmentUpdate {
    #[serde(rename = "Spark Properties", default)]
    pub properties: SparkProperties,
    /// Those of Hadoop's file systems, defaults included; Spark writes them since 3.0.
    #[serde(rename = "Hadoop Properties", default)]
    pub hadoop: BTreeMap<String, serde_json::Value>,
}

/// The settings of the application.
#[derive(Default, Deserialize)]
pub(super) struct SparkProperties(BTreeMap<String, serde_json::Value>);

impl SparkProperties {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// What the settings say of executors and of the copies of output.
    pub fn settings(&self, hadoop: &BTreeMap<String, serde_json::Value>) -> Settings {
        Settings { output_replicas: replicas(&self.0, hadoop), ..Settings::of(&self.0) }
    }

    /// Whether executors read the shuffle data of others on their host from its disks.
    pub fn reads_host_local_disk(&self) -> bool {
        self.text("spark.shuffle.readHostLocalDisk") != Some("false")
            && self.text("spark.shuffle.useOldFetchProtocol") != Some("true")
    }

    /// The accelerators that the application may use: of the RAPIDS plug-in, and resources of that
    /// kind.
    pub fn accelerators(&self) -> Vec<String> {
        let plugins = self.text("spark.plugins").unwrap_or_default();
        let has_rapids = plugins.split(',').any(|name| name.trim() == RAPIDS);
        let is_resource = |name: &String| {
            ["executor", "task", "driver", "worker"].iter().any(|of| {
                let start = format!("spark.{of}.resource.");
                name.strip_prefix(&start).is_some_and(|rest| {
                    ACCELERATORS.iter().any(|kind| rest.split('.').next() == Some(*kind))
                })
            })
        };
        let has_resource = self.0.keys().any(is_resource);
        match (has_rapids, has_resource) {
            (true, _) => vec!["GPU of the RAPIDS plug-in".to_owned()],
            (false, true) => vec!["accelerator of spark.*.resource".to_owned()],
            (false, false) => Vec::new(),
        }
    }
}

/// The plug-in that runs operators of SQL on GPUs.
const RAPIDS: &str = "com.nvidia.spark.SQLPlugin";
/// Names of resources (Spark, "Custom Resource Scheduling") that compute.
const ACCELERATORS: [&str; 3] = ["gpu", "fpga", "npu"];

#[derive(Deserialize)]
pub(super) struct ExecutorAdded {
    #[serde(rename = "Timestamp")]
    pub timestamp: u64,
    #[serde(rename = "Executor ID")]
    pub id: String,
    #[serde(rename = "Executor Info")]
    pub info: ExecutorInfo,
}

#[derive(Deserialize)]
pub(super) struct ExecutorInfo {
    #[serde(rename = "Host")]
    pub host: String,
    #[serde(rename = "Total Cores")]
    pub cores: u32,
}

#[derive(Deserialize)]
pub(super) struct ExecutorRemoved {
    #[serde(rename = "Timestamp")]
    pub timestamp: u64,
    #[serde(rename = "Executor ID")]
    pub id: String,
    #[serde(rename = "Removed Reason", default)]
    pub reason: String,
}

#[derive(Deserialize)]
pub(super) struct JobStart {
    #[serde(rename = "Job ID")]
    pub id: u32,
    #[serde(rename = "Stage IDs", default)]
    pub stages: Vec<u32>,
}

#[derive(Deserialize)]
pub(super) struct JobEnd {
    #[serde(rename = "Job Result", default)]
    pub result: JobResult,
}

#[derive(Default, Deserialize)]
pub(super) struct JobResult {
    #[serde(rename = "Result", default)]
    pub name: String,
}

/// `SparkListenerStageSubmitted` and `SparkListenerStageCompleted`.
#[derive(Deserialize)]
pub(super) struct StageEvent {
    #[serde(rename = "Stage Info")]
    pub info: StageInfo,
    /// Absent when the stage has ended.
    #[serde(rename = "Properties", default)]
    pub properties: Option<StageProperties>,
}

/// The properties of a stage's job that say where it comes from.
#[derive(Deserialize)]
pub(super) struct StageProperties {
    /// Number of the SQL query.
    #[serde(rename = "spark.sql.execution.id")]
    pub query: Option<String>,
    /// The scope in which the job was started, as JSON.
    #[serde(rename = "spark.rdd.scope")]
    pub scope: Option<String>,
}

/// One of the RDDs that a stage computes.
#[derive(Deserialize)]
pub(super) struct RddInfo {
    #[serde(rename = "RDD ID")]
    pub id: u32,
    /// The operation that made it, as JSON.
    #[serde(rename = "Scope")]
    pub scope: Option<String>,
    /// Where its blocks are kept.
    #[serde(rename = "Storage Level", default)]
    pub level: StorageLevel,
}

#[derive(Default, Deserialize)]
pub(super) struct StorageLevel {
    #[serde(rename = "Use Disk", default)]
    pub on_disk: bool,
    #[serde(rename = "Use Memory", default)]
    pub in_memory: bool,
}

/// `SparkListenerSQLExecutionStart` and `SparkListenerSQLAdaptiveExecutionUpdate`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueryPlanEvent {
    pub execution_id: u64,
    pub spark_plan_info: PlanNode,
}

/// An operator of a plan, with those that it reads.
#[derive(Deserialize)]
pub(super) struct PlanNode {
    #[serde(rename = "nodeName")]
    pub name: String,
    #[serde(default)]
    pub children: Vec<PlanNode>,
}

#[derive(Deserialize)]
pub(super) struct StageInfo {
    #[serde(rename = "Stage ID")]
    pub id: u32,
    #[serde(rename = "Stage Attempt ID")]
    pub attempt: u32,
    #[serde(rename = "Stage Name", default)]
    pub name: String,
    #[serde(rename = "Number of Tasks", default)]
    pub tasks: u32,
    #[serde(rename = "RDD Info", default)]
    pub rdds: Vec<RddInfo>,
    #[serde(rename = "Parent IDs", default)]
    pub parents: Vec<u32>,
    #[serde(rename = "Submission Time")]
    pub submitted: Option<u64>,
    #[serde(rename = "Completion Time")]
    pub ended: Option<u64>,
    #[serde(rename = "Failure Reason")]
    pub failure: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct TaskStart {
    #[serde(rename = "Stage ID")]
    pub stage: u32,
    #[serde(rename = "Stage Attempt ID")]
    pub attempt: u32,
    #[serde(rename = "Task Info")]
    pub info: TaskInfo,
}

#[derive(Deserialize)]
pub(super) struct TaskEnd {
    #[serde(rename = "Stage ID")]
    pub stage: u32,
    #[serde(rename = "Stage Attempt ID")]
    pub attempt: u32,
    #[serde(rename = "Task End Reason")]
    pub reason: TaskEndReason,
    #[serde(rename = "Task Info")]
    pub info: TaskInfo,
    #[serde(rename = "Task Executor Metrics", default)]
    pub executor: Option<ExecutorMetrics>,
    /// Absent if the task's executor was lost.
    #[serde(rename = "Task Metrics", default)]
    pub metrics: Option<TaskMetrics>,
}

#[derive(Deserialize)]
pub(super) struct TaskEndReason {
    #[serde(rename = "Reason")]
    pub reason: String,
}

#[derive(Deserialize)]
pub(super) struct TaskInfo {
    #[serde(rename = "Task ID")]
    pub id: u64,
    /// Its number among the tasks of the attempt of its stage. Another attempt has the tasks of
    /// the partitions that are missing, and numbers them from 0.
    #[serde(rename = "Index")]
    pub index: u32,
    /// Absent before Spark 3.3; negative if it is unknown.
    #[serde(rename = "Partition ID", default)]
    pub partition: Option<i32>,
    #[serde(rename = "Attempt")]
    pub attempt: u32,
    #[serde(rename = "Launch Time")]
    pub launched: u64,
    #[serde(rename = "Executor ID")]
    pub executor: String,
    #[serde(rename = "Host")]
    pub host: String,
    #[serde(rename = "Locality")]
    pub locality: String,
    #[serde(rename = "Speculative", default)]
    pub is_speculative: bool,
    /// 0 while the task runs.
    #[serde(rename = "Finish Time", default)]
    pub finished: u64,
}

impl TaskInfo {
    /// Its partition, if the event has it.
    pub fn partition(&self) -> Option<u32> {
        self.partition.and_then(|partition| u32::try_from(partition).ok())
    }
}

/// An amount. Spark's clocks may run back, and its differences of times be negative: such amounts
/// are 0.
#[derive(Clone, Copy, Default)]
pub(super) struct Count(pub u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        i64::deserialize(from).map(|amount| Self(amount.max(0).unsigned_abs()))
    }
}

#[derive(Default, Deserialize)]
pub(super) struct TaskMetrics {
    #[serde(rename = "Executor Deserialize Time", default)]
    pub deserialize_ms: Count,
    #[serde(rename = "Executor Deserialize CPU Time", default)]
    pub deserialize_cpu_ns: Count,
    #[serde(rename = "Executor Run Time", default)]
    pub run_ms: Count,
    /// Absent before Spark 2.1.
    #[serde(rename = "Executor CPU Time")]
    pub cpu_ns: Option<Count>,
    #[serde(rename = "Peak Execution Memory", default)]
    pub peak_memory: Count,
    #[serde(rename = "Result Size", default)]
    pub result_size: Count,
    #[serde(rename = "JVM GC Time", default)]
    pub gc_ms: Count,
    #[serde(rename = "Memory Bytes Spilled", default)]
    pub memory_spilled: Count,
    #[serde(rename = "Disk Bytes Spilled", default)]
    pub disk_spilled: Count,
    #[serde(rename = "Shuffle Read Metrics", default)]
    pub shuffle_read: ShuffleRead,
    #[serde(rename = "Shuffle Write Metrics", default)]
    pub shuffle_write: ShuffleWrite,
    #[serde(rename = "Input Metrics", default)]
    pub input: InputMetrics,
    #[serde(rename = "Output Metrics", default)]
    pub output: OutputMetrics,
}

#[derive(Default, Deserialize)]
pub(super) struct ShuffleRead {
    #[serde(rename = "Fetch Wait Time", default)]
    pub wait_ms: Count,
    #[serde(rename = "Remote Bytes Read", default)]
    pub remote: Count,
    #[serde(rename = "Remote Bytes Read To Disk", default)]
    pub remote_to_disk: Count,
    #[serde(rename = "Local Bytes Read", default)]
    pub local: Count,
}

#[derive(Default, Deserialize)]
pub(super) struct ShuffleWrite {
    #[serde(rename = "Shuffle Bytes Written", default)]
    pub bytes: Count,
    #[serde(rename = "Shuffle Write Time", default)]
    pub time_ns: Count,
}

#[derive(Default, Deserialize)]
pub(super) struct InputMetrics {
    #[serde(rename = "Bytes Read", default)]
    pub bytes: Count,
}

#[derive(Default, Deserialize)]
pub(super) struct OutputMetrics {
    #[serde(rename = "Bytes Written", default)]
    pub bytes: Count,
}

/// `SparkListenerStageExecutorMetrics`, written if `spark.eventLog.logStageExecutorMetrics` is set.
#[derive(Deserialize)]
pub(super) struct StageExecutorMetrics {
    #[serde(rename = "Executor ID")]
    pub id: String,
    #[serde(rename = "Executor Metrics")]
    pub metrics: ExecutorMetrics,
}

/// Peaks of an executor.
#[derive(Default, Deserialize)]
pub(super) struct ExecutorMetrics {
    #[serde(rename = "JVMHeapMemory", default)]
    heap: Count,
    #[serde(rename = "JVMOffHeapMemory", default)]
    off_heap: Count,
    #[serde(rename = "DirectPoolMemory", default)]
    direct: Count,
    #[serde(rename = "ProcessTreeJVMRSSMemory", default)]
    resident: Count,
    #[serde(rename = "ProcessTreePythonRSSMemory", default)]
    resident_python: Count,
    #[serde(rename = "ProcessTreeOtherRSSMemory", default)]
    resident_other: Count,
}

impl ExecutorMetrics {
    /// The peak of resident memory, or, if Spark did not record it, that of the JVM's used memory.
    pub fn peak(&self) -> u64 {
        let sum = |parts: [Count; 3]| {
            parts.into_iter().fold(0, |sum: u64, part| sum.saturating_add(part.0))
        };
        match sum([self.resident, self.resident_python, self.resident_other]) {
            0 => sum([self.heap, self.off_heap, self.direct]),
            resident => resident,
        }
    }
}
