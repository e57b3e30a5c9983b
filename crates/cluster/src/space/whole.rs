//! The power of a whole machine, by how many of its processors are busy.
//!
//! Model: the power of a machine is known when it is idle and when all processors are busy, and is
//! linear in between; or it is known at each tenth of its load, as the results of SPECpower_ssj2008
//! print it, and is linear between those. It is measured at the plug. Simulated storage comes on
//! top: if the power supply is known, its parts draw their power through the supply, at the load
//! that the machine makes on it. The mean power of the machine over a run gives the load, so that a
//! supply whose efficiency differs within the run counts with that at the mean.

use super::config::Parts;
use super::find::part;
use super::machine::{CURVE_POINTS, Machine, StorageTable};
use super::node::{Energy, Power, StorageWork, storage_power};
use super::supply::Supply;
use crate::error::ClusterError;
use gordon_units::{Joules, Watts};

/// Power of a whole machine without simulated storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholePower {
    /// When idle, and when all processors are busy.
    pub ends: Power,
    /// Power from idle to all processors busy in steps of a tenth; `None` if it is linear.
    curve: Option<[Watts; CURVE_POINTS]>,
    /// The supply through which simulated storage draws its power; `None` if it is unknown.
    supply: Option<Supply>,
}

/// Power at the plug of a machine with one of its storages, when idle and when all of it is active;
/// `None` if the power of the machine is unknown.
///
/// # Errors
/// Returns an error if a part is not in the catalogue.
pub fn levels(
    machine: &Machine,
    storage: &StorageTable,
    parts: &Parts,
) -> Result<Option<Power>, ClusterError> {
    if let Some(supply) = &machine.supply {
        part("supply", &parts.supply, &supply.part)?.check(&supply.part)?;
    }
    let stored =
        storage_power(storage, parts)?.map_or_else(Default::default, |power| power.levels());
    Ok(machine.power(parts).map(|whole| Power {
        idle: whole.with_storage(whole.ends.idle, stored.idle),
        active: whole.with_storage(whole.ends.active, stored.most()),
    }))
}

impl From<Power> for WholePower {
    fn from(ends: Power) -> Self {
        Self { ends, curve: None, supply: None }
    }
}

impl WholePower {
    /// A machine with this power at each tenth of its load, from idle on.
    pub fn of_curve(curve: [Watts; CURVE_POINTS]) -> Self {
        let ends = Power { idle: curve[0], active: curve[CURVE_POINTS - 1] };
        Self { ends, curve: Some(curve), supply: None }
    }

    /// The machine with this power supply.
    #[must_use]
    pub fn with_supply(self, supply: Option<Supply>) -> Self {
        Self { supply, ..self }
    }

    /// Whether its power is linear in its busy time.
    pub fn is_linear(&self) -> bool {
        self.curve.is_none()
    }

    /// Power with this share of the processors busy, at most 1.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
    pub fn at(&self, share: f64) -> Watts {
        let share = share.min(1.0);
        let Some(curve) = &self.curve else {
            return self.ends.idle + (self.ends.active - self.ends.idle) * share;
        };
        let tenths = share * (CURVE_POINTS - 1) as f64;
        let below = (tenths as usize).min(CURVE_POINTS - 2);
        curve[below] + (curve[below + 1] - curve[below]) * (tenths - below as f64)
    }

    /// Energy over `secs` seconds, if all processors together are busy for `busy` of them, and
    /// evenly so.
    pub fn even(&self, secs: f64, busy: f64) -> Joules {
        match self.is_linear() {
            true => self.ends.energy(secs, busy.min(secs)),
            false if secs > 0.0 => Joules::of(self.at(busy / secs), secs),
            false => Joules::default(),
        }
    }

    /// Power at the plug of the machine when it draws `machine` without its storage, and of storage
    /// that draws `storage`.
    pub fn with_storage(&self, machine: Watts, storage: Watts) -> Watts {
        match &self.supply {
            Some(supply) => supply.plug(supply.parts(machine) + storage),
            None => machine + storage,
        }
    }

    /// Energy over `secs` seconds of the machine, which uses `machine` of it without its storage,
    /// and of simulated storage, if any.
    pub fn total(&self, secs: f64, machine: Joules, storage: Option<StorageWork>) -> Joules {
        let mut energy = Energy { cpu: machine, ..Energy::default() };
        if let Some(storage) = storage {
            storage.add(secs, &mut energy);
        }
        let sum = energy.total();
        if self.supply.is_none() || secs <= 0.0 {
            return sum;
        }
        let mean = |joules: Joules| Watts(joules.0 / secs);
        Joules::of(self.with_storage(mean(machine), mean(sum - machine)), secs)
    }
}
