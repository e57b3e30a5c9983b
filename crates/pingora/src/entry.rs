//! Keys and metadata as the cache stores them.

use bytes::{BufMut, Bytes, BytesMut};
use pingora_cache::CacheMeta;
use pingora_cache::key::CacheHashKey;
use pingora_error::{Error, ErrorType, Result};
use std::fmt::Display;

/// The key of an object: the primary hash, then the hash of the variance. All variants of a URL
/// thus have keys that start alike.
pub(crate) fn key(key: &impl CacheHashKey) -> Vec<u8> {
    let mut bytes = key.primary_bin().to_vec();
    if let Some(variance) = key.variance_bin() {
        bytes.extend(variance);
    }
    bytes
}

/// The two parts of the metadata, after the length of the first.
pub(crate) fn encode(meta: &CacheMeta) -> Result<Bytes> {
    let (internal, header) = meta.serialize()?;
    let length = u32::try_from(internal.len()).map_err(|_| failed("metadata", "too long"))?;
    let mut bytes = BytesMut::with_capacity(4 + internal.len() + header.len());
    bytes.put_u32_le(length);
    bytes.extend_from_slice(&internal);
    bytes.extend_from_slice(&header);
    Ok(bytes.freeze())
}

/// Reads metadata. An error if another program wrote them.
pub(crate) fn decode(bytes: &[u8]) -> Result<CacheMeta> {
    let (length, rest) = bytes.split_first_chunk().ok_or_else(|| failed("metadata", "cut off"))?;
    let length = u32::from_le_bytes(*length) as usize;
    let parts = rest.split_at_checked(length);
    let (internal, header) = parts.ok_or_else(|| failed("metadata", "cut off"))?;
    CacheMeta::deserialize(internal, header)
}

/// An error of Pingora.
pub(crate) fn failed(what: &'static str, why: impl Display) -> Box<Error> {
    Error::explain(ErrorType::InternalError, format!("object cache: {what}: {why}"))
}
