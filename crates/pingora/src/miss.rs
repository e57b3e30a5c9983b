//! Bodies that are written.

use crate::entry::failed;
use crate::writes::{Ending, Write, Writes};
use async_trait::async_trait;
use bytes::Bytes;
use gordon_objectcache::{Cache, Writer};
use pingora_cache::storage::{HandleMiss, MissFinishType};
use pingora_error::Result;
use std::sync::Arc;

/// A body that is being written. Dropping it stores nothing, and ends its readers with an error.
pub(crate) struct Miss {
    pub cache: Cache,
    pub writes: Arc<Writes>,
    pub write: Arc<Write>,
    /// The identifier of the write, as bytes.
    pub tag: [u8; 8],
    pub writer: Option<Writer>,
}

impl Drop for Miss {
    fn drop(&mut self) {
        self.writes.remove(&self.write);
        self.write.end(Ending::Failed);
    }
}

#[async_trait]
impl HandleMiss for Miss {
    async fn write_body(&mut self, data: Bytes, eof: bool) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Err(failed("write", "it has ended")) };
        writer.write_slice(&data).map_err(|error| failed("write", error))?;
        if writer.is_too_large() {
            // Readers would need all that follows from memory.
            return Err(failed("write", "a block is larger than the cache"));
        }
        self.write.add(data, writer.written());
        if eof {
            self.write.end(Ending::Whole);
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<MissFinishType> {
        let length = usize::try_from(self.write.length()).unwrap_or(usize::MAX);
        let writer = self.writer.take().filter(|_| !self.write.is_purged());
        if let Some(writer) = writer {
            // What is too large for the cache, or is refused, is not found afterwards.
            writer.finish().await.map_err(|error| failed("write", error))?;
            if self.write.is_purged() {
                let deleted = self.cache.delete(&self.write.key).await;
                deleted.map_err(|error| failed("purge", error))?;
            }
        }
        self.write.end(Ending::Whole);
        Ok(MissFinishType::Created(length))
    }

    fn streaming_write_tag(&self) -> Option<&[u8]> {
        Some(&self.tag)
    }
}
