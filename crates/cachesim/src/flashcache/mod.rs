//! Replay of a trace on a FlashCache: sources and latencies of the data, and the power and wear of
//! the memories (Kgil and Mudge, CASES 2006).
//!
//! The state machine is [`gordon_cache::flashcache`]; this module contains the clock and the
//! hardware. Requests are served in time order: search of the primary page cache, search of the
//! hash table, then DRAM, the flash chip (`chip`) or the backend (`backend`). Each of these does
//! one thing at a time; work with lower priority than reads is carried out in the gaps, up to the
//! time of each request. Therefore, no event queue is needed. `docs/design/flashcache.md` describes
//! the model, including all that the paper leaves open.
//!
//! Not covered: several chips, the queue of a disk, and CPU time, which is part of the web server's
//! model.

mod backend;
mod build_report;
mod chip;
mod config;
mod machine;
mod pace;
mod power;
mod report;
mod simulated;
#[cfg(test)]
mod tests;
mod wear;

pub use config::{
    BackendKind, CacheConfig, ControllerConfig, Design, DiskConfig, DramConfig, EccConfig,
    FillKind, FlashCacheConfig, FlashConfig, OriginConfig, PaceConfig, RoadmapYear, RuleKind,
    SetRuleKind, WearConfig, WhenFull,
};
pub use power::{Cost, DieArea, Power};
pub use report::{
    BackendReport, FlashCacheReport, FlashReport, LevelReport, Levels, MemoryReport, Provenance,
    RequestReport, TableReport,
};
pub use simulated::HeadReport;
pub use wear::{EccReport, EraseCount, LifetimeReport, RoadmapReport, WearReport};

use super::load::{AccessStamp, Load};
use super::policy;
use super::warmup::{WarmUpProgress, WarmUpReport};
use backend::Backend;
use gordon_cache::flashcache::{Fill, FlashCache};
use gordon_cache::{PolicyKind, Request};
use gordon_replay::ReplayError;
use gordon_replay::threads::on_all_cores;
use gordon_units::{Bytes, Ns, Progress};
use machine::{Machine, RequestCounters};
use pace::{Pace, SpreadLoad};
use rayon::prelude::*;

/// Number of requests whose table entries are prefetched before they are served; the memory
/// accesses then overlap.
const GROUP: usize = 16;

/// A run of one FlashCache.
struct Run<'a> {
    config: &'a FlashCacheConfig,
    kind: PolicyKind,
    pace: Pace,
    machine: Machine,
    /// Arrival of the current request of the trace, and the latest response to its accesses.
    at: Ns,
    end: Option<Ns>,
    whole: RequestCounters,
    /// Size of the tables in bytes.
    tables: u64,
    /// The current warm-up, and the report of a finished one.
    warm_up: Option<WarmUpProgress>,
    warm_up_report: Option<WarmUpReport>,
}

impl<'a> Run<'a> {
    fn new(
        config: &'a FlashCacheConfig,
        kind: PolicyKind,
        unit: &str,
        warm_up: Option<WarmUpProgress>,
    ) -> Result<Self, ReplayError> {
        let design = &config.design;
        let cache = build_cache(config, kind, fill_unit(design, unit)?)?;
        let tables = cache.memory() as u64;
        let backend = Backend::new(design, &config.backend, unit)?;
        let machine = Machine::new(design, cache, backend);
        Ok(Self {
            config,
            kind,
            pace: Pace::new(&config.pace)?,
            machine,
            at: Ns::ZERO,
            end: None,
            whole: RequestCounters::default(),
            tables,
            warm_up,
            warm_up_report: None,
        })
    }

    fn serve(&mut self, requests: &[Request], stamps: &[AccessStamp]) {
        let Self { pace, machine, at, end, whole, warm_up, warm_up_report, .. } = self;
        let page = machine.page.0;
        for (group, stamps) in requests.chunks(GROUP).zip(stamps.chunks(GROUP)) {
            machine.prefetch(group);
            for (request, stamp) in group.iter().zip(stamps) {
                let size = request.size.next_multiple_of(page).max(page);
                if stamp.first {
                    end.take().into_iter().for_each(|end| pace.answered(end));
                    *at = pace.at(stamp.at);
                    if let Some(ended) = warm_up.take_if(|warm_up| warm_up.ends(*at)) {
                        let served = machine.tallies.iter();
                        let (accesses, bytes) = served.fold((0, 0), |(accesses, bytes), one| {
                            (accesses + one.requests, bytes + one.bytes)
                        });
                        *warm_up_report = Some(WarmUpReport {
                            requests: ended.seen() - 1,
                            accesses,
                            bytes,
                            time_s: Some(ended.span(*at).as_secs()),
                        });
                        *whole = RequestCounters::default();
                        machine.end_warm_up(*at);
                    }
                }
                machine.is_whole = request.asked == request.size;
                let request = Request { size, ..*request };
                machine.backend.same_request = !stamp.first;
                let answered = machine.serve(*at, &request, stamp.write);
                whole.add(stamp.first, machine.source);
                *end = (*end).max(Some(answered));
            }
        }
    }

    fn report(mut self, source: &SpreadLoad) -> FlashCacheReport {
        let machine = &mut self.machine;
        let idle = machine.chip.finish(&mut machine.cache).max(machine.backend.finish());
        let end = machine.end.max(idle);
        build_report::build(&self, end, source)
    }
}

