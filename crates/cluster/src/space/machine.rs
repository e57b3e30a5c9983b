//! Machines of a design space: real machines, with their speed, storage, network, price and power.

use crate::error::ClusterError;
use crate::space::choices::Choices;
use gordon_units::{Bytes, DataRate, Date, Ns, Sourced, Watts};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// A machine that a job can run on.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the machine.
    pub id: String,
    /// One-line description of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Source of the values that have no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Day when `source` was written or the values measured, such as 2024-08-17.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// Number of logical processors.
    pub cores: Sourced<u32>,
    /// Logical processors that share a physical core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_per_core: Option<Sourced<u32>>,
    /// Speed of a logical processor while all are busy, in a unit that all machines of the space
    /// share. Only ratios matter.
    pub core_speed: Sourced<f64>,
    /// Speed of one thread while the other logical processors are idle, in the unit of
    /// `core_speed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_speed_single: Option<Sourced<f64>>,
    /// Names of its processor, or parts of the names, as in the `model name` lines of
    /// `/proc/cpuinfo`. Traces recorded on such a processor have its `core_speed`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Size of main memory.
    pub memory: Sourced<Bytes>,
    /// Name of a storage part in the catalogue, or a table. Of a list, each is a design of its own.
    pub storage: Choices<MachineStorage>,
    /// Bandwidth of each direction of the network link: bits a second with a small b (`10Gb`),
    /// bytes a second with a capital B (`125MB`). Of a list, each is a design of its own.
    pub network: Choices<Sourced<DataRate>>,
    /// Price of an hour on demand, in the currency of the space. Default: that of
    /// `purchase_price` over the hours of `ownership` of the space, if both are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_hour: Option<Sourced<f64>>,
    /// Price of an hour of interruptible (spot) capacity. No model uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_spot_per_hour: Option<Sourced<f64>>,
    /// Price of an hour with a commitment, whose terms the source states. No model uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_reserved_per_hour: Option<Sourced<f64>>,
    /// Price of the whole machine, in the currency of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purchase_price: Option<Sourced<f64>>,
    /// Embodied carbon: kg of CO2-equivalent of manufacturing the machine without the parts of
    /// `storage`; of a cloud instance, its share of a server and of the server's drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embodied_kg: Option<Sourced<f64>>,
    /// Shortest time for which the machine is billed, such as `60s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_billing: Option<Sourced<Ns>>,
    /// Price of 1 GiB of its block storage for a month of 730 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_price_per_gib_month: Option<Sourced<f64>>,
    /// Power of the whole machine at the plug when idle; needs `active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Sourced<Watts>>,
    /// Power of the whole machine at the plug when all processors are busy; needs `idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Sourced<Watts>>,
    /// Power of the whole machine at the plug in place of `idle` and `active`: 11 values, idle and
    /// at loads of 10 to 100 % in steps of 10 %, as a result of SPECpower_ssj2008 has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_curve: Option<Sourced<Vec<Watts>>>,
    /// Its power supply, through which the parts of `storage` draw their power. Default: their
    /// power is added to that at the plug as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supply: Option<MachineSupply>,
}

/// The power supply of a machine.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSupply {
    /// Name of the supply in the catalogue of parts.
    pub part: String,
    /// Power that it delivers at most; of several that share the load, their sum.
    pub rated: Sourced<Watts>,
}

/// Storage of a machine: devices of the catalogue, which are simulated, the limits of a volume, or
/// a table that was measured. A machine that has limits and devices has devices behind a limit.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MachineStorage(pub StorageTable);

impl JsonSchema for MachineStorage {
    fn schema_name() -> Cow<'static, str> {
        "MachineStorage".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<StorageTable>();
        json_schema!({ "anyOf": [table, { "type": "string" }] })
    }
}

/// Table of a machine's storage. It needs `part`, `bandwidth` or `measured`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageTable {
    /// Name of a flash device or disk in the catalogue of parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Number of such devices, striped. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Sourced<u32>>,
    /// File of `gordon storage characterise --json`, relative to the space file: storage that was
    /// measured. Not together with `part`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Sustained bandwidth a second, of reads and writes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Sourced<DataRate>>,
    /// Sustained bandwidth of writes a second. Default: `bandwidth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bandwidth: Option<Sourced<DataRate>>,
    /// Bandwidth a second until the volume has been busy for half an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Sourced<DataRate>>,
    /// Requests a second. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<Sourced<f64>>,
    /// Write requests a second. Default: `iops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<Sourced<f64>>,
    /// Time of a single request. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Sourced<Ns>>,
    /// Whether the storage is inside the machine and not on a network. No model uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<bool>,
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = MachineStorage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a storage part, or a table such as { bandwidth = \"125MB\" }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<MachineStorage, E> {
        let text: StrDeserializer<'_, E> = name.into_deserializer();
        let part = Some(String::deserialize(text)?);
        Ok(MachineStorage(StorageTable { part, ..StorageTable::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MachineStorage, A::Error> {
        StorageTable::deserialize(MapAccessDeserializer::new(map)).map(MachineStorage)
    }
}

impl<'de> Deserialize<'de> for MachineStorage {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NameOrTable)
    }
}

/// Source of all values of a key that have no other source.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeySource {
    /// Data sheet, list or measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Reason for the values, if no source prints them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed: Option<String>,
    /// Day when `source` was written or the values measured, such as 2024-08-17.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

/// Use of machines that are bought: their price of an hour is `purchase_price` / (`years` x
/// `hours_per_year`). Electricity, space and staff are not in it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ownership {
    /// Years until a machine is replaced.
    pub years: Sourced<f64>,
    /// Hours of a year in which a machine runs jobs; at most 8784.
    pub hours_per_year: Sourced<f64>,
}

