//! Write points, and the choice of the write point for a page.
//!
//! The paper (section 4.2.2): "once an LBA has been written to a particular write point, future
//! writes must go to the same write point or another write point with a larger sequence number",
//! and the policy "selects the write point with the smallest sequence number that can accept data
//! for the LBA while also balancing load across the busses". This implementation considers the idle
//! write points that may take the page. It prefers those on the die group with the fewest
//! operations in flight (seven and more count as equal), and of these takes the one with the
//! smallest sequence number. A write point without a block would open one with the highest number
//! so far: it may take any page, and comes last among equals.
//!
//! There is always a write point, idle or busy, that may take a page: the one that wrote the page's
//! last copy has since opened only blocks with higher numbers, or has none.
//!
//! The choice is made for every program, so it must be cheap. The write points with a block are
//! ranked by sequence number, and a bitmap marks the idle ones. The search in this order ends at
//! the first one whose die group is idle; if all die groups are busy, few write points are idle. A
//! new block gets a new number, so ranks change only when a block is closed or renumbered.

use alloc::vec;
use alloc::vec::Vec;
use gordon_nand::DieGroupId;
use gordon_units::BlockId;

/// Number of load levels that the choice distinguishes.
const LEVELS: u32 = 8;

#[derive(Clone, Copy, Debug)]
pub(crate) struct WritePoint {
    pub block: Option<BlockId>,
    pub die_group: DieGroupId,
    /// Sequence number of the block.
    pub sequence: u64,
    /// The next page of the block.
    pub next: u32,
    /// The sequence number of the page whose program is in flight; `None` for an idle write point.
    /// The block may have been renumbered since.
    pub programming: Option<u64>,
    pub stream: WriteStream,
    /// Index in [`StreamPoints::ranks`], if the write point has a block.
    rank: usize,
}

/// The pages that a write point takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteStream {
    /// Host writes, and copies if they have no write points of their own.
    Host,
    /// Copies of garbage collection and wear levelling.
    Copies,
}

/// The properties of a write point with a block that determine the choice.
#[derive(Clone, Copy, Debug)]
struct RankedPoint {
    sequence: u64,
    die_group: DieGroupId,
    point: u32,
}

/// The write points of one stream.
#[derive(Clone, Debug)]
struct StreamPoints {
    /// The write points with a block, by sequence number.
    ranks: Vec<RankedPoint>,
    /// By rank: whether the write point is idle.
    idle_bits: Vec<u64>,
    /// The write points without a block.
    without_block: Vec<usize>,
    /// Number of idle write points, with or without a block.
    idle_count: u32,
}

impl StreamPoints {
    /// The ranks of idle write points, from rank `from` on.
    #[inline(always)]
    fn idle_from(&self, from: usize) -> impl Iterator<Item = usize> {
        let (mut at, mut mask) = (from / 64, u64::MAX << (from % 64));
        core::iter::from_fn(move || {
            loop {
                let word = self.idle_bits.get(at)? & mask;
                if word != 0 {
                    let bit = word.trailing_zeros() as usize;
                    // Masks this bit and the lower ones.
                    mask = (u64::MAX << bit) << 1;
                    return Some(at * 64 + bit);
                }
                (at, mask) = (at + 1, u64::MAX);
            }
        })
    }

    #[inline(always)]
    fn flip(&mut self, rank: usize) {
        self.idle_bits[rank / 64] ^= 1 << (rank % 64);
    }
}

/// All write points, and the load of the die groups.
#[derive(Clone, Debug)]
pub(crate) struct WritePoints {
    points: Vec<WritePoint>,
    /// By [`WriteStream`]; the second is empty if copies have no write points of their own.
    streams: [StreamPoints; 2],
    separate_copies: bool,
    /// By die group: number of operations in flight.
    load: Vec<u32>,
    /// Number of operations in flight on all die groups.
    in_flight: u32,
    /// Pages of a block.
    pages: u32,
    /// The space that the host may still write to open blocks, in weighted pages: each page counts
    /// as `weight`, and a free block counts as `block` (the pages of all host write points
    /// together). So all such pages count as at most `weight` blocks.
    weight: u32,
    block: u64,
    weighted_room: u64,
}

