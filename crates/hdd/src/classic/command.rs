//! A command in the drive, with what has happened to it.

use super::buffer::Hit;
use gordon_units::Ns;

/// A command in the drive.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent facts about a command
pub(super) struct Command {
    pub id: u64,
    pub write: bool,
    /// Whether a write is reported only when it is on the medium.
    pub through: bool,
    pub start: u64,
    pub end: u64,
    /// Time when its overhead has passed, so the arm may start.
    pub ready: Ns,
    pub hit: Hit,
    pub segment: Option<usize>,
    /// The next sector to cross the bus.
    pub sent: u64,
    /// Sectors that make the drive reconnect.
    pub mark: u64,
    /// Whether it makes an extra disconnection.
    pub extra: bool,
    /// Whether it has or had the arm.
    pub on_arm: bool,
    /// Whether all sectors of a write are on the medium.
    pub on_medium: bool,
    /// Whether its completion was reported, and whether the report has ended.
    pub reported: bool,
    pub done: bool,
}
