//! How long the server's threads wait.

use rustix::event::Timespec;
use std::time::Duration;

/// How often an idle connection looks whether it holds what it need not.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// How long a loop pauses after a call to the system that failed: descriptors, threads or memory
/// may come back.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// A duration as the kernel takes it.
pub(super) fn timespec(time: Duration) -> Timespec {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: i64::from(time.subsec_nanos()) }
}