impl WritePoints {
    /// Write points for blocks of `pages` pages. All pages that the host may still write to open
    /// blocks count as at most `open_room` free blocks.
    pub fn new(hosts: u32, copies: u32, die_groups: u32, pages: u32, open_room: u32) -> Self {
        let group = |first: u32, count: u32| StreamPoints {
            ranks: vec![],
            // Reversed, so that the first write point is used first.
            without_block: (first as usize..(first + count) as usize).rev().collect(),
            idle_bits: vec![0; count.div_ceil(64) as usize],
            idle_count: count,
        };
        let point = |stream| WritePoint {
            block: None,
            die_group: DieGroupId(0),
            sequence: u64::MAX,
            next: 0,
            programming: None,
            stream,
            rank: 0,
        };
        let stream = |at| if at < hosts { WriteStream::Host } else { WriteStream::Copies };
        Self {
            points: (0..hosts + copies).map(|at| point(stream(at))).collect(),
            streams: [group(0, hosts), group(hosts, copies)],
            separate_copies: copies > 0,
            load: vec![0; die_groups as usize],
            in_flight: 0,
            pages,
            weight: open_room.min(hosts),
            block: u64::from(pages) * u64::from(hosts),
            weighted_room: 0,
        }
    }

    /// Whether copies have their own write points.
    #[inline]
    pub fn are_copies_separate(&self) -> bool {
        self.separate_copies
    }

