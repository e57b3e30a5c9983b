//! A time limit for tests that could hang.

use std::io::Write as _;
use std::process::abort;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Far longer than any test takes on any machine, so that a slow machine does not fail a test.
const PATIENCE: Duration = Duration::from_secs(600);

/// Aborts the process if it is not dropped within ten minutes.
#[must_use]
pub struct Watchdog(#[allow(dead_code)] Sender<()>); // its drop is what the thread waits for

/// Starts a watchdog for a test that would hang if the code under test were wrong. Such a test
/// needs no other time limit.
pub fn watchdog(test: &'static str) -> Watchdog {
    let (alive, ended) = channel();
    thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = std::io::stderr().write_all(format!("{test} hangs: aborted\n").as_bytes());
            abort();
        }
    });
    Watchdog(alive)
}
