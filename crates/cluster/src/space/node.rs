//! The power of a machine (section 5.2). Each part draws `P = idle x (1 - activity) + active x
//! activity`. So over a time T in which a part is busy for b it uses the energy `idle x T + (active
//! - idle) x b`. The sum over the parts is multiplied by the overhead of the machine.
//!
//! [`NodePower`] is a node of a survey, [`MachinePower`] any list of parts: the machine that a
//! meter models, or the system that a sort is modelled on.

use crate::error::ClusterError;
use crate::space::config::{Cpu, Design, MemoryPer, NodeCommon, Parts};
use crate::space::find::part;
use crate::space::machine::StorageTable;
use crate::space::machines::part_of;
use crate::space::standby::{Asleep, Standby};
use crate::space::supply::LoadedSupply;
use gordon_blockio::Usage;
use gordon_units::{Hertz, Joules, Volts, Watts};

/// Energy over `secs` seconds of parts that draw `idle`, except while they work: each pair of
/// `work` is the power of a kind of work, and its seconds.
#[inline]
fn drawn(idle: Watts, secs: f64, work: impl IntoIterator<Item = (Watts, f64)>) -> Joules {
    let joules = |sum, (active, busy)| sum + Joules::of(active - idle, busy);
    work.into_iter().fold(Joules::of(idle, secs), joules)
}

/// What a machine draws in addition to its parts, if it draws `ratio` times their power.
#[inline]
fn overhead(parts: Joules, ratio: f64) -> Joules {
    parts * (ratio - 1.0)
}

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
        drawn(self.idle, secs, [(self.active, busy)])
    }

    /// Energy of identical parts over `secs` seconds. If their busy time exceeds the available time
    /// (memory time does not extend a sample), they count as busy all the time.
    fn of_parts(&self, secs: f64, parts: f64, busy: f64) -> Joules {
        let secs = secs * parts;
        self.energy(secs, busy.min(secs))
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
}

gordon_units::fieldwise!(Energy { cpu, memory, storage, flash_controller, flash_memory, overhead });

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
    storage: StoragePower,
    overhead_ratio: f64,
    supply: Option<LoadedSupply>,
}

/// Power of storage devices of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoragePower {
    /// Number of disks or flash dies.
    parts: f64,
    idle: Watts,
    read: Watts,
    write: Watts,
    arrays: f64,
    controller: Power,
    memory: Power,
    /// The standby state of a disk, if it is known.
    standby: Option<Standby>,
}

/// Simulated storage of a machine in a run.
#[derive(Clone, Copy, Debug)]
pub struct StorageWork {
    /// Its power.
    pub power: StoragePower,
    /// Its busy times.
    pub usage: Usage,
    /// How each disk slept, and the standby state.
    pub slept: Option<(Standby, Asleep)>,
}

impl StorageWork {
    /// Storage that does nothing.
    pub fn idle(power: StoragePower) -> Self {
        Self { power, usage: Usage::default(), slept: None }
    }

    /// Adds its energy over `secs` seconds to `energy`.
    pub fn add(&self, secs: f64, energy: &mut Energy) {
        self.power.add(secs, &self.usage, energy);
        if let Some((standby, asleep)) = &self.slept {
            energy.storage += standby.energy(asleep) * self.power.parts;
        }
    }
}

/// Power of whole storage devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StorageLevels {
    /// Power when idle.
    pub idle: Watts,
    /// Power when they read without pause.
    pub read: Watts,
    /// Power when they write without pause.
    pub write: Watts,
}

impl StorageLevels {
    /// Power in the more expensive of reading and writing.
    pub fn most(&self) -> Watts {
        Watts(self.read.0.max(self.write.0))
    }
}

impl StoragePower {
    /// The power of `count` devices `name`.
    ///
    /// # Errors
    /// Returns an error if the device is not in the catalogue.
    pub fn new(name: &str, count: u32, parts: &Parts) -> Result<Self, ClusterError> {
        let count = f64::from(count);
        if let Some(flash) = parts.flash.get(name) {
            let power = &flash.power;
            return Ok(Self {
                parts: f64::from(flash.dies()) * count,
                idle: *power.die_idle,
                read: *power.die_active,
                write: *power.die_active,
                arrays: count,
                controller: Power {
                    idle: *power.controller_idle,
                    active: *power.controller_active,
                },
                memory: Power { idle: *power.dram_idle, active: *power.dram_active },
                standby: None,
            });
        }
        let power = &part("storage", &parts.disk, name)?.power;
        Ok(Self {
            parts: count,
            idle: *power.idle,
            read: *power.read,
            write: *power.write,
            standby: Standby::of(power),
            ..Self::default()
        })
    }

