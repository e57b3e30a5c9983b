//! The power of a node (section 5.2). Each part draws `P = idle x (1 - activity) + active x
//! activity`. So over a time T in which a part is busy for b it uses the energy `idle x T + (active
//! - idle) x b`. The sum over the parts is multiplied by the overhead of the node.

use crate::config::{Cpu, Design, MemoryPer, NodeCommon, Parts};
use crate::error::ClusterError;
use gordon_blockio::Usage;
use gordon_units::{Hertz, Joules, Volts, Watts};
use std::collections::BTreeMap;

/// Idle and active power of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Power {
    /// Power when idle.
    pub idle: Watts,
    /// Power when continuously active.
    pub active: Watts,
}

impl Power {
    /// Energy over `secs` seconds if the part is busy for `busy` of them.
    pub fn energy(&self, secs: f64, busy: f64) -> Joules {
        Joules::of(self.idle, secs) + Joules::of(self.active - self.idle, busy)
    }
}

/// Energy by part. `overhead` is the consumption of the node in addition to its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Processors.
    pub cpu: Joules,
    /// Main memory.
    pub memory: Joules,
    /// Disks or flash dies.
    pub storage: Joules,
    /// Flash controller.
    pub flash_controller: Joules,
    /// The flash controller's memory.
    pub flash_memory: Joules,
    /// Power supply, board and fans.
    pub overhead: Joules,
}

impl Energy {
    /// Energy of the node.
    pub fn total(&self) -> Joules {
        self.parts().into_iter().map(|(_, joules)| joules).sum()
    }

    /// The energy of each part, with its name.
    pub fn parts(&self) -> [(&'static str, Joules); 6] {
        [
            ("cpu", self.cpu),
            ("memory", self.memory),
            ("storage", self.storage),
            ("flash_controller", self.flash_controller),
            ("flash_memory", self.flash_memory),
            ("overhead", self.overhead),
        ]
    }

    /// Adds the energy of each part of `other`.
    pub fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.memory += other.memory;
        self.storage += other.storage;
        self.flash_controller += other.flash_controller;
        self.flash_memory += other.flash_memory;
        self.overhead += other.overhead;
    }
}

/// Busy times of a node's parts in seconds; those of identical parts are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusyTimes {
    /// Processors.
    pub cpu: f64,
    /// Main memory.
    pub memory: f64,
    /// Storage parts.
    pub storage: Usage,
}

/// Maximum number of processors or storage devices in a node, more than any real node has.
const MOST: u32 = 1024;

/// The parts of a node and their power.
#[derive(Clone, Debug)]
pub struct NodePower {
    cpus: u32,
    cpu: Power,
    memories: u32,
    memory: Power,
    /// Number of disks or flash dies.
    storage_parts: f64,
    storage_idle: Watts,
    storage_read: Watts,
    storage_write: Watts,
    flash_arrays: f64,
    flash_controller: Power,
    flash_memory: Power,
    overhead_ratio: f64,
}

/// Voltage at `clock`, linear over the clock range of the processor.
pub fn voltage(cpu: &Cpu, clock: Hertz) -> Volts {
    let range = *cpu.clock_max - *cpu.clock_min;
    let share = if range.0 > 0.0 { (clock - *cpu.clock_min) / range } else { 1.0 };
    *cpu.volt_min + (*cpu.volt_max - *cpu.volt_min) * share
}

/// A processor's power at `clock`: the part above idle power scales with f v^2.
///
/// Section 5.2 does not define whether idle power scales too. If it did, a Core 2 at 0.6 GHz would
/// draw 1.3 W when active and beat every Atom, and four at 1.8 GHz would draw about half of their
/// power at 2.4 GHz; in Table 6 they draw 0.87 of it, and no slow Core 2 is on the Pareto front.
pub fn cpu_power(cpu: &Cpu, clock: Hertz) -> Power {
    let volts = voltage(cpu, clock) / *cpu.volt_max;
    let scale = clock / *cpu.clock_max * volts * volts;
    Power { idle: *cpu.idle, active: *cpu.idle + (*cpu.active - *cpu.idle) * scale }
}

/// The part with this kind and name.
pub(crate) fn part<'a, T>(
    kind: &'static str,
    parts: &'a BTreeMap<String, T>,
    name: &str,
) -> Result<&'a T, ClusterError> {
    parts.get(name).ok_or_else(|| ClusterError::UnknownPart {
        kind,
        name: name.into(),
        known: if parts.is_empty() {
            "none".into()
        } else {
            parts.keys().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")
        },
    })
}

