//! One traced machine, and its replay on each storage.

use crate::error::ClusterError;
use crate::space::machine::storage_id;
use crate::space::storage::{DeviceConfig, Storage};
use crate::trace::charge::{Charge, Reference};
use crate::trace::demand::Demand;
use crate::trace::replay::{AddressMap, Replay, StorageFootprint, replay};
use crate::trace::report::{StorageReport, StreamReport};
use crate::trace::requests::Requests;
use gordon_blockio::Device;
use gordon_hdd as disk;
use gordon_sim::stripe::{CHUNK, Stripe};
use gordon_ssd as ssd;
use gordon_trace::{ColumnKind, DeviceSummary, Sample, Trace};
use gordon_units::{Ns, Progress};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

/// Fraction of CPU time of other processes above which a survey gives a warning.
const MUCH: f64 = 0.05;

/// A trace that has been read.
pub struct Stream {
    pub trace: Trace,
    pub path: PathBuf,
    pub samples: Vec<Sample>,
    pub starts: Vec<Ns>,
    pub demands: Vec<Demand>,
    pub logged: bool,
    pub footprint: StorageFootprint,
    /// What is charged: the machine or the command.
    pub charge: Charge,
    /// The processor whose instructions a cycle were used to estimate instructions; `None` if they
    /// were counted, or if the traced processor is unknown.
    pub reference: Option<Reference>,
}

/// Whether a trace has the figures of the command that a survey charges.
fn has_command(kinds: &BTreeMap<String, ColumnKind>) -> bool {
    let is_there = |column: &str| kinds.get(column).is_some_and(|k| *k != ColumnKind::Missing);
    let is_counted = kinds.get("command_cpu_ns") == Some(&ColumnKind::Measured);
    is_counted && is_there("command_instructions") && is_there("command_llc_misses")
}

/// The replay of a stream on a storage, and what the devices counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    pub replay: Replay,
    /// Counters of all devices, by the names that reports use.
    pub counters: BTreeMap<String, u64>,
    /// Wear of each flash device; empty for disks.
    pub flash: Vec<FlashWear>,
    /// Whether the extents of the trace were moved together, because it did not fit one device.
    pub compacted: bool,
}

/// Wear of a flash device in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlashWear {
    pub erases: u64,
    /// Super-pages programmed, for any cause.
    pub programs: u64,
    /// Super-pages of host data programmed.
    pub host_programs: u64,
    /// What the lifetime of the device is computed from.
    pub lifetime: ssd::Lifetime,
}

impl FlashWear {
    fn of(stats: &ssd::SsdStats) -> Self {
        Self {
            erases: stats.ftl.erases,
            programs: stats.ftl.programs(),
            host_programs: stats.ftl.host_programs,
            lifetime: stats.lifetime,
        }
    }
}

impl AsRef<Self> for Stream {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Stream {
    pub fn open(
        path: PathBuf,
        charge: Charge,
        references: &[Reference],
    ) -> Result<Self, ClusterError> {
        let trace = Trace::open(&path)?;
        let samples = trace.activity()?;
        if samples.is_empty() {
            return Err(ClusterError::Impossible {
                what: format!("trace {}", path.display()),
                why: "it holds no sample".into(),
            });
        }
        let kinds = trace.kinds();
        let charge = match charge {
            Charge::Auto if has_command(&kinds) => Charge::Command,
            Charge::Auto => Charge::Machine,
            given => given,
        };
        let of_charge = match charge {
            Charge::Auto | Charge::Machine => ["instructions", "llc_misses"],
            Charge::Command => ["command_instructions", "command_llc_misses"],
        };
        let missing =
            |column: &&&str| kinds.get(**column).is_none_or(|k| *k == ColumnKind::Missing);
        if charge == Charge::Command
            && let Some(column) = of_charge.iter().find(missing)
        {
            return Err(ClusterError::Impossible {
                what: format!("trace {}: charge command", path.display()),
                why: format!("the trace has no {column}; charge the machine"),
            });
        }
        let estimated = |column: &str| kinds.get(column) == Some(&ColumnKind::Estimated);
        let mut demands: Vec<Demand> = samples.iter().map(|s| Demand::of(s, charge)).collect();
        let mut reference = None;
        if estimated(of_charge[0]) {
            let manifest = trace.manifest();
            let model = &manifest.machine.cpu_model;
            let holds = |r: &&Reference| {
                r.models.is_empty() || r.models.iter().any(|name| model.contains(name.as_str()))
            };
            reference = references.iter().find(holds).cloned();
            if let Some(reference) = &reference {
                let faster = *reference.ipc / *manifest.profile.instructions_per_cycle;
                for demand in &mut demands {
                    demand.instructions *= faster;
                    if estimated(of_charge[1]) {
                        // Estimated misses are in proportion to instructions.
                        demand.llc_misses *= faster;
                    }
                }
            }
        }
        let requests = Requests::of(&trace, &samples)?;
        Ok(Self {
            charge,
            reference,
            logged: requests.logged(),
            footprint: StorageFootprint::of(&requests)?,
            starts: samples.iter().map(|s| s.start).collect(),
            demands,
            samples,
            trace,
            path,
        })
    }

