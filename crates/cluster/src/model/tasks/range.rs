//! The range of a predicted time: what each source of doubt does to it alone, to first order by
//! what the chain of tasks that ended last is made of.
//!
//! As for the `job` model, the ends are those of an 80 % range, and the squares of their logarithms
//! add up. The lower end is not below the lower end of the critical path.

use super::node::{Part, Parts, TaskNode};
use super::simulate::{Outcome, computing};
use crate::model::job::range::{End, combined};
use schemars::JsonSchema;
use serde::Serialize;

/// What makes a predicted time uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TasksSource {
    /// Differences between runs on the same cluster.
    Runs,
    /// The durations of the tasks: others would have been as likely.
    Durations,
    /// How much of the start of executors is computing.
    Startup,
    /// What the first task of a stage takes on top of later ones, where none shows it.
    WarmUp,
    /// Whether the number of tasks follows the slots of the cluster.
    Tasks,
    /// How much of the driver's time is computing.
    Driver,
    /// How fast the tasks are on another processor, relative to the benchmark.
    Speed,
    /// What the scheduling of tasks is, and the part of their times that the engine does not count.
    Uncounted,
    /// Whether tasks wait for their bytes.
    Storage,
    /// Whether tasks wait for the data of others.
    Network,
    /// What is spilled, and computed again because it is not cached.
    Memory,
    /// Whether the recorded nodes waited for cores that others used.
    Contention,
}

/// All sources.
pub(super) const SOURCES: [TasksSource; 12] = [
    TasksSource::Runs,
    TasksSource::Durations,
    TasksSource::Startup,
    TasksSource::WarmUp,
    TasksSource::Tasks,
    TasksSource::Driver,
    TasksSource::Speed,
    TasksSource::Uncounted,
    TasksSource::Storage,
    TasksSource::Network,
    TasksSource::Memory,
    TasksSource::Contention,
];

/// Half of the 80 % range of runs on the same cluster, as a share of the time: larger than that of
/// one machine, because the placement of tasks differs from run to run. Assumed.
const RUN_NOISE: f64 = 0.04;
/// The same of the tasks of a stage, which add up as independent errors: as a share of their
/// computing, and in core-seconds. Chosen so that the range holds about 80 % of the times on local
/// nodes (docs/validation/cluster.md).
const STAGE_NOISE: f64 = 0.2;
const STAGE_NOISE_CPU: f64 = 0.4;
/// Half of the 80 % range of the start of executors, as a logarithm: on local nodes of one kind it
/// was 10.9 to 12.5 s.
const STARTUP_NOISE: f64 = 0.15;
/// Half of the 80 % range of the driver's time, as a logarithm: it was 4.9 to 9.1 s of one job on
/// local nodes of several kinds.
const DRIVER_NOISE: f64 = 0.3;

/// Significant digits of an upper end, which is rounded up to them. Choices compare upper ends:
/// what is printed as equal is equal, so that nodes that a job hardly uses do not make a cluster
/// faster.
const DIGITS: i32 = 3;

/// What is not known of a cluster.
pub(super) struct Doubts {
    /// Half of the 80 % range that tasks' durations make, as a logarithm.
    pub durations: f64,
    /// Seconds in which the first executor started when it was recorded.
    pub startup: f64,
    /// What an assumed warm-up may take from the time, and add.
    pub warm_up: [f64; 2],
    /// Seconds with as many tasks as were recorded.
    pub as_recorded: f64,
    /// Error of the speed, as a logarithm.
    pub speed: f64,
    /// Speed of a lone thread of the traced machine relative to the cluster's.
    pub lone: f64,
    /// Seconds for all bytes of all tasks on all nodes, if the tasks wait for all of them.
    pub all_disk: f64,
    /// Seconds for all bytes from other nodes.
    pub all_network: f64,
    /// Seconds of all slots for the blocks that are evicted if tasks take all the memory they can.
    pub more_recompute: f64,
    /// Share of the time in which the recorded nodes may have waited for cores.
    pub contended: f64,
    /// Seconds that no schedule is below.
    pub critical_path: f64,
}

/// A time with its range.
pub(super) struct TasksRange {
    pub low: f64,
    pub high: f64,
    /// By source: the time with this source alone at the ends of its range.
    pub by: [[f64; 2]; SOURCES.len()],
}

