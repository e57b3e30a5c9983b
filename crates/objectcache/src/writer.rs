//! Objects whose bodies arrive in parts.

use crate::body_pool::class;
use crate::engine::Engine;
use crate::error::Error;
use crate::format::object::{Kind, Stored, head_body};
use crate::object::{Blocks, Body, Object};
use crate::stats::{Put, Tier};
use bytes::{Bytes, BytesMut};

/// Stores an object whose body arrives in parts. At most one block is held back; the blocks of a
/// large body enter the cache as they are complete, and are found once the object is. Dropping the
/// writer stores nothing.
pub struct Writer {
    engine: Engine,
    key: Bytes,
    meta: Bytes,
    /// The announced length.
    length: Option<u64>,
    written: u64,
    /// The part of the body that is not in a block yet.
    rest: BytesMut,
    /// Once the body is longer than a block: the generation of its blocks, and their number.
    blocks: Option<(u64, u64)>,
    /// Whether a block did not fit into the cache.
    too_large: bool,
}

impl Writer {
    pub(crate) fn new(engine: &Engine, key: &[u8], meta: &[u8], length: Option<u64>) -> Self {
        Self {
            engine: engine.clone(),
            key: Bytes::copy_from_slice(key),
            meta: Bytes::copy_from_slice(meta),
            length,
            written: 0,
            rest: BytesMut::new(),
            blocks: None,
            too_large: false,
        }
    }

    /// Appends a part of the body.
    ///
    /// # Errors
    /// Returns an error if the body gets longer than announced, or the cache was closed.
    #[allow(clippy::needless_pass_by_value)]
    pub fn write(&mut self, part: Bytes) -> Result<(), Error> {
        self.write_slice(&part)
    }

    /// As [`write`](Self::write).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_slice(&mut self, mut part: &[u8]) -> Result<(), Error> {
        let found = self.written + part.len() as u64;
        if let Some(expected) = self.length
            && found > expected
        {
            return Err(Error::Length { expected, found });
        }
        self.engine.is_usable()?;
        self.written = found;
        let block = self.engine.block();
        while !part.is_empty() && !self.too_large {
            // A body of exactly one block is not a large one.
            if self.rest.len() == block {
                self.end_block();
            }
            if self.rest.is_empty() {
                // At once, as far as the length is known: this memory becomes the body.
                let left = self.length.unwrap_or(found) - (found - part.len() as u64);
                let length = usize::try_from(left).unwrap_or(block).min(block);
                self.rest = self.engine.state().bodies.take(length);
            }
            let now = part.len().min(block - self.rest.len());
            self.rest.extend_from_slice(&part[..now]);
            part = &part[now..];
        }
        Ok(())
    }

    /// The blocks that are in the cache already, as an object, so that what was written can be read
    /// before it is complete. `None` if there are none.
    #[must_use]
    pub fn written(&self) -> Option<Object> {
        let (generation, blocks) = self.blocks?;
        let block = self.engine.block() as u64;
        let engine = self.engine.clone();
        let body = Body::Blocks(Blocks { engine, generation, length: blocks * block, block });
        Some(Object { tier: Tier::Dram, meta: self.meta.clone(), body })
    }

    /// Whether a block did not fit into the cache: nothing will be stored, and what is written from
    /// now on is dropped.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.too_large
    }

    /// Takes the part of the body that is not in a block yet, in memory of its size.
    fn body(&mut self) -> Bytes {
        let rest = std::mem::take(&mut self.rest);
        if rest.capacity() <= class(rest.len()) { rest.freeze() } else { self.engine.copied(&rest) }
    }

    fn end_block(&mut self) {
        let (generation, number) = match self.blocks {
            Some(blocks) => blocks,
            None => (self.engine.new_generation(), 0),
        };
        let body = self.body();
        self.too_large |= !self.engine.put_block(generation, number, body);
        self.blocks = Some((generation, number + 1));
    }

    /// Stores the object.
    ///
    /// # Errors
    /// Returns an error if the body is shorter than announced, or as
    /// [`Cache::put`](crate::Cache::put).
    pub async fn finish(mut self) -> Result<Put, Error> {
        let found = self.written;
        if let Some(expected) = self.length
            && found != expected
        {
            return Err(Error::Length { expected, found });
        }
        let (key, meta) = (self.key.clone(), self.meta.clone());
        let Some((generation, _)) = self.blocks else {
            let body = self.body();
            return self.engine.store(Stored { kind: Kind::Whole, key, meta, body }).await;
        };
        self.end_block();
        if self.too_large {
            // An older object of this key must not be found instead.
            self.engine.delete(&key).await?;
            return Ok(Put::TooLarge);
        }
        let body = head_body(generation, found, self.engine.block() as u64);
        self.engine.store(Stored { kind: Kind::Head, key, meta, body }).await
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cache, Config};

    #[test]
    fn a_body_has_memory_of_its_size_from_its_first_part_on() {
        let config = Config { block: 4096, ..Config::new(1 << 20) };
        let (cache, _) = Cache::open(config).expect("it opens");
        let part = [7; 100];
        for (length, wanted) in [(Some(1000), 1000), (Some(4096), 4096), (Some(9000), 4096)] {
            let mut writer = cache.writer(b"key", b"", length);
            writer.write_slice(&part).expect("it fits");
            let place = writer.rest.as_ptr();
            for _ in 1..10 {
                writer.write_slice(&part).expect("it fits");
            }
            assert_eq!((writer.rest.capacity(), writer.rest.as_ptr()), (wanted, place));
        }
    }
}
