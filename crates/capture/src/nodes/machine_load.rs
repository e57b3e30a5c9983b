//! Totals and load of the machine over the time of a capture: what its nodes are compared with, and
//! whether it had cores and memory left for them.

use crate::machine::MachineSource;
use crate::machine_counters::{ProcFile, pressure};
use gordon_trace::{DiskSample, Sample};
use gordon_units::{Bytes, Ns};
use std::path::Path;

/// Share of the time of all cores that has to be used in a sample for the machine to be full.
/// Counters of `/proc/stat` have ticks of 10 ms: a full machine shows a little less than 1.
const FULL: f64 = 0.95;

/// Totals of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTotals {
    /// Length of the capture.
    pub span: Ns,
    /// Number of cores.
    pub cores: usize,
    /// CPU time of all cores.
    pub cpu: Ns,
    /// Time that the hypervisor gave to others, summed over the cores.
    pub steal: Ns,
    /// Time of the samples in which at least 95 % of the time of all cores was used or stolen.
    pub full: Ns,
    /// Time in which a CPU quota around this process held it back; `None` if it is not counted.
    pub throttled: Option<Ns>,
    /// Time in which a task waited for a core, from pressure stall information.
    pub cpu_pressure: Option<Ns>,
    /// Time in which all tasks waited for I/O.
    pub io_pressure: Option<Ns>,
    /// Time in which a task waited for memory.
    pub memory_pressure: Option<Ns>,
    /// Memory of the machine.
    pub memory: Bytes,
    /// The most memory in use in a sample, without page cache that can be dropped.
    pub memory_peak: Bytes,
    /// Bytes read from the disks that are made of no other devices.
    pub read_bytes: Bytes,
    /// Bytes written to these.
    pub write_bytes: Bytes,
    /// Bytes received from the network, by the interfaces that a trace of the machine counts.
    pub rx_bytes: Bytes,
    /// Bytes sent.
    pub tx_bytes: Bytes,
}

/// Follows the load of the machine from sample to sample.
pub(super) struct MachineLoad {
    /// The totals at the last sample.
    last: Sample,
    full: Ns,
    memory_peak: Bytes,
    memory_pressure: Option<(ProcFile, Ns)>,
}

impl MachineLoad {
    /// `first` has the totals at the start.
    pub(super) fn start(root: &Path, first: Sample) -> Self {
        let file = ProcFile::open(&root.join("proc/pressure/memory")).ok();
        let memory_pressure = file.and_then(|mut file| {
            let before = pressure(file.read().ok()?, "some");
            Some((file, before))
        });
        Self { memory_peak: first.memory, last: first, full: Ns::ZERO, memory_pressure }
    }

    /// Adds a sample, which has the totals since the start.
    pub(super) fn add(&mut self, now: Sample) {
        let span = now.span.saturating_sub(self.last.span);
        let used = (now.cpu() + now.steal).saturating_sub(self.last.cpu() + self.last.steal);
        if is_full(used, span, now.cpu_per_core.len()) {
            self.full += span;
        }
        self.memory_peak = self.memory_peak.max(now.memory);
        self.last = now;
    }

    /// The totals at the last sample. `disks` are the devices that are made of no others.
    pub(super) fn totals(
        &mut self,
        machine: &MachineSource,
        memory: Bytes,
        disks: &[u32],
    ) -> MachineTotals {
        let last = &self.last;
        let moved = |of: fn(&DiskSample) -> Bytes| {
            last.disks.iter().filter(|disk| disks.contains(&disk.device)).map(of).sum()
        };
        let memory_pressure = self.memory_pressure.as_mut().and_then(|(file, before)| {
            Some(pressure(file.read().ok()?, "some").saturating_sub(*before))
        });
        MachineTotals {
            span: last.span,
            cores: last.cpu_per_core.len(),
            cpu: last.cpu(),
            steal: last.steal,
            full: self.full,
            throttled: machine.has_throttled_time().then_some(last.throttled),
            cpu_pressure: machine.has_pressure().then_some(last.psi_cpu_some),
            io_pressure: machine.has_pressure().then_some(last.psi_io_full),
            memory_pressure,
            memory,
            memory_peak: self.memory_peak,
            read_bytes: moved(|disk| disk.read_bytes),
            write_bytes: moved(|disk| disk.write_bytes),
            rx_bytes: last.rx_bytes,
            tx_bytes: last.tx_bytes,
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn is_full(used: Ns, span: Ns, cores: usize) -> bool {
    span > Ns::ZERO && used.0 as f64 >= FULL * span.0 as f64 * cores as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn sample(span: u64, per_core: [u64; 2], steal: u64, memory: u64) -> Sample {
        Sample {
            span: Ns(span),
            cpu_per_core: per_core.map(Ns).to_vec(),
            steal: Ns(steal),
            memory: Bytes(memory),
            ..Sample::default()
        }
    }

    #[test]
    fn a_sample_is_full_if_all_cores_were_used_or_stolen() {
        let root = tempfile::tempdir().unwrap();
        let mut load = MachineLoad::start(root.path(), sample(0, [0, 0], 0, 5));
        // One core is idle; both are used; one is used and the other stolen; both are nearly idle.
        load.add(sample(1000, [1000, 0], 0, 5));
        assert_eq!(load.full, Ns::ZERO);
        load.add(sample(2000, [1950, 950], 0, 9));
        assert_eq!(load.full, Ns(1000));
        load.add(sample(2500, [2450, 950], 500, 7));
        assert_eq!(load.full, Ns(1500));
        load.add(sample(4000, [2460, 960], 500, 6));
        assert_eq!((load.full, load.memory_peak), (Ns(1500), Bytes(9)));
    }

    #[test]
    fn memory_pressure_is_that_since_the_start_and_unknown_without_its_file() {
        let root = tempfile::tempdir().unwrap();
        let before = |load: &mut MachineLoad| {
            load.memory_pressure.as_mut().map(|(file, before)| {
                pressure(file.read().unwrap(), "some").saturating_sub(*before)
            })
        };
        assert_eq!(before(&mut MachineLoad::start(root.path(), Sample::default())), None);
        let file = root.path().join("proc/pressure/memory");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "some avg10=0.00 total=40\nfull avg10=0.00 total=3\n").unwrap();
        let mut load = MachineLoad::start(root.path(), Sample::default());
        fs::write(&file, "some avg10=0.00 total=55\nfull avg10=0.00 total=3\n").unwrap();
        assert_eq!(before(&mut load), Some(Ns(15_000)));
    }
}
