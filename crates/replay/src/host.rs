//! The host: hands a load's requests to a device, and sees them complete.
//!
//! How requests are paced:
//! - [`Pacing::Arrival`]: each arrives at the load's own time, divided by a speed. It is issued at
//!   once, or where a queue depth is given, when fewer are at the device; its latency counts from
//!   its arrival.
//! - [`Pacing::Closed`]: times are ignored; as many requests are at the device as the queue depth
//!   says, the next is issued at the instant one completes.
//! - [`Pacing::Gaps`]: each of `depth` users issues its next request a gap after its last one
//!   completed, the gap that the load measured after that one.
//!
//! A request is one of the host's; where the device takes only so many bytes at once it is split,
//! all parts are issued at one instant, and it completes with the last of them. Ranges are aligned
//! out to sectors. The queue depth counts host requests.
//!
//! Requests of several queues take turns by weight (`queues.rs`). In a closed loop
//! the load is read ahead until each queue has something that waits, [`WINDOW`] requests at most:
//! a queue with less to do further ahead than that counts as empty.
//!
//! Not covered: the time the host itself takes; requests of one host that wait for each other.

use crate::ReplayError;
use crate::queues::Queues;
use crate::source::{Feed, RequestSource, TimedRequest};
use gordon_blockio::{Cause, Completion, Device, IoOp, PREFETCH_STAGES, Request, SECTOR};
use gordon_units::{Bytes, Ns, Progress};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests that a closed loop of several queues reads ahead at most.
pub const WINDOW: usize = 4096;

/// No run continues for longer: 146 years. Sums of times up to there fit.
pub const LATEST: Ns = Ns(1 << 62);

/// How many requests ahead a device prefetches, at each stage: simulating a few requests takes
/// longer than a read from memory.
const PREFETCH_AHEAD: [usize; PREFETCH_STAGES] = [8, 1];

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// At their own times, divided by `speed`.
    Arrival {
        /// 2: twice as fast as in the load.
        speed: f64,
    },
    /// As others complete.
    Closed,
    /// A measured gap after others complete.
    Gaps,
}

/// What the host does with the load.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPolicy {
    /// When requests are issued.
    pub pacing: Pacing,
    /// The most host requests at the device.
    pub depth: u32,
    /// The most bytes of one device request; a multiple of [`SECTOR`].
    pub split: Option<Bytes>,
    /// Take addresses past the end modulo the capacity.
    pub wrap: bool,
    /// One for each queue, none of them zero.
    pub weights: Vec<u32>,
}

/// A host request that has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Its number in the load, from 0.
    pub number: u64,
    /// When it came.
    pub arrived: Ns,
    /// When it went to the device.
    pub issued: Ns,
    /// When the last of its parts completed.
    pub completed: Ns,
    /// What it asked for.
    pub op: IoOp,
    /// First byte, as the load has it.
    pub offset: u64,
    /// Bytes, as the load has them.
    pub len: u64,
    /// The queue it went through.
    pub queue: u32,
    /// What it waited for.
    pub cause: Cause,
    /// The device refused it, or part of it.
    pub failed: bool,
}

/// Watches a run. Calls come in the order of virtual time.
pub trait Observer<D> {
    /// A request came; it counts as outstanding until it completes.
    fn arrived(&mut self, device: &D, at: Ns);

    /// A request completed.
    ///
    /// # Errors
    /// Where it cannot be noted down: the run ends.
    fn completed(&mut self, device: &D, done: &CompletedRequest) -> Result<(), ReplayError>;
}

/// How a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Host requests that completed.
    pub requests: u64,
    /// Of these, requests that the device refused: it is worn out.
    pub failed: u64,
    /// Requests of no bytes, left out.
    pub empty: u64,
    /// Requests to the device.
    pub device_requests: u64,
    /// From the first arrival to the last completion.
    pub simulated: Ns,
}

/// A host request at the device.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    /// Parts to come.
    left: u32,
    gap: Ns,
    /// What is to be said of it; `completed` and `cause` become right with the last part.
    done: CompletedRequest,
}

impl OpenRequest {
    /// A request of one part.
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

/// A request that waits for room at the device.
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
    /// Places of requests at the device, and which of them are free.
    open: Vec<OpenRequest>,
    free: Vec<u32>,
    completed: Vec<Completion>,
    /// When each user of [`Pacing::Gaps`] issues next.
    users: Option<BinaryHeap<Reverse<Ns>>>,
    /// Requests taken from the load.
    taken: u64,
    outcome: Outcome,
}

/// Drives `device`, fresh or prepared at time zero, with all of `source`. The first request
/// arrives at time zero. Background work that continues after the last completion is left undone.
///
/// # Errors
/// Where the load cannot be read or does not fit the device, the observer fails, or the stop flag
/// of `progress` is set.
///
/// # Panics
/// Where the rules hold a zero.
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
    // Split ones were counted for their parts but one.
    host.outcome.device_requests += host.taken - host.outcome.empty;
    host.outcome.simulated = host.now;
    Ok(host.outcome)
}

