//! Reads events from perf: one ring per CPU and tracepoint. This source is for machines on which no
//! tracer instance can be created. It needs a readable tracefs, which has the numbers and layouts
//! of the events. The records have the same format as those of the tracer.

use super::format::{BlockEvent, EventFormats, u32_at, u64_at};
use super::source::{EventSource, MAX_QUEUED, buffer_kb};
use super::tracefs::Tracefs;
use crate::pmu;
use gordon_units::Ns;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Type of a record that holds a sample (`PERF_RECORD_SAMPLE` of `linux/perf_event.h`).
const SAMPLE: u32 = 9;

pub(crate) struct PerfEvents {
    rings: Vec<PerfRing>,
    formats: EventFormats,
}

struct PerfRing {
    sampler: Sampler,
    /// Number of samples read.
    seen: u64,
}

impl PerfEvents {
    /// Opens the rings and enables the events.
    pub(crate) fn open() -> Result<Self, String> {
        Self::with_room(|cpus| buffer_kb(cpus) << 10)
    }

    /// `room` returns the bytes of buffer per CPU for a number of CPUs.
    pub(crate) fn with_room(room: impl Fn(usize) -> usize) -> Result<Self, String> {
        let formats = Tracefs::find()?.formats()?;
        let cpus = pmu::online(Path::new("/"));
        let room = room(cpus.len());
        let mut rings = Vec::new();
        for cpu in cpus {
            for (event, share) in formats.events() {
                rings.push(PerfRing::open(cpu, event, room / share).map_err(refused)?);
            }
        }
        rings.iter_mut().try_for_each(|ring| ring.sampler.enable()).map_err(refused)?;
        Ok(Self { rings, formats })
    }
}

fn refused(e: io::Error) -> String {
    match e.kind() {
        ErrorKind::PermissionDenied => {
            "perf tracepoints of the machine are not permitted".to_owned()
        }
        _ => format!("perf tracepoints cannot be opened: {e}"),
    }
}

impl PerfRing {
    fn open(cpu: usize, event: u16, room: usize) -> io::Result<Self> {
        let counter = Builder::new(Tracepoint::with_id(event.into()))
            .any_pid()
            .one_cpu(cpu)
            .include_kernel()
            .include_hv()
            .sample(SampleFlag::TIME | SampleFlag::RAW)
            .sample_period(1)
            // The clock of all other times of a trace.
            .clockid(Clock::MONOTONIC)
            .build()?;
        // A ring is a power of two; this is the largest one within the bound.
        let room = (room + 1).next_power_of_two() / 2;
        Ok(Self { sampler: counter.sampled(room)?, seen: 0 })
    }
}

impl EventSource for PerfEvents {
    fn how(&self) -> &'static str {
        "block_rq_issue and block_rq_complete of perf"
    }

    fn queues(&self) -> usize {
        self.rings.len()
    }

    fn read(&mut self, queue: usize, events: &mut Vec<BlockEvent>) -> bool {
        let ring = &mut self.rings[queue];
        while events.len() < MAX_QUEUED {
            let Some(record) = ring.sampler.next_record() else { return true };
            if record.ty() != SAMPLE {
                continue;
            }
            ring.seen += 1;
            let record = record.to_contiguous();
            let event = sample(&record).and_then(|(at, data)| self.formats.event(at, data));
            let Some(event) = event else { continue };
            // An event that interrupted another one while it was stored precedes it in the ring.
            match events.last().is_some_and(|last| last.at > event.at) {
                true => events.insert(events.partition_point(|e| e.at <= event.at), event),
                false => events.push(event),
            }
        }
        false
    }

    /// Linux 6.18 does not report completions that interrupt an idle CPU.
    fn is_lossy(&self) -> bool {
        true
    }

    /// The counter of the event includes events whose record did not fit. Records of losses
    /// (`PERF_RECORD_LOST`) are not enough: they are written with the next event that fits, so the
    /// last losses would be missing.
    fn finish(&mut self) -> u64 {
        self.rings.iter_mut().map(PerfRing::finish).sum()
    }
}

impl PerfRing {
    fn finish(&mut self) -> u64 {
        // Fails if the CPU has gone offline; the counter does not change then.
        let _ = self.sampler.disable();
        while let Some(record) = self.sampler.next_record() {
            self.seen += u64::from(record.ty() == SAMPLE);
        }
        self.sampler.read().map_or(0, |happened| happened.saturating_sub(self.seen))
    }
}

/// Time and data of a sample. Layout: `u64 time; u32 size; char data[size]`.
fn sample(record: &[u8]) -> Option<(Ns, &[u8])> {
    let (head, rest) = record.split_at_checked(12)?;
    Some((Ns(u64_at(head, 0)), rest.get(..u32_at(head, 8) as usize)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_sample_is_not_an_event() {
        let mut record = 7u64.to_ne_bytes().to_vec();
        record.extend(3u32.to_ne_bytes());
        record.extend(b"abc and padding");
        assert_eq!(sample(&record), Some((Ns(7), b"abc".as_slice())));
        for len in 0..15 {
            assert_eq!(sample(&record[..len]), None, "{len}");
        }
    }
}
