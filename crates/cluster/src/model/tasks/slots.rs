//! The slots of recorded executors: how many each has, how long one pauses between two tasks, and
//! how many tasks ran at a time.

use super::median;
use gordon_trace::spark::{EventLog, Task};
use gordon_units::Ns;
use std::collections::{BTreeMap, HashMap};

/// Tasks from which a median of their pauses says something.
const ENOUGH: usize = 3;
/// The longest pause of a slot that is the engine's and not a lack of tasks, in seconds.
const LONGEST_TURNAROUND: f64 = 0.2;

/// The slots of each executor that the log names.
pub(super) fn slots_by_executor(log: &EventLog) -> HashMap<&str, usize> {
    let of = |cores: u32| (cores / log.settings.task_cpus.max(1)).max(1) as usize;
    log.executors.iter().map(|executor| (executor.id.as_str(), of(executor.cores))).collect()
}

/// The median pause of a slot between the end of a task and the start of the next one of its stage,
/// in seconds. The driver starts a task before it notes the end of the one that has left the slot.
/// Such a pause is none.
pub(super) fn turnaround(log: &EventLog) -> f64 {
    let slots = slots_by_executor(log);
    let mut by_executor: BTreeMap<u32, [Vec<(Ns, u32)>; 2]> = BTreeMap::new();
    for task in &log.tasks {
        let [starts, ends] = by_executor.entry(task.executor).or_default();
        starts.push((task.started, task.stage));
        ends.extend(task.ended.map(|ended| (ended, task.stage)));
    }
    let mut pauses = Vec::new();
    for (executor, [mut starts, mut ends]) in by_executor {
        starts.sort_unstable();
        ends.sort_unstable();
        // With all slots taken, each start needs an end.
        let taken = slots.get(log.text(executor)).copied().unwrap_or(1);
        for ((started, next), (ended, of)) in starts.into_iter().skip(taken).zip(ends) {
            if of == next {
                pauses.push(started.saturating_sub(ended).as_secs());
            }
        }
    }
    pauses.retain(|pause| *pause <= LONGEST_TURNAROUND);
    if pauses.len() < ENOUGH { 0.0 } else { median(pauses) }
}

/// The number of running tasks on each host over time.
pub(super) struct Concurrency {
    /// By host: times, and the integral of the number up to each.
    hosts: HashMap<u32, Vec<(Ns, f64, f64)>>,
}

impl Concurrency {
    pub fn of<'a>(tasks: impl Iterator<Item = &'a Task>) -> Self {
        let mut changes: HashMap<u32, Vec<(Ns, f64)>> = HashMap::new();
        for task in tasks {
            let of_host = changes.entry(task.host).or_default();
            of_host.push((task.started, 1.0));
            of_host.push((task.ended.unwrap_or(task.started), -1.0));
        }
        let integrate = |mut changes: Vec<(Ns, f64)>| {
            changes.sort_by_key(|(at, _)| *at);
            let (mut last, mut number, mut sum) = (Ns::ZERO, 0.0, 0.0);
            let step = |(at, change): (Ns, f64)| {
                sum += number * (at - last).as_secs();
                number += change;
                last = at;
                (at, sum, number)
            };
            changes.into_iter().map(step).collect()
        };
        Self { hosts: changes.into_iter().map(|(host, all)| (host, integrate(all))).collect() }
    }

    /// The integral for a host up to a time.
    fn integral(points: &[(Ns, f64, f64)], at: Ns) -> f64 {
        let next = points.partition_point(|(time, ..)| *time <= at);
        let Some((time, sum, number)) = next.checked_sub(1).map(|index| points[index]) else {
            return 0.0;
        };
        sum + number * (at - time).as_secs()
    }

    /// Mean number of tasks on the host of `task` while it ran, itself included.
    pub fn of_task(&self, task: &Task) -> f64 {
        let ended = task.ended.unwrap_or(task.started);
        let length = (ended.saturating_sub(task.started)).as_secs();
        match self.hosts.get(&task.host) {
            Some(points) if length > 0.0 => {
                let integral = Self::integral(points, ended) - Self::integral(points, task.started);
                (integral / length).max(1.0)
            }
            _ => 1.0,
        }
    }
}
