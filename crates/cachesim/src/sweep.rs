//! Many caches, one reading of the trace: while some of it is read, all caches are asked for what
//! was read before, as many at a time as there are cores.
//!
//! Each cache has all requests in order, so nothing depends on how many threads there are.

use super::load::Load;
use super::{Asked, CacheReport, CacheRunConfig, WarmStart, WarmUpReport};
use gordon_cache::Request;
use gordon_replay::ReplayError;
use gordon_replay::threads::on_all_cores;
use gordon_units::Progress;
use rayon::prelude::*;
use std::mem;

/// Requests that are read, and asked of one cache, in one go: what it has in the processor's caches
/// is worth keeping, and two of these (8 MiB) are all that is ever held of the trace.
const GO: usize = 1 << 17;

/// Runs all of `configs`, which differ in the cache alone, watched through `progress`: each report
/// is what [`run`](super::run) says.
///
/// # Errors
/// No config, or of several traces; a policy or size that cannot be, a trace that cannot be read, a
/// stop.
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

/// Requests that were read.
#[derive(Default)]
struct Read {
    requests: Vec<Request>,
    /// Where the warm-up ends, if it does so here.
    warm_end: Option<(usize, WarmUpReport)>,
}

/// Reads [`GO`] requests, about; false at the end.
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
