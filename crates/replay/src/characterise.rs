//! Bandwidth of a simulated device by transfer size and queue depth, measured like that of real
//! storage: closed loops, and reads only of addresses that hold data. Each load runs on a device of
//! its own.
//!
//! The time of writes includes a final flush, since data in a cache are not written yet.

use crate::disk::DiskDevice;
use crate::error::{ReplayError, option_name};
use crate::host::{CompletedRequest, HostPolicy, Observer, Pacing, drive};
use crate::load::{AccessKind, AccessOrder, Pattern, SyntheticConfig, SyntheticLoad};
use crate::results::ratio;
use crate::threads::on_all_cores;
use gordon_blockio::{Device, Request, SECTOR};
use gordon_blockio::{LatencyHistogram, LatencySummary};
use gordon_hdd::SchedulingPolicy;
use gordon_hdd::drive::StripeConfig;
use gordon_sim::stripe::Stripe;
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Bytes, Ns, Progress};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// Minimum span of loads on new flash, if none is given. Filling all of a large map would take
/// long, and on flash the place of a page makes no difference to its times.
const FLASH_SPAN: Bytes = Bytes(1 << 30);
/// Minimum span in multiples of the outstanding bytes, since requests for the same page would be
/// merged.
const SPAN_PER_OUTSTANDING: u64 = 32;

/// Configuration of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacteriseConfig {
    /// The device.
    pub device: StorageConfig,
    /// Stripe over several such devices; `None` for a single one.
    #[serde(default)]
    pub stripe: Option<StripeConfig>,
    /// Span of the loads in bytes, from address 0. Default: all of a disk, the preconditioned part
    /// of flash, and of new flash 1 GiB or what the queue depth of each point needs.
    #[serde(default)]
    pub span: Option<Bytes>,
    /// The loads.
    pub points: Vec<Point>,
    /// Maximum number of bytes of each load, except that its queue is filled at least twice.
    pub bytes: Bytes,
    /// Maximum number of requests of each load, except that its queue is filled at least twice.
    pub requests: u64,
    /// Random seed of the addresses.
    pub seed: u64,
}

/// A device of either kind and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StorageConfig {
    /// A hard disk.
    Disk {
        /// The disk.
        device: DiskDevice,
        /// Scheduling policy; `None` for that of the disk.
        #[serde(default)]
        scheduler: Option<SchedulingPolicy>,
    },
    /// Flash.
    Flash {
        /// The device.
        device: Box<SsdConfig>,
        /// Fraction of the exported capacity that is mapped before, in the steady state of random
        /// overwrites.
        #[serde(default)]
        precondition: Option<f64>,
    },
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Order of the addresses.
    pub pattern: AccessOrder,
    /// Reads or writes.
    pub op: AccessKind,
    /// Size of a request in bytes.
    pub size: Bytes,
    /// Number of outstanding requests.
    pub depth: u32,
}

/// Results of all loads.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CharacteriseReport {
    /// Number of devices.
    pub devices: u32,
    /// Exported capacity in bytes.
    pub capacity_bytes: u64,
    /// Raw capacity of all arrays in bytes; only for flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_capacity_bytes: Option<u64>,
    /// Raw capacity minus exported capacity; only for flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_capacity_bytes: Option<u64>,
    /// Largest span of a load, in bytes.
    pub span_bytes: u64,
    /// Results in the order of the loads.
    pub points: Vec<MeasuredPoint>,
}

/// Result of one load.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SimulatedPoint")]
pub struct MeasuredPoint {
    /// Order of the addresses.
    pub pattern: AccessOrder,
    /// Reads or writes.
    pub op: AccessKind,
    /// Size of a request in bytes.
    pub size_bytes: u64,
    /// Number of outstanding requests.
    pub queue_depth: u32,
    /// Span of the load in bytes.
    pub span_bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Time from the first issue to the last completion, or to the end of the flush after writes.
    pub elapsed_s: f64,
    /// Bandwidth in 10^6 bytes per second.
    pub bandwidth_mb_s: f64,
    /// Requests per second.
    pub iops: f64,
    /// Latency of the requests, without the flush.
    pub latency_us: LatencySummary,
}

