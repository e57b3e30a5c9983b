//! Objects that were found.

use crate::engine::Engine;
use crate::error::Error;
use crate::format::Fields;
use crate::format::object::{Kind, block_key};
use crate::stats::Tier;
use bytes::{Bytes, BytesMut};
use std::ops::Range;

/// Where the blocks of a large object are.
#[derive(Clone)]
pub(crate) struct Blocks {
    pub engine: Engine,
    pub generation: u64,
    pub length: u64,
    /// Size of a block in bytes.
    pub block: u64,
}

#[derive(Clone)]
pub(crate) enum Body {
    Whole(Bytes),
    Blocks(Blocks),
}

/// An object that was found. It is the one that was stored when it was found, whatever happens to
/// the cache afterwards.
#[derive(Clone)]
pub struct Object {
    pub(crate) tier: Tier,
    pub(crate) meta: Bytes,
    pub(crate) body: Body,
}

impl Blocks {
    /// Reads the body of a head.
    pub fn parse(engine: &Engine, body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let (generation, length, block) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let engine = engine.clone();
        (block > 0).then_some(Self { engine, generation, length, block })
    }

    async fn block(&self, number: u64) -> Option<Bytes> {
        let key = block_key(self.generation, number);
        let (stored, _) = self.engine.find(Kind::Block, &key).await?;
        let expected = self.block.min(self.length - number * self.block);
        (stored.body.len() as u64 == expected).then_some(stored.body)
    }
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
        match &self.body {
            Body::Whole(body) => body.len() as u64,
            Body::Blocks(blocks) => blocks.length,
        }
    }

    /// Whether the body is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the body that are read from flash at a time: a block, or the whole body. Reads that
    /// end at a multiple of it read no block twice.
    #[must_use]
    pub fn block(&self) -> u64 {
        match &self.body {
            Body::Whole(body) => body.len() as u64,
            Body::Blocks(blocks) => blocks.block,
        }
    }

    /// Where the object was found. The blocks of a large object may be in either tier.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Bytes of a range, which is cut off at the end of the body. Only the blocks of the range are
    /// read; a range within a block is not copied. `None` if a block of it is damaged or not in the
    /// cache any more.
    ///
    /// # Errors
    /// Returns an error if the cache was closed.
    pub async fn read(&self, range: Range<u64>) -> Result<Option<Bytes>, Error> {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let blocks = match &self.body {
            Body::Whole(body) => return Ok(Some(body.slice(at(start)..at(end)))),
            Body::Blocks(blocks) => blocks,
        };
        if start == end {
            return Ok(Some(Bytes::new()));
        }
        let size = blocks.block;
        let mut joined = BytesMut::new();
        for number in start / size..=(end - 1) / size {
            blocks.engine.is_usable()?;
            let Some(block) = blocks.block(number).await else { return Ok(None) };
            let first = number * size;
            let part = at(start.max(first) - first)..at(end.min(first + size) - first);
            if part.len() as u64 == end - start {
                return Ok(Some(block.slice(part)));
            }
            joined.extend_from_slice(&block[part]);
        }
        Ok(Some(joined.freeze()))
    }
}
