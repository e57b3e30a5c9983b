//! Flushes, and the writes that each flush waits for.
//!
//! Flushes divide time into epochs. A write belongs to the epoch in which it was submitted. A flush
//! is done when its epoch and all earlier ones have no writes left.

use crate::io::RequestId;
use alloc::collections::VecDeque;

/// An epoch that a flush has ended.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Number of writes not yet completed.
    writes: u32,
    flush: RequestId,
}

#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    /// Epochs with a pending flush, in order.
    ended: VecDeque<Epoch>,
    /// Number of the current epoch; wraps around.
    present: u32,
    /// Writes of the current epoch not yet completed.
    writes: u32,
}

impl Epochs {
    pub fn new() -> Self {
        Self { ended: VecDeque::new(), present: 0, writes: 0 }
    }

    /// Registers a new write; returns its epoch.
    #[inline]
    pub fn enter(&mut self) -> u32 {
        self.writes += 1;
        self.present
    }

    /// The current epoch.
    pub fn present(&self) -> u32 {
        self.present
    }

    /// Registers a write in an epoch that still has a pending one.
    pub fn enter_in(&mut self, epoch: u32) {
        *self.writes_of(epoch) += 1;
    }

    /// A write of `epoch` is complete.
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
        // Writes of epochs that were given up count in the first one left.
        let at = self.ended.len().saturating_sub(age);
        self.ended.get_mut(at).map_or(&mut self.writes, |epoch| &mut epoch.writes)
    }

    /// Removes and returns the oldest flush if it has nothing left to wait for.
    pub fn flushed(&mut self) -> Option<RequestId> {
        self.ended.pop_front_if(|epoch| epoch.writes == 0).map(|epoch| epoch.flush)
    }

    /// Removes and returns the oldest flush; the next one takes over its pending writes.
    pub fn give_up(&mut self) -> Option<RequestId> {
        let first = self.ended.pop_front()?;
        // The pending writes now count in the oldest epoch left.
        match self.ended.front_mut() {
            Some(epoch) => epoch.writes += first.writes,
            None => self.writes += first.writes,
        }
        Some(first.flush)
    }

    /// Whether a flush is pending.
    #[inline]
    pub fn is_flushing(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Registers a flush, which ends the current epoch.
    pub fn flush(&mut self, request: RequestId) {
        self.ended.push_back(Epoch { writes: core::mem::take(&mut self.writes), flush: request });
        self.present = self.present.wrapping_add(1);
    }
}
