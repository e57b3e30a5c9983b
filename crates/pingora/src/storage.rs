//! The storage.

use crate::entry::{decode, encode, failed, key};
use crate::hit::{Complete, Partial};
use crate::miss::Miss;
use crate::writes::{Write, Writes};
use async_trait::async_trait;
use gordon_objectcache::Cache;
use pingora_cache::eviction::CacheEntryKey;
use pingora_cache::key::CompactCacheKey;
use pingora_cache::storage::{
    HitHandler, MissHandler, PurgeOutcome, PurgeTarget, PurgeType, Storage,
};
use pingora_cache::trace::SpanHandle;
use pingora_cache::{CacheKey, CacheMeta};
use pingora_error::Result;
use std::any::Any;
use std::sync::Arc;
use std::time::SystemTime;

/// Storage of Pingora's HTTP cache in DRAM and flash.
///
/// The cache is bounded by itself: no eviction manager is needed, and objects may be gone at any
/// time. A damaged object is a miss. What was purged does not come back after a crash.
pub struct ObjectStorage {
    cache: Cache,
    writes: Arc<Writes>,
}

/// A lookup's result.
type Found = Option<(CacheMeta, HitHandler)>;

impl ObjectStorage {
    /// The storage on a cache.
    #[must_use]
    pub fn new(cache: Cache) -> Self {
        Self { cache, writes: Arc::default() }
    }

    /// The cache: its statistics, and its [`close`](Cache::close), which writes the content of DRAM
    /// to flash before the process ends.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Deletes all variants of a key, durably. Returns the number of those in memory.
    ///
    /// # Errors
    /// The cache cannot record that the objects are gone, or was closed.
    pub async fn purge_variants(&self, key: &CompactCacheKey) -> Result<u64> {
        let primary = key.primary;
        self.writes.purge(|key| key.starts_with(&primary));
        self.cache.purge(&primary).await.map_err(|error| failed("purge", error))
    }

    fn partial(write: &Write) -> Result<Found> {
        let meta = decode(&write.meta)?;
        Ok(Some((meta, Box::new(Partial { written: write.subscribe(), at: 0 }))))
    }
}

/// The key of an entry; `None` if it has an identifier, because this storage gives none.
fn target_key(target: PurgeTarget<'_>) -> Option<Vec<u8>> {
    match target {
        PurgeTarget::Active(found) | PurgeTarget::Exact(CacheEntryKey::KeyOnly(found)) => {
            Some(key(found))
        }
        PurgeTarget::Exact(CacheEntryKey::Identified { .. }) => None,
    }
}

#[async_trait]
impl Storage for ObjectStorage {
    /// Finds the latest write in progress, so that what is fetched again is seen at once; otherwise
    /// the object in the cache.
    async fn lookup(&'static self, asked: &CacheKey, _: &SpanHandle) -> Result<Found> {
        let key = key(asked);
        if let Some(write) = self.writes.latest(&key) {
            return Self::partial(&write);
        }
        let Some(object) = self.cache.get(&key).await else { return Ok(None) };
        // Metadata of another version of Pingora are those of no object.
        let Ok(meta) = decode(object.meta()) else { return Ok(None) };
        let range = 0..object.len();
        let cache = self.cache.clone();
        Ok(Some((meta, Box::new(Complete { cache, key, object, range }))))
    }

    async fn lookup_streaming_write(
        &'static self,
        asked: &CacheKey,
        streaming_write_tag: Option<&[u8]>,
        trace: &SpanHandle,
    ) -> Result<Found> {
        let Some(tag) = streaming_write_tag else { return self.lookup(asked, trace).await };
        let id = tag.try_into().map(u64::from_le_bytes).ok();
        let write = id.and_then(|id| self.writes.find(&key(asked), id));
        write.map_or(Ok(None), |write| Self::partial(&write))
    }

    async fn get_miss_handler(
        &'static self,
        asked: &CacheKey,
        meta: &CacheMeta,
        _: &SpanHandle,
    ) -> Result<MissHandler> {
        let key = key(asked);
        let meta = encode(meta)?;
        let writer = Some(self.cache.writer(&key, &meta, None));
        let write = self.writes.start(key, meta);
        let (cache, writes) = (self.cache.clone(), Arc::clone(&self.writes));
        let tag = write.id.to_le_bytes();
        Ok(Box::new(Miss { cache, writes, write, tag, writer }))
    }

    async fn purge(
        &'static self,
        target: PurgeTarget<'_>,
        _: PurgeType,
        _: &SpanHandle,
    ) -> Result<PurgeOutcome> {
        let Some(key) = target_key(target) else { return Ok(PurgeOutcome::NotFound) };
        let was_written = self.writes.purge(|found| found == key);
        let deleted = self.cache.delete(&key).await.map_err(|error| failed("purge", error))?;
        let is_found = was_written || deleted;
        Ok(if is_found { PurgeOutcome::Purged(None) } else { PurgeOutcome::NotFound })
    }

    async fn expire(
        &'static self,
        target: PurgeTarget<'_>,
        _: &SpanHandle,
    ) -> Result<PurgeOutcome> {
        let Some(key) = target_key(target) else { return Ok(PurgeOutcome::NotFound) };
        let now = SystemTime::now();
        let expired = |meta: &[u8]| {
            let mut meta = decode(meta).ok()?;
            meta.expire_at(now);
            encode(&meta).ok()
        };
        let changed = self.cache.change_meta(&key, expired).await;
        let is_found = changed.map_err(|error| failed("purge", error))?;
        Ok(if is_found { PurgeOutcome::Expired } else { PurgeOutcome::NotFound })
    }

    async fn update_meta(
        &'static self,
        asked: &CacheKey,
        meta: &CacheMeta,
        _: &SpanHandle,
    ) -> Result<bool> {
        let updated = self.cache.update_meta(&key(asked), &encode(meta)?).await;
        updated.map_err(|error| failed("metadata", error))
    }

    fn support_streaming_partial_write(&self) -> bool {
        true
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync + 'static) {
        self
    }
}
