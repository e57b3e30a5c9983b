//! What all models take of a machine: its cores, its power, and what it costs.

use super::cores::Cores;
use super::machine::Machine;
use super::node::Power;

/// Hours of a month for which the price of a volume is.
const HOURS_OF_MONTH: f64 = 730.0;

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

    /// Speed of a lone thread relative to that of a processor while all are busy; `None` if unknown.
    pub(crate) fn lone_gain(&self) -> Option<f64> {
        self.core_speed_single.as_ref().map(|single| **single / *self.core_speed)
    }

    /// Power of the whole machine; `None` if it is unknown.
    pub(crate) fn power(&self) -> Option<Power> {
        let (idle, active) = self.idle.as_ref().zip(self.active.as_ref())?;
        Some(Power { idle: **idle, active: **active })
    }

    /// What it costs with a volume of this size; `None` if its price is unknown.
    pub(crate) fn rate(&self, volume_gib: f64) -> Option<Rate> {
        let per_hour = **self.price_per_hour.as_ref()?;
        let volume = self
            .volume_price_per_gib_month
            .as_ref()
            .map_or(0.0, |price| **price * volume_gib / HOURS_OF_MONTH);
        let minimum = self.minimum_billing.as_ref().map_or(0.0, |time| time.as_secs());
        Some(Rate { per_hour: per_hour + volume, minimum })
    }
}
