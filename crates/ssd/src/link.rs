//! The way between the host and the controller: what is on it, and when it gets there.
//!
//! Each direction and kind of traffic keeps its order: data of writes on their way in and data of
//! reads on their way out follow each other on the link, and other completions leave a fixed time
//! after they are made. So each is a queue, and the next event is at the head of one of them.

use gordon_blockio::{Completion, IoOp, Request};
use gordon_ftl::RequestId;
use gordon_sim::Timeline;
use gordon_units::{Bytes, Ns};
use std::collections::VecDeque;

/// What gets there.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkEvent {
    /// The data of a write are in the controller.
    Start(RequestId),
    Completed(Completion),
}

/// The queues.
const IN: usize = 0;
const OUT: usize = 1;
const OTHER: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct Link {
    rate: Option<Bytes>,
    /// How long the bytes last asked for take: most requests are of one size.
    span: (Bytes, Ns),
    latency: Ns,
    wire: Timeline,
    /// When, after how many others it was sent, and what.
    queues: [VecDeque<(Ns, u64, LinkEvent)>; 3],
    /// When the next of them gets there, and in which queue it is.
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

    /// Carries so many bytes, at this time or as soon after as it can; when they are there.
    #[inline(always)]
    fn carry(&mut self, now: Ns, len: Bytes, rate: Bytes) -> Ns {
        if self.span.0 != len {
            self.span = (len, len.time_at(rate));
        }
        self.wire.reserve(now, self.span.1)
    }

    /// When the next event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.next.map(|(at, _)| at)
    }

    /// How many events there were, and are to come.
    pub fn events(&self) -> u64 {
        self.sent
    }

    #[inline(always)]
    fn send(&mut self, queue: usize, at: Ns, event: LinkEvent) {
        self.queues[queue].push_back((at, self.sent, event));
        self.sent += 1;
        // Of one instant, the first sent is the first there.
        if self.next.is_none_or(|(next, _)| at < next) {
            self.next = Some((at, queue));
        }
    }

    /// Takes the next event.
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

    /// A request comes to the device; true if it is there at once.
    #[inline(always)]
    pub fn transfer_in(&mut self, now: Ns, tag: RequestId, request: Request) -> bool {
        let Some(rate) = self.rate.filter(|_| request.op == IoOp::Write) else { return true };
        let at = self.carry(now, request.len, rate);
        self.send(IN, at, LinkEvent::Start(tag));
        false
    }

    /// A request is answered; given back if the host has the answer at once. An answer that is to
    /// be `sent` is an event in any case.
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
