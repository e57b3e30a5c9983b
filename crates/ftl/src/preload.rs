//! Data present before the run: maps pages without flash operations, as if they had been written in
//! the given order over the write points.
//!
//! Write points take turns, a super-page each. The map is updated for all pages of a block
//! together, when the block is full or no pages are left: [`set_all`](crate::map::Map::set_all) has
//! far fewer cache misses than updates page by page. If the first pages of a large device are
//! mapped, the tables of the map stay empty at first; see `map/on_demand.rs`.

use crate::io::ActionSink;
use crate::machine::Ftl;
use crate::map::{FilledBlocks, PageOrder};
use crate::stripes::Stripes;
use crate::write_point::WriteStream;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_nand::{Oob, PageContent};
use gordon_units::{Lpn, Ppn, Progress, Stopped};

/// Number of pages whose layout takes about as long as the simulation of a request.
pub const PAGES_A_STEP: u64 = 16;

/// Tables of at least this many bytes are not filled at the start.
const LARGE_TABLES: u64 = 1 << 30;

/// Why not all pages were mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreloadError {
    /// The pages do not fit next to those written before.
    NoRoom {
        /// The first page that was not mapped.
        lpn: Lpn,
    },
    /// The operation was stopped.
    Stopped,
}

impl fmt::Display for PreloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom { lpn } => {
                write!(f, "no free block left for page {lpn}; load pages before the first write")
            }
            Self::Stopped => write!(f, "stopped while pages were loaded"),
        }
    }
}

impl core::error::Error for PreloadError {}

impl From<Stopped> for PreloadError {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

/// Called with each super-page laid out before the run: its number, its out-of-band data, and the
/// logical page in each slot.
pub type OnProgram<'a> = dyn FnMut(Ppn, Oob, &[Option<Lpn>]) + 'a;

/// Pages placed in consecutive slots of a write point and not yet entered in the map.
#[derive(Clone, Default)]
struct PlacedPages {
    /// The slot of the first page.
    start: u32,
    pages: Vec<u32>,
}

impl<O: ActionSink> Ftl<O> {
    /// Maps each of `lpns` that is not mapped. `placed` is called with the super-pages that hold
    /// them, for drivers that store contents. Each [`PAGES_A_STEP`] pages are a step of `progress`;
    /// the caller sets the total.
    ///
    /// # Errors
    /// Returns [`PreloadError::NoRoom`] if the array is full (earlier pages stay mapped), and
    /// [`PreloadError::Stopped`] if `progress` requests it.
    ///
    /// # Panics
    /// Panics if work is in flight, if a page lies outside the exported ones, or if `lpns` is not
    /// ascending.
    pub fn preload(
        &mut self,
        lpns: impl IntoIterator<Item = Lpn>,
        placed: &mut OnProgram<'_>,
        progress: &Progress,
    ) -> Result<(), PreloadError> {
        assert!(!self.is_busy(), "pages are loaded when no work is in flight");
        let mut pending = vec![PlacedPages::default(); self.config.write_points as usize];
        let loaded = self.place_all(lpns.into_iter(), placed, progress, &mut pending);
        for (at, pending) in pending.iter_mut().enumerate() {
            self.map_all(at, pending);
        }
        loaded
    }

    /// As [`preload`](Self::preload), for the first `pages`, and without a driver that stores
    /// contents. The tables of a new, large array stay empty at first, and their entries are
    /// computed when they are needed.
    ///
    /// # Errors
    /// As for [`preload`](Self::preload).
    ///
    /// # Panics
    /// As for [`preload`](Self::preload).
    pub fn preload_first(&mut self, pages: u32, progress: &Progress) -> Result<(), PreloadError> {
        let small = self.map.memory() < LARGE_TABLES || self.data_pages < 2;
        if small || !self.is_empty() {
            return self.preload((0..pages).map(Lpn), &mut |_, _, _| (), progress);
        }
        self.preload_on_demand(pages, progress)
    }

