//! Flushes: which writes each has to wait for.
//!
//! Time is cut into epochs by the flushes. A write belongs to the epoch it came in; a flush is
//! done when its epoch and all before it have no write left.

use crate::io::RequestId;
use alloc::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Writes not yet acknowledged.
    writes: u32,
    /// The flush that ended it; the last epoch has none.
    flush: Option<RequestId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    epochs: VecDeque<Epoch>,
    /// Number of the first one; numbers wrap.
    first: u32,
}

impl Epochs {
    pub fn new() -> Self {
        Self { epochs: VecDeque::from([Epoch { writes: 0, flush: None }]), first: 0 }
    }

    /// A write comes in; returns its epoch.
    #[inline]
    pub fn enter(&mut self) -> u32 {
        let last = self.epochs.len() - 1;
        self.epochs[last].writes += 1;
        // Fewer epochs than requests in flight.
        #[allow(clippy::cast_possible_truncation)]
        self.first.wrapping_add(last as u32)
    }

    /// A write of `epoch` is acknowledged.
    #[inline]
    pub fn leave(&mut self, epoch: u32) {
        let at = epoch.wrapping_sub(self.first) as usize;
        // One that was given up counts in the first.
        let at = if at < self.epochs.len() { at } else { 0 };
        self.epochs[at].writes -= 1;
    }

    /// The next flush that has nothing left to wait for.
    #[inline]
    pub fn flushed(&mut self) -> Option<RequestId> {
        let front = self.epochs[0];
        if front.writes > 0 {
            return None;
        }
        let flush = front.flush?;
        self.epochs.pop_front();
        self.first = self.first.wrapping_add(1);
        Some(flush)
    }

    /// Takes back the oldest flush that waits; what it waited for is waited for by the next.
    pub fn give_up(&mut self) -> Option<RequestId> {
        if self.epochs.len() == 1 {
            return None;
        }
        let first = self.epochs.pop_front()?;
        self.first = self.first.wrapping_add(1);
        // Writes of epochs before the present ones count in the first.
        self.epochs[0].writes += first.writes;
        first.flush
    }

    /// Whether a flush waits.
    #[inline]
    pub fn is_flushing(&self) -> bool {
        self.epochs.len() > 1
    }

    /// A flush comes in.
    pub fn flush(&mut self, request: RequestId) {
        let last = self.epochs.back_mut().expect("there is always a present epoch");
        last.flush = Some(request);
        self.epochs.push_back(Epoch { writes: 0, flush: None });
    }
}
