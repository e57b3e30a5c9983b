//! Matches each completion to its issued request, and returns the requests in order of issue.
//!
//! A request is returned when it and all requests issued before it have completed, have timed out,
//! or when too many requests wait. A completion belongs to a request with the same device, sector
//! and operation: usually to the oldest one. If the source often loses completions, it is given to
//! the newest one, because an older request may be waiting for a completion that was lost.

use super::format::{BlockEvent, EventKind};
use gordon_blockio::IoOp;
use gordon_trace::BlockIo;
use gordon_units::Ns;
use std::collections::{BTreeMap, VecDeque};

/// Limit of waiting requests. 64 Ki requests take 5 MB.
const MAX_WAITING: usize = 1 << 16;
/// Time after which a missing completion counts as lost: the kernel's default timeout of a request.
const COMPLETION_TIMEOUT: Ns = Ns(30 * Ns::SECOND.0);

type MatchKey = (u32, u64, IoOp);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestState {
    Pending,
    Done,
    /// The driver returned the request, and the kernel will issue it again.
    Requeued,
}

struct PendingRequest {
    io: BlockIo,
    state: RequestState,
    /// Number of the previous pending request with the same key.
    older: Option<u64>,
}

/// Takes issues and completions in order of time, and returns requests in order of issue.
pub(crate) struct Matcher {
    requests: VecDeque<PendingRequest>,
    /// Number of the first element of `requests`.
    first: u64,
    /// The latest pending request of each key. It usually has few entries, so a tree is faster than
    /// hashing.
    newest: BTreeMap<MatchKey, u64>,
    waiting: usize,
    newest_first: bool,
    latest: Ns,
}

fn key(io: &BlockIo) -> MatchKey {
    (io.device, io.sector, io.op)
}

impl Matcher {
    pub(crate) fn new(newest_first: bool) -> Self {
        Self { newest_first, ..Self::with_room_for(MAX_WAITING) }
    }

    fn with_room_for(waiting: usize) -> Self {
        Self {
            requests: VecDeque::new(),
            first: 0,
            newest: BTreeMap::new(),
            waiting,
            newest_first: false,
            latest: Ns::ZERO,
        }
    }

    /// Adds an issued request. A request that arrives late, because its CPU was delayed before the
    /// event reached the buffer, is placed after those already here, with the time of the last one.
    pub(crate) fn issue(&mut self, mut io: BlockIo) {
        io.at = io.at.max(self.latest);
        self.latest = io.at;
        let older = self.newest.insert(key(&io), self.first + self.requests.len() as u64);
        self.requests.push_back(PendingRequest { io, state: RequestState::Pending, older });
    }

    /// Processes a completion or a requeue of a request with operation `op`.
    pub(crate) fn end(&mut self, event: &BlockEvent, op: IoOp) {
        // A write with a flush before it completes a second time, with zero sectors.
        if event.sectors == 0 && op != IoOp::Flush {
            return;
        }
        let key = (event.device, event.sector, op);
        let Some(&newest) = self.newest.get(&key) else { return };
        let (mut at, mut newer) = (newest, None);
        let mut older = self.older(at);
        while let Some(next) = older.filter(|_| !self.newest_first) {
            (newer, at) = (Some(at), next);
            older = self.older(at);
        }
        match (newer, older) {
            (Some(newer), _) => self.request(newer).older = None,
            (None, Some(older)) => {
                self.newest.insert(key, older);
            }
            (None, None) => {
                self.newest.remove(&key);
            }
        }
        let request = self.request(at);
        match event.kind {
            EventKind::Requeued => request.state = RequestState::Requeued,
            _ => {
                request.io.latency = Some(event.at.saturating_sub(request.io.at));
                request.state = RequestState::Done;
            }
        }
    }

    /// The previous pending request with the same key, unless it has been returned.
    fn older(&mut self, number: u64) -> Option<u64> {
        self.request(number).older.filter(|older| *older >= self.first)
    }

    fn request(&mut self, number: u64) -> &mut PendingRequest {
        &mut self.requests[usize::try_from(number - self.first).expect("rows fit in memory")]
    }