    /// As [`preload_first`](Self::preload_first), but the tables of the smallest array stay empty,
    /// too.
    ///
    /// # Errors
    /// As for [`preload`](Self::preload). No page is mapped then.
    ///
    /// # Panics
    /// Panics if the layer is not new, if a page lies outside the exported ones, or if blocks have
    /// a single data page.
    pub fn preload_on_demand(
        &mut self,
        pages: u32,
        progress: &Progress,
    ) -> Result<(), PreloadError> {
        assert!(self.is_empty() && !self.is_busy(), "only a new layer is preloaded on demand");
        assert!(pages <= self.config.exported, "page {pages} is not exported");
        assert!(
            self.data_pages > 1,
            "a block that is full at once is closed before the next opens"
        );
        let (points, super_page) = (self.config.write_points, self.config.slots);
        let block = self.data_pages * super_page;
        let stripes = Stripes { pages, points, super_page, block };
        let blocks = pages.div_ceil(stripes.row()).saturating_mul(points).min(self.blocks.len());
        let mut filled = FilledBlocks::with_capacity(blocks, block);
        let mut laid_out = 0;
        for row in (0..pages).step_by(stripes.row() as usize) {
            let used = (0..points).take_while(|&point| stripes.pages_in(row, point) > 0);
            let used: Vec<_> = (0..).zip(used).collect();
            // All blocks of a row are opened before the first of them is full.
            for &(at, point) in &used {
                if self.blocks.free() <= self.config.reserve || !self.open(at) {
                    return Err(PreloadError::NoRoom { lpn: Lpn(row + point * super_page) });
                }
            }
            for &(at, point) in &used {
                let count = stripes.pages_in(row, point);
                let block = self.write_points.get(at).block.expect("opened above");
                filled.push(
                    self.block_slots(block).start,
                    &first_bits(count, self.data_pages * super_page),
                );
                self.blocks.add_valid(block, count);
                let next = count.div_ceil(super_page);
                self.write_points.skip_to(at, next);
                if next == self.data_pages {
                    self.write_points.close(at);
                    self.blocks.close(block);
                }
                let before = laid_out / PAGES_A_STEP;
                laid_out += u64::from(count);
                progress.step(laid_out / PAGES_A_STEP - before);
                progress.check()?;
            }
        }
        let block_slots = self.layout.pages_per_block() * super_page;
        let order = PageOrder::Striped(stripes);
        self.map.start_on_demand(order, filled, self.layout.blocks(), block_slots);
        self.stats.preloaded += u64::from(pages);
        Ok(())
    }

    /// Places pages at the write points in turn.
    fn place_all(
        &mut self,
        mut lpns: impl Iterator<Item = Lpn>,
        placed: &mut OnProgram<'_>,
        progress: &Progress,
        pending: &mut [PlacedPages],
    ) -> Result<(), PreloadError> {
        let slots = self.config.slots as usize;
        // On a new device no page is mapped, so lookups can be skipped.
        let empty = self.is_empty();
        let mut page: Vec<Option<Lpn>> = Vec::with_capacity(slots);
        let (mut point, mut looked_at, mut next) = (0, 0, 0);
        loop {
            let lpn = lpns.find(|lpn| {
                // A page that is placed but not yet in the map would be placed twice.
                assert!(lpn.0 >= next, "page {lpn} comes after page {next}");
                next = lpn.0 + 1;
                looked_at += 1;
                if looked_at % PAGES_A_STEP == 0 {
                    progress.step(1);
                }
                empty || self.mapped_psn(*lpn).is_none()
            });
            page.extend(lpn.map(Some));
            if page.len() == slots || (lpn.is_none() && !page.is_empty()) {
                self.place(point, &page, placed, &mut pending[point])?;
                progress.check()?;
                page.clear();
                point = (point + 1) % pending.len();
            }
            if lpn.is_none() {
                return Ok(());
            }
        }
    }