    #[inline]
    pub fn stream_of_copies(&self) -> WriteStream {
        if self.are_copies_separate() { WriteStream::Copies } else { WriteStream::Host }
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn all(&self) -> &[WritePoint] {
        &self.points
    }

    #[inline]
    pub fn get(&self, at: usize) -> &WritePoint {
        &self.points[at]
    }

    /// Number of write points of a stream without a program in flight.
    #[inline]
    pub fn idle(&self, stream: WriteStream) -> u32 {
        self.streams[stream as usize].idle_count
    }

    /// Whether any write point has no program in flight.
    #[inline]
    pub fn any_idle(&self) -> bool {
        self.streams[0].idle_count + self.streams[1].idle_count > 0
    }

    /// The write point for a page whose last copy is in a block with sequence number `floor`.
    /// `fresh` is the die group on which a write point without a block would open one, if that is
    /// allowed.
    #[inline(always)]
    pub fn choose(
        &self,
        stream: WriteStream,
        floor: u64,
        fresh: Option<DieGroupId>,
    ) -> Option<usize> {
        let group = &self.streams[stream as usize];
        let from = match group.ranks.first() {
            Some(least) if least.sequence < floor => {
                group.ranks.partition_point(|rank| rank.sequence < floor)
            }
            _ => 0,
        };
        let closed = group.without_block.last().copied();
        let level = |die_group: DieGroupId| self.load[die_group.index()].min(LEVELS - 1);
        let (mut least, mut chosen) = (LEVELS, None);
        if let Some(die_group) = fresh
            && closed.is_some()
        {
            // Of equals, a write point with a block is preferred.
            (least, chosen) = (level(die_group) + 1, closed);
        }
        for rank in group.idle_from(from) {
            let RankedPoint { die_group, point, .. } = group.ranks[rank];
            let level = level(die_group);
            if level == 0 {
                return Some(point as usize);
            }
            if level < least {
                (least, chosen) = (level, Some(point as usize));
            }
        }
        chosen
    }

    /// Whether `free` blocks and the space that the host may still write to open blocks amount to
    /// at most `low` free blocks.
    #[inline(always)]
    pub fn is_down_to(&self, free: u32, low: u32) -> bool {
        u64::from(free) * self.block + self.weighted_room <= u64::from(low) * self.block
    }

    /// The number of free blocks that `pages` pages count as, which the host may still write to
    /// open blocks.
    pub fn worth(&self, pages: u64) -> u32 {
        let blocks = pages * u64::from(self.weight) / self.block;
        u32::try_from(blocks).expect("at most as many as there are write points")
    }

    /// The weight of `pages` pages that can still be written to a block of this stream.
    #[inline(always)]
    fn weigh(&self, stream: WriteStream, pages: u32) -> u64 {
        u64::from(if stream == WriteStream::Host { self.weight } else { 0 }) * u64::from(pages)
    }

    /// Number of operations in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Records the start of an operation on a die group.
    #[inline(always)]
    pub fn add_load(&mut self, die_group: DieGroupId) {
        self.load[die_group.index()] += 1;
        self.in_flight += 1;
    }

    /// Records the end of an operation on a die group.
    #[inline(always)]
    pub fn drop_load(&mut self, die_group: DieGroupId) {
        self.load[die_group.index()] -= 1;
        self.in_flight -= 1;
    }

    /// Records a program at the next page of an idle write point with a block, which becomes busy.
    /// Returns the block and the page.
    #[inline(always)]
    pub fn take(&mut self, at: usize) -> (BlockId, u32) {
        let point = &mut self.points[at];
        assert!(point.programming.is_none());
        point.programming = Some(point.sequence);
        point.next += 1;
        let block = point.block.expect("it has a block");
        let page = point.next - 1;
        let die_group = point.die_group;
        let stream = point.stream;
        let group = &mut self.streams[point.stream as usize];
        group.flip(point.rank);
        group.idle_count -= 1;
        self.weighted_room -= self.weigh(stream, 1);
        self.add_load(die_group);
        (block, page)
    }

    /// Records the end of a program; returns the next page of the block.
    #[inline(always)]
    pub fn release(&mut self, at: usize) -> u32 {
        let point = &mut self.points[at];
        assert!(point.programming.is_some());
        point.programming = None;
        let (next, die_group) = (point.next, point.die_group);
        let group = &mut self.streams[point.stream as usize];
        group.flip(point.rank);
        group.idle_count += 1;
        self.drop_load(die_group);
        next
    }

    /// Assigns a block with the highest sequence number so far to an idle write point without one.
    pub fn open(&mut self, at: usize, block: BlockId, die_group: DieGroupId, sequence: u64) {
        let point = &mut self.points[at];
        assert!(point.programming.is_none() && point.block.is_none());
        let group = &mut self.streams[point.stream as usize];
        group.without_block.retain(|&closed| closed != at);
        (point.block, point.die_group, point.sequence, point.next) =
            (Some(block), die_group, sequence, 0);
        point.rank = group.ranks.len();
        let stream = point.stream;
        let number = u32::try_from(at).expect("numbered in 32 bits");
        group.ranks.push(RankedPoint { sequence, die_group, point: number });
        group.flip(point.rank);
        self.weighted_room += self.weigh(stream, self.pages);
    }

    /// Removes the block of an idle write point.
    pub fn close(&mut self, at: usize) {
        let WritePoint { rank, stream, .. } = self.points[at];
        let point = &self.points[at];
        assert!(point.programming.is_none() && point.block.is_some());
        let group = &mut self.streams[stream as usize];
        group.ranks.remove(rank);
        group.without_block.push(at);
        self.weighted_room -= self.weigh(stream, self.pages - self.points[at].next);
        let point = &mut self.points[at];
        (point.block, point.sequence, point.next) = (None, u64::MAX, 0);
        self.rank(stream);
    }

    /// Gives the block of a write point the highest sequence number so far.
    pub fn renumber(&mut self, at: usize, sequence: u64) {
        let WritePoint { rank, stream, .. } = self.points[at];
        self.points[at].sequence = sequence;
        let group = &mut self.streams[stream as usize];
        let renumbered = RankedPoint { sequence, ..group.ranks.remove(rank) };
        group.ranks.push(renumbered);
        self.rank(stream);
    }

    /// Sets the next page of an open block.
    pub fn skip_to(&mut self, at: usize, next: u32) {
        let WritePoint { stream, next: before, .. } = self.points[at];
        self.weighted_room =
            self.weighted_room + self.weigh(stream, before) - self.weigh(stream, next);
        self.points[at].next = next;
    }

    /// All write points, by stream: those with a block by sequence number, then those without in
    /// the order in which they were closed.
    pub fn in_order(&self) -> impl Iterator<Item = usize> {
        self.streams.iter().flat_map(|group| {
            let ranked = group.ranks.iter().map(|rank| rank.point as usize);
            ranked.chain(group.without_block.iter().copied())
        })
    }

    /// Moves a write point without a block to the end of the order of closing.
    pub fn requeue(&mut self, at: usize) {
        let group = &mut self.streams[self.points[at].stream as usize];
        group.without_block.retain(|&closed| closed != at);
        group.without_block.push(at);
    }

    /// Recomputes the ranks of the write points of a stream.
    fn rank(&mut self, stream: WriteStream) {
        let group = &mut self.streams[stream as usize];
        group.idle_bits.fill(0);
        for rank in 0..group.ranks.len() {
            let point = &mut self.points[group.ranks[rank].point as usize];
            point.rank = rank;
            if point.programming.is_none() {
                group.flip(rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four write points on four die groups; the first three have blocks with sequence numbers 9,
    /// 5, 7.
    fn points() -> WritePoints {
        let mut points = WritePoints::new(4, 0, 4, 8, 4);
        for (at, sequence) in [(1, 5), (2, 7), (0, 9)] {
            points.open(at, BlockId(0), DieGroupId(at as u32), sequence);
        }
        points
    }

    const FRESH: Option<DieGroupId> = Some(DieGroupId(3));

    #[test]
    fn the_choice_follows_the_paper() {
        let mut points = points();
        let choose =
            |points: &WritePoints, floor, fresh| points.choose(WriteStream::Host, floor, fresh);
        assert_eq!(choose(&points, 0, FRESH), Some(1), "the smallest sequence number");
        assert_eq!(choose(&points, 6, FRESH), Some(2), "the smallest that may take the page");
        assert_eq!(choose(&points, 9, FRESH), Some(0), "the same block");
        assert_eq!(choose(&points, 10, FRESH), Some(3), "only a new block");
        for (die_group, load) in [(0, 1), (1, 2), (2, 2), (3, 3)] {
            (0..load).for_each(|_| points.add_load(DieGroupId(die_group)));
        }
        assert_eq!(choose(&points, 0, FRESH), Some(0), "the die group with the least to do");
        assert_eq!(choose(&points, 10, None), None, "no block to open");
        points.take(0);
        assert_eq!(choose(&points, 0, FRESH), Some(1), "an idle one");
        points.take(1);
        points.take(2);
        assert_eq!(choose(&points, 0, None), None, "all are busy");
        points.release(0);
        assert_eq!(choose(&points, 0, None), Some(0));
    }

    #[test]
    fn closing_and_renumbering_keep_the_order() {
        let mut points = points();
        points.close(2);
        assert_eq!(points.choose(WriteStream::Host, 6, FRESH), Some(0));
        points.renumber(1, 11);
        assert_eq!(points.choose(WriteStream::Host, 0, FRESH), Some(0), "9 before 11");
        assert_eq!(points.choose(WriteStream::Host, 10, FRESH), Some(1));
        points.open(2, BlockId(1), DieGroupId(2), 12);
        assert_eq!(points.choose(WriteStream::Host, 12, FRESH), Some(2));
        assert_eq!(points.idle(WriteStream::Host), 4);
    }

    #[test]
    fn copies_can_have_their_own_write_points() {
        let mut points = WritePoints::new(1, 1, 1, 8, 1);
        assert_eq!(points.stream_of_copies(), WriteStream::Copies);
        points.open(1, BlockId(0), DieGroupId(0), 1);
        assert_eq!(points.choose(WriteStream::Copies, 0, None), Some(1));
        assert_eq!(points.choose(WriteStream::Host, 0, None), None);
        assert_eq!(points.choose(WriteStream::Host, 0, Some(DieGroupId(0))), Some(0));
    }
}