    /// The next request that can be returned at time `now`.
    pub(crate) fn next(&mut self, now: Ns) -> Option<BlockIo> {
        loop {
            let full = self.requests.len() > self.waiting;
            let request = self.requests.front()?;
            if request.state == RequestState::Pending {
                if !full && now.saturating_sub(request.io.at) < COMPLETION_TIMEOUT {
                    return None;
                }
                if self.newest.get(&key(&request.io)) == Some(&self.first) {
                    self.newest.remove(&key(&request.io));
                }
            }
            self.first += 1;
            let request = self.requests.pop_front()?;
            if request.state != RequestState::Requeued {
                return Some(request.io);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_trace::BlockFlags;

    fn io(at: u64, sector: u64, op: IoOp) -> BlockIo {
        let flags = BlockFlags::default();
        BlockIo {
            at: Ns(at),
            device: 1,
            sector,
            sectors: 8,
            op,
            flags,
            pid: 1,
            process: 0,
            latency: None,
        }
    }

    fn event(at: u64, sector: u64, kind: EventKind) -> BlockEvent {
        BlockEvent {
            at: Ns(at),
            kind,
            device: 1,
            sector,
            sectors: 8,
            op: None,
            flags: BlockFlags::default(),
            pid: 0,
            comm: [0; 16],
        }
    }

    fn out(m: &mut Matcher, now: u64) -> Vec<(u64, Option<u64>)> {
        std::iter::from_fn(|| m.next(Ns(now)))
            .map(|io| (io.at.0, io.latency.map(|l| l.0)))
            .collect()
    }

    #[test]
    fn requests_are_returned_in_order_of_issue() {
        let mut m = Matcher::new(false);
        m.issue(io(10, 100, IoOp::Write));
        m.issue(io(11, 200, IoOp::Read));
        m.end(&event(20, 200, EventKind::Completed), IoOp::Read);
        assert_eq!(out(&mut m, 30), []);
        // Another operation on the same sector is another request, and a completion of zero sectors
        // is ignored.
        m.end(&BlockEvent { sectors: 0, ..event(24, 100, EventKind::Completed) }, IoOp::Write);
        m.end(&event(25, 100, EventKind::Completed), IoOp::Read);
        assert_eq!(out(&mut m, 30), []);
        m.end(&event(40, 100, EventKind::Completed), IoOp::Write);
        assert_eq!(out(&mut m, 50), [(10, Some(30)), (11, Some(9))]);
    }

    #[test]
    fn requests_to_the_same_sector_complete_oldest_first() {
        let mut m = Matcher::new(false);
        for at in [1, 2, 3] {
            m.issue(io(at, 0, IoOp::Flush));
        }
        for at in [11, 22, 33, 44] {
            m.end(&event(at, 0, EventKind::Completed), IoOp::Flush);
        }
        assert_eq!(out(&mut m, 50), [(1, Some(10)), (2, Some(20)), (3, Some(30))]);
        assert!(m.newest.is_empty());
    }

    #[test]
    fn if_completions_are_lost_the_newest_request_takes_one() {
        let mut m = Matcher::new(true);
        for at in [1, 2, 3] {
            m.issue(io(at, 7, IoOp::Write));
        }
        // The completions of the third and the second request; the completion of the first was
        // lost.
        for at in [11, 22] {
            m.end(&event(at, 7, EventKind::Completed), IoOp::Write);
        }
        let late = 1 + COMPLETION_TIMEOUT.0;
        assert_eq!(out(&mut m, late), [(1, None), (2, Some(20)), (3, Some(8))]);
        assert!(m.newest.is_empty());
    }

    #[test]
    fn a_requeued_request_counts_when_issued_again() {
        let mut m = Matcher::new(false);
        m.issue(io(1, 7, IoOp::Read));
        m.end(&event(2, 7, EventKind::Requeued), IoOp::Read);
        m.issue(io(3, 7, IoOp::Read));
        m.end(&event(9, 7, EventKind::Completed), IoOp::Read);
        assert_eq!(out(&mut m, 10), [(3, Some(6))]);
    }

    #[test]
    fn a_late_request_keeps_the_order() {
        let mut m = Matcher::new(false);
        m.issue(io(10, 1, IoOp::Read));
        m.issue(io(8, 2, IoOp::Read));
        m.end(&event(20, 1, EventKind::Completed), IoOp::Read);
        m.end(&event(9, 2, EventKind::Completed), IoOp::Read);
        assert_eq!(out(&mut m, 30), [(10, Some(10)), (10, Some(0))]);
    }

    #[test]
    fn waiting_is_bounded_in_number_and_in_time() {
        let mut m = Matcher::with_room_for(2);
        m.issue(io(1, 7, IoOp::Read));
        m.issue(io(2, 7, IoOp::Read));
        m.issue(io(3, 8, IoOp::Read));
        assert_eq!(out(&mut m, 10), [(1, None)]);
        // The request that was returned is forgotten, and the second one takes the completion.
        m.end(&event(12, 7, EventKind::Completed), IoOp::Read);
        assert_eq!(out(&mut m, 20), [(2, Some(10))]);
        assert_eq!(out(&mut m, 3 + COMPLETION_TIMEOUT.0), [(3, None)]);
        assert!(m.newest.is_empty());
        m.end(&event(COMPLETION_TIMEOUT.0 + 9, 8, EventKind::Completed), IoOp::Read);
    }
}
