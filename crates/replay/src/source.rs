//! Where requests come from: batch by batch, so that a load may be longer than memory.

use crate::ReplayError;
use gordon_blockio::IoOp;
use gordon_units::Ns;

/// Requests of one batch, about: small enough for the cache, large enough to forget its cost.
pub const BATCH: usize = 1024;

/// A request as the load has it: bytes as they were asked for, aligned or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRequest {
    /// When it arrives.
    pub at: Ns,
    /// From its completion to the issue of the next, where the load was measured so.
    pub gap: Ns,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// What it asks for.
    pub op: IoOp,
    /// The queue it goes to; the host takes it modulo its queues.
    pub queue: u32,
}

impl TimedRequest {
    /// A place for a request.
    pub(crate) const NOTHING: Self =
        Self { at: Ns::ZERO, gap: Ns::ZERO, offset: 0, len: 0, op: IoOp::Read, queue: 0 };
}

/// Hands out requests in their order.
pub trait RequestSource {
    /// Replaces the content of `batch` with the next requests; leaves it empty at the end.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError>;
}

/// A source read one request at a time.
#[derive(Debug)]
pub(crate) struct Feed<S> {
    source: S,
    batch: Vec<TimedRequest>,
    next: usize,
}

impl<S: RequestSource> Feed<S> {
    pub fn new(source: S) -> Self {
        Self { source, batch: Vec::with_capacity(BATCH), next: 0 }
    }

    /// The next request, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<&TimedRequest>, ReplayError> {
        if self.at_border() {
            self.refill()?;
        }
        Ok(self.batch.get(self.next))
    }

    /// The request so many after the one last peeked at, where it is at hand.
    #[inline]
    pub fn coming(&self, after: usize) -> Option<&TimedRequest> {
        self.batch.get(self.next + after)
    }

    /// Takes the request last peeked at.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// Whether the next `peek` asks the source.
    #[inline]
    pub fn at_border(&self) -> bool {
        self.next >= self.batch.len()
    }

    #[cold]
    fn refill(&mut self) -> Result<(), ReplayError> {
        self.next = 0;
        self.source.next_batch(&mut self.batch)
    }
}

/// A load several times over. Each repetition begins one mean gap after the last arrival of the
/// one before it.
#[derive(Debug)]
pub struct Repeat<S, F> {
    open: F,
    source: Option<S>,
    left: u32,
    /// What is added to the times of this repetition.
    shift: Ns,
    first: Option<Ns>,
    last: Ns,
    count: u64,
}

impl<S: RequestSource, F: FnMut() -> Result<S, ReplayError>> Repeat<S, F> {
    /// The load that `open` opens, `times` times.
    pub fn new(open: F, times: u32) -> Self {
        Self {
            open,
            source: None,
            left: times,
            shift: Ns::ZERO,
            first: None,
            last: Ns::ZERO,
            count: 0,
        }
    }
}

impl<S: RequestSource, F: FnMut() -> Result<S, ReplayError>> RequestSource for Repeat<S, F> {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        batch.clear();
        loop {
            let Some(source) = &mut self.source else {
                if self.left == 0 {
                    return Ok(());
                }
                self.left -= 1;
                self.source = Some((self.open)()?);
                continue;
            };
            source.next_batch(batch)?;
            if let (Some(first), Some(last)) = (batch.first(), batch.last()) {
                self.first.get_or_insert(first.at);
                self.last = last.at;
                self.count += batch.len() as u64;
                // Times that are used are held against the latest there may be.
                let shift = self.shift.0;
                batch.iter_mut().for_each(|r| r.at.0 = r.at.0.saturating_add(shift));
                return Ok(());
            }
            self.source = None;
            if let Some(first) = self.first.take() {
                let span = self.last.saturating_sub(first);
                let gap = span / (self.count - 1).max(1);
                self.shift.0 = self.shift.0.saturating_add(span.0).saturating_add(gap.0);
                self.count = 0;
            }
        }
    }
}
