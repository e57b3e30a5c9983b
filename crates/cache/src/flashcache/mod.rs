//! FlashCache: a page cache in DRAM and a second one in NAND flash below it (Kgil and Mudge,
//! "FlashCache: A NAND Flash Memory File Cache for Low Power Web Servers", CASES 2006).
//!
//! [`FlashCache::access`] returns where a page is found. The work that follows in flash is a queue
//! of [`Job`]s, which a driver carries out one at a time ([`FlashCache::job`],
//! [`FlashCache::done`]). The parts of the paper are here:
//!
//! | part | paper | here |
//! |---|---|---|
//! | primary page cache | 4 | any [`Policy`] |
//! | hash table of tags, sets of ways | 3.1 | `table` |
//! | eviction counts, hot blocks and hot sets | 3.2 | `wear` |
//! | write buffer, reads before writes | 3.3 | `jobs`, and the driver |
//!
//! `docs/design/flashcache.md` describes what the paper leaves open, and the choices made here. The
//! cache never holds the only copy of data: writes go through to the backend.
//!
//! # Contract of the driver
//! - A read of flash that [`access`](FlashCache::access) requests ends before the next job begins.
//! - Jobs are carried out in order; reads may take place between the pages of a job.
//! - Data fetched for a fill are kept, under its ticket, until the job that programs them is done.

mod jobs;
mod level;
mod table;
mod wear;

pub use jobs::Job;
pub use level::Resident;
pub use wear::{SetRule, WearRules};

use crate::index::hash;
use crate::policy::{Access, Policy, Request};
use alloc::boxed::Box;
use alloc::vec::Vec;
use level::Level;

/// The unit that is fetched at a miss. Each unit in flash has a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// A whole logical block. Keys are page numbers, and consecutive pages form a block.
    Block,
    /// The requested object, of one page or several. A logical block collects objects in the order
    /// of their arrival. An object larger than a logical block is split into [`Piece`]s.
    Page,
}

/// The flash and its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashShape {
    /// Number of sets; 0 without flash.
    pub sets: u32,
    /// Number of logical blocks of a set.
    pub ways: u32,
    /// Number of pages of a logical block, at most 32,767.
    pub pages: u32,
    /// The unit of a fill.
    pub fill: Fill,
    /// The rules of wear levelling.
    pub rules: WearRules,
    /// Capacity of the write buffer in pages. A unit that finds it full is not admitted. `None`:
    /// all units are admitted, and the driver waits for space.
    pub buffer: Option<u64>,
}

impl FlashShape {
    /// Number of logical blocks, without those for swaps of sets.
    pub const fn blocks(&self) -> u32 {
        self.sets * self.ways
    }
}

/// [`Served::slot`] of a request that has no slot in flash.
pub const NO_SLOT: u32 = u32::MAX;

/// Consecutive pages of a block in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The physical block. Blocks for swaps of sets come after all others.
    pub block: u32,
    /// The first page, in the block.
    pub page: u32,
    /// Number of pages.
    pub pages: u32,
}

/// Where a page, or an object of several pages, was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLookup {
    /// In the primary page cache, in DRAM. A write hit is also served there.
    Dram,
    /// In the write buffer of the flash.
    Buffer {
        /// The unit, as in [`PageLookup::Backend`].
        unit: u64,
    },
    /// In flash: the pages to read.
    Flash(PageRange),
    /// Not in the cache: to be fetched from the backend.
    Backend {
        /// The unit: the key, or with [`Fill::Block`] the number of the block.
        unit: u64,
        /// The first page of the unit to be fetched.
        page: u32,
        /// Number of pages to be fetched.
        pages: u32,
        /// The fill that programs them; `None` if they are not admitted to flash.
        ticket: Option<u64>,
    },
    /// Not in the cache, and written as a whole: nothing is fetched.
    Written,
    /// The object is larger than a logical block: [`FlashCache::pieces`] has the result for each
    /// piece.
    Pieces,
}

/// A part of an object that is larger than a logical block: as many pages as a logical block has,
/// or the rest. Each piece has its own tag and is admitted, found and evicted independently, so
/// that some parts of an object can be in flash while others are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first page, in the object.
    pub page: u32,
    /// Number of pages.
    pub pages: u32,
    /// Where it was found: in the buffer, in flash, or in the backend.
    pub found: PageLookup,
    /// Its slot, as in [`Served::slot`].
    pub slot: u32,
}

/// The result of a request, with small numbers under which a driver can keep data of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Where it was found.
    pub found: PageLookup,
    /// Its place in the primary page cache, which no other page there has, or
    /// [`NOT_ADMITTED`](crate::NOT_ADMITTED).
    pub place: u32,
    /// The slot of its unit in flash, which no other unit there has, or [`NO_SLOT`].
    pub slot: u32,
    /// Number of searches of the hash table.
    pub lookups: u32,
}

