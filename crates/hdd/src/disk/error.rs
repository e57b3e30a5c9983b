//! Errors of a disk's config, and the range checks of single values that all its parts use.

use gordon_units::Ns;
use std::fmt::Display;

/// Reason why no disk can be built from a config.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskConfigError {
    /// The text is not TOML, has an unknown key, or a value of the wrong type.
    #[error("disk config: {0}")]
    Parse(String),
    /// A listed layout omits a sector or contains it twice: the sector.
    #[error("the layout does not have sector {0} exactly once\n  try: list each sector once")]
    Layout(u64),
    /// A value is out of range or inconsistent with others.
    #[error("disk config: {key} is {value}\n  try: {must}")]
    Value {
        /// The key, with dots.
        key: &'static str,
        /// The value given.
        value: String,
        /// The condition that the value must meet.
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
        /// Sectors that `geometry.sectors` demands.
        stated: u64,
    },
    /// The seek curve decreases over some distances.
    #[error(
        "disk config: the curve through the three times of {key} falls over {from} to {to} \
         cylinders\n  try: move the average towards {hint}"
    )]
    SeekFalls {
        /// The table with the three times.
        key: &'static str,
        /// Distance in cylinders at which the decrease begins.
        from: u32,
        /// Distance at which the curve rises again, or the longest seek.
        to: u32,
        /// An average that is consistent with the other two times.
        hint: Ns,
    },
}

/// The error for a single value.
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
