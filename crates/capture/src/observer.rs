//! Who follows a capture, and what is reported to it.

use gordon_trace::{Sample, Unavailable};

/// Sees a capture go on. Every method does nothing unless it is written.
pub trait CaptureObserver {
    /// The command runs, as process `pid`.
    fn started(&mut self, pid: u32) {
        let _ = pid;
    }
    /// An interval has passed.
    fn sample(&mut self, interval: &Sample) {
        let _ = interval;
    }
    /// Something is missing or went wrong; capture continues.
    fn warning(&mut self, text: &str) {
        let _ = text;
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl CaptureObserver for NoObserver {}

/// What was missing and went wrong.
pub(crate) struct ProblemLog<'a> {
    pub(crate) watch: &'a mut dyn CaptureObserver,
    pub(crate) warnings: Vec<String>,
    pub(crate) unavailable: Vec<Unavailable>,
}

impl ProblemLog<'_> {
    pub(crate) fn warn(&mut self, text: String) {
        self.watch.warning(&text);
        self.warnings.push(text);
    }

    pub(crate) fn unavailable(&mut self, what: &str, why: &str) {
        self.unavailable.push(Unavailable { what: what.to_owned(), why: why.to_owned() });
        self.warn(format!("no {what}: {why}"));
    }
}
