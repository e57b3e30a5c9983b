//! One simulated device, one load, the results.
//!
//! A [`source::RequestSource`] hands out requests: a trace ([`trace`]) or a pattern ([`load`]). The
//! [`host`] drives a device with them, [`results`] sees each request complete. [`flash`] puts them
//! together from a config and answers with one report and its tables ([`run`] has what that shares
//! with other devices); [`wa`] asks the translation layer alone for its write amplification.
//! [`probe`] asks a simulated disk what one would ask an unknown one. [`parse`] reads configs, with
//! errors that help.

pub mod cache;
pub mod characterise;
pub mod checkpoint;
pub mod config;
pub mod disk;
pub mod diskspecs;
mod error;
pub mod flash;
pub mod footprint;
pub mod host;
pub mod load;
mod numbers;
pub mod parse;
pub mod probe;
mod queues;
pub mod random;
pub mod results;
pub mod run;
pub mod source;
pub mod threads;
pub mod trace;
pub mod wa;

pub use error::ReplayError;
