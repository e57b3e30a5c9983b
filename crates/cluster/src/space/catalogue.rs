//! The machines of a survey: those that are compared, their parts, and the one that was recorded.

use crate::error::ClusterError;
use crate::space::config::Parts;
use crate::space::find::part;
use crate::space::machine::{Machine, check};
use crate::space::measured::MeasuredStorages;
use crate::space::operation::Operation;
use crate::space::reference::TraceReference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The machines of a survey. At most one of `reference`, `reference_machine` and `reference_speed`
/// is given.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineCatalogue {
    /// Machines to compare.
    pub machines: Vec<Machine>,
    /// Name of the recorded machine: one of `machines`, or `unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The recorded machine, if it is not one of `machines` and has the same unit of `core_speed`.
    /// Only its processor is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_machine: Option<Box<Machine>>,
    /// The `core_speed` of the recorded machine, if nothing else is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_speed: Option<f64>,
    /// Name of the machine whose `core_speed` is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Catalogue of the storage parts and the power supplies.
    pub parts: Parts,
    /// Measured storages, by their file; those of the machines at least.
    #[serde(default, skip_serializing_if = "MeasuredStorages::is_empty")]
    pub measured: MeasuredStorages,
    /// How machines are used. Default: what a run costs in all is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
}

impl MachineCatalogue {
    /// Checks all values.
    ///
    /// # Errors
    /// Returns an error if there is no machine, if a value is invalid, if a measured storage is
    /// missing, or if the recorded machine is given twice or does not exist.
    pub fn check(&self) -> Result<(), ClusterError> {
        if self.machines.is_empty() {
            return Err(impossible("machines", "the space has none".into()));
        }
        check(&self.machines)?;
        self.check_supplies()?;
        if let Some(operation) = &self.operation {
            operation.check()?;
        }
        self.check_measured()?;
        self.check_reference()
    }

    fn check_supplies(&self) -> Result<(), ClusterError> {
        for (name, supply) in &self.parts.supply {
            supply.check(name)?;
        }
        for supply in self.machines.iter().filter_map(|machine| machine.supply.as_ref()) {
            part("supply", &self.parts.supply, &supply.part)?;
        }
        Ok(())
    }

    fn check_measured(&self) -> Result<(), ClusterError> {
        for (path, storage) in &self.measured {
            storage.check(path)?;
        }
        match self.files().into_iter().find(|path| !self.measured.contains_key(*path)) {
            Some(path) => Err(impossible(
                &format!("measured storage `{path}`"),
                "the survey does not have its points".into(),
            )),
            None => Ok(()),
        }
    }

    fn check_reference(&self) -> Result<(), ClusterError> {
        if let Some(name) = &self.reference
            && self.unit.as_ref() != Some(name)
            && self.machines.iter().all(|machine| machine.id != *name)
        {
            return Err(impossible("reference", format!("no machine of the space is `{name}`")));
        }
        let given = [
            self.reference.is_some(),
            self.reference_machine.is_some(),
            self.reference_speed.is_some(),
        ];
        if given.into_iter().filter(|is_given| *is_given).count() > 1 {
            return Err(impossible("reference", "the recorded machine is given twice".into()));
        }
        if let Some(machine) = self.reference_machine.as_deref() {
            check(std::slice::from_ref(machine))?;
        }
        match self.reference_speed {
            Some(speed) if !(speed.is_finite() && speed > 0.0) => {
                Err(impossible("reference_speed", format!("{speed} is not above zero")))
            }
            _ => Ok(()),
        }
    }

    /// The files of the measured storages of the machines.
    pub(crate) fn files(&self) -> BTreeSet<&str> {
        let storages = self.machines.iter().flat_map(|machine| machine.storage.iter());
        storages.filter_map(|storage| storage.0.measured.as_deref()).collect()
    }

    /// The recorded machine; `None` if none is given.
    pub(crate) fn given_reference(&self) -> Option<TraceReference<'_>> {
        if let Some(name) = self.reference.as_deref() {
            return Some(match self.machines.iter().position(|machine| machine.id == name) {
                Some(at) => {
                    let machine = Some(at);
                    TraceReference { machine, ..TraceReference::of(&self.machines[at]) }
                }
                None => {
                    let name = Some(name);
                    TraceReference { name, is_assumed: false, ..TraceReference::UNKNOWN }
                }
            });
        }
        if let Some(machine) = self.reference_machine.as_deref() {
            return Some(TraceReference::of(machine));
        }
        let of = |speed| TraceReference { speed, is_assumed: false, ..TraceReference::UNKNOWN };
        self.reference_speed.map(of)
    }
}

fn impossible(what: &str, why: String) -> ClusterError {
    ClusterError::Impossible { what: what.into(), why }
}
