//! Caches and hardware, which process one request at a time.

use super::HeadReport;
use super::backend::{Backend, BackendCounters, ObjectPart};
use super::chip::{Chip, ChipCounters, StepTimes};
use super::config::Design;
use gordon_blockio::LatencyHistogram;
use gordon_cache::flashcache::{Fill, FlashCache, FlashCounts, PageLookup, Piece, Served};
use gordon_cache::{NOT_ADMITTED, Request};
use gordon_units::Divisor;
use gordon_units::{Bytes, Ns};
use std::hint::black_box;

/// Source of the data of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataSource {
    Dram,
    Buffer,
    Flash,
    Backend,
    /// The page was written as a whole and was not cached before.
    Written,
}

pub(super) const SOURCES: usize = 5;

/// Counters of requests of the trace; each counts with the slowest source of its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestCounters {
    pub(super) requests: u64,
    /// Requests with a page that was not in DRAM.
    pub(super) missed_dram: u64,
    /// Requests with a page that was neither in DRAM nor in flash.
    pub(super) missed: u64,
    /// Whether the current request has been counted in each of these two.
    counted: [bool; 2],
}

impl RequestCounters {
    /// Counts a page; `first` marks the first page of its request.
    #[inline]
    pub(super) fn add(&mut self, first: bool, source: DataSource) {
        if first {
            self.requests += 1;
            self.counted = [false; 2];
        }
        let missed = matches!(source, DataSource::Backend | DataSource::Written);
        for (counted, (count, now)) in self
            .counted
            .iter_mut()
            .zip([(&mut self.missed_dram, source != DataSource::Dram), (&mut self.missed, missed)])
        {
            *count += u64::from(now && !*counted);
            *counted |= now;
        }
    }
}

/// Counters of the requests of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceTally {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// DRAM that serves requests sequentially. Transfers by the flash and the backend count as busy
/// time, but do not delay requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dram {
    pub(super) access: Ns,
    pub(super) rate: Divisor,
    pub(super) free: Ns,
    pub(super) reading: Ns,
    pub(super) writing: Ns,
}

impl Dram {
    fn new(design: &Design) -> Self {
        let (access, rate) = (*design.dram.access, Divisor::new(design.dram.rate_per_s.0));
        Self { access, rate, free: Ns::ZERO, reading: Ns::ZERO, writing: Ns::ZERO }
    }

