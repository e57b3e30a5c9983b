//! A FlashCache, one trace, what that came to: who had what was asked for, when it was there, what
//! it took in time, power and wear (Kgil and Mudge, CASES 2006).
//!
//! The state machine is [`gordon_cache::flashcache`]; here are the clock and the hardware. A
//! request is served at its time, in the order of times: search of the primary page cache; of the
//! hash table; then the DRAM, the flash chip (`chip`) or what lies below (`backend`). Each of these
//! does one thing at a time, and what waits behind reads is done in the gaps, up to each request's
//! time. So no event queue is needed. The model in words, with all that the paper leaves open, is
//! `docs/design/flashcache.md`.
//!
//! Not covered: several chips, a disk's own queue, and time of the processor, which is the web
//! server's model.

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

/// So many requests' parts of the tables are asked of memory at once, before they are served: it
/// answers all in hardly more than the time of one.
const GROUP: usize = 16;

/// A FlashCache that is asked.
struct Run<'a> {
    config: &'a FlashCacheConfig,
    kind: PolicyKind,
    pace: Pace,
    machine: Machine,
    /// When the request of the trace came that is being served, and when its last part was
    /// answered.
    at: Ns,
    end: Option<Ns>,
    whole: Whole,
    /// Bytes of its tables.
    tables: u64,
    /// The warm-up that continues, and what it came to when it was over.
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

/// Runs `config`, watched through `progress`.
///
/// # Errors
/// A design or size that cannot be, a trace that cannot be read, a stop.
pub fn run(
    config: &FlashCacheConfig,
    progress: &Progress,
) -> Result<FlashCacheReport, ReplayError> {
    let told = sweep(std::slice::from_ref(config), progress)?;
    Ok(told.into_iter().next().expect("one report for each config"))
}

/// Runs all `configs`, which are asked for one trace at one pace, in one reading of it, on all
/// cores. A report is what [`run`] says of its config.
///
/// # Errors
/// No config, or of several traces or paces; and as [`run`].
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
        // A second of a trace can have many requests: each cache looks before it serves them.
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

/// What a miss fetches.
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

/// The caches, whose tables and buffer take their part of the DRAM.
fn made(
    config: &FlashCacheConfig,
    kind: PolicyKind,
    fill: Fill,
) -> Result<FlashCache, ReplayError> {
    let design = &config.design;
    let shape = design.shape(config.flash, fill)?;
    let page = u32::try_from(design.cache.page.0).unwrap_or(u32::MAX);
    // How much the tables take is known when there are tables.
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
