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

use crate::error::ClusterError;
use crate::space::storage::DEFAULT_DEPTH;
use crate::trace::extents::{EXTENT, ExtentRanks, ExtentSet};
use crate::trace::requests::{MadeUpSums, Requests};
use gordon_blockio::{Device, IoOp, PREFETCH_STAGES, Request, SECTOR, Usage};
use gordon_sim::InOrderHost;
use gordon_trace::{BlockFlags, BlockIo};
use gordon_units::{Bytes, Ns, Progress};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
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

/// Number of requests ahead at which a device prefetches, by stage. Simulating a few requests takes
/// longer than a memory access.
const PREFETCH_AHEAD: [usize; PREFETCH_STAGES] = [8, 1];

/// The extents that a trace accesses, found in a first pass over its requests.
#[derive(Clone, Debug, Default)]
pub struct StorageFootprint {
    /// Extents of all reads.
    read: ExtentSet,
    /// Extents of all writes.
    written: ExtentSet,
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
        if let Some(sums) = requests.made_up_sums() {
            footprint.add_made_up(&sums);
            return Ok(footprint);
        }
        for batch in requests.batches()? {
            batch?.iter().for_each(|io| footprint.add(io));
        }
        Ok(footprint)
    }

    /// Bytes of the extents that are read or written.
    pub fn touched(&self) -> Bytes {
        Bytes(self.read.union(&self.written).len() * EXTENT)
    }

    /// Synthetic requests are all of one device.
    fn add_made_up(&mut self, sums: &MadeUpSums) {
        self.requests += sums.requests;
        let [read, written] = sums.sectors.map(|sectors| Bytes(sectors.saturating_mul(SECTOR.0)));
        (self.read_bytes, self.write_bytes) = (read, written);
        for (set, (from, to)) in [&mut self.read, &mut self.written].into_iter().zip(sums.ranges) {
            let (start, end) = (from * SECTOR.0, to.saturating_mul(SECTOR.0));
            if start < end {
                set.insert(0, start / EXTENT..end.div_ceil(EXTENT));
                let top = self.ends.entry(0).or_default();
                *top = end.max(*top);
            }
        }
    }

    fn add(&mut self, io: &BlockIo) {
        self.requests += 1;
        if io.sectors == 0 || !matches!(io.op, IoOp::Read | IoOp::Write) {
            return;
        }
        let (start, end) = range(io);
        let top = self.ends.entry(io.device).or_default();
        *top = end.max(*top);
        let extents = start / EXTENT..end.div_ceil(EXTENT);
        match io.op {
            IoOp::Read => {
                self.read.insert(io.device, extents);
                self.read_bytes += Bytes(end - start);
            }
            _ => {
                self.written.insert(io.device, extents);
                self.write_bytes += Bytes(end - start);
            }
        }
    }
}

