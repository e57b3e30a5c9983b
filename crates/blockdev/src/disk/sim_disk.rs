//! Simulated disks whose requests complete when the disk is done and their bytes are moved.

use crate::clock::{DueAnswer, Simulated};
use gordon_blockio::{Completion, Device, Request};
use gordon_hdd::drive::Drive;
use gordon_units::Ns;

/// Disks and their open requests. The answer to a request is a `T`, which comes from the thread
/// that moves its bytes.
pub(super) struct SimDisk<T> {
    pub drive: Drive,
    /// Open requests by tag.
    open: Vec<Option<OpenRequest<T>>>,
    free: Vec<usize>,
    completed: Vec<Completion>,
    ended: Vec<DueAnswer<T>>,
}

/// A request that waits for the disk, for its bytes, or for both.
struct OpenRequest<T> {
    arrived_at: Ns,
    /// When the disk completed it.
    at: Option<Ns>,
    /// The answer, once its bytes are moved.
    result: Option<T>,
}

impl<T> SimDisk<T> {
    pub fn new(drive: Drive) -> Self {
        Self { drive, open: vec![], free: vec![], completed: vec![], ended: vec![] }
    }

    /// Submits a request to the disk. Returns the tag of the request.
    pub fn submit(&mut self, now: Ns, request: Request) -> usize {
        let tag = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[tag] = Some(OpenRequest { arrived_at: now, at: None, result: None });
        self.drive.submit(now, tag as u64, request);
        tag
    }

    /// Reports that the bytes of a request have been moved.
    pub fn bytes_moved(&mut self, tag: usize, answer: T) {
        self.open[tag].as_mut().expect("the request is open").result = Some(answer);
        self.answer_if_done(tag);
    }

    /// Answers a request if the disk is done and its bytes are moved.
    fn answer_if_done(&mut self, tag: usize) {
        match self.open[tag].take() {
            Some(OpenRequest { arrived_at, at: Some(at), result: Some(answer), .. }) => {
                self.free.push(tag);
                self.ended.push(DueAnswer { answer, arrived_at, at });
            }
            waiting => self.open[tag] = waiting,
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
            let tag = usize::try_from(id).expect("ids are tags");
            self.open[tag].as_mut().expect("the request is open").at = Some(at);
            self.answer_if_done(tag);
        }
        self.completed = completed;
    }

    fn ended(&mut self, each: impl FnMut(DueAnswer<T>)) {
        self.ended.drain(..).for_each(each);
    }
}
