//! What a trace cannot decide: the ranges of predicted times, and machines that are not candidates.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, missing_docs)]

mod common;

use common::machines::{
    APART, SPACE, answer, job, made, near, reading, second, survey, survey_of, traced,
    without_reference,
};
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::model::job::range::RangeSource;
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::trace::charge::Charge;
use gordon_trace::{ColumnKind, Columns, Sample};
use gordon_units::{Bytes, Ns};

const GIB: u64 = 1 << 30;

/// What the report says of the machine `fast`, which has 1 GiB of memory; the others have 16.
fn fast_with(sample: Sample, missing: &[&str]) -> (Option<bool>, bool, bool) {
    let folder = tempfile::tempdir().unwrap();
    let samples = [sample];
    let mut trace = made(&samples, &[]);
    trace.columns = Columns::all(ColumnKind::Measured, "made up");
    trace.columns.set(missing, ColumnKind::Missing, "not recorded");
    let report = answer(&survey(vec![trace.write(&folder.path().join("a"))], &SPACE));
    let is_fast = |id: &str| id == "fast";
    let is_named = report.named.iter().any(|(_, id)| id.as_deref().is_some_and(is_fast))
        || report.extras.verdict.as_ref().is_some_and(|verdict| is_fast(&verdict.machine))
        || report.front.iter().any(|id| is_fast(id));
    let is_warned = report.warnings.iter().any(|w| w.starts_with("fast: less memory"));
    let fast = report.designs.iter().find(|m| is_fast(&m.hardware.id)).unwrap();
    (fast.memory_fits, is_named, is_warned)
}

#[test]
fn a_machine_that_may_be_too_small_for_the_job_is_no_candidate() {
    let with = |memory: u64, anonymous: u64| Sample {
        memory: Bytes(memory),
        anonymous: Bytes(anonymous),
        ..second(0, 4.0)
    };
    assert_eq!(fast_with(with(3 * GIB, GIB / 2), &[]), (Some(true), true, false));
    assert_eq!(fast_with(with(3 * GIB, 3 * GIB / 2), &[]), (Some(false), false, true));
    // Without both apart, a part of what is not page cache may be the kernel's.
    assert_eq!(fast_with(with(3 * GIB, 0), &APART), (Some(false), false, true));
    assert_eq!(fast_with(with(GIB + GIB / 10, 0), &APART), (None, false, true));
    let none = [APART[0], APART[1], APART[2], "memory_bytes"];
    assert_eq!(fast_with(with(0, 0), &none), (None, true, false));
}

#[test]
fn a_page_cache_that_does_not_fit_is_read_again_at_worst() {
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample { anonymous: Bytes(GIB / 2), cache: Bytes(GIB), ..second(0, 4.0) };
    let samples = [sample];
    let mut trace = made(&samples, &[]);
    trace.columns = Columns::all(ColumnKind::Measured, "made up");
    let report = answer(&survey(vec![trace.write(&folder.path().join("a"))], &SPACE));
    let fast = job(&report, "fast");
    // At 100 MB/s.
    near(fast.range_by_s[&RangeSource::Memory][1], fast.time_s + GIB as f64 / 100e6);
    assert!(!job(&report, "wide").range_by_s.contains_key(&RangeSource::Memory));
    assert!(report.warnings.iter().any(|w| w.contains("read again")), "{:?}", report.warnings);
}

#[test]
fn files_that_the_page_cache_never_wrote_may_be_written_by_another_storage() {
    let mut sample = second(0, 4.0);
    sample.command.write_bytes = Bytes(5 * GIB);
    let folder = tempfile::tempdir().unwrap();
    let samples = [sample];
    let mut trace = made(&samples, &[]);
    trace.columns = Columns::all(ColumnKind::Measured, "made up");
    let trace = trace.write(&folder.path().join("a"));
    let report = answer(&survey(vec![trace.clone()], &SPACE));
    let other = job(&report, "storage");
    // At 1 GB/s.
    near(other.range_by_s[&RangeSource::Memory][1], other.time_s + 5.0 * GIB as f64 / 1e9);
    // The storage of the traced machine.
    assert!(!job(&report, "wide").range_by_s.contains_key(&RangeSource::Memory));
    // What is known of the traced machine is its speed: its storage is another one.
    let unknown = survey_of(
        vec![trace],
        MachineCatalogue { reference_speed: Some(1.0), ..without_reference(&SPACE) },
    );
    assert!(job(&answer(&unknown), "wide").range_by_s.contains_key(&RangeSource::Memory));
}

#[test]
fn the_time_of_a_simulated_device_is_within_a_tenth() {
    let (_folder, trace) = traced(&[reading(0)]);
    let space = SPACE.replace(
        r#"{ bandwidth = "1GB", latency = "0.1ms" }"#,
        r#"{ part = "gordon-slc-256g", bandwidth = "10MB" }"#,
    );
    let slow = job(&answer(&survey(vec![trace], &space)), "storage");
    let [_, high] = slow.range_by_s[&RangeSource::Storage];
    // Waits for the device of 5 s.
    near(high, 0.5 + 5.0 * 0.1f64.exp());
}

