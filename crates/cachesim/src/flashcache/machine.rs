//! Caches and hardware: one request after the other.

use super::HeadReport;
use super::backend::{Asked, Backend, Part};
use super::chip::{Chip, Did, Steps};
use super::config::Design;
use gordon_blockio::LatencyHistogram;
use gordon_cache::flashcache::{Fill, FlashCache, FlashCounts, PageLookup, Piece, Served};
use gordon_cache::{NOT_ADMITTED, Request};
use gordon_units::Divisor;
use gordon_units::{Bytes, Ns};
use std::hint::black_box;

/// Where a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Dram,
    Buffer,
    Flash,
    Backend,
    /// Written as a whole, nothing was there before.
    Written,
}

pub(super) const SOURCES: usize = 5;

/// Requests of the trace, by the slowest source of their pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) requests: u64,
    /// With a page that DRAM did not have.
    pub(super) missed_dram: u64,
    /// With a page that neither DRAM nor flash had.
    pub(super) missed: u64,
    /// Whether the request at hand is counted in each of these.
    counted: [bool; 2],
}

impl Whole {
    /// A page was found there, the first of its request or a later one.
    #[inline]
    pub(super) fn add(&mut self, first: bool, source: Source) {
        if first {
            self.requests += 1;
            self.counted = [false; 2];
        }
        let missed = matches!(source, Source::Backend | Source::Written);
        for (counted, (count, now)) in self
            .counted
            .iter_mut()
            .zip([(&mut self.missed_dram, source != Source::Dram), (&mut self.missed, missed)])
        {
            *count += u64::from(now && !*counted);
            *counted |= now;
        }
    }
}

/// Requests of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// DRAM that serves requests one after the other; what others move through it takes time of it,
/// too, but nobody waits for that.
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

/// Caches and hardware.
pub(super) struct Machine {
    pub(super) cache: FlashCache,
    pub(super) page: Bytes,
    /// Pages of a logical block, if that is what is fetched; else 0.
    pub(super) by_block: u64,
    pub(super) search: Ns,
    pub(super) lookup: Ns,
    pub(super) buffer_pages: u64,
    pub(super) dram: Dram,
    pub(super) chip: Chip,
    pub(super) backend: Backend,
    /// When what each place of the primary page cache has is there: it may be asked for again
    /// before.
    in_dram: Vec<Ns>,
    /// The same of what came to each slot of flash, by way of the buffer.
    in_buffer: Vec<Ns>,
    pub(super) tallies: [Tally; SOURCES],
    pub(super) latencies: [LatencyHistogram; SOURCES],
    /// Where the last request was found.
    pub(super) source: Source,
    /// When the last request was answered.
    pub(super) end: Ns,
    /// Requests that waited until the buffer, or the disk's queue, had room.
    pub(super) waited: u64,
    /// When the flash had been written once over, and what had been done to it: from there on it
    /// wears. If that was in the warm-up, the end of the warm-up.
    pub(super) full: Option<Full>,
    /// What had been done when the warm-up ended: no result has it.
    pub(super) before: Before,
}

/// What had been done up to some time.
#[derive(Default)]
pub(super) struct Before {
    pub(super) at: Ns,
    reading: Ns,
    writing: Ns,
    did: Did,
    asked: Asked,
    counts: FlashCounts,
    refused: u64,
    /// Erases of each logical block, and those of swaps; empty: none.
    erases: Vec<u32>,
    swap_erases: Vec<u32>,
    head: Option<HeadReport>,
}

