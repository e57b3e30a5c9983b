//! The series of traced nodes, and what limits each stage of a job.
#![allow(clippy::unwrap_used, clippy::float_cmp, missing_docs)]

mod common;

use common::{MadeTrace, io, sample, survey, write};
use gordon_blockio::IoOp;
use gordon_cluster::ClusterError;
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::report::MachineReport;
use gordon_cluster::model::paper::PaperSurvey;
use gordon_cluster::model::paper::report::DesignReport;
use gordon_cluster::survey::ReportOf;
use gordon_cluster::survey::run;
use gordon_cluster::trace::report::{NodeSeries, StageOnDesign, StageReport, Timeline};
use gordon_cluster::trace::stages::Stage;
use gordon_cluster::trace::timeline::POINTS;
use gordon_trace::{BlockIo, ColumnKind, Columns, DiskSample, MachineInfo, Sample};
use gordon_units::{Bytes, Ns, Progress};
use std::collections::BTreeMap;
use std::path::Path;

fn stage(name: &str, start_s: f64, end_s: f64) -> Stage {
    Stage { name: name.into(), start_s, end_s }
}

/// Ten seconds: reads, then the processor, then the network. `seed` changes how much.
fn job(folder: &Path, name: &str, seed: u64) -> String {
    let second = |s: u64| match s {
        0..3 => sample(s, 200_000_000, 0),
        3..7 => sample(s, 4_000_000_000 + seed * s * 100_000_000, 0),
        _ => sample(s, 100_000_000, 200_000_000 + seed * 1_000_000),
    };
    let samples: Vec<Sample> = (0..10).map(second).collect();
    let read = |i: u64| io(Ns(i * 2_000_000), IoOp::Read, i * 7919 % 1000 * 2048, 256, None);
    let requests: Vec<BlockIo> = (0..1500).map(read).collect();
    write(&folder.join(name), &samples, &requests)
}

fn grid(traces: Vec<String>, report_stages: Vec<Stage>) -> PaperSurvey {
    let nodes = u32::try_from(traces.len()).unwrap();
    let processors = [("atom", "0.8GHz", 1), ("core2", "2.4GHz", 4)];
    let storages = [("gordon-slc-256g", 1), ("sata-7200-1tb", 1)];
    PaperSurvey { report_stages, ..survey(traces, nodes, &processors, &storages) }
}

fn answer(survey: &PaperSurvey) -> ReportOf<PaperSurvey> {
    run(survey, &Progress::default()).unwrap()
}

fn on<'a>(stage: &'a StageReport, id: &str) -> &'a StageOnDesign {
    stage.designs.iter().find(|design| design.id == id).unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

fn same(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    a.iter().for_each(|(name, share)| near(*share, b[name]));
}

/// The designs with a name, which the stages have.
fn named(report: &ReportOf<PaperSurvey>) -> Vec<&DesignReport> {
    let is_named = |d: &&DesignReport| report.named.iter().any(|(_, id)| *id == Some(d.id.clone()));
    let found: Vec<_> = report.designs.iter().filter(is_named).collect();
    assert!(found.len() > 1, "{:?}", report.named);
    found
}

#[test]
fn a_stage_of_the_whole_job_has_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let traces = vec![job(folder.path(), "a", 1), job(folder.path(), "b", 9)];
    let report = answer(&grid(traces, vec![stage("all", 0.0, 10.0)]));
    let [all] = &report.timeline.as_ref().unwrap().stages[..] else { panic!() };
    assert_eq!(all.samples, 10.0);
    for design in named(&report) {
        same(&on(all, &design.id).limits, &design.limits);
        near(on(all, &design.id).time_s, design.nosync.time_s);
    }
    assert_eq!(all.designs.len(), named(&report).len(), "each design once");
}

