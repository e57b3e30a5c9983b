//! Reports tests that this machine cannot run.

use std::io::Write as _;

/// Reports a skipped test and the reason, as `test: what is lacking`. It writes to standard error
/// directly: the test harness hides captured output of tests that pass, and a skipped test must not
/// be taken for one that ran.
pub fn skipped(what: &str) {
    // A single write, since tests run in parallel. If standard error is closed, nothing is
    // reported.
    let _ = std::io::stderr().write_all(format!("skipped: {what}\n").as_bytes());
}