/// Measures all loads, in parallel on all cores.
///
/// # Errors
/// Returns an error if the device is invalid, a load does not fit, or `progress` stops the run.
pub fn characterise(
    config: &CharacteriseConfig,
    progress: &Progress,
) -> Result<CharacteriseReport, ReplayError> {
    match &config.device {
        StorageConfig::Disk { device, scheduler } => {
            let disk = device.drive(*scheduler, config.stripe)?;
            let capacity = disk.capacity();
            config.measure_all(capacity, |_| capacity, |_| Ok(disk.clone()), progress)
        }
        StorageConfig::Flash { device, precondition } => {
            let flash = FlashDevices::new(config, (**device).clone(), *precondition, progress)?;
            let raw = device.raw_capacity()?;
            let report = match config.stripe {
                None => {
                    let capacity = flash.member(Bytes::ZERO, progress)?.capacity();
                    let span = |point: &Point| flash.span(point, capacity);
                    config.measure_all(
                        capacity,
                        span,
                        |held| flash.member(held, progress),
                        progress,
                    )
                }
                Some(stripe) => {
                    let make = |held| flash.striped(stripe, held, progress);
                    let capacity = make(Bytes::ZERO)?.capacity();
                    config.measure_all(
                        capacity,
                        |point| flash.span(point, capacity),
                        make,
                        progress,
                    )
                }
            }?;
            let raw = raw.0 * u64::from(report.devices);
            let spare = Some(raw.saturating_sub(report.capacity_bytes));
            Ok(CharacteriseReport {
                raw_capacity_bytes: Some(raw),
                spare_capacity_bytes: spare,
                ..report
            })
        }
    }
}

/// A source of identical flash devices.
struct FlashDevices {
    config: SsdConfig,
    seed: u64,
    precondition: Option<f64>,
    /// A device in its steady state, which takes long to prepare; copied for each load.
    preconditioned: Option<Ssd>,
}

impl FlashDevices {
    fn new(
        measurement: &CharacteriseConfig,
        mut config: SsdConfig,
        precondition: Option<f64>,
        progress: &Progress,
    ) -> Result<Self, ReplayError> {
        // The flush after a load writes the buffer out.
        config.ftl.protected = None;
        let preconditioned = match precondition {
            Some(part) if !(0.0..=1.0).contains(&part) => {
                let why = format!("{part} is not a part of the capacity");
                return Err(ReplayError::option("precondition", why, "a number from 0 to 1"));
            }
            Some(part) => {
                let mut ssd = Ssd::with_seed(&config, measurement.seed)?;
                if let Some(span) = measurement.span {
                    // Covers all addresses that may be read; the member of a stripe maps more than
                    // it needs.
                    ssd.preload(Bytes::ZERO, span.min(ssd.capacity()));
                }
                ssd.precondition(part, progress)?;
                Some(ssd)
            }
            None => None,
        };
        Ok(Self { config, seed: measurement.seed, precondition, preconditioned })
    }

    /// A device with data in the first `held` bytes.
    fn member(&self, held: Bytes, progress: &Progress) -> Result<Ssd, ReplayError> {
        if let Some(preconditioned) = &self.preconditioned {
            return Ok(preconditioned.clone());
        }
        let mut ssd = Ssd::with_seed(&self.config, self.seed)?;
        if held > Bytes::ZERO {
            ssd.preload(Bytes::ZERO, held.min(ssd.capacity()));
        }
        ssd.load(progress)?;
        Ok(ssd)
    }

    /// A stripe with data in the first `held` bytes; each member holds its share in whole chunks.
    fn striped(
        &self,
        stripe: StripeConfig,
        held: Bytes,
        progress: &Progress,
    ) -> Result<Stripe<Ssd>, ReplayError> {
        let StripeConfig { disks, unit, .. } = stripe;
        if stripe != (StripeConfig { disks, unit, ..StripeConfig::default() }) {
            let why = "copies, a shared bus and joined requests are of disks";
            return Err(ReplayError::impossible("an array of flash", why, "a stripe alone"));
        }
        let row = unit.0.saturating_mul(disks.into()).max(1);
        let held = Bytes(held.0.div_ceil(row).saturating_mul(unit.0));
        let member = self.member(held, progress)?;
        Ok(Stripe::of(member, disks, unit)?)
    }

    /// Default span of a load.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn span(&self, point: &Point, capacity: Bytes) -> Bytes {
        let sectors = (capacity.0 / SECTOR.0) as f64;
        match self.precondition {
            Some(part) if part > 0.0 => SECTOR * (sectors * part) as u64,
            _ => {
                let outstanding = point.size.0.saturating_mul(point.depth.into());
                Bytes(outstanding.saturating_mul(SPAN_PER_OUTSTANDING))
                    .max(FLASH_SPAN)
                    .min(capacity)
            }
        }
    }
}

