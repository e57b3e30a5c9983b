//! The host: submits the requests of a load to a device and handles their completions.
//!
//! Pacing of requests:
//! - [`Pacing::Arrival`]: each request arrives at its time in the load, divided by a speed. It is
//!   issued at once, or, if a queue depth is given, when fewer requests are at the device. Its
//!   latency counts from its arrival.
//! - [`Pacing::Closed`]: times are ignored. The number of requests at the device equals the queue
//!   depth; the next one is issued at the instant one completes.
//! - [`Pacing::Gaps`]: each of `depth` users issues its next request a gap after its last one
//!   completed; the gap was measured in the load after that request.
//!
//! If the device limits the size of a request, a larger host request is split. All parts are issued
//! at the same instant, and the request completes with the last of them. Ranges are extended to
//! whole sectors. The queue depth counts host requests.
//!
//! Requests of several queues take turns by weight (`queues.rs`). A closed loop reads the load
//! ahead until each queue has a waiting request, but at most [`WINDOW`] requests; a queue whose
//! next request is further ahead counts as empty.
//!
//! Not covered: processing time of the host, and dependencies between requests.

use crate::ReplayError;
use crate::queues::Queues;
use crate::source::{Feed, RequestSource, TimedRequest};
use gordon_blockio::{Cause, Completion, Device, IoOp, PREFETCH_STAGES, Request, SECTOR};
use gordon_units::{Bytes, Ns, Progress};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum number of requests that a closed loop with several queues reads ahead.
pub const WINDOW: usize = 4096;

/// Latest simulated time: 146 years. Sums of times up to this value do not overflow.
pub const LATEST: Ns = Ns(1 << 62);

/// Number of requests ahead at which a device prefetches, by stage. Simulating a few requests takes
/// longer than a memory access.
const PREFETCH_AHEAD: [usize; PREFETCH_STAGES] = [8, 1];

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// At the times in the load, divided by `speed`.
    Arrival {
        /// Scale of the times; 2 is twice as fast as the load.
        speed: f64,
    },
    /// When other requests complete.
    Closed,
    /// A measured gap after another request completes.
    Gaps,
}

/// How the host issues a load.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPolicy {
    /// When requests are issued.
    pub pacing: Pacing,
    /// Maximum number of host requests at the device.
    pub depth: u32,
    /// Maximum size of a device request in bytes, a multiple of [`SECTOR`]; `None` for no limit.
    pub split: Option<Bytes>,
    /// Whether addresses beyond the capacity are taken modulo the capacity.
    pub wrap: bool,
    /// Requests per turn of each queue; none of them is zero.
    pub weights: Vec<u32>,
}

/// A completed host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Number of the request in the load, from 0.
    pub number: u64,
    /// Time of arrival.
    pub arrived: Ns,
    /// Time when the request was sent to the device.
    pub issued: Ns,
    /// Time when the last part completed.
    pub completed: Ns,
    /// Operation of the request.
    pub op: IoOp,
    /// First byte, as in the load.
    pub offset: u64,
    /// Number of bytes, as in the load.
    pub len: u64,
    /// Queue of the request.
    pub queue: u32,
    /// What the request waited for.
    pub cause: Cause,
    /// Whether the device refused the request or a part of it.
    pub failed: bool,
}

/// Observes a run. Calls are in the order of virtual time.
pub trait Observer<D> {
    /// A request arrived; it counts as outstanding until it completes.
    fn arrived(&mut self, device: &D, at: Ns);

    /// A request completed.
    ///
    /// # Errors
    /// Returns an error if the request cannot be recorded; the run then ends.
    fn completed(&mut self, device: &D, done: &CompletedRequest) -> Result<(), ReplayError>;
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Host requests that completed.
    pub requests: u64,
    /// Completed requests that the device refused because it is worn out.
    pub failed: u64,
    /// Requests of zero bytes, which are not sent to the device.
    pub empty: u64,
    /// Requests sent to the device.
    pub device_requests: u64,
    /// Time from the first arrival to the last completion.
    pub simulated: Ns,
}