/// Counts of what happened in flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Searches of the hash table.
    pub lookups: u64,
    /// Searches for pages that were not in DRAM and have to be read.
    pub reads: u64,
    /// Reads that were found in flash.
    pub flash_hits: u64,
    /// Reads that were found in the write buffer.
    pub buffer_hits: u64,
    /// Units admitted to flash.
    pub fills: u64,
    /// Pages of the admitted units.
    pub fill_pages: u64,
    /// Objects that were not admitted because they have more pages than the whole flash.
    pub too_large: u64,
    /// Units that were not admitted because the write buffer was full.
    pub crowded: u64,
    /// Units that were not admitted because every block of their set had been worn by another set,
    /// up to the bound of [`SetRule::Bounded`].
    pub worn: u64,
    /// Units, or pages of units, that became stale in flash because they were written.
    pub dropped: u64,
    /// Logical blocks evicted.
    pub evictions: u64,
    /// Evictions of a block because one of its stale pages was requested.
    pub refills: u64,
    /// Evictions in which the least worn block of the set took the place of a hot block.
    pub block_rule: u64,
    /// Hot sets swapped with cold ones.
    pub set_swaps: u64,
    /// Logical blocks erased for these swaps.
    pub swap_erases: u64,
    /// Pages copied for these swaps.
    pub swap_pages: u64,
}

gordon_units::fieldwise!(FlashCounts {
    lookups,
    reads,
    flash_hits,
    buffer_hits,
    fills,
    fill_pages,
    too_large,
    crowded,
    worn,
    dropped,
    evictions,
    refills,
    block_rule,
    set_swaps,
    swap_erases,
    swap_pages,
});

/// The two levels of the cache.
pub struct FlashCache {
    shape: FlashShape,
    /// Size of a page in bytes.
    page: u32,
    /// Pages of a unit with [`Fill::Block`], otherwise 0.
    by_block: u64,
    dram: Box<dyn Policy>,
    flash: Option<Level>,
    /// The pieces of the last request whose object was split.
    pieces: Vec<Piece>,
}

impl core::fmt::Debug for FlashCache {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FlashCache").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl FlashCache {
    /// Creates an empty cache with new flash, for pages of `page` bytes.
    ///
    /// # Panics
    /// A shape with sets has no ways, no pages, or more than 32,767 pages a block.
    pub fn new(shape: FlashShape, page: u32, dram: Box<dyn Policy>) -> Self {
        let flash = (shape.sets > 0).then(|| Level::new(shape));
        let by_block = if shape.fill == Fill::Block { shape.pages.into() } else { 0 };
        Self { shape, page, by_block, dram, flash, pieces: Vec::new() }
    }

    /// Serves a request. The size of the object is a number of whole pages; fewer bytes may be
    /// requested. With [`Fill::Block`] an object is one page.
    ///
    /// Afterwards the page is in DRAM. After a read miss it is also queued for flash; a write only
    /// makes a copy in flash stale.
    #[inline]
    pub fn access_at(&mut self, request: &Request, write: bool) -> Served {
        let (access, place) = self.dram.access_at(request);
        let hit = access == Access::Hit;
        if hit && !write {
            return Served { found: PageLookup::Dram, place, slot: NO_SLOT, lookups: 0 };
        }
        let pages = self.pages(request.size);
        if self.is_split(pages) {
            let found = self.access_pieces(request, pages, write, hit);
            return Served { found, place, slot: NO_SLOT, lookups: self.pieces.len() as u32 };
        }
        let (found, slot) = self.access_flash(request, write, hit);
        Served { found, place, slot: slot.unwrap_or(NO_SLOT), lookups: 1 }
    }

    /// Serves a request like [`access_at`](Self::access_at).
    #[inline]
    pub fn access(&mut self, request: &Request, write: bool) -> PageLookup {
        self.access_at(request, write).found
    }

    #[inline]
    fn access_flash(
        &mut self,
        request: &Request,
        write: bool,
        in_dram: bool,
    ) -> (PageLookup, Option<u32>) {
        let fetched = !in_dram && (!write || request.asked < request.size);
        let (unit, at, pages) = match self.shape.fill {
            Fill::Page => (request.key, 0, self.pages(request.size)),
            Fill::Block if self.flash.is_none() => (request.key, 0, 1),
            Fill::Block => {
                let pages = u64::from(self.shape.pages);
                (request.key / pages, (request.key % pages) as u32, self.shape.pages)
            }
        };
        let Some(flash) = &mut self.flash else {
            let found = match (in_dram, fetched) {
                (true, _) => PageLookup::Dram,
                (false, true) => PageLookup::Backend { unit, page: 0, pages, ticket: None },
                (false, false) => PageLookup::Written,
            };
            return (found, None);
        };
        let (found, slot) = flash.find(unit, at, fetched);
        if let Some(slot) = slot.filter(|_| write) {
            flash.mark_stale(slot, at);
        }
        let found = match found {
            _ if in_dram => PageLookup::Dram,
            _ if !fetched => PageLookup::Written,
            Some(found) => found,
            // A partial write needs the rest of the page, which comes from the backend and is not
            // admitted to flash.
            None if write && self.shape.fill == Fill::Block => {
                PageLookup::Backend { unit, page: at, pages: 1, ticket: None }
            }
            None if write => PageLookup::Backend { unit, page: 0, pages, ticket: None },
            None => {
                let (ticket, slot) = flash.fill(unit, pages, slot).unzip();
                return (PageLookup::Backend { unit, page: 0, pages, ticket }, slot);
            }
        };
        (found, slot)
    }

