//! The external sort, and the generator and the checker of its benchmark.
//!
//! What is sorted is a [`Shape`]: records of one length, or lines.

mod error;
mod shape;

pub use error::SortError;
pub use shape::Shape;
