//! A machine with executors as a node for the simulation.

use super::demand::TracedNode;
use super::executor::Executor;
use super::memory::Held;
use super::node::TaskNode;
use super::speeds::Speeds;
use crate::space::machine::Machine;

/// Share of the gain of a core while others are idle that tasks have, as a power: half of the half
/// that a varying number of threads has in the `job` model. Assumed.
const GAIN: f64 = 0.25;
/// Limits of the ratio of two heaps by which the time of collecting garbage grows.
const HEAP_RATIO: std::ops::RangeInclusive<f64> = 0.25..=4.0;

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
    held: Held,
    traced: &TracedNode,
    driver_speed: Option<f64>,
) -> TaskNode {
    let lone_ratio = traced.speeds.each(1) / speeds.each(1);
    // Part of the driver's time is computing, part waiting; nothing says how much. The start of
    // executors is computing, as it was on local nodes of 0.2 to 0.8 cores.
    let middle = lone_ratio.sqrt();
    let heap_ratio = (traced.heap / executor.heap).clamp(*HEAP_RATIO.start(), *HEAP_RATIO.end());
    TaskNode {
        speeds,
        storage,
        network,
        slots: executor.count * executor.slots,
        executor_slots: executor.slots,
        held,
        heap_ratio,
        lone_ratio,
        startup_ratio: lone_ratio,
        driver_ratio: driver_speed.map_or(middle, |speed| 1.0 / speed),
    }
}