    /// Whether all blocks are free.
    fn is_empty(&self) -> bool {
        self.blocks.free() == self.blocks.good()
    }

    /// Places a super-page at a write point.
    fn place(
        &mut self,
        at: usize,
        lpns: &[Option<Lpn>],
        placed: &mut OnProgram<'_>,
        pending: &mut PlacedPages,
    ) -> Result<(), PreloadError> {
        assert_eq!(self.write_points.get(at).stream, WriteStream::Host);
        if self.write_points.get(at).block.is_none() {
            let room = self.blocks.free() > self.config.reserve;
            if !room || !self.open(at) {
                let lpn = lpns.iter().flatten().next().copied().unwrap_or(Lpn(0));
                return Err(PreloadError::NoRoom { lpn });
            }
        }
        let point = *self.write_points.get(at);
        let block = point.block.expect("opened above");
        let ppn = self.layout.ppn(block, point.next);
        placed(ppn, Oob { content: PageContent::Data, sequence: point.sequence }, lpns);
        let (start, end) = (self.slot(ppn, 0), self.slot(ppn, self.config.slots));
        if pending.pages.is_empty() {
            pending.start = start;
        }
        pending.pages.extend(lpns.iter().flatten().map(|lpn| lpn.0));
        // Only the last super-page can have unused slots.
        for psn in (start..end).skip(lpns.len()) {
            self.map.write(psn, None);
        }
        self.write_points.skip_to(at, point.next + 1);
        if point.next + 1 == self.data_pages {
            for page in self.data_pages..self.layout.pages_per_block() {
                let ppn = self.layout.ppn(block, page);
                placed(ppn, Oob { content: PageContent::Summary, sequence: point.sequence }, &[]);
            }
            self.map_all(at, pending);
            self.write_points.close(at);
            self.blocks.close(block);
        }
        Ok(())
    }

    /// Enters the pages placed in the block of a write point in the map.
    fn map_all(&mut self, at: usize, pending: &mut PlacedPages) {
        let Some(block) = self.write_points.get(at).block else { return };
        let count = pending.pages.len();
        let pages = u32::try_from(count).expect("pages of a block");
        let bits = first_bits(pages, pages);
        self.map.set_all(pending.start, &bits, &mut pending.pages.drain(..));
        self.blocks.add_valid(block, pages);
        self.stats.preloaded += count as u64;
    }
}

/// A bitmap of `len` bits that starts with `set` set ones.
fn first_bits(set: u32, len: u32) -> Vec<u64> {
    let word = |start: u32| match set.saturating_sub(start) {
        0 => 0,
        more => u64::MAX >> (64 - more.min(64)),
    };
    (0..len).step_by(64).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Config};
    use alloc::collections::VecDeque;
    use gordon_nand::{Geometry, Layout, SuperPageShape};

    const POINTS: u64 = 3;

