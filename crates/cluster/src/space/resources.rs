//! What all models take of a machine: its cores, its power, what it costs, and the times of its
//! storage and network.

use super::cores::Cores;
use super::machine::{Machine, StorageTable};
use super::measured::{AccessPattern, MeasuredStorage, OpLoad, OpPatterns};
use super::node::Power;
use super::operation::Operation;
use super::supply::Supply;
use super::whole::WholePower;
use crate::space::config::Parts;
use crate::space::storage::DEFAULT_DEPTH;

/// Hours of a month, for which the price of a volume is.
pub(crate) const HOURS_OF_MONTH: f64 = 730.0;
const HOURS_OF_YEAR: f64 = 365.25 * 24.0;
/// Seconds for which a volume has its burst bandwidth: Amazon and Microsoft promise half an hour a
/// day (the sources of `storage` in the spaces ec2 and azure).
pub(crate) const BURST: f64 = 1800.0;

/// What a machine costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Price of an hour.
    pub per_hour: f64,
    /// Seconds for which the machine is billed at least.
    pub minimum: f64,
}

impl Rate {
    /// Price of `nodes` machines for `secs` seconds.
    pub fn price(&self, nodes: u32, secs: f64) -> f64 {
        self.per_hour * f64::from(nodes) * secs.max(self.minimum) / 3600.0
    }
}

impl Machine {
    /// Its cores.
    pub(crate) fn all_cores(&self) -> Cores {
        Cores {
            count: *self.cores,
            threads: self.threads_per_core.as_ref().map_or(1, |threads| **threads),
            single: self.lone_gain(),
        }
    }

    /// Speed of a lone thread relative to that of a processor while all are busy; `None` if
    /// unknown.
    pub(crate) fn lone_gain(&self) -> Option<f64> {
        self.core_speed_single.as_ref().map(|single| **single / *self.core_speed)
    }

    /// Power of the whole machine when idle and when all processors are busy; `None` if it is
    /// unknown.
    pub(crate) fn ends(&self) -> Option<Power> {
        if let Some(curve) = &self.power_curve {
            return Some(Power { idle: *curve.first()?, active: *curve.last()? });
        }
        let (idle, active) = self.idle.as_ref().zip(self.active.as_ref())?;
        Some(Power { idle: **idle, active: **active })
    }

    /// Power of the whole machine, with a supply of `parts`; `None` if it is unknown.
    pub(crate) fn power(&self, parts: &Parts) -> Option<WholePower> {
        let curve =
            self.power_curve.as_ref().and_then(|curve| (**curve).as_slice().try_into().ok());
        let whole = match curve {
            Some(curve) => WholePower::of_curve(curve),
            None => WholePower::from(self.ends()?),
        };
        let supply = self.supply.as_ref();
        let kind = supply.and_then(|supply| Some((parts.supply.get(&supply.part)?, supply)));
        Some(whole.with_supply(kind.map(|(kind, supply)| Supply::new(kind, *supply.rated))))
    }

    /// What it costs with a volume of this size; `None` if its price is unknown.
    pub(crate) fn rate(&self, volume_gib: f64) -> Option<Rate> {
        let per_hour = **self.price_per_hour.as_ref()?;
        let volume = self.volume_per_month(volume_gib) / HOURS_OF_MONTH;
        let minimum = self.minimum_billing.as_ref().map_or(0.0, |time| time.as_secs());
        Some(Rate { per_hour: per_hour + volume, minimum })
    }

    /// What `nodes` such machines with volumes of this size cost for a month of 730 hours; `None`
    /// if the price of an hour is unknown. A machine that is bought costs the same in each month
    /// until it is replaced, however many hours it works.
    pub(crate) fn price_per_month(
        &self,
        nodes: u32,
        volume_gib: f64,
        operation: Option<&Operation>,
    ) -> Option<f64> {
        let per_hour = **self.price_per_hour.as_ref()?;
        let machine = match self.purchase_price.as_ref().zip(operation) {
            Some((price, operation)) => {
                **price / (operation.years * HOURS_OF_YEAR / HOURS_OF_MONTH)
            }
            None => per_hour * HOURS_OF_MONTH,
        };
        Some(f64::from(nodes) * (machine + self.volume_per_month(volume_gib)))
    }

