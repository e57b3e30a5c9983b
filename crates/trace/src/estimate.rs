//! Estimates instructions and cache misses from CPU time, for machines without usable counters.

use crate::model::Sample;
use crate::profile::Profile;
use gordon_units::Ns;

/// The rates of a profile as plain numbers.
#[derive(Clone, Copy, Debug)]
pub struct ProfileRates {
    /// Instructions per cycle of a busy core.
    pub ipc: f64,
    /// Last-level cache misses per thousand instructions.
    pub mpki: f64,
}

impl ProfileRates {
    /// The values of `profile`, without their sources.
    pub fn of(profile: &Profile) -> Self {
        Self {
            ipc: *profile.instructions_per_cycle,
            mpki: *profile.llc_misses_per_kilo_instruction,
        }
    }
}

/// Cycles since the start of the trace: CPU time times frequency, added up over the intervals.
#[derive(Clone, Copy, Debug)]
pub struct CycleEstimate {
    rates: ProfileRates,
    machine: f64,
    command: f64,
}

impl CycleEstimate {
    /// No cycles yet.
    pub fn new(rates: ProfileRates) -> Self {
        Self { rates, machine: 0.0, command: 0.0 }
    }

    /// Adds the interval between two totals.
    #[allow(clippy::cast_precision_loss)]
    pub fn add(&mut self, before: &Sample, now: &Sample) {
        let mhz = &now.mhz_per_core;
        let sum: u64 = mhz.iter().map(|m| u64::from(*m)).sum();
        let mean = sum as f64 / mhz.len().max(1) as f64;
        // A single entry may be the sum over the cores of a node.
        let is_sum = now.cpu_per_core.len() == 1;
        let (mut busy, mut cycles) = (0.0, 0.0);
        for (core, total) in now.cpu_per_core.iter().enumerate() {
            let then = before.cpu_per_core.get(core).copied().unwrap_or(Ns::ZERO);
            let ns = total.saturating_sub(then).0 as f64;
            busy += ns;
            // 1 MHz is one thousandth of a cycle per nanosecond.
            cycles +=
                ns * mhz.get(core).filter(|_| !is_sum).map_or(mean, |m| f64::from(*m)) / 1000.0;
        }
        self.machine += cycles;
        // The command is assumed to run at the mean frequency of the busy cores.
        let frequency = if busy > 0.0 { cycles / busy } else { mean / 1000.0 };
        let command = now.command.cpu.saturating_sub(before.command.cpu);
        self.command += command.0 as f64 * frequency;
    }

    /// Instructions and cache misses of the machine. Counted instructions replace the estimate.
    pub fn machine(&self, counted: Option<u64>) -> (u64, u64) {
        self.of(self.machine, counted)
    }

    /// Instructions and cache misses of the command. Counted instructions replace the estimate.
    pub fn command(&self, counted: Option<u64>) -> (u64, u64) {
        self.of(self.command, counted)
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn of(&self, cycles: f64, counted: Option<u64>) -> (u64, u64) {
        let instructions = counted.unwrap_or((cycles * self.rates.ipc) as u64);
        (instructions, (instructions as f64 * self.rates.mpki / 1000.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_several_cores_runs_at_their_mean_frequency() {
        let mut estimate = CycleEstimate::new(ProfileRates { ipc: 1.0, mpki: 0.0 });
        let now = Sample {
            cpu_per_core: vec![Ns(1_000_000)],
            mhz_per_core: vec![3000, 1000],
            ..Sample::default()
        };
        estimate.add(&Sample::default(), &now);
        assert_eq!(estimate.machine(None).0, 2_000_000);
    }

    #[test]
    fn time_times_frequency_times_rate() {
        let mut estimate = CycleEstimate::new(ProfileRates { ipc: 1.5, mpki: 2.0 });
        let before = Sample { cpu_per_core: vec![Ns(500)], ..Sample::default() };
        let mut now = Sample {
            cpu_per_core: vec![Ns(1_000_500), Ns(3_000_000)],
            mhz_per_core: vec![2000, 1000],
            ..Sample::default()
        };
        now.command.cpu = Ns(2_000_000);
        estimate.add(&before, &now);
        // 1 ms at 2 GHz and 3 ms at 1 GHz: 5 million cycles in 4 ms.
        assert_eq!(estimate.machine(None), (7_500_000, 15_000));
        assert_eq!(estimate.command(None), (3_750_000, 7_500));
        assert_eq!(estimate.command(Some(1_000_000)), (1_000_000, 2_000));
    }
}
