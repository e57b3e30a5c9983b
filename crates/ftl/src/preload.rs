//! Data that was there before the run: pages are mapped without operations in flight, as if they
//! had been written before in the order given, spread over the write points.
//!
//! Write points take turns, a super-page each, but the map is told of a block's pages together,
//! when the block is full or there are no more: [`set_all`](crate::map::Map::set_all) waits for
//! memory and searches groups of slots far less than page after page would.

use crate::io::ActionSink;
use crate::machine::Ftl;
use crate::write_point::WriteStream;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use gordon_nand::{Oob, PageContent};
use gordon_units::{Lpn, Ppn, Progress, Stopped};

/// So many pages take about as long to lay out as a request takes to be simulated.
pub const PAGES_A_STEP: u64 = 16;

/// Why not all pages were mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreloadError {
    /// They do not fit beside what was written before.
    NoRoom {
        /// The first page not mapped.
        lpn: Lpn,
    },
    /// It was to stop.
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

/// A super-page that was programmed before the run: what goes beside its data, and the logical
/// page in each slot.
pub type OnProgram<'a> = dyn FnMut(Ppn, Oob, &[Option<Lpn>]) + 'a;

/// Pages placed one after the other at a write point, that the map does not know yet.
#[derive(Clone, Default)]
struct PlacedPages {
    /// The slot of the first.
    start: u32,
    pages: Vec<u32>,
}

impl<O: ActionSink> Ftl<O> {
    /// Maps each of `lpns` that is not mapped. `placed` sees the super-pages that hold them, for
    /// drivers that keep contents. Each [`PAGES_A_STEP`] pages are a step of `progress`; how many
    /// there are in all is for the caller to tell it.
    ///
    /// # Errors
    /// Where there is no room for more: those before are mapped. Where `progress` stops it.
    ///
    /// # Panics
    /// Where work is in flight, a page lies outside the exported ones, or not after the one before
    /// it.
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

    /// Puts pages at the write points in turn.
    fn place_all(
        &mut self,
        mut lpns: impl Iterator<Item = Lpn>,
        placed: &mut OnProgram<'_>,
        progress: &Progress,
        pending: &mut [PlacedPages],
    ) -> Result<(), PreloadError> {
        let slots = self.config.slots as usize;
        // On a new device no page need be looked up.
        let empty = self.blocks.free() == self.blocks.good();
        let mut page: Vec<Option<Lpn>> = Vec::with_capacity(slots);
        let (mut point, mut looked_at, mut next) = (0, 0, 0);
        loop {
            let lpn = lpns.find(|lpn| {
                // One that waits to be mapped would be placed twice.
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

    /// Puts a super-page at a write point.
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
        // None but the last super-page has any left.
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

    /// Tells the map of the pages placed in the block of a write point.
    fn map_all(&mut self, at: usize, pending: &mut PlacedPages) {
        let Some(block) = self.write_points.get(at).block else { return };
        let count = pending.pages.len();
        // A bit for each slot, all of them set.
        let mut bits = vec![u64::MAX; count.div_ceil(64)];
        if let Some(last) = bits.last_mut() {
            *last >>= (64 - count % 64) % 64;
        }
        self.map.set_all(pending.start, &bits, &mut pending.pages.drain(..));
        self.blocks.add_valid(block, u32::try_from(count).expect("pages of a block"));
        self.stats.preloaded += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Config};
    use alloc::collections::VecDeque;
    use gordon_nand::{Geometry, Layout, SuperPageShape};

    const POINTS: u64 = 3;

    /// A new layer of 32 blocks of 8 pages and a summary.
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

    /// Part of the pages, then all others: the map is to tell what it does when it is told of each
    /// page as it is placed.
    fn loads_as_page_by_page(slots: u32) {
        let mut ftl = layer(slots);
        let (mut map, layout, data_pages) = (ftl.map.clone(), ftl.layout, ftl.data_pages);
        let exported = ftl.config.exported;
        // As many as leave room in the last super-page.
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
    fn pages_are_where_they_would_be_one_by_one() {
        for slots in [1, 2, 5, 40] {
            loads_as_page_by_page(slots);
        }
    }

    #[test]
    fn where_there_is_no_room_those_before_are_mapped() {
        let mut ftl = layer(2);
        while ftl.blocks.free() > ftl.config.reserve + 2 {
            ftl.blocks.fill(0).unwrap();
        }
        let all = (0..ftl.config.exported).map(Lpn);
        let loaded = ftl.preload(all, &mut |_, _, _| (), &Progress::default());
        // The third write point finds no block.
        assert_eq!(loaded, Err(PreloadError::NoRoom { lpn: Lpn(4) }));
        let mapped = (0..ftl.config.exported).filter(|&lpn| ftl.mapped_psn(Lpn(lpn)).is_some());
        assert!(mapped.eq(0..4));
        ftl.check().unwrap();
    }

    #[test]
    fn loading_is_watched_and_ends_where_it_is_to() {
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
