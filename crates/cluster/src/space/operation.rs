//! How machines are used, and what their electricity costs and emits.

use crate::error::ClusterError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Use of the machines of a survey, for what a run costs in all.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Years for which a machine is kept.
    pub years: f64,
    /// Hours of a year in which machines that are owned run jobs, if `runs_per_day` is not given.
    pub hours_per_year: f64,
    /// Runs of the job a day. Machines that are owned do nothing else. Default: as many as take
    /// `hours_per_year`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_day: Option<f64>,
    /// Price of a kWh, in the currency of the space.
    pub price_per_kwh: f64,
    /// Power usage effectiveness: energy of the building for each joule of its machines.
    pub pue: f64,
    /// Grams of CO2-equivalent of a kWh.
    pub grams_per_kwh: f64,
}

/// The ranges of the values.
const YEARS: [f64; 2] = [1e-3, 100.0];
const HOURS_PER_YEAR: [f64; 2] = [1e-3, 8784.0];
const RUNS_PER_DAY: [f64; 2] = [1e-6, 86_400_000.0];
const PRICE_PER_KWH: [f64; 2] = [0.0, 1e4];
const PUE: [f64; 2] = [1.0, 10.0];
const GRAMS_PER_KWH: [f64; 2] = [0.0, 2000.0];

impl Operation {
    /// Checks all values.
    ///
    /// # Errors
    /// Returns an error for a value outside of its range.
    pub fn check(&self) -> Result<(), ClusterError> {
        for (key, value, [least, most]) in [
            ("years", self.years, YEARS),
            ("hours_per_year", self.hours_per_year, HOURS_PER_YEAR),
            ("runs_per_day", self.runs_per_day.unwrap_or(1.0), RUNS_PER_DAY),
            ("price_per_kwh", self.price_per_kwh, PRICE_PER_KWH),
            ("pue", self.pue, PUE),
            ("grams_per_kwh", self.grams_per_kwh, GRAMS_PER_KWH),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ClusterError::Impossible {
                    what: format!("operation.{key}"),
                    why: format!("{value} is not {least} to {most}"),
                });
            }
        }
        Ok(())
    }

    /// Moves values outside of their ranges to the nearest end.
    pub(crate) fn clamp(&mut self) {
        let within = |value: &mut f64, [least, most]: [f64; 2]| *value = value.clamp(least, most);
        within(&mut self.years, YEARS);
        within(&mut self.hours_per_year, HOURS_PER_YEAR);
        within(&mut self.price_per_kwh, PRICE_PER_KWH);
        within(&mut self.pue, PUE);
        within(&mut self.grams_per_kwh, GRAMS_PER_KWH);
        if let Some(runs) = &mut self.runs_per_day {
            within(runs, RUNS_PER_DAY);
        }
    }
}