impl NodePower {
    /// The power of `design`, built from `parts`. The node draws `overhead_ratio` times the power
    /// of its parts.
    ///
    /// # Errors
    /// Returns an error if a part is not in the catalogue, or if the clock is outside the
    /// processor's range.
    pub fn new(
        design: &Design,
        common: &NodeCommon,
        overhead_ratio: f64,
        parts: &Parts,
    ) -> Result<Self, ClusterError> {
        let cpu = part("cpu", &parts.cpu, &design.cpu)?;
        if design.clock < *cpu.clock_min || design.clock > *cpu.clock_max {
            return Err(ClusterError::Impossible {
                what: format!("design `{}`: clock {}", design.id, design.clock),
                why: format!("`{}` runs at {} to {}", design.cpu, *cpu.clock_min, *cpu.clock_max),
            });
        }
        for (what, value) in [("cpus", design.cpus), ("count", design.count)] {
            if !(1..=MOST).contains(&value) {
                return Err(ClusterError::Impossible {
                    what: format!("design `{}`: {what}", design.id),
                    why: format!("{value} is not 1 to {MOST}"),
                });
            }
        }
        let memory = part("memory", &parts.memory, &common.memory)?;
        let mut node = Self {
            cpus: design.cpus,
            cpu: cpu_power(cpu, design.clock),
            memories: match *common.memory_per {
                MemoryPer::Node => 1,
                MemoryPer::Processor => design.cpus,
            },
            memory: Power { idle: *memory.idle, active: *memory.active },
            storage_parts: f64::from(design.count),
            storage_idle: Watts(0.0),
            storage_read: Watts(0.0),
            storage_write: Watts(0.0),
            flash_arrays: 0.0,
            flash_controller: Power::default(),
            flash_memory: Power::default(),
            overhead_ratio,
        };
        if let Some(flash) = parts.flash.get(&design.storage) {
            let power = &flash.power;
            node.storage_parts = f64::from(flash.dies()) * f64::from(design.count);
            node.storage_idle = *power.die_idle;
            node.storage_read = *power.die_active;
            node.storage_write = *power.die_active;
            node.flash_arrays = f64::from(design.count);
            node.flash_controller =
                Power { idle: *power.controller_idle, active: *power.controller_active };
            node.flash_memory = Power { idle: *power.dram_idle, active: *power.dram_active };
        } else {
            let power = &part("storage", &parts.disk, &design.storage)?.power;
            node.storage_idle = *power.idle;
            node.storage_read = *power.read;
            node.storage_write = *power.write;
        }
        Ok(node)
    }

    /// Energy of a node that is on for `secs` seconds and whose parts are `busy`. If the busy time
    /// of a part exceeds the available time (memory time does not extend a sample), the part counts
    /// as busy all the time.
    pub fn energy(&self, secs: f64, busy: &BusyTimes) -> Energy {
        let all = |power: Power, parts: f64, busy: f64| {
            let secs = secs * parts;
            power.energy(secs, busy.min(secs))
        };
        let storage = Joules::of(self.storage_idle, secs * self.storage_parts)
            + (self.storage_read - self.storage_idle) * busy.storage.read
            + (self.storage_write - self.storage_idle) * busy.storage.write;
        let controller = busy.storage.controller.as_secs();
        let mut energy = Energy {
            cpu: all(self.cpu, f64::from(self.cpus), busy.cpu),
            memory: all(self.memory, f64::from(self.memories), busy.memory),
            storage,
            flash_controller: all(self.flash_controller, self.flash_arrays, controller),
            flash_memory: all(self.flash_memory, self.flash_arrays, controller),
            overhead: Joules(0.0),
        };
        energy.overhead = energy.total() * (self.overhead_ratio - 1.0);
        energy
    }

    /// Power with all parts active, in the more expensive of reading and writing.
    pub fn max(&self) -> Watts {
        let parts = self.cpu.active * f64::from(self.cpus)
            + self.memory.active * f64::from(self.memories)
            + Watts(self.storage_read.0.max(self.storage_write.0)) * self.storage_parts
            + (self.flash_controller.active + self.flash_memory.active) * self.flash_arrays;
        parts * self.overhead_ratio
    }

    /// Power with all parts idle.
    pub fn idle(&self) -> Watts {
        self.energy(1.0, &BusyTimes::default()).total() / gordon_units::Ns::SECOND
    }
}
