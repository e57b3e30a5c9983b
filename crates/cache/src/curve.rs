//! What LRU caches of many size_range miss, from one pass: exactly, or of a sample.
//!
//! A request finds its object in caches that hold it and all that was asked for since ([`Stack`]).
//! With objects of one size that is LRU to the last request. With several it is a little better
//! than LRU: a cache of whole objects can have bytes free that the next object down would not fit
//! into.
//!
//! Samples are SHARDS (Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC Construction with
//! SHARDS", FAST 2015): objects whose hash lies below a threshold, distances and counts divided by
//! the share of hashes that do. At a fixed rate, or with a fixed number of objects, where the one
//! of the largest hash goes and is the threshold from then on. As SHARDS-adj, requests that the
//! sample has too few or too many of are added to the shortest distance.

use crate::policy::Request;
use crate::stack::Stack;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;

/// Requests from the one counted to the one whose entry is asked of memory.
const PREFETCH_DISTANCE: usize = 8;

/// Which objects count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// All: exact.
    All,
    /// Of weight object with this probability: more than 0, at most 1.
    Rate(f64),
    /// So many objects at the most.
    Objects(usize),
}

/// What a cache of one size would have missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Its size in bytes.
    pub capacity: u64,
    /// Requests, a whole number if all objects counted.
    pub misses: f64,
    /// Bytes of them.
    pub miss_bytes: f64,
}

/// The curve while it is made.
#[derive(Debug)]
pub struct Curve {
    stack: Stack,
    /// The largest hash that counts.
    threshold: u64,
    /// Objects at the most, and those there are by hash.
    kept: Option<(usize, BinaryHeap<(u64, u64)>)>,
    capacities: Vec<u64>,
    /// Hits and their bytes in caches of this size, but not of the one before. Sums of whole
    /// numbers are exact up to 2^53 in these.
    hits: Vec<(f64, f64)>,
    /// Requests and bytes that the sample stands for.
    represented: (f64, f64),
    requests: u64,
    bytes: u64,
    sampled: u64,
    size_range: (u64, u64),
}

/// Spreads keys over all numbers, and not as the table does: Stafford's mix 13 (2011).
fn sample_hash(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

impl Curve {
    /// For caches of these size_range.
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

    /// The share of objects that count now.
    pub fn rate(&self) -> f64 {
        // The threshold counts itself.
        (self.threshold as f64 + 1.0) / 18_446_744_073_709_551_616.0
    }

    /// CacheCounts requests in order.
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
        // As it is, if all count: a product would round what is larger than 2^53.
        let above = if weight > 1.0 { (found.above as f64 * weight) as u64 } else { found.above };
        let needed = above.saturating_add(found.own);
        let at = self.capacities.partition_point(|capacity| *capacity < needed);
        if let Some(hits) = self.hits.get_mut(at) {
            *hits = (hits.0 + weight, hits.1 + asked);
        }
    }

    /// A new object counts; another may not count any more.
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

    /// What caches would have missed, by size.
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

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes asked for so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Requests that counted.
    pub fn sampled(&self) -> u64 {
        self.sampled
    }

    /// Objects that are followed now.
    pub fn objects(&self) -> u64 {
        self.stack.objects
    }

    /// Bytes of all objects, or what those that count stand for: a cache of this size
    /// misses only what is asked for the first time.
    pub fn footprint(&self) -> f64 {
        self.stack.bytes as f64 / self.rate()
    }

    /// All requests so far were for objects of one size.
    pub fn has_one_size(&self) -> bool {
        self.size_range.0 >= self.size_range.1
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let heap = self.kept.as_ref().map_or(0, |(_, by_hash)| by_hash.capacity());
        self.stack.memory() + heap * size_of::<(u64, u64)>()
    }
}
