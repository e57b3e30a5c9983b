//! The link between host and controller: transfers in flight and completions on their way.
//!
//! There are three kinds of traffic, and each stays in order: write data to the controller, read
//! data to the host, and other completions, which are delayed by a fixed time. Each kind is
//! therefore a queue, and the next event is at the head of one of them.

use gordon_blockio::{Completion, IoOp, Request};
use gordon_ftl::RequestId;
use gordon_sim::Timeline;
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

/// An event of the link.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkEvent {
    /// The data of a write have arrived at the controller.
    Start(RequestId),
    Completed(Completion),
}

/// Indices of the queues: write data, read data, other completions.
const IN: usize = 0;
const OUT: usize = 1;
const OTHER: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct Link {
    rate: Option<Bytes>,
    /// The last length transferred and its transfer time, cached because most requests have the
    /// same size.
    span: (Bytes, Ns),
    latency: Ns,
    wire: Timeline,
    /// Time of arrival, sequence number, and event.
    queues: [VecDeque<(Ns, u64, LinkEvent)>; 3],
    /// Time of the next event, and the queue whose head it is.
    next: Option<(Ns, usize)>,
    sent: u64,
}

impl Link {
    pub fn new(rate: Option<Bytes>, latency: Ns) -> Self {
        Self {
            rate,
            span: (Bytes::ZERO, Ns::ZERO),
            latency,
            wire: Timeline::default(),
            queues: Default::default(),
            next: None,
            sent: 0,
        }
    }

    /// Transfers `len` bytes, from `now` or as soon as the link is free. Returns the time of
    /// arrival.
    #[inline(always)]
    fn carry(&mut self, now: Ns, len: Bytes, rate: Bytes) -> Ns {
        if self.span.0 != len {
            self.span = (len, len.time_at(rate));
        }
        self.wire.reserve(now, self.span.1)
    }

    /// Time of the next event.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.next.map(|(at, _)| at)
    }

    /// Number of events sent so far, including pending ones.
    pub fn events(&self) -> u64 {
        self.sent
    }

    #[inline(always)]
    fn send(&mut self, queue: usize, at: Ns, event: LinkEvent) {
        self.queues[queue].push_back((at, self.sent, event));
        self.sent += 1;
        // At one instant, events happen in the order in which they were sent.
        if self.next.is_none_or(|(next, _)| at < next) {
            self.next = Some((at, queue));
        }
    }

    /// Removes and returns the next event.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Ns, LinkEvent)> {
        let (_, queue) = self.next?;
        let (at, _, event) = self.queues[queue].pop_front()?;
        let heads = (0..).zip(&self.queues).filter_map(|(queue, events)| {
            let &(at, sent, _) = events.front()?;
            Some((at, sent, queue))
        });
        self.next = heads.min().map(|(at, _, queue)| (at, queue));
        Some((at, event))
    }

    /// A request arrives. Returns true if it can start at once, false if its data must be
    /// transferred first.
    #[inline(always)]
    pub fn transfer_in(&mut self, now: Ns, tag: RequestId, request: Request) -> bool {
        if request.op == IoOp::Flush {
            return self.follow_writes(tag);
        }
        let Some(rate) = self.rate.filter(|_| request.op == IoOp::Write) else { return true };
        let at = self.carry(now, request.len, rate);
        self.send(IN, at, LinkEvent::Start(tag));
        false
    }

    /// A flush starts after the writes before it, whose data may still be on the link. Returns true
    /// if none is.
    fn follow_writes(&mut self, tag: RequestId) -> bool {
        let Some(&(at, ..)) = self.queues[IN].back() else { return true };
        self.send(IN, at, LinkEvent::Start(tag));
        false
    }

    /// A request completes. Returns the completion if it reaches the host without delay, unless
    /// `sent` forces it to become an event.
    #[inline(always)]
    pub fn transfer_out(
        &mut self,
        request: Request,
        completion: Completion,
        sent: bool,
    ) -> Option<Completion> {
        let now = completion.at;
        let (mut at, mut queue) = (now + self.latency, OTHER);
        if let Some(rate) = self.rate.filter(|_| request.op == IoOp::Read) {
            at = self.carry(now, request.len, rate) + self.latency;
            queue = OUT;
        }
        let completion = Completion { at, ..completion };
        if at == now && !sent {
            return Some(completion);
        }
        self.send(queue, at, LinkEvent::Completed(completion));
        None
    }
}
