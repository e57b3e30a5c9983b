//! Write points, and which of them takes a page.
//!
//! The paper (section 4.2.2): "once an LBA has been written to a particular write point, future
//! writes must go to the same write point or another write point with a larger sequence number",
//! and the policy "selects the write point with the smallest sequence number that can accept data
//! for the LBA while also balancing load across the busses". Here: of the idle write points that
//! may take the page, one on the lane with the fewest operations in flight (seven and more count
//! as equal), and of these the one with the smallest sequence number. A write point without a
//! block would open one under the highest number yet: it may take anything, and comes last among
//! equals.
//!
//! There is always a write point that may take a page, busy or not: the one that wrote its last
//! copy has since opened only blocks with higher numbers, or has none.
//!
//! The choice is made for every program, so it must not look at every write point: those with a
//! block are ranked by sequence number, and of each load there is a set of the ranks that are
//! idle. A block is opened under a new number, so ranks change only when one is closed.

use alloc::vec;
use alloc::vec::Vec;
use gordon_nand::LaneId;
use gordon_units::BlockId;

/// Loads told apart.
const LEVELS: usize = 8;

/// A write point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub block: Option<BlockId>,
    pub lane: LaneId,
    /// Of its block.
    pub sequence: u64,
    /// The next page of its block.
    pub next: u32,
    /// A program of it is in flight.
    pub busy: bool,
    /// For which pages.
    pub kind: Kind,
    /// Its place among those of its kind with a block, by sequence number.
    rank: usize,
}

/// What a write point takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the host writes; copies too, where they have no write points of their own.
    Host,
    /// Copies of garbage collection.
    Copies,
}

/// The write points of one kind.
#[derive(Clone, Debug)]
struct Group {
    /// Those with a block, by sequence number.
    ranks: Vec<usize>,
    /// Their sequence numbers.
    sequences: Vec<u64>,
    /// Those without.
    closed: Vec<usize>,
    /// By load of the lane, a bit for each rank that is idle: so many words for each load.
    idle: Vec<u64>,
    words: usize,
    /// How many are idle, with a block or without.
    idle_points: u32,
}

impl Group {
    #[inline]
    fn first_idle(&self, level: usize, from: usize) -> Option<usize> {
        let words = &self.idle[level * self.words..(level + 1) * self.words];
        let (mut at, bit) = (from / 64, from % 64);
        let mut word = words.get(at)? & (u64::MAX << bit);
        while word == 0 {
            at += 1;
            word = *words.get(at)?;
        }
        Some(at * 64 + word.trailing_zeros() as usize)
    }

    #[inline]
    fn flip(&mut self, level: usize, rank: usize) {
        self.idle[level * self.words + rank / 64] ^= 1 << (rank % 64);
    }
}

/// All write points, and how busy the lanes are.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    points: Vec<Point>,
    groups: Vec<Group>,
    /// By lane: operations in flight.
    load: Vec<u32>,
    /// In all.
    in_flight: u32,
    /// By lane: the write points that have a block there, and how many of them are idle.
    on_lane: Vec<Vec<usize>>,
    idle_on_lane: Vec<u32>,
}

impl Points {
    pub fn new(hosts: u32, copies: u32, lanes: u32) -> Self {
        let group = |first: u32, count: u32| Group {
            ranks: vec![],
            sequences: vec![],
            // The first is taken first.
            closed: (first as usize..(first + count) as usize).rev().collect(),
            idle: vec![0; LEVELS * count.div_ceil(64) as usize],
            words: count.div_ceil(64) as usize,
            idle_points: count,
        };
        let mut groups = vec![group(0, hosts)];
        if copies > 0 {
            groups.push(group(hosts, copies));
        }
        let point = |kind| Point {
            block: None,
            lane: LaneId(0),
            sequence: u64::MAX,
            next: 0,
            busy: false,
            kind,
            rank: 0,
        };
        let kind = |at| if at < hosts { Kind::Host } else { Kind::Copies };
        Self {
            points: (0..hosts + copies).map(|at| point(kind(at))).collect(),
            groups,
            load: vec![0; lanes as usize],
            in_flight: 0,
            on_lane: vec![vec![]; lanes as usize],
            idle_on_lane: vec![0; lanes as usize],
        }
    }

    /// Whether copies have their own.
    #[inline]
    pub fn are_apart(&self) -> bool {
        self.groups.len() > 1
    }

