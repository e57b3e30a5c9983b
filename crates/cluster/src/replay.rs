//! Storage time of each sample: its block I/O, replayed on a simulated device.
//!
//! The requests of a sample are submitted in the order of the trace, without think time: the host's
//! own delays are part of the processor and network times. A request is issued when fewer requests
//! are outstanding than in the trace at its issue, including itself, so the host's concurrency is
//! preserved (see `Depths`). A sample ends when the device is quiescent and its write cache is
//! drained. The state of the device (map, head position, cached data) carries over to the next
//! sample. The virtual clock stands still between samples.
//!
//! If a trace accesses several devices, or space beyond the end of the simulated one, the 1 MiB
//! extents that it accesses are moved together in their order ([`AddressMap`]); that shortens
//! distances but keeps the order.

use crate::demand::sample_at;
use crate::error::ClusterError;
use crate::requests::Requests;
use gordon_blockio::{Device, IoOp, Request, SECTOR, Usage};
use gordon_sim::InOrderHost;
use gordon_trace::BlockIo;
use gordon_units::{Bytes, Ns, Progress};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;

/// Storage cost of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageCost {
    /// Time from the issue of the first request until the device is quiescent.
    pub time: Ns,
    /// Busy times of the device's parts.
    pub usage: Usage,
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The cost of each sample.
    pub costs: Vec<StorageCost>,
    /// Number of requests replayed.
    pub requests: u64,
    /// Sum of the storage times of all samples.
    pub simulated: Ns,
}

const EXTENT: u64 = 1 << 20;

/// Assumed queue depth at requests without a measured latency: the queue of a drive.
pub(crate) const DEFAULT_DEPTH: usize = 32;

/// The extents that a trace accesses, found in a first pass over its requests.
#[derive(Clone, Debug, Default)]
pub struct StorageFootprint {
    /// (device, extent) of all reads and writes.
    touched: BTreeSet<(u32, u64)>,
    /// (device, extent) of all reads.
    read: BTreeSet<(u32, u64)>,
    /// By device: the highest end of its requests.
    ends: BTreeMap<u32, u64>,
    /// Total number of requests.
    pub requests: u64,
    /// Number of bytes read.
    pub read_bytes: Bytes,
    /// Number of bytes written.
    pub write_bytes: Bytes,
}

/// First byte and end of a request that is not a flush. [`Requests`] limits both.
fn range(io: &BlockIo) -> (u64, u64) {
    let start = io.sector * SECTOR.0;
    (start, start + u64::from(io.sectors) * SECTOR.0)
}

impl StorageFootprint {
    /// Reads all requests.
    ///
    /// # Errors
    /// Returns an error if the requests cannot be read.
    pub fn of(requests: &Requests<'_>) -> Result<Self, ClusterError> {
        let mut footprint = Self::default();
        for batch in requests.batches()? {
            batch?.iter().for_each(|io| footprint.add(io));
        }
        Ok(footprint)
    }

    fn add(&mut self, io: &BlockIo) {
        self.requests += 1;
        if io.sectors == 0 || !matches!(io.op, IoOp::Read | IoOp::Write) {
            return;
        }
        let (start, end) = range(io);
        let top = self.ends.entry(io.device).or_default();
        *top = end.max(*top);
        for extent in start / EXTENT..end.div_ceil(EXTENT) {
            self.touched.insert((io.device, extent));
            if io.op == IoOp::Read {
                self.read.insert((io.device, extent));
            }
        }
        match io.op {
            IoOp::Read => self.read_bytes += Bytes(end - start),
            _ => self.write_bytes += Bytes(end - start),
        }
    }
}

/// Maps a (device, offset) of the trace to an offset on the simulated device.
#[derive(Clone, Debug)]
pub enum AddressMap {
    /// The trace accesses one device, which fits: addresses are unchanged.
    Identity,
    /// The extents are moved together: maps (device, extent) to its rank.
    Compact(BTreeMap<(u32, u64), u64>),
}

impl AddressMap {
    /// Maps the extents in `footprint` to a device of `capacity` bytes.
    ///
    /// # Errors
    /// Returns an error if the extents do not fit.
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

    /// The simulated offset of `offset` on `device`; `None` if it is never read or written.
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

/// The number of requests outstanding at the issue of each request, including itself.
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

/// The simulated requests for `io`: one, except for a discard on moved extents. That is split into
/// one request for each extent, without extents that hold no data.
fn requests_of(io: &BlockIo, map: &AddressMap, capacity: Bytes) -> Vec<Request> {
    let op = io.op;
    if op == IoOp::Flush {
        return vec![Request { op, offset: Bytes::ZERO, len: Bytes::ZERO }];
    }
    let (start, end) = range(io);
    let piece = |start: u64, end: u64| {
        let offset = map.place(io.device, start)?;
        // A discard may extend beyond the extents of the trace; beyond the end of the device there
        // are no data.
        let len = (end - start).min(capacity.0.checked_sub(offset)?);
        (len > 0).then_some(Request { op, offset: Bytes(offset), len: Bytes(len) })
    };
    match (io.op, map) {
        (IoOp::Discard, AddressMap::Compact(ranks)) => ranks
            .range((io.device, start / EXTENT)..(io.device, end.div_ceil(EXTENT)))
            .filter_map(|(&(_, extent), _)| {
                piece(start.max(extent * EXTENT), end.min((extent + 1) * EXTENT))
            })
            .collect(),
        _ => piece(start, end).into_iter().collect(),
    }
}

/// Replays `requests` on `device`, which is new, except that the data that they read are preloaded.
/// `starts` holds the start of each sample.
///
/// # Errors
/// Returns an error if the requests cannot be read, or if a stop is requested.
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
    let mut before = device.usage();
    let mut host = InOrderHost::new(device);
    let (mut sample, mut began) = (0, Ns::ZERO);
    for batch in requests.batches()? {
        progress.check()?;
        for io in &batch? {
            let at = sample_at(starts, io.at).max(sample);
            if at > sample {
                host.drain();
                charge(&mut result, sample, &host, began, &mut before);
                (sample, began) = (at, host.now());
            }
            let depth = depths.next(io);
            for request in requests_of(io, map, capacity) {
                host.submit(request, depth);
            }
        }
    }
    host.drain();
    charge(&mut result, sample, &host, began, &mut before);
    result.requests = host.requests();
    Ok(result)
}

/// Adds the activity of the device since `began` to the cost of `sample`.
fn charge(
    result: &mut Replay,
    sample: usize,
    host: &InOrderHost<&mut dyn Device>,
    began: Ns,
    before: &mut Usage,
) {
    let after = host.device().usage();
    if let Some(cost) = result.costs.get_mut(sample) {
        cost.time += host.now() - began;
        cost.usage += after - *before;
        result.simulated += host.now() - began;
    }
    *before = after;
}
