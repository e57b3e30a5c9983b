//! The cache.

use crate::{Checked, Config, Error, Object, Put, Recovery, Stats, Tier, Writer};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A cache of objects. Clones share the same cache.
#[derive(Clone)]
pub struct Cache(Arc<Shared>);

struct Shared {
    config: Config,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: HashMap<Box<[u8]>, Stored>,
    /// Keys by the time of their last use.
    uses: BTreeMap<u64, Box<[u8]>>,
    now: u64,
    stats: Stats,
}

struct Stored {
    used: u64,
    meta: Bytes,
    body: Bytes,
}

/// Memory of an entry, without the bytes of the object.
const ENTRY: u64 = 128;

fn size(key: &[u8], stored: &Stored) -> u64 {
    ENTRY + (2 * key.len() + stored.meta.len() + stored.body.len()) as u64
}

impl State {
    fn remove(&mut self, key: &[u8]) -> bool {
        let Some(stored) = self.objects.remove(key) else { return false };
        self.uses.remove(&stored.used);
        self.stats.dram_bytes -= size(key, &stored);
        true
    }

    fn insert(&mut self, key: &[u8], meta: Bytes, body: Bytes) {
        self.now += 1;
        let stored = Stored { used: self.now, meta, body };
        self.uses.insert(self.now, key.into());
        self.stats.dram_bytes += size(key, &stored);
        self.objects.insert(key.into(), stored);
    }
}

impl Cache {
    /// Opens or creates a cache. Recovery reads metadata only.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid, or the flash cannot be used.
    pub fn open(config: Config) -> Result<(Self, Recovery), Error> {
        if config.flash.is_some() {
            let why = "this version caches in DRAM only".into();
            return Err(Error::Config { key: "flash", why, hint: "no flash".into() });
        }
        if config.trace.is_some() {
            let why = "this version writes no trace".into();
            return Err(Error::Config { key: "trace", why, hint: "no trace".into() });
        }
        let state = Mutex::new(State::default());
        let recovery = Recovery { created: true, clean: true, ..Recovery::default() };
        Ok((Self(Arc::new(Shared { config, state })), recovery))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds an object. The body of an object of at most [`Config::block`] bytes is in memory when
    /// the future resolves; of a larger one it is read by [`Object::read`].
    #[allow(clippy::unused_async)]
    pub async fn get(&self, key: &[u8]) -> Option<Object> {
        let mut state = self.state();
        let state = &mut *state;
        state.stats.requests += 1;
        let Some(stored) = state.objects.get_mut(key) else {
            state.stats.misses += 1;
            return None;
        };
        state.now += 1;
        if let Some(name) = state.uses.remove(&stored.used) {
            state.uses.insert(state.now, name);
        }
        stored.used = state.now;
        state.stats.dram_hits += 1;
        state.stats.dram_hit_bytes += stored.body.len() as u64;
        Some(Object { tier: Tier::Dram, meta: stored.meta.clone(), body: stored.body.clone() })
    }

    /// Stores an object, in DRAM first. It replaces an older one, which never comes back, also
    /// after a crash.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that the older object is gone.
    #[allow(clippy::unused_async)]
    pub async fn put(&self, key: &[u8], meta: &[u8], body: Bytes) -> Result<Put, Error> {
        let mut state = self.state();
        state.remove(key);
        state.stats.puts += 1;
        let bytes = ENTRY + (2 * key.len() + meta.len() + body.len()) as u64;
        if bytes > self.0.config.dram {
            return Ok(Put::TooLarge);
        }
        state.insert(key, Bytes::copy_from_slice(meta), body);
        while state.stats.dram_bytes > self.0.config.dram {
            let Some((_, oldest)) = state.uses.pop_first() else { break };
            state.remove(&oldest);
            state.stats.dram_evictions += 1;
        }
        Ok(Put::Stored)
    }

    /// Stores an object whose body arrives in parts, of this length if it is known.
    #[must_use]
    pub fn writer(&self, key: &[u8], meta: &[u8], length: Option<u64>) -> Writer {
        let body = BytesMut::new();
        Writer { cache: self.clone(), key: key.into(), meta: meta.into(), length, body }
    }

    /// Replaces the metadata of an object. Returns whether there was one.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[allow(clippy::unused_async)]
    pub async fn update_meta(&self, key: &[u8], meta: &[u8]) -> Result<bool, Error> {
        let mut state = self.state();
        let Some(body) = state.objects.get(key).map(|stored| stored.body.clone()) else {
            return Ok(false);
        };
        state.remove(key);
        state.insert(key, Bytes::copy_from_slice(meta), body);
        Ok(true)
    }

    /// Deletes an object, durably. Returns whether there was one.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that the object is gone.
    #[allow(clippy::unused_async)]
    pub async fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        let mut state = self.state();
        let found = state.remove(key);
        state.stats.deletes += u64::from(found);
        Ok(found)
    }

    /// Deletes all objects whose keys start with `prefix`, durably. Returns their number.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that the objects are gone, or cannot read which
    /// objects there are.
    #[allow(clippy::unused_async)]
    pub async fn purge(&self, prefix: &[u8]) -> Result<u64, Error> {
        let mut state = self.state();
        let all: Vec<Box<[u8]>> =
            state.uses.values().filter(|key| key.starts_with(prefix)).cloned().collect();
        all.iter().for_each(|key| {
            state.remove(key);
        });
        state.stats.purged += all.len() as u64;
        Ok(all.len() as u64)
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let state = self.state();
        Stats {
            dram_objects: state.objects.len() as u64,
            dram_capacity: self.0.config.dram,
            admission_rate: 1.0,
            ..state.stats.clone()
        }
    }

    /// Verifies every object in flash. Damaged ones are removed and counted.
    ///
    /// # Errors
    /// Returns an error if the cache cannot record that a damaged object is gone.
    #[allow(clippy::unused_async)]
    pub async fn check(&self) -> Result<Checked, Error> {
        Ok(Checked::default())
    }

    /// Writes to flash what DRAM holds, as far as admission agrees, so that a restart is warm.
    /// Afterwards the cache finds nothing and stores nothing.
    ///
    /// # Errors
    /// Returns an error if the flash cannot be written.
    #[allow(clippy::unused_async)]
    pub async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}
