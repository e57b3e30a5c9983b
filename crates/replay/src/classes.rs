//! The requests of a trace in classes: operation and size. They are for models that know the time
//! of a request of a class and nothing else of a device.

use crate::ReplayError;
use crate::config::{HostConfig, PacingKind, TraceLoad};
use crate::results::report::TraceProvenance;
use crate::run::{open, scan_trace};
use crate::source::RequestSource;
use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns, Progress};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Requests of one operation and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestClass {
    /// Reads or writes.
    pub op: IoOp,
    /// Bytes of a request.
    pub len: u64,
}

/// The requests of a trace.
#[derive(Clone, Debug)]
pub struct ClassifiedTrace {
    /// Reads and writes by class.
    pub classes: BTreeMap<RequestClass, u64>,
    /// Number of trims and flushes, and of requests without a byte.
    pub others: u64,
    /// How the host issues them.
    pub pacing: PacingKind,
    /// Duration of the trace, at the speed of the host.
    pub span: Ns,
    /// Sum of the gaps of the trace after completions.
    pub gaps: Ns,
    /// The trace.
    pub trace: TraceProvenance,
    /// What to know of it.
    pub warnings: Vec<String>,
}

/// Reads a trace twice, and counts its requests by class.
///
/// # Errors
/// Returns an error if the trace cannot be read, or `progress` stops the scan.
pub fn classify(
    host: &HostConfig,
    load: &TraceLoad,
    progress: &Progress,
) -> Result<ClassifiedTrace, ReplayError> {
    let scan = scan_trace(host, load, Bytes(u64::MAX), progress)?;
    host.resolve(scan.pacing, scan.survey.queues.len())?;
    progress.total.fetch_add(scan.survey.requests, Ordering::Relaxed);
    let repeat = u64::from(load.repeat);
    let (mut classes, mut others, mut gaps) = (BTreeMap::new(), 0, Ns::ZERO);
    let (mut source, mut batch) = (open(host, load)?, Vec::new());
    loop {
        progress.check()?;
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        progress.done.fetch_add(batch.len() as u64, Ordering::Relaxed);
        for request in &batch {
            gaps.0 = gaps.0.saturating_add(request.gap.0.saturating_mul(repeat));
            let is_timed = matches!(request.op, IoOp::Read | IoOp::Write) && request.len > 0;
            if !is_timed {
                others += repeat;
                continue;
            }
            let class = RequestClass { op: request.op, len: request.len };
            *classes.entry(class).or_insert(0) += repeat;
        }
    }
    Ok(ClassifiedTrace {
        classes,
        others,
        pacing: host.pacing.unwrap_or(scan.pacing),
        span: scan.span,
        gaps,
        trace: scan.trace,
        warnings: scan.warnings,
    })
}
