//! Power supplies: what a machine draws at the plug for what its parts draw.
//!
//! Model: the loss of a supply is known at 10, 20, 50 and 100 % of its rated power, from its
//! efficiency there, and is linear in between. Below 10 % the loss stays as it is there: it is
//! mostly that of keeping the supply on. Above the rated power the efficiency stays. Left out:
//! temperature, the voltage of the line, and the ageing of supplies.

use crate::error::ClusterError;
use crate::space::find::part;
use gordon_units::{Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A kind of power supply, by its efficiency: power of the parts over power at the plug.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerSupply {
    /// One-line description of the part.
    pub summary: String,
    /// Efficiency at 10 % of the rated power. Default: the loss is that at 20 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_10: Option<Sourced<f64>>,
    /// Efficiency at 20 % of the rated power.
    pub at_20: Sourced<f64>,
    /// Efficiency at 50 % of the rated power.
    pub at_50: Sourced<f64>,
    /// Efficiency at the rated power.
    pub at_100: Sourced<f64>,
}

/// Shares of the rated power at which the efficiency is known.
const LOADS: [f64; 4] = [0.1, 0.2, 0.5, 1.0];

impl PowerSupply {
    /// What it draws at the plug at [`LOADS`], as shares of the rated power.
    fn drawn(&self) -> [f64; LOADS.len()] {
        let [_, low, half, full] = LOADS;
        let at_low = low / *self.at_20;
        let least = LOADS[0];
        [
            self.at_10.as_ref().map_or(least + (at_low - low), |at_10| least / **at_10),
            at_low,
            half / *self.at_50,
            full / *self.at_100,
        ]
    }

    /// Checks all values of the part `name`.
    ///
    /// # Errors
    /// Returns an error for an efficiency that is not above 0 and at most 1, and for a supply that
    /// would draw less at a higher load.
    pub(crate) fn check(&self, name: &str) -> Result<(), ClusterError> {
        let impossible = |key: &str, why: String| {
            Err(ClusterError::Impossible { what: format!("supply `{name}`: {key}"), why })
        };
        let given = [
            ("at_10", self.at_10.as_ref()),
            ("at_20", Some(&self.at_20)),
            ("at_50", Some(&self.at_50)),
            ("at_100", Some(&self.at_100)),
        ];
        for (key, efficiency) in given {
            if let Some(bad) = efficiency.filter(|share| !(***share > 0.0 && ***share <= 1.0)) {
                return impossible(key, format!("{} is not above 0 and at most 1", **bad));
            }
        }
        let drawn = self.drawn();
        match drawn.windows(2).position(|pair| pair[1] <= pair[0]) {
            Some(at) => {
                let why = "at the next higher load it would draw less at the plug".into();
                impossible(given[at].0, why)
            }
            None => Ok(()),
        }
    }
}

/// The power supplies of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    /// What they draw at the plug at [`LOADS`], as shares of the rated power.
    drawn: [f64; LOADS.len()],
    rated: Watts,
}

impl Supply {
    /// Supplies of a kind that together deliver at most `rated`.
    pub fn new(kind: &PowerSupply, rated: Watts) -> Self {
        Self { drawn: kind.drawn(), rated }
    }

    /// Power at the plug for parts that draw `parts`.
    pub fn plug(&self, parts: Watts) -> Watts {
        self.rated * on_curve(&LOADS, &self.drawn, parts / self.rated)
    }

    /// Power of the parts of a machine that draws `plug` at the plug.
    pub fn parts(&self, plug: Watts) -> Watts {
        self.rated * on_curve(&self.drawn, &LOADS, plug / self.rated).max(0.0)
    }
}

/// The value at `x` of a curve through points, with a slope of 1 below the first, and in proportion
/// to `x` above the last.
fn on_curve(xs: &[f64; LOADS.len()], ys: &[f64; LOADS.len()], x: f64) -> f64 {
    let last = LOADS.len() - 1;
    match xs.iter().position(|point| x <= *point) {
        Some(0) => ys[0] + (x - xs[0]),
        Some(at) => {
            let share = (x - xs[at - 1]) / (xs[at] - xs[at - 1]);
            ys[at - 1] + share * (ys[at] - ys[at - 1])
        }
        None => ys[last] * x / xs[last],
    }
}

