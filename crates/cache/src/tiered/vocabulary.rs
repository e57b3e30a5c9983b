//! The types that the machine and its driver exchange.

use super::sets::SetShape;
use alloc::vec::Vec;

/// The flash of a [`TieredMachine`](super::TieredMachine).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogShape {
    /// Number of segments, at least 2.
    pub segments: u32,
    /// Distance between the starts of two segments in bytes.
    pub stride: u32,
    /// Bytes of a segment for objects and their entries in its directory.
    pub capacity: u32,
    /// Unit of locations in bytes: objects start at multiples of it.
    pub unit: u32,
    /// Whether objects that were requested while they were in the log are written to it again when
    /// their segment is evicted.
    pub reinsert: bool,
    /// Sets to which small objects move from the log.
    pub sets: Option<SetShape>,
}

/// The size of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectSize {
    /// Bytes of the object, a multiple of the unit.
    pub bytes: u64,
    /// Bytes of its entry in the directory of a segment: a multiple of 8, below 256 KiB.
    pub directory: u32,
}

impl ObjectSize {
    pub(super) fn total(self) -> u64 {
        self.bytes + u64::from(self.directory)
    }
}

/// An object in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Hash of its key.
    pub key: u64,
    /// Offset in the flash in bytes.
    pub offset: u64,
    /// Size of the object in bytes, a multiple of the unit.
    pub bytes: u32,
    /// Size of its entry in the directory in bytes.
    pub directory: u32,
}

/// An object in the log that can move to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogObject {
    /// Offset in the flash in bytes.
    pub offset: u64,
    /// Size of the object in bytes.
    pub bytes: u64,
    /// Whether it was requested since it was written.
    pub was_hit: bool,
}

/// An object in a set that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetResident {
    /// Hash of its key.
    pub key: u64,
    /// Size in the set in bytes.
    pub size: u32,
    /// Position in the set as it was written last.
    pub position: usize,
    /// Re-reference prediction value that was written with it, 0 to 7.
    pub rrpv: u8,
}

/// An object in the log that may move to a set that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetArrival {
    /// Hash of its key.
    pub key: u64,
    /// Size in the set in bytes.
    pub size: u32,
    /// Offset in the log in bytes.
    pub offset: u64,
    /// Whether it was requested while it was in the log.
    pub was_hit: bool,
}

/// The new content of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChoice {
    /// The objects: their numbers, which count residents and then arrivals, and the re-reference
    /// prediction values to be written with them.
    pub chosen: Vec<(usize, u8)>,
    pub(super) set: u32,
    /// Number of objects that the set had.
    pub(super) before: u64,
    /// Hashes of the keys of the chosen objects.
    pub(super) keys: Vec<u64>,
    /// Key and offset of the objects that leave the log.
    pub(super) moved: Vec<(u64, u64)>,
}

/// Where an object may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In DRAM, with the driver's bytes of this number.
    Dram(u32),
    /// In a segment that is in memory: being filled, or not written yet.
    Buffered {
        /// Offset in the flash in bytes.
        offset: u64,
    },
    /// On the medium. The segment is pinned.
    Flash {
        /// Offset in the flash in bytes.
        offset: u64,
        /// At least the size of the object in bytes.
        bytes: u64,
    },
    /// Not in the cache.
    Miss,
}

/// What the driver must do. Actions are carried out in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Drop the bytes of an object in DRAM.
    Drop {
        /// Number of the object in DRAM.
        place: u32,
    },
    /// Move the bytes of an object in DRAM to a segment in memory.
    Demote {
        /// Number of the object in DRAM.
        place: u32,
        /// The object in the segment.
        entry: DirectoryEntry,
    },
    /// Copy an object from a segment that is evicted to the one that is being filled.
    Reinsert {
        /// The object in the evicted segment.
        from: DirectoryEntry,
        /// New offset in the flash in bytes.
        to: u64,
    },
    /// Start to fill a segment in memory. The objects in it are evicted; the medium keeps them
    /// until it is written.
    Open {
        /// Number of the segment.
        segment: u32,
    },
    /// Write a segment, then call [`commit`](super::TieredMachine::commit) or
    /// [`fail`](super::TieredMachine::fail).
    Write {
        /// Number of the segment.
        segment: u32,
    },
    /// Read the directory of a segment, and with [`LogShape::reinsert`] the segment, then call
    /// [`prepared`](super::TieredMachine::prepared) or
    /// [`unreadable`](super::TieredMachine::unreadable).
    Prepare {
        /// Number of the segment.
        segment: u32,
    },
    /// Move objects from the log to a set, as far as they are still there, then call
    /// [`set_updated`](super::TieredMachine::set_updated).
    UpdateSet {
        /// Number of the set.
        set: u32,
    },
}

/// What must follow the removal of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The object is in a segment in memory, from which its entry must be removed.
    Buffered,
    /// The object is on the medium: a restart brings it back unless the removal is recorded.
    OnMedium,
}