    /// Adds the energy of the devices over `secs` seconds to `energy`.
    pub fn add(&self, secs: f64, busy: &Usage, energy: &mut Energy) {
        self.add_sums(secs, busy, busy.controller.as_secs(), energy);
    }

    /// Adds the energy of several samples: `busy` is their sum, except for the controllers, which
    /// were busy for `controller` seconds, at most the available time of each sample.
    pub(crate) fn add_sums(&self, secs: f64, busy: &Usage, controller: f64, energy: &mut Energy) {
        let work = [(self.read, busy.read.as_secs()), (self.write, busy.write.as_secs())];
        energy.storage += drawn(self.idle, secs * self.parts, work);
        energy.flash_controller += self.controller.of_parts(secs, self.arrays, controller);
        energy.flash_memory += self.memory.of_parts(secs, self.arrays, controller);
    }

    /// The standby state of a disk; `None` if it is unknown.
    pub fn standby(&self) -> Option<Standby> {
        self.standby
    }

    /// Power of all disks or dies when active, in the more expensive of reading and writing.
    fn max_parts(&self) -> Watts {
        Watts(self.read.0.max(self.write.0)) * self.parts
    }

    /// Power of the devices when idle, when they only read, and when they only write, each with all
    /// of their parts.
    pub fn levels(&self) -> StorageLevels {
        let idle = self.idle * self.parts + (self.controller.idle + self.memory.idle) * self.arrays;
        let active = |parts: Watts| parts * self.parts + self.max_controllers();
        StorageLevels { idle, read: active(self.read), write: active(self.write) }
    }

    /// Power of all controllers and their memories when active.
    fn max_controllers(&self) -> Watts {
        (self.controller.active + self.memory.active) * self.arrays
    }
}

/// Identical parts of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct PartPower {
    /// Number of parts. A fraction for parts that are given by their size, as memory is.
    pub count: f64,
    /// Power of one part when idle.
    pub idle: Watts,
    /// Power of one part during each kind of its work, such as reading and writing. Empty if its
    /// power is constant.
    pub active: Vec<Watts>,
}

impl PartPower {
    /// Energy of the parts over `secs` seconds. `busy` has the seconds of each kind of work, summed
    /// over the parts. If they exceed the available time, they are shortened to it.
    fn energy(&self, secs: f64, busy: &[f64]) -> Joules {
        let secs = secs * self.count;
        let sum: f64 = busy.iter().sum();
        let fitting = if sum > secs { secs / sum } else { 1.0 };
        drawn(self.idle, secs, self.active.iter().copied().zip(busy.iter().map(|b| b * fitting)))
    }

    /// Power of the parts during the most expensive kind of work.
    fn max(&self) -> Watts {
        Watts(self.active.iter().fold(self.idle.0, |most, active| most.max(active.0))) * self.count
    }
}

/// A machine made of parts.
#[derive(Clone, Debug)]
pub struct MachinePower {
    /// The parts.
    pub parts: Vec<PartPower>,
    /// Power of the machine, with supply, regulators and fans, over that of its parts.
    pub overhead_ratio: f64,
    /// The power supply, if its loss is not in the ratio.
    pub supply: Option<LoadedSupply>,
}

impl MachinePower {
    /// Energy of each part over `secs` seconds, and last that of the overhead. `busy` has the
    /// seconds of each kind of work, by part; a part without them is idle.
    pub fn energy(&self, secs: f64, busy: &[Vec<f64>]) -> Vec<Joules> {
        let busy = busy.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
        let energy = self.parts.iter().zip(busy).map(|(part, busy)| part.energy(secs, busy));
        self.with_overhead(secs, energy.collect())
    }

    /// Power of each part when idle, and last that of the overhead.
    pub fn idle(&self) -> Vec<Watts> {
        self.per_second(|part| part.energy(1.0, &[]))
    }

    /// Power of each part during the most expensive kind of work, and last that of the overhead.
    pub fn max(&self) -> Vec<Watts> {
        self.per_second(|part| Joules::of(part.max(), 1.0))
    }

    fn per_second(&self, energy: impl Fn(&PartPower) -> Joules) -> Vec<Watts> {
        let energy = self.with_overhead(1.0, self.parts.iter().map(energy).collect());
        energy.into_iter().map(|joules| joules / gordon_units::Ns::SECOND).collect()
    }

    fn with_overhead(&self, secs: f64, mut energy: Vec<Joules>) -> Vec<Joules> {
        let parts: Joules = energy.iter().copied().sum();
        let mut more = overhead(parts, self.overhead_ratio);
        if let Some(supply) = self.supply.filter(|_| secs > 0.0) {
            let mean = Watts((parts + more).0 / secs);
            more += Joules::of(supply.plug(mean, self.max_delivered()) - mean, secs);
        }
        energy.push(more);
        energy
    }

