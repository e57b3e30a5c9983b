//! The host's queue before a device: requests that wait there and lie side by side become one, as
//! the block layers of operating systems have it.
//!
//! A request that comes is joined to a waiting one of the same kind that ends where it begins (a
//! back merge) or begins where it ends (a front merge), up to a size. The device carries out one
//! request, each of them is completed when that is. The joined one keeps its place in the queue.
//! Nothing is held back for a neighbour that may come: only what has to wait anyway grows
//! ([`Device::enlarge`]). Requests before a flush are not joined to any after it.
//!
//! Not covered: two waiting requests that become neighbours through a third stay two.

use gordon_blockio::{Completion, Device, IoOp, Request, Usage};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeMap;

/// A device with such a queue.
#[derive(Clone, Debug)]
pub struct Coalescer<D> {
    device: D,
    most: Bytes,
    /// What the device has been asked, by the number that it knows it under.
    open: Vec<JoinedRequest>,
    unused: Vec<usize>,
    /// Where such requests start, and where they end: those that wait, and some that did.
    starts: BTreeMap<(IoOp, u64), usize>,
    ends: BTreeMap<(IoOp, u64), usize>,
    joined: u64,
    /// What the device has just completed; kept for its memory.
    done: Vec<Completion>,
}

/// Requests that are one to the device.
#[derive(Clone, Debug)]
struct JoinedRequest {
    all: Request,
    ids: Vec<u64>,
}

impl<D: Device> Coalescer<D> {
    /// `device`, with requests of up to `most` bytes.
    pub fn new(device: D, most: Bytes) -> Self {
        Self {
            device,
            most,
            open: Vec::new(),
            unused: Vec::new(),
            starts: BTreeMap::new(),
            ends: BTreeMap::new(),
            joined: 0,
            done: Vec::new(),
        }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Requests that were joined to another.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    fn note(&mut self, place: usize) {
        let Request { op, offset, len } = self.open[place].all;
        self.starts.insert((op, offset.0), place);
        self.ends.insert((op, (offset + len).0), place);
    }

    /// Nothing more is joined to it.
    fn forget(&mut self, place: usize) {
        let Request { op, offset, len } = self.open[place].all;
        for (by, at) in [(&mut self.starts, offset), (&mut self.ends, offset + len)] {
            if by.get(&(op, at.0)) == Some(&place) {
                by.remove(&(op, at.0));
            }
        }
    }

    /// Joins a request to a waiting one that ends where it begins, or begins where it ends.
    fn join(&mut self, id: u64, request: Request) -> bool {
        let Request { op, offset, len } = request;
        let before = self.ends.get(&(op, offset.0));
        let behind = self.starts.get(&(op, (offset + len).0));
        for place in [before, behind].map(|place| place.copied()).into_iter().flatten() {
            let old = self.open[place].all;
            let all = Request { op, offset: old.offset.min(offset), len: old.len + len };
            if all.len > self.most {
                continue;
            }
            self.forget(place);
            if self.device.enlarge(place as u64, all) {
                self.open[place].all = all;
                self.open[place].ids.push(id);
                self.note(place);
                self.joined += 1;
                return true;
            }
        }
        false
    }
}

impl<D: Device> Device for Coalescer<D> {
    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        gordon_blockio::check_range(self.capacity(), id, &request);
        let flush = request.op == IoOp::Flush;
        if flush {
            self.starts.clear();
            self.ends.clear();
        } else if self.join(id, request) {
            return;
        }
        let place = self.unused.pop().unwrap_or(self.open.len());
        if place == self.open.len() {
            self.open.push(JoinedRequest { all: request, ids: Vec::new() });
        }
        self.open[place].all = request;
        self.open[place].ids.push(id);
        if !flush {
            self.note(place);
        }
        self.device.submit(at, place as u64, request);
    }

    fn preload(&mut self, offset: Bytes, len: Bytes) {
        self.device.preload(offset, len);
    }

    fn next_event(&self) -> Option<Ns> {
        self.device.next_event()
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let mut done = std::mem::take(&mut self.done);
        self.device.step(&mut done);
        for one in done.drain(..) {
            let place = usize::try_from(one.id).expect("a place of ours");
            self.forget(place);
            self.unused.push(place);
            completed.extend(self.open[place].ids.drain(..).map(|id| Completion { id, ..one }));
        }
        self.done = done;
    }

    fn usage(&self) -> Usage {
        self.device.usage()
    }
}
