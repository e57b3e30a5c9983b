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
use crate::trace::sample::JobSample;

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
    TracedNode { speeds, storage, heap, is_scattered: survey.scattered_input, counted }
}

/// Share of their cores that the nodes left idle while stages ran, other than by a quota that was
/// used up or for the hypervisor.
pub(super) fn idle_share(
    survey: &TasksSurvey,
    application: &Application,
    streams: &[JobStream],
) -> f64 {
    let lags = Lags::new(&survey.lags);
    let (mut idle, mut all) = (0.0, 0.0);
    for stage in &application.stages {
        for (at, stream) in streams.iter().enumerate() {
            let window = (stage.submitted, stage.ended);
            for (sample, share) in covered(stream, lags.of(at), window) {
                let cores = sample.span * f64::from(sample.cores);
                idle += share * (cores - sample.cpu - sample.unserved).max(0.0);
                all += share * cores;
            }
        }
    }
    if all > 0.0 { idle / all } else { 0.0 }
}

/// Splits the time after the last stage into that of the driver and the time in which the nodes
/// wrote back what they had written to memory: the bytes over `write`, the storage's bytes a
/// second, or the busy time of the storage if that rate is unknown. The sample in which the last
/// stage ended counts with at most the bytes that the storage can have written after the stage.
pub(super) fn find_written_back(
    application: &mut Application,
    survey: &TasksSurvey,
    streams: &[JobStream],
    write: Option<f64>,
) {
    let window = (application.duration - application.tail, application.duration);
    let lags = Lags::new(&survey.lags);
    let written = |(at, stream): (usize, &JobStream)| {
        covered(stream, lags.of(at), window).fold([0.0; 2], |[bytes, busy], (sample, share)| {
            let secs = write.map_or(sample.busy, |rate| sample.write / rate);
            let after = match share < 1.0 && secs > 0.0 {
                true => (share * sample.span / secs).min(1.0),
                false => share.ceil(),
            };
            [bytes + sample.write * after, busy + secs * after]
        })
    };
    let mut longest = 0.0_f64;
    for [bytes, busy] in streams.iter().enumerate().map(written) {
        application.written_back += bytes;
        longest = longest.max(busy);
    }
    application.tail -= longest.min(application.tail);
}

/// The samples of a node in a window, in seconds after the start of the first node, each with the
/// share that the window covers. The node starts `lag` samples later.
fn covered(
    stream: &JobStream,
    lag: usize,
    (start, end): (f64, f64),
) -> impl Iterator<Item = (&JobSample, f64)> {
    let mut from = lag as f64 * stream.samples.first().map_or(0.0, |sample| sample.span);
    stream.samples.iter().filter(|sample| sample.span > 0.0).map(move |sample| {
        let share = share_of((start, end), from, sample.span);
        from += sample.span;
        (sample, share)
    })
}

/// The share of a sample of `span` seconds from `from` that a window covers.
fn share_of((start, end): (f64, f64), from: f64, span: f64) -> f64 {
    let covered = end.min(from + span) - start.max(from);
    // The difference may be above the span in its last digit.
    (covered / span).clamp(0.0, 1.0)
}

/// By stage: CPU seconds of the nodes while it ran, for each second that the engine counted of all
/// tasks meanwhile. A sample counts by the share that the stage covers.
fn counted(survey: &TasksSurvey, application: &Application, streams: &[JobStream]) -> Vec<f64> {
    if streams.is_empty() {
        return Vec::new();
    }
    let lags = Lags::new(&survey.lags);
    let of_stage = |window: (f64, f64)| {
        let of_node = |(at, stream): (usize, &JobStream)| {
            let cpu =
                covered(stream, lags.of(at), window).map(|(sample, share)| sample.cpu * share);
            cpu.sum::<f64>() * stream.core_share
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

#[cfg(test)]
mod tests {
    use super::share_of;

    #[test]
    fn a_window_covers_each_sample_once_at_most() {
        let (mut from, mut sum) = (0.0, 0.0);
        for number in 0..60 {
            let span = 1.000_012_3 + f64::from(number) * 1e-7;
            let share = share_of((0.0, 1e9), from, span);
            assert!((0.999_999..=1.0).contains(&share), "{share}");
            assert_eq!(share.ceil(), 1.0);
            sum += share_of((10.5, 20.25), from, span) * span;
            from += span;
        }
        assert!((sum - 9.75).abs() < 1e-9);
    }
}
