//! The `tasks` model: an application of Spark, recorded by its event log, on any number of any
//! machines. docs/design/cluster.md, "Tasks", has the equations.
//!
//! [`application`] reads the log, [`demand`] what its tasks need on any machine, [`node`] what that
//! takes on a node, and [`simulate`] schedules them on a cluster.

pub mod application;
pub mod demand;
pub mod node;
pub mod simulate;
pub mod speeds;
mod station;

/// The order of times, which are not negative, as integers.
fn key(secs: f64) -> u64 {
    secs.max(0.0).to_bits()
}
