//! What every served device can do.

use crate::error::BlockError;
use crate::status::Status;
use gordon_nbd::Export;

/// What every way of serving can do.
pub(crate) trait BlockDevice: Export {
    fn status(&self) -> Status;
    /// Lets the layer work in the background; true if there may be more.
    fn idle(&self) -> bool;
    /// Requests taken so far.
    fn taken(&self) -> u64;
    fn close(&self) -> Result<(), BlockError>;
}