    fn volume_per_month(&self, gib: f64) -> f64 {
        self.volume_price_per_gib_month.as_ref().map_or(0.0, |price| **price * gib)
    }
}

/// How requests reach a storage.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct IoState {
    /// Whether a volume has its burst bandwidth.
    pub has_burst: bool,
    /// Whether all requests are random.
    pub is_random: bool,
}

/// A storage of a machine and what is known of its times, apart from the replay of a block log.
#[derive(Clone, Copy)]
pub(crate) struct StorageTimes<'a> {
    pub table: &'a StorageTable,
    /// Times of requests to a simulated part, if they are needed.
    pub part: Option<&'a MeasuredStorage>,
    /// Measured times.
    pub measured: Option<&'a MeasuredStorage>,
}

impl StorageTimes<'_> {
    /// Seconds for reads and writes at a number of outstanding requests: the longest of the times
    /// of the part, if the requests are random, the measured ones, and the limits of the volume.
    pub fn device_time(&self, loads: [OpLoad; 2], depth: f64, state: IoState) -> f64 {
        let table = self.table;
        let random = loads.map(|load| OpLoad { sequential: 0.0, ..load });
        let mut time = 0.0f64;
        if let Some(part) = self.part.filter(|_| state.is_random) {
            time = time.max(part.device_time(random, depth));
        }
        if let Some(measured) = self.measured {
            let loads = if state.is_random { random } else { loads };
            time = time.max(measured.device_time(loads, depth));
        }
        let [reads, writes] = loads;
        if let Some(bandwidth) = &table.bandwidth {
            let burst = table.burst.as_ref().filter(|_| state.has_burst).map_or(0.0, |rate| rate.0);
            let write = table.write_bandwidth.as_ref().unwrap_or(bandwidth);
            let secs = reads.bytes / bandwidth.0.max(burst) + writes.bytes / write.0.max(burst);
            time = time.max(secs);
        }
        if let Some(iops) = &table.iops {
            let write = table.write_iops.as_ref().unwrap_or(iops);
            time = time.max(reads.requests / **iops + writes.requests / **write);
        }
        if let Some(latency) = &table.latency {
            time = time.max((reads.requests + writes.requests) * latency.as_secs() / depth);
        }
        time
    }

    /// Sum of the latencies of requests to a volume, or to a measured storage without queueing;
    /// `None` if they are unknown.
    pub fn latencies(&self, loads: [OpLoad; 2]) -> Option<f64> {
        match &self.table.latency {
            Some(latency) => Some((loads[0].requests + loads[1].requests) * latency.as_secs()),
            None => Some(self.measured?.unloaded_latency(loads)),
        }
    }

    /// Bytes a second at which the storage reads or writes sequentially, of a volume with or
    /// without its burst; `None` if it has no bandwidth and no simulated part.
    pub fn bandwidth(&self, patterns: OpPatterns, has_burst: bool) -> Option<f64> {
        let of_times = |times: &MeasuredStorage| {
            let bytes = 1e9;
            let load = OpLoad { patterns, requests: bytes / 1e6, bytes, sequential: 1.0 };
            #[allow(clippy::cast_precision_loss)]
            let secs = times.device_time([load, OpLoad::none()], DEFAULT_DEPTH as f64);
            (secs > 0.0).then_some(bytes / secs)
        };
        let table = self.table;
        let of_volume = match patterns.sequential {
            AccessPattern::SequentialWrite => {
                table.write_bandwidth.as_ref().or(table.bandwidth.as_ref())
            }
            _ => table.bandwidth.as_ref(),
        };
        let burst = table.burst.as_ref().filter(|_| has_burst).map_or(0.0, |rate| rate.0);
        let limits = [
            of_volume.map(|rate| rate.0.max(burst)),
            self.part.and_then(of_times),
            self.measured.and_then(of_times),
        ];
        limits.into_iter().flatten().min_by(f64::total_cmp)
    }
}
