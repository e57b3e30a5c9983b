//! Storage time of each sample: its block I/O, replayed on a simulated device.
//!
//! The requests of a sample go to the device in the order the traced machine issued them, with no
//! think time between them: the host's own waiting is part of the CPU's and the network's time. A
//! request is issued when fewer are outstanding than were in the trace at its issue, itself
//! counted, so the host's concurrency is kept (see `Depths`). The sample ends when the device is
//! quiescent, its write cache drained; the device's state (map, head position, cached data) goes
//! on to the next sample. The virtual clock stands still between samples.
//!
//! Where a trace touches several devices, or space past the simulated one's end, the 1 MiB extents
//! it touches are moved together in their order ([`AddressMap`]); distances shrink, order stays.

use crate::demand::sample_at;
use crate::error::ClusterError;
use crate::requests::Requests;
use gordon_blockio::{Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_trace::{BlockIo, BlockOp};
use gordon_units::{Bytes, Ns, Progress};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;

/// What the storage did in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageCost {
    /// From the first request's issue until the device is quiescent.
    pub time: Ns,
    /// How long its parts were at work.
    pub usage: Usage,
}

/// A replay's outcome.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// One for each sample.
    pub costs: Vec<StorageCost>,
    /// Requests replayed.
    pub requests: u64,
    /// Sum of the samples' times.
    pub simulated: Ns,
}

const EXTENT: u64 = 1 << 20;

/// Requests without a measured latency are taken to have been this many deep: a drive's queue.
const DEFAULT_DEPTH: usize = 32;

/// What a trace touches, found in a first pass over its requests.
#[derive(Clone, Debug, Default)]
pub struct StorageFootprint {
    /// (device, extent) of every read and write.
    touched: BTreeSet<(u32, u64)>,
    /// Of those, the ones that are read.
    read: BTreeSet<(u32, u64)>,
    /// End of the last request on each device.
    ends: BTreeMap<u32, u64>,
    /// Requests in all.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Bytes written.
    pub write_bytes: Bytes,
}

/// First byte and end of a request that is not a flush. [`Requests`] bounds both.
fn range(io: &BlockIo) -> (u64, u64) {
    let start = io.sector * SECTOR.0;
    (start, start + u64::from(io.sectors) * SECTOR.0)
}

impl StorageFootprint {
    /// Reads `requests` through.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn of(requests: &Requests<'_>) -> Result<Self, ClusterError> {
        let mut footprint = Self::default();
        for batch in requests.batches()? {
            batch?.iter().for_each(|io| footprint.add(io));
        }
        Ok(footprint)
    }

    fn add(&mut self, io: &BlockIo) {
        self.requests += 1;
        if io.sectors == 0 || !matches!(io.op, BlockOp::Read | BlockOp::Write) {
            return;
        }
        let (start, end) = range(io);
        let top = self.ends.entry(io.device).or_default();
        *top = end.max(*top);
        for extent in start / EXTENT..end.div_ceil(EXTENT) {
            self.touched.insert((io.device, extent));
            if io.op == BlockOp::Read {
                self.read.insert((io.device, extent));
            }
        }
        match io.op {
            BlockOp::Read => self.read_bytes += Bytes(end - start),
            _ => self.write_bytes += Bytes(end - start),
        }
    }
}

/// From a trace's (device, offset) to an offset on the simulated device.
#[derive(Clone, Debug)]
pub enum AddressMap {
    /// One device that fits: addresses stay.
    Identity,
    /// Touched extents moved together: (device, extent) to its rank.
    Compact(BTreeMap<(u32, u64), u64>),
}

impl AddressMap {
    /// The map of what `footprint` touches onto `capacity` bytes.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn new(
        footprint: &StorageFootprint,
        capacity: Bytes,
        path: &Path,
        storage: &str,
    ) -> Result<Self, ClusterError> {
        if footprint.ends.len() <= 1 && footprint.ends.values().all(|end| *end <= capacity.0) {
            return Ok(Self::Identity);
        }
        let touched = Bytes(footprint.touched.len() as u64 * EXTENT);
        if touched > capacity {
            return Err(ClusterError::TooSmall {
                path: path.into(),
                touched,
                capacity,
                storage: storage.into(),
            });
        }
        Ok(Self::Compact(footprint.touched.iter().copied().zip(0..).collect()))
    }

    /// Where `offset` of `device` lies; `None`: nowhere that is read or written.
    fn place(&self, device: u32, offset: u64) -> Option<u64> {
        match self {
            Self::Identity => Some(offset),
            Self::Compact(ranks) => {
                let rank = ranks.get(&(device, offset / EXTENT))?;
                Some(rank * EXTENT + offset % EXTENT)
            }
        }
    }
}

/// How many requests were outstanding at each one's issue, itself counted.
#[derive(Debug, Default)]
struct Depths {
    completions: BinaryHeap<Reverse<Ns>>,
}

