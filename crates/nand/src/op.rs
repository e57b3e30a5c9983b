//! Operations of the flash array.

use gordon_units::{BlockId, Ppn};

/// Handle of a page buffer. The buffer itself belongs to the driver that carries operations out;
/// the layers that issue operations see only the handle. Handles are small numbers, since they
/// index a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buf(pub u32);

impl Buf {
    /// The number as an index into a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of content of a programmed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageContent {
    /// Data of logical pages.
    Data,
    /// The summary of the block: the logical pages in each of its other pages (section 4.2.2 of the
    /// Gordon paper).
    Summary,
    /// A record of the trim journal.
    Trims,
}

/// Out-of-band data of a page, without the logical pages of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Oob {
    /// What the page holds.
    pub content: PageContent,
    /// The sequence number of the block when the page was programmed. Of two copies of a logical
    /// page, the one with the higher number is the newer; with equal numbers, the one in the later
    /// page, and within a page the one in the later slot.
    pub sequence: u64,
}

/// One operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlashOp {
    /// Read a page and transfer some of its slots (each the size of a logical page) over the bus.
    Read {
        /// The page to read.
        ppn: Ppn,
        /// Number of slots to transfer.
        slots: u32,
        /// The destination.
        buf: Buf,
    },
    /// Program a page from a buffer, which must not change until the operation is done.
    Program {
        /// The page to program.
        ppn: Ppn,
        /// The source.
        buf: Buf,
    },
    /// Erase a block.
    Erase {
        /// The block to erase.
        block: BlockId,
    },
}
