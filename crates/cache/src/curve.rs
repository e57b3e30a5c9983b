//! What LRU caches of many sizes miss, from one pass: exactly, or of a sample.
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
const AHEAD: usize = 8;

/// Which objects count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// All: exact.
    All,
    /// Of each object with this probability: more than 0, at most 1.
    Rate(f64),
    /// So many objects at the most.
    Objects(usize),
}

/// What a cache of one size would have missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
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
    limit: u64,
    /// Objects at the most, and those there are by hash.
    keep: Option<(usize, BinaryHeap<(u64, u64)>)>,
    capacities: Vec<u64>,
    /// Hits and their bytes in caches of this size, but not of the one before. Sums of whole
    /// numbers are exact up to 2^53 in these.
    hits: Vec<(f64, f64)>,
    /// Requests and bytes that the sample stands for.
    stands_for: (f64, f64),
    requests: u64,
    bytes: u64,
    sampled: u64,
    sizes: (u64, u64),
}

/// Spreads keys over all numbers, and not as the table does: Stafford's mix 13 (2011).
fn spread(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

impl Curve {
    /// For caches of these sizes.
    pub fn new(sample: Sample, mut capacities: Vec<u64>) -> Self {
        const ALL: f64 = 18_446_744_073_709_551_616.0;
        capacities.sort_unstable();
        capacities.dedup();
        let limit = match sample {
            Sample::Rate(rate) => ((rate * ALL) as u64).saturating_sub(1),
            Sample::All | Sample::Objects(_) => u64::MAX,
        };
        let keep = match sample {
            Sample::Objects(most) => Some((most, BinaryHeap::new())),
            Sample::All | Sample::Rate(_) => None,
        };
        Self {
            stack: Stack::new(),
            limit,
            keep,
            hits: vec![(0.0, 0.0); capacities.len()],
            capacities,
            stands_for: (0.0, 0.0),
            requests: 0,
            bytes: 0,
            sampled: 0,
            sizes: (u64::MAX, 0),
        }
    }

    /// The share of objects that count now.
    pub fn rate(&self) -> f64 {
        // The limit counts itself.
        (self.limit as f64 + 1.0) / 18_446_744_073_709_551_616.0
    }

    /// Counts requests in order.
    pub fn count(&mut self, requests: &[Request]) {
        for (i, request) in requests.iter().enumerate() {
            if let Some(ahead) = requests.get(i + AHEAD)
                && spread(ahead.key) <= self.limit
            {
                black_box(self.stack.touch(ahead.key));
            }
            self.one(request);
        }
    }

    fn one(&mut self, request: &Request) {
        self.requests += 1;
        self.bytes += request.asked;
        self.sizes = (self.sizes.0.min(request.size), self.sizes.1.max(request.size));
        let hash = spread(request.key);
        if hash > self.limit {
            return;
        }
        self.sampled += 1;
        let each = 1.0 / self.rate();
        let asked = each * request.asked as f64;
        self.stands_for.0 += each;
        self.stands_for.1 += asked;
        let Some(found) = self.stack.ask(request.key, request.size) else {
            self.limit_objects(hash, request.key);
            return;
        };
        // As it is, if all count: a product would round what is larger than 2^53.
        let above = if each > 1.0 { (found.above as f64 * each) as u64 } else { found.above };
        let needed = above.saturating_add(found.own);
        let at = self.capacities.partition_point(|capacity| *capacity < needed);
        if let Some(hits) = self.hits.get_mut(at) {
            *hits = (hits.0 + each, hits.1 + asked);
        }
    }

    /// A new object counts; another may not count any more.
    fn limit_objects(&mut self, hash: u64, key: u64) {
        let Some((most, by_hash)) = &mut self.keep else { return };
        by_hash.push((hash, key));
        if by_hash.len() > *most
            && let Some((hash, key)) = by_hash.pop()
        {
            self.limit = hash.saturating_sub(1);
            self.stack.forget(key);
        }
    }

    /// What caches would have missed, by size.
    pub fn points(&self) -> Vec<Point> {
        let (requests, bytes) = (self.requests as f64, self.bytes as f64);
        let mut hits = (requests - self.stands_for.0, bytes - self.stands_for.1);
        let point = |(capacity, more): (&u64, &(f64, f64))| {
            hits = (hits.0 + more.0, hits.1 + more.1);
            Point {
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
    pub fn of_one_size(&self) -> bool {
        self.sizes.0 >= self.sizes.1
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let heap = self.keep.as_ref().map_or(0, |(_, by_hash)| by_hash.capacity());
        self.stack.memory() + heap * size_of::<(u64, u64)>()
    }
}
