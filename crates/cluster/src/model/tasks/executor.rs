//! How a machine holds the executors of an application.
//!
//! As cluster managers do, a machine runs as many executors as its cores and its memory hold: each
//! takes its cores, its heap and the memory besides. A standalone cluster without a setting of the
//! cores runs one executor on all of them. What the operating system needs is not set apart.

use super::TasksSurvey;
use super::application::{Application, bytes};
use crate::space::machines::MachineDesign;
use gordon_trace::spark::Settings;
use gordon_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// Memory of an executor besides its heap, at least (Spark, "Configuration").
const LEAST_OVERHEAD: f64 = (384u64 << 20) as f64;

/// A machine that cannot run the application.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// Bytes of its heap in which tasks work and cached blocks lie.
    pub working: f64,
    /// Bytes that it takes of its node.
    pub whole: f64,
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
    let known = Settings { executor_memory: heap, ..settings.clone() };
    let is_known = settings.is_known || survey.executor.memory.is_some();
    Ok(Executor {
        count: (cores / wanted).min(in_memory),
        slots,
        heap: bytes(heap),
        working: if is_known { bytes(known.working_memory()) } else { f64::INFINITY },
        whole,
    })
}

/// The executors of a recorded node.
pub(super) fn recorded_executor(application: &Application) -> Executor {
    let (executors, settings) = (&application.executors, &application.settings);
    Executor {
        count: executors.count.div_ceil(executors.hosts.max(1)).max(1),
        slots: executors.slots.max(1),
        heap: bytes(settings.executor_memory),
        working: match settings.is_known {
            true => bytes(settings.working_memory()),
            false => f64::INFINITY,
        },
        whole: bytes(settings.executor_memory) + bytes(settings.memory_overhead),
    }
}

/// Memory besides a heap: the recorded share of the heap.
fn overhead(settings: &Settings, heap: Bytes) -> f64 {
    let recorded = bytes(settings.memory_overhead);
    if heap == settings.executor_memory {
        return recorded;
    }
    (recorded * bytes(heap) / bytes(settings.executor_memory)).max(LEAST_OVERHEAD)
}
