//! Which write point takes a page.
//!
//! The paper (section 4.2.2): "once an LBA has been written to a particular write point, future
//! writes must go to the same write point or another write point with a larger sequence number",
//! and the policy "selects the write point with the smallest sequence number that can accept data
//! for the LBA while also balancing load across the busses". Here: of the idle write points that
//! may take the page, one on the lane with the fewest operations in flight, and of these the one
//! with the smallest sequence number. A write point without a block would open one under the
//! highest number yet: it may take anything, and comes last among equals.
//!
//! There is always a write point that may take a page, busy or not: the one that wrote its last
//! copy has since opened only blocks with higher numbers, or has none.

use gordon_nand::LaneId;
use gordon_units::BlockId;

/// A write point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub block: Option<BlockId>,
    pub lane: LaneId,
    /// Of its block; the highest there is while it has none.
    pub sequence: u64,
    /// The next page of its block.
    pub next: u32,
    /// A program of it is in flight.
    pub busy: bool,
}

impl Point {
    pub const CLOSED: Self =
        Self { block: None, lane: LaneId(0), sequence: u64::MAX, next: 0, busy: false };
}

/// What the choice depends on.
pub(crate) struct View<'a> {
    pub points: &'a [Point],
    /// By lane: operations in flight.
    pub load: &'a [u32],
    /// Where a write point without a block would open one, if it may.
    pub fresh: Option<LaneId>,
}

/// The write point for a page whose last copy is in a block of sequence number `floor`.
pub(crate) fn choose(view: &View<'_>, floor: u64) -> Option<usize> {
    let mut best: Option<(u32, u64, usize)> = None;
    for (at, point) in view.points.iter().enumerate() {
        if point.busy || point.sequence < floor {
            continue;
        }
        let lane = match (point.block, view.fresh) {
            (Some(_), _) => point.lane,
            (None, Some(lane)) => lane,
            (None, None) => continue,
        };
        let key = (view.load[lane.index()], point.sequence, at);
        if best.is_none_or(|best| key < best) {
            best = Some(key);
        }
    }
    best.map(|(.., at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(sequence: u64, lane: u32, busy: bool) -> Point {
        Point { block: Some(BlockId(0)), lane: LaneId(lane), sequence, next: 0, busy }
    }

    #[test]
    fn the_papers_policy() {
        let points = [point(9, 0, false), point(5, 1, false), point(7, 2, false), Point::CLOSED];
        let load = [0, 0, 0, 0];
        let view = View { points: &points, load: &load, fresh: Some(LaneId(3)) };
        assert_eq!(choose(&view, 0), Some(1), "the smallest sequence number");
        assert_eq!(choose(&view, 6), Some(2), "the smallest that may take the page");
        assert_eq!(choose(&view, 9), Some(0), "the same block");
        assert_eq!(choose(&view, 10), Some(3), "only a new block");
        let view = View { load: &[1, 2, 2, 3], ..view };
        assert_eq!(choose(&view, 0), Some(0), "the lane with the least to do");
        let view = View { fresh: None, ..view };
        assert_eq!(choose(&view, 10), None, "no block to open");
        let points = [point(9, 0, true), point(5, 1, true)];
        assert_eq!(choose(&View { points: &points, load: &load, fresh: None }, 0), None);
    }
}
