//! The number of tasks of stages. It stays as recorded, unless it is given (`--partitions`), or
//! unless a stage had as many tasks for each slot as programs choose by the cores of their cluster.
//! Then it has as many for each slot of another cluster.
//!
//! The bytes and the computing of a stage stay; a task takes the place of those that covered its
//! part of the stage, with their sums.

use super::application::{AppStage, Application};
use super::cached::Recompute;
use super::demand::TaskDemand;

/// The most tasks for each slot that programs choose by their cores (Spark, "Tuning": two to
/// three).
const MOST_PER_SLOT: u32 = 3;
/// Tasks of a stage at least, whatever the cores (Spark, `defaultParallelism` and `textFile`).
const LEAST: u32 = 2;
/// Tasks of a shuffle of SQL, unless they are set (Spark, `spark.sql.shuffle.partitions`).
const SQL_DEFAULT: u32 = 200;
/// The most bytes of a task that reads files (Spark, `spark.sql.files.maxPartitionBytes`).
const MOST_BYTES: f64 = (128u64 << 20) as f64;
/// Seconds of computing of a task below which programs do not divide it. Assumed.
const LEAST_WORK: f64 = 0.1;

/// Whether the number of tasks of a stage may follow the slots of the cluster.
pub(super) fn follows(stage: &AppStage, application: &Application) -> bool {
    let slots = application.executors.slots_total();
    let tasks = stage.tasks_total();
    let is_default = stage.is_shuffled && tasks == SQL_DEFAULT;
    let is_multiple = tasks.is_multiple_of(slots) && tasks / slots <= MOST_PER_SLOT;
    // One task is one for another reason, such as a file that cannot be divided.
    let is_least = tasks == LEAST && slots < LEAST;
    let is_choice = if slots < LEAST { is_least } else { is_multiple };
    tasks > 1 && tasks == stage.partitions && is_choice && !is_default
}

/// Tasks of a stage that follows, on a cluster with this number of slots.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn count(
    stage: &AppStage,
    application: &Application,
    demands: &[TaskDemand],
    slots: u32,
) -> u32 {
    let recorded = f64::from(stage.tasks_total());
    let of_stage = &demands[stage.tasks.clone()];
    let sum = |of: fn(&TaskDemand) -> f64| of_stage.iter().map(of).sum::<f64>();
    let per_slot = recorded / f64::from(application.executors.slots_total().max(LEAST));
    let least = (sum(|task| task.moved[0]) / MOST_BYTES).ceil().min(recorded);
    let most = (sum(|task| task.work) / LEAST_WORK).max(recorded);
    let wanted = (per_slot * f64::from(slots.max(LEAST))).round();
    wanted.clamp(least.max(f64::from(LEAST)), most) as u32
}

/// The application whose stages have the numbers of tasks that `number` gives, with their demands.
pub(super) fn split(
    application: &Application,
    demands: &[TaskDemand],
    number: impl Fn(&AppStage) -> u32,
) -> (Application, Vec<TaskDemand>) {
    let mut stages = application.stages.clone();
    let mut all = Vec::with_capacity(demands.len());
    for stage in &mut stages {
        let recorded = &demands[stage.tasks.clone()];
        let from = all.len();
        match number(stage) {
            same if same == stage.tasks_total() => all.extend_from_slice(recorded),
            number => all.extend((0..number).map(|at| part_of(recorded, at, number))),
        }
        stage.tasks = from..all.len();
    }
    for at in 0..stages.len() {
        let made_by = stages[at].cached.map(|cached| application.cached[cached].made_by);
        let (Some(maker), false) = (made_by, stages[at].blocks.is_empty()) else { continue };
        let [made, read] = [maker, at].map(|stage| stages[stage].tasks.len());
        let recorded = [maker, at].map(|stage| application.stages[stage].tasks.len());
        if recorded != [made, read] {
            let place = |task: usize| u32::try_from(task * made / read).unwrap_or(u32::MAX);
            stages[at].blocks = (0..read).map(place).collect();
        }
    }
    (Application { stages, tasks: Vec::new(), ..application.without_tasks() }, all)
}

