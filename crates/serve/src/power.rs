//! The modelled power of the memories.

use crate::counters::Counts;
use gordon_objectcache::Stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The modelled power of the memories of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerModel {
    /// Watts of the DRAM while nothing accesses it.
    pub dram_idle_w: f64,
    /// Joules for each byte that DRAM delivers or takes.
    pub dram_j_per_byte: f64,
    /// Watts of the flash while nothing accesses it.
    pub flash_idle_w: f64,
    /// Joules for each byte read from flash.
    pub flash_read_j_per_byte: f64,
    /// Joules for each byte written to flash, with its share of the erases.
    pub flash_write_j_per_byte: f64,
}

impl PowerModel {
    /// The energy of `seconds` with this traffic.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn energy(&self, seconds: f64, counts: &Counts, cache: &Stats) -> Energy {
        // Every body passes DRAM once on its way out, and once more when it comes in.
        let dram_bytes =
            cache.events.dram_hit_bytes + cache.events.flash_hit_bytes + 2 * counts.origin_bytes;
        let idle_j = seconds * (self.dram_idle_w + self.flash_idle_w);
        let dram_active_j = dram_bytes as f64 * self.dram_j_per_byte;
        let flash_read_j = cache.events.read_bytes as f64 * self.flash_read_j_per_byte;
        let flash_write_j = cache.written_bytes as f64 * self.flash_write_j_per_byte;
        let total = idle_j + dram_active_j + flash_read_j + flash_write_j;
        Energy {
            dram_idle_j: seconds * self.dram_idle_w,
            dram_active_j,
            flash_idle_j: seconds * self.flash_idle_w,
            flash_read_j,
            flash_write_j,
            mean_w: if seconds > 0.0 { total / seconds } else { 0.0 },
        }
    }
}

/// The modelled energy of the memories since the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ServeEnergy")]
pub struct Energy {
    /// DRAM that nothing accesses.
    pub dram_idle_j: f64,
    /// Accesses of DRAM.
    pub dram_active_j: f64,
    /// Flash that nothing accesses.
    pub flash_idle_j: f64,
    /// Reads of flash.
    pub flash_read_j: f64,
    /// Writes to flash.
    pub flash_write_j: f64,
    /// Mean power of all of these.
    pub mean_w: f64,
}
