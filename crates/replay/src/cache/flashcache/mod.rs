//! A FlashCache, one trace, what that came to: who had what was asked for, when it was there, what it
//! took in time, power and wear (Kgil and Mudge, CASES 2006).
//!
//! The state machine is [`gordon_cache::flashcache`]; here are the clock and the hardware. A request
//! is served at its time, in the order of times: search of the primary page cache; of the hash table;
//! then the DRAM, the flash chip (`chip`) or what lies below (`backend`). Each of these does one
//! thing at a time, and what waits behind reads is done in the gaps, up to each request's time. So no
//! event queue is needed. The model in words, with all that the paper leaves open, is
//! `docs/design/flashcache.md`.
//!
//! Not covered: several chips, a disk's own queue, and time of the processor, which is the web server's model.

mod backend;
mod chip;
mod config;
mod flight;
mod pace;
mod power;
mod report;
mod simulated;
#[cfg(test)]
mod tests;
mod wear;

pub use config::{
    BackendKind, CacheConfig, ControllerConfig, Design, DiskConfig, DramConfig, FillKind,
    FlashCacheConfig, FlashConfig, OriginConfig, PaceConfig, RoadmapYear, RuleKind, WearConfig,
    WhenFull,
};
pub use power::{Cost, DieArea, Power};
pub use report::{
    BackendReport, FlashCacheReport, FlashReport, LevelReport, Levels, MemoryReport, Provenance,
    TableReport,
};
pub use simulated::HeadReport;
pub use wear::{Erased, Life, RoadmapReport, WearReport};

use super::load::{Load, Stamp};
use super::policy;
use crate::ReplayError;
use crate::results::latency::Latency;
use crate::run::Progress;
use backend::Backend;
use chip::{Chip, Steps};
use flight::Flight;
use gordon_cache::flashcache::{Fill, FlashCache, Found};
use gordon_cache::{Kind, Request};
use gordon_device::Divisor;
use gordon_units::{Bytes, Ns};
use pace::{Pace, Spread};
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::atomic::Ordering;

/// Where a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Dram,
    Buffer,
    Flash,
    Backend,
    /// Written as a whole, nothing was there before.
    Written,
}

const SOURCES: usize = 5;

/// Requests of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    requests: u64,
    bytes: u64,
}

/// DRAM that serves requests one after the other; what others move through it takes time of it, too,
/// but nobody waits for that.
#[derive(Clone, Copy, Debug)]
struct Dram {
    access: Ns,
    rate: Divisor,
    free: Ns,
    reading: Ns,
    writing: Ns,
}

impl Dram {
    fn new(design: &Design) -> Self {
        let (access, rate) = (*design.dram.access, Divisor::new(design.dram.rate_per_s.0));
        Self { access, rate, free: Ns::ZERO, reading: Ns::ZERO, writing: Ns::ZERO }
    }

    #[inline]
    fn span(&self, bytes: Bytes) -> Ns {
        // A request has less than 4 GiB: 2^32 x 10^9 is less than 2^64.
        self.access + Ns(self.rate.ceil(bytes.0 * Ns::SECOND.0))
    }

    #[inline]
    fn read(&mut self, bytes: Bytes) -> Ns {
        let span = self.span(bytes);
        self.reading += span;
        span
    }

    #[inline]
    fn write(&mut self, bytes: Bytes) -> Ns {
        let span = self.span(bytes);
        self.writing += span;
        span
    }
}

/// Bytes of a search of the hash table: a bucket, then a tag, each a line of the processor's cache.
const LINE: Bytes = Bytes(64);
const LINES: u64 = 2;

/// So many requests' parts of the tables are asked of memory at once, before they are served: it answers
/// all in hardly more than the time of one.
const GROUP: usize = 16;

/// Caches and hardware.
struct Machine {
    cache: FlashCache,
    page: Bytes,
    /// Pages of a logical block, if that is what is fetched; else 0.
    by_block: u64,
    search: Ns,
    lookup: Ns,
    buffer_pages: u64,
    dram: Dram,
    chip: Chip,
    backend: Backend,
    /// Units on their way from the backend, and pages or objects from flash.
    fetching: Flight,
    reading: Flight,
    tallies: [Tally; SOURCES],
    latencies: [Latency; SOURCES],
    /// When the last request was answered.
    end: Ns,
    /// Requests that waited until the buffer, or the disk's queue, had room.
    waited: u64,
}

