//! A closed-loop load: a constant number of outstanding requests, for a limited time.
//!
//! Each outstanding request has a thread, which issues the next request when the last has
//! completed. The queue depth of the device follows from that. A warm-up precedes the measurement,
//! and ends when its last request has completed, so that only measured requests are in flight
//! during the measurement. The measurement lasts from the first issue to the last completion. For
//! writes it includes a flush, because data in a volatile cache have not been written yet.
//!
//! Not covered: the lower CPU cost of fewer threads (io_uring). Requests beyond the device's queue
//! wait in the kernel and count as outstanding.

use crate::buffer::Buffer;
use crate::probe::{length, nanoseconds};
use crate::{ProbeError, ProbeOp, Progress, Target};
use gordon_blockio::LatencyHistogram;
use gordon_units::{Bytes, Ns};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Sequential, and from the start again at the end.
    Sequential,
    /// Uniformly random multiples of the request size.
    Random,
}

/// Limits of a load. The first one reached ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimits {
    /// Time after which no request is issued.
    pub time: Ns,
    /// Number of bytes after which no request is issued. At least [`depth`](ClosedLoopLoad::depth)
    /// requests are issued.
    pub bytes: u64,
    /// Time at the start whose requests are not measured.
    pub warm_up: Ns,
}

/// A closed-loop load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedLoopLoad {
    /// Sequential or random addresses.
    pub pattern: Pattern,
    /// Reads or writes.
    pub op: ProbeOp,
    /// Bytes of a request.
    pub size: u64,
    /// Number of outstanding requests.
    pub depth: u32,
    /// Number of bytes that the requests cover, from the first byte of the target on.
    pub span: u64,
    /// Random seed of the addresses.
    pub seed: u64,
    /// When the load ends.
    pub limits: LoadLimits,
}

/// Result of a load.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// Number of requests measured.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Time from the first issue to the last completion, including the flush after writes.
    pub elapsed: Ns,
    /// Latency of the requests, without the flush.
    pub latency: LatencyHistogram,
}

/// Maximum memory of all buffers.
const MAX_MEMORY: u64 = 4 << 30;
/// Maximum number of outstanding requests. Each has a thread.
const MAX_DEPTH: u32 = 1024;

impl ClosedLoopLoad {
    /// Checks the load against the target.
    pub(crate) fn check(&self, target: &Target) -> Result<(), ProbeError> {
        let Self { op, size, depth, span, .. } = *self;
        let sector = target.sector();
        let wrong =
            |what: &str, why: String, hint: &str| Err(ProbeError::impossible(what, why, hint));
        if op == ProbeOp::Write && !target.is_writable() {
            return Err(ProbeError::ReadOnly(target.path().into()));
        }
        if size == 0 || !size.is_multiple_of(sector) {
            let why = format!("{} is not whole sectors of {}", Bytes(size), Bytes(sector));
            return wrong("size", why, "a multiple of that");
        }
        if span > target.capacity() || span < size {
            let why = format!(
                "requests of {} in {} of {}",
                Bytes(size),
                Bytes(span),
                target.path().display()
            );
            return wrong("size", why, "smaller --sizes, or a larger --span");
        }
        if depth == 0 || depth > MAX_DEPTH {
            let why = format!("{depth} requests outstanding");
            return wrong("depth", why, &format!("1 to {MAX_DEPTH}"));
        }
        if size.saturating_mul(depth.into()) > MAX_MEMORY {
            let why =
                format!("{depth} of {} take more memory than {}", Bytes(size), Bytes(MAX_MEMORY));
            return wrong("depth", why, "smaller --sizes or --depths");
        }
        Ok(())
    }
}

/// Keeps requests outstanding until a limit is reached.
///
/// # Errors
/// When the load does not fit the target, a request fails, or `progress` stops the load.
pub fn load(
    target: &Target,
    load: &ClosedLoopLoad,
    progress: &Progress,
) -> Result<LoadResult, ProbeError> {
    load.check(target)?;
    let size = length(load.size)?;
    let make = |number: u64| match load.op {
        ProbeOp::Read => Buffer::new(size),
        ProbeOp::Write => Buffer::random(size, load.seed.wrapping_add(number)),
    };
    let mut states: Vec<LoadThread> = (0..u64::from(load.depth))
        .map(|number| LoadThread { buffer: make(number), random: stream(load.seed, number) })
        .collect();
    let cursor = AtomicU64::new(0);
    let LoadLimits { time, bytes, warm_up } = load.limits;
    let run =
        |states: &mut Vec<LoadThread>, time: Ns| -> Result<(LatencyHistogram, Ns), ProbeError> {
            let first = cursor.load(Ordering::Relaxed);
            let last = first + (bytes / load.size).max(load.depth.into());
            let phase = LoadPhase { target, load, progress, cursor: &cursor, last, time };
            phase.run(states)
        };
    if warm_up > Ns::ZERO {
        run(&mut states, warm_up)?;
    }
    let (latency, elapsed) = run(&mut states, time)?;
    let requests = latency.count();
    Ok(LoadResult { requests, bytes: requests * load.size, elapsed, latency })
}

