//! Surveys of traces of nodes, which are parts of a machine.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::MadeTrace;
use common::machines::{catalogue, survey_of};
use gordon_cluster::ClusterError;
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::range::RangeSource;
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::survey::run;
use gordon_trace::{ColumnKind, Columns, MachineInfo, NodeScope, Sample, Scope, ScopePart};
use gordon_units::{Ns, Progress};
use std::path::Path;

const SPACE: &str = r#"
[[machines]]
id = "half"
cores = 1
core_speed = 0.5
memory = "16GiB"
storage = { bandwidth = "100MB" }
network = "10Gb"

[[machines]]
id = "four"
cores = 4
core_speed = 1.0
memory = "16GiB"
storage = { bandwidth = "100MB" }
network = "10Gb"
"#;

fn survey(traces: &[String]) -> JobSurvey {
    let reference = Some("four".into());
    survey_of(traces.to_vec(), MachineCatalogue { reference, ..catalogue(SPACE) })
}

/// Ten seconds of a machine with four cores, in which one busy thread had half of a core.
fn write(folder: &Path, name: &str, scope: Scope) -> String {
    let samples: Vec<Sample> = (0..10)
        .map(|nth| Sample {
            cpu_per_core: vec![Ns::SECOND / 2],
            mhz_per_core: vec![2400; 4],
            ..common::sample(nth, 0, 0)
        })
        .collect();
    let machine = MachineInfo { cores: 4, ..MachineInfo::default() };
    let mut columns = Columns::all(ColumnKind::Measured, "made up");
    let pressure = ["psi_io_full_ns", "psi_cpu_some_ns"];
    columns.set(&pressure, ColumnKind::Missing, "control groups of version 1 have none");
    MadeTrace { samples: &samples, machine, scope, columns, ..MadeTrace::default() }
        .write(&folder.join(name))
}

fn node(name: &str) -> Scope {
    let node = NodeScope {
        name: name.into(),
        cores: Some(0.5),
        cgroup: Some(format!("/{name}")),
        ..NodeScope::default()
    };
    Scope { host: Some("host".into()), part: ScopePart::Node(node) }
}

#[test]
fn half_a_core_that_is_always_busy_is_a_saturated_slow_core() {
    let folder = tempfile::tempdir().unwrap();
    let traces = [write(folder.path(), "a", node("a"))];
    let report = run(&survey(&traces), &Progress::default()).unwrap();
    let job = |id: &str| {
        let machine = report.designs.iter().find(|machine| machine.hardware.id == id).unwrap();
        machine.job.clone()
    };
    let busy = report.warnings.iter().find(|warning| warning.contains("were busy")).unwrap();
    assert!(busy.contains("all of the 0.5 cores were busy in 100 %"), "{busy}");
    // A machine of the quota's size takes as long.
    assert!((job("half").time_s - 10.0).abs() < 1e-9, "{:?}", job("half"));
    // A busy core does not show how many threads there were: four or more are eight times as fast
    // on four whole cores, one is twice as fast.
    let [low, high] = job("four").range_by_s[&RangeSource::Cores];
    assert!((low - 1.25).abs() < 1e-9 && (high - 5.0).abs() < 1e-9, "{:?}", job("four"));
    assert!(low < job("four").time_s && job("four").time_s < high);
}

#[test]
fn traces_that_cover_the_same_at_the_same_time_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let apart = [write(folder.path(), "a", node("a")), write(folder.path(), "b", node("b"))];
    run(&survey(&apart), &Progress::default()).unwrap();
    let machine = write(folder.path(), "m", Scope::machine(Some("host".into())));
    match run(&survey(&[apart[0].clone(), machine]), &Progress::default()) {
        Err(ClusterError::OverlappingScopes { one, other, .. }) => {
            assert!(one.ends_with("a") && other.ends_with("m"));
        }
        other => panic!("{other:?}"),
    }
}
