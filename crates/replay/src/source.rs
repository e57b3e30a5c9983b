//! Sources of requests, read in batches so that a load may be larger than memory.

use crate::ReplayError;
use gordon_blockio::IoOp;
use gordon_units::Ns;

/// Approximate batch size: small enough for the CPU cache, large enough to amortise its cost.
pub const BATCH: usize = 1024;

/// A request of a load; its range in bytes may be unaligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRequest {
    /// Time of arrival.
    pub at: Ns,
    /// Gap from its completion to the next issue, if the load was measured with gaps.
    pub gap: Ns,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Operation of the request.
    pub op: IoOp,
    /// Whether a write is to be durable when it completes (FUA).
    pub durable: bool,
    /// Queue of the request; the host takes it modulo the number of queues.
    pub queue: u32,
}

impl TimedRequest {
    /// Placeholder for unused entries.
    pub(crate) const NOTHING: Self = Self {
        at: Ns::ZERO,
        gap: Ns::ZERO,
        offset: 0,
        len: 0,
        op: IoOp::Read,
        durable: false,
        queue: 0,
    };
}

/// A source of requests in order.
pub trait RequestSource {
    /// Replaces the content of `batch` with the next requests; an empty batch is the end.
    ///
    /// # Errors
    /// Returns an error if the requests cannot be read.
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError>;
}

/// Reads a source one request at a time.
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

    /// The next request, which is not consumed.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<&TimedRequest>, ReplayError> {
        if self.at_border() {
            self.refill()?;
        }
        Ok(self.batch.get(self.next))
    }

    /// The request `after` positions later, if it is in the current batch.
    #[inline]
    pub fn coming(&self, after: usize) -> Option<&TimedRequest> {
        self.batch.get(self.next + after)
    }

    /// Consumes the request last returned by `peek`.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// Whether the next `peek` has to read a batch.
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

/// A load with repetitions. Each repetition begins one mean gap after the last arrival of the
/// previous one.
#[derive(Debug)]
pub struct Repeat<S, F> {
    open: F,
    source: Option<S>,
    left: u32,
    /// Added to the times of the current repetition.
    shift: Ns,
    first: Option<Ns>,
    last: Ns,
    count: u64,
}

impl<S: RequestSource, F: FnMut() -> Result<S, ReplayError>> Repeat<S, F> {
    /// Repeats the load that `open` opens `times` times.
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
                // The host checks times that it uses against the latest possible one.
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
