//! The notes of a report: what the log lacks, and what the model assumes in its place.

use super::evaluate::TasksModel;
use crate::survey::report::Assumption;

/// Share of the application's time from which its driver is worth a warning.
const MUCH_DRIVER: f64 = 0.5;

pub(super) fn warnings(model: &TasksModel<'_>) -> Vec<String> {
    let application = model.application();
    let mut list = model.space.log_warnings.clone();
    list.extend(application.left_out.note());
    if model.reference.is_assumed {
        list.push(
            "the speed of the machine that ran the application is unknown: core_speed 1.0 is \
             assumed, and the ranges go from half to twice as fast. Give it with --reference"
                .into(),
        );
    }
    if application.capped > 0 {
        list.push(format!(
            "{} tasks have more CPU time than time, which no thread has: their time is taken",
            application.capped
        ));
    }
    if !application.accelerators.is_empty() {
        list.push(format!(
            "the application may have used {}: the log has none of their work, and the times are \
             those of its processors",
            application.accelerators.join(", ")
        ));
    }
    if let Some(first) = application.failed.first() {
        let which = match application.failed.len() {
            1 => format!("stage {first}"),
            count => format!("{count} stages, such as stage {first},"),
        };
        list.push(format!(
            "{which} failed: the times are those of the tasks that succeeded, without what was \
             left of the job"
        ));
    }
    let mut stages = application.stages.iter();
    if model.survey.partitions.is_some() && !stages.any(|stage| stage.is_shuffled) {
        list.push(
            "--partitions changes nothing: no stage of the application reads shuffle data".into(),
        );
    }
    if application.is_stream {
        list.push(
            "the application is a stream: its time is that of its data, which no cluster \
             shortens. For the machines that keep up with it, give the records of its nodes \
             (sadf, Prometheus) with --service"
                .into(),
        );
    }
    if application.settings.is_local {
        list.push(
            "the application ran in local mode, in which the driver runs the tasks: a cluster has \
             a driver of its own, and executors that take seconds to start, which the log does \
             not have"
                .into(),
        );
    }
    if application.executors.is_dynamic {
        list.push(format!(
            "the number of executors followed the tasks (dynamic allocation), {} in all: each \
             cluster is simulated with all of its executors, which start in turn",
            application.executors.count
        ));
    }
    let driver = application.driver_time();
    if driver > MUCH_DRIVER * application.duration {
        list.push(format!(
            "the driver computed or waited outside of stages for {driver:.0} of {:.0} s, which no \
             number of nodes shortens",
            application.duration
        ));
    }
    let refused = &model.space.refused;
    if let Some(first) = refused.first() {
        list.push(match refused.len() {
            1 => format!("{} holds no executor and is left out: {}", first.machine, first.why),
            count => format!(
                "{count} machines hold no executor and are left out, such as {}: {}",
                first.machine, first.why
            ),
        });
    }
    list
}

pub(super) fn assumptions(model: &TasksModel<'_>) -> Vec<Assumption> {
    let application = model.application();
    let mut list = Vec::new();
    let mut add = |key: &str, value: String, why: &str| {
        list.push(Assumption { key: key.into(), value, why: why.into() });
    };
    add(
        "driver",
        "square root of the relative speed".into(),
        "how much of the driver's time is computing: the log does not say; the range has all and \
         nothing",
    );
    add(
        "startup",
        "in proportion to the relative speed".into(),
        "how much of the start of executors is computing: the log does not say; the range reaches \
         to all waiting",
    );
    let executors = &application.executors;
    if !executors.is_dynamic && !executors.are_several() && executors.mean_delay > 0.0 {
        add(
            "executors",
            format!("{:.2} s apart on the mean, as recorded speeds go", executors.mean_delay),
            "when executors start after the first one: the log has one alone; on local nodes the \
             mean was 5.5 % of the start of the first",
        );
    }
    add(
        "scheduling",
        "in proportion to the relative speed".into(),
        "how much of the start of a task is work of its executor: the log does not say; the range \
         has none",
    );
    if !application.settings.is_known && model.survey.executor.memory.is_none() {
        add(
            "executor.memory",
            "never limits".into(),
            "the log does not have the settings of the executors: no task spills, and no cached \
             block is evicted (--set executor.memory= gives their heap)",
        );
    }
    add(
        "uncounted",
        "computing".into(),
        "what is in a task's time besides the CPU time, garbage collection, shuffle and storage \
         that the log has",
    );
    if application.cached.iter().any(|blocks| blocks.missed == 0 && !blocks.moves_to_disk) {
        add(
            "cached",
            "as a task of the stage that made them".into(),
            "what a task takes to compute a cached block again: none did where it was recorded",
        );
    }
    let replicas = model.replicas();
    if replicas > 1 {
        add(
            "output.replicas",
            replicas.to_string(),
            "nodes that keep each byte of output, as HDFS does: output to another file system is \
             written once (--set output.replicas=1)",
        );
    }
    if model.reference.machine.is_none() && model.survey.storage_rate.is_none() {
        add(
            "storage.recorded",
            "never limits".into(),
            "the storage of the recorded nodes is unknown: tasks wait for bytes only where the \
             storage of a design moves fewer than they compute on; the range has all bytes",
        );
    }
    if model.survey.scattered_input {
        add(
            "input",
            "on the disks of all nodes".into(),
            "where the files are that tasks read: as in the run, where tasks read the disks of \
             other nodes as well as their own; a file system that places tasks near their data, \
             as HDFS does, takes less time where disks limit",
        );
    }
    if !model.has_traces {
        add(
            "cores.recorded",
            "one for each slot".into(),
            "cores of the recorded nodes: the log has the tasks that an executor runs at a time",
        );
    }
    list
}
