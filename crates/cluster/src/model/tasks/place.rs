//! How a machine holds the executors of an application.
//!
//! As cluster managers do, a machine runs as many executors as its cores and its memory hold: each
//! takes its cores, its heap and the memory besides. A standalone cluster without a setting of the
//! cores runs one executor on all of them. What the operating system needs is not set apart.

use super::TasksSurvey;
use super::application::Application;
use super::demand::TracedNode;
use super::node::TaskNode;
use super::speeds::Speeds;
use crate::space::machine::Machine;
use crate::space::machines::MachineDesign;
use gordon_trace::spark::Settings;
use gordon_units::Bytes;
use serde::Serialize;

/// Memory of an executor besides its heap, at least (Spark, "Configuration").
const LEAST_OVERHEAD: f64 = (384u64 << 20) as f64;
/// Share of the gain of a core while others are idle that tasks have, as a power: half of the half
/// that a varying number of threads has in the `job` model. Assumed.
const GAIN: f64 = 0.25;
/// Share of the start of executors that is computing, as a power of the ratio of the speeds: on local
/// nodes of 0.2 to 0.8 cores it is 0.84 (docs/validation/cluster.md); elsewhere more of it is waiting
/// for the cluster manager.
const STARTUP_COMPUTING: f64 = 0.75;
/// Limits of the ratio of two heaps by which the time of collecting garbage grows.
const HEAP_RATIO: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// A machine that cannot run the application.
#[derive(Clone, Debug, Serialize)]
pub struct Refusal {
    /// Its design.
    pub machine: String,
    /// What it lacks.
    pub why: String,
}

/// The executors of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Executor {
    /// Executors of a node.
    pub count: u32,
    /// Tasks that each runs at a time.
    pub slots: u32,
    /// Its heap in bytes.
    pub heap: f64,
    /// Bytes of its heap in which tasks work.
    pub working: f64,
}

#[allow(clippy::cast_precision_loss)]
fn bytes(amount: Bytes) -> f64 {
    amount.0 as f64
}

/// The executors of a machine.
///
/// # Errors
/// Returns what the machine lacks if it holds none.
pub(super) fn executor_of(
    survey: &TasksSurvey,
    application: &Application,
    design: &MachineDesign<'_>,
) -> Result<Executor, String> {
    let machine = design.machine;
    let settings = &application.settings;
    let cores = *machine.cores;
    let wanted = survey.executor.cores.or(settings.executor_cores).unwrap_or(cores);
    if wanted > cores {
        return Err(format!("an executor has {wanted} cores, the machine has {cores}"));
    }
    let slots = wanted / settings.task_cpus.max(1);
    if slots == 0 {
        let cpus = settings.task_cpus;
        return Err(format!("a task takes {cpus} cores, an executor has {wanted}"));
    }
    let heap = survey.executor.memory.unwrap_or(settings.executor_memory);
    let overhead = overhead(settings, heap);
    let whole = bytes(heap) + overhead;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let in_memory = (bytes(*machine.memory) / whole) as u32;
    if in_memory == 0 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = Bytes(whole as u64);
        return Err(format!(
            "an executor takes {} of memory, the machine has {}",
            whole.human(),
            machine.memory.human()
        ));
    }
    let working = Settings { executor_memory: heap, ..settings.clone() }.working_memory();
    Ok(Executor {
        count: (cores / wanted).min(in_memory),
        slots,
        heap: bytes(heap),
        working: bytes(working),
    })
}

/// Memory besides a heap: the recorded share of the heap.
fn overhead(settings: &Settings, heap: Bytes) -> f64 {
    let recorded = bytes(settings.memory_overhead);
    if heap == settings.executor_memory {
        return recorded;
    }
    (recorded * bytes(heap) / bytes(settings.executor_memory)).max(LEAST_OVERHEAD)
}

/// The speeds of a machine's cores; `cores` of them run tasks.
pub(super) fn speeds(machine: &Machine, cores: f64, has_gain: bool) -> Speeds {
    let speed = *machine.core_speed;
    let all = machine.all_cores();
    let single = all.single.filter(|_| has_gain);
    Speeds::new(cores, |busy| match single {
        Some(single) => {
            let busy = busy.min(all.count);
            speed * (all.known(single).throughput(busy) / f64::from(busy)).powf(GAIN)
        }
        None => speed,
    })
}

/// A node for the simulation. `driver_speed` is the relative speed of the driver, if it is given.
pub(super) fn node(
    executor: &Executor,
    speeds: Speeds,
    storage: [f64; 2],
    network: f64,
    traced: &TracedNode,
    driver_speed: Option<f64>,
) -> TaskNode {
    let lone_ratio = traced.speeds.each(1) / speeds.each(1);
    // Part of the driver's time and of the start of executors is computing, part waiting; nothing
    // says how much.
    let middle = lone_ratio.sqrt();
    let heap_ratio = (traced.heap / executor.heap).clamp(*HEAP_RATIO.start(), *HEAP_RATIO.end());
    TaskNode {
        speeds,
        storage,
        network,
        slots: executor.count * executor.slots,
        executor_slots: executor.slots,
        memory: executor.working / f64::from(executor.slots),
        heap_ratio,
        lone_ratio,
        startup_ratio: lone_ratio.powf(STARTUP_COMPUTING),
        driver_ratio: driver_speed.map_or(middle, |speed| 1.0 / speed),
    }
}