/// Runs `config`; `progress` reports progress and can stop the run.
///
/// # Errors
/// Returns an error if the design or a size is invalid, the trace cannot be read, or the run is
/// stopped.
pub fn run(
    config: &FlashCacheConfig,
    progress: &Progress,
) -> Result<FlashCacheReport, ReplayError> {
    let reports = sweep(std::slice::from_ref(config), progress)?;
    Ok(reports.into_iter().next().expect("one report for each config"))
}

/// Runs all `configs`, which must have the same trace and pace, in one pass over the trace and on
/// all cores. Each report equals that of [`run`].
///
/// # Errors
/// Returns an error if there is no config or they have different traces or paces, and the errors of
/// [`run`].
pub fn sweep(
    configs: &[FlashCacheConfig],
    progress: &Progress,
) -> Result<Vec<FlashCacheReport>, ReplayError> {
    let Some(first) = configs.first() else {
        return Err(ReplayError::impossible("sweep", "no cache to replay", "--dram 128MiB"));
    };
    let same = |config: &FlashCacheConfig| {
        let own = (&config.trace, config.objects, &config.pace, config.warmup);
        own == (&first.trace, first.objects, &first.pace, first.warmup)
    };
    if !configs.iter().all(same) {
        let why = "all caches of a sweep replay one trace at one pace, after one warm-up";
        return Err(ReplayError::impossible("sweep", why, "one sweep for each"));
    }
    let mut kinds = Vec::new();
    for config in configs {
        config.design.check()?;
        kinds.push(policy(&config.dram_policy)?);
    }
    let pace = Pace::new(&first.pace)?;
    let ahead = kinds.iter().any(|kind| kind.needs_oracle());
    let load = Load::open_for(&first.trace, first.objects, ahead, progress)?;
    let warm_up = first
        .warmup
        .map(|warmup| WarmUpProgress::new(warmup, &first.trace, first.objects, progress));
    let warm_up = warm_up.transpose()?;
    let created = configs
        .iter()
        .zip(&kinds)
        .map(|(config, kind)| Run::new(config, *kind, load.unit(), warm_up));
    let mut runs = created.collect::<Result<Vec<_>, _>>()?;
    let mut source = SpreadLoad::new(load, &pace)?;
    loop {
        let (requests, stamps) = source.next()?;
        if requests.is_empty() {
            break;
        }
        let stopped = || progress.stopped();
        // One second of a trace can have many requests, so each cache checks the stop flag itself.
        let serve = |one: &mut Run<'_>| {
            if !stopped() {
                one.serve(requests, stamps);
            }
        };
        match &mut runs[..] {
            [one] => serve(one),
            all => on_all_cores(|| all.par_iter_mut().with_max_len(1).for_each(serve)),
        }
        if stopped() {
            return Err(ReplayError::Interrupted);
        }
        progress.step(requests.len() as u64);
        runs.iter().try_for_each(|run| run.machine.backend.check())?;
    }
    if let Some(warm_up) = runs.iter().find_map(|run| run.warm_up.as_ref()) {
        return Err(warm_up.not_over_error());
    }
    Ok(runs.into_iter().map(|run| run.report(&source)).collect())
}

/// The unit that a miss fetches.
fn fill_unit(design: &Design, unit: &str) -> Result<Fill, ReplayError> {
    let pages = unit == "page";
    if pages && design.cache.page.0 != super::PAGE {
        let why = format!(
            "{} of a block trace's pages of {}: these are what is asked for",
            *design.cache.page,
            Bytes(super::PAGE)
        );
        return Err(ReplayError::impossible("cache.page", why, "4KiB"));
    }
    match *design.cache.fill {
        FillKind::Block if !pages => {
            let why = format!("{unit}s have no neighbours: a logical block would hold one of them");
            Err(ReplayError::impossible("cache.fill", why, "page"))
        }
        FillKind::Block => Ok(Fill::Block),
        FillKind::Page => Ok(Fill::Page),
    }
}

/// Creates the caches; their tables and buffer are part of the DRAM.
fn build_cache(
    config: &FlashCacheConfig,
    kind: PolicyKind,
    fill: Fill,
) -> Result<FlashCache, ReplayError> {
    let design = &config.design;
    let shape = design.shape(config.flash, fill)?;
    let page = u32::try_from(design.cache.page.0).unwrap_or(u32::MAX);
    // The size of the tables is only known when they have been created.
    let empty = FlashCache::new(shape, page, PolicyKind::Fifo.make(Bytes::ZERO));
    let buffer = if shape.sets > 0 { *design.cache.write_buffer } else { Bytes::ZERO };
    let taken = buffer + Bytes(empty.memory() as u64);
    let primary = config.dram.saturating_sub(taken);
    if primary < *design.cache.page {
        let why = format!(
            "{} holds no page of {}: the write buffer takes {buffer}, the tables {}",
            config.dram,
            *design.cache.page,
            taken - buffer
        );
        return Err(ReplayError::impossible("dram", why, "more DRAM, or less flash"));
    }
    drop(empty);
    Ok(FlashCache::new(shape, page, kind.make(primary)))
}