#[test]
fn the_times_of_stages_add_up_to_that_of_the_stages_model() {
    let folder = tempfile::tempdir().unwrap();
    let traces = vec![job(folder.path(), "a", 1), job(folder.path(), "b", 9)];
    let stages = vec![stage("read", 0.0, 3.0), stage("map", 3.0, 7.0), stage("send", 7.0, 10.0)];
    let config = grid(traces, stages.clone());
    let report = answer(&PaperSurvey { stages: Some(stages), ..config });
    let [read, map, send] = &report.timeline.as_ref().unwrap().stages[..] else { panic!() };
    for design in named(&report) {
        let times = [read, map, send].map(|stage| on(stage, &design.id).time_s);
        near(times.iter().sum(), design.stages.unwrap().time_s);
    }
    // A slow disk limits the first stage, the processor the second, the network the third.
    let slow = report.named.iter().find(|(name, _)| *name == "MinT-disk").unwrap();
    let id = slow.1.as_ref().unwrap();
    let most = |stage: &StageReport| {
        let limits = &on(stage, id).limits;
        limits.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0.clone()
    };
    assert_eq!([most(read), most(map), most(send)], ["storage", "cpu", "network"]);
}

#[test]
fn stages_may_overlap_end_late_or_be_shorter_than_a_sample() {
    let folder = tempfile::tempdir().unwrap();
    let traces = vec![job(folder.path(), "a", 1), job(folder.path(), "b", 9)];
    let stages = vec![
        stage("early", 0.0, 6.0),
        stage("inside", 3.0, 6.0),
        stage("second", 4.0, 5.0),
        stage("short", 4.25, 4.5),
        stage("last", 9.0, 10.0),
        stage("ends late", 9.0, 50.0),
        stage("after", 100.0, 200.0),
    ];
    let report = answer(&grid(traces, stages));
    let found = &report.timeline.as_ref().unwrap().stages;
    let samples: Vec<f64> = found.iter().map(|stage| stage.samples).collect();
    assert_eq!(samples, [6.0, 3.0, 1.0, 0.25, 1.0, 1.0, 0.0]);
    let [early, inside, second, short, last, late, after] = &found[..] else { panic!() };
    for design in &second.designs {
        same(&design.limits, &on(short, &design.id).limits);
        near(design.time_s / 4.0, on(short, &design.id).time_s);
        // The same samples count in both of two stages that overlap.
        assert!(on(early, &design.id).time_s > on(inside, &design.id).time_s);
    }
    for design in &last.designs {
        same(&design.limits, &on(late, &design.id).limits);
        near(design.time_s, on(late, &design.id).time_s);
    }
    assert_eq!((late.start_s, late.end_s), (9.0, 50.0), "as given");
    assert!(after.recorded.is_none() && after.designs.is_empty());
}

#[test]
fn without_stages_a_report_is_as_if_there_were_none() {
    let folder = tempfile::tempdir().unwrap();
    let traces = vec![job(folder.path(), "a", 1)];
    let plain = answer(&grid(traces.clone(), Vec::new()));
    let text = serde_json::to_string(&plain).unwrap();
    assert!(!text.contains("timeline"));
    let mut staged = answer(&grid(traces, vec![stage("all", 0.0, 10.0)]));
    staged.timeline = None;
    assert_eq!(serde_json::to_string(&staged).unwrap(), text);
}

#[test]
fn impossible_stages_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let traces = vec![job(folder.path(), "a", 1)];
    for bad in [stage("bad", 2.0, 2.0), stage("bad", -1.0, 2.0), stage("bad", 0.0, f64::INFINITY)] {
        match run(&grid(traces.clone(), vec![bad.clone()]), &Progress::default()) {
            Err(ClusterError::Impossible { what, .. }) => assert!(what.contains("`bad`")),
            other => panic!("{other:?}"),
        }
        match run(&machines(traces.clone(), vec![bad]), &Progress::default()) {
            Err(ClusterError::Impossible { what, .. }) => assert!(what.contains("`bad`")),
            other => panic!("{other:?}"),
        }
    }
}