    /// Whether an object of `pages` pages is split into pieces, because it is larger than a logical
    /// block, but not larger than the whole flash.
    #[inline]
    fn is_split(&self, pages: u32) -> bool {
        let block = self.shape.pages;
        pages > block
            && self.shape.fill == Fill::Page
            && u64::from(pages) <= u64::from(self.shape.blocks()) * u64::from(block)
    }

    /// Does the same as `access_flash` for an object that is split. All pieces are looked up before
    /// any missing one is filled, so that a fill does not evict a piece that the same request
    /// finds.
    fn access_pieces(
        &mut self,
        request: &Request,
        pages: u32,
        write: bool,
        in_dram: bool,
    ) -> PageLookup {
        let fetched = !in_dram && (!write || request.asked < request.size);
        let flash = self.flash.as_mut().expect("objects are split only if there is flash");
        self.pieces.clear();
        for (number, page) in (0..).zip((0..pages).step_by(self.shape.pages as usize)) {
            let unit = piece_tag(request.key, number);
            let (found, slot) = flash.find(unit, 0, fetched);
            if let Some(slot) = slot.filter(|_| write) {
                flash.mark_stale(slot, 0);
            }
            let pages = self.shape.pages.min(pages - page);
            let missing = PageLookup::Backend { unit, page: 0, pages, ticket: None };
            let (found, slot) = (found.unwrap_or(missing), slot.unwrap_or(NO_SLOT));
            self.pieces.push(Piece { page, pages, found, slot });
        }
        if in_dram {
            return PageLookup::Dram;
        }
        if !fetched {
            return PageLookup::Written;
        }
        for piece in self.pieces.iter_mut().filter(|_| !write) {
            if let PageLookup::Backend { unit, pages, ticket, .. } = &mut piece.found {
                let filled = flash.fill(*unit, *pages, None).unzip();
                *ticket = filled.0;
                piece.slot = filled.1.unwrap_or(NO_SLOT);
            }
        }
        PageLookup::Pieces
    }

    /// The pieces of the last request with the result [`PageLookup::Pieces`], in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Number of pages of an object. 2^32 pages are at least 8 TiB.
    #[inline]
    fn pages(&self, size: u64) -> u32 {
        if size == u64::from(self.page) {
            return 1;
        }
        u32::try_from(size / u64::from(self.page)).unwrap_or(u32::MAX)
    }

    /// Whether no job waits.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| flash.jobs.is_empty())
    }

    /// The next job.
    pub fn job(&mut self) -> Option<Job> {
        self.flash.as_mut()?.jobs.next()
    }

    /// Reports that the job returned by [`job`](Self::job) is done.
    pub fn done(&mut self) {
        if let Some(flash) = &mut self.flash {
            flash.job_done();
        }
    }

    /// Number of pages in the write buffer: admitted and not yet programmed.
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.flash.as_ref().map_or(0, |flash| flash.jobs.buffered)
    }

    /// The flash and its rules.
    #[inline]
    pub fn shape(&self) -> FlashShape {
        self.shape
    }

    /// The primary page cache.
    pub fn dram(&self) -> &dyn Policy {
        &*self.dram
    }

    /// Counts of what happened in flash.
    pub fn counts(&self) -> FlashCounts {
        self.flash.as_ref().map_or_else(FlashCounts::default, |flash| flash.counts)
    }

    /// Erase count of each physical block. Blocks for swaps of sets come last.
    pub fn erases(&self) -> &[u32] {
        self.flash.as_ref().map_or(&[], |flash| flash.wear.erases())
    }

    /// Erases of each physical block by swaps of sets, which [`erases`](Self::erases) includes.
    pub fn swap_erases(&self) -> &[u32] {
        self.flash.as_ref().map_or(&[], |flash| flash.wear.swap_erases())
    }

    /// Memory of the tables of the flash in bytes.
    pub fn memory(&self) -> usize {
        self.flash.as_ref().map_or(0, Level::memory)
    }

    /// Calls `each` with every unit in flash or in the write buffer.
    pub fn residents(&self, each: &mut dyn FnMut(Resident)) {
        if let Some(flash) = &self.flash {
            flash.residents(each);
        }
    }

    /// The set of a unit; `None` without flash.
    pub fn set_of(&self, unit: u64) -> Option<u32> {
        self.flash.as_ref().map(|flash| flash.set_of(unit))
    }

    /// Brings the table entries of a key into the CPU cache. The caller must keep the result from
    /// being optimised away.
    #[inline]
    pub fn prefetch(&self, key: u64) -> u32 {
        let unit = key.checked_div(self.by_block).unwrap_or(key);
        self.dram.prefetch(key) ^ self.flash.as_ref().map_or(0, |flash| flash.prefetch(unit))
    }
}

/// The tag of a piece: the key of the object for the first piece, otherwise a hash of 64 bits.
fn piece_tag(key: u64, number: u64) -> u64 {
    if number == 0 { key } else { hash(key ^ hash(number)) }
}
