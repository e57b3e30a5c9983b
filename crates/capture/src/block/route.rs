//! One block log of several that are written at the same time: which requests it has, and the files
//! that they are written to.

use super::LogResult;
use super::format::{BlockEvent, EventKind};
use super::matcher::Matcher;
use super::share::{CausedQueue, Distribution};
use gordon_blockio::IoOp;
use gordon_trace::{BlockIo, BlockLog, BlockWriter, TraceError};
use gordon_units::Ns;

/// The requests of a block log and its files.
pub(crate) struct BlockRoute {
    /// The devices whose requests it has; `None` for all.
    devices: Option<Vec<u32>>,
    files: Vec<LogFile>,
    distribution: Option<Distribution>,
    matcher: Matcher,
    tally: BlockLog,
    /// Process of the last request: its name in the event and its number in the files.
    process: ([u8; 16], u32),
}

struct LogFile {
    writer: Result<BlockWriter, TraceError>,
    without_latency: u64,
}

impl LogFile {
    fn new(writer: BlockWriter) -> Self {
        Self { writer: Ok(writer), without_latency: 0 }
    }

    /// Writes a request. The first error is kept for the end.
    fn push(&mut self, io: BlockIo) {
        let Ok(writer) = &mut self.writer else { return };
        self.without_latency += u64::from(io.latency.is_none());
        if let Err(error) = writer.push(io) {
            self.writer = Err(error);
        }
    }

    fn finish(self, tally: BlockLog) -> LogResult {
        let tally = BlockLog { without_latency: self.without_latency, ..tally };
        Ok((self.writer?.finish()?, tally))
    }
}

impl BlockRoute {
    /// A log of all requests to `devices`; `None` for those of the machine.
    pub(crate) fn new(devices: Option<Vec<u32>>, writer: BlockWriter) -> Self {
        Self::with_files(devices, vec![LogFile::new(writer)], None)
    }

    /// Logs of nodes that have the requests to `devices` in common. `caused` has the entries of the
    /// nodes in the order of `writers`.
    pub(crate) fn shared(
        devices: Vec<u32>,
        writers: impl IntoIterator<Item = BlockWriter>,
        caused: CausedQueue,
    ) -> Self {
        let files: Vec<LogFile> = writers.into_iter().map(LogFile::new).collect();
        let distribution = Distribution::new(caused, files.len());
        Self::with_files(Some(devices), files, Some(distribution))
    }

    fn with_files(
        devices: Option<Vec<u32>>,
        files: Vec<LogFile>,
        distribution: Option<Distribution>,
    ) -> Self {
        Self {
            devices,
            files,
            distribution,
            matcher: Matcher::new(false),
            tally: BlockLog::default(),
            process: ([0xff; 16], 0),
        }
    }

    /// Sets whether the source of the events loses completions. Called before the first event.
    pub(super) fn set_lossy(&mut self, is_lossy: bool) {
        self.matcher = Matcher::new(is_lossy);
    }

    /// The devices of all routes together; `None` if any of them takes all devices.
    pub(crate) fn all_devices<'a>(
        routes: impl IntoIterator<Item = Option<&'a [u32]>>,
    ) -> Option<Vec<u32>> {
        let lists: Vec<&[u32]> = routes.into_iter().collect::<Option<_>>()?;
        let mut devices = lists.concat();
        devices.sort_unstable();
        devices.dedup();
        Some(devices)
    }

    /// Whether no file can be written any more.
    pub(super) fn has_failed(&self) -> bool {
        self.files.iter().all(|file| file.writer.is_err())
    }

    /// Processes an event, if it is of this route. Requests issued before `start` or after `end`
    /// are left out.
    pub(super) fn process_event(&mut self, event: &BlockEvent, start: Ns, end: Ns) {
        if self.devices.as_ref().is_some_and(|devices| !devices.contains(&event.device)) {
            return;
        }
        self.tally.events += 1;
        if event.at < start {
            return;
        }
        let Some(op) = event.op else {
            self.tally.other_requests += u64::from(event.kind == EventKind::Issued);
            return;
        };
        let in_time = event.at <= end;
        let event = BlockEvent { at: event.at - start, ..*event };
        if event.kind != EventKind::Issued {
            self.matcher.end(&event, op);
        } else if in_time {
            self.issue(&event, op);
        }
    }

    fn issue(&mut self, event: &BlockEvent, op: IoOp) {
        // Consecutive requests often come from the same process.
        if self.process.0 != event.comm {
            let len = event.comm.iter().position(|&b| b == 0).unwrap_or(event.comm.len());
            let name = String::from_utf8_lossy(&event.comm[..len]);
            // All files receive the same names in the same order, so their numbers agree.
            let writers = self.files.iter_mut().filter_map(|file| file.writer.as_mut().ok());
            let number = writers.map(|writer| writer.process(&name)).last().unwrap_or(0);
            self.process = (event.comm, number);
        }
        self.matcher.issue(BlockIo {
            at: event.at,
            device: event.device,
            sector: event.sector,
            sectors: event.sectors,
            op,
            flags: event.flags,
            pid: event.pid,
            process: self.process.1,
            latency: None,
        });
    }

    /// Writes the requests that are complete at `now`, a time since the start.
    pub(super) fn write(&mut self, now: Ns) {
        while let Some(io) = self.matcher.next(now) {
            match &mut self.distribution {
                None => self.files.iter_mut().for_each(|file| file.push(io)),
                Some(distribution) => distribution.push(io),
            }
        }
        if let Some(distribution) = &mut self.distribution {
            let files = &mut self.files;
            distribution.settle(now == Ns::MAX, |node, io| files[node].push(io));
        }
    }

    /// Completes the files, after [`write`](Self::write) up to [`Ns::MAX`].
    pub(super) fn finish(self, lost_events: u64) -> impl Iterator<Item = LogResult> {
        let tally = BlockLog { lost_events, ..self.tally };
        self.files.into_iter().map(move |file| file.finish(tally))
    }
}
