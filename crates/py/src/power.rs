//! The power model: machines made of parts, and storage of the catalogue.

use crate::error::raise;
use gordon_cluster::space::config::Parts;
use gordon_cluster::space::machine::{Machine, StorageTable};
use gordon_cluster::space::node::{self, PartPower, StoragePower};
use gordon_cluster::space::supply::{LoadedSupply, NodeSupply, PowerSupply};
use gordon_cluster::space::whole::levels;
use gordon_config::from_json;
use gordon_units::Watts;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Name, number, idle watts of one, and its watts during each kind of work.
type Part = (String, f64, f64, Vec<f64>);

/// A machine made of parts, by name. Results have a value for each part, and last for the overhead.
#[pyclass(frozen, module = "gordon._core")]
pub struct MachinePower {
    names: Vec<String>,
    machine: node::MachinePower,
}

#[pymethods]
impl MachinePower {
    /// `overhead` is the ratio of the machine's power to that of its parts; `supply` (JSON) a power
    /// supply whose loss is not in it, and the kinds of supplies.
    #[new]
    #[pyo3(signature = (parts, overhead, supply=None))]
    fn new(parts: Vec<Part>, overhead: f64, supply: Option<&str>) -> PyResult<Self> {
        let supply = supply.map(loaded_supply).transpose()?;
        let (names, parts) = parts
            .into_iter()
            .map(|(name, count, idle, active)| {
                let active = active.into_iter().map(Watts).collect();
                (name, PartPower { count, idle: Watts(idle), active })
            })
            .unzip();
        let machine = node::MachinePower { parts, overhead_ratio: overhead, supply };
        Ok(Self { names, machine })
    }

    /// Joules over a time in seconds. `busy` has the seconds of each kind of work by part; parts
    /// that it does not name are idle.
    fn energy(&self, seconds: f64, mut busy: HashMap<String, Vec<f64>>) -> PyResult<Vec<f64>> {
        let work = |(name, part): (&String, &PartPower)| {
            let busy = busy.remove(name).unwrap_or_default();
            if busy.is_empty() || busy.len() == part.active.len() {
                return Ok(busy);
            }
            let kinds = part.active.len();
            Err(PyValueError::new_err(format!("{name} has {kinds} kinds of work")))
        };
        let all = self.names.iter().zip(&self.machine.parts).map(work);
        let all = all.collect::<PyResult<Vec<_>>>()?;
        if let Some(name) = busy.keys().next() {
            return Err(PyValueError::new_err(format!("the machine has no part {name}")));
        }
        Ok(self.machine.energy(seconds, &all).into_iter().map(|joules| joules.0).collect())
    }

    /// Watts when idle.
    fn idle(&self) -> Vec<f64> {
        self.machine.idle().into_iter().map(|watts| watts.0).collect()
    }

    /// Watts during the most expensive kind of work.
    fn max(&self) -> Vec<f64> {
        self.machine.max().into_iter().map(|watts| watts.0).collect()
    }
}

/// A power supply, and the kinds of the catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SupplyOfNode {
    supply: NodeSupply,
    kinds: BTreeMap<String, PowerSupply>,
}

fn loaded_supply(json: &str) -> PyResult<LoadedSupply> {
    let SupplyOfNode { supply, kinds } = from_json(json, "supply").map_err(raise)?;
    LoadedSupply::new(&supply, &kinds).map_err(raise)
}

/// A machine with one of its storages, and their parts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineAlone {
    machine: Machine,
    storage: StorageTable,
    parts: Parts,
}

/// Watts at the plug of a machine when idle, and when all of it is active; `None` if they are
/// unknown. `config` (JSON) has `machine`, `storage` and `parts` as in a survey.
#[pyfunction]
pub fn machine_power(config: &str) -> PyResult<Option<(f64, f64)>> {
    let MachineAlone { machine, storage, parts } = from_json(config, "machine").map_err(raise)?;
    let levels = levels(&machine, &storage, &parts).map_err(raise)?;
    Ok(levels.map(|levels| (levels.idle.0, levels.active.0)))
}

/// Watts of a storage device of the catalogue when idle, when it only reads, and when it only
/// writes. `parts` (JSON) has its part as in a survey.
#[pyfunction]
pub fn storage_power(name: &str, parts: &str) -> PyResult<(f64, f64, f64)> {
    let parts: Parts = from_json(parts, "parts").map_err(raise)?;
    let levels = StoragePower::new(name, 1, &parts).map_err(raise)?.levels();
    Ok((levels.idle.0, levels.read.0, levels.write.0))
}
