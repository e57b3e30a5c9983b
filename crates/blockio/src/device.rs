//! Operations, requests and the contract of simulated devices.

use crate::IoOp;
use gordon_units::{Bytes, Ns};

/// The unit of addressing: every offset and length is a multiple of it.
pub const SECTOR: Bytes = Bytes(512);

/// One request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What to do.
    pub op: IoOp,
    /// Where it starts.
    pub offset: Bytes,
    /// How long it is; more than zero, but for a flush.
    pub len: Bytes,
}

/// What a request had to wait for; of several, the last here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// No operation of the medium: a cache, a buffer, or nothing to do.
    Buffer,
    /// Operations of the medium for the request itself.
    #[default]
    Medium,
    /// A page that had to be read because the request writes part of it.
    Merge,
    /// Garbage collection.
    Collection,
}

/// A request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The number the request was submitted under.
    pub id: u64,
    /// When it was acknowledged.
    pub at: Ns,
    /// What it waited for.
    pub cause: Cause,
    /// It was not done: the device is worn out, or the data cannot be read.
    pub failed: bool,
}

/// How long the power-drawing parts of a device were at work since it was made, summed over like
/// parts (two disks busy for a second: two seconds). Reads and writes are apart because a disk
/// draws different power for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Storage parts (disk drives, flash dies) reading: positioning and transfer from the medium.
    pub read: Ns,
    /// Storage parts writing, or erasing.
    pub write: Ns,
    /// The controller and its memory at work, where they are parts of their own (flash).
    pub controller: Ns,
}

/// How often a device prefetches for a request before it comes.
pub const PREFETCH_STAGES: usize = 2;

/// A storage device on a virtual clock.
///
/// The device moves only when it is asked to: [`next_event`](Self::next_event) says when it will
/// next do something by itself, [`step`](Self::step) lets it. A user that owns several devices, or
/// has requests of its own to send, always takes the earliest.
pub trait Device {
    /// Bytes it exports, a multiple of [`SECTOR`].
    fn capacity(&self) -> Bytes;

    /// Hands in `request` at `at` under the number `id`, which comes back in its [`Completion`].
    ///
    /// # Panics
    /// Where `at` lies before a time already stepped to or past the next event, the range is
    /// empty, not aligned to [`SECTOR`] or ends beyond the capacity: callers check their input.
    fn submit(&mut self, at: Ns, id: u64, request: Request);

    /// Makes a request that waits as it was submitted larger: it becomes `request`. False where it
    /// has begun, or where the device keeps no requests waiting: then nothing changes.
    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        let _ = (id, request);
        false
    }

    /// Says that the range holds data from before the simulation starts. Only a device with a map
    /// cares. Comes before the first request.
    fn preload(&mut self, offset: Bytes, len: Bytes) {
        let _ = (offset, len);
    }

    /// Prefetches into the CPU cache what a request will need that is submitted a few requests from
    /// now. It changes nothing in the simulation. The driver calls it [`PREFETCH_STAGES`] times for
    /// each request, closer each time: a stage uses what the stage before has fetched.
    ///
    /// The benchmark `replay_rate` with 400 GB of `nvme-slc-800g` simulates 4.71 M random reads a
    /// second with it and 3.08 M without, and 3.73 M and 2.36 M random writes.
    fn prefetch(&self, request: &Request, stage: usize) {
        let _ = (request, stage);
    }

    /// When the device next does something by itself, be it a completion or work in the
    /// background (write-back, garbage collection). `None`: it is quiescent.
    fn next_event(&self) -> Option<Ns>;

    /// Carries out the next event (one, or all of its instant) and appends what it completed.
    fn step(&mut self, completed: &mut Vec<Completion>);

    /// Carries out events up to the time `until`, as long as nothing is completed. For users that
    /// would [`step`](Self::step) that far anyway.
    fn advance(&mut self, until: Ns, completed: &mut Vec<Completion>) {
        while completed.is_empty() && self.next_event().is_some_and(|next| next <= until) {
            self.step(completed);
        }
    }

    /// What its parts have done so far.
    fn usage(&self) -> Usage;
}

impl<D: Device + ?Sized> Device for Box<D> {
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

    fn usage(&self) -> Usage {
        (**self).usage()
    }
}
