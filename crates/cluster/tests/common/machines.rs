//! Machines of a space, their survey, and samples of a machine with four cores.

use super::MadeTrace;
use gordon_cluster::ClusterError;
use gordon_cluster::model::cost::Goals;
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::report::{JobReport, MachineReport, Verdict};
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::space::machine::Machine;
use gordon_cluster::space::measured::MeasuredStorages;
use gordon_cluster::survey::ReportOf;
use gordon_cluster::survey::run;
use gordon_cluster::trace::charge::Charge;
use gordon_trace::{ColumnKind, Columns, DiskSample, MachineInfo, Sample};
use gordon_units::{Bytes, Ns, Progress};
use serde::Deserialize;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The traced machine, and three others: one with twice the cores, one twice as fast, one with ten
/// times the storage.
pub static SPACE: LazyLock<String> = LazyLock::new(|| {
    let slow = ("100MB", "1ms");
    let priced = "price_per_hour = 0.36\nidle = \"10W\"\nactive = \"50W\"\n";
    [
        machine("traced", 4, 2.0, "16GiB", slow, "10Gb") + priced,
        machine("wide", 8, 2.0, "16GiB", slow, "10Gb"),
        machine("fast", 4, 4.0, "1GiB", slow, "10Gb"),
        machine("storage", 4, 2.0, "16GiB", ("1GB", "0.1ms"), "1Gb"),
    ]
    .concat()
});

/// A machine of a space. `storage` is its bandwidth and latency.
pub fn machine(
    id: &str,
    cores: u32,
    core_speed: f64,
    memory: &str,
    (bandwidth, latency): (&str, &str),
    network: &str,
) -> String {
    format!(
        r#"
[[machines]]
id = "{id}"
cores = {cores}
core_speed = {core_speed:.1}
memory = "{memory}"
storage = {{ bandwidth = "{bandwidth}", latency = "{latency}" }}
network = "{network}"
"#
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machines {
    pub machines: Vec<Machine>,
}

pub fn machines(text: &str) -> Vec<Machine> {
    toml::from_str::<Machines>(text).unwrap_or_else(|e| panic!("{e}")).machines
}

/// Machines, with `traced` as the recorded one.
pub fn catalogue(text: &str) -> MachineCatalogue {
    MachineCatalogue {
        machines: machines(text),
        reference: Some("traced".into()),
        reference_machine: None,
        reference_speed: None,
        unit: None,
        parts: super::parts(1.0),
        measured: MeasuredStorages::new(),
        operation: None,
    }
}

/// Machines, if nothing says which one was recorded.
pub fn without_reference(text: &str) -> MachineCatalogue {
    MachineCatalogue { reference: None, ..catalogue(text) }
}

pub fn survey(traces: Vec<String>, text: &str) -> JobSurvey {
    survey_of(traces, catalogue(text))
}

pub fn survey_of(traces: Vec<String>, catalogue: MachineCatalogue) -> JobSurvey {
    JobSurvey {
        nodes: Vec::new(),
        storage_rate: None,
        spin_down: None,
        goals: Goals::default(),
        traces,
        charge: Charge::Machine,
        catalogue,
        rows: 1000,
        report_stages: Vec::new(),
        lags: Vec::new(),
        table: None,
    }
}

pub fn answer(survey: &JobSurvey) -> ReportOf<JobSurvey> {
    run(survey, &Progress::default()).unwrap()
}

pub fn refusal(survey: &JobSurvey) -> String {
    match run(survey, &Progress::default()) {
        Err(error @ ClusterError::Impossible { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

pub fn named<'a>(report: &'a ReportOf<JobSurvey>, id: &str) -> &'a MachineReport {
    report.designs.iter().find(|m| m.hardware.id == id).unwrap()
}

pub fn job(report: &ReportOf<JobSurvey>, id: &str) -> JobReport {
    named(report, id).job.clone()
}

/// The verdict of a survey that has one.
pub fn verdict(report: &ReportOf<JobSurvey>) -> &Verdict {
    report.extras.verdict.as_ref().unwrap()
}

pub fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6, "{a} is not {b}");
}

/// A second on four cores.
pub fn second(nth: u64, busy_cores: f64) -> Sample {
    Sample {
        cpu_per_core: vec![Ns::from_secs(busy_cores / 4.0); 4],
        mhz_per_core: vec![2400; 4],
        memory: Bytes(2 << 30),
        ..super::sample(nth, 0, 0)
    }
}

/// Writes a trace of a machine with four cores, without a block log.
pub fn write(folder: &Path, name: &str, samples: &[Sample], has_iowait: bool) -> String {
    let mut missing = vec!["psi_io_full_ns", "psi_cpu_some_ns"];
    if !has_iowait {
        missing.push("iowait_ns");
    }
    made(samples, &missing).write(&folder.join(name))
}

/// Columns of the memory that the kernel can drop, and of what it cannot.
pub const APART: [&str; 3] = ["anonymous_bytes", "cache_bytes", "command_anonymous_bytes"];

/// A trace of a machine with four cores, without a block log and without the columns `missing`.
pub fn made<'a>(samples: &'a [Sample], missing: &[&str]) -> MadeTrace<'a> {
    let mut columns = Columns::all(ColumnKind::Measured, "made up");
    columns.set(&APART, ColumnKind::Missing, "memory is not apart");
    columns.set(missing, ColumnKind::Missing, "an old trace");
    let machine = MachineInfo { cores: 4, cpu_model: "Test CPU".into(), ..MachineInfo::default() };
    MadeTrace { columns, machine, samples, ..MadeTrace::default() }
}

/// A second in which one thread reads 50 MB and computes in turn.
pub fn reading(nth: u64) -> Sample {
    let disk = DiskSample {
        device: 8 << 20,
        reads: 50,
        read_bytes: Bytes(50_000_000),
        busy: Ns::SECOND / 2,
        ..DiskSample::default()
    };
    Sample { iowait: Ns::SECOND / 2, disks: vec![disk], ..second(nth, 0.5) }
}

/// A trace of a machine with four cores. The folder is removed when it is dropped.
pub fn traced(samples: &[Sample]) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "a", samples, true);
    (folder, trace)
}
