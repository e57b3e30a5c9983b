//! FlashCache: a page cache in DRAM and a second one in NAND flash below it (Kgil and Mudge,
//! "FlashCache: A NAND Flash Memory File Cache for Low Power Web Servers", CASES 2006).
//!
//! [`FlashCache::access`] says where a page is found; what has to be done in flash meanwhile waits
//! in order, as [`Job`]s that a driver carries out one at a time ([`FlashCache::job`],
//! [`FlashCache::done`]). What the paper has, and where:
//!
//! | part | paper | here |
//! |---|---|---|
//! | primary page cache | 4 | any [`Policy`] |
//! | hash table of tags, sets of ways | 3.1 | `table` |
//! | eviction counts, hot blocks and hot sets | 3.2 | `wear` |
//! | buffer of what is to be written, reads before writes | 3.3 | `jobs`, and the driver |
//!
//! What it leaves open, and the choices made here, are in `docs/design/flashcache.md`. A flash
//! cache never holds the only copy of anything: writes go through to what lies below.
//!
//! # What a driver promises
//! - A read of flash that [`access`](FlashCache::access) requests is over before the next job
//!   begins.
//! - Jobs are carried out in order; reads may come in between, page by page.
//! - What is fetched for a fill is kept, under its ticket, until the job that programs it is done.

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

/// What is fetched at a miss and has a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// A whole logical block: keys are numbers of pages, and those of a block lie side by side.
    Block,
    /// What was asked for, a page or an object of several; a logical block gathers them in the
    /// order in which they come. An object larger than a logical block is cut into pieces of one
    /// ([`Piece`]).
    Page,
}

/// The flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashShape {
    /// Sets of the table: none without flash.
    pub sets: u32,
    /// Logical blocks of a set.
    pub ways: u32,
    /// Pages of a logical block: at most 32,767.
    pub pages: u32,
    /// What a tag is for.
    pub fill: Fill,
    /// When wear is levelled.
    pub rules: WearRules,
    /// Pages that the buffer holds: what finds it full does not go to flash. None: all does, and
    /// who drives it waits for room.
    pub buffer: Option<u64>,
}

impl FlashShape {
    /// Logical blocks, those for swaps of sets not counted.
    pub const fn blocks(&self) -> u32 {
        self.sets * self.ways
    }
}

/// [`Served::slot`] of a request for which no slot in flash is needed.
pub const NO_SLOT: u32 = u32::MAX;

/// Pages in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The block: a logical one's place in flash, or one for swaps beyond all these.
    pub block: u32,
    /// The first of them, in it.
    pub page: u32,
    /// How many.
    pub pages: u32,
}

/// Where a page, or an object of several, was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLookup {
    /// In the primary page cache. A write is done there, too.
    Dram,
    /// In the buffer of what is to be written to flash.
    Buffer {
        /// The tag's: what [`PageLookup::Backend`] had.
        unit: u64,
    },
    /// In flash, to be read from there.
    Flash(PageRange),
    /// Nowhere: to be fetched from what lies below.
    Backend {
        /// The tag's: the key, or with [`Fill::Block`] that of the block's first page by the pages
        /// of a block.
        unit: u64,
        /// The first of its pages to be fetched.
        page: u32,
        /// How many.
        pages: u32,
        /// The fill that programs them; none where they do not go to flash.
        ticket: Option<u64>,
    },
    /// It was not there and is written as a whole: nothing is fetched.
    Written,
    /// Of an object larger than a logical block each piece for itself: [`FlashCache::pieces`].
    Pieces,
}

/// A part of an object that is larger than a logical block: the pages of a logical block, or the
/// last ones. Each piece has a tag and is admitted, found and evicted by itself, so that parts of
/// an object can be in flash while others are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first of its pages, in the object.
    pub page: u32,
    /// How many.
    pub pages: u32,
    /// Where it was found: in the buffer, in flash, or below.
    pub found: PageLookup,
    /// Its slot, as [`Served::slot`].
    pub slot: u32,
}

