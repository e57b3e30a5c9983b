//! The machine on which something was recorded: as it was given, or found by its processor.

use crate::error::ClusterError;
use crate::space::machine::{Machine, check};
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

/// The recorded machine, as a survey gives it.
#[derive(Clone, Copy)]
pub(crate) struct GivenReference<'a> {
    /// Machines of the space.
    pub(crate) machines: &'a [Machine],
    /// Name of the machine: one of `machines`, or `unit`.
    pub(crate) name: Option<&'a str>,
    /// Name of the machine whose `core_speed` is 1.
    pub(crate) unit: Option<&'a str>,
    /// A description of its processor.
    pub(crate) described: Option<&'a Machine>,
    /// Its `core_speed`.
    pub(crate) speed: Option<f64>,
}

impl<'a> GivenReference<'a> {
    /// Checks that the machine exists and is given once.
    ///
    /// # Errors
    /// Returns an error if it does not, or if a value is invalid.
    pub(crate) fn check(&self) -> Result<(), ClusterError> {
        let impossible =
            |what: &str, why: String| Err(ClusterError::Impossible { what: what.into(), why });
        if let Some(name) = self.name
            && self.unit != Some(name)
            && self.machines.iter().all(|m| m.id != name)
        {
            return impossible("reference", format!("no machine of the space is `{name}`"));
        }
        let given = [self.name.is_some(), self.described.is_some(), self.speed.is_some()];
        if given.into_iter().filter(|is_given| *is_given).count() > 1 {
            return impossible("reference", "the traced machine is given twice".into());
        }
        if let Some(machine) = self.described {
            check(std::slice::from_ref(machine))?;
        }
        match self.speed {
            Some(speed) if !(speed.is_finite() && speed > 0.0) => {
                impossible("reference_speed", format!("{speed} is not above zero"))
            }
            _ => Ok(()),
        }
    }

    /// The machine; `None` if none is given.
    pub(crate) fn find(&self) -> Option<TraceReference<'a>> {
        if let Some(name) = self.name {
            return Some(match self.machines.iter().position(|m| m.id == name) {
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
        if let Some(machine) = self.described {
            return Some(TraceReference::of(machine));
        }
        let of = |speed| TraceReference { speed, is_assumed: false, ..TraceReference::UNKNOWN };
        self.speed.map(of)
    }
}
