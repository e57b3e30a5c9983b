//! A flash image as a block device: the store behind an export, at full speed or in the time that
//! the simulated flash would take; a plain file in the time of simulated disks ([`DiskFile`]); and
//! what they tell of themselves.
//!
//! The store carries operations out and knows no time; the simulated die groups know time and no
//! bytes. Here both come together: with [`Pace::Real`] each operation that the store issues takes
//! bus and die in simulation, and the layer hears that it is done, so that the client is answered,
//! when that time has come.
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
mod threads;
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
