//! What lanes are asked to do, and what they report.

use gordon_units::{BlockId, Ns};

/// What is done to a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Cells to controller.
    Read,
    /// Controller to cells.
    Program,
    /// A whole block.
    Erase,
}

impl Kind {
    /// All of them, in the order of [`LaneStats::kinds`].
    pub const ALL: [Self; 3] = [Self::Read, Self::Program, Self::Erase];

    /// Its place in [`LaneStats::kinds`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// One operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// Where: the super-block.
    pub block: BlockId,
    /// Where in it; of no account for an erase.
    pub page: u32,
    /// How many of the super-page's slots a read brings over the bus: neighbours, the first at a
    /// page border. Programs bring all.
    pub share: u32,
    /// The owner's own mark, handed back with the work.
    pub tag: u32,
    /// What.
    pub kind: Kind,
    /// Not for the host: a garbage collector's, a wear leveller's.
    pub background: bool,
}

/// What stands where there is no work.
pub(super) const NOTHING: Work =
    Work { block: BlockId(0), page: 0, share: 0, tag: 0, kind: Kind::Read, background: false };

/// A work carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The work as it was issued.
    pub work: Work,
    /// While it waited for its lane, the lane served background work or an erase. (Waiting for a
    /// bus behind another lane's background work does not count.)
    pub behind_background: bool,
}

/// What was counted for one kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindStats {
    /// Works issued.
    pub issued: u64,
    /// Works done.
    pub done: u64,
    /// Works that could not start when they were issued.
    pub queued: u64,
    /// Works that waited while background work or an erase was served.
    pub behind_background: u64,
    /// Works carried out together with another one of their lane.
    pub joined: u64,
    /// Waiting for a lane, summed over works, up to the last event.
    pub waited: Ns,
    /// On a lane, waiting for a bus included, summed over works done.
    pub served: Ns,
}

/// What lanes count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneStats {
    /// By [`Kind::index`].
    pub kinds: [KindStats; 3],
    /// How long each group of buses carried something, reservations to come included.
    pub bus_busy: Vec<Ns>,
    /// How long each lane had an operation, up to the last one done.
    pub lane_busy: Vec<Ns>,
    /// Summed over dies, for all works started: sensing and sending. Waiting for the bus is not
    /// work.
    pub die_read: Ns,
    /// Summed over dies, for all works started: receiving, programming and erasing.
    pub die_write: Ns,
    /// Works that wait now.
    pub waiting: u64,
    /// Events simulated.
    pub events: u64,
}
