//! Surveys of many designs. Each distinct storage is replayed once for each stream; designs with
//! the same storage share the replay. Replays run on all cores. Memory use depends on the number of
//! samples, the map of accessed extents and the simulated devices, but not on the length of a block
//! log.

use crate::check::{check, overhead_ratio};
use crate::config::{Reference, SurveyConfig};
use crate::error::ClusterError;
use crate::node::{BusyTimes, NodePower, part};
use crate::replays::{MissingReplays, ReplayStore, missing, replay_all};
use crate::report::{Assumption, DesignReport, FlashReport, OutcomeReport, Series, SurveyReport};
use crate::simulate::{ClusterOutcome, LIMITING, Node, SampleCost, by_part, simulate, spread};
use crate::storage::storage_id;
use crate::stream::{FlashWear, Replayed, Stream, storage_report};
use gordon_replay::threads::on_all_cores;
use gordon_sim::stripe::CHUNK;
use gordon_units::{Ns, Progress, Source};
use rayon::prelude::*;

/// Runs `survey`; each replay is a step of `progress`.
///
/// # Errors
/// Returns an error if a trace cannot be read, a part is not in the catalogue, a value is invalid,
/// or a stop is requested.
pub fn run(survey: &SurveyConfig, progress: &Progress) -> Result<SurveyReport, ClusterError> {
    run_with(survey, None, progress)
}

/// As [`run`]; replays in `store` are not repeated, and the others are added to it.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    survey: &SurveyConfig,
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
    survey: &SurveyConfig,
    store: &ReplayStore,
) -> Result<MissingReplays, ClusterError> {
    check(survey)?;
    on_all_cores(|| {
        let streams = open(survey)?;
        let streams: Vec<&Stream> = streams.iter().collect();
        missing(&streams, &storages(survey), &survey.parts, store)
    })
}

fn open(survey: &SurveyConfig) -> Result<Vec<Stream>, ClusterError> {
    let open = |path: &String| Stream::open(path.into(), survey.charge, &survey.references);
    survey.traces.par_iter().map(open).collect()
}

/// The distinct storages of the designs, in order.
fn storages(survey: &SurveyConfig) -> Vec<(&str, u32)> {
    let mut storages: Vec<(&str, u32)> =
        survey.designs.iter().map(|d| (d.storage.as_str(), d.count)).collect();
    storages.sort_unstable();
    storages.dedup();
    storages
}

fn simulated(
    survey: &SurveyConfig,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<SurveyReport, ClusterError> {
    check(survey)?;
    let ratio = overhead_ratio(part("overhead", &survey.parts.overhead, &survey.node.overhead)?)?;
    let network = part("network", &survey.parts.network, &survey.node.network)?;
    let memory = part("memory", &survey.parts.memory, &survey.node.memory)?;
    let storages = storages(survey);
    let powers = survey
        .designs
        .iter()
        .map(|design| NodePower::new(design, &survey.node, ratio, &survey.parts))
        .collect::<Result<Vec<_>, _>>()?;

    let streams = open(survey)?;
    let of_streams: Vec<&Stream> = streams.iter().collect();
    let replayed = replay_all(&of_streams, &storages, &survey.parts, store, progress)?;
    // Indexed as replays[storage][stream].
    let replays = replayed.by_storage();

    let lengths: Vec<usize> = streams.iter().map(|s| s.demands.len()).collect();
    let nodes = spread(&lengths, survey.nodes as usize, *survey.shift);
    let designs = survey
        .designs
        .par_iter()
        .zip(&powers)
        .map(|(design, power)| {
            let storage = storages
                .binary_search(&(design.storage.as_str(), design.count))
                .expect("every design's storage was collected");
            let cpu = &survey.parts.cpu[&design.cpu];
            let costs: Vec<Vec<SampleCost>> = streams
                .iter()
                .zip(replays[storage])
                .map(|(stream, replayed)| {
                    let pairs = stream.demands.iter().zip(&replayed.replay.costs);
                    pairs
                        .map(|(demand, cost)| {
                            let secs = demand.cpu_secs(cpu, design.clock);
                            SampleCost {
                                cpu: secs / f64::from(design.cpus),
                                storage: cost.time.as_secs(),
                                network: demand.network_secs(network),
                                busy: BusyTimes {
                                    cpu: secs,
                                    memory: demand.memory_secs(memory),
                                    storage: cost.usage,
                                },
                            }
                        })
                        .collect()
                })
                .collect();
            let simulated = simulate(&costs, &nodes, power);
            DesignReport {
                id: design.id.clone(),
                cpu: design.cpu.clone(),
                cpus: design.cpus,
                ghz: design.clock.0 / 1e9,
                storage: design.storage.clone(),
                storage_count: design.count,
                max_node_power_w: power.max().0,
                sync: outcome(&simulated.sync, survey.nodes),
                nosync: outcome(&simulated.nosync, survey.nodes),
                energy_by_part_j: by_part(&simulated.sync),
                energy_by_part_nosync_j: by_part(&simulated.nosync),
                flash: wear(replays[storage], &nodes, simulated.sync.time),
                limits: simulated.limits,
            }
        })
        .collect();

    Ok(SurveyReport {
        version: env!("CARGO_PKG_VERSION").into(),
        nodes: survey.nodes,
        charge: survey.charge,
        traces: streams.iter().map(Stream::report).collect(),
        spread: spread_note(&streams, &nodes, survey),
        storages: storages.iter().zip(&replays).map(|(s, r)| storage_report(*s, r)).collect(),
        designs,
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
        warnings: [warnings(&streams, &storages, &replays), replayed.warnings.clone()].concat(),
        assumptions: assumptions(survey, ratio, &streams),
    })
}

fn outcome(outcome: &ClusterOutcome, nodes: u32) -> OutcomeReport {
    OutcomeReport {
        time_s: outcome.time,
        energy_j: outcome.energy.total().0,
        power_w: outcome.power(),
        node_power_w: outcome.power() / f64::from(nodes),
    }
}

/// Wear of the flash of all nodes; the lifetime is that of the most written array.
#[allow(clippy::cast_precision_loss)]
fn wear(replayed: &[Replayed], nodes: &[Node], time_s: f64) -> Option<FlashReport> {
    let arrays = || nodes.iter().flat_map(|node| &replayed[node.stream].flash);
    arrays().next()?;
    let sum = |count: fn(&FlashWear) -> u64| arrays().map(count).sum::<u64>();
    let programs = sum(|a| a.programs);
    let host = sum(|a| a.host_programs);
    let years = |a: &FlashWear| a.lifetime.years(Ns::from_secs(time_s));
    Some(FlashReport {
        erases: sum(|a| a.erases),
        programs,
        erase_equivalents: arrays().map(|a| a.lifetime.erase_equivalents()).sum(),
        write_amplification: (host > 0).then(|| programs as f64 / host as f64),
        endurance_used: arrays().map(|a| a.lifetime.used()).fold(0.0, f64::max),
        lifetime_span_s: time_s,
        lifetime_years: arrays().filter_map(years).reduce(f64::min),
    })
}

fn spread_note(streams: &[Stream], nodes: &[Node], survey: &SurveyConfig) -> Option<String> {
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

fn assumptions(survey: &SurveyConfig, ratio: f64, streams: &[Stream]) -> Vec<Assumption> {
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
    if survey.designs.iter().any(|d| d.count > 1) {
        list.push(assumption(
            "storage.stripe",
            format!("RAID-0 in chunks of {CHUNK}"),
            "the paper does not say how a node's disks share the data",
        ));
    }
    list
}
