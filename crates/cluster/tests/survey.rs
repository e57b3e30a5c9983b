//! Whole surveys: identities between figures, order of designs, invalid input, and reproducibility.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::float_cmp)]

mod common;

use common::{MadeTrace, io, sample, survey, write};
use gordon_blockio::IoOp;
use gordon_cluster::model::paper::PaperSurvey;
use gordon_cluster::model::paper::report::DesignReport;
use gordon_cluster::space::config::Baseline;
use gordon_cluster::survey::ReportOf;
use gordon_cluster::survey::run;
use gordon_cluster::trace::charge::{Charge, Reference};
use gordon_trace::{BlockIo, ColumnKind, Columns, CommandSample, MachineInfo, Sample};
use gordon_units::{Hertz, Ns, Progress, Watts};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// A job of ten seconds: reads, then CPU, then writes and a flush.
fn job(folder: &std::path::Path, name: &str, seed: u64) -> String {
    let path = folder.join(name);
    let samples: Vec<_> = (0..10)
        .map(|s| sample(s, if (3..7).contains(&s) { 4_000_000_000 } else { 200_000_000 }, 1000))
        .collect();
    let mut requests: Vec<BlockIo> = Vec::new();
    for i in 0..3000u64 {
        let second = if i < 1500 { i / 500 } else { 7 + (i - 1500) / 500 };
        let at = Ns(second * 1_000_000_000 + i % 500 * 1_000_000);
        let op = if i < 1500 { IoOp::Read } else { IoOp::Write };
        let place = (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed) % 1000 * 2048 + i % 7 * 256;
        requests.push(io(at, op, place, 256, Some(Ns(4_000_000))));
    }
    requests.push(io(Ns(9_900_000_000), IoOp::Flush, 0, 0, Some(Ns(1000))));
    write(&path, &samples, &requests)
}

const PROCESSORS: [(&str, &str, u32); 3] =
    [("atom", "0.8GHz", 1), ("atom", "1.9GHz", 1), ("core2", "2.4GHz", 4)];
const STORAGES: [(&str, u32); 3] =
    [("gordon-slc-256g", 1), ("sata-7200-1tb", 1), ("sata-7200-1tb", 4)];

/// A survey of all these designs.
fn grid(traces: Vec<String>, nodes: u32) -> PaperSurvey {
    survey(traces, nodes, &PROCESSORS, &STORAGES)
}

/// A survey of one design: a node with a Core 2 and flash.
fn core2(trace: String) -> PaperSurvey {
    survey(vec![trace], 1, &[("core2", "2.4GHz", 1)], &[("gordon-slc-256g", 1)])
}

fn answer(survey: &PaperSurvey) -> ReportOf<PaperSurvey> {
    run(survey, &Progress::default()).unwrap()
}

#[test]
fn the_figures_of_a_report_are_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let traces = vec![job(folder.path(), "a", 1), job(folder.path(), "b", 2)];
    let report = answer(&grid(traces, 5));
    assert_eq!(report.designs.len(), 9);
    for d in &report.designs {
        for o in [&d.sync, &d.nosync] {
            assert!(o.time_s > 0.0 && (o.power_w * o.time_s / o.energy_j - 1.0).abs() < 1e-9);
            assert!((o.node_power_w * 5.0 / o.power_w - 1.0).abs() < 1e-9);
            assert!(o.node_power_w <= d.max_node_power_w, "{}", d.id);
        }
        assert!(d.sync.time_s >= d.nosync.time_s && d.sync.energy_j >= d.nosync.energy_j);
        assert!((d.energy_by_part_j.values().sum::<f64>() / d.sync.energy_j - 1.0).abs() < 1e-9);
        assert!((d.limits.values().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(d.flash.is_some(), d.storage == "gordon-slc-256g");
    }
    let time = |id: usize| report.designs[id].nosync.time_s;
    assert!(time(0) > time(3) && time(3) > time(6), "faster processors are not slower");
    assert!(time(6) < time(8) && time(8) < time(7), "flash, four disks, one disk");
    assert_eq!(report.storages.len(), 3);
    assert!(report.storages.iter().all(|s| s.replays == 2 && s.requests == 6002));
    let flash = report.designs[0].flash.unwrap();
    assert!(flash.programs > 0 && flash.lifetime_years.unwrap() > 1.0);
}

#[test]
fn two_runs_give_identical_reports() {
    let folder = tempfile::tempdir().unwrap();
    let config = grid(vec![job(folder.path(), "a", 1)], 8);
    let bytes = || serde_json::to_string(&answer(&config)).unwrap();
    assert_eq!(bytes(), bytes());
}

fn named(report: &ReportOf<PaperSurvey>, name: &str) -> Option<String> {
    report.named.iter().find(|(known, _)| *known == name).unwrap().1.clone()
}

#[test]
fn named_designs_are_the_best_of_all_and_of_those_with_disks() {
    let folder = tempfile::tempdir().unwrap();
    let report = answer(&grid(vec![job(folder.path(), "a", 1)], 2));
    let best = |is_disk: bool, key: fn(&DesignReport) -> f64| {
        let designs = report.designs.iter().filter(|d| !is_disk || d.flash.is_none());
        designs.min_by(|a, b| key(a).total_cmp(&key(b))).map(|d| d.id.clone())
    };
    for (suffix, is_disk) in [("", false), ("-disk", true)] {
        let named = |name: &str| named(&report, &format!("{name}{suffix}"));
        assert_eq!(named("MinP"), best(is_disk, |d| d.sync.node_power_w));
        assert_eq!(named("MaxE"), best(is_disk, |d| d.sync.energy_j));
        assert_eq!(named("MinT"), best(is_disk, |d| d.sync.time_s));
    }
    let flash = [("gordon-slc-256g", 1)];
    let report = answer(&survey(vec![job(folder.path(), "b", 1)], 1, &PROCESSORS, &flash));
    assert_eq!(named(&report, "MaxE-disk"), None);
}

#[test]
fn the_front_and_named_designs_are_reported_whatever_the_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let all = grid(vec![job(folder.path(), "a", 1)], 2);
    let few = answer(&PaperSurvey { rows: 0, ..all.clone() });
    assert_eq!(few.designs_total, 9);
    let ids = |report: &ReportOf<PaperSurvey>| -> BTreeSet<String> {
        report.designs.iter().map(|d| d.id.clone()).collect()
    };
    let shown: BTreeSet<String> = few
        .front
        .iter()
        .cloned()
        .chain(few.named.iter().filter_map(|(_, id)| id.clone()))
        .collect();
    assert_eq!(ids(&few), shown);
    let beaten = answer(&all).designs.into_iter().find(|d| !shown.contains(&d.id)).unwrap();
    let keep = Baseline {
        cpu: beaten.cpu,
        clock: Hertz(beaten.ghz * 1e9),
        cpus: beaten.cpus,
        storage: beaten.storage,
        count: beaten.storage_count,
    };
    let kept = answer(&PaperSurvey { rows: 0, keep: vec![keep], ..all });
    assert!(ids(&kept).contains(&beaten.id));
}

