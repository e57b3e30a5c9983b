//! Generated workloads: block logs of web servers, after SURGE and SPECweb99.

mod distributions;
mod error;
mod request;
mod specweb99;
mod surge;
mod web;

pub use error::WorkloadError;
pub use web::{KindCount, PAGE, WebConfig, WebReport, Workload, generate};
