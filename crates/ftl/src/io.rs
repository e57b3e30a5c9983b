//! What goes into the layer and what comes out.

use alloc::collections::VecDeque;
use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn};

/// The driver's number for a request; comes back in [`Action::Ack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);

/// A range of sectors that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Of which request.
    pub request: RequestId,
    /// The first sector.
    pub first: u64,
    /// How many; at least one.
    pub sectors: u64,
}

impl Extent {
    /// Its parts in logical pages of `per_page` sectors.
    ///
    /// # Panics
    /// Where a page number does not fit: drivers check requests against the capacity.
    #[inline(always)]
    pub fn sub_requests(self, per_page: u32) -> impl Iterator<Item = SubRequest> {
        let page = u64::from(per_page);
        let (mut lpn, mut start) = split(self.first, per_page);
        let mut left = self.sectors;
        core::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let len = (page - start).min(left);
            // Start and length are at most `per_page`.
            #[allow(clippy::cast_possible_truncation)]
            let sub_request = SubRequest {
                request: self.request,
                lpn: Lpn(u32::try_from(lpn).expect("within the capacity")),
                start: start as u32,
                len: len as u32,
            };
            (lpn, start, left) = (lpn + 1, 0, left - len);
            Some(sub_request)
        })
    }

    /// How many parts that are.
    pub fn count(self, per_page: u32) -> u64 {
        let (_, start) = split(self.first, per_page);
        let (whole, part) = split(start + self.sectors, per_page);
        whole + u64::from(part > 0)
    }
}

/// How many pages, and how many sectors more. Nearly always a page has 2^n sectors, and to shift is
/// many times quicker than to divide.
#[inline]
pub(crate) fn split(sectors: u64, per_page: u32) -> (u64, u64) {
    let page = u64::from(per_page);
    if per_page.is_power_of_two() {
        return (sectors >> per_page.trailing_zeros(), sectors & (page - 1));
    }
    (sectors / page, sectors % page)
}

/// The part of a request that lies in one logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubRequest {
    /// Of which request.
    pub request: RequestId,
    /// In which logical page.
    pub lpn: Lpn,
    /// First sector, counted from the start of the page.
    pub start: u32,
    /// Sectors; at least one.
    pub len: u32,
}

/// What a host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRequest {
    /// Read a range.
    Read(Extent),
    /// Write a range.
    Write(Extent),
    /// Forget a whole logical page: it reads as zeros. (A driver drops trims of less.)
    Trim(RequestId, Lpn),
    /// Acknowledge when every write and trim handed in before is programmed.
    Flush(RequestId),
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The host asks.
    Host(HostRequest),
    /// An operation handed out is done.
    Done(FlashOp),
    /// A program or an erase handed out has failed, which makes its block bad.
    Failed(FlashOp),
    /// The data of this buffer, one of those that a read handed out is to fill, cannot be had. The
    /// read is done after that.
    Lost(Buf),
    /// The driver has nothing to do: a time for work in the background.
    Idle,
}

/// How a sub-request of a request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckSource {
    /// From a buffer: it waited for no operation.
    Buffer,
    /// By an operation of its own, or one it shares.
    Flash,
    /// A write of part of a page, the rest of which had to be read.
    Merge,
    /// A write that had to wait until garbage collection had made room.
    Stalled,
}

/// What the driver is to do, in the order handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start an operation, and hand in [`Input::Done`] when it is done. Operations may end
    /// in any order. [`Ftl::segments`](crate::Ftl::segments) says which buffers a read fills or a
    /// program takes.
    Flash(FlashOp),
    /// As [`Flash`](Self::Flash), for garbage collection or wear levelling.
    Copy(FlashOp),
    /// Fill the whole buffer with zeros.
    Zero(Buf),
    /// Copy the data of a write sub-request into its place in the buffer.
    Fill(Buf, SubRequest),
    /// Write one part of the summary of this block ([`Ftl::summary`](crate::Ftl::summary)) into the
    /// buffer. A summary has [`Config::summary_pages`](crate::Config::summary_pages) parts,
    /// numbered from 0, which are programmed in this order. The summary is the same for all parts.
    Summarize(Buf, BlockId, u32),
    /// Write the trims in flight ([`Ftl::trim_record`](crate::Ftl::trim_record)) into the buffer.
    Record(Buf),
    /// Copy the data of a read sub-request out of its place in the buffer.
    Give(Buf, SubRequest),
    /// The data of a read sub-request are zeros: its page is not mapped.
    GiveZeros(SubRequest),
    /// A sub-request, trim or flush of this request is done; one for each that was handed in. For a
    /// write without a write buffer: the data are programmed.
    Ack(RequestId, AckSource),
    /// As [`Ack`](Self::Ack), but it was not done: the array is worn out and takes no more
    /// writes, or the data cannot be read.
    Refuse(RequestId),
    /// Nothing until the next input.
    Wait,
}

/// Takes what the layer wants done, in order: a queue, for drivers that [poll](crate::Ftl::poll),
/// or a driver that does it at once.
pub trait ActionSink {
    /// The next thing to do. (Never [`Action::Wait`].)
    fn push(&mut self, action: Action);

    /// The layer will look at the memory where `entry` starts soon, which may be far away.
    #[inline]
    fn prefetch<T>(&self, entry: &[T]) {
        let _ = entry;
    }
}

impl ActionSink for VecDeque<Action> {
    #[inline]
    fn push(&mut self, action: Action) {
        self.push_back(action);
    }
}

/// A logical page's part of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSegment {
    /// Which slot of the super-page.
    pub slot: u32,
    /// The logical page; of a summary, none.
    pub lpn: Option<Lpn>,
    /// Its buffer.
    pub buf: Buf,
}
