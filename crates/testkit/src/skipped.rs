//! What is not tested on this machine.

use std::io::Write as _;

/// Says what is skipped, and why: `test: what is lacking`. Also where the test's output is kept
/// back because it passes, so that nobody takes it for tested.
pub fn skipped(what: &str) {
    // One write: tests run side by side. If nobody listens, nobody is told.
    let _ = std::io::stderr().write_all(format!("skipped: {what}\n").as_bytes());
}