#[test]
fn designs_above_the_budget_are_counted_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let all = grid(vec![job(folder.path(), "a", 1)], 2);
    let report = answer(&all);
    let powers: Vec<f64> = report.designs.iter().map(|d| d.max_node_power_w).collect();
    let budget = powers.iter().sum::<f64>() / 9.0;
    let over = powers.iter().filter(|watts| **watts > budget).count();
    let limited = PaperSurvey { budget: Watts(budget), other_ratios: vec![1e9, 0.0], ..all };
    let report = answer(&limited);
    assert_eq!(report.extras.over_budget.total as usize, over);
    assert_eq!(report.extras.over_budget.ids.len(), over);
    assert_eq!(report.designs.len(), 9 - over);
    assert_eq!(report.extras.over_budget.with_other_ratios, [9 - over as u64, 0]);
    let least = powers.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(report.extras.over_budget.least_w, least);
}

#[test]
fn a_baseline_outside_of_the_grid_is_reported_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = grid(vec![job(folder.path(), "a", 1)], 2);
    config.baseline.count = 7;
    config.baseline.storage = "sata-7200-1tb".into();
    let report = answer(&config);
    assert_eq!(report.extras.baseline.id, "atom-0.8GHz-x1-sata-7200-1tb-x7");
    assert_eq!(report.designs.len(), 9);
    assert!(report.designs.iter().all(|d| d.id != report.extras.baseline.id));
}

#[test]
fn copies_of_one_trace_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let one = vec![job(folder.path(), "a", 1)];
    assert!(answer(&grid(one.clone(), 4)).extras.spread.unwrap().contains("copies"));
    assert_eq!(answer(&grid(one, 1)).extras.spread, None);
}

#[test]
fn invalid_input_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let trace = job(folder.path(), "a", 1);
    let refuse = |config: &PaperSurvey| run(config, &Progress::default()).unwrap_err().to_string();
    let good = grid(vec![trace.clone()], 1);
    assert!(refuse(&PaperSurvey { nodes: 0, ..good.clone() }).starts_with("nodes: "));
    let empty = PaperSurvey { processors: vec![], ..good.clone() };
    assert!(refuse(&empty).starts_with("the space has no design"));
    let twice = PaperSurvey { storage: vec![good.storage[0].clone(); 2], ..good.clone() };
    assert!(refuse(&twice).starts_with("the space has two designs `atom-0.8GHz-x1-"));
    assert!(refuse(&grid(vec![trace.clone(), trace.clone()], 1)).starts_with("traces: "));
    assert!(refuse(&grid(vec!["/nonexistent".into()], 1)).contains("does not exist"));
    let mut overhead = good.clone();
    overhead.parts.overhead.get_mut("test").unwrap().ratio = Some(0.5.into());
    assert!(refuse(&overhead).contains("below 1"));
    let mut slow = good.clone();
    slow.parts.cpu.get_mut("atom").unwrap().ipc = 0.0.into();
    assert!(refuse(&slow).contains("cpu `atom`: ipc: 0 is not above zero"));
}

