//! What lies below the caches, and what it costs to ask it: a disk's time, or a network's.

use super::config::{BackendKind, Design};
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

/// What was asked of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub reads: u64,
    pub read: Bytes,
    pub writes: u64,
    pub written: Bytes,
    /// Reads and writes that went on where the one before them ended.
    pub sequential: u64,
    /// Time that the disk's arm, or the network, was taken.
    pub busy: Ns,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    ready: Ns,
    key: u64,
    keys: u64,
    bytes: Bytes,
}

pub(super) struct Backend {
    kind: BackendKind,
    latency: Ns,
    rate: Bytes,
    /// Keys are places on a disk, in order.
    in_order: bool,
    free: Ns,
    /// The key after the last access.
    after: Option<u64>,
    /// What is to be written, behind all reads.
    queue: VecDeque<Write>,
    room: usize,
    pub asked: Asked,
}

impl Backend {
    pub fn new(design: &Design, kind: BackendKind, in_order: bool) -> Self {
        let (latency, rate, room) = match kind {
            BackendKind::Disk => {
                let disk = &design.disk;
                (*disk.access, *disk.rate_per_s, (*disk.queue).max(1) as usize)
            }
            BackendKind::Origin => (*design.origin.latency, *design.origin.rate_per_s, usize::MAX),
        };
        Self {
            kind,
            latency,
            rate,
            in_order,
            free: Ns::ZERO,
            after: None,
            queue: VecDeque::new(),
            room,
            asked: Asked::default(),
        }
    }

    /// The shortest time between two fetches of so many bytes, wherever they are.
    pub fn each(&self, bytes: Bytes) -> Ns {
        let latency = if self.kind == BackendKind::Disk { self.latency } else { Ns::ZERO };
        latency + bytes.time_at(self.rate)
    }

    /// When an access that may start at `at` ends.
    #[inline]
    fn take(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        let transfer = bytes.time_at(self.rate);
        if self.kind == BackendKind::Origin {
            // Questions are under way together, answers share the network.
            self.free = self.free.max(at + self.latency) + transfer;
            self.asked.busy += transfer;
            return self.free;
        }
        let goes_on = self.in_order && self.after == Some(key);
        self.asked.sequential += u64::from(goes_on);
        let span = if goes_on { transfer } else { self.latency + transfer };
        self.after = key.checked_add(keys);
        self.asked.busy += span;
        self.free = self.free.max(at) + span;
        self.free
    }

    /// What is to be written is, as far as that begins before this time.
    #[inline]
    pub fn advance(&mut self, until: Ns) {
        while let Some(write) = self.queue.front().copied() {
            if self.free.max(write.ready) >= until {
                return;
            }
            self.queue.pop_front();
            self.take(write.ready, write.key, write.keys, write.bytes);
        }
    }

    /// Fetches keys that lie side by side, at a time to which it was advanced; answers with when they
    /// are there.
    pub fn fetch(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.asked.reads += 1;
        self.asked.read += bytes;
        self.take(at, key, keys, bytes)
    }

    /// Lets a write wait; answers with when there was room for it.
    pub fn store(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.asked.writes += 1;
        self.asked.written += bytes;
        if self.kind == BackendKind::Origin {
            // Up the line; what comes down is not delayed by it.
            return at;
        }
        let mut room = at;
        while self.queue.len() >= self.room {
            let Some(write) = self.queue.pop_front() else { break };
            room = room.max(self.take(write.ready, write.key, write.keys, write.bytes));
        }
        self.queue.push_back(Write { ready: at, key, keys, bytes });
        room
    }

    /// All that waits is written; answers with when.
    pub fn finish(&mut self) -> Ns {
        while let Some(write) = self.queue.pop_front() {
            self.take(write.ready, write.key, write.keys, write.bytes);
        }
        self.free
    }
}
