//! Reports the progress and the problems of a capture to its caller.

use gordon_trace::{Sample, Unavailable};

/// Receives the events of a capture. The default methods do nothing.
pub trait CaptureObserver {
    /// The command has started as process `pid`.
    fn started(&mut self, pid: u32) {
        let _ = pid;
    }
    /// An interval has ended.
    fn sample(&mut self, interval: &Sample) {
        let _ = interval;
    }
    /// Something is not available or has failed. The capture continues.
    fn warning(&mut self, text: &str) {
        let _ = text;
    }
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl CaptureObserver for NoObserver {}

/// Collects the problems of a capture, and reports each to the observer.
pub(crate) struct ProblemLog<'a> {
    pub(crate) observer: &'a mut dyn CaptureObserver,
    pub(crate) warnings: Vec<String>,
    pub(crate) unavailable: Vec<Unavailable>,
}

impl ProblemLog<'_> {
    pub(crate) fn warn(&mut self, text: String) {
        self.observer.warning(&text);
        self.warnings.push(text);
    }

    pub(crate) fn unavailable(&mut self, what: &str, why: &str) {
        self.unavailable.push(Unavailable { what: what.to_owned(), why: why.to_owned() });
        self.warn(format!("no {what}: {why}"));
    }
}
