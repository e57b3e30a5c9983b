//! The kernel's side of the block log.

use super::format::BlockEvent;
use std::os::fd::BorrowedFd;

/// Kernel buffers of all CPUs together, and of one. An event takes 65 bytes of tracefs, 104 of
/// perf; at 60,000 requests a second on one CPU, 4 MiB hold half a second and a third.
const BUFFERS_KB: usize = 64 << 10;
const BUFFER_KB: std::ops::RangeInclusive<usize> = 1 << 10..=4 << 10;
/// How full a buffer is when it is said to be.
pub(super) const FULL_PERCENT: u32 = 25;
/// A queue that is this many events ahead of the others waits for them.
pub(super) const MAX_QUEUED: usize = 1 << 14;

pub(super) fn buffer_kb(cpus: usize) -> usize {
    (BUFFERS_KB / cpus.max(1)).clamp(*BUFFER_KB.start(), *BUFFER_KB.end())
}

/// The kernel's side of the block log: events that are on, in queues that are each in order of
/// time.
pub(crate) trait EventSource: Send {
    /// What the manifest calls it.
    fn how(&self) -> &'static str;
    /// How many queues it has, one or more for each CPU.
    fn queues(&self) -> usize;
    /// Moves what `queue` holds to the end of `events`, without waiting, until these are about
    /// [`MAX_QUEUED`]; true if nothing was left.
    fn read(&mut self, queue: usize, events: &mut Vec<BlockEvent>) -> bool;
    /// What becomes readable when a buffer is [`FULL_PERCENT`] full; none: look often.
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    /// Whether completions get lost though there is room for them.
    fn is_lossy(&self) -> bool {
        false
    }
    /// How many events the kernel threw away; after all were read.
    fn finish(&mut self) -> u64;
}
