//! The machine on which something was recorded.

use crate::space::machine::Machine;
use gordon_trace::MachineInfo;
use gordon_units::Bytes;

/// What is known of the machine on which something was recorded.
#[derive(Clone, Copy)]
pub(crate) struct TraceReference<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) speed: f64,
    /// Whether nothing says what the speed is.
    pub(crate) is_assumed: bool,
    /// Logical processors that share a physical core, and the speed of a lone thread relative to
    /// that of a busy processor; `None` if they are unknown.
    pub(crate) threads: Option<u32>,
    pub(crate) single: Option<f64>,
    /// Index of the machine, if it is in the space; its storage and network are known then.
    pub(crate) machine: Option<usize>,
}

impl<'a> TraceReference<'a> {
    /// An unknown machine; its speed is assumed.
    pub(crate) const UNKNOWN: Self = Self {
        name: None,
        speed: 1.0,
        is_assumed: true,
        threads: None,
        single: None,
        machine: None,
    };

    /// A machine with the processor of `machine`.
    pub(crate) fn of(machine: &'a Machine) -> Self {
        Self {
            name: Some(&machine.id),
            speed: *machine.core_speed,
            is_assumed: false,
            threads: machine.threads_per_core.as_ref().map(|threads| **threads),
            single: machine.lone_gain(),
            machine: None,
        }
    }
}

/// The machine whose processor was traced. Sizes of a family share a processor and its speed, so
/// one with as many cores is preferred, and then the one with the nearest memory. With another
/// number of threads a core, the same processor has another speed for each of them. The name of an
/// Arm core is not a processor: machines of different clocks have the same cores.
pub(crate) fn same_processor<'a>(
    machines: &'a [Machine],
    traced: &MachineInfo,
    cores: u32,
) -> Option<&'a Machine> {
    if is_arm_core(&traced.cpu_model) {
        return None;
    }
    let has_threads = |machine: &Machine| match (&machine.threads_per_core, traced.threads_per_core)
    {
        (Some(known), Some(found)) => **known == found,
        _ => true,
    };
    #[allow(clippy::cast_precision_loss)]
    let distance = |machine: &Machine| match traced.memory {
        Bytes(0) => 0.0,
        memory => (machine.memory.0 as f64 / memory.0 as f64).ln().abs(),
    };
    machines
        .iter()
        .filter(|m| m.models.iter().any(|name| traced.cpu_model.contains(name.as_str())))
        .filter(|m| has_threads(m))
        .min_by(|a, b| {
            let cores_differ = (*a.cores != cores).cmp(&(*b.cores != cores));
            cores_differ.then(distance(a).total_cmp(&distance(b)))
        })
}

/// Whether a name is that of an Arm core, such as `Neoverse-N1`, and not of a processor.
pub(crate) fn is_arm_core(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let core = name.strip_prefix("arm ").unwrap_or(&name);
    ["cortex-", "neoverse-"].iter().any(|family| core.starts_with(family))
}
