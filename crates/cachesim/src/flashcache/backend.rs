//! The backend below the caches, and its access times: a disk, or an origin server over a network.

use super::config::{BackendKind, Design};
use super::simulated::Simulated;
use gordon_replay::ReplayError;
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BackendCounters {
    pub reads: u64,
    pub read: Bytes,
    pub writes: u64,
    pub written: Bytes,
    /// Reads and writes that continued where the previous access ended.
    pub sequential: u64,
    /// Time during which the disk was busy, or the network transferred data.
    pub busy: Ns,
}

gordon_units::fieldwise!(BackendCounters { reads, read, writes, written, sequential, busy });

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
    same_request: bool,
    /// Bytes of the same object between the end of the previous access and this one; `None` if
    /// there was no previous access to the object.
    gap: Option<Bytes>,
}

/// A part of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectPart {
    /// Size of the object.
    pub object: Bytes,
    /// Offset of the part in the object.
    pub from: Bytes,
    pub bytes: Bytes,
    /// End of the part that was fetched before it for the same request; `None` for the first part.
    pub after: Option<Bytes>,
}

/// Timing model of the backend.
enum BackendModel {
    /// Fixed latency plus transfer; no latency for a sequential access. Between two parts of one
    /// request of the trace, the disk reads the bytes in between if that is faster than a seek.
    Disk,
    /// Fixed latency for all requests, which overlap.
    Origin,
    /// A simulated disk.
    Simulated(Box<Simulated>),
}

pub(super) struct Backend {
    model: BackendModel,
    latency: Ns,
    rate: Bytes,
    /// Whether keys are consecutive places on a disk.
    in_order: bool,
    free: Ns,
    /// Key, or address, at which the last access ended.
    after: Option<u64>,
    /// Whether the next fetch belongs to the same request of the trace as the last one.
    pub same_request: bool,
    /// Waiting writes, and since when each waits. All reads have priority.
    queue: VecDeque<(Ns, Access)>,
    queue_limit: usize,
    pub counters: BackendCounters,
}

impl Backend {
    /// Creates a backend for a trace of this unit.
    ///
    /// # Errors
    /// Returns an error if the disk is invalid.
    pub fn new(design: &Design, kind: &BackendKind, unit: &str) -> Result<Self, ReplayError> {
        let (disk, origin) = (&design.disk, &design.origin);
        let queue = (*disk.queue).max(1) as usize;
        let (model, latency, rate, queue_limit) = match kind {
            BackendKind::Disk => (BackendModel::Disk, *disk.access, *disk.rate_per_s, queue),
            BackendKind::Origin => {
                (BackendModel::Origin, *origin.latency, *origin.rate_per_s, usize::MAX)
            }
            BackendKind::Simulated(device) => {
                let simulated = Box::new(Simulated::new(device, unit)?);
                (BackendModel::Simulated(simulated), Ns::ZERO, *disk.rate_per_s, queue)
            }
        };
        Ok(Self {
            model,
            latency,
            rate,
            in_order: unit == "page",
            free: Ns::ZERO,
            after: None,
            same_request: false,
            queue: VecDeque::new(),
            queue_limit,
            counters: BackendCounters::default(),
        })
    }

    /// Minimum time between two fetches of this size at arbitrary places; for a simulated disk, the
    /// mean time.
    pub fn fetch_interval(&self, bytes: Bytes) -> Ns {
        match &self.model {
            BackendModel::Disk => self.latency + bytes.time_at(self.rate),
            BackendModel::Origin => bytes.time_at(self.rate),
            BackendModel::Simulated(disk) => disk.mean_random_read(bytes),
        }
    }

    /// The simulated disk; `None` for other backends.
    pub fn simulated(&self) -> Option<&Simulated> {
        if let BackendModel::Simulated(disk) = &self.model { Some(disk) } else { None }
    }

    /// # Errors
    /// Returns an error if an access was beyond the capacity of the disk.
    pub fn check(&self) -> Result<(), ReplayError> {
        self.simulated().map_or(Ok(()), Simulated::check)
    }

