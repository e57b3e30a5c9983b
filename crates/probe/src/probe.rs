//! Sends requests sequentially, and times each.

use crate::buffer::Buffer;
use crate::{ProbeError, Progress, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOp {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
}

/// A request, and the time to wait before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The operation; `None` for a flush, which makes earlier writes durable.
    pub op: Option<ProbeOp>,
    /// First byte; zero for a flush.
    pub offset: u64,
    /// Bytes; zero for a flush.
    pub len: u64,
    /// Time to wait after the completion of the previous request, in nanoseconds.
    pub think_ns: u64,
}

/// Times of issue and completion, in nanoseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedProbe {
    /// Time of the system call.
    pub issued_ns: u64,
    /// Time of its return.
    pub completed_ns: u64,
}

/// The last part of a wait is spent spinning, because sleeping threads wake up this late.
const SPIN: Duration = Duration::from_micros(150);
/// Longest sleep between two checks for a stop.
const SLEEP_STEP: Duration = Duration::from_millis(20);
/// Number of requests between two checks for a stop.
const STOP_CHECK_INTERVAL: usize = 64;

/// Sends requests sequentially. All are checked before the first is sent.
///
/// # Errors
/// When a request is not aligned to sectors or not within the target, a write or flush is sent to a
/// target opened
/// for reading only, a request fails, or `progress` stops the run.
pub fn probe(
    target: &Target,
    probes: &[Probe],
    progress: &Progress,
) -> Result<Vec<TimedProbe>, ProbeError> {
    for (probe, number) in probes.iter().zip(1..) {
        if probe.op.is_some() {
            target.check(number, probe.offset, probe.len)?;
        }
        if probe.op != Some(ProbeOp::Read) && !target.is_writable() {
            return Err(ProbeError::ReadOnly(target.path().into()));
        }
    }
    progress.total.store(probes.len() as u64, Ordering::Relaxed);
    let largest = probes.iter().map(|probe| probe.len).max().unwrap_or(0);
    let largest = length(largest)?;
    let mut into = Buffer::new(largest);
    let writes = probes.iter().any(|probe| probe.op == Some(ProbeOp::Write));
    let mut from = Buffer::random(if writes { largest } else { 0 }, 1);
    // Touches the pages, so that page faults do not count in the first request.
    into.get_mut().fill(1);
    let mut timed = Vec::with_capacity(probes.len());
    let start = Instant::now();
    let mut completed = start;
    for (number, probe) in probes.iter().enumerate() {
        let len = length(probe.len)?;
        if probe.op == Some(ProbeOp::Write) {
            from.stamp(len);
        }
        if number % STOP_CHECK_INTERVAL == 0 || probe.think_ns > 0 {
            progress.check()?;
        }
        wait(completed + Duration::from_nanos(probe.think_ns), progress)?;
        let issued = Instant::now();
        match probe.op {
            Some(ProbeOp::Read) => target.read(probe.offset, &mut into.get_mut()[..len])?,
            Some(ProbeOp::Write) => target.write(probe.offset, &from.get()[..len])?,
            None => target.sync()?,
        }
        completed = Instant::now();
        timed.push(TimedProbe {
            issued_ns: nanoseconds(issued - start),
            completed_ns: nanoseconds(completed - start),
        });
        progress.step(1);
    }
    Ok(timed)
}

/// Converts a length to `usize`.
pub(crate) fn length(len: u64) -> Result<usize, ProbeError> {
    usize::try_from(len)
        .map_err(|_| ProbeError::impossible("size", "more than memory has", "a smaller size"))
}

/// Nanoseconds; 584 years fit.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Waits until a time, to the microsecond. Returns an error if the run is stopped.
fn wait(until: Instant, progress: &Progress) -> Result<(), ProbeError> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if left > SPIN {
            sleep((left - SPIN).min(SLEEP_STEP));
            progress.check()?;
        } else {
            spin_loop();
        }
    }
}
