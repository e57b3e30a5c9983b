//! Configs that users write: TOML or JSON to a checked type, with errors that name the place, the
//! nearest known key, and what to try; and the table of kinds behind `gordon schema`.
//!
//! The types themselves are defined where they are used. A config is a [`serde`] type; a quantity
//! in it parses from text with its unit.

mod kind;
mod parse;

pub use kind::{Kind, find};
pub use parse::{ConfigError, from_json, from_toml, nearest, to_json};
