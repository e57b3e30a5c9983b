//! Bytes in memory, for tests: they can run out of space, and lose what was not synced.

use super::Media;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const CHUNK: u64 = 4096;
/// Contents of one chunk that are kept until a sync.
const VERSIONS: usize = 8;

type Chunks = BTreeMap<u64, Box<[u8]>>;

#[derive(Debug, Default)]
struct MemoryState {
    /// As whoever reads now sees it; what is not there is a hole.
    now: Chunks,
    /// As it was at the last sync, for the chunks that have changed since, and as it was between
    /// some of the changes: the system writes when it likes.
    before: BTreeMap<u64, Vec<Option<Box<[u8]>>>>,
    /// Chunks it may hold.
    room: Option<usize>,
    syncs: u64,
    sync_fails: bool,
    parallel: bool,
    /// A byte that cannot be read.
    bad: Option<u64>,
}

/// Bytes in memory.
#[derive(Debug)]
pub struct MemoryMedia {
    len: AtomicU64,
    state: Mutex<MemoryState>,
}

impl MemoryMedia {
    /// So many, all hole.
    #[must_use]
    pub fn new(len: u64) -> Self {
        Self { len: AtomicU64::new(len), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on no more than so many blocks of 4 KiB are taken; none: no limit.
    pub fn limit(&self, blocks: Option<usize>) {
        self.state().room = blocks;
    }

    /// Blocks of 4 KiB that are there.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.state().now.len()
    }

    /// From now on a sync fails, or not.
    pub fn fail_syncs(&self, fail: bool) {
        self.state().sync_fails = fail;
    }

    /// From now on this byte cannot be read; none: all can.
    pub fn fail_reads(&self, at: Option<u64>) {
        self.state().bad = at;
    }

    /// From now on reads are deferred and done together, or not.
    pub fn read_in_parallel(&self, parallel: bool) {
        self.state().parallel = parallel;
    }

    /// How often it was synced.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// What a killed process leaves: everything.
    #[must_use]
    pub fn survivor(&self) -> Self {
        let state = self.state();
        let (now, parallel) = (state.now.clone(), state.parallel);
        let len = AtomicU64::new(self.len());
        Self { len, state: Mutex::new(MemoryState { now, parallel, ..MemoryState::default() }) }
    }

    /// What a crash of the host leaves: each block of 4 KiB that was not synced as it is now, as it
    /// was at the last sync, or at a time between, as `keep` says: of these it is asked one after
    /// the other.
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

    /// Changes bytes as a failing disk would.
    pub fn damage(&self, at: u64, change: impl FnOnce(&mut u8)) {
        let mut state = self.state();
        let chunk = state.now.entry(at / CHUNK).or_insert_with(fresh);
        change(&mut chunk[within(at)]);
    }

    /// Cut off after so many bytes.
    #[must_use]
    pub fn truncated(&self, len: u64) -> Self {
        let mut survivor = self.survivor();
        survivor.len = AtomicU64::new(len);
        survivor
    }
}

fn fresh() -> Box<[u8]> {
    vec![0; within(CHUNK - 1) + 1].into()
}

/// Where in its chunk; that fits.
fn within(at: u64) -> usize {
    usize::try_from(at % CHUNK).unwrap_or_default()
}

impl MemoryState {
    /// The chunk is about to change.
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
