//! What a disk draws, and what it does to draw less.

use super::config::{DiskConfigError, at_least, at_most, wrong};
use gordon_units::{Ns, Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it draws.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerConfig {
    /// Spinning, arm at rest.
    pub idle: Sourced<Watts>,
    /// While the mechanism reads.
    pub read: Sourced<Watts>,
    /// While it writes.
    pub write: Sourced<Watts>,
    /// What it does when nobody has asked for anything for long, the lightest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<PowerState>,
    /// Has the time before they are entered follow what is asked; without it, it stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<AdaptiveConfig>,
}

/// A state in which a disk draws less than idle.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// What it is called: standby, sleep.
    pub name: String,
    /// How long nothing is asked until it is entered.
    pub after: Sourced<Ns>,
    /// What it draws.
    pub draws: Sourced<Watts>,
    /// How long the next request waits until the disk is back.
    pub wake: Sourced<Ns>,
    /// What that takes in all, in joules.
    pub wake_energy_j: Sourced<f64>,
}

/// A time before the states below idle are entered that follows what is asked (Douglis, Krishnan,
/// Bershad, "Adaptive Disk Spin-down Policies for Mobile Computers", USENIX Mobile and
/// Location-Independent Computing, 1995).
///
/// A wake is unwelcome where it takes more than a part of the quiet time before it: then the disk
/// waits longer from then on, else it waits less. It is `after` of the first state that moves;
/// those of the others keep their distance from it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// The part of the quiet time that waking may take.
    pub tolerance: Sourced<f64>,
    /// What the time moves by.
    pub step: Sourced<Ns>,
    /// The shortest that it gets.
    pub least: Sourced<Ns>,
    /// The longest.
    pub most: Sourced<Ns>,
}

impl PowerConfig {
    /// Whether reading and writing draw no less than idling.
    pub(in crate::disk) fn check(&self) -> Result<(), DiskConfigError> {
        let all = [
            ("power.idle", &self.idle, 0.0),
            ("power.read", &self.read, self.idle.0),
            ("power.write", &self.write, self.idle.0),
        ];
        for (key, value, least) in all {
            if !(value.0 >= least && value.0.is_finite()) {
                return Err(wrong(key, value.value, format!("at least {}", Watts(least))));
            }
        }
        Ok(())
    }

    /// Whether each state is entered later than the one above it and draws no more.
    pub(super) fn check_states(&self) -> Result<(), DiskConfigError> {
        let mut least = self.idle.0;
        for (at, state) in self.states.iter().enumerate() {
            if !(0.0..=least).contains(&state.draws.0) {
                let must = format!("from 0 to the {least} W of the state above it");
                return Err(wrong("power.states[].draws", state.draws.value, must));
            }
            least = state.draws.0;
            if let Some(above) = at.checked_sub(1).map(|above| &self.states[above]) {
                let sooner = *above.after + Ns(1);
                at_least("power.states[].after", *state.after, sooner)?;
            }
            if !(*state.wake_energy_j >= 0.0 && state.wake_energy_j.is_finite()) {
                let must = "0 or more".to_owned();
                return Err(wrong("power.states[].wake_energy_j", *state.wake_energy_j, must));
            }
        }
        let Some(adaptive) = &self.adaptive else { return Ok(()) };
        let Some(first) = self.states.first() else {
            let must = "power.states to enter, or no power.adaptive".to_owned();
            return Err(wrong("power.states", "empty", must));
        };
        if !(*adaptive.tolerance > 0.0 && adaptive.tolerance.is_finite()) {
            let must = "above 0, as 0.05".to_owned();
            return Err(wrong("power.adaptive.tolerance", *adaptive.tolerance, must));
        }
        at_least("power.adaptive.step", *adaptive.step, Ns(1))?;
        at_most("power.adaptive.least", *adaptive.least, *first.after)?;
        at_least("power.adaptive.most", *adaptive.most, *first.after)
    }
}
