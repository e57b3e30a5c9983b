//! The clocks of a capture.

use gordon_units::Ns;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock of the kernel, which block events use as well.
pub(crate) fn monotonic() -> Ns {
    clock(ClockId::Monotonic)
}

/// CPU time of this process, with all its threads.
pub(crate) fn own_cpu() -> Ns {
    clock(ClockId::ProcessCPUTime)
}

fn clock(id: ClockId) -> Ns {
    let time = clock_gettime(id);
    let part = |n: i64| u64::try_from(n).unwrap_or(0);
    Ns(part(time.tv_sec) * Ns::SECOND.0 + part(time.tv_nsec))
}
