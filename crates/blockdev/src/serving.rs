//! A device that is being served, and how a flash image becomes one.

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

/// How fast it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Full,
    /// In the time that the flash or the disk would take.
    Real,
}

/// An image that is open, as something to serve.
pub struct ServedImage {
    image: Image,
    part: Option<(Timing, Ns, Option<Bytes>)>,
    pace: Pace,
    salvage: bool,
}

/// A device being served.
#[derive(Clone)]
pub struct Serving(pub(crate) Arc<dyn BlockDevice>);

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
            let latency = part.host.latency.as_ref().map_or(Ns::ZERO, |l| **l);
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
    pub fn start_idle_worker(&self) -> Result<IdleWorker, BlockError> {
        Ok(IdleWorker::start(self.0.clone())?)
    }

    /// Writes everything out and leaves the image in order. To be called when no client is left.
    pub fn close(&self) -> Result<(), BlockError> {
        self.0.close()
    }
}