/// The same, and where who drives it can keep what it knows of a page: small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Where it was found.
    pub found: PageLookup,
    /// Its place in the primary page cache from now on, which no other page there has; or
    /// [`NOT_ADMITTED`].
    pub place: u32,
    /// Of what is in the buffer, or on its way there: its slot, which no other unit in flash has.
    pub slot: u32,
    /// Searches of the hash table that it took.
    pub lookups: u32,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Searches of the hash table.
    pub lookups: u64,
    /// Of these, for a page that was not in DRAM and is to be read.
    pub reads: u64,
    /// Of these, found in flash.
    pub flash_hits: u64,
    /// Of these, found in the buffer.
    pub buffer_hits: u64,
    /// Units that went to flash.
    pub fills: u64,
    /// Their pages.
    pub fill_pages: u64,
    /// Objects not admitted: more pages than the whole flash has.
    pub too_large: u64,
    /// Units not admitted: the buffer was full.
    pub crowded: u64,
    /// Units not admitted: every block of their set had been worn by another set, up to the bound
    /// of [`SetRule::Bounded`].
    pub worn: u64,
    /// Units, or pages of one, that were written to and are stale in flash.
    pub dropped: u64,
    /// Logical blocks evicted.
    pub evictions: u64,
    /// Of these, because a page of theirs was asked for that had been written to.
    pub refills: u64,
    /// Of all, the least evicted of the set in the place of a hot block.
    pub block_rule: u64,
    /// Hot sets swapped with cold ones.
    pub set_swaps: u64,
    /// Logical blocks erased for these swaps.
    pub swap_erases: u64,
    /// Pages copied for these swaps.
    pub swap_pages: u64,
}

impl FlashCounts {
    /// What happened after `before`, an earlier count of the same cache.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            lookups: self.lookups - before.lookups,
            reads: self.reads - before.reads,
            flash_hits: self.flash_hits - before.flash_hits,
            buffer_hits: self.buffer_hits - before.buffer_hits,
            fills: self.fills - before.fills,
            fill_pages: self.fill_pages - before.fill_pages,
            too_large: self.too_large - before.too_large,
            crowded: self.crowded - before.crowded,
            worn: self.worn - before.worn,
            dropped: self.dropped - before.dropped,
            evictions: self.evictions - before.evictions,
            refills: self.refills - before.refills,
            block_rule: self.block_rule - before.block_rule,
            set_swaps: self.set_swaps - before.set_swaps,
            swap_erases: self.swap_erases - before.swap_erases,
            swap_pages: self.swap_pages - before.swap_pages,
        }
    }
}

/// The two levels.
pub struct FlashCache {
    shape: FlashShape,
    page: u32,
    /// Pages of a logical block, if that is what has a tag; else 0.
    by_block: u64,
    dram: Box<dyn Policy>,
    flash: Option<Level>,
    /// Those of the last request that was for an object of several.
    pieces: Vec<Piece>,
}

impl core::fmt::Debug for FlashCache {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FlashCache").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl FlashCache {
    /// Creates empty caches, with flash that was never written, for pages of `page` bytes.
    ///
    /// # Panics
    /// Where a shape with sets has no ways, no pages or more than 32,767 of them.
    pub fn new(shape: FlashShape, page: u32, dram: Box<dyn Policy>) -> Self {
        let flash = (shape.sets > 0).then(|| Level::new(shape));
        let by_block = if shape.fill == Fill::Block { shape.pages.into() } else { 0 };
        Self { shape, page, by_block, dram, flash, pieces: Vec::new() }
    }

    /// Serves a request. Its size is that of whole pages; what it asks for may be less. With
    /// [`Fill::Block`] it is for one page.
    ///
    /// A page that was not in DRAM is there afterwards, and one that was nowhere is on its way to
    /// flash, unless it is written: writes leave flash alone, but for the stale copy there.
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

