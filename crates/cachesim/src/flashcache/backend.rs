//! The backend below the caches, and its access times: a disk, or an origin server over a network.

use super::config::{BackendKind, Design};
use super::simulated::Simulated;
use gordon_replay::ReplayError;
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

/// Counters of the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub reads: u64,
    pub read: Bytes,
    pub writes: u64,
    pub written: Bytes,
    /// Reads and writes that continued where the previous access ended.
    pub sequential: u64,
    /// Time during which the disk was busy, or the network transferred data.
    pub busy: Ns,
}

impl Asked {
    /// Counters since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            read: self.read - before.read,
            writes: self.writes - before.writes,
            written: self.written - before.written,
            sequential: self.sequential - before.sequential,
            busy: self.busy - before.busy,
        }
    }
}

/// A read or a write of consecutive keys.
#[derive(Clone, Copy, Debug)]
struct Access {
    write: bool,
    key: u64,
    keys: u64,
    bytes: Bytes,
    /// Start on a simulated disk.
    place: Bytes,
    /// Whether it reads for the same request of the trace as the previous access.
    within: bool,
    /// Bytes of the same object between the end of the previous access and this one; `None` if
    /// there was no previous access to the object.
    gap: Option<Bytes>,
}

/// A part of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Size of the object.
    pub object: Bytes,
    /// Offset of the part in the object.
    pub from: Bytes,
    pub bytes: Bytes,
    /// End of the part that was fetched before it for the same request; `None` for the first part.
    pub after: Option<Bytes>,
}

/// Timing model of the backend.
enum Below {
    /// Fixed latency plus transfer; no latency for a sequential access. Between two parts of one
    /// request of the trace, the disk reads the bytes in between if that is faster than a seek.
    Disk,
    /// Fixed latency for all requests, which overlap.
    Origin,
    /// A simulated disk.
    Simulated(Box<Simulated>),
}

pub(super) struct Backend {
    below: Below,
    latency: Ns,
    rate: Bytes,
    /// Whether keys are consecutive places on a disk.
    in_order: bool,
    free: Ns,
    /// Key, or address, at which the last access ended.
    after: Option<u64>,
    /// Whether the next fetch belongs to the same request of the trace as the last one.
    pub within: bool,
    /// Waiting writes, and since when each waits. All reads have priority.
    queue: VecDeque<(Ns, Access)>,
    room: usize,
    pub asked: Asked,
}

impl Backend {
    /// Creates a backend for a trace of this unit.
    ///
    /// # Errors
    /// Returns an error if the disk is invalid.
    pub fn new(design: &Design, kind: &BackendKind, unit: &str) -> Result<Self, ReplayError> {
        let (disk, origin) = (&design.disk, &design.origin);
        let queue = (*disk.queue).max(1) as usize;
        let (below, latency, rate, room) = match kind {
            BackendKind::Disk => (Below::Disk, *disk.access, *disk.rate_per_s, queue),
            BackendKind::Origin => (Below::Origin, *origin.latency, *origin.rate_per_s, usize::MAX),
            BackendKind::Simulated(device) => {
                let simulated = Box::new(Simulated::new(device, unit)?);
                (Below::Simulated(simulated), Ns::ZERO, *disk.rate_per_s, queue)
            }
        };
        Ok(Self {
            below,
            latency,
            rate,
            in_order: unit == "page",
            free: Ns::ZERO,
            after: None,
            within: false,
            queue: VecDeque::new(),
            room,
            asked: Asked::default(),
        })
    }

    /// Minimum time between two fetches of this size at arbitrary places; for a simulated disk, the
    /// mean time.
    pub fn each(&self, bytes: Bytes) -> Ns {
        match &self.below {
            Below::Disk => self.latency + bytes.time_at(self.rate),
            Below::Origin => bytes.time_at(self.rate),
            Below::Simulated(disk) => disk.anywhere(bytes),
        }
    }

    /// The simulated disk; `None` for other backends.
    pub fn simulated(&self) -> Option<&Simulated> {
        if let Below::Simulated(disk) = &self.below { Some(disk) } else { None }
    }

