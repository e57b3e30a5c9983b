//! Replay of one trace on many caches in a single pass. While the next part of the trace is read,
//! all caches process the previous part in parallel on all cores.
//!
//! Each cache processes all accesses in order, so the results do not depend on the number of
//! threads.

use super::load::Load;
use super::{Asked, CacheReport, CacheRunConfig, WarmStart, WarmUpReport};
use gordon_cache::Request;
use gordon_replay::ReplayError;
use gordon_replay::threads::on_all_cores;
use gordon_units::Progress;
use rayon::prelude::*;
use std::mem;

/// Accesses read, and processed by one cache, at a time. The part is large enough to profit from
/// the CPU caches, and at most two of them (8 MiB) are in memory.
const GO: usize = 1 << 17;

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
    let mut asked = configs.iter().map(Asked::new).collect::<Result<Vec<_>, _>>()?;
    let ahead = asked.iter().any(|one| one.kind.needs_oracle());
    let mut load = Load::for_some(&first.trace, first.objects, ahead, progress)?;
    asked.iter().try_for_each(|one| one.fits(&load))?;
    let mut warm = WarmStart::new(first, &mut load, progress)?;
    let mut batch = Vec::new();
    let (mut read, mut more) = fill(&mut load, &mut batch, &mut warm)?;
    while !read.requests.is_empty() {
        let served = mem::take(&mut read);
        let serve = || {
            asked.par_iter_mut().with_max_len(1).for_each(|one| {
                if !progress.stopped() {
                    one.serve_from(&served.requests, served.warm_end);
                }
            });
        };
        let read_on = || match more {
            true => fill(&mut load, &mut batch, &mut warm),
            false => Ok((Read::default(), false)),
        };
        let (filled, ()) = on_all_cores(|| rayon::join(read_on, serve));
        progress.check()?;
        progress.step(served.requests.len() as u64);
        (read, more) = filled?;
    }
    warm.is_over()?;
    Ok(asked.iter().map(|one| one.report(&load)).collect())
}

/// A part of the trace.
#[derive(Default)]
struct Read {
    requests: Vec<Request>,
    /// Index at which the warm-up ends, and its report; `None` if it does not end in this part.
    warm_end: Option<(usize, WarmUpReport)>,
}

/// Reads about [`GO`] accesses. Also returns false at the end.
fn fill(
    load: &mut Load,
    batch: &mut Vec<Request>,
    warm: &mut WarmStart,
) -> Result<(Read, bool), ReplayError> {
    let mut read = Read { requests: Vec::with_capacity(GO), warm_end: None };
    while read.requests.len() < GO {
        if !load.next_batch(batch)? {
            return Ok((read, false));
        }
        if let Some((at, warmed)) = warm.end(load, batch) {
            read.warm_end = Some((read.requests.len() + at, warmed));
        }
        read.requests.extend_from_slice(batch);
    }
    Ok((read, true))
}
