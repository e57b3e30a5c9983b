//! Runs of a load on a simulated device, and their results.
//!
//! A [`source::RequestSource`] returns requests of a trace ([`trace`]) or of a pattern ([`load`]).
//! The [`host`] submits them to a device, and [`results`] records each completion. [`flash`] and
//! [`disk`] run a config and return a report with its tables; [`run`] contains their shared parts.
//! [`characterise`] measures a simulated device as `gordon-probe` measures a real one, and
//! [`probe`] times single requests. [`wa`] drives the translation layer alone and measures its
//! write amplification.

pub mod characterise;
pub mod checkpoint;
pub mod classes;
pub mod config;
pub mod dense_ids;
pub mod disk;
mod error;
pub mod flash;
pub mod footprint;
pub mod host;
pub mod load;
pub mod probe;
mod queues;
pub mod random;
pub mod replicas;
pub mod results;
pub mod run;
pub mod source;
pub mod threads;
pub mod trace;
pub mod wa;

pub use error::{ReplayError, option_name};