impl Depths {
    fn next(&mut self, io: &BlockIo) -> usize {
        while self.completions.peek().is_some_and(|done| done.0 <= io.at) {
            self.completions.pop();
        }
        match io.latency {
            Some(latency) => {
                self.completions.push(Reverse(io.at + latency));
                self.completions.len()
            }
            None => (self.completions.len() + 1).max(DEFAULT_DEPTH),
        }
    }
}

/// A device, a clock, and the requests outstanding.
struct TracePlayer<'a> {
    device: &'a mut dyn Device,
    now: Ns,
    outstanding: usize,
    next_id: u64,
    completed: Vec<Completion>,
}

impl TracePlayer<'_> {
    /// Lets the device do its next thing; false: it is quiescent.
    fn step(&mut self) -> bool {
        let Some(at) = self.device.next_event() else {
            return false;
        };
        self.now = at;
        self.device.step(&mut self.completed);
        self.outstanding -= self.completed.len();
        self.completed.clear();
        true
    }

    fn issue(&mut self, request: Request, depth: usize) {
        while self.outstanding >= depth {
            assert!(self.step(), "a quiescent device owes {} completions", self.outstanding);
        }
        self.device.submit(self.now, self.next_id, request);
        self.next_id += 1;
        self.outstanding += 1;
    }

    fn drain(&mut self) {
        while self.step() {}
        assert_eq!(self.outstanding, 0, "a quiescent device owes completions");
    }
}

/// The requests that `io` becomes: one, but for a discard on moved extents, of which each goes its
/// own way and those that hold nothing are left out.
fn requests_of(io: &BlockIo, map: &AddressMap, capacity: Bytes) -> Vec<Request> {
    let op = match io.op {
        BlockOp::Read => IoOp::Read,
        BlockOp::Write => IoOp::Write,
        BlockOp::Discard => IoOp::Discard,
        BlockOp::Flush => {
            return vec![Request { op: IoOp::Flush, offset: Bytes::ZERO, len: Bytes::ZERO }];
        }
    };
    let (start, end) = range(io);
    let piece = |start: u64, end: u64| {
        let offset = map.place(io.device, start)?;
        // A discard may reach past what the trace touches; what is past the end holds nothing.
        let len = (end - start).min(capacity.0.checked_sub(offset)?);
        (len > 0).then_some(Request { op, offset: Bytes(offset), len: Bytes(len) })
    };
    match (io.op, map) {
        (BlockOp::Discard, AddressMap::Compact(ranks)) => ranks
            .range((io.device, start / EXTENT)..(io.device, end.div_ceil(EXTENT)))
            .filter_map(|(&(_, extent), _)| {
                piece(start.max(extent * EXTENT), end.min((extent + 1) * EXTENT))
            })
            .collect(),
        _ => piece(start, end).into_iter().collect(),
    }
}

/// Replays `requests` on `device`, which is fresh but for what they read: that is preloaded.
/// `starts` are the samples' starts.
///
/// # Errors
/// Where they cannot be read, or a stop.
pub fn replay(
    requests: &Requests<'_>,
    starts: &[Ns],
    footprint: &StorageFootprint,
    map: &AddressMap,
    device: &mut dyn Device,
    progress: &Progress,
) -> Result<Replay, ClusterError> {
    for &(from, extent) in &footprint.read {
        if let Some(offset) = map.place(from, extent * EXTENT) {
            let len = EXTENT.min(device.capacity().0.saturating_sub(offset));
            device.preload(Bytes(offset), Bytes(len));
        }
    }
    let capacity = device.capacity();
    let mut result =
        Replay { costs: vec![StorageCost::default(); starts.len()], ..Replay::default() };
    let mut depths = Depths::default();
    let mut player =
        TracePlayer { device, now: Ns::ZERO, outstanding: 0, next_id: 0, completed: Vec::new() };
    let (mut sample, mut began, mut before) = (0, Ns::ZERO, player.device.usage());
    for batch in requests.batches()? {
        progress.check()?;
        for io in &batch? {
            let at = sample_at(starts, io.at).max(sample);
            if at > sample {
                player.drain();
                charge(&mut result, sample, &player, began, &mut before);
                (sample, began) = (at, player.now);
            }
            let depth = depths.next(io);
            for request in requests_of(io, map, capacity) {
                player.issue(request, depth);
            }
        }
    }
    player.drain();
    charge(&mut result, sample, &player, began, &mut before);
    result.requests = player.next_id;
    Ok(result)
}

/// Books what the device did since `began` on `sample`.
fn charge(
    result: &mut Replay,
    sample: usize,
    player: &TracePlayer<'_>,
    began: Ns,
    before: &mut Usage,
) {
    let after = player.device.usage();
    if let Some(cost) = result.costs.get_mut(sample) {
        cost.time += player.now - began;
        cost.usage.read += after.read - before.read;
        cost.usage.write += after.write - before.write;
        cost.usage.controller += after.controller - before.controller;
        result.simulated += player.now - began;
    }
    *before = after;
}