/// The load, watched by another thread.
struct WatchedLoad<'a, S> {
    feed: Feed<S>,
    progress: &'a Progress,
    /// Requests that the progress counts.
    counted: u64,
}

impl<S: RequestSource> WatchedLoad<'_, S> {
    /// The next request, without taking it; `number` of them were taken before.
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

/// Whether the next request of so many comes while time lasts.
#[inline(always)]
fn in_time(taken: u64, at: Ns) -> Result<(), ReplayError> {
    if at <= LATEST { Ok(()) } else { Err(ReplayError::Late { number: taken + 1 }) }
}

/// The last instant before a time to come.
fn before_then(at: Ns) -> Ns {
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
                    in_time(self.taken, at)?;
                    self.prefetch(&load.feed);
                    load.feed.advance();
                    self.now = at;
                    self.observer.arrived(self.device, at);
                    let number = self.taken;
                    self.taken += 1;
                    // Where nothing waits and there is but one queue, no turns are taken.
                    let direct = queues.count() == 1 && queues.waiting() == 0;
                    if direct && self.has_room() {
                        self.issue(number, at, &request)?;
                    } else {
                        let queue = request.queue as usize % queues.count();
                        queues.push(queue, WaitingRequest { number, arrived: at, request });
                    }
                }
                (None, _) if self.is_idle() => return Ok(()),
                (next, Some(_)) => self.run(next.map_or(Ns::MAX, |(_, at)| before_then(at)))?,
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
        // Users that have asked for nothing yet are free from the start, before all others.
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
                    in_time(self.taken, at)?;
                    load.feed.advance();
                    self.now = at;
                    self.take(&request)?;
                }
                (None, ..) if self.is_idle() => return Ok(()),
                (next, free, Some(_)) => {
                    self.run(free.filter(|_| next.is_some()).map_or(Ns::MAX, before_then))?;
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
            self.submit(place, op, offset, len);
            return Ok(());
        }
        self.issue_other(number, arrived, request)
    }

    /// Issues a request that is not one of the device's as it stands.
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
            self.submit(place, op, 0, 0);
            return Ok(());
        }
        let (start, len) = self.range(number, offset, len)?;
        let before_end = len.min(self.capacity - start);
        if len == 0 {
            // Nothing to ask of a device: done as it comes.
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
                self.submit(place, op, start, part);
                start += part;
                len -= part;
            }
        }
        Ok(())
    }

    /// Where a request starts and how long it is, in whole sectors; it may go round the end.
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

    /// Gives a place to a request of one part that is issued now.
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

    /// Lets the device prefetch for requests to come. Their ranges are not checked yet.
    #[inline]
    fn prefetch<S: RequestSource>(&self, feed: &Feed<S>) {
        let of = |&TimedRequest { op, offset, len, .. }: &TimedRequest| Request {
            op,
            offset: Bytes(offset),
            len: Bytes(len),
        };
        for (stage, ahead) in PREFETCH_AHEAD.into_iter().enumerate() {
            if let Some(later) = feed.coming(ahead) {
                self.device.prefetch(&of(later), stage);
            }
        }
    }

    #[inline]
    fn submit(&mut self, place: u32, op: IoOp, start: u64, len: u64) {
        let request = Request { op, offset: Bytes(start), len: Bytes(len) };
        self.device.submit(self.now, place.into(), request);
    }

    /// Lets the device go on until it completes something; something is outstanding.
    #[inline(always)]
    fn advance_to_completion(&mut self) -> Result<(), ReplayError> {
        self.device.advance(Ns::MAX, &mut self.completed);
        assert!(!self.completed.is_empty(), "a quiescent device owes no completions");
        self.now = self.completed[0].at;
        in_time(self.taken, self.now)?;
        self.complete()
    }

    /// Lets the device go on up to a time, or until it completes something.
    fn run(&mut self, until: Ns) -> Result<(), ReplayError> {
        self.device.advance(until, &mut self.completed);
        if let Some(first) = self.completed.first() {
            self.now = first.at;
            in_time(self.taken, self.now)?;
        }
        self.complete()
    }

    /// Notes down what the device completed.
    #[inline(always)]
    fn complete(&mut self) -> Result<(), ReplayError> {
        for &Completion { id, at, cause, failed } in &self.completed {
            // The device has only numbers of ours.
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

/// `at` at `speed` times the speed, to the nearest nanosecond.
#[inline]
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn scaled(at: Ns, speed: f64) -> Ns {
    if speed == 1.0 { at } else { Ns((at.0 as f64 / speed + 0.5) as u64) }
}
