//! Replay of one trace on many caches in a single pass. While the next part of the trace is read,
//! all caches process the previous part in parallel on all cores.
//!
//! Each cache processes all accesses in order, so the results do not depend on the number of
//! threads.

use super::load::Load;
use super::{CacheReport, CacheRun, CacheRunConfig, SharedWarmUp, WarmUpReport, policy};
use gordon_cache::Request;
use gordon_replay::ReplayError;
use gordon_replay::threads::on_all_cores;
use gordon_units::Progress;
use rayon::prelude::*;
use std::mem;

/// Accesses read, and processed by one cache, at a time. The part is large enough to profit from
/// the CPU caches, and at most two of them (8 MiB) are in memory.
const CHUNK_ACCESSES: usize = 1 << 17;

/// Runs all `configs`, which must differ only in the cache. Each report equals that of
/// [`run`](super::run).
///
/// # Errors
/// Returns an error if there is no config or they have different traces, if a policy or size is
/// invalid, if the trace cannot be read, or if `progress` stops the run.
pub fn sweep(
    configs: &[CacheRunConfig],
    progress: &Progress,
) -> Result<Vec<CacheReport>, ReplayError> {
    let Some(first) = configs.first() else {
        return Err(ReplayError::impossible("sweep", "no cache to replay", "--policy lru"));
    };
    let same = |c: &CacheRunConfig| {
        (&c.trace, c.objects, c.warmup) == (&first.trace, first.objects, first.warmup)
    };
    if !configs.iter().all(same) {
        let why = "all caches of a sweep replay one trace, after one warm-up";
        return Err(ReplayError::impossible("sweep", why, "one sweep for each trace"));
    }
    let mut runs = configs.iter().map(of_kind).collect::<Result<Vec<_>, _>>()?;
    let ahead = runs.iter().any(|one| one.needs_oracle());
    let mut load = Load::open_for(&first.trace, first.objects, ahead, progress)?;
    runs.iter().try_for_each(|one| one.fits(&load))?;
    let mut warm_up = SharedWarmUp::new(first, &mut load, progress)?;
    let mut batch = Vec::new();
    let (mut chunk, mut has_more) = fill(&mut load, &mut batch, &mut warm_up)?;
    while !chunk.requests.is_empty() {
        let served = mem::take(&mut chunk);
        let serve = || {
            runs.par_iter_mut().with_max_len(1).for_each(|one| {
                if !progress.stopped() {
                    one.serve_from(&served.requests, served.warm_end);
                }
            });
        };
        let read_next = || match has_more {
            true => fill(&mut load, &mut batch, &mut warm_up),
            false => Ok((Chunk::default(), false)),
        };
        let (filled, ()) = on_all_cores(|| rayon::join(read_next, serve));
        progress.check()?;
        progress.step(served.requests.len() as u64);
        (chunk, has_more) = filled?;
    }
    warm_up.check_over()?;
    Ok(runs.iter().map(|one| one.report(&load)).collect())
}

fn of_kind(config: &CacheRunConfig) -> Result<CacheRun<'_>, ReplayError> {
    let kind = policy(&config.policy)?;
    CacheRun::new(config, Some(kind), kind.make(config.dram))
}

/// A part of the trace.
#[derive(Default)]
struct Chunk {
    requests: Vec<Request>,
    /// Index at which the warm-up ends, and its report; `None` if it does not end in this part.
    warm_end: Option<(usize, WarmUpReport)>,
}

/// Reads about [`CHUNK_ACCESSES`] accesses. Also returns false at the end.
fn fill(
    load: &mut Load,
    batch: &mut Vec<Request>,
    warm_up: &mut SharedWarmUp,
) -> Result<(Chunk, bool), ReplayError> {
    let mut chunk = Chunk { requests: Vec::with_capacity(CHUNK_ACCESSES), warm_end: None };
    while chunk.requests.len() < CHUNK_ACCESSES {
        if !load.next_batch(batch)? {
            return Ok((chunk, false));
        }
        if let Some((at, report)) = warm_up.end(load, batch) {
            chunk.warm_end = Some((chunk.requests.len() + at, report));
        }
        chunk.requests.extend_from_slice(batch);
    }
    Ok((chunk, true))
}
