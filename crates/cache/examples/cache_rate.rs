//! The speed of the policies alone, with requests in memory and one cache at a time.
//!
//!     cargo run --release -p gordon-cache --example cache_rate [TRACE.oracleGeneral SIZE...]
//!
//! Without a trace it generates two million requests of a skewed load.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use gordon_cache::{HitCounts, NEVER, PolicyKind, Request};
use gordon_units::Bytes;
use std::collections::HashMap;
use std::time::Instant;

fn read(path: &str) -> Vec<Request> {
    let bytes = std::fs::read(path).unwrap();
    let record = |b: &[u8]| {
        let size = u32::from_le_bytes(b[12..16].try_into().unwrap()).into();
        let next = i64::from_le_bytes(b[16..24].try_into().unwrap());
        let next = u64::try_from(next).ok().filter(|n| *n != i64::MAX as u64).unwrap_or(NEVER);
        Request { key: u64::from_le_bytes(b[4..12].try_into().unwrap()), next, size, asked: size }
    };
    bytes.chunks_exact(24).map(record).collect()
}

/// Generates requests. A key is the product of two uniform draws, so that small keys are frequent.
fn made() -> Vec<Request> {
    let mut state = 1_u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 48
    };
    let one = |key: u64| {
        let size = 64 + key % 512;
        Request { key, next: NEVER, size, asked: size }
    };
    let mut all: Vec<Request> = (0..2_000_000).map(|_| one((draw() * draw()) >> 14)).collect();
    let mut next = HashMap::new();
    for (number, request) in all.iter_mut().enumerate().rev() {
        request.next = next.insert(request.key, number as u64).unwrap_or(NEVER);
    }
    all
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let requests = args.first().map_or_else(made, |path| read(path));
    let sizes: Vec<Bytes> = match args.get(1..) {
        Some(sizes @ [_, ..]) => sizes.iter().map(|size| size.parse().unwrap()).collect(),
        _ => vec![Bytes(16 << 20)],
    };
    println!("{} requests", requests.len());
    for size in sizes {
        for kind in PolicyKind::ALL {
            let mut cache = kind.make(size);
            let mut tally = HitCounts::default();
            let start = Instant::now();
            for batch in requests.chunks(1 << 13) {
                cache.serve(batch, &mut tally);
            }
            let rate = tally.requests as f64 / start.elapsed().as_secs_f64() / 1e6;
            let misses = tally.requests - tally.hits;
            let known = cache.counts().objects + cache.ghosts();
            println!(
                "{size} {:8} {rate:6.2} M/s  misses {misses} ({:.4})  {} objects, {} ghosts, {:.1} \
                 B each",
                kind.name(),
                misses as f64 / tally.requests as f64,
                cache.counts().objects,
                cache.ghosts(),
                cache.memory() as f64 / known as f64,
            );
        }
    }
}