/// Maps a (device, offset) of the trace to an offset on the simulated device.
#[derive(Clone, Debug)]
pub struct AddressMap {
    capacity: Bytes,
    /// The extents that are moved together, each to its rank. `None` if the trace accesses one
    /// device, which fits: addresses are unchanged.
    ranks: Option<ExtentRanks>,
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
            return Ok(Self { capacity, ranks: None });
        }
        let extents = footprint.read.union(&footprint.written);
        let touched = Bytes(extents.len() * EXTENT);
        if touched > capacity {
            return Err(ClusterError::TooSmall {
                path: path.into(),
                touched,
                capacity,
                storage: storage.into(),
            });
        }
        Ok(Self { capacity, ranks: Some(ExtentRanks::of(extents)) })
    }

    /// Whether the extents are moved together.
    pub fn is_compact(&self) -> bool {
        self.ranks.is_some()
    }

    /// The simulated offset of `offset` on `device`; `None` if it is never read or written.
    fn place(&self, device: u32, offset: u64) -> Option<u64> {
        match &self.ranks {
            None => Some(offset),
            Some(ranks) => {
                let rank = ranks.rank(device, offset / EXTENT)?;
                Some(rank * EXTENT + offset % EXTENT)
            }
        }
    }

    /// The simulated request for a range that is moved as a whole; `None` if it holds no data.
    fn request(&self, op: IoOp, device: u32, start: u64, end: u64) -> Option<Request> {
        let offset = self.place(device, start)?;
        // A discard may extend beyond the extents of the trace; beyond the end of the device there
        // are no data.
        let len = (end - start).min(self.capacity.0.checked_sub(offset)?);
        (len > 0).then_some(Request::new(op, Bytes(offset), Bytes(len)))
    }

    /// The only simulated request for `io`, if there is one: a discard on moved extents is split
    /// ([`discards`](Self::discards)).
    #[inline]
    fn single(&self, io: &BlockIo) -> Option<Request> {
        match io.op {
            IoOp::Flush => Some(Request::FLUSH),
            IoOp::Discard if self.is_compact() => None,
            op => {
                let (start, end) = range(io);
                let durable = op == IoOp::Write && io.flags.contains(BlockFlags::FUA);
                Some(Request { durable, ..self.request(op, io.device, start, end)? })
            }
        }
    }

    /// The simulated requests for a discard on moved extents: one for each extent that holds data.
    fn discards(&self, io: &BlockIo) -> impl Iterator<Item = Request> {
        let ranks = self.ranks.as_ref().filter(|_| io.op == IoOp::Discard);
        let (start, end) = range(io);
        let extents = start / EXTENT..end.div_ceil(EXTENT);
        let touched = ranks.map(|ranks| ranks.set().within(io.device, extents));
        touched.into_iter().flatten().filter_map(move |extent| {
            let start = start.max(extent * EXTENT);
            let end = end.min((extent + 1) * EXTENT);
            self.request(IoOp::Discard, io.device, start, end)
        })
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

/// Replays `requests` on `device`, which is new, except that the data that they read are preloaded.
/// `starts` holds the start of each sample. The device has at least the capacity of `map`.
///
/// # Errors
/// Returns an error if the requests cannot be read, or if a stop is requested.
pub fn replay<D: Device + ?Sized>(
    requests: &Requests<'_>,
    starts: &[Ns],
    footprint: &StorageFootprint,
    map: &AddressMap,
    device: &mut D,
    progress: &Progress,
) -> Result<Replay, ClusterError> {
    for (from, extent) in footprint.read.iter() {
        if let Some(offset) = map.place(from, extent * EXTENT) {
            let len = EXTENT.min(map.capacity.0.saturating_sub(offset));
            device.preload(Bytes(offset), Bytes(len));
        }
    }
    let mut result =
        Replay { costs: vec![StorageCost::default(); starts.len()], ..Replay::default() };
    let mut depths = Depths::default();
    let mut before = device.usage();
    let mut host = InOrderHost::new(device);
    let (mut sample, mut began) = (0, Ns::ZERO);
    let mut singles = Vec::new();
    for batch in requests.batches()? {
        progress.check()?;
        let batch = batch?;
        singles.clear();
        singles.extend(batch.iter().map(|io| map.single(io)));
        for (nth, io) in batch.iter().enumerate() {
            // The last sample that starts at or before the request.
            let mut at = sample;
            while starts.get(at + 1).is_some_and(|start| *start <= io.at) {
                at += 1;
            }
            if at > sample {
                host.drain();
                charge(&mut result, sample, &host, began, &mut before);
                (sample, began) = (at, host.now());
            }
            for (stage, ahead) in PREFETCH_AHEAD.into_iter().enumerate() {
                if let Some(Some(later)) = singles.get(nth + ahead) {
                    host.device().prefetch(later, stage);
                }
            }
            let depth = depths.next(io);
            match singles[nth] {
                Some(request) => host.submit(request, depth),
                None => map.discards(io).for_each(|request| host.submit(request, depth)),
            }
        }
    }
    host.drain();
    charge(&mut result, sample, &host, began, &mut before);
    result.requests = host.requests();
    Ok(result)
}

/// Adds the activity of the device since `began` to the cost of `sample`.
fn charge<D: Device + ?Sized>(
    result: &mut Replay,
    sample: usize,
    host: &InOrderHost<&mut D>,
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
