//! The translation layer with data: a block device in a NAND image, which is a file.
//!
//! [`Store`] is the device to serve. [`RawNand`] is the array without the layer. [`Engine`] is the
//! level below, for drivers that decide when operations complete. [`Media`] stores bytes, and
//! [`SyncTracker`] adds shared syncs to it. The image format is in docs/SPEC.md, the reasons for it
//! in docs/design/store.md.

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
mod offsets;
pub mod op_digest;
mod raw;
mod repair;
mod resolved_device;
mod salvage;
mod store;
mod sync_tracker;
mod telemetry;
mod wear;

pub use check::{CheckReport, check};
pub use device::{DeviceParams, FtlParams, SECTOR};
pub use engine::{Completion, Engine, Payload, TransferredOp};
pub use error::{ImageError, IoError};
pub use export::{ExportReport, export};
pub use faults::{Faults, factory_bad};
pub use fill::fill;
pub use format::table::{BlockHealth, BlockRecord, Contents, ShutdownState};
pub use gordon_blockio::Command;
pub use image::{Image, LastShutdown, is_image};
pub use media::{Backend, FileMedia, Job, Media};
pub use mount::MountReport;
pub use offsets::ImageOffsets;
pub use raw::{RawBlock, RawContents, RawLabel, RawNand, RawWear, WentBad};
pub use repair::{RepairReport, repair, repair_on};
pub use resolved_device::{DeviceError, ResolvedDevice};
pub use store::Store;
pub use sync_tracker::{SyncTracker, Syncer};
pub use telemetry::{Counters, DieGroupCounters, Histogram, Telemetry};
pub use wear::{BlockWear, Wear, wear};
