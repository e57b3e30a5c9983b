//! The interface of event sources, and the sizes of their buffers.

use super::format::BlockEvent;
use std::os::fd::BorrowedFd;

/// Size of the kernel buffers of all CPUs together, and its limits per CPU. An event takes 65 bytes
/// in tracefs and 104 in perf. At 60,000 requests per second on one CPU, 4 MiB hold the events of
/// half a second and of a third of a second.
const BUFFERS_KB: usize = 64 << 10;
const BUFFER_KB: std::ops::RangeInclusive<usize> = 1 << 10..=4 << 10;
/// Fill level at which a buffer becomes readable.
pub(super) const FULL_PERCENT: u32 = 25;
/// A queue with this many events more than the others is not read until they catch up.
pub(super) const MAX_QUEUED: usize = 1 << 14;

pub(super) fn buffer_kb(cpus: usize) -> usize {
    (BUFFERS_KB / cpus.max(1)).clamp(*BUFFER_KB.start(), *BUFFER_KB.end())
}

/// A source of block events that are enabled in the kernel. Its queues are each in order of time.
pub(crate) trait EventSource: Send {
    /// Its name in the manifest.
    fn how(&self) -> &'static str;
    /// Number of queues, at least one per CPU.
    fn queues(&self) -> usize;
    /// Appends the events of `queue` to `events`, until these are about [`MAX_QUEUED`]. Does not
    /// block. Returns true if the queue is empty.
    fn read(&mut self, queue: usize, events: &mut Vec<BlockEvent>) -> bool;
    /// Descriptors that become readable when a buffer is [`FULL_PERCENT`] full. None if the source
    /// has to be polled.
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    /// Whether the source loses completions even if its buffers have space.
    fn is_lossy(&self) -> bool {
        false
    }
    /// Number of events that the kernel dropped. Called after all events have been read.
    fn finish(&mut self) -> u64;
}
