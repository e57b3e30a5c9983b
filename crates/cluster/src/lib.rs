//! What a cluster of N like nodes would make of a traced job: time, energy, what limits it, what
//! wears out. The model is the Gordon paper's high-level simulator (ASPLOS'09, sections 5.2, 5.3).
//!
//! A *stream* is one traced machine: per-second demands ([`demand`]) and, replayed once on each
//! distinct storage, per-second storage costs ([`replay`]). A *design* is a node: processors,
//! storage, memory, network and their power ([`node`]). [`simulate`] puts them together for one
//! design; [`survey`] does it for many.

mod check;
pub mod config;
pub mod demand;
mod error;
pub mod node;
pub mod replay;
pub mod report;
pub mod requests;
pub mod simulate;
mod stream;
pub mod survey;

pub use error::ClusterError;
