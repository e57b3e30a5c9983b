//! Errors of a disk's config, and the checks of single values that every part makes.

use gordon_units::Ns;
use std::fmt::Display;

/// A config that no disk can be built from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskConfigError {
    /// Not TOML, an unknown key, a value of the wrong kind.
    #[error("disk config: {0}")]
    Parse(String),
    /// A listed layout that leaves out a sector, or has one twice.
    #[error("the layout does not have sector {0} exactly once\n  try: list each sector once")]
    Layout(u64),
    /// A value that cannot be.
    #[error("disk config: {key} is {value}\n  try: {must}")]
    Value {
        /// The key, dotted.
        key: &'static str,
        /// The value found.
        value: String,
        /// What it must be.
        must: String,
    },
    /// The zones do not add up to the capacity.
    #[error(
        "disk config: geometry.zones hold {held} sectors, geometry.sectors is {stated}\n  \
         try: zones that hold as many, and less than a cylinder more"
    )]
    Capacity {
        /// Sectors in the zones.
        held: u64,
        /// Sectors it should export.
        stated: u64,
    },
    /// A longer seek would be faster.
    #[error(
        "disk config: the curve through the three times of {key} falls over {from} to {to} \
         cylinders\n  try: move the average towards {hint}"
    )]
    SeekFalls {
        /// The table of the three times.
        key: &'static str,
        /// Where the fall begins.
        from: u32,
        /// The longest seek, or the distance at which the curve rises again.
        to: u32,
        /// An average that fits the other two times.
        hint: Ns,
    },
}

/// An error about one value.
pub(crate) fn wrong(key: &'static str, value: impl Display, must: String) -> DiskConfigError {
    DiskConfigError::Value { key, value: value.to_string(), must }
}

/// Refuses a value below `least`.
pub(crate) fn at_least<T: PartialOrd + Display>(
    key: &'static str,
    value: T,
    least: T,
) -> Result<(), DiskConfigError> {
    if value < least { Err(wrong(key, value, format!("at least {least}"))) } else { Ok(()) }
}

/// Refuses a value above `most`.
pub(crate) fn at_most<T: PartialOrd + Display>(
    key: &'static str,
    value: T,
    most: T,
) -> Result<(), DiskConfigError> {
    if value > most { Err(wrong(key, value, format!("at most {most}"))) } else { Ok(()) }
}
