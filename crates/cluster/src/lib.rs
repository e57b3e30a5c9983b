//! Simulates a traced job on other machines: its time, energy, price, limiting parts and wear.
//!
//! A survey is a *space* of designs ([`space`]: a grid of parts, or a list of machines) times a
//! *model* ([`model`]: `paper`, `job`), of what was traced ([`trace`]). [`survey`] evaluates the
//! designs, selects those to show and reports them; it is the same for all models.

mod error;
pub mod model;
pub mod space;
pub mod survey;
pub mod trace;

pub use error::ClusterError;
pub use survey::TABLE_KEY;
