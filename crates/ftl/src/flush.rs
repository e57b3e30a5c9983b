//! Flushes: which writes each has to wait for.
//!
//! Time is cut into epochs by the flushes. A write belongs to the epoch it came in; a flush is
//! done when its epoch and all before it have no write left.

use crate::io::RequestId;
use alloc::collections::VecDeque;

/// An epoch that a flush has ended.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Writes not yet acknowledged.
    writes: u32,
    flush: RequestId,
}

#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    /// Those with a flush that waits, the last before the present one.
    ended: VecDeque<Epoch>,
    /// Number of the present one; numbers wrap.
    present: u32,
    /// Its writes not yet acknowledged.
    writes: u32,
}

impl Epochs {
    pub fn new() -> Self {
        Self { ended: VecDeque::new(), present: 0, writes: 0 }
    }

    /// A write comes in; returns its epoch.
    #[inline]
    pub fn enter(&mut self) -> u32 {
        self.writes += 1;
        self.present
    }

    /// The present epoch.
    pub fn present(&self) -> u32 {
        self.present
    }

    /// As [`enter`](Self::enter), for an epoch that has a write left.
    pub fn enter_in(&mut self, epoch: u32) {
        *self.writes_of(epoch) += 1;
    }

    /// A write of `epoch` is acknowledged.
    #[inline]
    pub fn leave(&mut self, epoch: u32) {
        if epoch == self.present {
            self.writes -= 1;
        } else {
            self.leave_ended(epoch);
        }
    }

    #[cold]
    fn leave_ended(&mut self, epoch: u32) {
        *self.writes_of(epoch) -= 1;
    }

    fn writes_of(&mut self, epoch: u32) -> &mut u32 {
        let age = self.present.wrapping_sub(epoch) as usize;
        // One that was given up counts in the first.
        let at = self.ended.len().saturating_sub(age);
        self.ended.get_mut(at).map_or(&mut self.writes, |epoch| &mut epoch.writes)
    }

    /// The next flush that has nothing left to wait for.
    pub fn flushed(&mut self) -> Option<RequestId> {
        self.ended.pop_front_if(|epoch| epoch.writes == 0).map(|epoch| epoch.flush)
    }

    /// Takes back the oldest flush that waits; what it waited for is waited for by the next.
    pub fn give_up(&mut self) -> Option<RequestId> {
        let first = self.ended.pop_front()?;
        // Writes of epochs before the present ones count in the first.
        match self.ended.front_mut() {
            Some(epoch) => epoch.writes += first.writes,
            None => self.writes += first.writes,
        }
        Some(first.flush)
    }

    /// Whether a flush waits.
    #[inline]
    pub fn is_flushing(&self) -> bool {
        !self.ended.is_empty()
    }

    /// A flush comes in.
    pub fn flush(&mut self, request: RequestId) {
        self.ended.push_back(Epoch { writes: core::mem::take(&mut self.writes), flush: request });
        self.present = self.present.wrapping_add(1);
    }
}