/// Machines of the provider that a space leaves out because no model covers them.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotModelled {
    /// Names of machines or of families of machines.
    pub families: Vec<String>,
    /// What no model covers.
    pub reason: String,
}

/// Unit of `core_speed` of the machines of a space.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedReference {
    /// Machine whose `core_speed` is 1. It need not be in the space.
    pub machine: String,
    /// Its processor.
    pub summary: String,
    /// Benchmark whose scores were compared.
    pub benchmark: String,
    /// Score of the machine's logical processors.
    pub score: f64,
}

/// Number of points of a power curve: idle, and each tenth of the load.
pub const CURVE_POINTS: usize = 11;
/// Most logical processors of a machine, more than any real machine has.
const MOST_CORES: u32 = 65_536;
/// Most storage devices of a machine.
const MOST_DEVICES: u32 = 1024;
/// Share of the power at the plug that reaches the parts through a bad supply at full load: the
/// least that 80 PLUS certifies is 0.8.
const LEAST_EFFICIENCY: f64 = 0.7;

/// Returns an error for a machine with an invalid value, or two machines with the same name.
pub(crate) fn check(machines: &[Machine]) -> Result<(), ClusterError> {
    let mut seen = BTreeSet::new();
    for machine in machines {
        if !seen.insert(machine.id.as_str()) {
            return Err(ClusterError::Impossible {
                what: format!("machine `{}`", machine.id),
                why: "another machine has the same id".into(),
            });
        }
        machine.check()?;
    }
    Ok(())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

impl Machine {
    fn impossible(&self, key: &str, why: impl Into<String>) -> ClusterError {
        ClusterError::Impossible { what: format!("machine `{}`: {key}", self.id), why: why.into() }
    }

    fn check(&self) -> Result<(), ClusterError> {
        if is_blank(&self.id) {
            return Err(self.impossible("id", "it is blank"));
        }
        if !(1..=MOST_CORES).contains(&*self.cores) {
            let why = format!("{} is not 1 to {MOST_CORES}", *self.cores);
            return Err(self.impossible("cores", why));
        }
        if let Some(threads) = self.threads_per_core.as_ref().map(|threads| **threads)
            && !(1..=*self.cores).contains(&threads)
        {
            let why = format!("{threads} is not 1 to {}, the cores of the machine", *self.cores);
            return Err(self.impossible("threads_per_core", why));
        }
        // An empty name would be part of the name of every processor.
        if self.models.iter().any(|model| is_blank(model)) {
            return Err(self.impossible("models", "a name is blank"));
        }
        if *self.memory == Bytes(0) {
            return Err(self.impossible("memory", "0 is not above zero"));
        }
        let single = self.core_speed_single.as_ref().map(|speed| **speed);
        self.check_positive("core_speed", Some(*self.core_speed))?;
        self.check_positive("core_speed_single", single)?;
        for network in self.network.iter() {
            self.check_positive("network", Some(network.0))?;
        }
        for storage in self.storage.iter() {
            self.check_storage(&storage.0)?;
        }
        let storages = self.storage.iter().map(|storage| storage.0.short_label());
        self.check_distinct("storage", storages)?;
        self.check_distinct("network", self.network.iter().map(|rate| network_label(rate.0)))?;
        let number = |n: &Option<Sourced<f64>>| n.as_ref().map(|n| **n);
        for (key, amount) in [
            ("price_per_hour", &self.price_per_hour),
            ("price_spot_per_hour", &self.price_spot_per_hour),
            ("price_reserved_per_hour", &self.price_reserved_per_hour),
            ("purchase_price", &self.purchase_price),
            ("volume_price_per_gib_month", &self.volume_price_per_gib_month),
            ("embodied_kg", &self.embodied_kg),
        ] {
            if let Some(amount) = number(amount)
                && !(amount.is_finite() && amount >= 0.0)
            {
                return Err(self.impossible(key, format!("{amount} is below zero")));
            }
        }
        match (&self.idle, &self.active) {
            (Some(idle), Some(active)) if idle.0 > active.0 => {
                let why = format!("{} is above active, {}", **idle, **active);
                Err(self.impossible("idle", why))
            }
            (Some(_), None) => Err(self.impossible("active", "it is needed next to idle")),
            (None, Some(_)) => Err(self.impossible("idle", "it is needed next to active")),
            _ => Ok(()),
        }?;
        self.check_curve()?;
        self.check_supply()
    }

    fn check_curve(&self) -> Result<(), ClusterError> {
        let Some(curve) = &self.power_curve else { return Ok(()) };
        let bad = |why: String| Err(self.impossible("power_curve", why));
        if self.idle.is_some() {
            return bad("idle and active are given, too: one of the two says the power".into());
        }
        if curve.len() != CURVE_POINTS {
            let why = "values: it needs 11, idle and at loads of 10 to 100 % in steps of 10 %";
            return bad(format!("it has {} {why}", curve.len()));
        }
        match curve.windows(2).find(|pair| pair[1].0 < pair[0].0) {
            Some(pair) => {
                let why = "at a higher load: the values rise from idle to 100 %";
                bad(format!("it falls from {} to {} {why}", pair[0], pair[1]))
            }
            None => Ok(()),
        }
    }

    fn check_supply(&self) -> Result<(), ClusterError> {
        let Some(supply) = &self.supply else { return Ok(()) };
        self.check_positive("supply.rated", Some(supply.rated.0))?;
        match self.ends() {
            None => {
                Err(self
                    .impossible("supply", "it needs idle and active, or power_curve, next to it"))
            }
            Some(ends) if ends.active.0 * LEAST_EFFICIENCY > supply.rated.0 => {
                let why = format!("{} cannot deliver the power when active", *supply.rated);
                Err(self.impossible("supply.rated", why))
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns an error if a value is known and not above zero.
    fn check_positive(&self, key: &str, value: Option<f64>) -> Result<(), ClusterError> {
        match value.filter(|value| !(value.is_finite() && *value > 0.0)) {
            Some(value) => Err(self.impossible(key, format!("{value} is not above zero"))),
            None => Ok(()),
        }
    }

    /// Returns an error if two choices have the same label, which would be two designs of one name.
    fn check_distinct(
        &self,
        key: &str,
        mut labels: impl Iterator<Item = String>,
    ) -> Result<(), ClusterError> {
        let mut seen = BTreeSet::new();
        match labels.find(|label| !seen.insert(label.clone())) {
            Some(label) => Err(self.impossible(key, format!("the list has `{label}` twice"))),
            None => Ok(()),
        }
    }

    fn check_storage(&self, storage: &StorageTable) -> Result<(), ClusterError> {
        if !(1..=MOST_DEVICES).contains(&storage.devices()) {
            let why = format!("{} is not 1 to {MOST_DEVICES}", storage.devices());
            return Err(self.impossible("storage.count", why));
        }
        let number = |n: &Option<Sourced<f64>>| n.as_ref().map(|n| **n);
        let rate = |r: &Option<Sourced<DataRate>>| r.as_ref().map(|r| r.0);
        self.check_positive("storage.bandwidth", rate(&storage.bandwidth))?;
        self.check_positive("storage.write_bandwidth", rate(&storage.write_bandwidth))?;
        self.check_positive("storage.burst", rate(&storage.burst))?;
        self.check_positive("storage.iops", number(&storage.iops))?;
        self.check_positive("storage.write_iops", number(&storage.write_iops))?;
        if storage.part.is_some() && storage.measured.is_some() {
            let why = "storage is either measured or simulated, and it also has a `part`";
            return Err(self.impossible("storage.measured", why));
        }
        if storage.part.is_none() && storage.bandwidth.is_none() && storage.measured.is_none() {
            let why = "it needs a `part`, a `bandwidth` or a `measured` file";
            return Err(self.impossible("storage", why));
        }
        if storage.part.is_none() && storage.count.is_some() {
            return Err(self.impossible("storage.count", "only a `part` is counted"));
        }
        Ok(())
    }
}

/// The name of a storage in reports.
pub(crate) fn storage_id(part: &str, count: u32) -> String {
    format!("{part} x {count}")
}

/// A network in an id, by its bytes a second.
pub(crate) fn network_label(rate: f64) -> String {
    format!("{}Gb", rate * 8.0 / 1e9)
}

impl StorageTable {
    /// Number of simulated devices.
    pub(crate) fn devices(&self) -> u32 {
        self.count.as_ref().map_or(1, |count| **count)
    }

    /// Name of the file of a measured storage, without its folder.
    fn measured_name(&self) -> Option<String> {
        let path = Path::new(self.measured.as_ref()?);
        Some(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
    }

    /// The storage in an id: its part and number, or its file, and its bandwidth a second.
    pub(crate) fn short_label(&self) -> String {
        let part = self.part.as_ref().map(|part| match self.devices() {
            1 => part.clone(),
            count => format!("{part}-x{count}"),
        });
        let bandwidth = self.bandwidth.as_ref().map(|bandwidth| (**bandwidth).to_string());
        let device = part.or_else(|| self.measured_name());
        device.into_iter().chain(bandwidth).collect::<Vec<_>>().join("-")
    }

    /// The storage in words.
    pub(crate) fn label(&self) -> String {
        let part = self.part.as_ref().map(|part| storage_id(part, self.devices()));
        let volume = self.bandwidth.as_ref().map(|bandwidth| format!("{}/s", **bandwidth));
        let device = part.or_else(|| self.measured_name());
        device.into_iter().chain(volume).collect::<Vec<_>>().join(", at most ")
    }
}
