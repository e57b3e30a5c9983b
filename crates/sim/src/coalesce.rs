//! A queue of the host in front of a device that merges adjacent waiting requests, as the block
//! layers of operating systems do.
//!
//! A new request is merged with a waiting one of the same kind that ends where it begins (back
//! merge) or begins where it ends (front merge), up to a maximum size. The device carries out one
//! request; when it completes, all requests merged in it complete. The merged request keeps its
//! place in the queue. No request is delayed in the hope of a neighbour: only requests that have to
//! wait anyway grow ([`Device::enlarge`]). Requests before a flush are not merged with requests
//! after it, and durable writes (FUA) not with others.
//!
//! Not covered: two waiting requests that become adjacent through a third are not merged.

use gordon_blockio::{Completion, Device, IoOp, Request, Usage};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeMap;

/// A device behind a queue that merges requests.
#[derive(Clone, Debug)]
pub struct Coalescer<D> {
    device: D,
    most: Bytes,
    /// Requests at the device. The device knows a request by its index in this list.
    open: Vec<JoinedRequest>,
    unused: Vec<usize>,
    /// Index in `open` by start and by end of the request. Entries may be out of date: a device
    /// refuses to enlarge a request that has started.
    starts: BTreeMap<(IoOp, u64), usize>,
    ends: BTreeMap<(IoOp, u64), usize>,
    joined: u64,
    /// Completions of one device step; kept to reuse its memory.
    done: Vec<Completion>,
}

/// Requests that were merged into one request to the device.
#[derive(Clone, Debug)]
struct JoinedRequest {
    all: Request,
    ids: Vec<u64>,
}

impl<D: Device> Coalescer<D> {
    /// Wraps `device`. Merged requests have at most `most` bytes.
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

    /// The device behind the queue.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Number of requests that were merged into an earlier one.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    fn note(&mut self, place: usize) {
        let Request { op, offset, len, .. } = self.open[place].all;
        self.starts.insert((op, offset.0), place);
        self.ends.insert((op, (offset + len).0), place);
    }

    /// Excludes a request from further merges.
    fn forget(&mut self, place: usize) {
        let Request { op, offset, len, .. } = self.open[place].all;
        for (by, at) in [(&mut self.starts, offset), (&mut self.ends, offset + len)] {
            if by.get(&(op, at.0)) == Some(&place) {
                by.remove(&(op, at.0));
            }
        }
    }

    /// Merges a request with an adjacent waiting one. Returns whether that succeeded.
    fn join(&mut self, id: u64, request: Request) -> bool {
        let Request { op, offset, len, durable } = request;
        let before = self.ends.get(&(op, offset.0));
        let behind = self.starts.get(&(op, (offset + len).0));
        for place in [before, behind].map(|place| place.copied()).into_iter().flatten() {
            let old = self.open[place].all;
            let all = old.with_range(old.offset.min(offset), old.len + len);
            if all.len > self.most || old.durable != durable {
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
