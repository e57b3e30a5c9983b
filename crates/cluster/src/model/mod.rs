//! Models of a design's time and energy, and what answers very many designs quickly by both.
//!
//! Designs that differ only in the speed, power and price of their processors form a group. Within
//! a group, the time of a sample is the longest of a constant and of lines in one variable: the
//! reciprocal of the speed. For the `paper` model a group sums its samples once, between sorted
//! breakpoints (`paper::curve`), and answers each design with binary searches;
//! [`paper::simulate`] is the plain loop, with which the results agree within 1e-12. For the `job`
//! model, whose groups are small, a group evaluates the lines of a sample for all of its designs.
//! docs/design/cluster.md has the formulation.
//!
//! | model | what the groups of a storage and a network share | group | design |
//! |---|---|---|---|
//! | `paper` | [`paper::load`], [`paper::limits`] | [`paper::group`] | `PaperDesign` |
//! | `job` | [`job::load`] | [`job::group`] | `JobDesign` |

pub mod bill;
mod bill_rows;
pub mod cost;
pub mod doubt;
pub mod hardware;
pub mod job;
mod line;
pub mod paper;
pub mod service;
pub mod tasks;