    /// A new layer of 32 blocks, each with 8 data pages and a summary page.
    fn layer(slots: u32) -> Ftl<VecDeque<Action>> {
        let geometry = Geometry {
            buses: 2,
            packages_per_bus: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: 16,
            pages_per_block: 9,
            page_bytes: 2048,
            oob_bytes: 16,
        };
        let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 };
        let layout = Layout::new(geometry, shape).unwrap();
        let mut config = Config::new(&layout, 1, 2);
        (config.slots, config.contents) = (slots, false);
        config.write_points = u32::try_from(POINTS).unwrap();
        config.exported = u32::try_from(config.most_exported(&layout)).unwrap();
        Ftl::with_bad(layout, config, &[], VecDeque::new()).unwrap()
    }

    /// Loads a part of the pages, then all others; the map must be the same as if each page were
    /// entered when it is placed.
    fn loads_as_page_by_page(slots: u32) {
        let mut ftl = layer(slots);
        let (mut map, layout, data_pages) = (ftl.map.clone(), ftl.layout, ftl.data_pages);
        let exported = ftl.config.exported;
        // The last super-page of the first part is not full.
        let some = exported / 3 * 2 - 1;
        let mut super_pages = vec![];
        let mut placed = |ppn: Ppn, oob: Oob, lpns: &[Option<Lpn>]| {
            if oob.content == PageContent::Summary {
                return assert!(layout.page_of(ppn) == data_pages && lpns.is_empty());
            }
            super_pages.push((ppn, oob.sequence));
            for (at, psn) in (ppn.0 * slots..(ppn.0 + 1) * slots).enumerate() {
                let lpn = lpns.get(at).copied().flatten();
                map.write(psn, lpn.map(|lpn| lpn.0));
                if let Some(Lpn(lpn)) = lpn {
                    map.fill(psn);
                    map.set(lpn, psn);
                }
            }
        };
        ftl.preload((exported - some..exported).map(Lpn), &mut placed, &Progress::default())
            .unwrap();
        ftl.preload((0..exported).map(Lpn), &mut placed, &Progress::default()).unwrap();
        ftl.check().unwrap();
        assert_eq!(ftl.stats.preloaded, u64::from(exported));
        let count = |lpns: u32| lpns.div_ceil(slots);
        assert_eq!(super_pages.len(), (count(some) + count(exported - some)) as usize);
        // Write points take turns.
        for (at, &(ppn, sequence)) in (0..).zip(&super_pages[..count(some) as usize]) {
            let turn = at / POINTS;
            let opened = turn / u64::from(data_pages) * POINTS + at % POINTS;
            assert_eq!(sequence, super_pages[0].1 + opened, "super-page {at}");
            assert_eq!(u64::from(layout.page_of(ppn)), turn % u64::from(data_pages));
        }
        for lpn in 0..exported {
            let psn = map.get(lpn);
            assert_eq!((ftl.map.get(lpn), ftl.page_in(psn)), (psn, lpn), "page {lpn}");
        }
        let [mut one, mut other] = [vec![], vec![]];
        ftl.map.save(&mut |bytes| one.extend_from_slice(bytes));
        map.save(&mut |bytes| other.extend_from_slice(bytes));
        assert!(one == other, "the tables are not the same");
    }

    #[test]
    fn a_preload_equals_one_page_by_page() {
        for slots in [1, 2, 5, 40] {
            loads_as_page_by_page(slots);
        }
    }

    #[test]
    fn pages_before_the_array_is_full_are_mapped() {
        let mut ftl = layer(2);
        while ftl.blocks.free() > ftl.config.reserve + 2 {
            ftl.blocks.fill(0).unwrap();
        }
        let all = (0..ftl.config.exported).map(Lpn);
        let loaded = ftl.preload(all, &mut |_, _, _| (), &Progress::default());
        // The third write point finds no free block.
        assert_eq!(loaded, Err(PreloadError::NoRoom { lpn: Lpn(4) }));
        let mapped = (0..ftl.config.exported).filter(|&lpn| ftl.mapped_psn(Lpn(lpn)).is_some());
        assert!(mapped.eq(0..4));
        ftl.check().unwrap();
    }

    #[test]
    fn a_preload_reports_progress_and_can_be_stopped() {
        let mut ftl = layer(2);
        let progress = Progress::default();
        ftl.preload((0..100).map(Lpn), &mut |_, _, _| (), &progress).unwrap();
        assert_eq!(progress.progress(), (100 / PAGES_A_STEP, 0));
        let stopped = Progress { stop: true.into(), ..Progress::default() };
        let loaded = ftl.preload((0..200).map(Lpn), &mut |_, _, _| (), &stopped);
        assert_eq!(loaded, Err(PreloadError::Stopped));
        assert!(ftl.mapped_psn(Lpn(199)).is_none());
    }
}
