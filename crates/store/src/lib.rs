//! The translation layer with real bytes: a block device in a NAND image, in a file.
//!
//! [`Store`] is what is served; [`Engine`] is below it, for those who decide themselves when an
//! operation ends. [`Media`] is where bytes are, [`SyncTracker`] the same with syncs that are
//! shared. The bytes of an image: docs/SPEC.md. Why it is made so: docs/design/store.md.

mod background_syncer;
mod block_table;
mod buffers;
mod check;
mod checksums;
mod device;
mod engine;
mod error;
mod export;
mod faults;
mod fill;
mod format;
mod image;
mod image_scan;
mod media;
mod mount;
pub mod op_digest;
mod repair;
mod salvage;
mod store;
mod sync_tracker;
mod telemetry;
mod wear;

pub use check::{CheckReport, check};
pub use device::{
    DeviceError, DeviceParams, FtlParams, GeometryParams, ResolvedDevice, SECTOR, ShapeParams,
    VictimPolicy,
};
pub use engine::{Command, CompletedOp, Completion, Engine, Payload};
pub use error::{ImageError, IoError};
pub use export::{ExportReport, export};
pub use faults::{Faults, factory_bad};
pub use fill::fill;
pub use format::table::{BlockHealth, BlockRecord, Contents, ShutdownState};
pub use image::{Image, ImageOffsets, LastShutdown, is_image};
pub use media::{Backend, FileMedia, Job, Media, MemoryMedia};
pub use mount::MountReport;
pub use repair::{RepairReport, repair, repair_on};
pub use store::Store;
pub use sync_tracker::{SyncTracker, Syncer};
pub use telemetry::{Counters, DieGroupCounters, Histogram, Telemetry};
pub use wear::{BlockWear, Wear, wear};
