//! The nodes that ran an application: from the reference machine, from the log, and from the traces
//! of the nodes where there are some.

use super::TasksSurvey;
use super::application::Application;
use super::demand::TracedNode;
use super::place::speeds;
use super::speeds::Speeds;
use crate::space::reference::{TraceReference, same_processor};
use crate::trace::alignment::Lags;
use crate::trace::job_stream::JobStream;

/// CPU seconds of nodes for each second that the engine counted, at most: more is not of the tasks.
const MOST_COUNTED: f64 = 20.0;

/// The machine that ran the application; `None` of its values if nothing says what it was.
pub(super) fn reference_of<'a>(
    survey: &'a TasksSurvey,
    streams: &[JobStream],
) -> TraceReference<'a> {
    let of_stream = |stream: &JobStream| {
        let traced = &stream.stream.trace.manifest().machine;
        same_processor(&survey.catalogue.machines, traced, stream.cores()).map(TraceReference::of)
    };
    let given = survey.catalogue.given_reference();
    given.or_else(|| of_stream(streams.first()?)).unwrap_or(TraceReference::UNKNOWN)
}

/// Reads the nodes. `storage` are the speeds of the reference machine's storage, if it is known.
pub(super) fn traced_node(
    survey: &TasksSurvey,
    application: &Application,
    reference: &TraceReference<'_>,
    streams: &[JobStream],
    storage: Option<[f64; 2]>,
) -> TracedNode {
    let executors = &application.executors;
    let slots = f64::from(executors.slots * executors.per_host);
    let quota = streams.first().map(|stream| f64::from(stream.cores()) * stream.core_share);
    let machine = reference.machine.map(|at| &survey.catalogue.machines[at]);
    let cores = quota.or(machine.map(|machine| f64::from(*machine.cores))).unwrap_or(slots);
    let speeds = match machine {
        Some(machine) => speeds(machine, cores, true),
        None => Speeds::new(cores, |_| reference.speed),
    };
    #[allow(clippy::cast_precision_loss)]
    let heap = application.settings.executor_memory.0 as f64;
    let counted = counted(survey, application, streams);
    TracedNode { speeds, storage, heap, counted }
}

/// By stage: CPU seconds of the nodes while it ran, for each second that the engine counted of all
/// tasks meanwhile. A sample counts by the share that the stage covers.
fn counted(survey: &TasksSurvey, application: &Application, streams: &[JobStream]) -> Vec<f64> {
    if streams.is_empty() {
        return Vec::new();
    }
    let lags = Lags::new(&survey.lags);
    let of_stage = |(start, end): (f64, f64)| {
        let of_node = |(at, stream): (usize, &JobStream)| {
            let mut from = lags.of(at) as f64 * stream.samples.first().map_or(0.0, |s| s.span);
            let mut cpu = 0.0;
            for sample in &stream.samples {
                let to = from + sample.span;
                let covered = (end.min(to) - start.max(from)).max(0.0);
                if sample.span > 0.0 {
                    cpu += sample.cpu * stream.core_share * covered / sample.span;
                }
                from = to;
            }
            cpu
        };
        streams.iter().enumerate().map(of_node).sum::<f64>()
    };
    let engine = |(start, end): (f64, f64)| {
        let of_task = |task: &super::application::AppTask| {
            let covered = (end.min(task.started + task.wall) - start.max(task.started)).max(0.0);
            if task.wall > 0.0 { task.cpu * covered / task.wall } else { 0.0 }
        };
        application.tasks.iter().map(of_task).sum::<f64>()
    };
    let ratio = |stage: &super::application::AppStage| {
        let window = (stage.submitted, stage.ended);
        let counted = engine(window);
        let ratio = if counted > 0.0 { of_stage(window) / counted } else { 1.0 };
        ratio.clamp(1.0, MOST_COUNTED)
    };
    application.stages.iter().map(ratio).collect()
}
