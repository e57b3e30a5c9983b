//! Objects whose bodies arrive in parts.

use crate::{Cache, Error, Put};
use bytes::{Bytes, BytesMut};

/// Stores an object whose body arrives in parts. Dropping it stores nothing.
pub struct Writer {
    pub(crate) cache: Cache,
    pub(crate) key: Box<[u8]>,
    pub(crate) meta: Box<[u8]>,
    pub(crate) length: Option<u64>,
    pub(crate) body: BytesMut,
}

impl Writer {
    /// Appends a part of the body.
    ///
    /// # Errors
    /// Returns an error if the body gets longer than announced.
    pub fn write(&mut self, part: Bytes) -> Result<(), Error> {
        self.body.extend_from_slice(&part);
        let found = self.body.len() as u64;
        match self.length {
            Some(expected) if found > expected => Err(Error::Length { expected, found }),
            _ => Ok(()),
        }
    }

    /// Stores the object.
    ///
    /// # Errors
    /// Returns an error if the body is shorter than announced, or as [`Cache::put`].
    pub async fn finish(self) -> Result<Put, Error> {
        let found = self.body.len() as u64;
        if let Some(expected) = self.length
            && found != expected
        {
            return Err(Error::Length { expected, found });
        }
        self.cache.put(&self.key, &self.meta, self.body.freeze()).await
    }
}