    /// The kind that copies go to.
    pub fn kind_of_copies(&self) -> Kind {
        if self.are_apart() { Kind::Copies } else { Kind::Host }
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn all(&self) -> &[Point] {
        &self.points
    }

    pub fn get(&self, at: usize) -> &Point {
        &self.points[at]
    }

    /// Write points of a kind without a program in flight.
    #[inline]
    pub fn idle(&self, kind: Kind) -> u32 {
        self.groups[kind as usize].idle_points
    }

    #[inline]
    fn level(&self, lane: LaneId) -> usize {
        (self.load[lane.index()] as usize).min(LEVELS - 1)
    }

    /// The write point for a page whose last copy is in a block of sequence number `floor`;
    /// `fresh` is the lane on which one without a block would open one, if it may.
    #[inline]
    pub fn choose(&self, kind: Kind, floor: u64, fresh: Option<LaneId>) -> Option<usize> {
        let group = &self.groups[kind as usize];
        if group.idle_points == 0 {
            return None;
        }
        let from = match group.sequences.first() {
            Some(&least) if least < floor => group.sequences.partition_point(|&s| s < floor),
            _ => 0,
        };
        let closed = group.closed.last().copied();
        let opens = fresh.filter(|_| closed.is_some()).map_or(LEVELS, |lane| self.level(lane));
        for level in 0..LEVELS {
            if let Some(rank) = group.first_idle(level, from) {
                return Some(group.ranks[rank]);
            }
            if level == opens {
                return closed;
            }
        }
        None
    }

    /// Operations in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// An operation on `lane` is issued.
    #[inline]
    pub fn add_load(&mut self, lane: LaneId) {
        let from = self.level(lane);
        self.load[lane.index()] += 1;
        self.in_flight += 1;
        self.moved(lane, from);
    }

    /// An operation on `lane` is done.
    #[inline]
    pub fn drop_load(&mut self, lane: LaneId) {
        let from = self.level(lane);
        self.load[lane.index()] -= 1;
        self.in_flight -= 1;
        self.moved(lane, from);
    }

    #[inline]
    fn moved(&mut self, lane: LaneId, from: usize) {
        if self.idle_on_lane[lane.index()] > 0 {
            self.move_idle(lane, from);
        }
    }

    fn move_idle(&mut self, lane: LaneId, from: usize) {
        let to = self.level(lane);
        for &at in &self.on_lane[lane.index()] {
            let point = &self.points[at];
            if !point.busy {
                let group = &mut self.groups[point.kind as usize];
                group.flip(from, point.rank);
                group.flip(to, point.rank);
            }
        }
    }

    /// A program at the next page of a write point that has a block is issued; it is busy from now.
    #[inline]
    pub fn take(&mut self, at: usize) -> u32 {
        let lane = self.points[at].lane;
        let level = self.level(lane);
        let point = &mut self.points[at];
        debug_assert!(!point.busy && point.block.is_some());
        point.busy = true;
        point.next += 1;
        let page = point.next - 1;
        let group = &mut self.groups[point.kind as usize];
        group.flip(level, point.rank);
        group.idle_points -= 1;
        self.idle_on_lane[lane.index()] -= 1;
        self.add_load(lane);
        page
    }

    /// The program of a write point is done.
    #[inline]
    pub fn release(&mut self, at: usize) {
        let lane = self.points[at].lane;
        self.drop_load(lane);
        let level = self.level(lane);
        let point = &mut self.points[at];
        debug_assert!(point.busy);
        point.busy = false;
        let group = &mut self.groups[point.kind as usize];
        group.flip(level, point.rank);
        group.idle_points += 1;
        self.idle_on_lane[lane.index()] += 1;
    }

    /// An idle write point without a block gets one, with the highest sequence number yet.
    pub fn open(&mut self, at: usize, block: BlockId, lane: LaneId, sequence: u64) {
        let level = self.level(lane);
        let point = &mut self.points[at];
        debug_assert!(!point.busy && point.block.is_none());
        let group = &mut self.groups[point.kind as usize];
        group.closed.retain(|&closed| closed != at);
        (point.block, point.lane, point.sequence, point.next) = (Some(block), lane, sequence, 0);
        point.rank = group.ranks.len();
        group.ranks.push(at);
        group.sequences.push(sequence);
        group.flip(level, point.rank);
        self.on_lane[lane.index()].push(at);
        self.idle_on_lane[lane.index()] += 1;
    }

    /// An idle write point loses its block.
    pub fn close(&mut self, at: usize) {
        let Point { lane, rank, kind, .. } = self.points[at];
        debug_assert!(!self.points[at].busy && self.points[at].block.is_some());
        let group = &mut self.groups[kind as usize];
        group.ranks.remove(rank);
        group.sequences.remove(rank);
        group.closed.push(at);
        self.on_lane[lane.index()].retain(|&other| other != at);
        self.idle_on_lane[lane.index()] -= 1;
        let point = &mut self.points[at];
        (point.block, point.sequence, point.next) = (None, u64::MAX, 0);
        self.rank(kind);
    }

    /// The block of a write point gets the highest sequence number yet.
    pub fn renumber(&mut self, at: usize, sequence: u64) {
        let Point { rank, kind, .. } = self.points[at];
        self.points[at].sequence = sequence;
        let group = &mut self.groups[kind as usize];
        group.ranks.remove(rank);
        group.sequences.remove(rank);
        group.ranks.push(at);
        group.sequences.push(sequence);
        self.rank(kind);
    }

    /// Fills the page number in at which an open block goes on.
    pub fn skip_to(&mut self, at: usize, next: u32) {
        self.points[at].next = next;
    }

    /// All of them: those with a block by sequence number, then those without in the order in which
    /// they were closed.
    pub fn in_order(&self) -> impl Iterator<Item = usize> {
        self.groups.iter().flat_map(|group| group.ranks.iter().chain(&group.closed)).copied()
    }

    /// A write point without a block becomes the last to be closed.
    pub fn requeue(&mut self, at: usize) {
        let group = &mut self.groups[self.points[at].kind as usize];
        group.closed.retain(|&closed| closed != at);
        group.closed.push(at);
    }

    /// Ranks the write points of a kind anew.
    fn rank(&mut self, kind: Kind) {
        let group = &mut self.groups[kind as usize];
        group.idle.fill(0);
        for rank in 0..group.ranks.len() {
            let point = &mut self.points[group.ranks[rank]];
            point.rank = rank;
            if !point.busy {
                let level = (self.load[point.lane.index()] as usize).min(LEVELS - 1);
                group.flip(level, rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four write points on four lanes; the first three have blocks 9, 5, 7.
    fn points() -> Points {
        let mut points = Points::new(4, 0, 4);
        for (at, sequence) in [(1, 5), (2, 7), (0, 9)] {
            points.open(at, BlockId(0), LaneId(at as u32), sequence);
        }
        points
    }

    const FRESH: Option<LaneId> = Some(LaneId(3));

    #[test]
    fn the_papers_policy() {
        let mut points = points();
        let choose = |points: &Points, floor, fresh| points.choose(Kind::Host, floor, fresh);
        assert_eq!(choose(&points, 0, FRESH), Some(1), "the smallest sequence number");
        assert_eq!(choose(&points, 6, FRESH), Some(2), "the smallest that may take the page");
        assert_eq!(choose(&points, 9, FRESH), Some(0), "the same block");
        assert_eq!(choose(&points, 10, FRESH), Some(3), "only a new block");
        for (lane, load) in [(0, 1), (1, 2), (2, 2), (3, 3)] {
            (0..load).for_each(|_| points.add_load(LaneId(lane)));
        }
        assert_eq!(choose(&points, 0, FRESH), Some(0), "the lane with the least to do");
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
        assert_eq!(points.choose(Kind::Host, 6, FRESH), Some(0));
        points.renumber(1, 11);
        assert_eq!(points.choose(Kind::Host, 0, FRESH), Some(0), "9 before 11");
        assert_eq!(points.choose(Kind::Host, 10, FRESH), Some(1));
        points.open(2, BlockId(1), LaneId(2), 12);
        assert_eq!(points.choose(Kind::Host, 12, FRESH), Some(2));
        assert_eq!(points.idle(Kind::Host), 4);
    }

    #[test]
    fn copies_may_have_their_own() {
        let mut points = Points::new(1, 1, 1);
        assert_eq!(points.kind_of_copies(), Kind::Copies);
        points.open(1, BlockId(0), LaneId(0), 1);
        assert_eq!(points.choose(Kind::Copies, 0, None), Some(1));
        assert_eq!(points.choose(Kind::Host, 0, None), None);
        assert_eq!(points.choose(Kind::Host, 0, Some(LaneId(0))), Some(0));
    }
}
