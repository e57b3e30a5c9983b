//! The load of all arrangements: requests of a trace or a pattern, aligned to sectors, within the
//! smaller device, at times from zero on.

use crate::ReplayError;
use crate::config::{Fit, HostConfig, LoadConfig, PacingKind};
use crate::results::report::TraceProvenance;
use crate::run::{LoadSource, ValidatedLoad, open, validate_load};
use crate::source::{Repeat, RequestSource, TimedRequest};
use gordon_blockio::{IoOp, SECTOR};
use gordon_units::{Bytes, Ns, Progress};

/// Totals of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub requests: u64,
    pub written: u64,
    pub read: u64,
    /// Time of the last request.
    pub span: Ns,
}

/// A load that fits the devices.
pub(super) struct ReplicatedLoad {
    source: LoadSource,
    host: HostConfig,
    /// Capacity of the smaller device.
    capacity: u64,
    pub totals: Totals,
    /// Ranges that are read, as start and end; they hold data before the run.
    pub reads: Vec<(u64, u64)>,
    pub trace: Option<TraceProvenance>,
    pub warnings: Vec<String>,
}

impl ReplicatedLoad {
    /// Checks that the load has times and writes, and fits a device of this capacity.
    pub fn new(
        load: &LoadConfig,
        fit: Fit,
        capacity: Bytes,
        seed: u64,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        let host = HostConfig { fit, ..HostConfig::default() };
        // The end of a trace is checked below, where the message can name the options of replicas.
        let allowed = match load {
            LoadConfig::Trace(_) if fit == Fit::Error => Bytes(u64::MAX),
            _ => capacity,
        };
        let ValidatedLoad { source, warnings, .. } =
            validate_load(load, &host, (allowed, None), seed, progress)?;
        let mut found = Self {
            source,
            host,
            capacity: capacity.0,
            totals: Totals::default(),
            reads: Vec::new(),
            trace: None,
            warnings,
        };
        match &found.source {
            LoadSource::Bench(bench) => {
                if !matches!(load, LoadConfig::Bench(config) if config.every.is_some()) {
                    let why = "a pattern needs times, from which the energy of idle disks follows";
                    return Err(ReplayError::option("every", why, "--every 10ms"));
                }
                found.reads = vec![(0, bench.preloaded().0)];
            }
            LoadSource::Trace(trace, scan) => {
                let path = trace.path.display().to_string();
                if scan.pacing != PacingKind::Arrival {
                    let why =
                        "has no times of arrival, from which the energy of idle disks follows";
                    let hint = "a trace with times, or --pattern random-write --every 10ms";
                    return Err(ReplayError::impossible(&path, why, hint));
                }
                if fit == Fit::Error && scan.survey.end > capacity {
                    let why = format!(
                        "reaches to {}, and the smaller device has {}",
                        scan.survey.end.human(),
                        capacity.human()
                    );
                    let hint = "larger devices, or --fit wrap, which takes addresses modulo the \
                                smaller capacity";
                    return Err(ReplayError::impossible(&path, why, hint));
                }
                found.reads = scan.survey.reads.ranges();
                found.trace = Some(scan.trace.clone());
            }
        }
        found.totals = found.measure(progress)?;
        let what = match load {
            LoadConfig::Trace(trace) => trace.path.display().to_string(),
            LoadConfig::Bench(_) => "the pattern".into(),
        };
        if found.totals.written == 0 {
            let why = "has no writes, so that copies are never updated";
            return Err(ReplayError::impossible(&what, why, "a load that writes"));
        }
        if found.totals.span == Ns::ZERO {
            let why = "all requests arrive at the same time: the load has no rate";
            return Err(ReplayError::impossible(&what, why, "a load that lasts longer"));
        }
        Ok(found)
    }