impl Machine {
    fn new(design: &Design, cache: FlashCache, backend: Backend) -> Self {
        let dram = Dram::new(design);
        let shape = cache.shape();
        let has_flash = shape.sets > 0;
        let lookup = if has_flash { dram.span(LINE) * LINES } else { Ns::ZERO };
        Self {
            page: *design.cache.page,
            by_block: if has_flash && shape.fill == Fill::Block { shape.pages.into() } else { 0 },
            search: *design.dram.search,
            lookup,
            buffer_pages: design.cache.write_buffer.0 / design.cache.page.0,
            dram,
            chip: Chip::new(Steps::new(design)),
            backend,
            fetching: Flight::default(),
            reading: Flight::default(),
            tallies: [Tally::default(); SOURCES],
            latencies: std::array::from_fn(|_| Latency::default()),
            end: Ns::ZERO,
            waited: 0,
            cache,
        }
    }

    /// The tag's key of a request's.
    #[inline]
    fn unit(&self, key: u64) -> u64 {
        key.checked_div(self.by_block).unwrap_or(key)
    }

    /// Lets memory know what is looked for soon.
    #[inline]
    fn touch(&self, requests: &[Request]) {
        let parts = requests.iter().map(|request| self.cache.touch(request.key));
        black_box(parts.fold(0, |all, part| all ^ part));
        if self.fetching.is_long() {
            let parts = requests.iter().map(|request| self.fetching.touch(self.unit(request.key)));
            black_box(parts.fold(0, |all, part| all ^ part));
        }
    }

    /// Serves a request that comes at this time, no earlier than the one before it; answers with when
    /// it was answered.
    fn serve(&mut self, at: Ns, request: &Request, write: bool) -> Ns {
        // What is in flash at the time of the search.
        self.chip.advance(&mut self.cache, at + self.search + self.lookup);
        let found = self.cache.access(request, write);
        let (source, end) = if found == Found::Dram {
            let mut begin = at + self.search;
            if write {
                begin += self.looked_up();
            }
            let unit = self.unit(request.key);
            let there = self.fetching.wait(self.reading.wait(begin, request.key), unit);
            let end = if there == begin {
                self.move_by_host(begin, request.asked, write)
            } else {
                self.move_after(there, request.asked, write)
            };
            (Source::Dram, end)
        } else {
            self.below(at, request, write, found)
        };
        let end = if write { self.through(end, request) } else { end };
        let (at_source, latency) = (source as usize, end - at);
        self.tallies[at_source].requests += 1;
        self.tallies[at_source].bytes += u64::from(request.asked);
        self.latencies[at_source].record(latency);
        self.end = self.end.max(end);
        end
    }

    /// The hash table is searched.
    #[inline]
    fn looked_up(&mut self) -> Ns {
        self.dram.reading += self.lookup;
        self.lookup
    }

    /// The host's own bytes, from DRAM or to it.
    #[inline]
    fn move_by_host(&mut self, begin: Ns, asked: u32, write: bool) -> Ns {
        let bytes = Bytes(asked.into());
        let span = if write { self.dram.write(bytes) } else { self.dram.read(bytes) };
        self.dram.free = self.dram.free.max(begin) + span;
        self.dram.free
    }

    /// The same after a wait for something slower: it does not hold up those that come before.
    fn move_after(&mut self, begin: Ns, asked: u32, write: bool) -> Ns {
        let bytes = Bytes(asked.into());
        begin + if write { self.dram.write(bytes) } else { self.dram.read(bytes) }
    }

    fn below(&mut self, at: Ns, request: &Request, write: bool, found: Found) -> (Source, Ns) {
        let (key, unit) = (request.key, self.unit(request.key));
        let mut begin = at + self.search + self.looked_up();
        let source = match found {
            Found::Dram => Source::Dram,
            Found::Buffer { .. } => {
                // Copied to the primary page cache.
                begin = self.fetching.wait(begin, unit);
                let size = Bytes(request.size.into());
                self.dram.read(size);
                begin += self.dram.write(size);
                Source::Buffer
            }
            Found::Flash(place) => {
                let now = begin;
                begin = self.chip.read(begin, place.pages);
                self.dram.write(self.page * u64::from(place.pages));
                self.reading.start(now, key, begin);
                Source::Flash
            }
            Found::Backend { unit, page, pages, ticket } => {
                self.backend.advance(begin);
                let bytes = self.page * u64::from(pages);
                // On a disk, units are of as many keys as a logical block has pages, or of one.
                let (first, keys) = match self.by_block {
                    0 => (unit, 1),
                    of => (unit * of + u64::from(page), u64::from(pages)),
                };
                let now = begin;
                begin = self.backend.fetch(begin, first, keys, bytes);
                self.dram.write(bytes);
                self.fetching.start(now, unit, begin);
                if ticket.is_some() {
                    self.chip.fetch(begin);
                    // It was written to the buffer; its page is copied from there.
                    self.dram.read(bytes);
                    self.dram.write(Bytes(request.size.into()));
                    if let Some(room) = self.chip.drain(&mut self.cache, self.buffer_pages) {
                        self.waited += 1;
                        begin = begin.max(room);
                    }
                }
                Source::Backend
            }
            Found::Written => Source::Written,
        };
        (source, self.move_after(begin, request.asked, write))
    }

