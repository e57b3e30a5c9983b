//! What was traced: the demands of a machine in each sample, its storage costs on a simulated
//! storage, and the stages of its job. Models read it; nothing here depends on a design.

pub(crate) mod alignment;
pub mod charge;
pub mod demand;
pub(crate) mod extents;
pub(crate) mod job_stream;
pub mod measured_times;
pub mod replay;
pub mod replays;
pub mod report;
pub mod requests;
pub mod sample;
pub mod stages;
pub(crate) mod stream;
pub mod timeline;
