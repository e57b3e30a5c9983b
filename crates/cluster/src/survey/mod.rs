//! Surveys: choose among the designs of a space, and report them.

mod batches;
mod front;
pub mod report;
pub(crate) mod select;
pub(crate) mod table;

pub use batches::in_batches;
pub use front::{RunningFront, front};
