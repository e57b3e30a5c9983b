//! What can be asked of the array.

use gordon_units::{BlockId, Lpn, Ppn};

/// A page-sized buffer of whoever carries operations out; the layers that issue them see only this
/// handle. Handles are small: they index a table.
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
pub enum Holds {
    /// Data of a logical page.
    Data(Lpn),
    /// The logical page of every other page of its block (section 4.2.2 of the Gordon paper).
    Summary,
}

/// What is stored beside the data of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Oob {
    /// What the page holds.
    pub holds: Holds,
    /// The sequence number of its block: of two copies of a logical page, the one in the block
    /// with the higher number is the fresher; in one block, the one in the later page.
    pub sequence: u64,
}

/// One operation on a super-page or super-block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlashOp {
    /// Read a page into a buffer.
    Read {
        /// Where from.
        ppn: Ppn,
        /// Where to.
        buf: Buf,
    },
    /// Program a page from a buffer, which stays as it is until the operation is done.
    Program {
        /// Where to.
        ppn: Ppn,
        /// Where from.
        buf: Buf,
        /// What goes beside the data.
        oob: Oob,
    },
    /// Erase a block.
    Erase {
        /// Which.
        block: BlockId,
    },
}