    /// A write goes on to what lies below; answers with when it is acknowledged.
    fn through(&mut self, end: Ns, request: &Request) -> Ns {
        self.backend.advance(end);
        let asked = Bytes(request.asked.into());
        self.dram.read(asked);
        let room = self.backend.store(end, request.key, 1, asked);
        self.waited += u64::from(room > end);
        room
    }
}

/// A FlashCache that is asked.
struct Run<'a> {
    config: &'a FlashCacheConfig,
    kind: Kind,
    pace: Pace,
    machine: Machine,
    /// Bytes of its tables.
    tables: u64,
}

impl<'a> Run<'a> {
    fn new(config: &'a FlashCacheConfig, kind: Kind, unit: &str) -> Result<Self, ReplayError> {
        let design = &config.design;
        let cache = made(config, kind, fill(design, unit)?)?;
        let tables = cache.memory() as u64;
        let backend = Backend::new(design, &config.backend, unit)?;
        let machine = Machine::new(design, cache, backend);
        Ok(Self { config, kind, pace: Pace::new(&config.pace)?, machine, tables })
    }

    fn serve(&mut self, requests: &[Request], stamps: &[Stamp]) {
        let Self { pace, machine, .. } = self;
        let page = machine.page.0;
        for (group, stamps) in requests.chunks(GROUP).zip(stamps.chunks(GROUP)) {
            machine.touch(group);
            for (request, stamp) in group.iter().zip(stamps) {
                // As many pages as it takes, as far as 32 bits say it.
                let size = match u64::from(request.size) {
                    size if size <= page => page,
                    size => size.next_multiple_of(page).min(u64::from(u32::MAX) / page * page),
                } as u32;
                let at = pace.at(stamp.at);
                let end = machine.serve(at, &Request { size, ..*request }, stamp.write);
                pace.answered(end);
            }
        }
    }

    fn report(mut self, source: &Spread) -> FlashCacheReport {
        let machine = &mut self.machine;
        let idle = machine.chip.finish(&mut machine.cache).max(machine.backend.finish());
        let end = machine.end.max(idle);
        report::made(self.config, self.kind, &self.machine, end, self.tables, source)
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

/// Runs all `configs`, which are asked for one trace at one pace, in one reading of it, on all cores. A
/// report is what [`run`] says of its config.
///
/// # Errors
/// No config, or of several traces or paces; and as [`run`].
pub fn sweep(
    configs: &[FlashCacheConfig],
    progress: &Progress,
) -> Result<Vec<FlashCacheReport>, ReplayError> {
    let Some(first) = configs.first() else {
        return Err(ReplayError::impossible("sweep", "there is no cache to ask", "--dram 128MiB"));
    };
    let same = |config: &FlashCacheConfig| {
        (&config.trace, config.objects, &config.pace) == (&first.trace, first.objects, &first.pace)
    };
    if !configs.iter().all(same) {
        let why = "all caches are asked for the same trace, at one pace";
        return Err(ReplayError::impossible("sweep", why, "one sweep for each"));
    }
    let mut kinds = Vec::new();
    for config in configs {
        config.design.check()?;
        kinds.push(policy(&config.dram_policy)?);
    }
    let pace = Pace::new(&first.pace)?;
    let ahead = kinds.iter().any(|kind| kind.sees_ahead());
    let load = Load::for_some(&first.trace, first.objects, ahead, progress)?;
    let made =
        configs.iter().zip(&kinds).map(|(config, kind)| Run::new(config, *kind, load.unit()));
    let mut runs = made.collect::<Result<Vec<_>, _>>()?;
    let mut source = Spread::new(load, &pace);
    loop {
        let (requests, stamps) = source.next()?;
        if requests.is_empty() {
            break;
        }
        if progress.stop.load(Ordering::Relaxed) {
            return Err(ReplayError::Interrupted);
        }
        match &mut runs[..] {
            [one] => one.serve(requests, stamps),
            all => all.par_iter_mut().with_max_len(1).for_each(|one| one.serve(requests, stamps)),
        }
        progress.done.fetch_add(requests.len() as u64, Ordering::Relaxed);
        runs.iter().try_for_each(|run| run.machine.backend.check())?;
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
fn made(config: &FlashCacheConfig, kind: Kind, fill: Fill) -> Result<FlashCache, ReplayError> {
    let design = &config.design;
    let shape = design.shape(config.flash, fill)?;
    let page = u32::try_from(design.cache.page.0).unwrap_or(u32::MAX);
    // How much the tables take is known when there are tables.
    let empty = FlashCache::new(shape, page, Kind::Fifo.make(Bytes::ZERO));
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
