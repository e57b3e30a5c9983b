//! Surveys of a grid of designs, by the `paper` model. Each distinct storage is replayed once for
//! each stream; designs with the same storage share the replay. Replays and designs run on all cores.
//! Memory use depends on the number of samples, the map of accessed extents, the simulated devices
//! and the reported designs, but neither on the length of a block log nor on the size of the grid.
//!
//! `evaluate` computes the figures of the designs, which [`crate::space`] numbers.

mod check;
mod curve;
mod evaluate;
pub mod group;
pub mod limits;
pub mod load;
pub mod report;
pub mod simulate;

use crate::error::ClusterError;
use crate::model::paper::check::{check, overhead_ratio};
use crate::model::paper::report::Series;
use crate::model::paper::simulate::{LIMITING, Node, spread};
use crate::space::config::{Baseline, NodeCommon, Parts, SpaceProcessors, SpaceStorage};
use crate::space::grid::{Grid, Point};
use crate::space::machine::storage_id;
use crate::space::node::part;
use crate::survey::report::{Assumption, SurveyReport};
use crate::survey::select::{choose, reported};
use crate::survey::table::write_table;
use crate::trace::alignment::{self, Lags};
use crate::trace::charge::{Charge, Reference};
use crate::trace::replays::{MissingReplays, ReplayStore, missing, replay_all};
use crate::trace::stages::Stage;
use crate::trace::stages::{self, stage_of_samples};
use crate::trace::stream::{Replayed, Stream, storage_report};
use crate::trace::timeline::timeline;
use evaluate::{Evaluator, NAMES};
use gordon_replay::threads::on_all_cores;
use gordon_sim::stripe::CHUNK;
use gordon_units::{Progress, Source, Sourced, Watts};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A survey to run.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Survey")]
pub struct PaperSurvey {
    /// Folders that contain the traces.
    pub traces: Vec<String>,
    /// Number of nodes in the cluster.
    pub nodes: u32,
    /// If there are fewer traces than nodes, the copies of a trace are shifted over this fraction
    /// of its length. With 0, all nodes run in step; with 1, all phases of the job run at any time.
    pub shift: Sourced<f64>,
    /// Processor time and cache misses that are simulated. Default: `machine`.
    #[serde(default)]
    pub charge: Charge,
    /// Speeds of traced processors, for traces without hardware counters. The first reference that
    /// applies to a trace is used. Default: none.
    #[serde(default)]
    pub references: Vec<Reference>,
    /// Processors to try.
    pub processors: Vec<SpaceProcessors>,
    /// Storage devices to try, each with all choices of processors.
    pub storage: Vec<SpaceStorage>,
    /// Maximum power of a node with all parts active. Designs above it are left out.
    pub budget: Watts,
    /// Design that is reported apart from the others, whatever its power.
    pub baseline: Baseline,
    /// Other overhead ratios, for which the designs above the budget are counted. Default: none.
    #[serde(default)]
    pub other_ratios: Vec<f64>,
    /// Settings that all designs share.
    pub node: NodeCommon,
    /// Catalogue of the parts of the designs.
    pub parts: Parts,
    /// Number of designs in the report. The Pareto front, the designs with a name and those of
    /// `keep` are always in it.
    pub rows: usize,
    /// Designs that are always in the report, if the grid has them. Default: none.
    #[serde(default)]
    pub keep: Vec<Baseline>,
    /// Stages of the job, whose times are computed in addition and decide the order of designs.
    /// Default: none.
    #[serde(default)]
    pub stages: Option<Vec<Stage>>,
    /// Stages whose limits are reported, with the series of the traced nodes, by any model.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_stages: Vec<Stage>,
    /// Number of samples by which each trace starts after the first one of its run; missing ones are
    /// 0. Samples are then simultaneous by number. Default: none.
    #[serde(default)]
    pub lags: Vec<usize>,
    /// Parquet file to write, with a row for each design within the budget. Default: none.
    #[serde(default)]
    pub table: Option<PathBuf>,
}

/// Runs `survey`; each replay is a step of `progress`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue, a value is invalid,
/// the table cannot be written, or a stop is requested.
pub fn run(survey: &PaperSurvey, progress: &Progress) -> Result<SurveyReport, ClusterError> {
    run_with(survey, None, progress)
}

/// As [`run`]; replays in `store` are not repeated, and the others are added to it.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    survey: &PaperSurvey,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<SurveyReport, ClusterError> {
    on_all_cores(|| simulated(survey, store, progress))
}

/// The replays of `survey` that are not in `store`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue or a value is
/// invalid.
pub fn missing_replays(
    survey: &PaperSurvey,
    store: &ReplayStore,
) -> Result<MissingReplays, ClusterError> {
    let (grid, _) = checked(survey)?;
    on_all_cores(|| {
        let streams = open(survey)?;
        let streams: Vec<&Stream> = streams.iter().collect();
        missing(&streams, &storages(&grid), &survey.parts, store)
    })
}

