//! The writes in progress. Readers of a body that is still written get its complete blocks from the
//! cache, and the part since the last complete block from memory: a write holds at most one block
//! and what was written at once.

use bytes::Bytes;
use gordon_objectcache::Object;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Whole,
    Failed,
}

/// What has been written of a body.
#[derive(Default)]
pub(crate) struct Written {
    /// The complete blocks.
    blocks: Option<Object>,
    /// What follows the first `tail_at` bytes.
    tail: Vec<Bytes>,
    tail_at: u64,
    end: u64,
    ending: Option<Ending>,
}

/// The next bytes for a reader.
pub(crate) enum Next {
    Bytes(Bytes),
    /// A range of complete blocks.
    Blocks(Object, std::ops::Range<u64>),
    End(Ending),
    Wait,
}

impl Written {
    /// The bytes from an offset on.
    pub fn next(&self, at: u64) -> Next {
        if let Some(blocks) = self.blocks.as_ref().filter(|_| at < self.tail_at) {
            let end = (at / blocks.block() + 1) * blocks.block();
            return Next::Blocks(blocks.clone(), at..end);
        }
        let mut start = self.tail_at;
        for part in &self.tail {
            let end = start + part.len() as u64;
            if at < end {
                let skipped = usize::try_from(at - start).unwrap_or(usize::MAX);
                return Next::Bytes(part.slice(skipped..));
            }
            start = end;
        }
        self.ending.map_or(Next::Wait, Next::End)
    }

    fn add(&mut self, part: Bytes, blocks: Option<Object>) {
        self.end += part.len() as u64;
        if !part.is_empty() {
            self.tail.push(part);
        }
        let complete = blocks.as_ref().map_or(0, Object::len);
        self.blocks = blocks;
        let is_in_blocks = |tail_at: u64, part: &Bytes| tail_at + part.len() as u64 <= complete;
        while self.tail.first().is_some_and(|part| is_in_blocks(self.tail_at, part)) {
            self.tail_at += self.tail.remove(0).len() as u64;
        }
    }
}

/// A write in progress.
pub(crate) struct Write {
    pub key: Vec<u8>,
    pub id: u64,
    pub meta: Bytes,
    written: watch::Sender<Written>,
    /// The key was purged: the object must not be stored.
    is_purged: AtomicBool,
}

impl Write {
    pub fn add(&self, part: Bytes, blocks: Option<Object>) {
        self.written.send_modify(|written| written.add(part, blocks));
    }

    pub fn end(&self, ending: Ending) {
        self.written.send_modify(|written| {
            written.ending.get_or_insert(ending);
        });
    }

    pub fn length(&self) -> u64 {
        self.written.borrow().end
    }

    pub fn subscribe(&self) -> watch::Receiver<Written> {
        self.written.subscribe()
    }

    pub fn is_purged(&self) -> bool {
        self.is_purged.load(Ordering::Acquire)
    }
}

/// All writes in progress by key, the latest one last.
#[derive(Default)]
pub(crate) struct Writes {
    writes: Mutex<HashMap<Vec<u8>, Vec<Arc<Write>>>>,
    last: Mutex<u64>,
}

impl Writes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Vec<Arc<Write>>>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn start(&self, key: Vec<u8>, meta: Bytes) -> Arc<Write> {
        let id = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last += 1;
            *last
        };
        let (written, _) = watch::channel(Written::default());
        let write =
            Write { key: key.clone(), id, meta, written, is_purged: AtomicBool::new(false) };
        let write = Arc::new(write);
        self.lock().entry(key).or_default().push(Arc::clone(&write));
        write
    }

    /// The latest write of a key.
    pub fn latest(&self, key: &[u8]) -> Option<Arc<Write>> {
        self.lock().get(key)?.last().cloned()
    }

    /// The write of a key with an identifier.
    pub fn find(&self, key: &[u8], id: u64) -> Option<Arc<Write>> {
        self.lock().get(key)?.iter().find(|write| write.id == id).cloned()
    }

    pub fn remove(&self, write: &Write) {
        let mut writes = self.lock();
        if let Some(found) = writes.get_mut(&write.key) {
            found.retain(|other| other.id != write.id);
            if found.is_empty() {
                writes.remove(&write.key);
            }
        }
    }

    /// Keeps the writes of a key, or of all keys that start with it, from being stored and found.
    /// Returns whether there were any.
    pub fn purge(&self, is_purged: impl Fn(&[u8]) -> bool) -> bool {
        let mut found = false;
        self.lock().retain(|key, writes| {
            if !is_purged(key) {
                return true;
            }
            for write in writes {
                write.is_purged.store(true, Ordering::Release);
                found = true;
            }
            false
        });
        found
    }
}
