//! Operations, requests and the contract of simulated devices.

use crate::IoOp;
use gordon_units::{Bytes, Ns};

/// Unit of addressing: every offset and length is a multiple of it.
pub const SECTOR: Bytes = Bytes(512);

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Operation to carry out.
    pub op: IoOp,
    /// Start of the range, in bytes.
    pub offset: Bytes,
    /// Length of the range in bytes; zero for a flush, positive otherwise.
    pub len: Bytes,
    /// Whether a write completes only when its data are durable (FUA). Devices whose writes are
    /// durable when they complete, and all other operations, ignore it.
    pub durable: bool,
}

impl Request {
    /// A flush.
    pub const FLUSH: Self = Self::new(IoOp::Flush, Bytes::ZERO, Bytes::ZERO);

    /// Creates a request that need not be durable.
    pub const fn new(op: IoOp, offset: Bytes, len: Bytes) -> Self {
        Self { op, offset, len, durable: false }
    }

    /// The same operation on another range.
    #[must_use]
    pub const fn with_range(self, offset: Bytes, len: Bytes) -> Self {
        Self { offset, len, ..self }
    }
}

/// The operation that a request waited for. If there were several, the last variant in this order
/// counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// No operation of the medium: a cache or buffer served the request, or there was nothing to
    /// do.
    Buffer,
    /// Operations of the medium for the request itself.
    #[default]
    Medium,
    /// Reading the rest of a page that the request overwrites in part.
    Merge,
    /// Garbage collection.
    Collection,
}

/// End of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The number under which the request was submitted.
    pub id: u64,
    /// Time of the acknowledgement.
    pub at: Ns,
    /// The operation that the request waited for.
    pub cause: Cause,
    /// Whether the request failed: the device is worn out, or the data cannot be read.
    pub failed: bool,
}

/// Time for which the power-drawing parts of a device have been active since its creation, summed
/// over parts of the same kind (two disks active for a second: two seconds). Reads and writes are
/// separate because a disk draws different power for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Storage parts (disk drives, flash dies) that read: positioning and transfer from the medium.
    pub read: Ns,
    /// Storage parts that write or erase.
    pub write: Ns,
    /// The controller and its memory, if they are separate parts (flash).
    pub controller: Ns,
}

gordon_units::fieldwise!(Usage { read, write, controller });

/// Number of calls of [`Device::prefetch`] for each request.
pub const PREFETCH_STAGES: usize = 2;

/// A storage device on a virtual clock.
///
/// The clock of a device advances only in [`step`](Self::step); [`next_event`](Self::next_event)
/// returns the time of its next event. A driver of several devices, or one with requests of its own
/// to submit, always handles the earliest event first.
pub trait Device {
    /// Exported capacity in bytes, a multiple of [`SECTOR`].
    fn capacity(&self) -> Bytes;

    /// Submits `request` at time `at`. Its [`Completion`] carries the number `id`.
    ///
    /// # Panics
    /// Panics if `at` lies before a time already stepped to or after the next event, or if the
    /// range is empty, not aligned to [`SECTOR`] or ends beyond the capacity. Callers check their
    /// input.
    fn submit(&mut self, at: Ns, id: u64, request: Request);

    /// Enlarges a request that waits unchanged since its submission: it becomes `request`. Returns
    /// false, and changes nothing, if it has started or if the device keeps no queue.
    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        let _ = (id, request);
        false
    }

    /// Declares that the range holds data from before the simulation. Must precede the first
    /// request. Devices without a map ignore it.
    fn preload(&mut self, offset: Bytes, len: Bytes) {
        let _ = (offset, len);
    }

    /// Prefetches into the CPU cache what a request submitted soon will need. It does not change
    /// the simulation. The driver calls it [`PREFETCH_STAGES`] times for each request, each time
    /// closer to its submission; each stage may use what the previous stage fetched.
    ///
    /// The benchmark `replay_rate` with 400 GB of `nvme-slc-800g` simulates 4.71 M random reads a
    /// second with it and 3.08 M without, and 3.73 M and 2.36 M random writes.
    fn prefetch(&self, request: &Request, stage: usize) {
        let _ = (request, stage);
    }

    /// Time of the next event, either a completion or background work (write-back, garbage
    /// collection). `None` if the device is quiescent.
    fn next_event(&self) -> Option<Ns>;

    /// Carries out the next event, or all events of that instant, and appends the completions.
    fn step(&mut self, completed: &mut Vec<Completion>);

    /// Carries out events up to the time `until`, but stops after the first completion. It replaces
    /// a loop of [`step`](Self::step).
    fn advance(&mut self, until: Ns, completed: &mut Vec<Completion>) {
        while completed.is_empty() && self.next_event().is_some_and(|next| next <= until) {
            self.step(completed);
        }
    }

    /// Carries out all events up to the time `until`. Returns the time of the last of them; `None`
    /// if there was none.
    fn run_until(&mut self, until: Ns, completed: &mut Vec<Completion>) -> Option<Ns> {
        let mut last = None;
        while let Some(next) = self.next_event().filter(|next| *next <= until) {
            self.step(completed);
            last = Some(next);
        }
        last
    }

    /// Activity of the parts so far.
    fn usage(&self) -> Usage;
}

impl<D: Device + ?Sized> Device for &mut D {
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        (**self).submit(at, id, request);
    }

    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        (**self).enlarge(id, request)
    }

    fn preload(&mut self, offset: Bytes, len: Bytes) {
        (**self).preload(offset, len);
    }

    fn prefetch(&self, request: &Request, stage: usize) {
        (**self).prefetch(request, stage);
    }

    fn next_event(&self) -> Option<Ns> {
        (**self).next_event()
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        (**self).step(completed);
    }

    fn advance(&mut self, until: Ns, completed: &mut Vec<Completion>) {
        (**self).advance(until, completed);
    }

    fn run_until(&mut self, until: Ns, completed: &mut Vec<Completion>) -> Option<Ns> {
        (**self).run_until(until, completed)
    }

    fn usage(&self) -> Usage {
        (**self).usage()
    }
}
