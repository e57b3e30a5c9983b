//! Inputs and outputs of the layer.

use alloc::collections::VecDeque;
use gordon_nand::{Buf, FlashOp};
use gordon_units::{BlockId, Lpn};

/// The driver's number of a request, returned in [`Action::Ack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);

/// A range of sectors of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The request.
    pub request: RequestId,
    /// The first sector.
    pub first: u64,
    /// Number of sectors; at least one.
    pub sectors: u64,
}

impl Extent {
    /// Splits the range into sub-requests on logical pages of `per_page` sectors.
    ///
    /// # Panics
    /// Panics if a page number does not fit; drivers check requests against the capacity.
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

    /// Number of sub-requests.
    pub fn count(self, per_page: u32) -> u64 {
        let (_, start) = split(self.first, per_page);
        let (whole, part) = split(start + self.sectors, per_page);
        whole + u64::from(part > 0)
    }
}

/// Number of whole pages, and the remaining sectors. Nearly always the page size is a power of two,
/// and a shift is much faster than a division.
#[inline]
pub(crate) fn split(sectors: u64, per_page: u32) -> (u64, u64) {
    let page = u64::from(per_page);
    if per_page.is_power_of_two() {
        return (sectors >> per_page.trailing_zeros(), sectors & (page - 1));
    }
    (sectors / page, sectors % page)
}

/// The part of a request on one logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubRequest {
    /// The request.
    pub request: RequestId,
    /// The logical page.
    pub lpn: Lpn,
    /// First sector, relative to the start of the page.
    pub start: u32,
    /// Number of sectors; at least one.
    pub len: u32,
}

/// A request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRequest {
    /// Read a range.
    Read(Extent),
    /// Write a range.
    Write(Extent),
    /// Write a range, and acknowledge when its data are durable (FUA).
    WriteDurably(Extent),
    /// Trim a whole logical page, which then reads as zeros. Drivers drop trims of partial pages.
    Trim(RequestId, Lpn),
    /// Acknowledge when all earlier writes and trims are durable.
    Flush(RequestId),
}

/// An event that the driver reports to the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The host submits a request.
    Host(HostRequest),
    /// A flash operation is done.
    Done(FlashOp),
    /// A program or erase has failed, so its block is bad.
    Failed(FlashOp),
    /// The data of this buffer, which a read in flight was to fill, are unreadable. The completion
    /// of the read follows.
    Lost(Buf),
    /// The driver is idle: the layer may do background work.
    Idle,
    /// The device is being shut down: the layer writes its write buffer out.
    ShutDown,
}

/// How a sub-request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckSource {
    /// From a buffer, without waiting for a flash operation.
    Buffer,
    /// By its own flash operation, or one shared with other sub-requests.
    Flash,
    /// A write of part of a page, after the rest of the page was read.
    Merge,
    /// A write that waited for garbage collection to free space.
    Stalled,
}

/// An instruction to the driver. The driver must follow the instructions in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start an operation, and report [`Input::Done`] when it is done. Operations may complete in
    /// any order. [`Ftl::segments`](crate::Ftl::segments) lists the buffers that a read fills or a
    /// program writes.
    Flash(FlashOp),
    /// As [`Flash`](Self::Flash), for a copy or erase by garbage collection or wear levelling.
    Copy(FlashOp),
    /// Fill the whole buffer with zeros.
    Zero(Buf),
    /// Copy the data of a write sub-request to their place in the buffer.
    Fill(Buf, SubRequest),
    /// Write one part of the summary of this block ([`Ftl::summary`](crate::Ftl::summary)) into the
    /// buffer. A summary has [`Config::summary_pages`](crate::Config::summary_pages) parts,
    /// numbered from 0, which are programmed in this order. The summary is the same for all parts.
    Summarize(Buf, BlockId, u32),
    /// Write the trim record in flight ([`Ftl::trim_record`](crate::Ftl::trim_record)) into the
    /// buffer.
    Record(Buf),
    /// Return the data of a read sub-request from their place in the buffer.
    Give(Buf, SubRequest),
    /// Return zeros for a read sub-request, since its page is not mapped.
    GiveZeros(SubRequest),
    /// A sub-request, trim or flush of this request is done; there is one acknowledgement for each.
    /// Without a write buffer, the data of an acknowledged write are programmed.
    Ack(RequestId, AckSource),
    /// A sub-request, trim or flush of this request failed: the array is worn out and refuses
    /// writes, or the data are unreadable.
    Refuse(RequestId),
    /// There is nothing to do until the next input.
    Wait,
}

/// Receives the actions of the layer, in order. It is either a queue, for drivers that
/// [poll](crate::Ftl::poll), or the driver itself.
pub trait ActionSink {
    /// Takes the next action, which is never [`Action::Wait`].
    fn push(&mut self, action: Action);

    /// Prefetches the memory at the start of `entry`, which the layer will access soon.
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

/// One logical page of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSegment {
    /// Slot in the super-page.
    pub slot: u32,
    /// The logical page; `None` for a summary page.
    pub lpn: Option<Lpn>,
    /// The buffer of the slot.
    pub buf: Buf,
}
