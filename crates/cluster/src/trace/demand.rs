//! The demands that a traced machine placed on its parts in each sample.

use crate::space::config::{Cpu, Memory, Network};
use crate::trace::charge::Charge;
use gordon_trace::Sample;
use gordon_units::{Hertz, Ns};

/// The demands of one sample of a trace, independent of the node that it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Instructions executed on all processors.
    pub instructions: f64,
    /// Last-level cache misses.
    pub llc_misses: f64,
    /// Bytes received from the network.
    pub received: f64,
    /// Bytes sent to the network.
    pub sent: f64,
}

impl Demand {
    /// The demands of a sample, with the instructions and misses of the machine or of the command.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(sample: &Sample, charge: Charge) -> Self {
        let (instructions, llc_misses) = match charge {
            Charge::Auto | Charge::Machine => (sample.instructions, sample.llc_misses),
            Charge::Command => (sample.command.instructions, sample.command.llc_misses),
        };
        Self {
            instructions: instructions as f64,
            llc_misses: llc_misses as f64,
            received: sample.rx_bytes.0 as f64,
            sent: sample.tx_bytes.0 as f64,
        }
    }

    /// Seconds of one processor at `clock`: instructions divided by instructions a second.
    /// Performance scales linearly with the clock (section 5.3).
    pub fn cpu_secs(&self, cpu: &Cpu, clock: Hertz) -> f64 {
        self.instructions / (*cpu.ipc * clock.0)
    }

    /// Seconds that the network link needs; a duplex link transfers both directions at the same
    /// time.
    #[allow(clippy::cast_precision_loss)]
    pub fn network_secs(&self, network: &Network) -> f64 {
        let bytes =
            if *network.duplex { self.received.max(self.sent) } else { self.received + self.sent };
        bytes / network.bandwidth.0 as f64
    }

    /// Seconds for which cache misses occupy the memory.
    #[allow(clippy::cast_precision_loss)]
    pub fn memory_secs(&self, memory: &Memory) -> f64 {
        self.llc_misses * memory.line.0 as f64 / memory.bandwidth.0 as f64
    }
}

/// Index of the sample at an instant of the trace: the last sample that starts at or before it.
/// `starts` holds the start of each sample, in ascending order.
pub fn sample_at(starts: &[Ns], at: Ns) -> usize {
    starts.partition_point(|start| *start <= at).saturating_sub(1)
}
