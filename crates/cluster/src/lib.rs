//! Simulates a traced job on a cluster of N identical nodes: its time, energy, limiting parts and
//! wear. The model is the high-level simulator of the Gordon paper (ASPLOS'09, sections 5.2, 5.3).
//!
//! A *stream* is one traced machine: its demands in each sample ([`demand`]) and, replayed once on
//! each distinct storage, its storage costs in each sample ([`replay`], [`replays`]). A *design* is a node:
//! processors, storage, memory, network and their power ([`node`]). [`simulate`] combines them for
//! one design, [`survey`] for many; [`designs`] answers millions of them from sorted breakpoints.

mod alignment;
mod check;
pub mod choices;
pub mod config;
pub mod demand;
pub mod designs;
mod error;
mod extents;
pub mod job;
mod job_stream;
mod line;
pub mod machine;
pub mod machine_survey;
pub mod measured;
pub mod node;
pub mod replay;
pub mod replays;
pub mod report;
pub mod requests;
mod select;
pub mod simulate;
pub mod stages;
mod storage;
mod stream;
pub mod survey;
mod table;
pub mod tasks;
pub mod timeline;

pub use error::ClusterError;
pub use table::TABLE_KEY;