/// The range of `outcome`.
pub(super) fn range(outcome: &Outcome, node: &TaskNode, doubts: &Doubts) -> TasksRange {
    let time = outcome.time;
    let of = |part: Part| outcome.parts[part as usize];
    let by = SOURCES.map(|source| {
        let [less, more] = match source {
            TasksSource::Runs => both(time, run_noise(outcome, node)),
            TasksSource::Durations => both(time, doubts.durations),
            TasksSource::Startup => {
                let start = doubts.startup * node.startup_ratio;
                let [less, more] = kept_or_scaled(start, doubts.lone, node.startup_ratio);
                let [noise_less, noise_more] = both(start, STARTUP_NOISE);
                [(less + noise_less).min(of(Part::Startup)), more + noise_more]
            }
            TasksSource::WarmUp => doubts.warm_up,
            TasksSource::Tasks => {
                [(time - doubts.as_recorded).max(0.0), (doubts.as_recorded - time).max(0.0)]
            }
            TasksSource::Driver => {
                let driver = of(Part::Driver);
                // Even a driver of a known speed may wait for executors, which scale.
                let [less, more] = kept_or_scaled(driver, doubts.lone, node.driver_ratio);
                let [noise_less, noise_more] = both(driver, DRIVER_NOISE);
                [(less + noise_less).min(driver), more + noise_more]
            }
            TasksSource::Speed => both(computing(&outcome.parts), doubts.speed),
            TasksSource::Uncounted => {
                let uncounted = of(Part::Uncounted) + of(Part::Scheduling);
                // The estimate scales it with the speed; at the other end it is waiting and stays.
                let kept = uncounted / doubts.lone - uncounted;
                [(-kept).max(0.0), kept.max(0.0)]
            }
            TasksSource::Storage => [of(Part::Disk), (doubts.all_disk - of(Part::Disk)).max(0.0)],
            TasksSource::Network => {
                [of(Part::Network), (doubts.all_network - of(Part::Network)).max(0.0)]
            }
            TasksSource::Memory => [of(Part::Spill) + of(Part::Recompute), doubts.more_recompute],
            TasksSource::Contention => [time * doubts.contended, 0.0],
        };
        [(time - less).max(f64::MIN_POSITIVE), time + more]
    });
    let low = combined(time, &by.map(|[low, _]| low), End::Lower);
    let high = combined(time, &by.map(|[_, high]| high), End::Upper);
    let high = rounded_up(high);
    // The critical path is as doubtful as what it consists of.
    let of_path = by.map(|[low, _]| low).into_iter().zip(SOURCES);
    let of_path: Vec<f64> =
        of_path.filter(|(_, source)| is_of_path(*source)).map(|(low, _)| low).collect();
    let surely = combined(time, &of_path, End::Lower) / time;
    TasksRange { low: low.max(doubts.critical_path.min(time) * surely), high, by }
}

/// The least time with three significant digits that is not below `secs`.
#[allow(clippy::cast_possible_truncation)]
fn rounded_up(secs: f64) -> f64 {
    if secs <= 0.0 {
        return secs;
    }
    let scale = 10f64.powi(DIGITS - 1 - secs.log10().floor() as i32);
    // 1.1 x 100 is above 110 in binary.
    (secs * scale * (1.0 - 8.0 * f64::EPSILON)).ceil() / scale
}

/// Whether a source makes the critical path doubtful.
fn is_of_path(source: TasksSource) -> bool {
    use TasksSource::{Durations, Network, Storage};
    !matches!(source, Durations | Storage | Network)
}

/// Differences between runs, as a logarithm.
fn run_noise(outcome: &Outcome, node: &TaskNode) -> f64 {
    let own = STAGE_NOISE_CPU / node.speeds.fastest();
    let of_stage = |chain: &Parts| {
        let secs = computing(chain);
        if secs > 0.0 { (STAGE_NOISE * secs).powi(2) + own.min(secs).powi(2) } else { 0.0 }
    };
    let squares: f64 = outcome.stages.iter().map(|stage| of_stage(&stage.chain)).sum();
    let squares = squares * outcome.alone();
    (RUN_NOISE * RUN_NOISE + squares / outcome.time.powi(2).max(f64::MIN_POSITIVE)).sqrt()
}

/// What an error of this logarithm takes away from `secs`, and adds.
fn both(secs: f64, error: f64) -> [f64; 2] {
    [secs * (1.0 - (-error).exp()), secs * (error.exp() - 1.0)]
}

/// What is taken away from `secs`, and added, if the recorded time was all waiting, or all
/// computing on a lone thread; `ratio` is between 1 and `lone`.
fn kept_or_scaled(secs: f64, lone: f64, ratio: f64) -> [f64; 2] {
    let recorded = secs / ratio;
    [(secs - recorded * lone.min(1.0)).max(0.0), (recorded * lone.max(1.0) - secs).max(0.0)]
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn an_upper_end_has_three_digits() {
        for (secs, rounded) in [
            (15.7801, 15.8),
            (15.8, 15.8),
            (15.801, 15.9),
            (0.012_341, 0.0124),
            (1234.0, 1240.0),
            (999.5, 1000.0),
            (0.0, 0.0),
        ] {
            assert_eq!(rounded_up(secs), rounded);
        }
        let of = |number: u32| f64::from(number) / 100.0;
        assert!((100..1000).map(of).all(|secs| rounded_up(secs) == secs));
    }
}
