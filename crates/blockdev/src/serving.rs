//! Opening a flash image, and the handle of any device that is served.

use crate::block_device::BlockDevice;
use crate::error::BlockError;
use crate::idle_worker::IdleWorker;
use crate::payload::NbdPayload;
use crate::status::Status;
use crate::timed::TimedExport;
use crate::unthrottled::UnthrottledExport;
use gordon_nand::Timing;
use gordon_nbd::Export;
use gordon_ssd::SsdConfig;
use gordon_store::{Backend, Engine, Image, Store};
use gordon_units::{Bytes, Ns};
use std::path::Path;
use std::sync::Arc;

/// The pace at which requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as possible.
    Full,
    /// In the time that the simulated flash or disk takes.
    Real,
}

/// An open image that can be served.
pub struct ServedImage {
    image: Image,
    part: Option<(Timing, Ns, Option<Bytes>)>,
    pace: Pace,
    salvage: bool,
}

/// The handle of a device that is served.
#[derive(Clone)]
pub struct Serving(pub(crate) Arc<dyn BlockDevice>);

impl ServedImage {
    /// Opens an image. `part` gives the times of the flash; without it the status has no busy
    /// times, and the pace is always full. With `salvage` the image is opened read-only, and only
    /// data that can be verified are readable.
    pub fn open(
        path: &Path,
        backend: Backend,
        part: Option<&SsdConfig>,
        pace: Pace,
        salvage: bool,
    ) -> Result<Self, BlockError> {
        let times = |part: &SsdConfig| -> Result<_, BlockError> {
            let (.., timing) = part.parts(0)?;
            let latency = part.host.latency.as_ref().map_or(Ns::ZERO, |l| **l);
            Ok((timing, latency, part.host.link.as_ref().map(|link| **link)))
        };
        let part = part.map(times).transpose()?;
        Ok(Self { image: Image::open(path, backend, !salvage)?, part, pace, salvage })
    }

    /// The open image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Mounts the image: recovery from a power cut ends before the first request is served. Returns
    /// the device and the warnings of the mount.
    pub fn start(self) -> Result<(Serving, Vec<String>), BlockError> {
        let Self { image, part, pace, salvage } = self;
        let open = if salvage { Engine::<NbdPayload>::salvage } else { Engine::<NbdPayload>::open };
        let engine = open(image)?;
        let warnings = engine.mounted().warnings();
        let served: Arc<dyn BlockDevice> = match (pace, part) {
            (Pace::Real, Some(part)) => TimedExport::start(engine, part)?,
            (_, part) => {
                Arc::new(UnthrottledExport::new(Store::new(engine), part.map(|part| part.0))?)
            }
        };
        Ok((Serving(served), warnings))
    }
}

impl Serving {
    /// The export, for a server.
    pub fn export(&self) -> Arc<dyn Export> {
        self.0.clone()
    }

    /// The status of the device now.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Starts a thread for background work in idle time. It ends when the returned guard is
    /// dropped.
    pub fn start_idle_worker(&self) -> Result<IdleWorker, BlockError> {
        Ok(IdleWorker::start(self.0.clone())?)
    }

    /// Writes out everything and closes the device cleanly. No client may be connected.
    pub fn close(&self) -> Result<(), BlockError> {
        self.0.close()
    }
}
