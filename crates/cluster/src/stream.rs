//! One traced machine, and what became of it on each storage.

use crate::config::Parts;
use crate::demand::Demand;
use crate::error::ClusterError;
use crate::node::part;
use crate::replay::{AddressMap, Footprint, Replay, replay};
use crate::report::{StorageReport, StreamReport};
use crate::requests::Requests;
use gordon_device::stripe::{CHUNK, Stripe};
use gordon_device::{Device, disk, ssd};
use gordon_trace::{Kind, Sample, Trace};
use gordon_units::{Ns, Watch};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// CPU time of other processes is much from this part of all on: one of so many.
const MUCH: u64 = 4;

/// A trace, read.
pub(crate) struct Stream {
    pub trace: Trace,
    pub path: PathBuf,
    pub samples: Vec<Sample>,
    pub starts: Vec<Ns>,
    pub demands: Vec<Demand>,
    pub logged: bool,
    pub footprint: Footprint,
}

/// A stream's replay on a storage, and what the device counted.
pub(crate) struct Replayed {
    pub replay: Replay,
    pub counters: BTreeMap<String, u64>,
    /// Of each flash array.
    pub flash: Vec<ssd::SsdStats>,
    pub compacted: bool,
}

/// How a storage is named in reports.
pub(crate) fn storage_id(part: &str, count: u32) -> String {
    format!("{part} x {count}")
}

impl Stream {
    pub fn open(path: PathBuf) -> Result<Self, ClusterError> {
        let trace = Trace::open(&path)?;
        let samples = trace.activity()?;
        if samples.is_empty() {
            return Err(ClusterError::Impossible {
                what: format!("trace {}", path.display()),
                why: "it holds no sample".into(),
            });
        }
        let requests = Requests::of(&trace, &samples)?;
        Ok(Self {
            logged: requests.logged(),
            footprint: Footprint::of(&requests)?,
            starts: samples.iter().map(|s| s.start).collect(),
            demands: samples.iter().map(Demand::from).collect(),
            samples,
            trace,
            path,
        })
    }

    pub fn replay(
        &self,
        name: &str,
        count: u32,
        parts: &Parts,
        watch: &Watch,
    ) -> Result<Replayed, ClusterError> {
        let make = |why: String| ClusterError::Storage { name: name.into(), why };
        if let Some(config) = parts.flash.get(name) {
            let arrays = (0..count)
                .map(|_| ssd::Ssd::new(config))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|e| make(e.to_string()))?;
            let mut stripe = Stripe::new(arrays, CHUNK).map_err(|e| make(e.to_string()))?;
            let (replay, compacted) = self.replay_on(name, &mut stripe, watch)?;
            let flash: Vec<_> = stripe.members().iter().map(ssd::Ssd::stats).collect();
            let counters = sum(flash.iter().map(ssd::SsdStats::counters));
            Ok(Replayed { replay, counters, flash, compacted })
        } else {
            let config = part("storage", &parts.disk, name)?;
            let drives = (0..count)
                .map(|_| disk::Disk::new(config))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|e| make(e.to_string()))?;
            let mut stripe = Stripe::new(drives, CHUNK).map_err(|e| make(e.to_string()))?;
            let (replay, compacted) = self.replay_on(name, &mut stripe, watch)?;
            let counters = sum(stripe.members().iter().map(|m| m.stats().counters()));
            Ok(Replayed { replay, counters, flash: Vec::new(), compacted })
        }
    }

    fn replay_on(
        &self,
        name: &str,
        device: &mut dyn Device,
        watch: &Watch,
    ) -> Result<(Replay, bool), ClusterError> {
        let map = AddressMap::new(&self.footprint, device.capacity(), &self.path, name)?;
        let requests = Requests::of(&self.trace, &self.samples)?;
        let replay = replay(&requests, &self.starts, &self.footprint, &map, device, watch)?;
        Ok((replay, matches!(map, AddressMap::Compact(_))))
    }

    /// What the reader of a survey should know of the trace.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.footprint.requests == 0 {
            notes.push("no block I/O in it; storage never limits".into());
        } else if !self.logged {
            notes.push(
                "no block log; storage times come from each sample's counts, as if its requests \
                 were of equal size and sequential: a lower bound for disks"
                    .into(),
            );
        }
        let known = self.trace.kinds().get("command_cpu_ns") == Some(&Kind::Measured);
        let all: Ns = self.samples.iter().map(Sample::cpu).sum();
        let own: Ns = self.samples.iter().map(|s| s.command.cpu).sum();
        // The kernel's own work for the command (write-back, interrupts) counts with the others.
        let others = all.saturating_sub(own);
        if known && others * MUCH > all {
            notes.push(format!(
                "{:.0} % of the CPU time was not the command's; all of it is in the survey. Trace \
                 on a machine with nothing else to do",
                others.as_secs() / all.as_secs() * 100.0
            ));
        }
        let missing = &self.trace.manifest().unavailable;
        notes.extend(missing.iter().map(|missing| format!("no {}: {}", missing.what, missing.why)));
        notes
    }

    pub fn report(&self) -> StreamReport {
        let sum = |f: fn(&Demand) -> f64| self.demands.iter().map(f).sum();
        StreamReport {
            path: self.path.display().to_string(),
            command: self.trace.manifest().command.clone(),
            samples: self.demands.len(),
            span_s: self.samples.iter().map(|s| s.span).sum::<Ns>().as_secs(),
            instructions: sum(|d| d.instructions),
            llc_misses: sum(|d| d.llc_misses),
            cpu_s: self.samples.iter().map(Sample::cpu).sum::<Ns>().as_secs(),
            block_ios: self.footprint.requests,
            read_bytes: self.footprint.read_bytes.0,
            write_bytes: self.footprint.write_bytes.0,
            rx_bytes: sum(|d| d.received),
            tx_bytes: sum(|d| d.sent),
            kinds: self.trace.kinds(),
        }
    }
}

fn sum<const N: usize>(
    counters: impl Iterator<Item = [(&'static str, u64); N]>,
) -> BTreeMap<String, u64> {
    let mut total = BTreeMap::new();
    for (name, count) in counters.flatten() {
        *total.entry(name.into()).or_default() += count;
    }
    total
}

/// What the replays on a storage come to.
pub(crate) fn storage_report((name, count): (&str, u32), replayed: &[Replayed]) -> StorageReport {
    let mut device = BTreeMap::new();
    for (counter, value) in replayed.iter().flat_map(|r| &r.counters) {
        *device.entry(counter.clone()).or_default() += value;
    }
    StorageReport {
        id: storage_id(name, count),
        part: name.into(),
        count,
        replays: replayed.len(),
        requests: replayed.iter().map(|r| r.replay.requests).sum(),
        simulated_s: replayed.iter().map(|r| r.replay.simulated).sum::<Ns>().as_secs(),
        device,
    }
}
