//! The storage of a node: a simulated device, and how many of them are striped.

use crate::error::ClusterError;
use crate::space::config::Parts;
use crate::space::find::part;
use gordon_hdd as disk;
use gordon_ssd as ssd;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Assumed queue depth at requests without a measured latency: the queue of a drive.
pub(crate) const DEFAULT_DEPTH: usize = 32;

/// Parameters of a simulated device.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeviceConfig {
    Flash(Box<ssd::SsdConfig>),
    Disk(Box<disk::DiskConfig>),
}

/// Striped devices of one part.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Storage {
    /// Name of the part, for reports and errors.
    pub name: String,
    pub count: u32,
    pub device: DeviceConfig,
}

impl Storage {
    /// `count` devices of the part `name`.
    pub fn of((name, count): (&str, u32), parts: &Parts) -> Result<Self, ClusterError> {
        let device = match parts.flash.get(name) {
            Some(config) => DeviceConfig::Flash(Box::new(config.clone())),
            None => DeviceConfig::Disk(Box::new(part("storage", &parts.disk, name)?.clone())),
        };
        Ok(Self { name: name.into(), count, device })
    }
}

impl DeviceConfig {
    /// Why no device can be built from the parameters, if that can be known without building one.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Flash(_) => Ok(()),
            Self::Disk(config) => config.validate().map_err(|e| e.to_string()),
        }
    }

    /// The parameters that the times of requests can depend on, as JSON. The name, the summary, the
    /// power, the price, the embodied carbon, the rated life and the sources of values are left
    /// out: devices that differ only in them share replays.
    pub fn timed(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("a config is JSON");
        for config in value.as_object_mut().expect("an enum with data").values_mut() {
            let config = config.as_object_mut().expect("a config is a table");
            for key in ["summary", "power", "price", "embodied_kg", "rated_life_years"] {
                config.remove(key);
            }
            config.values_mut().for_each(remove_sources);
        }
        value
    }
}

/// Replaces each value that has a source (see [`gordon_units::Sourced`]) by the value alone.
fn remove_sources(value: &mut Value) {
    match value {
        Value::Object(table) => {
            let sourced =
                table.len() == 2 && (table.contains_key("source") || table.contains_key("assumed"));
            if sourced && let Some(inner) = table.remove("value") {
                *value = inner;
                remove_sources(value);
            } else {
                table.values_mut().for_each(remove_sources);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(remove_sources),
        _ => {}
    }
}
