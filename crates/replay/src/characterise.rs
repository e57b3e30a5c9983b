//! Bandwidth of a simulated device against transfer size and queue depth, as benchmarks of real
//! storage measure it: in a closed loop over a span that holds data. Each load runs on a device of its
//! own, as it was before all of them.
//!
//! The time of writes ends with a flush: what a cache has taken is not written yet.

use crate::ReplayError;
use crate::disk::DiskDevice;
use crate::host::{Done, Observer, Pacing, Rules, drive};
use crate::load::{Bench, Order, Pattern, Way};
use crate::results::latency::{Latency, LatencySummary};
use crate::results::ratio;
use crate::run::Progress;
use gordon_device::disk::Policy;
use gordon_device::drive::StripeConfig;
use gordon_device::ssd::{Ssd, SsdConfig};
use gordon_device::stripe::Stripe;
use gordon_device::{Device, Op, Request, SECTOR};
use gordon_units::{Bytes, Ns};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// Bytes that loads on flash run over where nothing else is said: all of a large map would take long
/// to fill, and where on flash a page lies makes no difference.
const FLASH_SPAN: Bytes = Bytes(1 << 30);

/// What is asked, of what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// The device.
    pub device: Storage,
    /// So many of it as one; without it, one.
    #[serde(default)]
    pub stripe: Option<StripeConfig>,
    /// Bytes that the loads run over, from address 0: without it, all of a disk, what is
    /// preconditioned of flash, or 1 GiB.
    #[serde(default)]
    pub span: Option<Bytes>,
    /// The loads.
    pub points: Vec<Point>,
    /// The most bytes of each, as far as its queue is filled twice.
    pub bytes: Bytes,
    /// The most requests of each, as far as its queue is filled twice.
    pub requests: u64,
    /// Random places follow from it.
    pub seed: u64,
}

/// A device of either kind, as it is described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Storage {
    /// A hard disk.
    Disk {
        /// The disk.
        device: DiskDevice,
        /// Which request comes next; without it, as the disk has it.
        #[serde(default)]
        scheduler: Option<Policy>,
    },
    /// Flash.
    Flash {
        /// The device.
        device: Box<SsdConfig>,
        /// Another capacity than the device's.
        #[serde(default)]
        capacity: Option<Bytes>,
        /// The part of what it exports that is mapped before, in the steady state of random overwrites.
        #[serde(default)]
        precondition: Option<f64>,
    },
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// In which order places come.
    pub pattern: Order,
    /// Reads or writes.
    pub op: Way,
    /// Bytes of a request.
    pub size: Bytes,
    /// Requests outstanding.
    pub depth: u32,
}

/// What all came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Devices that it is made of.
    pub devices: u32,
    /// Bytes that it exports.
    pub capacity_bytes: u64,
    /// Bytes that the loads ran over.
    pub span_bytes: u64,
    /// In the order of the loads.
    pub points: Vec<Measured>,
}

/// What one load came to.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// In which order places came.
    pub pattern: Order,
    /// Reads or writes.
    pub op: Way,
    /// Bytes of a request.
    pub size_bytes: u64,
    /// Requests outstanding.
    pub queue_depth: u32,
    /// Requests.
    pub requests: u64,
    /// From the first issue to the last completion, with the flush after writes.
    pub elapsed_s: f64,
    /// 10^6 bytes a second.
    pub bandwidth_mb_s: f64,
    /// Requests a second.
    pub iops: f64,
    /// Of each request, without the flush.
    pub latency_us: LatencySummary,
}

/// Carries out all loads, on all cores.
///
/// # Errors
/// A device that cannot be, a load that does not fit it, a stop.
pub fn characterise(survey: &Survey, progress: &Progress) -> Result<Report, ReplayError> {
    match &survey.device {
        Storage::Disk { device, scheduler } => {
            let disk = device.drive(*scheduler, survey.stripe)?;
            let span = survey.span.unwrap_or(disk.capacity());
            survey.all(&disk, span, progress)
        }
        Storage::Flash { device, capacity, precondition } => {
            let config = match capacity {
                None => (**device).clone(),
                Some(capacity) => (**device).clone().with_capacity(*capacity),
            };
            let mut one = Ssd::with_seed(&config, survey.seed)?;
            let (members, chunk) =
                survey.stripe.map_or((1, SECTOR), |stripe| (stripe.disks, stripe.unit));
            let own = one.capacity();
            if let Some(fraction) = precondition
                && !(0.0..=1.0).contains(fraction)
            {
                let why = format!("{fraction} is not a part of the capacity");
                return Err(ReplayError::impossible("precondition", why, "a number from 0 to 1"));
            }
            let whole = own * u64::from(members);
            let span = survey.span.unwrap_or_else(|| match precondition {
                Some(fraction) if *fraction > 0.0 => part(whole, *fraction),
                _ => FLASH_SPAN.min(whole),
            });
            // Its share of the span, in whole chunks.
            let chunks = span.0.div_ceil(chunk.0.max(1)).div_ceil(members.max(1).into());
            let share = own.0.min(chunks.saturating_mul(chunk.0));
            if share > 0 {
                one.preload(Bytes::ZERO, Bytes(share));
            }
            match precondition {
                Some(fraction) => one.precondition(*fraction),
                None => one.load(),
            }
            match survey.stripe {
                None => survey.all(&one, span, progress),
                Some(StripeConfig { disks, unit }) => {
                    let stripe = Stripe::of(one, disks, unit)?;
                    // Whole chunks only.
                    let span = survey.span.unwrap_or(span.min(stripe.capacity()));
                    survey.all(&stripe, span, progress)
                }
            }
        }
    }
}

