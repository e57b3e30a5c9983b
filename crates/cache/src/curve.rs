//! Miss-ratio curves: the misses of LRU caches of many sizes from one pass, exact or sampled.
//!
//! A request is a hit in every cache that is large enough for its object and all objects requested
//! since ([`Stack`]). With objects of one size this is exactly LRU. With several sizes it is a
//! little better: a cache of whole objects may have free bytes into which the next object does not
//! fit.
//!
//! Sampling is SHARDS (Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC Construction with
//! SHARDS", FAST 2015). It follows objects whose hash is below a threshold, and divides distances
//! and counts by the fraction of such hashes. The rate is fixed, or the number of objects is; then
//! a new object evicts the one with the largest hash, and that hash becomes the threshold. As in
//! SHARDS-adj, the difference between the requests of the trace and those that the sample
//! represents is added to the shortest distance.

use crate::policy::Request;
use crate::stack::Stack;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;

/// Number of requests between the one recorded and the one whose entry is prefetched.
const PREFETCH_DISTANCE: usize = 8;

/// Which objects are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// All objects: the curve is exact.
    All,
    /// Each object with this probability, more than 0 and at most 1.
    Rate(f64),
    /// At most this number of objects, at least 1.
    Objects(usize),
}

/// The misses of a cache of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Size of the cache in bytes.
    pub capacity: u64,
    /// Number of misses; an estimate, hence not an integer, if objects are sampled.
    pub misses: f64,
    /// Bytes requested in misses.
    pub miss_bytes: f64,
}

/// A miss-ratio curve under construction.
#[derive(Debug)]
pub struct Curve {
    stack: Stack,
    /// The largest hash of an object that is followed.
    threshold: u64,
    /// With [`Sample::Objects`], the maximum number of objects, and the followed objects by hash.
    kept: Option<(usize, BinaryHeap<(u64, u64)>)>,
    capacities: Vec<u64>,
    /// Hits, and their bytes, in the cache of each capacity that are misses in the next smaller
    /// one. Sums of integers are exact in `f64` up to 2^53.
    hits: Vec<(f64, f64)>,
    /// Requests and bytes that the sample represents.
    represented: (f64, f64),
    requests: u64,
    bytes: u64,
    sampled: u64,
    /// Smallest and largest size of a requested object.
    size_range: (u64, u64),
}

/// The hash that selects the sample: Stafford's mix 13 (2011). It must be independent of the hash
/// of the table.
fn sample_hash(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

impl Curve {
    /// Starts a curve for caches of these sizes in bytes.
    pub fn new(sample: Sample, mut capacities: Vec<u64>) -> Self {
        const ALL: f64 = 18_446_744_073_709_551_616.0;
        capacities.sort_unstable();
        capacities.dedup();
        let threshold = match sample {
            Sample::Rate(rate) => ((rate * ALL) as u64).saturating_sub(1),
            Sample::All | Sample::Objects(_) => u64::MAX,
        };
        let kept = match sample {
            Sample::Objects(most) => Some((most, BinaryHeap::new())),
            Sample::All | Sample::Rate(_) => None,
        };
        Self {
            stack: Stack::new(),
            threshold,
            kept,
            hits: vec![(0.0, 0.0); capacities.len()],
            capacities,
            represented: (0.0, 0.0),
            requests: 0,
            bytes: 0,
            sampled: 0,
            size_range: (u64::MAX, 0),
        }
    }

    /// The fraction of objects that are followed now.
    pub fn rate(&self) -> f64 {
        // The threshold itself is included.
        (self.threshold as f64 + 1.0) / 18_446_744_073_709_551_616.0
    }

    /// Records requests, in order.
    pub fn record(&mut self, requests: &[Request]) {
        for (i, request) in requests.iter().enumerate() {
            if let Some(ahead) = requests.get(i + PREFETCH_DISTANCE)
                && sample_hash(ahead.key) <= self.threshold
            {
                black_box(self.stack.prefetch(ahead.key));
            }
            self.record_one(request);
        }
    }

    fn record_one(&mut self, request: &Request) {
        self.requests += 1;
        self.bytes += request.asked;
        self.size_range =
            (self.size_range.0.min(request.size), self.size_range.1.max(request.size));
        let hash = sample_hash(request.key);
        if hash > self.threshold {
            return;
        }
        self.sampled += 1;
        let weight = 1.0 / self.rate();
        let asked = weight * request.asked as f64;
        self.represented.0 += weight;
        self.represented.1 += asked;
        let Some(found) = self.stack.access(request.key, request.size) else {
            self.limit_objects(hash, request.key);
            return;
        };
        // Without sampling, avoid the product, which would round values above 2^53.
        let above = if weight > 1.0 { (found.above as f64 * weight) as u64 } else { found.above };
        let needed = above.saturating_add(found.own);
        let at = self.capacities.partition_point(|capacity| *capacity < needed);
        if let Some(hits) = self.hits.get_mut(at) {
            *hits = (hits.0 + weight, hits.1 + asked);
        }
    }

    /// Follows a new object, and drops another if there are too many.
    fn limit_objects(&mut self, hash: u64, key: u64) {
        let Some((most, by_hash)) = &mut self.kept else { return };
        by_hash.push((hash, key));
        if by_hash.len() > *most
            && let Some((hash, key)) = by_hash.pop()
        {
            self.threshold = hash.saturating_sub(1);
            self.stack.remove(key);
        }
    }

    /// The misses of each cache, ordered by size.
    pub fn points(&self) -> Vec<CurvePoint> {
        let (requests, bytes) = (self.requests as f64, self.bytes as f64);
        let mut hits = (requests - self.represented.0, bytes - self.represented.1);
        let point = |(capacity, more): (&u64, &(f64, f64))| {
            hits = (hits.0 + more.0, hits.1 + more.1);
            CurvePoint {
                capacity: *capacity,
                misses: (requests - hits.0).clamp(0.0, requests),
                miss_bytes: (bytes - hits.1).clamp(0.0, bytes),
            }
        };
        self.capacities.iter().zip(&self.hits).map(point).collect()
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes requested so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of requests for followed objects.
    pub fn sampled(&self) -> u64 {
        self.sampled
    }

    /// Number of objects that are followed now.
    pub fn objects(&self) -> u64 {
        self.stack.objects
    }

    /// Bytes of all objects, an estimate if they are sampled. A cache of this size misses only the
    /// first request for each object.
    pub fn footprint(&self) -> f64 {
        self.stack.bytes as f64 / self.rate()
    }

    /// Whether all requested objects so far had the same size.
    pub fn has_one_size(&self) -> bool {
        self.size_range.0 >= self.size_range.1
    }

    /// Memory of the curve in bytes.
    pub fn memory(&self) -> usize {
        let heap = self.kept.as_ref().map_or(0, |(_, by_hash)| by_hash.capacity());
        self.stack.memory() + heap * size_of::<(u64, u64)>()
    }
}