    fn access(&mut self, write: bool, key: u64, keys: u64, bytes: Bytes) -> Access {
        let place = match &mut self.model {
            BackendModel::Simulated(disk) => disk.place(key, bytes),
            BackendModel::Disk | BackendModel::Origin => Bytes::ZERO,
        };
        Access {
            write,
            key,
            keys,
            bytes,
            place,
            same_request: self.same_request && !write,
            gap: None,
        }
    }

    /// Carries out an access that may start at `at`. Returns its end.
    #[inline]
    fn carry_out(&mut self, at: Ns, access: Access) -> Ns {
        let Access { write, key, keys, bytes, place, same_request, gap: passed } = access;
        match &mut self.model {
            BackendModel::Origin => {
                // Latencies of requests overlap; responses share the network.
                let transfer = bytes.time_at(self.rate);
                self.free = self.free.max(at + self.latency) + transfer;
                self.counters.busy += transfer;
            }
            BackendModel::Disk => {
                let transfer = bytes.time_at(self.rate);
                let goes_on = self.in_order && self.after == Some(key);
                self.counters.sequential += u64::from(goes_on);
                let gap =
                    self.after.filter(|_| self.in_order).and_then(|after| key.checked_sub(after));
                let position = match gap {
                    Some(0) => Ns::ZERO,
                    Some(gap) if same_request => {
                        let passed = Bytes((bytes.0 / keys.max(1)).saturating_mul(gap));
                        self.latency.min(passed.time_at(self.rate))
                    }
                    _ => {
                        passed.map_or(self.latency, |gap| self.latency.min(gap.time_at(self.rate)))
                    }
                };
                let span = position + transfer;
                self.after = key.checked_add(keys);
                self.counters.busy += span;
                self.free = self.free.max(at) + span;
            }
            BackendModel::Simulated(disk) => {
                let begin = self.free.max(at);
                self.counters.sequential += u64::from(self.after == Some(place.0));
                self.after = place.0.checked_add(bytes.0);
                self.free = disk.carry_out(begin, write, place, bytes);
                self.counters.busy += self.free - begin;
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
            self.carry_out(ready, write);
        }
    }

    /// Fetches consecutive keys at a time up to which the backend was advanced. Returns when they
    /// are available.
    pub fn fetch(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.counters.reads += 1;
        self.counters.read += bytes;
        let access = self.access(false, key, keys, bytes);
        self.carry_out(at, access)
    }

    /// Fetches a part of an object at a time up to which the backend was advanced. Returns when it
    /// is available. Between two parts of one object, a disk reads the bytes in between if that is
    /// faster than another access.
    pub fn fetch_part(&mut self, at: Ns, key: u64, part: ObjectPart) -> Ns {
        let ObjectPart { object, from, bytes, after } = part;
        self.counters.reads += 1;
        self.counters.read += bytes;
        let whole = self.access(false, key, 1, object);
        let gap = after.map(|after| from - after);
        self.carry_out(at, Access { bytes, place: whole.place + from, gap, ..whole })
    }

    /// Queues a write. Returns when the queue has space for it.
    pub fn store(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.counters.writes += 1;
        self.counters.written += bytes;
        if matches!(self.model, BackendModel::Origin) {
            // Uploads do not delay responses.
            return at;
        }
        let mut space_at = at;
        while self.queue.len() >= self.queue_limit {
            let Some((ready, write)) = self.queue.pop_front() else { break };
            space_at = space_at.max(self.carry_out(ready, write));
        }
        let write = self.access(true, key, keys, bytes);
        self.queue.push_back((at, write));
        space_at
    }

    /// Carries out all waiting writes. Returns when they are done.
    pub fn finish(&mut self) -> Ns {
        while let Some((ready, write)) = self.queue.pop_front() {
            self.carry_out(ready, write);
        }
        if let BackendModel::Simulated(disk) = &mut self.model {
            self.free = disk.finish(self.free);
        }
        self.free
    }
}