    /// Serves a request, the same way.
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
            // The rest of a page that is written in part: it goes to the backend, not to flash.
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

    /// Whether an object of `pages` pages is cut into pieces: one logical block does not hold it,
    /// and all together do.
    #[inline]
    fn is_split(&self, pages: u32) -> bool {
        let block = self.shape.pages;
        pages > block
            && self.shape.fill == Fill::Page
            && u64::from(pages) <= u64::from(self.shape.blocks()) * u64::from(block)
    }

    /// The same as `below`, for an object that is cut: all its pieces are looked up before any that
    /// is missing is filled, so that a fill does not evict what the same request finds.
    fn access_pieces(
        &mut self,
        request: &Request,
        pages: u32,
        write: bool,
        in_dram: bool,
    ) -> PageLookup {
        let fetched = !in_dram && (!write || request.asked < request.size);
        let flash = self.flash.as_mut().expect("an object is cut where there are blocks");
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

    /// The pieces of the request that [`PageLookup::Pieces`] answered, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Pages of an object. 2^32 of the smallest are 8 TiB.
    #[inline]
    fn pages(&self, size: u64) -> u32 {
        if size == u64::from(self.page) {
            return 1;
        }
        u32::try_from(size / u64::from(self.page)).unwrap_or(u32::MAX)
    }

    /// Nothing is to be done in flash.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.flash.as_ref().is_none_or(|flash| flash.jobs.is_empty())
    }

    /// What is to be done in flash next.
    pub fn job(&mut self) -> Option<Job> {
        self.flash.as_mut()?.jobs.next()
    }

    /// The job that [`job`](Self::job) answers with is done.
    pub fn done(&mut self) {
        if let Some(flash) = &mut self.flash {
            flash.job_done();
        }
    }

    /// Pages in the buffer: fetched, or about to be, and not yet programmed.
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.flash.as_ref().map_or(0, |flash| flash.jobs.buffered)
    }

    /// The shape it was made with.
    #[inline]
    pub fn shape(&self) -> FlashShape {
        self.shape
    }

    /// The primary page cache.
    pub fn dram(&self) -> &dyn Policy {
        &*self.dram
    }

    /// What happened in and around flash.
    pub fn counts(&self) -> FlashCounts {
        self.flash.as_ref().map_or_else(FlashCounts::default, |flash| flash.counts)
    }

    /// How often each logical block was erased, by its place in flash; those for swaps come last.
    pub fn erases(&self) -> &[u32] {
        self.flash.as_ref().map_or(&[], |flash| flash.wear.erases())
    }

    /// Erases of each place by swaps of sets, which [`erases`](Self::erases) includes.
    pub fn swap_erases(&self) -> &[u32] {
        self.flash.as_ref().map_or(&[], |flash| flash.wear.swap_erases())
    }

    /// Bytes of DRAM that the tables of the flash take.
    pub fn memory(&self) -> usize {
        self.flash.as_ref().map_or(0, Level::memory)
    }

    /// Calls `each` with all that is in flash, or in the buffer on its way there.
    pub fn residents(&self, each: &mut dyn FnMut(Resident)) {
        if let Some(flash) = &self.flash {
            flash.residents(each);
        }
    }

    /// The set of a unit.
    pub fn set_of(&self, unit: u64) -> Option<u32> {
        self.flash.as_ref().map(|flash| flash.set_of(unit))
    }

    /// Prefetches the table entries of a key.
    #[inline]
    pub fn prefetch(&self, key: u64) -> u32 {
        let unit = key.checked_div(self.by_block).unwrap_or(key);
        self.dram.prefetch(key) ^ self.flash.as_ref().map_or(0, |flash| flash.prefetch(unit))
    }
}

/// The tag of a piece: the object's key for the first, a hash of 64 bits for the others.
fn piece_tag(key: u64, number: u64) -> u64 {
    if number == 0 { key } else { hash(key ^ hash(number)) }
}
