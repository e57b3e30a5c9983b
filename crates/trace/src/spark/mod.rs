//! Reads the event logs of Spark: what its driver recorded of an application's executors, stages
//! and tasks.
//!
//! A log of Spark 3.5 is a file of JSON lines; one of Spark 4 is a folder of such files, compressed
//! with zstd, lz4 or snappy. [`EventLog::read`] reads either, line by line; events that the tables
//! do not need are counted and skipped. [`EventLog::write_tables`] writes `stages.parquet` and
//! `tasks.parquet`, and [`recorded_stages`] reads the stages back.
//!
//! [`estimate_network`] adds the network use of the tasks to traces of nodes that lack it.
//!
//! All times are of the driver's clock, in milliseconds. Bytes are those that tasks requested,
//! before the page cache; CPU time is that of the tasks' threads, without Python workers and
//! garbage collection.

mod error;
mod events;
mod files;
mod log;
mod model;
mod network;
mod read;
mod recorded;
mod senders;
mod settings;
mod stage_name;
mod tables;

pub use error::EventLogError;
pub(crate) use files::holds_event_logs;
pub use files::{event_logs, is_event_log};
pub use log::{EventLog, EventLogSummary, ExecutorSummary};
pub use model::{
    CachedRdd, Executor, NamedStage, Stage, StageStatus, StageTotals, Task, TaskFigures, TaskStatus,
};
pub use network::{NetworkEstimate, NodeExecutors, estimate_network};
pub use recorded::{RecordedStage, RecordedStages, recorded_stages};
pub(crate) use senders::{SenderShare, Senders};
pub use settings::{LocalityWait, Settings};
pub(crate) use stage_name::is_of_operators;
pub use tables::{STAGES_FILE, TASKS_FILE};