    /// Power behind the supply with all parts at the most expensive kind of work.
    fn max_delivered(&self) -> Watts {
        let parts: Watts = self.parts.iter().map(PartPower::max).sum();
        parts * self.overhead_ratio
    }
}

/// The power of a storage of the catalogue; `None` if it is described by its limits.
pub(crate) fn storage_power(
    storage: &StorageTable,
    parts: &Parts,
) -> Result<Option<StoragePower>, ClusterError> {
    part_of(storage).map(|(name, count)| StoragePower::new(name, count, parts)).transpose()
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

impl NodePower {
    /// The power of `design`, built from `parts`. The node draws `overhead_ratio` times the power
    /// of its parts, and what its power supply loses, if its overhead has one.
    ///
    /// # Errors
    /// Returns an error if a part is not in the catalogue, if the clock is outside the processor's
    /// range, or if the power supply is impossible.
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
        Ok(Self {
            cpus: design.cpus,
            cpu: cpu_power(cpu, design.clock),
            memories: match *common.memory_per {
                MemoryPer::Node => 1,
                MemoryPer::Processor => design.cpus,
            },
            memory: Power { idle: *memory.idle, active: *memory.active },
            storage: StoragePower::new(&design.storage, design.count, parts)?,
            overhead_ratio,
            supply: (parts.overhead.get(&common.overhead))
                .and_then(|overhead| overhead.supply.as_ref())
                .map(|supply| LoadedSupply::new(supply, &parts.supply))
                .transpose()?,
        })
    }

    /// Number of processors.
    pub(crate) fn cpus(&self) -> f64 {
        f64::from(self.cpus)
    }

    /// Power of one processor.
    pub(crate) fn cpu(&self) -> Power {
        self.cpu
    }

    /// The node with other processors, of the same number.
    pub(crate) fn with_cpu(&self, cpu: Power) -> Self {
        Self { cpu, ..self.clone() }
    }

    /// Number of memories.
    pub(crate) fn memories(&self) -> f64 {
        f64::from(self.memories)
    }

    /// Number of flash controllers.
    pub(crate) fn arrays(&self) -> f64 {
        self.storage.arrays
    }

    /// Energy of a node that is on for `secs` seconds and whose parts are `busy`.
    pub fn energy(&self, secs: f64, busy: &BusyTimes) -> Energy {
        self.energy_of_sums(self.cpu, secs, busy, busy.storage.controller.as_secs())
    }

    /// Energy of several samples, with processors that draw `cpu`. `busy` holds the sums of the
    /// samples' busy times. Those of memories and controllers are at most the available time of
    /// each sample; `controller` is that of the controllers.
    pub(crate) fn energy_of_sums(
        &self,
        cpu: Power,
        secs: f64,
        busy: &BusyTimes,
        controller: f64,
    ) -> Energy {
        let mut energy = Energy {
            cpu: cpu.of_parts(secs, f64::from(self.cpus), busy.cpu),
            memory: self.memory.of_parts(secs, f64::from(self.memories), busy.memory),
            ..Energy::default()
        };
        self.storage.add_sums(secs, &busy.storage, controller, &mut energy);
        energy.overhead = overhead(energy.total(), self.overhead_ratio);
        energy.overhead += self.lost(cpu, secs, energy.total());
        energy
    }

    /// Energy that the power supply loses over `secs` seconds, if it delivers `joules`: that at the
    /// mean power.
    fn lost(&self, cpu: Power, secs: f64, joules: Joules) -> Joules {
        match &self.supply {
            Some(supply) if secs > 0.0 => {
                let mean = Watts(joules.0 / secs);
                Joules::of(supply.plug(mean, self.max_delivered(cpu)) - mean, secs)
            }
            _ => Joules::default(),
        }
    }

    /// Power with all parts active, in the more expensive of reading and writing.
    pub fn max(&self) -> Watts {
        let most = self.max_delivered(self.cpu);
        self.supply.as_ref().map_or(most, |supply| supply.plug(most, most))
    }

    /// As [`max`](Self::max), behind the power supply, with processors that draw `cpu`.
    fn max_delivered(&self, cpu: Power) -> Watts {
        let parts = cpu.active * f64::from(self.cpus)
            + self.memory.active * f64::from(self.memories)
            + self.storage.max_parts()
            + self.storage.max_controllers();
        parts * self.overhead_ratio
    }

    /// Power with all parts idle.
    pub fn idle(&self) -> Watts {
        self.energy(1.0, &BusyTimes::default()).total() / gordon_units::Ns::SECOND
    }
}
