//! Durations for which the threads of the server wait.

use rustix::event::Timespec;
use std::time::Duration;

/// Interval at which a waiting connection wakes to check for stalls and to free idle buffers.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Pause of a loop after a system call that failed, because descriptors, threads or memory may
/// become available again.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Converts a duration for the kernel.
pub(super) fn timespec(time: Duration) -> Timespec {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: i64::from(time.subsec_nanos()) }
}
