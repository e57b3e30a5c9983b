//! A simulated disk below the caches: where things lie on it, and how long each access takes its
//! head.
//!
//! It is asked for one thing at a time, as the disk of a fixed time is: what waits, waits before
//! it, reads first. Between two accesses it continues by itself: reads ahead, writes what it took
//! into its memory. Pages and requests of a block trace lie where the trace has them, objects side
//! by side in the order in which they are first asked for, each from a page on.

use super::super::PAGE;
use gordon_blockio::{Completion, Device, IoOp, Request, SECTOR};
use gordon_hdd::DiskStats;
use gordon_hdd::drive::Drive;
use gordon_replay::ReplayError;
use gordon_replay::disk::{DiskDescription, DiskDevice};
use gordon_replay::results::disk::Mechanism;
use gordon_units::{Bytes, Ns};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Reads of which the mean is the time of a read anywhere.
const ANYWHERE: u64 = 256;
/// The golden part of 2^64: multiples of it are spread evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the head of a simulated disk did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadReport {
    /// Which disk.
    pub disk: String,
    /// Where things lie on it.
    pub places: &'static str,
    /// How its mechanism spent the run. It also reads ahead, and writes behind.
    pub mechanism_s: Mechanism,
    /// Times that the head was sent somewhere.
    pub positionings: u64,
    /// Reads served from its memory alone.
    pub buffer_hits: u64,
    /// Reads that found the first of their data there, or the head on its way to it.
    pub read_ahead_hits: u64,
    /// Joules; none where nobody has said what the disk draws.
    pub energy_j: Option<f64>,
}

impl HeadReport {
    /// What it did after `before`, an earlier report of the same disk.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        let (now, then) = (&mut self.mechanism_s, &before.mechanism_s);
        now.seek -= then.seek;
        now.rotation -= then.rotation;
        now.transfer -= then.transfer;
        now.idle -= then.idle;
        self.positionings -= before.positionings;
        self.buffer_hits -= before.buffer_hits;
        self.read_ahead_hits -= before.read_ahead_hits;
        self.energy_j = self.energy_j.zip(before.energy_j).map(|(now, then)| now - then);
        self
    }
}

