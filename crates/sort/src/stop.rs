//! Counts the bytes that a sort has moved, and stops it for a test.
//!
//! A fault such as a cut file or a signal hits a sort at a known moment only if the sort waits for
//! it there. Tests set `GORDON_SORT_STOP` to a number of bytes, read and written: when the sort has
//! moved them, the process stops itself as by SIGSTOP, until SIGCONT. With `,interrupt` after the
//! number, the sort then also waits until it is interrupted, so that it cannot end before.

use crate::Progress;
use rustix::process::{Signal, getpid, kill_process};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Name of the environment variable.
const VARIABLE: &str = "GORDON_SORT_STOP";

/// The moment at which this process stops, if any.
static STOP: OnceLock<Option<Stop>> = OnceLock::new();

/// A moment at which the process stops.
#[derive(Debug)]
struct Stop {
    at: u64,
    /// Whether the sort then waits until it is interrupted.
    waits: bool,
    is_over: AtomicBool,
}

impl Stop {
    fn of(text: &str) -> Option<Self> {
        let (number, word) = text.split_once(',').unwrap_or((text, ""));
        let at = number.parse().ok()?;
        Some(Self { at, waits: word == "interrupt", is_over: AtomicBool::new(false) })
    }

    fn reach(&self, progress: &Progress) {
        let (moved, _) = progress.progress();
        if moved < self.at || self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        // A process may always stop itself.
        let _ = kill_process(getpid(), Signal::STOP);
        while self.waits && !progress.stopped() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Adds bytes that were read or written to the progress of a sort.
pub fn moved(progress: &Progress, bytes: u64) {
    progress.step(bytes);
    let of_variable = || Stop::of(&std::env::var(VARIABLE).ok()?);
    if let Some(stop) = STOP.get_or_init(of_variable) {
        stop.reach(progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_a_number_of_bytes_and_may_say_to_wait() {
        let of = |text| Stop::of(text).map(|stop| (stop.at, stop.waits));
        assert_eq!(of("0"), Some((0, false)));
        assert_eq!(of("5000,interrupt"), Some((5000, true)));
        assert_eq!(of(""), None);
    }
}