/// The designs of a valid survey, and the overhead ratio.
fn checked(survey: &PaperSurvey) -> Result<(Grid, f64), ClusterError> {
    check(survey)?;
    if let Some(stages) = &survey.stages {
        stages::check(stages)?;
    }
    stages::check_times(&survey.report_stages)?;
    let grid = Grid::new(survey)?;
    let ratio = overhead_ratio(part("overhead", &survey.parts.overhead, &survey.node.overhead)?)?;
    part("network", &survey.parts.network, &survey.node.network)?;
    evaluate::check(survey, &grid, ratio)?;
    Ok((grid, ratio))
}

fn open(survey: &PaperSurvey) -> Result<Vec<Stream>, ClusterError> {
    let open = |path: &String| Stream::open(path.into(), survey.charge, &survey.references);
    let streams = survey.traces.par_iter().map(open).collect::<Result<Vec<_>, ClusterError>>()?;
    alignment::check_apart(streams.iter())?;
    Ok(streams)
}

/// The distinct storages of the designs, in order.
fn storages(grid: &Grid) -> Vec<(&str, u32)> {
    let mut storages: Vec<(&str, u32)> =
        grid.storages.iter().map(|storage| (storage.part.as_str(), storage.count)).collect();
    storages.sort_unstable();
    storages.dedup();
    storages
}

fn simulated(
    survey: &PaperSurvey,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<SurveyReport, ClusterError> {
    let (grid, ratio) = checked(survey)?;
    let network = part("network", &survey.parts.network, &survey.node.network)?;
    let storages = storages(&grid);
    let streams = open(survey)?;
    let of_streams: Vec<&Stream> = streams.iter().collect();
    let replayed = replay_all(&of_streams, &storages, &survey.parts, store, progress)?;
    // Indexed as replays[storage][stream].
    let replays = replayed.by_storage();

    let lags = Lags::new(&survey.lags);
    let nodes = spread(&lags.lengths(&streams), survey.nodes as usize, *survey.shift);
    let of_grid = grid.storages.iter().map(|storage| {
        let at = storages.binary_search(&(storage.part.as_str(), storage.count));
        replays[at.expect("the storages of the grid were replayed")]
    });
    let stages = survey
        .stages
        .as_deref()
        .map_or_else(Vec::new, |stages| stage_of_samples(stages, &lags.longest(&streams)));
    let of_grid = of_grid.collect();
    let evaluator = Evaluator::new(survey, &grid, ratio, &streams, of_grid, &nodes, &stages)?;
    let chunks = evaluator.chunks();
    let over_budget = evaluator.over_budget(&chunks);
    let choice = choose(&chunks, &[2], progress, |chunk, all| evaluator.compare(chunk, all))?;
    let (mut fronts, best) = choice.finish();
    let front = fronts.remove(0).numbers;
    let named = best.map(|best| best.map(|(_, number)| number));
    let shown = front.iter().copied().chain(named.into_iter().flatten());
    let kept = survey.keep.iter().filter_map(|parts| grid.find(parts));
    let kept = kept.filter(|point| evaluator.is_affordable(*point)).map(|p| grid.number(p));
    let affordable = (0..grid.len()).filter(|n| evaluator.is_affordable(grid.point(*n)));
    let numbers = reported(shown.chain(kept).collect(), survey.rows, affordable);
    let points: Vec<Point> = numbers.into_iter().map(|number| grid.point(number)).collect();
    if let Some(path) = &survey.table {
        let config = serde_json::to_string(survey).expect("a survey was read from JSON");
        let mut sorted = front.clone();
        sorted.sort_unstable();
        write_table(path, config, &chunks, progress, |chunk| evaluator.rows(chunk, &sorted))?;
    }
    let id = |number: u64| grid.design(grid.point(number)).id;
    let mut in_stages: Vec<Point> = Vec::new();
    for point in named.into_iter().flatten().map(|number| grid.point(number)) {
        if !in_stages.contains(&point) {
            in_stages.push(point);
        }
    }
    let timeline = timeline(&survey.report_stages, &of_streams, &lags, |window| {
        evaluator.in_stage(&in_stages, window)
    });

    Ok(SurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        nodes: survey.nodes,
        charge: Charge::common(streams.iter().map(|stream| stream.charge)),
        traces: streams.iter().map(Stream::report).collect(),
        spread: spread_note(&streams, &nodes, survey),
        storages: storages.iter().zip(&replays).map(|(s, r)| storage_report(*s, r)).collect(),
        designs_total: grid.len() - over_budget.total,
        designs: evaluator.reports(&points),
        baseline: evaluator.reports(&[grid.baseline]).remove(0),
        front: front.iter().map(|number| id(*number)).collect(),
        named: NAMES.into_iter().zip(named).map(|(name, n)| (name, n.map(id))).collect(),
        over_budget,
        series: Series {
            start_s: streams[0].starts.iter().map(|t| t.as_secs()).collect(),
            cpu_s: streams[0].samples.iter().map(|s| streams[0].cpu(s).as_secs()).collect(),
            network_s: streams[0].demands.iter().map(|d| d.network_secs(network)).collect(),
            storages: storages
                .iter()
                .zip(&replays)
                .map(|(&(name, count), replayed)| {
                    let costs = &replayed[0].replay.costs;
                    (storage_id(name, count), costs.iter().map(|c| c.time.as_secs()).collect())
                })
                .collect(),
        },
        timeline,
        warnings: [
            warnings(&streams, &storages, &replays),
            alignment::warnings(&streams, &lags),
            stages::unused(survey.stages.as_deref().unwrap_or_default(), &stages),
            replayed.warnings.clone(),
        ]
        .concat(),
        assumptions: assumptions(survey, &grid, ratio, &streams),
    })
}

