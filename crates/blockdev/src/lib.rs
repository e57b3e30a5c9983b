//! Block devices as exports of an NBD server: flash images ([`ServedImage`]) and plain files that
//! stand for disks ([`DiskFile`]), at full speed or in the time of simulated devices, with status
//! and metrics.
//!
//! The store moves bytes and has no notion of time; the simulated die groups have times and no
//! bytes. With [`Pace::Real`], each operation that the store issues also occupies a bus and dies in
//! the simulation. The translation layer learns that the operation has completed, and the client is
//! answered, when its simulated time has come.
//!
//! docs/design/nbd.md describes the model, what is not simulated, and measurements.
#![forbid(unsafe_code)]

mod block_device;
mod clock;
mod describe;
mod disk;
mod error;
mod idle_worker;
mod lateness;
mod metrics;
mod payload;
mod serving;
mod simulated_timing;
mod status;
mod timed;
mod unthrottled;

pub use describe::{Part, describe};
pub use disk::{DiskFile, DiskPart};
pub use error::{BlockError, DiskFileError};
pub use idle_worker::IdleWorker;
pub use lateness::Lateness;
pub use metrics::Metrics;
pub use serving::{Pace, ServedImage, Serving};
pub use status::{
    Busy, DeviceStatus, DiskStatus, Drives, FlashStatus, HostCounts, Moves, Programmed, Status,
    Utilisation, Wear,
};
