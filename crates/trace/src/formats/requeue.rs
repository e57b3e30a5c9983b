//! Tracks requests that a driver returned and that are dispatched again.
//!
//! The block layer traces a dispatch (D), a requeue (R) when the driver cannot take the request,
//! and then another dispatch of the same request. blkparse counts dispatches minus requeues
//! (`__account_requeue` of blktrace 1.2), so this is one request. Its first dispatch is returned.

use super::collector::{RawRequest, RequestCollector};
use super::entry_error::EntryError;
use gordon_blockio::IoOp;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The fields that a requeue and the following dispatch have in common. The kernel does not merge
/// into a requeued request, so its range stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DispatchKey {
    pub device: u32,
    pub op: IoOp,
    /// Whether the device flushes its cache before the request.
    pub preflush: bool,
    /// Whether a write is durable when it completes.
    pub durable: bool,
    pub offset: u64,
    pub len: u64,
}

/// An event on the way of a request to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DispatchStep {
    Dispatch,
    Requeue,
    /// A completion with an error. A requeued request that failed is not dispatched again.
    Failure,
}

/// Number of requests of each range that wait for another dispatch.
#[derive(Default)]
pub(super) struct RequeueTracker(HashMap<DispatchKey, u32>);

impl RequeueTracker {
    /// Whether no request waits for another dispatch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a request at its first dispatch. Other events, and those without a request (`None`),
    /// are counted as of other kinds.
    ///
    /// If the event that a reader takes is not the dispatch, each of its events is a dispatch here.
    #[inline]
    pub fn take(
        &mut self,
        step: DispatchStep,
        time: u64,
        request: Option<DispatchKey>,
        collector: &mut RequestCollector,
    ) -> Result<(), EntryError> {
        let first = request.filter(|request| self.is_first_dispatch(step, *request));
        let Some(DispatchKey { device, op, preflush, durable, offset, len }) = first else {
            collector.other();
            return Ok(());
        };
        let raw = RawRequest {
            time,
            op,
            device,
            offset,
            len,
            latency: None,
            gap: None,
            pid: None,
            preflush,
            durable,
        };
        collector.take(raw)
    }

    /// Whether an event is the first dispatch of a request.
    #[inline]
    fn is_first_dispatch(&mut self, step: DispatchStep, request: DispatchKey) -> bool {
        match step {
            DispatchStep::Dispatch => self.is_empty() || !self.leave(request),
            DispatchStep::Requeue => {
                *self.0.entry(request).or_default() += 1;
                false
            }
            DispatchStep::Failure => {
                self.leave(request);
                false
            }
        }
    }

    /// Whether the request waited for another dispatch; it no longer does.
    fn leave(&mut self, request: DispatchKey) -> bool {
        let Entry::Occupied(mut count) = self.0.entry(request) else { return false };
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
        true
    }
}
