//! The number of tasks of stages. It stays as recorded, unless it is given (`--partitions`), or
//! unless a stage had as many tasks for each slot as programs choose by the cores of their cluster.
//! Then it has as many for each slot of another cluster.
//!
//! The bytes and the computing of a stage stay; a task takes the place of those that covered its
//! part of the stage.

use super::application::{AppStage, Application};
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
    (Application { stages, tasks: Vec::new(), ..application.without_tasks() }, all)
}

/// Task `at` of `count` equal parts of the work of `recorded` tasks.
fn part_of(recorded: &[TaskDemand], at: u32, count: u32) -> TaskDemand {
    #[allow(clippy::cast_precision_loss)]
    let width = recorded.len() as f64 / f64::from(count);
    let middle = (f64::from(at) + 0.5) * width;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let task = recorded[(middle as usize).min(recorded.len() - 1)];
    TaskDemand {
        work: task.work * width,
        uncounted: task.uncounted * width,
        gc: task.gc * width,
        fetch: task.fetch * width,
        shuffled: task.shuffled * width,
        remote: task.remote * width,
        moved: task.moved.map(|bytes| bytes * width),
        output: task.output * width,
        files: task.files.map(|bytes| bytes * width),
        recompute: task.recompute.times(width),
        memory: task.memory * width,
        ..task
    }
}