/// The flash when it had been written once over.
pub(super) struct Full {
    pub(super) at: Ns,
    /// Pages of flash programmed.
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
            by_block: if has_flash && shape.fill == Fill::Block { shape.pages.into() } else { 0 },
            search: *design.dram.search,
            lookup,
            buffer_pages: design.cache.write_buffer.0 / design.cache.page.0,
            dram,
            chip: Chip::new(Steps::new(design)),
            backend,
            in_dram: Vec::new(),
            in_buffer: vec![Ns::ZERO; slots],
            tallies: [Tally::default(); SOURCES],
            latencies: std::array::from_fn(|_| LatencyHistogram::default()),
            source: Source::Dram,
            end: Ns::ZERO,
            waited: 0,
            full: None,
            before: Before::default(),
            cache,
        }
    }

    /// The warm-up ends at this time, that of the first request that is counted.
    pub(super) fn warmed(&mut self, at: Ns) {
        // What began before is of the warm-up.
        self.chip.advance(&mut self.cache, at);
        self.backend.advance(at);
        self.tallies = [Tally::default(); SOURCES];
        self.latencies = std::array::from_fn(|_| LatencyHistogram::default());
        self.waited = 0;
        self.end = at;
        self.before = Before {
            at,
            reading: self.dram.reading,
            writing: self.dram.writing,
            did: self.chip.did,
            asked: self.backend.asked,
            counts: self.cache.counts(),
            refused: self.cache.dram().counts().refused,
            erases: self.cache.erases().to_vec(),
            swap_erases: self.cache.swap_erases().to_vec(),
            head: self.backend.simulated().map(|disk| disk.report(at)),
        };
        if self.full.is_some() {
            self.full = Some(self.flash_now(at));
        }
    }

    /// How long DRAM was read and written, without the warm-up, as all that follows.
    pub(super) fn dram_busy(&self) -> [Ns; 2] {
        [self.dram.reading - self.before.reading, self.dram.writing - self.before.writing]
    }

    /// What the chip did.
    pub(super) fn did(&self) -> Did {
        self.chip.did.since(&self.before.did)
    }

    /// What was asked of what lies below.
    pub(super) fn asked(&self) -> Asked {
        self.backend.asked.since(&self.before.asked)
    }

    /// What happened in and around flash.
    pub(super) fn counts(&self) -> FlashCounts {
        self.cache.counts().since(&self.before.counts)
    }

    /// Misses that the primary page cache did not admit.
    pub(super) fn refused(&self) -> u64 {
        self.cache.dram().counts().refused - self.before.refused
    }

    /// Erases of each logical block.
    pub(super) fn erases(&self) -> Vec<u32> {
        since(self.cache.erases(), &self.before.erases)
    }

    /// Erases of each place by swaps of sets.
    pub(super) fn swap_erases(&self) -> Vec<u32> {
        since(self.cache.swap_erases(), &self.before.swap_erases)
    }

    /// What the head of a simulated disk did until `time`.
    pub(super) fn head(&self, time: Ns) -> Option<HeadReport> {
        let now = self.backend.simulated()?.report(time);
        Some(match &self.before.head {
            Some(before) => now.since(before),
            None => now,
        })
    }

    /// Lets memory know what is looked for soon.
    #[inline]
    pub(super) fn touch(&self, requests: &[Request]) {
        let parts = requests.iter().map(|request| self.cache.prefetch(request.key));
        black_box(parts.fold(0, |all, part| all ^ part));
    }

    /// Serves a request that comes at this time, no earlier than the one before it; returns when
    /// it was answered.
    pub(super) fn serve(&mut self, at: Ns, request: &Request, write: bool) -> Ns {
        // What is in flash at the time of the search.
        self.chip.advance(&mut self.cache, at + self.search + self.lookup);
        let served = self.cache.access_at(request, write);
        let (source, end) = if served.found == PageLookup::Dram {
            let mut begin = at + self.search;
            if write {
                begin += self.looked_up(&served);
            }
            let there = self.in_dram[served.place as usize];
            let end = if there <= begin {
                self.move_by_host(begin, request.asked, write)
            } else {
                self.move_after(there, request.asked, write)
            };
            (Source::Dram, end)
        } else {
            self.below(at, request, write, served)
        };
        let end = if write { self.through(end, request) } else { end };
        let (at_source, latency) = (source as usize, end - at);
        self.tallies[at_source].requests += 1;
        // The bytes of pieces count where each was found.
        if served.found != PageLookup::Pieces {
            self.tallies[at_source].bytes += request.asked;
        }
        self.latencies[at_source].record(latency);
        self.end = self.end.max(end);
        if self.full.is_none() {
            self.note_full(at);
        }
        self.source = source;
        end
    }

    /// Pages of the flash, without the blocks set apart for swaps.
    pub(super) fn flash_pages(&self) -> u64 {
        let blocks = u64::from(self.cache.shape().blocks());
        blocks * u64::from(self.cache.shape().pages) * self.chip.pages()
    }

    #[inline]
    fn note_full(&mut self, at: Ns) {
        let (programs, all) = (self.chip.did.programs, self.flash_pages());
        if all > 0 && programs >= all {
            self.full = Some(self.flash_now(at));
        }
    }

    fn flash_now(&self, at: Ns) -> Full {
        Full { at, programs: self.chip.did.programs, erases: self.cache.erases().to_vec() }
    }

    /// The hash table is searched, once for each tag.
    #[inline]
    fn looked_up(&mut self, served: &Served) -> Ns {
        let span = self.lookup * u64::from(served.lookups);
        self.dram.reading += span;
        span
    }

    /// The host's own bytes, from DRAM or to it.
    #[inline]
    fn move_by_host(&mut self, begin: Ns, asked: u64, write: bool) -> Ns {
        let bytes = Bytes(asked);
        let span = if write { self.dram.write(bytes) } else { self.dram.read(bytes) };
        self.dram.free = self.dram.free.max(begin) + span;
        self.dram.free
    }

    /// The same after a wait for something slower: it does not hold up those that come before.
    fn move_after(&mut self, begin: Ns, asked: u64, write: bool) -> Ns {
        let bytes = Bytes(asked);
        begin + if write { self.dram.write(bytes) } else { self.dram.read(bytes) }
    }

    fn below(&mut self, at: Ns, request: &Request, write: bool, served: Served) -> (Source, Ns) {
        let mut begin = at + self.search + self.looked_up(&served);
        // When it is in DRAM: its request may wait for more.
        let mut there = begin;
        let source = match served.found {
            PageLookup::Dram => Source::Dram,
            PageLookup::Buffer { .. } => {
                // Copied to the primary page cache.
                there = begin.max(self.in_buffer[served.slot as usize]);
                let size = Bytes(request.size);
                self.dram.read(size);
                begin = there + self.dram.write(size);
                Source::Buffer
            }
            PageLookup::Flash(place) => {
                there = self.chip.read(begin, place);
                self.dram.write(self.page * u64::from(place.pages));
                begin = there;
                Source::Flash
            }
            PageLookup::Backend { unit, page, pages, ticket } => {
                self.backend.advance(begin);
                let bytes = self.page * u64::from(pages);
                // On a disk, units are of as many keys as a logical block has pages, or of one.
                let (first, keys) = match self.by_block {
                    0 => (unit, 1),
                    of => (unit * of + u64::from(page), u64::from(pages)),
                };
                there = self.backend.fetch(begin, first, keys, bytes);
                self.dram.write(bytes);
                begin = there;
                if ticket.is_some() {
                    self.in_buffer[served.slot as usize] = there;
                    self.chip.fetch(there);
                    // It was written to the buffer; its page is copied from there.
                    self.dram.read(bytes);
                    self.dram.write(Bytes(request.size));
                    if let Some(room) = self.chip.drain(&mut self.cache, self.buffer_pages) {
                        self.waited += 1;
                        begin = begin.max(room);
                    }
                }
                Source::Backend
            }
            PageLookup::Written => Source::Written,
            PageLookup::Pieces => {
                let (source, all) = self.object(begin, request);
                there = all;
                begin = all;
                if let Some(room) = self.chip.drain(&mut self.cache, self.buffer_pages) {
                    self.waited += 1;
                    begin = begin.max(room);
                }
                source
            }
        };
        if served.place != NOT_ADMITTED {
            self.comes(served.place as usize, there);
        }
        (source, self.move_after(begin, request.asked, write))
    }

    /// Brings the pieces of an object to DRAM: first those that are found, then those that are
    /// missing, adjacent ones with one access of the backend. Returns the slowest source, and when
    /// all are there.
    fn object(&mut self, begin: Ns, request: &Request) -> (Source, Ns) {
        let pieces = self.cache.pieces().to_vec();
        let (mut slowest, mut there) = (Source::Buffer, begin);
        for piece in &pieces {
            let bytes = self.page * u64::from(piece.pages);
            let (source, ready) = match piece.found {
                PageLookup::Buffer { .. } => {
                    self.dram.read(bytes);
                    let ready = begin.max(self.in_buffer[piece.slot as usize]);
                    (Source::Buffer, ready + self.dram.write(bytes))
                }
                PageLookup::Flash(place) => {
                    slowest = Source::Flash;
                    self.dram.write(bytes);
                    (Source::Flash, self.chip.read(begin, place))
                }
                _ => (Source::Backend, begin),
            };
            there = there.max(ready);
            // The last page may be asked for in part.
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
            let part = Part { object: Bytes(request.size), from, bytes, after: fetched };
            let ready = self.backend.fetch_part(begin, request.key, part);
            fetched = Some(from + bytes);
            for piece in run {
                self.keep(piece, ready);
            }
            (slowest, there) = (Source::Backend, there.max(ready));
        }
        (slowest, there)
    }

    /// A piece that was fetched is in DRAM, and in the buffer if it goes to flash.
    fn keep(&mut self, piece: &Piece, ready: Ns) {
        let bytes = self.page * u64::from(piece.pages);
        self.dram.write(bytes);
        if matches!(piece.found, PageLookup::Backend { ticket: Some(_), .. }) {
            self.in_buffer[piece.slot as usize] = ready;
            self.chip.fetch(ready);
            self.dram.read(bytes);
            self.dram.write(bytes);
        }
    }

    /// What has a place in the primary page cache is there at this time.
    #[inline]
    fn comes(&mut self, place: usize, there: Ns) {
        if place >= self.in_dram.len() {
            self.in_dram.resize(place + 1, Ns::ZERO);
        }
        self.in_dram[place] = there;
    }

    /// A write continues to what lies below; answers with when it is acknowledged.
    fn through(&mut self, end: Ns, request: &Request) -> Ns {
        self.backend.advance(end);
        let asked = Bytes(request.asked);
        self.dram.read(asked);
        let room = self.backend.store(end, request.key, 1, asked);
        self.waited += u64::from(room > end);
        room
    }
}

/// Counts without those of an earlier time, if any.
fn since(now: &[u32], before: &[u32]) -> Vec<u32> {
    let before = before.iter().chain(std::iter::repeat(&0));
    now.iter().zip(before).map(|(now, before)| now - before).collect()
}
