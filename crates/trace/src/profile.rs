//! Rates that replace counters on machines that do not have them.

use gordon_units::{Source, Sourced};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rates to estimate instructions and cache misses from CPU time, for machines that count neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Instructions per cycle of a busy core.
    pub instructions_per_cycle: Sourced<f64>,
    /// Last-level cache misses per thousand instructions.
    pub llc_misses_per_kilo_instruction: Sourced<f64>,
}

impl Default for Profile {
    fn default() -> Self {
        let table_4 = "Gordon, ASPLOS 2009, Table 4: Core 2, 1.5 instructions per cycle";
        let between = "between programs that stay in their caches (below 1) and programs that \
                       wait for memory (above 10); the power of main memory depends on it";
        Self {
            instructions_per_cycle: Sourced {
                value: 1.5,
                source: Source::Published(table_4.to_owned()),
            },
            llc_misses_per_kilo_instruction: Sourced {
                value: 3.0,
                source: Source::Assumed(between.to_owned()),
            },
        }
    }
}
