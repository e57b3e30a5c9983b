//! Commands to die groups, their completion, and their statistics.

use gordon_units::{BlockId, Ns};

/// Operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Read slots of a super-page from the cells to the controller.
    Read,
    /// Program a super-page.
    Program,
    /// Erase a super-block.
    Erase,
}

impl CommandKind {
    /// All kinds, in the order of [`DieGroupStats::kinds`].
    pub const ALL: [Self; 3] = [Self::Read, Self::Program, Self::Erase];

    /// Index in [`DieGroupStats::kinds`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// An operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlashCommand {
    /// The super-block.
    pub block: BlockId,
    /// The page in the block; ignored for an erase.
    pub page: u32,
    /// Number of contiguous slots that a read transfers over the bus; the first one starts at a
    /// page boundary. Programs transfer all slots.
    pub transfer_slots: u32,
    /// Value chosen by the owner, returned with the command.
    pub tag: u32,
    /// The operation.
    pub kind: CommandKind,
    /// Whether the command is background work: garbage collection or wear levelling.
    pub background: bool,
}

/// Placeholder for unused entries.
pub(super) const NO_COMMAND: FlashCommand = FlashCommand {
    block: BlockId(0),
    page: 0,
    transfer_slots: 0,
    tag: 0,
    kind: CommandKind::Read,
    background: false,
};

/// A completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandDone {
    /// The command as it was issued.
    pub command: FlashCommand,
    /// Whether the die group served background work or an erase while the command waited for it.
    /// Waiting for a bus that another die group's background work occupies does not count.
    pub behind_background: bool,
}

/// Counters of one kind of command.
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
    /// Total time that commands waited for a die group, up to the last event.
    pub waited: Ns,
    /// Total time on a die group, including waiting for a bus, of completed commands.
    pub served: Ns,
}

/// Counters of die groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DieGroupStats {
    /// By [`CommandKind::index`].
    pub kinds: [CommandStats; 3],
    /// Busy time of each group of buses, including reservations in the future.
    pub bus_busy: Vec<Ns>,
    /// Busy time of each die group, up to its last completed command.
    pub group_busy: Vec<Ns>,
    /// Die time of reads (sensing and sending), summed over dies, for all commands started. Waiting
    /// for the bus does not count.
    pub die_read: Ns,
    /// Die time of programs and erases (receiving, programming, erasing), summed over dies, for all
    /// commands started.
    pub die_write: Ns,
    /// Commands waiting now.
    pub waiting: u64,
    /// Number of simulated events.
    pub events: u64,
}
