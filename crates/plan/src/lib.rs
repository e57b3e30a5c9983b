//! A plan of jobs on a virtualised array: section 6.3 of the Gordon paper, for any sizes.
//!
//! An array of nodes is divided into equal slices. Each slice has a link of its own to a warehouse
//! that stores all data. A job takes as many slices as it needs, loads its data into their flash,
//! computes, and transfers its results back. [`Plan`] describes the array and the queue of jobs,
//! [`run`] simulates it on the event queue of `gordon-sim` and reports the times of each job, what
//! is used of links and processors, the deadlines that are missed, and what would meet them.
//!
//! Left out: the bandwidth of the warehouse, failures, and jobs that are interrupted.

mod config;
mod error;
mod queue;
mod remedies;
mod report;

pub use config::{ArrayNode, JobQueue, Plan, PlannedJob};
pub use error::PlanError;
pub use remedies::Remedy;
pub use report::{JobTimes, PlanReport, SliceReport, run};
