//! A simulated disk as the backend: placement of the data, and the time of each access.
//!
//! The disk gets one access at a time, like the disk with a fixed access time; waiting accesses
//! wait in front of it, with reads first. Between accesses the disk reads ahead and destages its
//! cache. Pages and requests of a block trace have the addresses of the trace. Objects are placed
//! contiguously in the order of their first accesses, each aligned to a page.

use super::super::PAGE;
use gordon_blockio::{Device, IoOp, Request, SECTOR};
use gordon_hdd::DiskStats;
use gordon_hdd::drive::Drive;
use gordon_replay::ReplayError;
use gordon_replay::disk::{DiskDescription, DiskDevice};
use gordon_replay::results::disk::MechanismTime;
use gordon_sim::InOrderHost;
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Number of reads over which the time of a random read is averaged.
const RANDOM_READS: u64 = 256;
/// 2^64 divided by the golden ratio; its multiples are evenly spread.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Activity of the head of a simulated disk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HeadReport {
    /// Description of the disk.
    pub disk: String,
    /// Placement of the data.
    pub places: &'static str,
    /// Time of the mechanism by activity, including read-ahead and destages.
    pub mechanism_s: MechanismTime,
    /// Number of times the head was positioned.
    pub positionings: u64,
    /// Reads served from the disk's cache alone.
    pub buffer_hits: u64,
    /// Reads whose first sector was in the disk's cache, or being read ahead.
    pub read_ahead_hits: u64,
    /// Energy in joules; `None` if the disk's power is unknown.
    pub energy_j: Option<f64>,
}

impl HeadReport {
    /// Activity since `before`, an earlier report of the same disk.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.mechanism_s = self.mechanism_s - before.mechanism_s;
        self.positionings -= before.positionings;
        self.buffer_hits -= before.buffer_hits;
        self.read_ahead_hits -= before.read_ahead_hits;
        self.energy_j = self.energy_j.zip(before.energy_j).map(|(now, then)| now - then);
        self
    }
}

/// A hasher of keys: one multiplication mixes their bits.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
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

/// Placement of the data.
enum Placement {
    /// Keys are indices of places of this size in bytes.
    Keys(u64),
    /// By first access: start and reserved size of each object, and the next free address.
    First(HashMap<u64, (u64, u64), BuildHasherDefault<KeyHasher>>, u64),
}

pub(super) struct Simulated {
    described: DiskDescription,
    drive: InOrderHost<Drive>,
    placement: Placement,
    wrote: bool,
    /// End of the first access beyond the capacity.
    beyond_capacity: Option<u64>,
}

impl Simulated {
    /// # Errors
    /// Returns an error if the disk is invalid.
    pub fn new(device: &DiskDevice, unit: &str) -> Result<Self, ReplayError> {
        let described = device.description()?;
        let drive = InOrderHost::new(described.drive(None, None)?);
        let placement = match unit {
            "page" => Placement::Keys(PAGE),
            "request" => Placement::Keys(SECTOR.0),
            _ => Placement::First(HashMap::default(), 0),
        };
        Ok(Self { described, drive, placement, wrote: false, beyond_capacity: None })
    }

    /// Address of a key with this number of bytes.
    pub fn place(&mut self, key: u64, bytes: Bytes) -> Bytes {
        let place = match &mut self.placement {
            Placement::Keys(each) => key.saturating_mul(*each),
            Placement::First(known, next) => {
                let room = bytes.0.next_multiple_of(PAGE);
                let found = known.entry(key).or_default();
                // An object that outgrew its reserved size is placed again.
                if found.1 < room {
                    *found = (*next, room);
                    *next += room;
                }
                found.0
            }
        };
        let end = place.saturating_add(bytes.0);
        if end > self.drive.device().capacity().0.next_multiple_of(PAGE) {
            self.beyond_capacity.get_or_insert(end);
            return Bytes::ZERO;
        }
        Bytes(place)
    }

    /// # Errors
    /// Returns an error if an access was beyond the capacity.
    pub fn check(&self) -> Result<(), ReplayError> {
        let Some(end) = self.beyond_capacity else { return Ok(()) };
        let capacity = self.drive.device().capacity();
        let (why, hint) = match self.placement {
            Placement::Keys(_) => (
                format!("the trace asks for byte {end} of it, and it has {capacity}"),
                "a larger disk; of a trace of several devices, --device with one of them",
            ),
            Placement::First(..) => (
                format!("the trace's objects take {}, and it has {capacity}", Bytes(end)),
                "a larger disk",
            ),
        };
        Err(ReplayError::impossible("backend", why, hint))
    }

    /// Carries out an access that begins at `at`, with no other one in progress. Returns its end.
    pub fn carry_out(&mut self, at: Ns, write: bool, place: Bytes, bytes: Bytes) -> Ns {
        let room = self.drive.device().capacity() - place;
        let len = Bytes(bytes.0.next_multiple_of(SECTOR.0)).max(SECTOR).min(room);
        self.wrote |= write;
        self.drive
            .carry_out(at, Request::new(if write { IoOp::Write } else { IoOp::Read }, place, len))
    }

    /// Writes the disk's cache to the medium. Returns when that is done.
    pub fn finish(&mut self, at: Ns) -> Ns {
        let flush = Request::FLUSH;
        if self.wrote { self.drive.carry_out(at, flush) } else { at }
    }

    /// Mean time of sequentially issued random reads of this size.
    pub fn mean_random_read(&self, bytes: Bytes) -> Ns {
        let Ok(drive) = self.described.drive(None, None) else { return Ns::ZERO };
        let drive = InOrderHost::new(drive);
        let capacity = drive.device().capacity();
        let span = u128::from(capacity.0.saturating_sub(bytes.0) / SECTOR.0);
        let mut fresh = Self {
            described: self.described.clone(),
            drive,
            placement: Placement::Keys(1),
            wrote: false,
            beyond_capacity: None,
        };
        let mut now = Ns::ZERO;
        for number in 1..=RANDOM_READS {
            let sector = (u128::from(GOLDEN.wrapping_mul(number)) * span) >> 64;
            now = fresh.carry_out(now, false, SECTOR * sector as u64, bytes);
        }
        Ns(now.0 / RANDOM_READS)
    }

    /// Activity of the head in a run of length `time`.
    pub fn report(&self, time: Ns) -> HeadReport {
        let config = &self.described.config;
        let stats: DiskStats = self.drive.device().stats();
        let energy_use =
            config.power().and_then(|power| self.drive.device().energy_use(power, time, time));
        HeadReport {
            disk: config.summary().to_owned(),
            places: match self.placement {
                Placement::Keys(_) => "where the trace has them",
                Placement::First(..) => "objects in the order in which they are first asked for",
            },
            mechanism_s: MechanismTime::of_one(time, self.drive.device().usage(), &stats),
            positionings: stats.positionings,
            buffer_hits: stats.cache_hits,
            read_ahead_hits: stats.read_ahead_hits,
            energy_j: energy_use
                .map(|energy_use| energy_use.joules.iter().map(|(_, joules)| joules).sum()),
        }
    }
}
