//! Many caches, one reading of the trace: while some of it is read, all caches are asked for what
//! was read before, as many at a time as there are cores.
//!
//! Each cache has all requests in order, so nothing depends on how many threads there are.

use super::load::Load;
use super::{Asked, CacheReport, CacheRunConfig};
use crate::ReplayError;
use crate::threads::on_all_cores;
use gordon_cache::Request;
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
        return Err(ReplayError::impossible("sweep", "there is no cache to ask", "--policy lru"));
    };
    if configs.iter().any(|c| c.trace != first.trace || c.objects != first.objects) {
        let why = "all caches are asked for the same trace";
        return Err(ReplayError::impossible("sweep", why, "one sweep for each trace"));
    }
    let mut asked = configs.iter().map(Asked::new).collect::<Result<Vec<_>, _>>()?;
    let ahead = asked.iter().any(|one| one.kind.sees_ahead());
    let mut load = Load::for_some(&first.trace, first.objects, ahead, progress)?;
    asked.iter().try_for_each(|one| one.fits(&load))?;
    let (mut read, mut batch) = (Vec::new(), Vec::new());
    let mut more = fill(&mut load, &mut batch, &mut read)?;
    while !read.is_empty() {
        let served = mem::take(&mut read);
        let serve = || {
            asked.par_iter_mut().with_max_len(1).for_each(|one| {
                if !progress.stopped() {
                    one.serve(&served);
                }
            });
        };
        let mut next = Vec::with_capacity(GO);
        let read_on = || if more { fill(&mut load, &mut batch, &mut next) } else { Ok(false) };
        let (filled, ()) = on_all_cores(|| rayon::join(read_on, serve));
        progress.check()?;
        progress.step(served.len() as u64);
        (more, read) = (filled?, next);
    }
    Ok(asked.iter().map(|one| one.report(&load)).collect())
}

/// Reads [`GO`] requests, about; false at the end.
fn fill(
    load: &mut Load,
    batch: &mut Vec<Request>,
    read: &mut Vec<Request>,
) -> Result<bool, ReplayError> {
    while read.len() < GO {
        if !load.next_batch(batch)? {
            return Ok(false);
        }
        read.extend_from_slice(batch);
    }
    Ok(true)
}
