//! Bodies that are read.

use crate::entry::failed;
use crate::writes::{Ending, Next, Written};
use async_trait::async_trait;
use bytes::Bytes;
use gordon_objectcache::{Cache, Object};
use pingora_cache::CacheKey;
use pingora_cache::storage::{HandleHit, Storage};
use pingora_cache::trace::SpanHandle;
use pingora_error::Result;
use std::any::Any;
use std::ops::Range;
use tokio::sync::watch;

/// A body in the cache, which is read block by block.
pub(crate) struct Complete {
    pub cache: Cache,
    pub key: Vec<u8>,
    pub object: Object,
    /// What is left to read.
    pub range: Range<u64>,
}

impl Complete {
    /// Reads a range of one block. An object that has lost a block is removed.
    async fn read(cache: &Cache, key: &[u8], object: &Object, range: Range<u64>) -> Result<Bytes> {
        match object.read(range).await.map_err(|error| failed("read", error))? {
            Some(bytes) => Ok(bytes),
            None => {
                // If it cannot be removed, the next reader finds the same.
                let _ = cache.delete(key).await;
                Err(failed("read", "a block is damaged or was evicted"))
            }
        }
    }
}

#[async_trait]
impl HandleHit for Complete {
    async fn read_body(&mut self) -> Result<Option<Bytes>> {
        let Range { start, end } = self.range;
        if start >= end {
            return Ok(None);
        }
        let block = self.object.block();
        let end = end.min((start / block + 1) * block);
        let bytes = Self::read(&self.cache, &self.key, &self.object, start..end).await?;
        self.range.start = end;
        Ok(Some(bytes))
    }

    async fn finish(
        self: Box<Self>,
        _: &'static (dyn Storage + Sync),
        _: &CacheKey,
        _: &SpanHandle,
    ) -> Result<()> {
        Ok(())
    }

    fn can_seek(&self) -> bool {
        true
    }

    fn seek(&mut self, start: usize, end: Option<usize>) -> Result<()> {
        let length = self.object.len();
        let start = start as u64;
        if start >= length {
            return Err(failed("seek", format_args!("{start} is not below {length}")));
        }
        self.range = start..end.map_or(length, |end| length.min(end as u64));
        Ok(())
    }

    fn get_eviction_weight(&self) -> usize {
        usize::try_from(self.object.len()).unwrap_or(usize::MAX)
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }

    fn as_any_mut(&mut self) -> &mut (dyn Any + Send + Sync) {
        self
    }
}

/// A body that is still being written.
pub(crate) struct Partial {
    pub written: watch::Receiver<Written>,
    /// Bytes that were read.
    pub at: u64,
}

#[async_trait]
impl HandleHit for Partial {
    async fn read_body(&mut self) -> Result<Option<Bytes>> {
        loop {
            let next = self.written.borrow_and_update().next(self.at);
            let bytes = match next {
                Next::Bytes(bytes) => bytes,
                Next::Blocks(object, range) => {
                    let read = object.read(range).await.map_err(|error| failed("read", error))?;
                    read.ok_or_else(|| failed("read", "a block was evicted"))?
                }
                Next::End(Ending::Whole) => return Ok(None),
                Next::End(Ending::Failed) => return Err(failed("read", "the write has failed")),
                Next::Wait => {
                    // The sender stays until the writer has ended the body.
                    let changed = self.written.changed().await;
                    changed.map_err(|_| failed("read", "the write has failed"))?;
                    continue;
                }
            };
            self.at += bytes.len() as u64;
            return Ok(Some(bytes));
        }
    }

    async fn finish(
        self: Box<Self>,
        _: &'static (dyn Storage + Sync),
        _: &CacheKey,
        _: &SpanHandle,
    ) -> Result<()> {
        Ok(())
    }

    fn should_count_access(&self) -> bool {
        false
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }

    fn as_any_mut(&mut self) -> &mut (dyn Any + Send + Sync) {
        self
    }
}
