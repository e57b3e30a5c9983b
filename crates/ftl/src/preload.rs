//! Data that was there before the run: pages are mapped without operations in flight, as if they
//! had been written before in the order given, spread over the write points.

use crate::machine::Ftl;
use crate::place::Point;
use core::fmt;
use gordon_nand::{Buf, FlashOp, Holds, Oob};
use gordon_units::Lpn;

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

impl Ftl {
    /// Maps each of `lpns` that is not mapped. `placed` sees the programs that would have put them
    /// there (their buffers mean nothing), for drivers that keep contents.
    ///
    /// # Panics
    /// Where work is in flight, or a page lies outside the exported ones.
    pub fn preload(
        &mut self,
        lpns: impl IntoIterator<Item = Lpn>,
        mut placed: impl FnMut(FlashOp),
    ) -> Result<(), NoRoom> {
        assert!(!self.is_busy(), "pages are loaded when no work is in flight");
        let mut point = 0;
        for lpn in lpns {
            if self.lookup(lpn).is_some() {
                continue;
            }
            if self.points[point].block.is_none() {
                if self.blocks.free() <= self.config.reserve {
                    return Err(NoRoom { lpn });
                }
                self.open(point);
            }
            let Point { block, lane, sequence, next, .. } = self.points[point];
            let block = block.expect("opened above");
            let ppn = self.layout.ppn(block, next);
            placed(FlashOp::Program {
                ppn,
                buf: Buf(0),
                oob: Oob { holds: Holds::Data(lpn), sequence },
            });
            self.map.set(lpn.0, ppn.0 + 1);
            self.written.set(ppn.0, lpn.0 + 1);
            self.blocks.add_valid(block);
            self.stats.preloaded += 1;
            self.points[point].next += 1;
            if self.points[point].next == self.data_pages {
                placed(FlashOp::Program {
                    ppn: self.layout.ppn(block, self.data_pages),
                    buf: Buf(0),
                    oob: Oob { holds: Holds::Summary, sequence },
                });
                self.blocks.close(block, lane);
                self.points[point] = Point::CLOSED;
            }
            point = (point + 1) % self.points.len();
        }
        Ok(())
    }
}