    #[inline]
    fn span(&self, bytes: Bytes) -> Ns {
        let time = match bytes.0.checked_mul(Ns::SECOND.0) {
            Some(scaled) => Ns(self.rate.ceil(scaled)),
            // An object of 18 GB or more.
            None => bytes.time_at(Bytes(self.rate.get())),
        };
        self.access + time
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

/// Data read in a search of the hash table: a bucket, then a tag, each a cache line of the CPU.
const LINE: Bytes = Bytes(64);
const LINES: u64 = 2;

/// Caches and hardware.
pub(super) struct Machine {
    pub(super) cache: FlashCache,
    pub(super) page: Bytes,
    /// Whether the request is a whole object, after whose end its last page is empty.
    pub(super) is_whole: bool,
    /// Pages of a logical block if a miss fetches a whole block; else 0.
    pub(super) by_block: u64,
    pub(super) search: Ns,
    pub(super) lookup: Ns,
    pub(super) buffer_pages: u64,
    pub(super) dram: Dram,
    pub(super) chip: Chip,
    pub(super) backend: Backend,
    /// By place of the primary page cache: when its data are available. It may be requested before.
    dram_ready_at: Vec<Ns>,
    /// By slot of the flash: when its data, which pass through the buffer, are available.
    buffer_ready_at: Vec<Ns>,
    pub(super) tallies: [SourceTally; SOURCES],
    pub(super) latencies: [LatencyHistogram; SOURCES],
    /// Source of the last request.
    pub(super) source: DataSource,
    /// Latest response so far.
    pub(super) end: Ns,
    /// Requests that waited for space in the buffer or in the disk's queue.
    pub(super) waited: u64,
    /// State of the flash when it had been written once; wear is measured from then on. If that was
    /// during the warm-up, its state at the end of the warm-up.
    pub(super) first_fill: Option<FirstFill>,
    /// Counters at the end of the warm-up, which no result includes.
    pub(super) warm_up: WarmUpCounters,
}

/// Counters at the end of the warm-up.
#[derive(Default)]
pub(super) struct WarmUpCounters {
    pub(super) at: Ns,
    reading: Ns,
    writing: Ns,
    chip: ChipCounters,
    backend: BackendCounters,
    counts: FlashCounts,
    refused: u64,
    /// Erases of each logical block in total and by swaps; empty if there was no warm-up.
    erases: Vec<u32>,
    swap_erases: Vec<u32>,
    head: Option<HeadReport>,
}

/// State of the flash when it had been written once.
pub(super) struct FirstFill {
    pub(super) at: Ns,
    /// Flash pages programmed.
    pub(super) programs: u64,
    /// Erases of each logical block.
    pub(super) erases: Vec<u32>,
}

impl Machine {
    pub(super) fn new(design: &Design, cache: FlashCache, backend: Backend) -> Self {
        let dram = Dram::new(design);
        let shape = cache.shape();
        let slots = match shape.fill {
            Fill::Block => shape.blocks() as usize,
            Fill::Page => shape.blocks() as usize * shape.pages as usize,
        };
        let has_flash = shape.sets > 0;
        let lookup = if has_flash { dram.span(LINE) * LINES } else { Ns::ZERO };
        Self {
            page: *design.cache.page,
            is_whole: false,
            by_block: if has_flash && shape.fill == Fill::Block { shape.pages.into() } else { 0 },
            search: *design.dram.search,
            lookup,
            buffer_pages: design.cache.write_buffer.0 / design.cache.page.0,
            dram,
            chip: Chip::new(StepTimes::new(design)),
            backend,
            dram_ready_at: Vec::new(),
            buffer_ready_at: vec![Ns::ZERO; slots],
            tallies: [SourceTally::default(); SOURCES],
            latencies: std::array::from_fn(|_| LatencyHistogram::default()),
            source: DataSource::Dram,
            end: Ns::ZERO,
            waited: 0,
            first_fill: None,
            warm_up: WarmUpCounters::default(),
            cache,
        }
    }

    /// Ends the warm-up at this time, which is that of the first counted request.
    pub(super) fn end_warm_up(&mut self, at: Ns) {
        // Steps that began before belong to the warm-up.
        self.chip.advance(&mut self.cache, at);
        self.backend.advance(at);
        self.tallies = [SourceTally::default(); SOURCES];
        self.latencies = std::array::from_fn(|_| LatencyHistogram::default());
        self.waited = 0;
        self.end = at;
        self.warm_up = WarmUpCounters {
            at,
            reading: self.dram.reading,
            writing: self.dram.writing,
            chip: self.chip.counters,
            backend: self.backend.counters,
            counts: self.cache.counts(),
            refused: self.cache.dram().counts().refused,
            erases: self.cache.erases().to_vec(),
            swap_erases: self.cache.swap_erases().to_vec(),
            head: self.backend.simulated().map(|disk| disk.report(at)),
        };
        if self.first_fill.is_some() {
            self.first_fill = Some(self.flash_now(at));
        }
    }

    /// Read and write times of the DRAM. Like all counters below, they exclude the warm-up.
    pub(super) fn dram_busy(&self) -> [Ns; 2] {
        [self.dram.reading - self.warm_up.reading, self.dram.writing - self.warm_up.writing]
    }

    pub(super) fn chip_counters(&self) -> ChipCounters {
        self.chip.counters - self.warm_up.chip
    }

    pub(super) fn backend_counters(&self) -> BackendCounters {
        self.backend.counters - self.warm_up.backend
    }

    /// Counters of the flash cache.
    pub(super) fn counts(&self) -> FlashCounts {
        self.cache.counts() - self.warm_up.counts
    }

    /// Misses that the primary page cache did not admit.
    pub(super) fn refused(&self) -> u64 {
        self.cache.dram().counts().refused - self.warm_up.refused
    }

    /// Erases of each logical block.
    pub(super) fn erases(&self) -> Vec<u32> {
        since(self.cache.erases(), &self.warm_up.erases)
    }

    /// Erases of each place by swaps of sets.
    pub(super) fn swap_erases(&self) -> Vec<u32> {
        since(self.cache.swap_erases(), &self.warm_up.swap_erases)
    }

    /// Activity of the head of a simulated disk until `time`; `None` for other backends.
    pub(super) fn head(&self, time: Ns) -> Option<HeadReport> {
        let now = self.backend.simulated()?.report(time);
        Some(match &self.warm_up.head {
            Some(before) => now.since(before),
            None => now,
        })
    }

    /// Prefetches the table entries of these requests.
    #[inline]
    pub(super) fn prefetch(&self, requests: &[Request]) {
        let parts = requests.iter().map(|request| self.cache.prefetch(request.key));
        black_box(parts.fold(0, |all, part| all ^ part));
    }

    /// Serves a request at this time, which must not be earlier than the previous one. Returns when
    /// it is answered.
    pub(super) fn serve(&mut self, at: Ns, request: &Request, write: bool) -> Ns {
        // Brings the flash up to the time at which the table is searched.
        self.chip.advance(&mut self.cache, at + self.search + self.lookup);
        // The end of the last page of a whole object is padding, which is not fetched.
        let asked = if self.is_whole { request.size } else { request.asked };
        let served = self.cache.access_at(&Request { asked, ..*request }, write);
        let (source, end) = if served.found == PageLookup::Dram {
            let mut begin = at + self.search;
            if write {
                begin += self.count_lookups(&served);
            }
            let available = self.dram_ready_at[served.place as usize];
            let end = if available <= begin {
                self.move_by_host(begin, request.asked, write)
            } else {
                self.move_after(available, request.asked, write)
            };
            (DataSource::Dram, end)
        } else {
            self.serve_below(at, request, write, served)
        };
        let end = if write { self.write_through(end, request) } else { end };
        let (at_source, latency) = (source as usize, end - at);
        self.tallies[at_source].requests += 1;
        // The bytes of pieces are counted at the source of each piece.
        if served.found != PageLookup::Pieces {
            self.tallies[at_source].bytes += request.asked;
        }
        self.latencies[at_source].record(latency);
        self.end = self.end.max(end);
        if self.first_fill.is_none() {
            self.note_first_fill(at);
        }
        self.source = source;
        end
    }

    /// Number of flash pages, without the blocks for swaps.
    pub(super) fn flash_pages(&self) -> u64 {
        let blocks = u64::from(self.cache.shape().blocks());
        blocks * u64::from(self.cache.shape().pages) * self.chip.pages()
    }

    #[inline]
    fn note_first_fill(&mut self, at: Ns) {
        let (programs, all) = (self.chip.counters.programs, self.flash_pages());
        if all > 0 && programs >= all {
            self.first_fill = Some(self.flash_now(at));
        }
    }

    fn flash_now(&self, at: Ns) -> FirstFill {
        FirstFill {
            at,
            programs: self.chip.counters.programs,
            erases: self.cache.erases().to_vec(),
        }
    }

    /// Counts the searches of the hash table, one per tag. Returns their time.
    #[inline]
    fn count_lookups(&mut self, served: &Served) -> Ns {
        let span = self.lookup * u64::from(served.lookups);
        self.dram.reading += span;
        span
    }

    /// Transfers the host's own bytes from DRAM or to it.
    #[inline]
    fn move_by_host(&mut self, begin: Ns, len: u64, write: bool) -> Ns {
        let bytes = Bytes(len);
        let span = if write { self.dram.write(bytes) } else { self.dram.read(bytes) };
        self.dram.free = self.dram.free.max(begin) + span;
        self.dram.free
    }

    /// The same transfer after a wait for a slower part; it does not delay other requests.
    fn move_after(&mut self, begin: Ns, len: u64, write: bool) -> Ns {
        let bytes = Bytes(len);
        begin + if write { self.dram.write(bytes) } else { self.dram.read(bytes) }
    }

    fn serve_below(
        &mut self,
        at: Ns,
        request: &Request,
        write: bool,
        served: Served,
    ) -> (DataSource, Ns) {
        let mut begin = at + self.search + self.count_lookups(&served);
        // Time when the data are in DRAM; the request may have to wait for more.
        let mut available = begin;
        let source = match served.found {
            PageLookup::Dram => DataSource::Dram,
            PageLookup::Buffer { .. } => {
                // The page is copied to the primary page cache.
                available = begin.max(self.buffer_ready_at[served.slot as usize]);
                let size = Bytes(request.size);
                self.dram.read(size);
                begin = available + self.dram.write(size);
                DataSource::Buffer
            }
            PageLookup::Flash(place) => {
                available = self.chip.read(begin, place);
                self.dram.write(self.page * u64::from(place.pages));
                begin = available;
                DataSource::Flash
            }
            PageLookup::Backend { unit, page, pages, ticket } => {
                self.backend.advance(begin);
                let bytes = self.page * u64::from(pages);
                // On a disk, a unit has as many keys as a logical block has pages, or one.
                let (first, keys) = match self.by_block {
                    0 => (unit, 1),
                    of => (unit * of + u64::from(page), u64::from(pages)),
                };
                available = self.backend.fetch(begin, first, keys, bytes);
                self.dram.write(bytes);
                begin = available;
                if ticket.is_some() {
                    self.buffer_ready_at[served.slot as usize] = available;
                    self.chip.queue_fill(available);
                    // The data were written to the buffer; the requested page is copied from there.
                    self.dram.read(bytes);
                    self.dram.write(Bytes(request.size));
                    if let Some(space_at) = self.chip.drain(&mut self.cache, self.buffer_pages) {
                        self.waited += 1;
                        begin = begin.max(space_at);
                    }
                }
                DataSource::Backend
            }
            PageLookup::Written => DataSource::Written,
            PageLookup::Pieces => {
                let (source, all) = self.fetch_object(begin, request);
                available = all;
                begin = all;
                if let Some(space_at) = self.chip.drain(&mut self.cache, self.buffer_pages) {
                    self.waited += 1;
                    begin = begin.max(space_at);
                }
                source
            }
        };
        if served.place != NOT_ADMITTED {
            self.set_available(served.place as usize, available);
        }
        (source, self.move_after(begin, request.asked, write))
    }

    /// Brings the pieces of an object to DRAM: first those that are cached, then the missing ones,
    /// with one access of the backend for adjacent pieces. Returns the slowest source, and when all
    /// are available.
    fn fetch_object(&mut self, begin: Ns, request: &Request) -> (DataSource, Ns) {
        let pieces = self.cache.pieces().to_vec();
        let (mut slowest, mut available) = (DataSource::Buffer, begin);
        for piece in &pieces {
            let bytes = self.page * u64::from(piece.pages);
            let (source, ready) = match piece.found {
                PageLookup::Buffer { .. } => {
                    self.dram.read(bytes);
                    let ready = begin.max(self.buffer_ready_at[piece.slot as usize]);
                    (DataSource::Buffer, ready + self.dram.write(bytes))
                }
                PageLookup::Flash(place) => {
                    slowest = DataSource::Flash;
                    self.dram.write(bytes);
                    (DataSource::Flash, self.chip.read(begin, place))
                }
                _ => (DataSource::Backend, begin),
            };
            available = available.max(ready);
            // The last page may be requested in part.
            let before = self.page.0 * u64::from(piece.page);
            self.tallies[source as usize].bytes +=
                bytes.0.min(request.asked.saturating_sub(before));
        }
        self.backend.advance(begin);
        let is_missing = |piece: &Piece| matches!(piece.found, PageLookup::Backend { .. });
        let mut fetched = None;
        for run in pieces.chunk_by(|one, next| is_missing(one) == is_missing(next)) {
            if !is_missing(&run[0]) {
                continue;
            }
            let pages: u32 = run.iter().map(|piece| piece.pages).sum();
            let (from, bytes) = (self.page * u64::from(run[0].page), self.page * u64::from(pages));
            let part = ObjectPart { object: Bytes(request.size), from, bytes, after: fetched };
            let ready = self.backend.fetch_part(begin, request.key, part);
            fetched = Some(from + bytes);
            for piece in run {
                self.store_piece(piece, ready);
            }
            (slowest, available) = (DataSource::Backend, available.max(ready));
        }
        (slowest, available)
    }

    /// Stores a fetched piece in DRAM, and in the buffer if it goes to flash.
    fn store_piece(&mut self, piece: &Piece, ready: Ns) {
        let bytes = self.page * u64::from(piece.pages);
        self.dram.write(bytes);
        if matches!(piece.found, PageLookup::Backend { ticket: Some(_), .. }) {
            self.buffer_ready_at[piece.slot as usize] = ready;
            self.chip.queue_fill(ready);
            self.dram.read(bytes);
            self.dram.write(bytes);
        }
    }

    /// Sets the time when the data of a place in the primary page cache are available.
    #[inline]
    fn set_available(&mut self, place: usize, available: Ns) {
        if place >= self.dram_ready_at.len() {
            self.dram_ready_at.resize(place + 1, Ns::ZERO);
        }
        self.dram_ready_at[place] = available;
    }

    /// Writes through to the backend. Returns when the write is acknowledged.
    fn write_through(&mut self, end: Ns, request: &Request) -> Ns {
        self.backend.advance(end);
        let bytes = Bytes(request.asked);
        self.dram.read(bytes);
        let space_at = self.backend.store(end, request.key, 1, bytes);
        self.waited += u64::from(space_at > end);
        space_at
    }
}

/// Counters minus those of an earlier time; `before` may be empty.
fn since(now: &[u32], before: &[u32]) -> Vec<u32> {
    let before = before.iter().chain(std::iter::repeat(&0));
    now.iter().zip(before).map(|(now, before)| now - before).collect()
}
