//! One request after the other, each timed.

use crate::buffer::Buffer;
use crate::{ProbeError, Progress, Target};
use serde::{Deserialize, Serialize};
use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOp {
    /// Read the range.
    Read,
    /// Write it.
    Write,
}

/// One request, and how long after the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What is asked; without it, a flush: what was written is durable when it is answered.
    pub op: Option<ProbeOp>,
    /// First byte; zero for a flush.
    pub offset: u64,
    /// Bytes; zero for a flush.
    pub len: u64,
    /// From the completion of the one before to its issue, in nanoseconds.
    pub think_ns: u64,
}

/// When it was issued and when it was done, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedProbe {
    /// Handed to the system.
    pub issued_ns: u64,
    /// The system has answered.
    pub completed_ns: u64,
}

/// The last of a wait is not slept: the system wakes us so much late.
const SPIN: Duration = Duration::from_micros(150);
/// How long is slept without a look at whether to stop.
const SLEEP_STEP: Duration = Duration::from_millis(20);
/// Requests between two looks at whether to stop.
const STOP_CHECK_INTERVAL: usize = 64;

/// Asks for one thing after the other. All are looked at before the first is asked for.
///
/// # Errors
/// A request that is not whole sectors inside the target, writing what is opened to be read, an
/// answer that is an error, a stop.
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
    // Pages that are not there yet would be the first request's time.
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

/// A length as memory has it.
pub(crate) fn length(len: u64) -> Result<usize, ProbeError> {
    usize::try_from(len)
        .map_err(|_| ProbeError::impossible("size", "more than memory has", "a smaller size"))
}

/// 584 years fit.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Returns at that time, to the microsecond, or when it is to stop.
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
