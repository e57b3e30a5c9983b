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
mod chip;
mod config;
mod machine;
mod pace;
mod power;
mod report;
mod simulated;
#[cfg(test)]
mod tests;
mod told;
mod wear;

pub use config::{
    BackendKind, CacheConfig, ControllerConfig, Design, DiskConfig, DramConfig, EccConfig,
    FillKind, FlashCacheConfig, FlashConfig, OriginConfig, PaceConfig, RoadmapYear, RuleKind,
    SetRuleKind, WearConfig, WhenFull,
};
pub use power::{Cost, DieArea, Power};
pub use report::{
    BackendReport, FlashCacheReport, FlashReport, LevelReport, Levels, MemoryReport, Provenance,
    TableReport, WholeReport,
};
pub use simulated::HeadReport;
pub use wear::{EccReport, Erased, Life, RoadmapReport, WearReport};

use super::load::{Load, Stamp};
use super::policy;
use super::warmup::{WarmUpReport, Warming};
use backend::Backend;
use gordon_cache::flashcache::{Fill, FlashCache};
use gordon_cache::{PolicyKind, Request};
use gordon_replay::ReplayError;
use gordon_replay::threads::on_all_cores;
use gordon_units::{Bytes, Ns, Progress};
use machine::{Machine, Whole};
use pace::{Pace, Spread};
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
    whole: Whole,
    /// Size of the tables in bytes.
    tables: u64,
    /// The current warm-up, and the report of a finished one.
    warming: Option<Warming>,
    warmed: Option<WarmUpReport>,
}

impl<'a> Run<'a> {
    fn new(
        config: &'a FlashCacheConfig,
        kind: PolicyKind,
        unit: &str,
        warming: Option<Warming>,
    ) -> Result<Self, ReplayError> {
        let design = &config.design;
        let cache = made(config, kind, fill(design, unit)?)?;
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
            whole: Whole::default(),
            tables,
            warming,
            warmed: None,
        })
    }

    fn serve(&mut self, requests: &[Request], stamps: &[Stamp]) {
        let Self { pace, machine, at, end, whole, warming, warmed, .. } = self;
        let page = machine.page.0;
        for (group, stamps) in requests.chunks(GROUP).zip(stamps.chunks(GROUP)) {
            machine.touch(group);
            for (request, stamp) in group.iter().zip(stamps) {
                let size = request.size.next_multiple_of(page).max(page);
                if stamp.first {
                    end.take().into_iter().for_each(|end| pace.answered(end));
                    *at = pace.at(stamp.at);
                    if let Some(ended) = warming.take_if(|warming| warming.ends(*at)) {
                        let served = machine.tallies.iter();
                        let (accesses, bytes) = served.fold((0, 0), |(accesses, bytes), one| {
                            (accesses + one.requests, bytes + one.bytes)
                        });
                        *warmed = Some(WarmUpReport {
                            requests: ended.seen() - 1,
                            accesses,
                            bytes,
                            time_s: Some(ended.span(*at).as_secs()),
                        });
                        *whole = Whole::default();
                        machine.warmed(*at);
                    }
                }
                let request = Request { size, ..*request };
                machine.backend.within = !stamp.first;
                let answered = machine.serve(*at, &request, stamp.write);
                whole.add(stamp.first, machine.source);
                *end = (*end).max(Some(answered));
            }
        }
    }

    fn report(mut self, source: &Spread) -> FlashCacheReport {
        let machine = &mut self.machine;
        let idle = machine.chip.finish(&mut machine.cache).max(machine.backend.finish());
        let end = machine.end.max(idle);
        told::made(&self, end, source)
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
    let told = sweep(std::slice::from_ref(config), progress)?;
    Ok(told.into_iter().next().expect("one report for each config"))
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
    let load = Load::for_some(&first.trace, first.objects, ahead, progress)?;
    let warming =
        first.warmup.map(|warmup| Warming::new(warmup, &first.trace, first.objects, progress));
    let warming = warming.transpose()?;
    let made = configs
        .iter()
        .zip(&kinds)
        .map(|(config, kind)| Run::new(config, *kind, load.unit(), warming));
    let mut runs = made.collect::<Result<Vec<_>, _>>()?;
    let mut source = Spread::new(load, &pace)?;
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
    if let Some(warming) = runs.iter().find_map(|run| run.warming.as_ref()) {
        return Err(warming.not_over());
    }
    Ok(runs.into_iter().map(|run| run.report(&source)).collect())
}

/// The unit that a miss fetches.
fn fill(design: &Design, unit: &str) -> Result<Fill, ReplayError> {
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
fn made(
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
