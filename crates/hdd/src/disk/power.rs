//! Power parameters of a disk, and their checks.

use super::error::{DiskConfigError, at_least, at_most, wrong};
use gordon_units::{Ns, Sourced, Watts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Power consumption.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerConfig {
    /// Power while the spindle turns and the arm is at rest.
    pub idle: Sourced<Watts>,
    /// Power while the mechanism reads.
    pub read: Sourced<Watts>,
    /// Power while the mechanism writes.
    pub write: Sourced<Watts>,
    /// Low-power states, entered after idle time, in order of falling power. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<PowerState>,
    /// Adapts the idle time before the low-power states to the workload. If it is left out, the
    /// idle times are fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<AdaptiveConfig>,
    /// The state in which a host can put the disk. The disk does not enter it on its own; what
    /// commands it, such as `gordon cost replicas`, says when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standby: Option<StandbyConfig>,
}

/// The spun-down state that a host can command.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StandbyConfig {
    /// Power in the state.
    pub draws: Sourced<Watts>,
    /// Time to leave the state, by which the next request is delayed.
    pub wake: Sourced<Ns>,
    /// Total energy to leave the state, in joules.
    pub wake_energy_j: Sourced<f64>,
    /// Number of stops and starts of the spindle for which the disk is rated. Default: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Sourced<u64>>,
}

/// A state in which a disk draws less power than at idle.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// Name of the state, such as `standby` or `sleep`.
    pub name: String,
    /// Idle time after which the disk enters the state. Must be longer than that of the state
    /// before it in the list.
    pub after: Sourced<Ns>,
    /// Power in the state.
    pub draws: Sourced<Watts>,
    /// Time to leave the state, by which the next request is delayed.
    pub wake: Sourced<Ns>,
    /// Total energy to leave the state, in joules.
    pub wake_energy_j: Sourced<f64>,
}

/// An idle time before the low-power states that adapts to the workload (Douglis, Krishnan,
/// Bershad, "Adaptive Disk Spin-down Policies for Mobile Computers", USENIX Mobile and
/// Location-Independent Computing, 1995).
///
/// A wake-up is unwelcome if it takes more than a given fraction of the idle time before it: then
/// the idle time before the first state grows by a step, otherwise it shrinks by a step. The idle
/// times of the other states keep their distance from that of the first.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// Fraction of the idle time that a wake-up may take, such as 0.05. A wake-up that takes longer
    /// makes the idle time before the first state grow; any other makes it shrink.
    pub tolerance: Sourced<f64>,
    /// Amount by which the idle time grows or shrinks.
    pub step: Sourced<Ns>,
    /// Minimum idle time before the first state.
    pub least: Sourced<Ns>,
    /// Maximum idle time before the first state.
    pub most: Sourced<Ns>,
}

impl PowerConfig {
    /// The same disk without low-power states: it is always awake.
    #[must_use]
    pub fn always_awake(&self) -> Self {
        Self { states: Vec::new(), adaptive: None, ..self.clone() }
    }

    /// The same disk, whose host puts it in standby after it was idle for `after`; `None` if its
    /// standby state is not known.
    #[must_use]
    pub fn in_standby_after(&self, after: Ns) -> Option<Self> {
        let standby = self.standby.as_ref()?;
        let state = PowerState {
            name: "standby".into(),
            after: after.into(),
            draws: standby.draws.clone(),
            wake: standby.wake.clone(),
            wake_energy_j: standby.wake_energy_j.clone(),
        };
        Some(Self { states: vec![state], adaptive: None, ..self.clone() })
    }

    /// The idle time from which on standby saves energy, if the disk enters it at once; `None` if
    /// its standby state is not known, and [`Ns::MAX`] if it draws as much as an idle disk.
    ///
    /// An idle time of `t` in standby and the wake-up after it need `draws x t + wake energy`; an
    /// idle disk needs `idle x (t + wake)`.
    pub fn break_even(&self) -> Option<Ns> {
        let standby = self.standby.as_ref()?;
        let saved = self.idle.0 - standby.draws.0;
        let cost = *standby.wake_energy_j - self.idle.0 * standby.wake.as_secs();
        Some(match cost > 0.0 {
            true if saved > 0.0 => Ns::from_secs(cost / saved),
            true => Ns::MAX,
            false => Ns::ZERO,
        })
    }

    /// Checks that reading and writing draw at least the idle power.
    pub(crate) fn check(&self) -> Result<(), DiskConfigError> {
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

    /// Checks that each state is entered later than the one before it and draws at most as much.
    pub(crate) fn check_states(&self) -> Result<(), DiskConfigError> {
        if let Some(standby) = &self.standby {
            if !(0.0..=self.idle.0).contains(&standby.draws.0) {
                let must = format!("from 0 to the {} W of an idle disk", self.idle.0);
                return Err(wrong("power.standby.draws", standby.draws.value, must));
            }
            if !(*standby.wake_energy_j >= 0.0 && standby.wake_energy_j.is_finite()) {
                let must = "0 or more".to_owned();
                return Err(wrong("power.standby.wake_energy_j", *standby.wake_energy_j, must));
            }
        }
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