fn spread_note(streams: &[Stream], nodes: &[Node], survey: &PaperSurvey) -> Option<String> {
    (nodes.len() > streams.len()).then(|| {
        let most = nodes.iter().map(|node| node.shift).max().unwrap_or(0);
        let shifted = match most {
            0 if *survey.shift > 0.0 => {
                "too few samples to shift the nodes: sync and nosync are equal".into()
            }
            0 => "sync and nosync are equal".into(),
            most => format!("at most {most} samples"),
        };
        let (count, s, stand) = match streams.len() {
            1 => (1, "", "stands"),
            more => (more, "s", "stand"),
        };
        format!(
            "{count} traced machine{s} {stand} for {} nodes: each node runs a whole copy of a trace, \
             the copies of one shifted over {}% of its length ({shifted}); storage times travel with \
             their samples",
            nodes.len(),
            *survey.shift * 100.0,
        )
    })
}

fn warnings(streams: &[Stream], storages: &[(&str, u32)], replays: &[&[Replayed]]) -> Vec<String> {
    // Each text with the first trace to which it applies, and the number of such traces.
    let mut notes: Vec<(String, &Stream, usize)> = Vec::new();
    for stream in streams {
        for text in stream.notes() {
            match notes.iter_mut().find(|(known, ..)| *known == text) {
                Some((.., count)) => *count += 1,
                None => notes.push((text, stream, 1)),
            }
        }
    }
    let mut warnings: Vec<String> = notes
        .into_iter()
        .map(|(text, first, count)| match count {
            1 => format!("{}: {text}", first.path.display()),
            more => format!("{} and {} more: {text}", first.path.display(), more - 1),
        })
        .collect();
    for (&(name, count), replayed) in storages.iter().zip(replays) {
        if replayed.iter().any(|r| r.compacted) {
            warnings.push(format!(
                "{}: the traced addresses do not fit one device of its size; the 1 MiB extents \
                 touched were moved together, in order",
                storage_id(name, count)
            ));
        }
    }
    warnings
}

fn assumptions(
    survey: &PaperSurvey,
    grid: &Grid,
    ratio: f64,
    streams: &[Stream],
) -> Vec<Assumption> {
    let assumption = |key: &str, value: String, why: &str| Assumption {
        key: key.into(),
        value,
        why: why.into(),
    };
    let mut list = vec![
        assumption(
            "overhead.ratio",
            format!("{ratio:.4}"),
            "node power over the power of its parts; section 5.2 names the ratio and does not print it",
        ),
        assumption(
            "cpu.idle",
            "the same at every clock".into(),
            "section 5.2 scales voltage with frequency and does not say what of; what activity adds \
             to idle power scales with f v^2 here, which alone agrees with Table 6 (four Core 2 at \
             1.8 GHz draw 0.87 of their power at 2.4 GHz)",
        ),
        assumption(
            "storage.replay",
            "no think time; as many outstanding as in the trace; drained, read-ahead included, at each sample's end"
                .into(),
            "the paper takes storage times from replayed block traces and does not say how they \
             were paced",
        ),
        assumption(
            "limits",
            format!("{:.0} % of a sample's time and more", LIMITING * 100.0),
            "from when on a component counts as fully used (Figure 7's classes)",
        ),
        assumption(
            "storage.preload",
            "what the trace reads is there; the rest of the device is fresh".into(),
            "a job finds its input in place; garbage collection of a full device is not charged",
        ),
    ];
    for (key, value, source) in [
        (
            "node.memory_per",
            format!("{:?}", *survey.node.memory_per),
            &survey.node.memory_per.source,
        ),
        ("shift", format!("{}", *survey.shift), &survey.shift.source),
    ] {
        if let Source::Assumed(why) = source {
            list.push(assumption(key, value.to_lowercase(), why));
        }
    }
    let mut references: Vec<&Reference> = Vec::new();
    for reference in streams.iter().filter_map(|stream| stream.reference.as_ref()) {
        if references.iter().all(|known| known.name != reference.name) {
            references.push(reference);
        }
    }
    for Reference { name, ipc, .. } in references {
        list.push(assumption(
            "reference.ipc",
            format!("{} of {name}", **ipc),
            "instructions a cycle of the traced processor: instructions are estimated from CPU time",
        ));
    }
    if grid.storages.iter().any(|storage| storage.count > 1) {
        list.push(assumption(
            "storage.stripe",
            format!("RAID-0 in chunks of {CHUNK}"),
            "the paper does not say how a node's disks share the data",
        ));
    }
    list
}
