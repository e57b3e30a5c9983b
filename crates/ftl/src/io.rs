//! What goes into the layer and what comes out.

use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn};

/// The driver's number for a request; comes back in [`Action::Ack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);

/// The part of a request that lies in one logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Of which request.
    pub request: RequestId,
    /// In which logical page.
    pub lpn: Lpn,
    /// First sector, counted from the start of the page.
    pub start: u32,
    /// Sectors; at least one.
    pub len: u32,
}

impl Piece {
    /// Cuts `sectors` sectors from `first` into pieces, for pages of `per_page` sectors.
    ///
    /// # Panics
    /// Where a page number does not fit: drivers check requests against the capacity.
    pub fn cut(
        request: RequestId,
        first: u64,
        sectors: u64,
        per_page: u32,
    ) -> impl Iterator<Item = Self> {
        let (mut at, end, page) = (first, first + sectors, u64::from(per_page));
        core::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let lpn = Lpn(u32::try_from(at / page).expect("within the capacity"));
            let start = at % page;
            let len = (page - start).min(end - at);
            at += len;
            // Both are at most `per_page`.
            #[allow(clippy::cast_possible_truncation)]
            Some(Self { request, lpn, start: start as u32, len: len as u32 })
        })
    }
}

/// What a host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Read a piece.
    Read(Piece),
    /// Write a piece.
    Write(Piece),
    /// Forget a whole logical page: it reads as zeros. (A driver drops trims of less.)
    Trim(RequestId, Lpn),
    /// Acknowledge when every write and trim handed in before is acknowledged, and so programmed.
    Flush(RequestId),
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The host asks.
    Host(Host),
    /// An operation handed out is done.
    Done(FlashOp),
    /// The driver has nothing to do: a time for work in the background.
    Idle,
}

/// What the driver is to do, in the order handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start an operation, and hand in [`Input::Done`] when it is done. Operations may end in any
    /// order.
    Flash(FlashOp),
    /// Fill the whole buffer with zeros.
    Zero(Buf),
    /// Copy the data of a written piece into its place in the buffer.
    Fill(Buf, Piece),
    /// Write the summary of this block ([`Ftl::summary`](crate::Ftl::summary)) into the buffer.
    Summarize(Buf, BlockId),
    /// Copy the data of a read piece out of its place in the buffer.
    Give(Buf, Piece),
    /// The data of a read piece are zeros: its page is not mapped.
    GiveZeros(Piece),
    /// A piece, trim or flush of this request is done; one for each that was handed in. For a
    /// write: the data are programmed.
    Ack(RequestId),
    /// Nothing until the next input.
    Wait,
}