#[test]
fn a_stop_ends_the_survey() {
    let folder = tempfile::tempdir().unwrap();
    let config = grid(vec![job(folder.path(), "a", 1)], 1);
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    assert_eq!(run(&config, &progress).unwrap_err().to_string(), "interrupted");
}

/// A trace of one second on two processors, on a machine with other activity; the command uses
/// three quarters of the processor time. `kind` is how instructions were obtained.
fn shared_machine(folder: &std::path::Path, model: &str, kind: ColumnKind) -> String {
    let path = folder.join(model.replace(' ', "-"));
    let mut columns = Columns::all(ColumnKind::Measured, "made up");
    for column in &mut columns.activity {
        if column.name.ends_with("instructions") || column.name.ends_with("misses") {
            column.kind = kind;
        }
    }
    let command = CommandSample {
        cpu: Ns(600_000_000),
        instructions: 1_500_000_000,
        llc_misses: 3_000_000,
        ..CommandSample::default()
    };
    let busy = Sample {
        cpu_per_core: vec![Ns(400_000_000); 2],
        mhz_per_core: vec![2400; 2],
        command,
        ..sample(0, 2_000_000_000, 0)
    };
    let machine = MachineInfo { cpu_model: model.into(), ..MachineInfo::default() };
    let made = MadeTrace { columns, machine, samples: &[busy], ..MadeTrace::default() };
    MadeTrace { requests: Some(&[]), ..made }.write(&path)
}

#[test]
fn only_the_time_of_the_command_is_charged_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let trace = shared_machine(folder.path(), "counted", ColumnKind::Measured);
    let machine = core2(trace);
    let command = PaperSurvey { charge: Charge::Command, ..machine.clone() };
    let (all, own) = (answer(&machine), answer(&command));
    // Instructions divided by 1.5 a cycle and 2.4 GHz.
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(close(all.designs[0].sync.time_s, 2.0 / 3.6), "{}", all.designs[0].sync.time_s);
    assert!(close(own.designs[0].sync.time_s, 1.5 / 3.6));
    let misses = |report: &ReportOf<PaperSurvey>| report.traces[0].llc_misses;
    assert!(close(misses(&all), 1e7) && close(misses(&own), 3e6));
    for report in [&all, &own] {
        let trace = &report.traces[0];
        assert!(close(trace.cpu_s, 0.8) && close(trace.command_cpu_s.unwrap(), 0.6));
        assert!(close(trace.other_cpu_share.unwrap(), 0.25));
        assert_eq!(trace.estimated_ipc, None);
    }
    let warns = |report: &ReportOf<PaperSurvey>, advice: &str| {
        report.warnings.iter().any(|w| w.contains("25 % of the CPU time") && w.contains(advice))
    };
    assert!(warns(&all, "--charge command") && warns(&own, "--charge machine"));
}

#[test]
fn a_trace_without_command_columns_cannot_be_charged_to_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let trace = shared_machine(folder.path(), "unknown", ColumnKind::Missing);
    let command = PaperSurvey { charge: Charge::Command, ..core2(trace) };
    let error = run(&command, &Progress::default()).unwrap_err();
    assert!(error.to_string().contains("command_instructions"), "{error}");
}

/// The estimate assumed 1.5 instructions a cycle.
#[test]
fn estimates_follow_the_speed_of_the_traced_processor() {
    let folder = tempfile::tempdir().unwrap();
    let answer_of = |model: &str, kind, references: &[(&str, f64, &[&str])]| {
        let trace = shared_machine(folder.path(), model, kind);
        let mut config = core2(trace.clone());
        config.references = references
            .iter()
            .map(|(name, ipc, models)| Reference {
                name: (*name).into(),
                ipc: (*ipc).into(),
                models: models.iter().map(|m| (*m).to_owned()).collect(),
            })
            .collect();
        let report = answer(&config);
        std::fs::remove_dir_all(trace).unwrap();
        let warned = report.warnings.iter().any(|w| w.contains("--reference"));
        let assumed = report.assumptions.iter().any(|a| a.key == "reference.ipc");
        let seconds = report.designs[0].sync.time_s * 3.6;
        ((seconds * 1e6).round() / 1e6, report.traces[0].estimated_ipc, warned, assumed)
    };
    let catalogue: [(&str, f64, &[&str]); 2] =
        [("core2", 1.5, &["Core(TM)2"]), ("atom", 0.5, &["Atom(TM) CPU N27"])];
    let estimated = ColumnKind::Estimated;
    assert_eq!(answer_of("EPYC", estimated, &catalogue), (2.0, Some(1.5), true, false));
    assert_eq!(answer_of("EPYC", estimated, &[("x", 4.5, &[])]), (6.0, Some(4.5), false, true));
    let atom = "Intel(R) Atom(TM) CPU N270 @ 1.60GHz";
    assert_eq!(answer_of(atom, estimated, &catalogue), (0.666_667, Some(0.5), false, true));
    assert_eq!(answer_of(atom, ColumnKind::Measured, &catalogue), (2.0, None, false, false));
}
