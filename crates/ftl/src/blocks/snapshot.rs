//! What a checkpoint and a mount know of a block.

/// The persistent part of a block's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockSnapshot {
    /// The sequence number when the block was last opened or renumbered; 0 before the first.
    pub sequence: u64,
    /// Number of slots that the map points to.
    pub valid: u32,
    pub erases: u32,
    pub condition: BlockCondition,
}

/// The condition of a block while no operation is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockCondition {
    /// Erased.
    Free,
    /// Assigned to a write point or to the trim journal.
    Open,
    /// Full.
    Closed,
    /// Out of service.
    Bad,
    /// The block holds an unreadable page: it keeps its pages and is never erased.
    Unreadable,
}

impl BlockCondition {
    /// The number that stands for the condition in a checkpoint.
    pub fn code(self) -> u8 {
        match self {
            Self::Free => 0,
            Self::Open => 1,
            Self::Closed => 2,
            Self::Bad => 3,
            Self::Unreadable => 4,
        }
    }

    /// The condition for which a number stands, if any.
    pub fn from_code(code: u8) -> Option<Self> {
        let all = [Self::Free, Self::Open, Self::Closed, Self::Bad, Self::Unreadable];
        all.into_iter().find(|condition| condition.code() == code)
    }
}