/// The random stream of a thread.
fn stream(seed: u64, number: u64) -> Xoshiro256PlusPlus {
    let mut stream = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..number).for_each(|_| stream.jump());
    stream
}

/// State of a thread with one outstanding request.
struct LoadThread {
    buffer: Buffer,
    random: Xoshiro256PlusPlus,
}

/// The warm-up or the measurement.
struct LoadPhase<'a> {
    target: &'a Target,
    load: &'a ClosedLoopLoad,
    progress: &'a Progress,
    /// Number of the next request, counted over both phases.
    cursor: &'a AtomicU64,
    /// First number that is not issued any more.
    last: u64,
    time: Ns,
}

impl LoadPhase<'_> {
    /// Runs the phase. Returns the latencies, and the time from the first issue to the end.
    fn run(&self, states: &mut [LoadThread]) -> Result<(LatencyHistogram, Ns), ProbeError> {
        let depth = states.len();
        let signal = StartSignal::default();
        let failed = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            let start = |state| {
                let (signal, failed) = (&signal, &failed);
                thread::Builder::new().spawn_scoped(scope, move || {
                    if !signal.wait() {
                        return None;
                    }
                    let ended = self.issue_requests(state, failed);
                    failed.fetch_or(ended.is_err(), Ordering::Relaxed);
                    Some(ended)
                })
            };
            let threads = states.iter_mut().map(start).collect::<io::Result<Vec<_>>>();
            signal.give(threads.is_ok());
            let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(ended) => ended,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let threads = threads.map_err(|error| too_many(depth, &error))?;
            threads.into_iter().filter_map(join).collect::<Result<Vec<_>, _>>()
        })?;
        self.progress.check()?;
        let mut latency = LatencyHistogram::default();
        ended.iter().for_each(|one| latency.add(&one.latency));
        let start = ended.iter().map(|one| one.start).min().unwrap_or_else(Instant::now);
        let mut end = ended.iter().map(|one| one.end).max().unwrap_or(start);
        if self.load.op == ProbeOp::Write {
            self.target.sync()?;
            end = Instant::now();
        }
        Ok((latency, Ns(nanoseconds(end - start))))
    }

    /// Issues requests sequentially until a limit is reached.
    fn issue_requests(
        &self,
        state: &mut LoadThread,
        failed: &AtomicBool,
    ) -> Result<ThreadResult, ProbeError> {
        let LoadThread { buffer, random } = state;
        let ClosedLoopLoad { pattern, op, size, span, .. } = *self.load;
        let slots = span / size;
        let mut latency = LatencyHistogram::default();
        let start = Instant::now();
        let until = start + Duration::from_nanos(self.time.0);
        let mut now = start;
        loop {
            let stop = self.progress.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            // The time limit ends a thread only after its first request. It must not take a number
            // then: the number would be missing for a thread that has not issued any.
            if stop || now >= until && latency.count() > 0 {
                return Ok(ThreadResult { latency, start, end: now });
            }
            let number = self.cursor.fetch_add(1, Ordering::Relaxed);
            if number >= self.last {
                return Ok(ThreadResult { latency, start, end: now });
            }
            let slot = match pattern {
                Pattern::Sequential => number % slots,
                Pattern::Random => below(random, slots),
            };
            if op == ProbeOp::Write {
                let len = buffer.get().len();
                buffer.stamp(len);
            }
            let issued = Instant::now();
            match op {
                ProbeOp::Read => self.target.read(slot * size, buffer.get_mut())?,
                ProbeOp::Write => self.target.write(slot * size, buffer.get())?,
            }
            now = Instant::now();
            latency.record(Ns(nanoseconds(now - issued)));
        }
    }
}

/// The error if the system refuses to start a thread.
fn too_many(depth: usize, error: &io::Error) -> ProbeError {
    let why = format!(
        "{depth} requests outstanding need as many threads, and the system refuses one: {error}"
    );
    ProbeError::impossible(
        "depth",
        why,
        "smaller --depths, or a higher limit of processes (ulimit -u)",
    )
}

/// Starts all threads of a phase together, or none.
#[derive(Default)]
struct StartSignal {
    begin: Mutex<Option<bool>>,
    given: Condvar,
}

impl StartSignal {
    fn give(&self, begin: bool) {
        *self.begin.lock().unwrap_or_else(PoisonError::into_inner) = Some(begin);
        self.given.notify_all();
    }

    /// Waits for the signal. Returns whether to start.
    fn wait(&self) -> bool {
        let begin = self.begin.lock().unwrap_or_else(PoisonError::into_inner);
        let given = self.given.wait_while(begin, |begin| begin.is_none());
        *given.unwrap_or_else(PoisonError::into_inner) == Some(true)
    }
}

struct ThreadResult {
    latency: LatencyHistogram,
    start: Instant,
    end: Instant,
}

/// Uniform in `0..bound`, by multiplication; the bias is below `bound` / 2^64.
#[allow(clippy::cast_possible_truncation)] // the high half is below `bound`
fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}
