//! Objects that were found.

use crate::Error;
use bytes::Bytes;
use std::ops::Range;

/// The tier in which an object was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// DRAM.
    Dram,
    /// Flash.
    Flash,
}

/// An object that was found.
#[derive(Clone, Debug)]
pub struct Object {
    pub(crate) tier: Tier,
    pub(crate) meta: Bytes,
    pub(crate) body: Bytes,
}

impl Object {
    /// The metadata.
    #[must_use]
    pub fn meta(&self) -> &[u8] {
        &self.meta
    }

    /// Length of the body in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.body.len() as u64
    }

    /// Whether the body is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the object was found. The blocks of a large object may be in either tier.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Bytes of a range, which is cut off at the end of the body. `None` if a block of it is
    /// damaged or not in the cache any more.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that a damaged block is gone.
    #[allow(clippy::unused_async)]
    pub async fn read(&self, range: Range<u64>) -> Result<Option<Bytes>, Error> {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(Some(self.body.slice(at(start)..at(end))))
    }
}