impl CharacteriseConfig {
    /// Measures each load on a device of its own, which `make` creates with this many bytes of
    /// data.
    fn measure_all<D: Device>(
        &self,
        capacity: Bytes,
        span: impl Fn(&Point) -> Bytes + Sync,
        make: impl Fn(Bytes) -> Result<D, ReplayError> + Sync,
        progress: &Progress,
    ) -> Result<CharacteriseReport, ReplayError> {
        let total = self.points.iter().map(|point| self.count(point)).sum();
        progress.total.fetch_add(total, Ordering::Relaxed);
        let one = |point: &Point| {
            let span = self.span.unwrap_or_else(|| span(point));
            let load = self.load(point, span, capacity)?;
            let device = make(load.preloaded())?;
            measure(device, load, point, span, progress)
        };
        let points =
            on_all_cores(|| self.points.par_iter().map(one).collect::<Result<Vec<_>, _>>())?;
        Ok(CharacteriseReport {
            devices: self.stripe.map_or(1, |stripe| stripe.disks),
            capacity_bytes: capacity.0,
            raw_capacity_bytes: None,
            spare_capacity_bytes: None,
            span_bytes: points.iter().map(|point| point.span_bytes).max().unwrap_or_default(),
            points,
        })
    }

    /// Number of requests of a load.
    fn count(&self, point: &Point) -> u64 {
        let fits = (self.bytes.0 / point.size.0.max(1)).min(self.requests);
        fits.max(2 * u64::from(point.depth))
    }

    fn load(
        &self,
        point: &Point,
        span: Bytes,
        capacity: Bytes,
    ) -> Result<SyntheticLoad, ReplayError> {
        let Point { pattern, op, size, depth } = *point;
        if depth == 0 {
            return Err(ReplayError::option("depths", "0 lets no request out", "at least 1"));
        }
        let bench = SyntheticConfig {
            pattern: match (pattern, op) {
                (AccessOrder::Sequential, AccessKind::Read) => Pattern::SequentialRead,
                (AccessOrder::Sequential, AccessKind::Write) => Pattern::SequentialWrite,
                (AccessOrder::Random, AccessKind::Read) => Pattern::RandomRead,
                (AccessOrder::Random, AccessKind::Write) => Pattern::RandomWrite,
            },
            size: Some(size),
            requests: self.count(point),
            span: Some(span),
            read_share: None,
            hot_space: None,
            hot_share: None,
            exponent: None,
            way: None,
            order: None,
            queues: None,
            every: None,
            fsync: None,
        };
        bench.resolve(capacity, self.seed).map_err(|error| match error {
            ReplayError::Impossible { what, why, hint } if what == option_name("size") => {
                ReplayError::option("sizes", why, &hint)
            }
            other => other,
        })
    }
}

/// Measures one load.
fn measure(
    mut device: impl Device,
    load: SyntheticLoad,
    point: &Point,
    span: Bytes,
    progress: &Progress,
) -> Result<MeasuredPoint, ReplayError> {
    let Point { pattern, op, size, depth } = *point;
    let policy =
        HostPolicy { pacing: Pacing::Closed, depth, split: None, wrap: false, weights: vec![1] };
    let mut latencies = LatencyObserver::default();
    let outcome = drive(&mut device, load, &policy, &mut latencies, progress)?;
    if outcome.failed > 0 {
        let why =
            format!("it wore out: {} of {} requests failed", outcome.failed, outcome.requests);
        return Err(ReplayError::impossible("device", why, "fewer bytes, or more endurance"));
    }
    let end = match op {
        AccessKind::Read => outcome.simulated,
        AccessKind::Write => flushed(&mut device, outcome.simulated),
    };
    let (bytes, seconds) = (outcome.requests * size.0, end.as_secs());
    Ok(MeasuredPoint {
        pattern,
        op,
        size_bytes: size.0,
        queue_depth: depth,
        span_bytes: span.0,
        requests: outcome.requests,
        elapsed_s: seconds,
        bandwidth_mb_s: ratio(bytes, 1_000_000) / seconds,
        iops: ratio(outcome.requests, 1) / seconds,
        latency_us: latencies.0.summary(),
    })
}

/// Flushes the device. Returns when all data are durable.
fn flushed(device: &mut impl Device, at: Ns) -> Ns {
    let mut completed = Vec::new();
    device.submit(at, 0, Request::FLUSH);
    device.advance(Ns::MAX, &mut completed);
    completed.last().expect("a device answers a flush").at
}

/// Records only latencies.
#[derive(Default)]
struct LatencyObserver(LatencyHistogram);

impl<D> Observer<D> for LatencyObserver {
    fn arrived(&mut self, _: &D, _: Ns) {}

    fn completed(&mut self, _: &D, done: &CompletedRequest) -> Result<(), ReplayError> {
        self.0.record(done.completed - done.arrived);
        Ok(())
    }
}
