//! What lies below the caches, and what it costs to ask it: a disk's time, or a network's.

use super::config::{BackendKind, Design};
use super::simulated::Simulated;
use gordon_replay::ReplayError;
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
    /// Time that the disk, or the network, had one of these in hand.
    pub busy: Ns,
}

impl Asked {
    /// What was asked after `before`.
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

/// A read or a write of keys that lie side by side.
#[derive(Clone, Copy, Debug)]
struct Access {
    write: bool,
    key: u64,
    keys: u64,
    bytes: Bytes,
    /// On a simulated disk.
    place: Bytes,
    /// It reads for the same request of the trace as the access before it.
    within: bool,
    /// Bytes of the same object between the end of the access before it and its own start.
    gap: Option<Bytes>,
}

/// A part of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Size of the object.
    pub object: Bytes,
    /// Where the part starts in it.
    pub from: Bytes,
    pub bytes: Bytes,
    /// Where the part ended that was fetched before it for the same request.
    pub after: Option<Bytes>,
}

/// How long an access takes.
enum Below {
    /// A fixed time, or the bytes' alone where it continues. Within a request of the trace the
    /// bytes between its parts are read, too, where that is faster.
    Disk,
    /// The same for all, under way together.
    Origin,
    /// What a disk takes.
    Simulated(Box<Simulated>),
}

pub(super) struct Backend {
    below: Below,
    latency: Ns,
    rate: Bytes,
    /// Keys are places on a disk, in order.
    in_order: bool,
    free: Ns,
    /// The key, or the place, after the last access.
    after: Option<u64>,
    /// The next fetch is for the same request of the trace as the last.
    pub within: bool,
    /// What is to be written, behind all reads, and from when on.
    queue: VecDeque<(Ns, Access)>,
    room: usize,
    pub asked: Asked,
}

impl Backend {
    /// For things of this unit.
    ///
    /// # Errors
    /// Where there can be no such disk.
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

    /// The shortest time between two fetches of so many bytes, wherever they are; of a simulated
    /// disk the mean.
    pub fn each(&self, bytes: Bytes) -> Ns {
        match &self.below {
            Below::Disk => self.latency + bytes.time_at(self.rate),
            Below::Origin => bytes.time_at(self.rate),
            Below::Simulated(disk) => disk.anywhere(bytes),
        }
    }

    /// The simulated disk, if it is one.
    pub fn simulated(&self) -> Option<&Simulated> {
        if let Below::Simulated(disk) = &self.below { Some(disk) } else { None }
    }

    /// # Errors
    /// Where it was asked for what it cannot have.
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

    /// When an access that may start at `at` ends.
    #[inline]
    fn take(&mut self, at: Ns, access: Access) -> Ns {
        let Access { write, key, keys, bytes, place, within, gap: passed } = access;
        match &mut self.below {
            Below::Origin => {
                // Questions are under way together, answers share the network.
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

    /// What is to be written is, as far as that begins before this time.
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

    /// Fetches keys that lie side by side, at a time to which it was advanced; answers with when
    /// they are there.
    pub fn fetch(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.asked.reads += 1;
        self.asked.read += bytes;
        let access = self.access(false, key, keys, bytes);
        self.take(at, access)
    }

    /// Fetches a part of an object, at a time to which it was advanced; returns when it is there. A
    /// disk reads over what lies between two parts of one object, where that is faster than another
    /// access.
    pub fn fetch_part(&mut self, at: Ns, key: u64, part: Part) -> Ns {
        let Part { object, from, bytes, after } = part;
        self.asked.reads += 1;
        self.asked.read += bytes;
        let whole = self.access(false, key, 1, object);
        let gap = after.map(|after| from - after);
        self.take(at, Access { bytes, place: whole.place + from, gap, ..whole })
    }

    /// Lets a write wait; answers with when there was room for it.
    pub fn store(&mut self, at: Ns, key: u64, keys: u64, bytes: Bytes) -> Ns {
        self.asked.writes += 1;
        self.asked.written += bytes;
        if matches!(self.below, Below::Origin) {
            // Up the line; what comes down is not delayed by it.
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

    /// All that waits is written; answers with when.
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