fn machines(traces: Vec<String>, report_stages: Vec<Stage>) -> JobSurvey {
    let machine = |id: &str, cores: u32, bandwidth: &str| {
        format!(
            "[[machines]]\nid = \"{id}\"\ncores = {cores}\ncore_speed = 1.0\nmemory = \"16GiB\"\n\
             storage = {{ bandwidth = \"{bandwidth}\" }}\nnetwork = \"1Gb\"\n"
        )
    };
    let text = [machine("traced", 4, "100MB"), machine("wide", 8, "100MB")].concat();
    JobSurvey { report_stages, ..common::machines::survey(traces, &text) }
}

/// A second of a machine with four cores, with reads and waits for them.
fn second(nth: u64, busy_cores: f64, read: u64, waits: f64) -> Sample {
    let disk = DiskSample {
        device: 8 << 20,
        reads: read / (1 << 20),
        read_bytes: Bytes(read),
        busy: Ns::from_secs(waits),
        ..DiskSample::default()
    };
    Sample {
        cpu_per_core: vec![Ns::from_secs(busy_cores / 4.0); 4],
        mhz_per_core: vec![2400; 4],
        iowait: Ns::from_secs(waits),
        disks: vec![disk],
        ..sample(nth, 0, 0)
    }
}

/// A trace of a machine with four cores, without pressure.
fn four_cores(path: &Path, samples: &[Sample], missing: &[&str]) -> String {
    let mut columns = Columns::all(ColumnKind::Measured, "made up");
    let pressure = ["psi_io_full_ns", "psi_cpu_some_ns"];
    columns.set(&pressure, ColumnKind::Missing, "made up");
    let every = columns.activity.iter_mut().chain(&mut columns.disks);
    for column in every.filter(|c| missing.contains(&c.name.as_str())) {
        column.kind = ColumnKind::Missing;
    }
    let machine = MachineInfo { cores: 4, ..MachineInfo::default() };
    MadeTrace { samples, machine, columns, ..MadeTrace::default() }.write(path)
}

fn timeline(survey: &JobSurvey) -> (Timeline, Vec<MachineReport>) {
    let report = run(survey, &Progress::default()).unwrap();
    (report.timeline.unwrap(), report.designs)
}

#[test]
fn the_job_model_gives_the_limits_of_a_stage_and_of_the_traced_nodes() {
    let folder = tempfile::tempdir().unwrap();
    // A thread that reads, four busy cores, and a second in which nothing happens.
    let samples = [second(0, 0.2, 40 << 20, 0.8), second(1, 4.0, 0, 0.0), second(2, 0.0, 0, 0.0)];
    let trace = four_cores(&folder.path().join("one"), &samples, &[]);
    let stages = vec![stage("all", 0.0, 3.0), stage("read", 0.0, 1.0), stage("half", 1.5, 2.5)];
    let (found, reported) = timeline(&machines(vec![trace], stages));
    let [all, read, half] = &found.stages[..] else { panic!() };
    for machine in &reported {
        near(on(all, &machine.hardware.id).time_s, machine.job.time_s);
        same(&on(all, &machine.hardware.id).limits, &machine.limits);
    }
    for stage in [all, read, half] {
        // The link is never busy, so that the traced machine itself has the recorded limits.
        let recorded = stage.recorded.as_ref().unwrap();
        same(recorded.limits.as_ref().unwrap(), &on(stage, "traced").limits);
        near(on(stage, "traced").time_s, stage.samples);
        assert!(!recorded.is_estimated);
    }
    let shares = |stage: &StageReport| stage.recorded.clone().unwrap().limits.unwrap();
    near(shares(read)["storage"], 0.8);
    near(shares(half)["cpu"], 0.5);
    near(shares(half)["idle"], 0.5);
    let busy = half.recorded.as_ref().unwrap();
    near(busy.cpu_share.unwrap(), 0.5);
    near(read.recorded.as_ref().unwrap().disk_bytes_per_s.unwrap(), f64::from(40 << 20));
    // Eight cores halve the saturated half of a second, and not the idle one.
    // Half a second in which all cores were busy, which more cores shorten by at most half.
    assert!((0.75..1.0).contains(&on(half, "wide").time_s));
}

