//! The operations that every served device has besides those of an export.

use crate::error::BlockError;
use crate::status::Status;
use gordon_nbd::Export;

/// A device that is served: an export with a status, background work and an orderly end.
pub(crate) trait BlockDevice: Export {
    fn status(&self) -> Status;
    /// Does background work. Returns whether there may be more to do.
    fn idle(&self) -> bool;
    /// Number of requests received since the start, to detect idle time.
    fn taken(&self) -> u64;
    /// Writes out everything and closes the device. No client may be connected.
    fn close(&self) -> Result<(), BlockError>;
}
