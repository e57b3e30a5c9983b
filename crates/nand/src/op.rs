//! What can be asked of the array.

use gordon_units::{BlockId, Ppn};

/// A buffer of whoever carries operations out; the layers that issue them see only this handle.
/// Handles are small: they index a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buf(pub u32);

impl Buf {
    /// The number as an index into a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a programmed page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageContent {
    /// Data of logical pages.
    Data,
    /// The logical pages of every other page of its block (section 4.2.2 of the Gordon paper).
    Summary,
    /// Which logical pages were trimmed.
    Trims,
}

/// What is stored beside the data of a page, but for the logical pages of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Oob {
    /// What the page holds.
    pub content: PageContent,
    /// The sequence number of its block at that time: of two copies of a logical page, the one
    /// with the higher number is the fresher; of equal ones, that in the later page, and there in
    /// the later slot.
    pub sequence: u64,
}

/// One operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlashOp {
    /// Read a page; some of its slots (parts of a logical page's size) cross the bus.
    Read {
        /// Where from.
        ppn: Ppn,
        /// How many slots.
        slots: u32,
        /// Where to.
        buf: Buf,
    },
    /// Program a page from a buffer, which stays as it is until the operation is done.
    Program {
        /// Where to.
        ppn: Ppn,
        /// Where from.
        buf: Buf,
    },
    /// Erase a block.
    Erase {
        /// Which.
        block: BlockId,
    },
}