    /// Replays the requests on new devices.
    pub(crate) fn replay(
        &self,
        storage: &Storage,
        progress: &Progress,
    ) -> Result<Replayed, ClusterError> {
        let count = storage.count;
        match &storage.device {
            DeviceConfig::Flash(config) => {
                let arrays = (0..count).map(|_| ssd::Ssd::new(config));
                let (replayed, arrays) = self.replay_on(&storage.name, arrays, progress)?;
                let stats: Vec<_> = arrays.iter().map(ssd::Ssd::stats).collect();
                let counters = sum(stats.iter().map(ssd::SsdStats::counters));
                let flash = stats.iter().map(FlashWear::of).collect();
                Ok(Replayed { counters, flash, ..replayed })
            }
            DeviceConfig::Disk(config) => {
                let drives = (0..count).map(|_| disk::Disk::new(config));
                let (replayed, drives) = self.replay_on(&storage.name, drives, progress)?;
                let counters = sum(drives.iter().map(|drive| drive.stats().counters()));
                Ok(Replayed { counters, ..replayed })
            }
        }
    }

    /// Replays the requests on striped devices, and returns the devices.
    fn replay_on<D: Device, E: Display>(
        &self,
        name: &str,
        devices: impl Iterator<Item = Result<D, E>>,
        progress: &Progress,
    ) -> Result<(Replayed, Vec<D>), ClusterError> {
        let make = |why: String| ClusterError::Storage { name: name.into(), why };
        let mut devices =
            devices.collect::<Result<Vec<_>, _>>().map_err(|e| make(e.to_string()))?;
        let requests = Requests::of(&self.trace, &self.samples)?;
        let map = |capacity| AddressMap::new(&self.footprint, capacity, &self.path, name);
        let (starts, footprint) = (&self.starts, &self.footprint);
        let (replay, map) = match devices.as_mut_slice() {
            // A stripe of one device has the same times, and takes longer to simulate.
            [device] if device.capacity() >= CHUNK => {
                let map = map(CHUNK * (device.capacity().0 / CHUNK.0))?;
                (replay(&requests, starts, footprint, &map, device, progress)?, map)
            }
            _ => {
                let mut stripe = Stripe::new(devices, CHUNK).map_err(|e| make(e.to_string()))?;
                let map = map(stripe.capacity())?;
                let replay = replay(&requests, starts, footprint, &map, &mut stripe, progress)?;
                devices = stripe.into_members();
                (replay, map)
            }
        };
        let compacted = map.is_compact();
        let replayed = Replayed { replay, counters: BTreeMap::new(), flash: Vec::new(), compacted };
        Ok((replayed, devices))
    }

    /// Warnings about the trace for the reader of a survey.
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
        notes.extend(self.others_note());
        notes.extend(self.accelerators_note());
        if let Some(ipc) = self.estimated_ipc()
            && self.reference.is_none()
        {
            let model = match self.trace.manifest().machine.cpu_model.as_str() {
                "" => "an unknown processor",
                model => model,
            };
            notes.push(format!(
                "instructions are not counted but estimated: CPU time x clock x {ipc} instructions \
                 a cycle, as on a Core 2; the trace is of {model}. The CPU time of every design is \
                 in proportion to this number, its storage and network times are not. Give the \
                 instructions a cycle of the traced processor with --reference"
            ));
        }
        notes.extend(self.read_amplification_note());
        let missing = &self.trace.manifest().unavailable;
        notes.extend(missing.iter().map(|missing| format!("no {}: {}", missing.what, missing.why)));
        notes
    }