/// Task `at` of `count` equal parts of the work of `recorded` tasks: the sum of those that covered
/// its part, so that the work of a long one among them stays.
fn part_of(recorded: &[TaskDemand], at: u32, count: u32) -> TaskDemand {
    #[allow(clippy::cast_precision_loss)]
    let width = recorded.len() as f64 / f64::from(count);
    let (from, to) = (f64::from(at) * width, f64::from(at + 1) * width);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let [first, middle, last] =
        [from, f64::midpoint(from, to), to].map(|place| (place as usize).min(recorded.len() - 1));
    let mut part = TaskDemand {
        recompute: Recompute { work: 0.0, read: 0.0, ..recorded[middle].recompute },
        warm_up: recorded[middle].warm_up,
        peers: count,
        ..TaskDemand::default()
    };
    let (mut waited, mut spilled) = (0.0, 0.0);
    for (place, task) in (first..).zip(&recorded[first..=last]) {
        #[allow(clippy::cast_precision_loss)]
        let share = (to.min(place as f64 + 1.0) - from.max(place as f64)).max(0.0);
        let moved = task.moved.map(|bytes| bytes * share);
        part.scheduling += task.scheduling * share / width;
        part.work += task.work * share;
        part.uncounted += task.uncounted * share;
        part.gc += task.gc * share;
        part.fetch += task.fetch * share;
        part.shuffled += task.shuffled * share;
        part.remote += task.remote * share;
        part.moved = [0, 1].map(|op: usize| part.moved[op] + moved[op]);
        part.output += task.output * share;
        part.files = [0, 1].map(|of: usize| part.files[of] + task.files[of] * share);
        part.recompute.work += task.recompute.work * share;
        part.recompute.read += task.recompute.read * share;
        part.memory += task.memory * share;
        waited += moved.iter().sum::<f64>() * task.waited;
        spilled += task.memory * share * task.spill_ratio;
    }
    let ratio = |sum: f64, of: f64, or: f64| if of > 0.0 { sum / of } else { or };
    part.waited = ratio(waited, part.moved.iter().sum(), recorded[middle].waited);
    part.spill_ratio = ratio(spilled, part.memory, recorded[middle].spill_ratio);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_a_stage_stays_whatever_the_number_of_its_tasks() {
        // The first task is as long as all others together.
        let task = |at: u32| TaskDemand {
            work: if at == 0 { 15.0 } else { 1.0 },
            moved: [f64::from(at), 1.0],
            waited: 0.5,
            scheduling: 0.25,
            memory: 2.0,
            spill_ratio: 0.5,
            ..TaskDemand::default()
        };
        let recorded: Vec<TaskDemand> = (0..16).map(task).collect();
        for count in [1, 2, 3, 5, 16, 17, 64, 200] {
            let parts: Vec<_> = (0..count).map(|at| part_of(&recorded, at, count)).collect();
            let sum = |of: fn(&TaskDemand) -> f64| parts.iter().map(of).sum::<f64>();
            for (found, wanted) in [
                (sum(|part| part.work), 30.0),
                (sum(|part| part.moved[0]), 120.0),
                (sum(|part| part.moved[1]), 16.0),
                (sum(|part| part.memory), 32.0),
            ] {
                assert!((found - wanted).abs() < 1e-9, "{count}: {found} is not {wanted}");
            }
            for part in &parts {
                assert!((part.waited - 0.5).abs() < 1e-12, "{count}");
                assert!((part.scheduling - 0.25).abs() < 1e-12, "{count}");
                assert!((part.spill_ratio - 0.5).abs() < 1e-12, "{count}");
            }
        }
        assert!(part_of(&recorded, 0, 4).work > 3.0 * part_of(&recorded, 1, 4).work);
    }
}
