//! Reasons why a flash device is invalid.

use super::spare::Spare;
use gordon_blockio::SECTOR;
use gordon_ftl::{CheckpointError, FtlConfigError};
use gordon_nand::{EnduranceError, GeometryError};
use gordon_units::Bytes;
use thiserror::Error;

/// What is wrong with a capacity that is not a positive multiple of the sector, and the nearest
/// one.
fn sector_hint(capacity: Bytes) -> String {
    let sectors = (capacity.0.saturating_add(SECTOR.0 / 2) / SECTOR.0).max(1);
    format!("not a positive multiple of {SECTOR}; the nearest is {}", SECTOR * sectors)
}

/// Advice for a device without room for garbage collection. `most` is 0 if the array is too small
/// to export anything.
fn room_hint(most: Bytes) -> String {
    if most.0 == 0 {
        "use more blocks, fewer write points or a smaller reserve".into()
    } else {
        format!("export at most {most}, or use fewer write points or a smaller reserve")
    }
}

/// Reason why a flash device is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SsdError {
    /// The array or its super-pages are invalid.
    #[error("flash array: {0}")]
    Geometry(#[from] GeometryError),
    /// The translation layer is configured inconsistently.
    #[error("flash translation layer: {0}")]
    Ftl(#[from] FtlConfigError),
    /// The exported capacity leaves too little for garbage collection.
    #[error(
        "capacity: exporting {exported} of {raw} leaves garbage collection no room; {}",
        room_hint(*most)
    )]
    Room {
        /// Exported capacity, in whole mapping units.
        exported: Bytes,
        /// Raw data capacity of the array.
        raw: Bytes,
        /// Largest capacity that can be exported.
        most: Bytes,
    },
    /// The capacity is too small for the write points and free blocks.
    #[error(
        "capacity: {capacity} leaves no room for write points and free blocks; give at least \
         {least}, or a smaller ftl.write_points"
    )]
    Small {
        /// Requested capacity.
        capacity: Bytes,
        /// Least possible capacity.
        least: Bytes,
    },
    /// The over-provisioning leaves too little for garbage collection.
    #[error(
        "spare: {spare} of {capacity} leaves garbage collection no room; give at least {least}, or \
         a smaller ftl.write_points or ftl.reserve"
    )]
    Spare {
        /// Over-provisioning.
        spare: Spare,
        /// Exported capacity.
        capacity: Bytes,
        /// Least possible over-provisioning, rounded up.
        least: Spare,
    },
    /// The over-provisioning is larger than the array could ever be.
    #[error("spare: {0} of the capacity is more than an array can have; give 0.18 for 18 %")]
    MuchSpare(Spare),
    /// The write buffer is smaller than a logical page.
    #[error(
        "ftl.write_buffer: {buffer} is less than one page of {unit}; give at least that, or 0B for \
         none"
    )]
    Buffer {
        /// Size of the buffer.
        buffer: Bytes,
        /// Size of a logical page.
        unit: Bytes,
    },
    /// The write buffer is larger than the device.
    #[error(
        "ftl.write_buffer: {buffer} is more than the device has ({capacity}); give a part of it"
    )]
    LargeBuffer {
        /// Size of the buffer.
        buffer: Bytes,
        /// Exported capacity.
        capacity: Bytes,
    },
    /// `suspend` without `read_first`.
    #[error(
        "timing.suspend: programs and erases are suspended for reads, which must come first; set \
         timing.read_first = true, or leave it out"
    )]
    Suspend,
    /// `drain` without a write buffer.
    #[error("ftl.drain: there is no write buffer to write out; give ftl.write_buffer a size")]
    NothingDrained,
    /// The capacity is not a positive multiple of the sector.
    #[error("capacity: {0} is {hint}", hint = sector_hint(*.0))]
    Capacity(Bytes),
    /// The exported capacity exceeds the raw capacity.
    #[error(
        "capacity: {exported} is more than the array has ({raw}); export less, because garbage \
         collection needs free blocks"
    )]
    Raw {
        /// Exported capacity.
        exported: Bytes,
        /// Raw capacity of the array.
        raw: Bytes,
    },
    /// The shape of the super-page does not match its size.
    #[error("super_page: a shape of {shape} is not its size, {size}; leave one out or correct it")]
    Shape {
        /// Size that follows from the shape.
        shape: Bytes,
        /// Size in the configuration.
        size: Bytes,
    },
    /// A page or its out-of-band area exceeds 512 KiB: the key.
    #[error("geometry.{0}: more than 512KiB; give the size of one page")]
    Page(&'static str),
    /// The unused blocks are a row of blocks or more.
    #[error(
        "geometry.unused_blocks: {blocks} of the {row} that one block of each plane makes; give a \
         smaller geometry.blocks_per_plane instead"
    )]
    Unused {
        /// Number of unused super-blocks.
        blocks: u32,
        /// Number of super-blocks that one block of each plane makes.
        row: u32,
    },
    /// The endurance parameters are invalid.
    #[error("endurance: {0}")]
    Endurance(#[from] EnduranceError),
    /// The fraction of factory-bad blocks is not in 0..1.
    #[error("endurance.factory_bad: {0} is not a part of the blocks; give 0.02 for 2 %")]
    FactoryBad(String),
    /// The mapping unit does not divide the super-page into whole sectors.
    #[error(
        "super_page.unit: {unit} does not divide super-pages of {size} into whole sectors; give \
         a divisor that is a multiple of {SECTOR}"
    )]
    Unit {
        /// Size of the mapping unit.
        unit: Bytes,
        /// Size of the super-page.
        size: Bytes,
    },
    /// The bytes are not a checkpoint of this device.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
    /// The bandwidth of the host link is below 1000 bytes per second.
    #[error(
        "host.link: fewer than 1000 bytes a second; leave it out for a link that takes no time"
    )]
    Link,
    /// A price or the embodied carbon is below zero.
    #[error("{key}: {value} is below zero; leave it out if it is unknown")]
    Negative {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// The rated life is not above zero.
    #[error("rated_life_years: {0} is not above zero; leave it out if it is unknown")]
    RatedLife(f64),
    /// The time of an operation exceeds an hour: the key.
    #[error("{0}: more than an hour; give the time of one operation, such as 25us")]
    Time(&'static str),
}

impl SsdError {
    /// Whether the device only needs more blocks.
    pub fn wants_room(&self) -> bool {
        matches!(self, Self::Room { .. })
    }

    /// Converts an error of a layer with logical pages of `unit` bytes; page counts become bytes.
    pub(super) fn of(error: FtlConfigError, unit: Bytes) -> Self {
        match error {
            FtlConfigError::NoRoom { exported, raw, most } => {
                Self::Room { exported: unit * exported.into(), raw: unit * raw, most: unit * most }
            }
            other => Self::Ftl(other),
        }
    }
}
