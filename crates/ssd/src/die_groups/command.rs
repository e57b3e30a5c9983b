//! What die groups are asked to do, and what they report.

use gordon_units::{BlockId, Ns};

/// What is done to a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Cells to controller.
    Read,
    /// Controller to cells.
    Program,
    /// A whole block.
    Erase,
}

impl CommandKind {
    /// All of them, in the order of [`DieGroupStats::kinds`].
    pub const ALL: [Self; 3] = [Self::Read, Self::Program, Self::Erase];

    /// Its place in [`DieGroupStats::kinds`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// One operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlashCommand {
    /// Where: the super-block.
    pub block: BlockId,
    /// Where in it; of no account for an erase.
    pub page: u32,
    /// How many of the super-page's slots a read brings over the bus: neighbours, the first at a
    /// page border. Programs bring all.
    pub transfer_slots: u32,
    /// The owner's own mark, handed back with the command.
    pub tag: u32,
    /// What.
    pub kind: CommandKind,
    /// Not for the host: a garbage collector's, a wear leveller's.
    pub background: bool,
}

/// What stands where there is no command.
pub(super) const NO_COMMAND: FlashCommand = FlashCommand {
    block: BlockId(0),
    page: 0,
    transfer_slots: 0,
    tag: 0,
    kind: CommandKind::Read,
    background: false,
};

/// A command carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandDone {
    /// The command as it was issued.
    pub command: FlashCommand,
    /// While it waited for its die group, the die group served background work or an erase.
    /// (Waiting for a bus behind another die group's background work does not count.)
    pub behind_background: bool,
}

/// What was counted for one kind of command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandStats {
    /// Commands issued.
    pub issued: u64,
    /// Commands done.
    pub done: u64,
    /// Commands that could not start when they were issued.
    pub queued: u64,
    /// Commands that waited while background work or an erase was served.
    pub behind_background: u64,
    /// Commands carried out together with another one of their die group.
    pub joined: u64,
    /// Waiting for a die group, summed over commands, up to the last event.
    pub waited: Ns,
    /// On a die group, waiting for a bus included, summed over commands done.
    pub served: Ns,
}

/// What die groups count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DieGroupStats {
    /// By [`CommandKind::index`].
    pub kinds: [CommandStats; 3],
    /// How long each group of buses carried something, reservations to come included.
    pub bus_busy: Vec<Ns>,
    /// How long each die group had an operation, up to the last one done.
    pub group_busy: Vec<Ns>,
    /// Summed over dies, for all commands started: sensing and sending. Waiting for the bus is not
    /// command.
    pub die_read: Ns,
    /// Summed over dies, for all commands started: receiving, programming and erasing.
    pub die_write: Ns,
    /// Commands that wait now.
    pub waiting: u64,
    /// Events simulated.
    pub events: u64,
}