    /// # Errors
    /// Returns an error if an access was beyond the capacity of the disk.
    pub fn check(&self) -> Result<(), ReplayError> {
        self.simulated().map_or(Ok(()), Simulated::check)
    }

    fn access(&mut self, write: bool, key: u64, keys: u64, bytes: Bytes) -> Access {
        let place = match &mut self.below {
            Below::Simulated(disk) => disk.place(key, bytes),
            Below::Disk | Below::Origin => Bytes::ZERO,
        };
        Access { write, key, keys, bytes, place, within: self.within && !write, gap: None }
    }

    /// Carries out an access that may start at `at`. Returns its end.
    #[inline]
    fn take(&mut self, at: Ns, access: Access) -> Ns {
        let Access { write, key, keys, bytes, place, within, gap: passed } = access;
        match &mut self.below {
            Below::Origin => {
                // Latencies of requests overlap; responses share the network.
                let transfer = bytes.time_at(self.rate);
                self.free = self.free.max(at + self.latency) + transfer;
                self.asked.busy += transfer;
            }
            Below::Disk => {
                let transfer = bytes.time_at(self.rate);
                let goes_on = self.in_order && self.after == Some(key);
                self.asked.sequential += u64::from(goes_on);
                let gap =
                    self.after.filter(|_| self.in_order).and_then(|after| key.checked_sub(after));
                let position = match gap {
                    Some(0) => Ns::ZERO,
                    Some(gap) if within => {
                        let passed = Bytes((bytes.0 / keys.max(1)).saturating_mul(gap));
                        self.latency.min(passed.time_at(self.rate))
                    }
                    _ => {
                        passed.map_or(self.latency, |gap| self.latency.min(gap.time_at(self.rate)))
                    }
                };
                let span = position + transfer;
                self.after = key.checked_add(keys);
                self.asked.busy += span;
                self.free = self.free.max(at) + span;
            }
            Below::Simulated(disk) => {
                let begin = self.free.max(at);
                self.asked.sequential += u64::from(self.after == Some(place.0));
                self.after = place.0.checked_add(bytes.0);
                self.free = disk.take(begin, write, place, bytes);
                self.asked.busy += self.free - begin;
            }
        }
        self.free
    }

    /// Carries out waiting writes that begin before this time.
    #[inline]
    pub fn advance(&mut self, until: Ns) {
        while let Some((ready, write)) = self.queue.front().copied() {
            if self.free.max(ready) >= until {
                return;
            }
            self.queue.pop_front();
            self.take(ready, write);
        }
    }

    /// Fetches consecutive keys at a time up to which the backend was advanced. Returns when they
    /// are available.
    pub fn fetch(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.asked.reads += 1;
        self.asked.read += bytes;
        let access = self.access(false, key, keys, bytes);
        self.take(at, access)
    }

    /// Fetches a part of an object at a time up to which the backend was advanced. Returns when it
    /// is available. Between two parts of one object, a disk reads the bytes in between if that is
    /// faster than another access.
    pub fn fetch_part(&mut self, at: Ns, key: u64, part: Part) -> Ns {
        let Part { object, from, bytes, after } = part;
        self.asked.reads += 1;
        self.asked.read += bytes;
        let whole = self.access(false, key, 1, object);
        let gap = after.map(|after| from - after);
        self.take(at, Access { bytes, place: whole.place + from, gap, ..whole })
    }

    /// Queues a write. Returns when the queue has space for it.
    pub fn store(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.asked.writes += 1;
        self.asked.written += bytes;
        if matches!(self.below, Below::Origin) {
            // Uploads do not delay responses.
            return at;
        }
        let mut room = at;
        while self.queue.len() >= self.room {
            let Some((ready, write)) = self.queue.pop_front() else { break };
            room = room.max(self.take(ready, write));
        }
        let write = self.access(true, key, keys, bytes);
        self.queue.push_back((at, write));
        room
    }

    /// Carries out all waiting writes. Returns when they are done.
    pub fn finish(&mut self) -> Ns {
        while let Some((ready, write)) = self.queue.pop_front() {
            self.take(ready, write);
        }
        if let Below::Simulated(disk) = &mut self.below {
            self.free = disk.finish(self.free);
        }
        self.free
    }
}
