//! Caches and hardware: one request after the other.

use super::backend::Backend;
use super::chip::{Chip, Steps};
use super::config::Design;
use super::flight::Flight;
use crate::results::latency::Latency;
use gordon_cache::Request;
use gordon_cache::flashcache::{Fill, FlashCache, Found};
use gordon_device::Divisor;
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

/// Requests of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// DRAM that serves requests one after the other; what others move through it takes time of it, too,
/// but nobody waits for that.
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
    /// Units on their way from the backend, and pages or objects from flash.
    pub(super) fetching: Flight,
    pub(super) reading: Flight,
    pub(super) tallies: [Tally; SOURCES],
    pub(super) latencies: [Latency; SOURCES],
    /// When the last request was answered.
    pub(super) end: Ns,
    /// Requests that waited until the buffer, or the disk's queue, had room.
    pub(super) waited: u64,
}

impl Machine {
    pub(super) fn new(design: &Design, cache: FlashCache, backend: Backend) -> Self {
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
    pub(super) fn touch(&self, requests: &[Request]) {
        let parts = requests.iter().map(|request| self.cache.touch(request.key));
        black_box(parts.fold(0, |all, part| all ^ part));
        if self.fetching.is_long() {
            let parts = requests.iter().map(|request| self.fetching.touch(self.unit(request.key)));
            black_box(parts.fold(0, |all, part| all ^ part));
        }
    }

    /// Serves a request that comes at this time, no earlier than the one before it; answers with when
    /// it was answered.
    pub(super) fn serve(&mut self, at: Ns, request: &Request, write: bool) -> Ns {
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