    /// The requests whose operation `keeps` accepts. Times start with the first request of all.
    pub fn requests(&self, keeps: fn(IoOp) -> bool) -> Requests<'_> {
        let source: Box<dyn RequestSource + '_> = match &self.source {
            LoadSource::Bench(bench) => bench.clone(),
            LoadSource::Trace(trace, _) => {
                Box::new(Repeat::new(|| open(&self.host, trace), trace.repeat))
            }
        };
        Requests { source, raw: Vec::new(), capacity: self.capacity, first: None, keeps }
    }

    fn measure(&self, progress: &Progress) -> Result<Totals, ReplayError> {
        let (mut totals, mut batch) = (Totals::default(), Vec::new());
        let mut source = self.requests(|_| true);
        loop {
            progress.check()?;
            source.next_batch(&mut batch)?;
            let Some(last) = batch.last() else { return Ok(totals) };
            totals.span = last.at;
            totals.requests += batch.len() as u64;
            let bytes = |op| batch.iter().filter(|r| r.op == op).map(|r| r.len).sum::<u64>();
            totals.written += bytes(IoOp::Write);
            totals.read += bytes(IoOp::Read);
        }
    }
}

/// Requests of a load.
pub(super) struct Requests<'a> {
    source: Box<dyn RequestSource + 'a>,
    raw: Vec<TimedRequest>,
    capacity: u64,
    first: Option<Ns>,
    keeps: fn(IoOp) -> bool,
}

impl RequestSource for Requests<'_> {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        batch.clear();
        while batch.is_empty() {
            self.source.next_batch(&mut self.raw)?;
            let Some(first) = self.raw.first() else { return Ok(()) };
            let first = *self.first.get_or_insert(first.at);
            for request in self.raw.iter().filter(|request| (self.keeps)(request.op)) {
                let request = TimedRequest { at: request.at - first, queue: 0, ..*request };
                add_fitted(request, self.capacity, batch);
            }
        }
        Ok(())
    }
}

/// Adds a request in whole sectors, modulo the capacity: in two parts if it goes over the end.
/// Requests without bytes are dropped, except flushes.
fn add_fitted(request: TimedRequest, capacity: u64, batch: &mut Vec<TimedRequest>) {
    if request.op == IoOp::Flush {
        batch.push(TimedRequest { offset: 0, len: 0, ..request });
        return;
    }
    if request.len == 0 {
        return;
    }
    let start = request.offset - request.offset % SECTOR.0;
    let len = (request.offset + request.len).next_multiple_of(SECTOR.0) - start;
    let start = start % capacity;
    let before_end = len.min(capacity - start);
    batch.push(TimedRequest { offset: start, len: before_end, ..request });
    if len > before_end {
        batch.push(TimedRequest { offset: 0, len: len - before_end, ..request });
    }
}

/// A load together with other requests, which are in the order of their times.
pub(super) struct Merged<'a> {
    pub load: Requests<'a>,
    pub others: std::iter::Peekable<std::vec::IntoIter<TimedRequest>>,
}

impl RequestSource for Merged<'_> {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        self.load.next_batch(batch)?;
        let until = batch.last().map_or(Ns::MAX, |last| last.at);
        let before = batch.len();
        while let Some(other) = self.others.next_if(|other| other.at <= until) {
            batch.push(other);
        }
        if before > 0 && batch.len() > before {
            // The sort is stable: requests of the load precede others of the same time.
            batch.sort_by_key(|request| request.at);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_in_whole_sectors_and_wrap_around_the_end() {
        let fitted = |offset, len| {
            let mut batch = Vec::new();
            let request = TimedRequest { offset, len, op: IoOp::Write, ..TimedRequest::NOTHING };
            add_fitted(request, 4096, &mut batch);
            batch.iter().map(|r| (r.offset, r.len)).collect::<Vec<_>>()
        };
        assert_eq!(fitted(700, 100), [(512, 512)]);
        assert_eq!(fitted(3584, 1024), [(3584, 512), (0, 512)]);
        assert_eq!(fitted(8192, 512), [(0, 512)]);
        assert_eq!(fitted(0, 0), []);
    }
}
