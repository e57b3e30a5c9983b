//! A host that has one request outstanding: it submits the next when the one before has completed.
//! Between requests the device continues with its own work (read-ahead, destaging).

use gordon_blockio::{Completion, Device, Request};
use gordon_units::Ns;

/// A device with such a host.
#[derive(Clone, Debug)]
pub struct Serial<D> {
    device: D,
    /// Number of requests so far, which is also the id of the next one.
    requests: u64,
    completed: Vec<Completion>,
}

impl<D: Device> Serial<D> {
    /// A host that has submitted nothing yet.
    pub fn new(device: D) -> Self {
        Self { device, requests: 0, completed: Vec::new() }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Carries out the events of the device up to the time `until`.
    pub fn advance(&mut self, until: Ns) {
        while self.device.next_event().is_some_and(|next| next <= until) {
            self.device.step(&mut self.completed);
        }
    }

    /// Submits a request at the time `at`, and returns when it completes.
    ///
    /// # Panics
    /// Panics if `at` lies before the previous completion, or if the device refuses the range.
    pub fn submit(&mut self, at: Ns, request: Request) -> Ns {
        self.advance(at);
        self.device.submit(at, self.requests, request);
        self.requests += 1;
        loop {
            self.device.step(&mut self.completed);
            if let Some(done) = self.completed.pop() {
                return done.at;
            }
        }
    }
}
