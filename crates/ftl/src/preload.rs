//! Data that was there before the run: pages are mapped without operations in flight, as if they
//! had been written before in the order given, spread over the write points.

use crate::io::Out;
use crate::machine::Ftl;
use crate::place::Kind;
use core::fmt;
use gordon_nand::{Holds, Oob};
use gordon_units::{Lpn, Ppn};

/// The pages do not fit beside what was written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// The first page not mapped.
    pub lpn: Lpn,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no free block left for page {}; load pages before the first write", self.lpn)
    }
}

impl core::error::Error for NoRoom {}

/// A super-page that was programmed before the run: what goes beside its data, and the logical
/// page in each slot.
pub type Placed<'a> = dyn FnMut(Ppn, Oob, &[Option<Lpn>]) + 'a;

impl<O: Out, const G: bool> Ftl<O, G> {
    /// Maps each of `lpns` that is not mapped. `placed` sees the super-pages that hold them, for
    /// drivers that keep contents.
    ///
    /// # Panics
    /// Where work is in flight, or a page lies outside the exported ones.
    pub fn preload(
        &mut self,
        lpns: impl IntoIterator<Item = Lpn>,
        placed: &mut Placed<'_>,
    ) -> Result<(), NoRoom> {
        assert!(!self.is_busy(), "pages are loaded when no work is in flight");
        let slots = self.config.slots as usize;
        let mut page: alloc::vec::Vec<Option<Lpn>> = alloc::vec::Vec::with_capacity(slots);
        let hosts = self.config.write_points as usize;
        let mut point = 0;
        let mut lpns = lpns.into_iter();
        loop {
            let lpn = lpns.find(|lpn| self.home(*lpn).is_none());
            page.extend(lpn.map(Some));
            if page.len() == slots || (lpn.is_none() && !page.is_empty()) {
                self.place(point, &page, placed)?;
                page.clear();
                point = (point + 1) % hosts;
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
        placed: &mut Placed<'_>,
    ) -> Result<(), NoRoom> {
        debug_assert_eq!(self.points.get(at).kind, Kind::Host);
        if self.points.get(at).block.is_none() {
            let room = self.blocks.free() > self.config.reserve;
            if !room || !self.open(at) {
                let lpn = lpns.iter().flatten().next().copied().unwrap_or(Lpn(0));
                return Err(NoRoom { lpn });
            }
        }
        let point = *self.points.get(at);
        let block = point.block.expect("opened above");
        let ppn = self.layout.ppn(block, point.next);
        placed(ppn, Oob { holds: Holds::Data, sequence: point.sequence }, lpns);
        let mut slots = lpns.iter();
        for psn in self.slot(ppn, 0)..self.slot(ppn, self.config.slots) {
            let lpn = slots.next().copied().flatten();
            self.map.write(psn, lpn.map(|lpn| lpn.0));
            if let Some(lpn) = lpn {
                self.map.fill(psn, lpn.0);
                self.map.set(lpn.0, psn);
                self.blocks.add_valid(block, 1);
                self.stats.preloaded += 1;
            }
        }
        self.points.skip_to(at, point.next + 1);
        if point.next + 1 == self.data_pages {
            if self.config.summary {
                let ppn = self.layout.ppn(block, self.data_pages);
                placed(ppn, Oob { holds: Holds::Summary, sequence: point.sequence }, &[]);
            }
            self.points.close(at);
            self.blocks.close(block);
        }
        Ok(())
    }
}
