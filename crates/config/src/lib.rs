//! Parsing of configs that users write: TOML or JSON to a checked type, with errors that name the
//! line or key, the nearest known key, and a hint; and the kinds behind `gordon schema`, with those
//! of reports, from whose schemas the types of the Python package are made.
//!
//! The config types are defined in the crates that use them. A config is a [`serde`] type; a
//! quantity in it parses from text with its unit.

mod kind;
mod parse;

pub use kind::{Kind, Named, ReportKind, find};
pub use parse::{ConfigError, from_json, from_toml, nearest, to_json};