/// A host request at the device.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    /// Number of parts that have not completed.
    left: u32,
    gap: Ns,
    /// The record for the observer; `completed` and `cause` are final after the last part.
    done: CompletedRequest,
}

impl OpenRequest {
    /// Creates a request of one part.
    #[inline(always)]
    fn new(number: u64, arrived: Ns, issued: Ns, request: &TimedRequest) -> Self {
        let TimedRequest { op, offset, len, gap, queue, .. } = *request;
        let (completed, cause, failed) = (issued, Cause::Buffer, false);
        let done = CompletedRequest {
            number,
            arrived,
            issued,
            completed,
            op,
            offset,
            len,
            queue,
            cause,
            failed,
        };
        Self { left: 1, gap, done }
    }
}

/// A request that waits at the host for its turn.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    number: u64,
    arrived: Ns,
    request: TimedRequest,
}

struct Host<'a, D, O> {
    device: &'a mut D,
    observer: &'a mut O,
    depth: usize,
    split: u64,
    wrap: bool,
    capacity: u64,
    now: Ns,
    /// Requests at the device, and the free entries of that list.
    open: Vec<OpenRequest>,
    free: Vec<u32>,
    completed: Vec<Completion>,
    /// Issue times of the users of [`Pacing::Gaps`]; `None` with other pacing.
    users: Option<BinaryHeap<Reverse<Ns>>>,
    /// Number of requests taken from the load.
    taken: u64,
    outcome: Outcome,
}

/// Drives `device`, at time zero, with all requests of `source`. The first request arrives at time
/// zero. Background work after the last completion is not simulated.
///
/// # Errors
/// Returns an error if the load cannot be read or does not fit the device, if the observer fails,
/// or if `progress` stops the run.
///
/// # Panics
/// Panics if `policy` contains a zero or an unaligned split.
pub fn drive<D: Device, S: RequestSource, O: Observer<D>>(
    device: &mut D,
    source: S,
    policy: &HostPolicy,
    observer: &mut O,
    progress: &Progress,
) -> Result<Outcome, ReplayError> {
    assert!(policy.depth > 0, "a queue depth of 0");
    let split = policy.split.map_or(u64::MAX - SECTOR.0 + 1, |split| split.0);
    assert!(split > 0 && split.is_multiple_of(SECTOR.0), "split of {split} bytes");
    let mut host = Host {
        capacity: device.capacity().0,
        device,
        observer,
        depth: policy.depth as usize,
        split,
        wrap: policy.wrap,
        now: Ns::ZERO,
        open: Vec::new(),
        free: Vec::new(),
        completed: Vec::new(),
        users: None,
        taken: 0,
        outcome: Outcome::default(),
    };
    let mut load = WatchedLoad { feed: Feed::new(source), progress, counted: 0 };
    let weights = policy.weights.clone();
    match policy.pacing {
        Pacing::Arrival { speed } => host.arrivals(&mut load, Queues::new(weights), speed)?,
        Pacing::Closed if weights.len() == 1 => host.closed(&mut load)?,
        Pacing::Closed => host.closed_queues(&mut load, Queues::new(weights))?,
        Pacing::Gaps => host.gaps(&mut load)?,
    }
    host.outcome.requests = host.taken;
    // Split requests were counted with all parts but one.
    host.outcome.device_requests += host.taken - host.outcome.empty;
    host.outcome.simulated = host.now;
    Ok(host.outcome)
}

/// A load with progress reports and a stop flag.
struct WatchedLoad<'a, S> {
    feed: Feed<S>,
    progress: &'a Progress,
    /// Number of requests that were reported as progress.
    counted: u64,
}

impl<S: RequestSource> WatchedLoad<'_, S> {
    /// The next request, which is not consumed; `number` requests were taken before it.
    #[inline]
    fn peek(&mut self, number: u64) -> Result<Option<&TimedRequest>, ReplayError> {
        if self.feed.at_border() {
            self.count(number)?;
        }
        self.feed.peek()
    }

    #[cold]
    fn count(&mut self, number: u64) -> Result<(), ReplayError> {
        self.progress.step(number - self.counted);
        self.counted = number;
        self.progress.check()?;
        Ok(())
    }
}

