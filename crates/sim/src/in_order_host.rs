//! A host that submits requests in order and limits the number outstanding. Between requests the
//! device continues with its own work (read-ahead, destaging).

use gordon_blockio::{Completion, Device, Request};
use gordon_units::Ns;

/// A device with such a host.
#[derive(Clone, Debug)]
pub struct InOrderHost<D> {
    device: D,
    now: Ns,
    outstanding: usize,
    /// Number of requests so far, which is also the id of the next one.
    requests: u64,
    completed: Vec<Completion>,
}

impl<D: Device> InOrderHost<D> {
    /// A host at time zero that has submitted nothing yet.
    pub fn new(device: D) -> Self {
        Self { device, now: Ns::ZERO, outstanding: 0, requests: 0, completed: Vec::new() }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Time of the last event that the host waited for.
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Submits a request as soon as fewer than `depth` are outstanding.
    ///
    /// # Panics
    /// Panics if the device refuses the range, or if it is quiescent and requests are outstanding.
    pub fn submit(&mut self, request: Request, depth: usize) {
        self.wait_below(depth);
        self.device.submit(self.now, self.requests, request);
        self.requests += 1;
        self.outstanding += 1;
    }

    /// Submits a request at the time `at`, and returns when it completes. No other request may be
    /// outstanding.
    ///
    /// # Panics
    /// Panics if `at` lies before the previous completion, or if the device refuses the range.
    pub fn carry_out(&mut self, at: Ns, request: Request) -> Ns {
        self.advance(at);
        self.now = at;
        self.submit(request, 1);
        self.wait_below(1);
        self.now
    }

    /// Carries out the events of the device up to the time `until`.
    fn advance(&mut self, until: Ns) {
        self.now = self.device.run_until(until, &mut self.completed).unwrap_or(self.now);
        self.count_completed();
    }

    /// Carries out all events of the device, background work included.
    ///
    /// # Panics
    /// Panics if requests are outstanding at the end.
    pub fn drain(&mut self) {
        self.advance(Ns::MAX);
        assert_eq!(self.outstanding, 0, "a quiescent device owes completions");
    }

    fn wait_below(&mut self, depth: usize) {
        while self.outstanding >= depth {
            self.device.advance(Ns::MAX, &mut self.completed);
            assert!(!self.completed.is_empty(), "a quiescent device owes completions");
            self.now = self.completed[0].at;
            self.count_completed();
        }
    }

    fn count_completed(&mut self) {
        self.outstanding -= self.completed.len();
        self.completed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_blockio::{Cause, IoOp, SECTOR, Usage};
    use gordon_units::Bytes;
    use std::collections::VecDeque;

    /// Serves one request after the other in 100 ns each, and after each write destages for as
    /// long.
    #[derive(Default)]
    struct Toy {
        submitted: Vec<Ns>,
        events: VecDeque<(Ns, Option<u64>)>,
    }

    impl Device for Toy {
        fn capacity(&self) -> Bytes {
            SECTOR
        }

        fn submit(&mut self, at: Ns, id: u64, request: Request) {
            self.submitted.push(at);
            let done = self.events.back().map_or(at, |event| event.0) + Ns(100);
            self.events.push_back((done, Some(id)));
            if request.op == IoOp::Write {
                self.events.push_back((done + Ns(100), None));
            }
        }

        fn next_event(&self) -> Option<Ns> {
            self.events.front().map(|event| event.0)
        }

        fn step(&mut self, completed: &mut Vec<Completion>) {
            let Some((at, id)) = self.events.pop_front() else { return };
            completed.extend(id.map(|id| Completion {
                id,
                at,
                cause: Cause::Medium,
                failed: false,
            }));
        }

        fn usage(&self) -> Usage {
            Usage::default()
        }
    }

    fn request(op: IoOp) -> Request {
        Request::new(op, Bytes::ZERO, SECTOR)
    }

    #[test]
    fn a_request_waits_until_fewer_than_its_depth_are_outstanding() {
        let mut host = InOrderHost::new(Toy::default());
        for depth in [2, 2, 2, 1, 9] {
            host.submit(request(IoOp::Read), depth);
        }
        assert_eq!(host.device().submitted, [0, 0, 100, 300, 300].map(Ns));
        host.drain();
        assert_eq!((host.now(), host.requests()), (Ns(500), 5));
    }

    #[test]
    fn a_drain_includes_background_work_and_the_next_request_follows_it() {
        let mut toy = Toy::default();
        let mut host = InOrderHost::new(&mut toy);
        host.submit(request(IoOp::Write), 1);
        host.drain();
        assert_eq!(host.now(), Ns(200));
        host.drain();
        host.submit(request(IoOp::Write), 1);
        assert_eq!(toy.submitted, [0, 200].map(Ns));
    }

    #[test]
    fn single_requests_are_submitted_at_their_times_during_background_work() {
        let mut host = InOrderHost::new(Toy::default());
        assert_eq!(host.carry_out(Ns(50), request(IoOp::Write)), Ns(150));
        // The device destages until 250.
        assert_eq!(host.carry_out(Ns(150), request(IoOp::Read)), Ns(350));
        assert_eq!(host.carry_out(Ns(1000), request(IoOp::Read)), Ns(1100));
        assert_eq!(host.device().submitted, [50, 150, 1000].map(Ns));
    }
}