#[test]
fn the_command_is_charged_if_the_trace_has_it_and_other_programs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut sample = second(0, 4.0);
    sample.command.cpu = Ns::from_secs(0.5);
    let samples = [sample];
    let trace = made(&samples, &["psi_io_full_ns", "psi_cpu_some_ns"]);
    let trace = trace.write(&folder.path().join("a"));
    let of = |charge| answer(&JobSurvey { charge, ..survey(vec![trace.clone()], &SPACE) });
    let report = of(Charge::Auto);
    assert_eq!(report.charge, Charge::Command);
    // The other programs had all cores, so that the command waited for one.
    near(job(&report, "traced").time_s, 0.5);
    let [low, high] = job(&report, "traced").range_by_s[&RangeSource::Waiting];
    near(low, 0.5);
    near(high, 1.0);
    for (charge, time) in [(Charge::Auto, 0.5), (Charge::Machine, 1.0)] {
        let report = of(charge);
        near(job(&report, "traced").time_s, time);
        let is_named = |w: &String| w.contains("88 % of the CPU time is of other programs");
        assert!(report.warnings.iter().any(is_named), "{:?}", report.warnings);
    }
}

#[test]
fn where_most_of_the_time_is_idle_no_machine_is_recommended() {
    let (_folder, trace) = traced(&[second(0, 0.2), second(1, 0.2)]);
    let report = answer(&survey(vec![trace], &SPACE));
    assert!(report.extras.verdict.is_none());
    near(report.extras.floor_s, 1.6);
    let (_folder, trace) = traced(&[second(0, 2.2), second(1, 2.2)]);
    assert!(answer(&survey(vec![trace], &SPACE)).extras.verdict.is_some());
}

#[test]
fn stolen_time_is_named_and_counts_as_demand() {
    let sample = Sample { steal: Ns::from_secs(1.6), ..second(0, 2.4) };
    let (_folder, trace) = traced(&[sample]);
    let report = answer(&survey(vec![trace], &SPACE));
    near(job(&report, "traced").time_s, 0.6);
    let is_named = |w: &String| w.contains("40 % of what the job wanted");
    assert!(report.warnings.iter().any(is_named), "{:?}", report.warnings);
    near(report.traces[0].steal_s.unwrap(), 1.6);
}

#[test]
fn a_link_at_its_limit_is_shortened_by_a_faster_one() {
    // 152 of 156 MB/s, and a fifth of a core busy.
    let sample = Sample { rx_bytes: Bytes(152_000_000), ..second(0, 0.2) };
    let (_folder, trace) = traced(&[sample]);
    let space = SPACE.replacen("network = \"10Gb\"", "network = \"1.25Gb\"", 1);
    let report = answer(&survey(vec![trace.clone()], &space));
    near(job(&report, "traced").time_s, 1.0);
    let wide = job(&report, "wide");
    near(wide.time_s, 0.2);
    let [low, high] = wide.range_by_s[&RangeSource::Waiting];
    near(low, 0.2);
    // Computing, and the rest on a link eight times as fast.
    near(high, 0.2 + 0.8 / 8.0);
    // Far below its limit, the link is not what the job waited for.
    near(job(&answer(&survey(vec![trace.clone()], &SPACE)), "wide").time_s, 1.0);
    // Without a known link it may be.
    let report = answer(&survey_of(vec![trace], without_reference(&SPACE)));
    let wide = job(&report, "wide");
    near(wide.time_s, 0.8 + 0.2 / 2.0);
    near(wide.range_by_s[&RangeSource::Waiting][0], 0.152 / 1.25);
}

#[test]
fn small_requests_without_a_log_may_be_random() {
    let mut sample = reading(0);
    sample.disks[0].reads = 4000;
    sample.disks[0].read_bytes = Bytes(4000 * 4096);
    let (_folder, trace) = traced(&[sample]);
    let disk = "\"sata-7200-1tb\"";
    let space = SPACE.replace(r#"{ bandwidth = "1GB", latency = "0.1ms" }"#, disk);
    let of = |space: &str| job(&answer(&survey(vec![trace.clone()], space)), "storage");
    let storage = of(&space);
    let [low, high] = storage.range_by_s[&RangeSource::Storage];
    // A seek and half a turn are 8 ms or more; a queue of 32 requests makes them about 4.
    assert!(high > 4000.0 * 0.003, "{storage:?}");
    assert!(low < storage.time_s && storage.time_s < high / 2.0, "{storage:?}");
    // Requests of 64 KiB are sequential.
    let mut sample = reading(0);
    sample.disks[0].reads = 400;
    let (_folder, trace) = traced(&[sample]);
    let large = job(&answer(&survey(vec![trace], &space)), "storage");
    assert!(large.range_by_s[&RangeSource::Storage][1] < 2.0, "{large:?}");
}

#[test]
fn a_volume_has_its_burst_bandwidth_for_half_an_hour() {
    let burst = |secs: f64| {
        let span = Ns::from_secs(secs);
        let mut sample = Sample { span, ..reading(0) };
        sample.disks[0].busy = span;
        sample.iowait = span;
        sample.cpu_per_core = vec![Ns::ZERO; 4];
        // The traced volume at its sustained bandwidth.
        sample.disks[0].read_bytes = Bytes(100_000_000) * (secs as u64);
        let samples = [sample.clone(), Sample { start: span, ..sample }];
        let (_folder, trace) = traced(&samples);
        let burst = "\"100MB\", burst = \"1GB\", latency";
        let space = SPACE.replace("\"1GB\", latency", burst);
        job(&answer(&survey(vec![trace], &space)), "storage")
    };
    let short = burst(10.0);
    near(short.time_s, 2.0);
    near(short.range_by_s[&RangeSource::Storage][1], 20.0);
    // The first sample takes more than the half hour at ten times the bandwidth.
    near(burst(20_000.0).time_s, 2000.0 + 20_000.0);
}
