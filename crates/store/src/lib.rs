//! The translation layer with real bytes: a block device in a NAND image, in a file.
//!
//! [`Store`] is what is served; [`Engine`] is below it, for those who decide themselves when an
//! operation ends. [`Media`] is where bytes are, [`Synced`] the same with syncs that are shared.
//! The bytes of an image: docs/SPEC.md. Why it is made so: docs/design/store.md.

mod ahead;
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
pub mod log;
mod media;
mod mount;
mod repair;
mod salvage;
mod store;
mod survey;
mod synced;
mod telemetry;
mod wear;

pub use check::{Report, check};
pub use device::{
    Device, DeviceError, FtlParams, GeometryParams, Resolved, SECTOR, ShapeParams, VictimPolicy,
};
pub use engine::{Command, Completion, Engine, Moved, Payload};
pub use error::{Fault, ImageError};
pub use export::{Export, export};
pub use faults::{Faults, factory_bad};
pub use fill::fill;
pub use format::table::{Contents, Left, Record, Standing};
pub use image::{Image, Past, Places, is_image};
pub use media::{Backend, File, Job, Media, Memory};
pub use mount::Mounted;
pub use repair::{Repair, repair, repair_on};
pub use store::Store;
pub use synced::{Synced, Syncer};
pub use telemetry::{Counters, DieGroupCounters, Histogram, Telemetry};
pub use wear::{BlockWear, Wear, wear};