#[test]
fn limits_that_a_trace_cannot_give_are_unknown_or_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let samples = [second(0, 1.0, 1 << 20, 0.5)];
    let recorded = |name: &str, missing: &[&str]| {
        let trace = four_cores(&folder.path().join(name), &samples, missing);
        let (found, _) = timeline(&machines(vec![trace], vec![stage("all", 0.0, 1.0)]));
        (found.stages[0].recorded.clone().unwrap(), found.nodes[0].clone())
    };
    let (whole, _) = recorded("whole", &[]);
    assert!(whole.limits.is_some() && !whole.is_estimated);
    let (waits, _) = recorded("waits", &["iowait_ns"]);
    assert!(waits.limits.is_some() && waits.is_estimated);
    let (busy, node) = recorded("busy", &["busy_ns", "rx_bytes", "read_bytes"]);
    assert!(busy.limits.is_none() && busy.cpu_share.is_some());
    assert!(busy.disk_bytes_per_s.is_none() && busy.network_bytes_per_s.is_none());
    assert!(node.disk_bytes_per_s.is_none() && node.network_bytes_per_s.is_none());
    assert_eq!(node.cpu_share, Some(vec![Some(0.25)]));
}

#[test]
fn a_series_has_at_most_600_points_with_the_means_of_equal_groups() {
    let folder = tempfile::tempdir().unwrap();
    let busy = |nth: u64| second(nth, [0.0, 1.0, 3.5][usize::try_from(nth % 3).unwrap()], 0, 0.0);
    let samples: Vec<Sample> = (0..1300).map(busy).collect();
    let traces = vec![
        four_cores(&folder.path().join("a"), &samples, &[]),
        four_cores(&folder.path().join("b"), &samples[..4], &[]),
    ];
    let config = machines(traces, vec![stage("all", 0.0, 1300.0)]);
    let (found, _) = timeline(&JobSurvey { lags: vec![0, 5], ..config });
    assert_eq!(found.samples_per_point, 3);
    assert_eq!(found.start_s.len(), 434);
    assert!(found.start_s.len() <= POINTS);
    assert_eq!((found.start_s[1], found.end_s), (3.0, 1300.0));
    let [a, b] = &found.nodes[..] else { panic!() };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    let of = |node: &NodeSeries| node.cpu_share.clone().unwrap();
    assert_eq!(of(a)[0], Some(0.375));
    // The last point has one sample, which is idle.
    assert_eq!(of(a)[433], Some(0.0));
    // The other node has the samples 5 to 8 of the run, one in the second point, three in the
    // third.
    assert_eq!(of(b)[..5], [None, Some(0.0), Some(0.375), None, None]);
}

#[test]
fn a_short_series_has_a_point_for_each_sample() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..4).map(|nth| second(nth, 2.0, 1 << 20, 0.1)).collect();
    let trace = four_cores(&folder.path().join("a"), &samples, &[]);
    let (found, _) = timeline(&machines(vec![trace], vec![stage("all", 0.0, 4.0)]));
    assert_eq!((found.samples_per_point, found.start_s.len()), (1, 4));
    let [node] = &found.nodes[..] else { panic!() };
    assert_eq!(node.cores, Some(4.0));
    assert_eq!(node.disk_bytes_per_s, Some(vec![Some(f64::from(1 << 20)); 4]));
}

#[test]
fn stages_of_a_run_are_joined_by_its_lags() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..4).map(|nth| second(nth, 4.0, 0, 0.0)).collect();
    let traces = vec![
        four_cores(&folder.path().join("a"), &samples, &[]),
        four_cores(&folder.path().join("b"), &samples[..2], &[]),
    ];
    // The second node works from 2 s to 4 s.
    let stages = vec![stage("first", 0.0, 2.0), stage("second", 3.0, 4.0)];
    let config = machines(traces, stages);
    let (found, _) = timeline(&JobSurvey { lags: vec![0, 2], ..config });
    let [first, second] = &found.stages[..] else { panic!() };
    near(on(first, "traced").time_s, 2.0);
    near(on(second, "traced").time_s, 1.0);
    near(second.recorded.as_ref().unwrap().cpu_share.unwrap(), 1.0);
}
