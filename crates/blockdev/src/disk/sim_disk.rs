//! Simulated disks, and requests of which half is done elsewhere: their bytes are moved.

use crate::clock::{DueAnswer, Simulated};
use gordon_blockio::{Completion, Device, IoOp, Request};
use gordon_hdd::drive::Drive;
use gordon_units::{Bytes, Ns};

/// Disks with requests on their way. A request is answered with a `T`, which comes from whoever
/// moves its bytes.
pub(super) struct SimDisk<T> {
    pub drive: Drive,
    /// By tag.
    open: Vec<Option<OpenRequest<T>>>,
    free: Vec<usize>,
    completed: Vec<Completion>,
    ended: Vec<DueAnswer<T>>,
}

/// A request that one of the two is not done with.
struct OpenRequest<T> {
    arrived_at: Ns,
    /// A flush of the disk follows.
    flush: bool,
    /// When the disk was done.
    at: Option<Ns>,
    result: Option<T>,
}

impl<T> SimDisk<T> {
    pub fn new(drive: Drive) -> Self {
        Self { drive, open: vec![], free: vec![], completed: vec![], ended: vec![] }
    }

    /// Hands a request to the disk, and what makes it durable after it where that is wanted; its
    /// tag.
    pub fn submit(&mut self, now: Ns, request: Request, durable: bool) -> usize {
        let tag = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[tag] =
            Some(OpenRequest { arrived_at: now, flush: durable, at: None, result: None });
        self.drive.submit(now, tag as u64, request);
        tag
    }

    /// The bytes of a request are where they belong.
    pub fn bytes_moved(&mut self, tag: usize, what: T) {
        self.open[tag].as_mut().expect("it is on its way").result = Some(what);
        self.answer_if_done(tag);
    }

    /// Answers a request that both are done with.
    fn answer_if_done(&mut self, tag: usize) {
        match self.open[tag].take() {
            Some(OpenRequest { arrived_at: came, at: Some(at), result: Some(answer), .. }) => {
                self.free.push(tag);
                self.ended.push(DueAnswer { answer, arrived_at: came, at });
            }
            half => self.open[tag] = half,
        }
    }
}

impl<T: Send + 'static> Simulated for SimDisk<T> {
    type Answer = T;

    fn next_at(&self) -> Option<Ns> {
        self.drive.next_event()
    }

    fn step(&mut self) {
        let mut completed = std::mem::take(&mut self.completed);
        self.drive.step(&mut completed);
        for Completion { id, at, .. } in completed.drain(..) {
            let tag = usize::try_from(id).expect("a tag of ours");
            let open = self.open[tag].as_mut().expect("it is on its way");
            if std::mem::take(&mut open.flush) {
                let flush = Request { op: IoOp::Flush, offset: Bytes::ZERO, len: Bytes::ZERO };
                self.drive.submit(at, id, flush);
            } else {
                open.at = Some(at);
                self.answer_if_done(tag);
            }
        }
        self.completed = completed;
    }

    fn ended(&mut self, each: impl FnMut(DueAnswer<T>)) {
        self.ended.drain(..).for_each(each);
    }
}