/// Keys are numbers that mean nothing to anybody; one multiplication mixes them.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }
    #[inline]
    fn write_u64(&mut self, key: u64) {
        let mixed = u128::from(self.0 ^ key ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (mixed >> 64) as u64 ^ mixed as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Where things lie.
enum Places {
    /// Keys are places, so many bytes each.
    Keys(u64),
    /// By first appearance: where each thing is and how much room it has, and where the next comes.
    First(HashMap<u64, (u64, u64), BuildHasherDefault<Mix>>, u64),
}

pub(super) struct Simulated {
    described: DiskDescription,
    drive: Drive,
    places: Places,
    /// Accesses so far: each is known by its number.
    accesses: u64,
    completed: Vec<Completion>,
    wrote: bool,
    /// Where something ends that lies past the end of the disk.
    past: Option<u64>,
}

impl Simulated {
    /// # Errors
    /// Where there can be no such disk.
    pub fn new(device: &DiskDevice, unit: &str) -> Result<Self, ReplayError> {
        let described = device.description()?;
        let drive = described.drive(None, None)?;
        let places = match unit {
            "page" => Places::Keys(PAGE),
            "request" => Places::Keys(SECTOR.0),
            _ => Places::First(HashMap::default(), 0),
        };
        let completed = Vec::new();
        Ok(Self { described, drive, places, accesses: 0, completed, wrote: false, past: None })
    }

    /// Where a key lies that has so many bytes, and takes no more than `room`.
    pub fn place(&mut self, key: u64, bytes: Bytes) -> Bytes {
        let place = match &mut self.places {
            Places::Keys(each) => key.saturating_mul(*each),
            Places::First(known, next) => {
                let room = bytes.0.next_multiple_of(PAGE);
                let found = known.entry(key).or_default();
                // What has grown beyond its room is laid again.
                if found.1 < room {
                    *found = (*next, room);
                    *next += room;
                }
                found.0
            }
        };
        let end = place.saturating_add(bytes.0);
        if end > self.drive.capacity().0.next_multiple_of(PAGE) {
            self.past.get_or_insert(end);
            return Bytes::ZERO;
        }
        Bytes(place)
    }

    /// # Errors
    /// Where something lay past the end.
    pub fn check(&self) -> Result<(), ReplayError> {
        let Some(end) = self.past else { return Ok(()) };
        let capacity = self.drive.capacity();
        let (why, hint) = match self.places {
            Places::Keys(_) => (
                format!("the trace asks for byte {end} of it, and it has {capacity}"),
                "a larger disk; of a trace of several devices, --device with one of them",
            ),
            Places::First(..) => (
                format!("the trace's objects take {}, and it has {capacity}", Bytes(end)),
                "a larger disk",
            ),
        };
        Err(ReplayError::impossible("backend", why, hint))
    }

    /// What it does of itself until then.
    fn until(&mut self, at: Ns) {
        while self.drive.next_event().is_some_and(|next| next <= at) {
            self.drive.step(&mut self.completed);
        }
    }

    /// When an access that begins at `at` is answered: nothing else is under way.
    pub fn take(&mut self, at: Ns, write: bool, place: Bytes, bytes: Bytes) -> Ns {
        let room = self.drive.capacity() - place;
        let len = Bytes(bytes.0.next_multiple_of(SECTOR.0)).max(SECTOR).min(room);
        self.wrote |= write;
        self.ask(
            at,
            Request { op: if write { IoOp::Write } else { IoOp::Read }, offset: place, len },
        )
    }

    fn ask(&mut self, at: Ns, request: Request) -> Ns {
        self.until(at);
        self.drive.submit(at, self.accesses, request);
        self.accesses += 1;
        loop {
            self.drive.step(&mut self.completed);
            if let Some(done) = self.completed.pop() {
                return done.at;
            }
        }
    }

    /// What it has in its memory is on the medium; answers with when.
    pub fn finish(&mut self, at: Ns) -> Ns {
        let flush = Request { op: IoOp::Flush, offset: Bytes::ZERO, len: Bytes::ZERO };
        if self.wrote { self.ask(at, flush) } else { at }
    }

    /// The mean time of reads of so many bytes anywhere, one after the other.
    pub fn anywhere(&self, bytes: Bytes) -> Ns {
        let Ok(drive) = self.described.drive(None, None) else { return Ns::ZERO };
        let capacity = drive.capacity();
        let span = u128::from(capacity.0.saturating_sub(bytes.0) / SECTOR.0);
        let mut fresh = Self {
            described: self.described.clone(),
            drive,
            places: Places::Keys(1),
            accesses: 0,
            completed: Vec::new(),
            wrote: false,
            past: None,
        };
        let mut now = Ns::ZERO;
        for number in 1..=ANYWHERE {
            let sector = (u128::from(GOLDEN.wrapping_mul(number)) * span) >> 64;
            now = fresh.take(now, false, SECTOR * sector as u64, bytes);
        }
        Ns(now.0 / ANYWHERE)
    }

    /// What it did in a run that took so long.
    pub fn report(&self, time: Ns) -> HeadReport {
        let config = &self.described.config;
        let stats: DiskStats = self.drive.stats();
        let drawn = config.power().and_then(|power| self.drive.drawn(power, time, time));
        HeadReport {
            disk: config.summary().to_owned(),
            places: match self.places {
                Places::Keys(_) => "where the trace has them",
                Places::First(..) => "objects in the order in which they are first asked for",
            },
            mechanism_s: Mechanism::of_one(time, self.drive.usage(), &stats),
            positionings: stats.positionings,
            buffer_hits: stats.cache_hits,
            read_ahead_hits: stats.read_ahead_hits,
            energy_j: drawn.map(|drawn| drawn.joules.iter().map(|(_, joules)| joules).sum()),
        }
    }
}