    /// A warning if a part of the CPU time was not the command's.
    pub fn others_note(&self) -> Option<String> {
        let share = self.other_cpu_share().filter(|share| *share > MUCH)?;
        let percent = share * 100.0;
        Some(match self.charge {
            Charge::Command => format!(
                "{percent:.0} % of the CPU time is of other programs than the command, and is left \
                 out; with it the kernel's work for the command (write-back, interrupts). --charge \
                 machine includes it"
            ),
            Charge::Auto | Charge::Machine => format!(
                "{percent:.0} % of the CPU time is of other programs than the command, and is \
                 included. --charge command leaves it out"
            ),
        })
    }

    /// A warning if the machine has processors that compute and that no model covers.
    pub fn accelerators_note(&self) -> Option<String> {
        let names = &self.trace.manifest().machine.accelerators;
        let first = names.first()?;
        let more = match names.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        Some(format!(
            "the machine has {first}{more}: its time reads as idle or as busy cores, its watts are \
             left out, and no machine is compared by it"
        ))
    }

    fn devices(&self) -> Vec<DeviceSummary> {
        self.trace.devices(&self.samples)
    }

    /// A warning if storage read much more than the command requested.
    pub fn read_amplification_note(&self) -> Option<String> {
        self.trace.read_amplification_note(&self.devices())
    }

    /// CPU time that is simulated, of the machine or of the command.
    pub fn cpu(&self, sample: &Sample) -> Ns {
        match self.charge {
            Charge::Auto | Charge::Machine => sample.cpu(),
            Charge::Command => sample.command.cpu,
        }
    }

    /// Seconds of a column, if it was measured.
    fn measured_sum(&self, column: &str, of: fn(&Sample) -> Ns) -> Option<f64> {
        let is_measured = self.trace.kinds().get(column) == Some(&ColumnKind::Measured);
        is_measured.then(|| self.samples.iter().map(of).sum::<Ns>().as_secs())
    }

    /// CPU time of the command, if it was measured.
    fn command_cpu(&self) -> Option<Ns> {
        let known = self.trace.kinds().get("command_cpu_ns") == Some(&ColumnKind::Measured);
        known.then(|| self.samples.iter().map(|s| s.command.cpu).sum())
    }

    /// The fraction of the CPU time that was not the command's. The kernel's work for the command
    /// (write-back, interrupts) counts as others'.
    fn other_cpu_share(&self) -> Option<f64> {
        let all: Ns = self.samples.iter().map(Sample::cpu).sum();
        let own = self.command_cpu().filter(|_| all > Ns::ZERO)?;
        Some(all.saturating_sub(own).as_secs() / all.as_secs())
    }

    /// The instructions a cycle with which instructions were estimated, if they were.
    fn estimated_ipc(&self) -> Option<f64> {
        let column = match self.charge {
            Charge::Auto | Charge::Machine => "instructions",
            Charge::Command => "command_instructions",
        };
        let estimated = self.trace.kinds().get(column) == Some(&ColumnKind::Estimated);
        let profile = &self.trace.manifest().profile;
        let ipc = self.reference.as_ref().map_or(*profile.instructions_per_cycle, |r| *r.ipc);
        estimated.then_some(ipc)
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
            estimated_ipc: self.estimated_ipc(),
            cpu_s: self.samples.iter().map(Sample::cpu).sum::<Ns>().as_secs(),
            command_cpu_s: self.command_cpu().map(Ns::as_secs),
            other_cpu_share: self.other_cpu_share(),
            steal_s: self.measured_sum("steal_ns", |s| s.steal),
            throttled_s: self.measured_sum("throttled_ns", |s| s.throttled),
            block_ios: self.footprint.requests,
            read_bytes: self.footprint.read_bytes.0,
            write_bytes: self.footprint.write_bytes.0,
            rx_bytes: sum(|d| d.received),
            tx_bytes: sum(|d| d.sent),
            devices: self.devices(),
            read_amplification: self.trace.read_amplification(),
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

/// The report of the replays on a storage.
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