/// A part of a capacity, in whole sectors.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn part(capacity: Bytes, fraction: f64) -> Bytes {
    SECTOR * ((capacity.0 / SECTOR.0) as f64 * fraction) as u64
}

impl Survey {
    /// Each load on a device like `base`.
    fn all<D: Device + Clone + Send + Sync>(
        &self,
        base: &D,
        span: Bytes,
        progress: &Progress,
    ) -> Result<Report, ReplayError> {
        let total = self.points.iter().map(|point| self.count(point)).sum();
        progress.total.store(total, Ordering::Relaxed);
        let points = self.points.par_iter();
        let points = points.map(|point| self.one(base.clone(), span, point, progress));
        Ok(Report {
            devices: self.stripe.map_or(1, |stripe| stripe.disks),
            capacity_bytes: base.capacity().0,
            span_bytes: span.0,
            points: points.collect::<Result<_, _>>()?,
        })
    }

    /// How many requests a load has.
    fn count(&self, point: &Point) -> u64 {
        let fits = (self.bytes.0 / point.size.0.max(1)).min(self.requests);
        fits.max(2 * u64::from(point.depth))
    }

    fn one(
        &self,
        mut device: impl Device,
        span: Bytes,
        point: &Point,
        progress: &Progress,
    ) -> Result<Measured, ReplayError> {
        let Point { pattern, op, size, depth } = *point;
        if depth == 0 {
            return Err(ReplayError::impossible("depth", "0 lets no request out", "at least 1"));
        }
        let bench = Bench {
            pattern: match (pattern, op) {
                (Order::Sequential, Way::Read) => Pattern::SequentialRead,
                (Order::Sequential, Way::Write) => Pattern::SequentialWrite,
                (Order::Random, Way::Read) => Pattern::RandomRead,
                (Order::Random, Way::Write) => Pattern::RandomWrite,
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
        };
        let load = bench.resolve(device.capacity(), self.seed)?;
        let rules =
            Rules { pacing: Pacing::Closed, depth, split: None, wrap: false, weights: vec![1] };
        let mut latencies = Latencies::default();
        let outcome = drive(&mut device, load, &rules, &mut latencies, progress)?;
        if outcome.failed > 0 {
            let why =
                format!("it wore out: {} of {} requests failed", outcome.failed, outcome.requests);
            return Err(ReplayError::impossible("device", why, "fewer bytes, or more endurance"));
        }
        let end = match op {
            Way::Read => outcome.simulated,
            Way::Write => flushed(&mut device, outcome.simulated),
        };
        let (bytes, seconds) = (outcome.requests * size.0, end.as_secs());
        Ok(Measured {
            pattern,
            op,
            size_bytes: size.0,
            queue_depth: depth,
            requests: outcome.requests,
            elapsed_s: seconds,
            bandwidth_mb_s: ratio(bytes, 1_000_000) / seconds,
            iops: ratio(outcome.requests, 1) / seconds,
            latency_us: latencies.0.summary(),
        })
    }
}

/// When everything is durable.
fn flushed(device: &mut impl Device, at: Ns) -> Ns {
    let (offset, len, mut completed) = (Bytes::ZERO, Bytes::ZERO, Vec::new());
    device.submit(at, 0, Request { op: Op::Flush, offset, len });
    device.advance(Ns::MAX, &mut completed);
    completed.last().expect("a device answers a flush").at
}

/// Nothing but latencies.
#[derive(Default)]
struct Latencies(Latency);

impl<D> Observer<D> for Latencies {
    fn arrived(&mut self, _: &D, _: Ns) {}

    fn completed(&mut self, _: &D, done: &Done) -> Result<(), ReplayError> {
        self.0.record(done.completed - done.arrived);
        Ok(())
    }
}
