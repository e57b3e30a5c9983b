//! Storage in memory, for tests: it can run out of space and lose data that were not synced.

use gordon_store::Media;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const CHUNK: u64 = 4096;
/// Number of versions of a chunk that are kept until a sync.
const VERSIONS: usize = 8;

type Chunks = BTreeMap<u64, Box<[u8]>>;

#[derive(Debug, Default)]
struct MemoryState {
    /// The current contents; chunks that are not present are holes.
    now: Chunks,
    /// By chunk changed since the last sync: its contents at that sync and after some of the
    /// changes, since the system writes data back at any time.
    before: BTreeMap<u64, Vec<Option<Box<[u8]>>>>,
    /// Maximum number of chunks.
    room: Option<usize>,
    syncs: u64,
    sync_fails: bool,
    parallel: bool,
    /// Offset of a byte that is unreadable.
    bad: Option<u64>,
}

/// Storage in memory.
#[derive(Debug)]
pub struct MemoryMedia {
    len: AtomicU64,
    state: Mutex<MemoryState>,
}

impl MemoryMedia {
    /// Storage of `len` bytes, all of it a hole.
    #[must_use]
    pub fn new(len: u64) -> Self {
        Self { len: AtomicU64::new(len), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Limits the storage to this number of 4 KiB blocks; `None` removes the limit.
    pub fn limit(&self, blocks: Option<usize>) {
        self.state().room = blocks;
    }

    /// Number of 4 KiB blocks allocated.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.state().now.len()
    }

    /// Makes syncs fail or succeed.
    pub fn fail_syncs(&self, fail: bool) {
        self.state().sync_fails = fail;
    }

    /// Makes the byte at this offset unreadable; `None` makes all bytes readable.
    pub fn fail_reads(&self, at: Option<u64>) {
        self.state().bad = at;
    }

    /// Makes reads be deferred and done in batches, or not.
    pub fn read_in_parallel(&self, parallel: bool) {
        self.state().parallel = parallel;
    }

    /// Number of syncs so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The contents after a kill of the process, which loses nothing.
    #[must_use]
    pub fn survivor(&self) -> Self {
        let state = self.state();
        let (now, parallel) = (state.now.clone(), state.parallel);
        let len = AtomicU64::new(self.len());
        Self { len, state: Mutex::new(MemoryState { now, parallel, ..MemoryState::default() }) }
    }

    /// The contents after a crash of the host: each 4 KiB block changed since the last sync has its
    /// current contents, those at the last sync, or a version between. `keep` is called for the
    /// versions in turn, and selects one by returning true.
    pub fn crashed(&self, mut keep: impl FnMut() -> bool) -> Self {
        let survivor = self.survivor();
        for (&at, before) in &self.state().before {
            if keep() {
                continue;
            }
            let kept = before.iter().find(|_| keep()).or(before.first());
            let now = &mut survivor.state().now;
            match kept.expect("it was something") {
                Some(bytes) => now.insert(at, bytes.clone()),
                None => now.remove(&at),
            };
        }
        survivor
    }

    /// Changes a byte as a failing disk would.
    pub fn damage(&self, at: u64, change: impl FnOnce(&mut u8)) {
        let mut state = self.state();
        let chunk = state.now.entry(at / CHUNK).or_insert_with(fresh);
        change(&mut chunk[within(at)]);
    }
}

fn fresh() -> Box<[u8]> {
    vec![0; within(CHUNK - 1) + 1].into()
}

/// Offset within the chunk.
fn within(at: u64) -> usize {
    usize::try_from(at % CHUNK).unwrap_or_default()
}

impl MemoryState {
    /// Saves the contents of a chunk that is about to change.
    fn touch(&mut self, chunk: u64) {
        let before = self.before.entry(chunk).or_default();
        if before.len() == VERSIONS {
            before.remove(1);
        }
        before.push(self.now.get(&chunk).cloned());
    }
}

impl Media for MemoryMedia {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    fn read(&self, mut at: u64, mut into: &mut [u8]) -> Result<()> {
        let state = self.state();
        if at + into.len() as u64 > self.len() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if state.bad.is_some_and(|bad| (at..at + into.len() as u64).contains(&bad)) {
            return Err(Error::other("a byte cannot be read"));
        }
        while !into.is_empty() {
            let from = within(at);
            let now = into.len().min(within(CHUNK - 1) + 1 - from);
            let (part, rest) = into.split_at_mut(now);
            match state.now.get(&(at / CHUNK)) {
                Some(chunk) => part.copy_from_slice(&chunk[from..from + now]),
                None => part.fill(0),
            }
            (at, into) = (at + now as u64, rest);
        }
        Ok(())
    }

    fn read_data(&self, mut at: u64, into: &mut [IoSliceMut<'_>]) -> Result<()> {
        for part in into {
            self.read(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    fn is_parallel(&self) -> bool {
        self.state().parallel
    }

    fn write(&self, mut at: u64, mut bytes: &[u8]) -> Result<()> {
        let mut state = self.state();
        if at + bytes.len() as u64 > self.len() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        while !bytes.is_empty() {
            let from = within(at);
            let now = bytes.len().min(within(CHUNK - 1) + 1 - from);
            let chunk = at / CHUNK;
            let full = state.room.is_some_and(|room| state.now.len() >= room);
            if full && !state.now.contains_key(&chunk) {
                return Err(ErrorKind::StorageFull.into());
            }
            state.touch(chunk);
            let held = state.now.entry(chunk).or_insert_with(fresh);
            held[from..from + now].copy_from_slice(&bytes[..now]);
            (at, bytes) = (at + now as u64, &bytes[now..]);
        }
        Ok(())
    }

    fn write_data(&self, mut at: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        for part in parts {
            self.write(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    fn erase(&self, at: u64, len: u64) -> Result<()> {
        let mut state = self.state();
        let chunks: Vec<u64> =
            state.now.range(at / CHUNK..(at + len) / CHUNK).map(|(&chunk, _)| chunk).collect();
        for chunk in chunks {
            state.touch(chunk);
            state.now.remove(&chunk);
        }
        Ok(())
    }

    fn next_data(&self, at: u64) -> Result<u64> {
        let state = self.state();
        let next = state.now.range(at / CHUNK..).next();
        Ok(next.map_or(self.len(), |(&chunk, _)| (chunk * CHUNK).max(at)))
    }

    fn next_hole(&self, at: u64) -> Result<u64> {
        let state = self.state();
        let mut chunks = at / CHUNK..self.len().div_ceil(CHUNK);
        let next = chunks.find(|chunk| !state.now.contains_key(chunk));
        Ok(next.map_or(self.len(), |chunk| (chunk * CHUNK).max(at)))
    }

    fn grow(&self, len: u64) -> Result<()> {
        self.len.fetch_max(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.state();
        if state.sync_fails {
            return Err(Error::other("the medium is gone"));
        }
        state.before.clear();
        state.syncs += 1;
        Ok(())
    }
}