/// Checks that a request, after `taken` others, is not too late.
#[inline(always)]
fn check_time(taken: u64, at: Ns) -> Result<(), ReplayError> {
    if at <= LATEST { Ok(()) } else { Err(ReplayError::Late { number: taken + 1 }) }
}

/// The last instant before `at`.
fn last_before(at: Ns) -> Ns {
    Ns(at.0.saturating_sub(1))
}

impl<D: Device, O: Observer<D>> Host<'_, D, O> {
    /// Whether another request may be issued.
    #[inline(always)]
    fn has_room(&self) -> bool {
        !self.free.is_empty() || self.open.len() < self.depth
    }

    /// Whether no request is at the device.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.free.len() == self.open.len()
    }

    fn arrivals<S: RequestSource>(
        &mut self,
        load: &mut WatchedLoad<'_, S>,
        mut queues: Queues<WaitingRequest>,
        speed: f64,
    ) -> Result<(), ReplayError> {
        let (mut first, mut before) = (None, Ns::ZERO);
        loop {
            let next = load.peek(self.taken)?.copied();
            let event = self.device.next_event();
            let arrival = next.map(|request| {
                let first = *first.get_or_insert(request.at);
                (request, scaled(request.at.saturating_sub(first), speed))
            });
            match (arrival, event) {
                (Some((request, at)), event) if event.is_none_or(|event| at <= event) => {
                    if request.at < before {
                        let number = self.taken + 1;
                        return Err(ReplayError::Backwards { number, at: request.at, before });
                    }
                    before = request.at;
                    check_time(self.taken, at)?;
                    self.prefetch(&load.feed);
                    load.feed.advance();
                    self.now = at;
                    self.observer.arrived(self.device, at);
                    let number = self.taken;
                    self.taken += 1;
                    // With a single queue and no waiting request, turns are unnecessary.
                    let direct = queues.count() == 1 && queues.waiting() == 0;
                    if direct && self.has_room() {
                        self.issue(number, at, &request)?;
                    } else {
                        let queue = request.queue as usize % queues.count();
                        queues.push(queue, WaitingRequest { number, arrived: at, request });
                    }
                }
                (None, _) if self.is_idle() => return Ok(()),
                (next, Some(_)) => self.run(next.map_or(Ns::MAX, |(_, at)| last_before(at)))?,
                (_, None) => {
                    panic!("a quiescent device owes {} requests", self.open.len() - self.free.len())
                }
            }
            while self.has_room()
                && let Some(WaitingRequest { number, arrived, request }) = queues.pop()
            {
                self.issue(number, arrived, &request)?;
            }
        }
    }

    fn closed<S: RequestSource>(
        &mut self,
        load: &mut WatchedLoad<'_, S>,
    ) -> Result<(), ReplayError> {
        loop {
            while self.has_room()
                && let Some(request) = load.peek(self.taken)?
            {
                self.take(request)?;
                self.prefetch(&load.feed);
                load.feed.advance();
            }
            if self.is_idle() {
                return Ok(());
            }
            self.advance_to_completion()?;
        }
    }

    fn closed_queues<S: RequestSource>(
        &mut self,
        load: &mut WatchedLoad<'_, S>,
        mut queues: Queues<TimedRequest>,
    ) -> Result<(), ReplayError> {
        let mut read = 0;
        loop {
            while self.has_room() {
                while queues.any_empty()
                    && queues.waiting() < WINDOW
                    && let Some(request) = load.peek(read)?
                {
                    read += 1;
                    queues.push(request.queue as usize % queues.count(), *request);
                    load.feed.advance();
                }
                let Some(request) = queues.pop() else { break };
                self.take(&request)?;
            }
            if self.is_idle() {
                return Ok(());
            }
            self.advance_to_completion()?;
        }
    }

    fn gaps<S: RequestSource>(&mut self, load: &mut WatchedLoad<'_, S>) -> Result<(), ReplayError> {
        // Users without a request so far are free from the start and take precedence.
        let mut fresh = self.depth;
        self.users = Some(BinaryHeap::new());
        loop {
            let next = load.peek(self.taken)?.copied();
            let free = match fresh {
                0 => self.users.as_ref().and_then(BinaryHeap::peek).map(|user| user.0),
                _ => Some(Ns::ZERO),
            };
            match (next, free, self.device.next_event()) {
                (Some(request), Some(at), event) if event.is_none_or(|event| at <= event) => {
                    if fresh > 0 {
                        fresh -= 1;
                    } else if let Some(users) = &mut self.users {
                        users.pop();
                    }
                    check_time(self.taken, at)?;
                    load.feed.advance();
                    self.now = at;
                    self.take(&request)?;
                }
                (None, ..) if self.is_idle() => return Ok(()),
                (next, free, Some(_)) => {
                    self.run(free.filter(|_| next.is_some()).map_or(Ns::MAX, last_before))?;
                }
                (.., None) => {
                    panic!("a quiescent device owes {} requests", self.open.len() - self.free.len())
                }
            }
        }
    }

    /// Issues a request that arrives now.
    #[inline(always)]
    fn take(&mut self, request: &TimedRequest) -> Result<(), ReplayError> {
        let number = self.taken;
        self.taken += 1;
        self.observer.arrived(self.device, self.now);
        self.issue(number, self.now, request)
    }

    #[inline(always)]
    fn issue(
        &mut self,
        number: u64,
        arrived: Ns,
        request: &TimedRequest,
    ) -> Result<(), ReplayError> {
        let TimedRequest { op, offset, len, .. } = *request;
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.capacity);
        let aligned = (offset | len).is_multiple_of(SECTOR.0);
        if fits && aligned && len > 0 && len <= self.split && op != IoOp::Flush {
            let place = self.claim(number, arrived, request);
            self.submit(place, request, offset, len);
            return Ok(());
        }
        self.issue_other(number, arrived, request)
    }

    /// Issues a request that is empty, unaligned, too large, wrapped, or a flush.
    #[inline(never)]
    fn issue_other(
        &mut self,
        number: u64,
        arrived: Ns,
        request: &TimedRequest,
    ) -> Result<(), ReplayError> {
        let TimedRequest { op, offset, len, .. } = *request;
        if op == IoOp::Flush {
            let place = self.claim(number, arrived, request);
            self.submit(place, request, 0, 0);
            return Ok(());
        }
        let (start, len) = self.range(number, offset, len)?;
        let before_end = len.min(self.capacity - start);
        if len == 0 {
            // An empty request completes at once.
            self.outcome.empty += 1;
            if let Some(users) = &mut self.users {
                users.push(Reverse(Ns(self.now.0.saturating_add(request.gap.0))));
            }
            let open = OpenRequest::new(number, arrived, self.now, request);
            return self.observer.completed(self.device, &open.done);
        }
        let ranges = [(start, before_end), (0, len - before_end)];
        let parts: u64 = ranges.iter().map(|(_, len)| len.div_ceil(self.split)).sum();
        let parts = u32::try_from(parts).map_err(|_| {
            let why = format!("request {} becomes {parts} parts", number + 1);
            ReplayError::impossible("split", why, "a larger split")
        })?;
        let place = self.claim(number, arrived, request);
        self.open[place as usize].left = parts;
        self.outcome.device_requests += u64::from(parts) - 1;
        for (mut start, mut len) in ranges {
            while len > 0 {
                let part = len.min(self.split);
                self.submit(place, request, start, part);
                start += part;
                len -= part;
            }
        }
        Ok(())
    }

    /// First sector's address and length in whole sectors; the range may wrap around the end.
    #[inline]
    fn range(&self, number: u64, offset: u64, len: u64) -> Result<(u64, u64), ReplayError> {
        let number = number + 1;
        if len == 0 {
            return Ok((0, 0));
        }
        let start = offset - offset % SECTOR.0;
        let end = offset.checked_add(len).and_then(|end| end.checked_next_multiple_of(SECTOR.0));
        match end {
            Some(end) if end <= self.capacity => Ok((start, end - start)),
            Some(end) if self.wrap && end - start <= self.capacity => {
                Ok((start % self.capacity, end - start))
            }
            Some(_) if self.wrap => {
                let capacity = Bytes(self.capacity);
                Err(ReplayError::Larger { number, len: Bytes(len), capacity })
            }
            end => {
                let (end, capacity) = (end.unwrap_or(u64::MAX), Bytes(self.capacity));
                Err(ReplayError::Past { number, end, capacity })
            }
        }
    }

    /// Allocates an entry for a request of one part that is issued now.
    #[inline(always)]
    fn claim(&mut self, number: u64, arrived: Ns, request: &TimedRequest) -> u32 {
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.grow(),
        };
        self.open[place as usize] = OpenRequest::new(number, arrived, self.now, request);
        place
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.open.push(OpenRequest::new(0, Ns::ZERO, Ns::ZERO, &TimedRequest::NOTHING));
        u32::try_from(self.open.len() - 1).expect("fewer than 2^32 requests are outstanding")
    }

    /// Lets the device prefetch for the next requests, whose ranges are not checked yet.
    #[inline]
    fn prefetch<S: RequestSource>(&self, feed: &Feed<S>) {
        let of = |&TimedRequest { op, offset, len, .. }: &TimedRequest| {
            Request::new(op, Bytes(offset), Bytes(len))
        };
        for (stage, ahead) in PREFETCH_AHEAD.into_iter().enumerate() {
            if let Some(later) = feed.coming(ahead) {
                self.device.prefetch(&of(later), stage);
            }
        }
    }

    #[inline]
    fn submit(&mut self, place: u32, request: &TimedRequest, start: u64, len: u64) {
        let TimedRequest { op, durable, .. } = *request;
        let part = Request { op, offset: Bytes(start), len: Bytes(len), durable };
        self.device.submit(self.now, place.into(), part);
    }

    /// Advances the device to the next completion; a request must be outstanding.
    #[inline(always)]
    fn advance_to_completion(&mut self) -> Result<(), ReplayError> {
        self.device.advance(Ns::MAX, &mut self.completed);
        assert!(!self.completed.is_empty(), "a quiescent device owes no completions");
        self.now = self.completed[0].at;
        check_time(self.taken, self.now)?;
        self.complete()
    }

    /// Advances the device up to a time, or to the next completion.
    fn run(&mut self, until: Ns) -> Result<(), ReplayError> {
        self.device.advance(until, &mut self.completed);
        if let Some(first) = self.completed.first() {
            self.now = first.at;
            check_time(self.taken, self.now)?;
        }
        self.complete()
    }

    /// Handles the completions of the device.
    #[inline(always)]
    fn complete(&mut self) -> Result<(), ReplayError> {
        for &Completion { id, at, cause, failed } in &self.completed {
            // The numbers are indices chosen by the host.
            #[allow(clippy::cast_possible_truncation)]
            let place = id as u32;
            let open = &mut self.open[place as usize];
            open.left -= 1;
            open.done.cause = open.done.cause.max(cause);
            open.done.failed |= failed;
            if open.left == 0 {
                open.done.completed = at;
                if open.done.failed {
                    self.outcome.failed += 1;
                }
                if let Some(users) = &mut self.users {
                    users.push(Reverse(Ns(at.0.saturating_add(open.gap.0))));
                }
                self.free.push(place);
                self.observer.completed(self.device, &open.done)?;
            }
        }
        self.completed.clear();
        Ok(())
    }
}

/// A time divided by `speed`, rounded to the nearest nanosecond.
#[inline]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn scaled(at: Ns, speed: f64) -> Ns {
    if speed == 1.0 { at } else { Ns((at.0 as f64 / speed + 0.5) as u64) }
}
