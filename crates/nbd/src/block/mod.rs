//! A flash image as a block device: the store behind an export, at full speed or in the time that
//! the simulated flash would take; a plain file in the time of simulated disks ([`DiskFile`]); and
//! what they tell of themselves.
//!
//! The store carries operations out and knows no time; the simulated die groups know time and no
//! bytes. Here both come together: with [`Pace::Real`] each operation that the store issues takes
//! bus and die in simulation, and the layer hears that it is done, so that the client is answered,
//! when that time has come.

mod clock;
mod describe;
mod disk;
mod idle_worker;
mod lateness;
mod metrics;
mod payload;
mod simulated_timing;
mod status;
mod timed;
mod unthrottled;

pub use describe::{Part, describe};
pub use disk::{DiskFile, DiskFileError, DiskPart};
pub use lateness::Lateness;
pub use metrics::Metrics;
pub use status::{
    Busy, DeviceStatus, DiskStatus, Drives, FlashStatus, HostCounts, Moves, Programmed, Status,
    Utilisation, Wear,
};

use crate::export::{Export, ExportInfo};
use gordon_nand::Timing;
use gordon_ssd::{SsdConfig, SsdError};
use gordon_store::{Backend, Engine, Image, ImageError, IoError, Store};
use gordon_units::Bytes;
use payload::NbdPayload;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;
use timed::TimedExport;
use unthrottled::UnthrottledExport;

/// How fast it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Full,
    /// In the time that the flash or the disk would take.
    Real,
}

/// Why a device cannot be served. The text has the hint on its own line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The part that gives the times.
    #[error(transparent)]
    Part(#[from] SsdError),
    /// The part cannot become an image.
    #[error(transparent)]
    Device(#[from] gordon_store::DeviceError),
    /// The file that is to be a disk.
    #[error(transparent)]
    Disk(#[from] DiskFileError),
    /// It could not be left in order.
    #[error("the image could not be left in order: {0}; the next start makes it good")]
    Close(IoError),
    /// The system lacks something.
    #[error("cannot serve: {0}")]
    System(#[from] std::io::Error),
}

/// An image that is open, as something to serve.
pub struct ServedImage {
    image: Image,
    part: Option<(Timing, gordon_units::Ns, Option<Bytes>)>,
    pace: Pace,
    salvage: bool,
}

/// What every way of serving can do.
trait Served: Export {
    fn status(&self) -> Status;
    /// Lets the layer work in the background; true if there may be more.
    fn idle(&self) -> bool;
    /// Requests taken so far.
    fn taken(&self) -> u64;
    fn close(&self) -> Result<(), BlockError>;
}

/// A device being served.
#[derive(Clone)]
pub struct Serving(Arc<dyn Served>);

impl ServedImage {
    /// Opens an image. Without a `part` the status has no flash time. With `salvage` it is opened
    /// to read what can be proved, and nothing is written to it.
    pub fn open(
        path: &Path,
        backend: Backend,
        part: Option<&SsdConfig>,
        pace: Pace,
        salvage: bool,
    ) -> Result<Self, BlockError> {
        let times = |part: &SsdConfig| -> Result<_, BlockError> {
            let (.., timing) = part.parts(0)?;
            let latency = part.host.latency.as_ref().map_or(gordon_units::Ns::ZERO, |l| **l);
            Ok((timing, latency, part.host.link.as_ref().map(|link| **link)))
        };
        let part = part.map(times).transpose()?;
        Ok(Self { image: Image::open(path, backend, !salvage)?, part, pace, salvage })
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Brings the layer up. Nothing is served before what a power cut left is repaired. Returns
    /// what the mount has to report, too.
    pub fn start(self) -> Result<(Serving, Vec<String>), BlockError> {
        let Self { image, part, pace, salvage } = self;
        let open = if salvage { Engine::<NbdPayload>::salvage } else { Engine::<NbdPayload>::open };
        let engine = open(image)?;
        let warnings = engine.mounted().warnings();
        let served: Arc<dyn Served> = match (pace, part) {
            (Pace::Real, Some(part)) => TimedExport::start(engine, part)?,
            (_, part) => {
                Arc::new(UnthrottledExport::new(Store::new(engine), part.map(|part| part.0))?)
            }
        };
        Ok((Serving(served), warnings))
    }
}

impl Serving {
    /// The export.
    pub fn export(&self) -> Arc<dyn Export> {
        self.0.clone()
    }

    /// What it tells of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Lets the layer work while nobody asks for anything, until the returned guard is dropped.
    pub fn start_idle_worker(&self) -> Result<idle_worker::IdleWorker, BlockError> {
        Ok(idle_worker::IdleWorker::start(self.0.clone())?)
    }

    /// Writes everything out and leaves the image in order. To be called when no client is left.
    pub fn close(&self) -> Result<(), BlockError> {
        self.0.close()
    }
}

/// What clients are told of a device.
fn info(engine: &Engine<NbdPayload>) -> ExportInfo {
    let image = engine.image();
    let resolved = image.resolved();
    let unit = image.device().unit;
    ExportInfo {
        minimum: Bytes(gordon_store::SECTOR),
        preferred: Bytes(unit.0.next_power_of_two().clamp(4096, 1 << 20)),
        read_only: engine.is_salvaging(),
        rotational: false,
        ..ExportInfo::new(
            Bytes(u64::from(resolved.config.exported) * unit.0).min(image.device().capacity),
        )
    }
}