/// The power supply of a node that is made of parts: its rated power follows from theirs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSupply {
    /// Name of the supply in the catalogue of parts.
    pub part: String,
    /// Share of its rated power that the node draws with all parts active, above 0 and at most 1.
    pub load: Sourced<f64>,
}

/// A power supply of a kind, by the share of its rated power that all parts of a node draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadedSupply {
    drawn: [f64; LOADS.len()],
    load: f64,
}

impl LoadedSupply {
    /// The supply of a node, from the kinds of a catalogue.
    ///
    /// # Errors
    /// Returns an error if the kind is not in the catalogue, or if a value is out of its range.
    pub fn new(
        supply: &NodeSupply,
        kinds: &BTreeMap<String, PowerSupply>,
    ) -> Result<Self, ClusterError> {
        let kind = part("supply", kinds, &supply.part)?;
        kind.check(&supply.part)?;
        let load = *supply.load;
        if !(load > 0.0 && load <= 1.0) {
            return Err(ClusterError::Impossible {
                what: "overhead: supply.load".into(),
                why: format!("{load} is not above 0 and at most 1"),
            });
        }
        Ok(Self { drawn: kind.drawn(), load })
    }

    /// Power at the plug for parts that draw `parts`, and `most` if all are active.
    pub fn plug(&self, parts: Watts, most: Watts) -> Watts {
        if most.0 <= 0.0 {
            return parts;
        }
        Supply { drawn: self.drawn, rated: most * (1.0 / self.load) }.plug(parts)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn kind(at_10: Option<f64>, at_20: f64, at_50: f64, at_100: f64) -> PowerSupply {
        PowerSupply {
            summary: String::new(),
            at_10: at_10.map(Sourced::from),
            at_20: at_20.into(),
            at_50: at_50.into(),
            at_100: at_100.into(),
        }
    }

    #[track_caller]
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn the_efficiency_is_that_of_the_level_at_its_loads() {
        let supply = Supply::new(&kind(Some(0.9), 0.94, 0.96, 0.91), Watts(800.0));
        for (load, efficiency) in [(0.1, 0.9), (0.2, 0.94), (0.5, 0.96), (1.0, 0.91)] {
            near(supply.plug(Watts(800.0 * load)).0, 800.0 * load / efficiency);
        }
    }

    #[test]
    fn losses_are_linear_between_loads_and_constant_below() {
        // 160 W / 0.9 is 17.78 W of loss, 400 W / 0.94 is 25.53 W; 280 W is in the middle.
        let supply = Supply::new(&kind(None, 0.9, 0.94, 0.91), Watts(800.0));
        let [low, half] = [160.0 / 0.9 - 160.0, 400.0 / 0.94 - 400.0];
        near(supply.plug(Watts(280.0)).0, 280.0 + f64::midpoint(low, half));
        for parts in [0.0, 20.0, 80.0, 100.0] {
            near(supply.plug(Watts(parts)).0, parts + low);
        }
        near(supply.plug(Watts(1600.0)).0, 1600.0 / 0.91);
    }

    #[test]
    fn the_parts_of_a_plug_are_those_that_draw_it() {
        let supply = Supply::new(&kind(Some(0.9), 0.94, 0.96, 0.91), Watts(800.0));
        for parts in [0.0, 1.0, 79.0, 81.0, 160.0, 300.0, 400.0, 700.0, 800.0, 900.0] {
            near(supply.parts(supply.plug(Watts(parts))).0, parts);
        }
        near(supply.parts(Watts(1.0)).0, 0.0);
    }

    #[test]
    fn impossible_efficiencies_are_refused() {
        assert!(kind(None, 0.9, 0.94, 0.91).check("x").is_ok());
        for (bad, key) in [
            (kind(None, 0.0, 0.94, 0.91), "at_20"),
            (kind(None, 0.9, 1.1, 0.91), "at_50"),
            (kind(None, 0.9, 0.94, f64::NAN), "at_100"),
            (kind(Some(0.3), 0.9, 0.94, 0.91), "at_10"),
        ] {
            let error = bad.check("x").unwrap_err().to_string();
            assert!(error.contains(&format!("supply `x`: {key}")), "{error}");
        }
    }
}
