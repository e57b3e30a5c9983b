//! Surveys of services: made-up loads with known uses, and refused values.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::MadeTrace;
use common::machines::{catalogue, machine, made, near, second, without_reference, write};
use gordon_cluster::ClusterError;
use gordon_cluster::model::cost::{Goals, Objective};
use gordon_cluster::model::service::ServiceSurvey;
use gordon_cluster::model::service::report::{ServiceReport, ServiceVerdictBy};
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::space::operation::Operation;
use gordon_cluster::survey::{ReportOf, run};
use gordon_cluster::trace::charge::Charge;
use gordon_trace::{ColumnKind, Columns, DiskSample, InterfaceInfo, MachineInfo, Sample};
use gordon_units::{Bytes, Ns, Progress};
use std::path::Path;

const VOLUME: (&str, &str) = ("100MB", "1ms");

fn priced(text: &str, price: f64) -> String {
    format!("{text}price_per_hour = {price}\n")
}

/// The recorded machine, with four cores of speed 2, and others.
fn space() -> String {
    [
        priced(&machine("traced", 4, 2.0, "16GiB", VOLUME, "10Gb"), 0.4),
        priced(&machine("half", 2, 2.0, "8GiB", VOLUME, "10Gb"), 0.2),
        priced(&machine("slow", 4, 1.0, "16GiB", VOLUME, "10Gb"), 0.1),
    ]
    .concat()
}

fn survey(traces: Vec<String>, text: &str, nodes: &[u32]) -> ServiceSurvey {
    ServiceSurvey {
        traces,
        nodes: nodes.to_vec(),
        headroom: 0.3,
        charge: Charge::Machine,
        catalogue: catalogue(text),
        goals: Goals::default(),
        rows: 1000,
        table: None,
    }
}

type Report = ReportOf<ServiceSurvey>;

fn answer(survey: &ServiceSurvey) -> Report {
    run(survey, &Progress::default()).unwrap()
}

fn design<'a>(report: &'a Report, id: &str) -> &'a ServiceReport {
    report.designs.iter().find(|design| design.hardware.id == id).unwrap()
}

fn verdict(report: &Report) -> Option<(&str, ServiceVerdictBy)> {
    report.extras.verdict.as_ref().map(|verdict| (verdict.design.id.as_str(), verdict.by))
}

fn warned(report: &Report, text: &str) -> bool {
    report.warnings.iter().any(|warning| warning.contains(text))
}

/// Seconds with this number of busy cores each.
fn load(busy: impl IntoIterator<Item = f64>) -> Vec<Sample> {
    (0..).zip(busy).map(|(nth, busy)| second(nth, busy)).collect()
}

fn traced(samples: &[Sample]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "a", samples, true);
    (folder, trace)
}

#[test]
fn a_steady_load_has_its_share_of_each_machine() {
    let (_folder, trace) = traced(&load([1.0; 100]));
    let report = answer(&survey(vec![trace], &space(), &[1, 2, 4]));
    for (id, used, keeps) in [
        ("1 x traced", 0.25, true),
        ("2 x traced", 0.125, true),
        ("1 x half", 0.5, true),
        ("4 x half", 0.125, true),
        ("1 x slow", 0.5, true),
    ] {
        let found = design(&report, id);
        near(found.used.cpu.unwrap(), used);
        near(found.peak.cpu.unwrap(), used);
        assert_eq!(found.keeps_up, Some(keeps), "{id}");
    }
    assert!(design(&report, "1 x traced").is_reference);
    assert!(!design(&report, "2 x traced").is_reference);
    assert_eq!(verdict(&report), Some(("1 x slow", ServiceVerdictBy::Price)));
    near(design(&report, "4 x half").hardware.price_per_month.unwrap(), 4.0 * 0.2 * 730.0);
    assert!(report.extras.nearest.is_none() && report.extras.maybe.is_none());
}

#[test]
fn of_designs_of_equal_price_the_one_with_fewer_nodes_is_best() {
    let (_folder, trace) = traced(&load([1.0; 100]));
    // Three times the lower price is below the higher one by the last digit of a month.
    for (third, whole) in [(0.35, 1.05), (0.7, 2.1), (0.83, 2.49)] {
        let small = priced(&machine("small", 1, 2.0, "16GiB", VOLUME, "10Gb"), third);
        let text = small + &priced(&machine("traced", 4, 2.0, "16GiB", VOLUME, "10Gb"), whole);
        let report = answer(&survey(vec![trace.clone()], &text, &[1, 3]));
        assert_eq!(design(&report, "1 x small").keeps_up, Some(false));
        assert_eq!(verdict(&report), Some(("1 x traced", ServiceVerdictBy::Price)));
    }
}

#[test]
fn the_headroom_decides_at_its_limit() {
    let (_folder, trace) = traced(&load([1.4; 100]));
    let of = |headroom: f64| {
        let report =
            answer(&ServiceSurvey { headroom, ..survey(vec![trace.clone()], &space(), &[1]) });
        let found = design(&report, "1 x half");
        (found.keeps_up, found.samples_over_headroom.cpu, found.samples_over_capacity.cpu)
    };
    assert_eq!(of(0.3), (Some(true), Some(0), Some(0)));
    assert_eq!(of(0.31), (Some(false), Some(100), Some(0)));
    assert_eq!(of(0.0), (Some(true), Some(0), Some(0)));
}

#[test]
fn peaks_of_one_per_cent_of_the_time_need_only_the_capacity() {
    let with_peak = |peak: f64| load((0..100).map(move |n| if n == 7 { peak } else { 1.0 }));
    let found = |peak: f64| {
        let (_folder, trace) = traced(&with_peak(peak));
        let report = answer(&survey(vec![trace], &space(), &[1]));
        let half = design(&report, "1 x half");
        near(half.used.cpu.unwrap(), 0.5);
        near(half.peak.cpu.unwrap(), peak / 2.0);
        (half.keeps_up, half.samples_over_headroom.cpu, half.samples_over_capacity.cpu)
    };
    assert_eq!(found(2.0), (Some(true), Some(1), Some(0)));
    assert_eq!(found(2.4), (Some(false), Some(1), Some(1)));
}

#[test]
fn full_cores_hide_demand_so_that_only_small_machines_are_judged() {
    let (_folder, trace) = traced(&load((0..100).map(|nth| if nth < 50 { 4.0 } else { 1.0 })));
    let text = space() + &priced(&machine("huge", 64, 4.0, "16GiB", VOLUME, "10Gb"), 9.0);
    let report = answer(&survey(vec![trace], &text, &[1]));
    let huge = design(&report, "1 x huge");
    near(huge.used.cpu.unwrap(), 4.0 * 2.0 / (64.0 * 4.0));
    assert_eq!(huge.range["cpu"], [huge.used.cpu, None]);
    assert_eq!((huge.keeps_up, huge.short_of.as_slice()), (None, ["cpu"].as_slice()));
    // More of its memory is used, but that keeps up for sure.
    assert_eq!(huge.limited_by, "cpu");
    assert_eq!(design(&report, "1 x slow").keeps_up, Some(false));
    assert_eq!(verdict(&report), None);
    let maybe = report.extras.maybe.as_ref().unwrap();
    assert_eq!((maybe.design.id.as_str(), maybe.resource), ("1 x huge", "cpu"));
    assert!(warned(&report, "all cores were busy in 50.00 % of the time"));
}

#[test]
fn a_full_sample_of_many_leaves_the_percentile_known() {
    let (_folder, trace) = traced(&load((0..200).map(|nth| if nth == 9 { 4.0 } else { 1.0 })));
    let report = answer(&survey(vec![trace], &space(), &[1, 2]));
    assert_eq!(design(&report, "1 x traced").keeps_up, Some(true));
    assert_eq!(design(&report, "1 x half").keeps_up, Some(false));
    assert!(warned(&report, "all cores were busy in 0.50 % of the time"));
}

#[test]
fn an_unknown_speed_is_a_range_of_half_to_twice() {
    let (_folder, trace) = traced(&load([1.0; 50]));
    let text = [
        priced(&machine("four", 4, 1.0, "16GiB", VOLUME, "10Gb"), 0.4),
        priced(&machine("two", 2, 1.0, "16GiB", VOLUME, "10Gb"), 0.2),
    ]
    .concat();
    let report = answer(&ServiceSurvey {
        catalogue: without_reference(&text),
        ..survey(vec![trace], &text, &[1])
    });
    let four = design(&report, "1 x four");
    near(four.used.cpu.unwrap(), 0.25);
    near(four.range["cpu"][0].unwrap(), 0.125);
    near(four.range["cpu"][1].unwrap(), 0.5);
    near(four.load_factor["cpu"], 0.7 / 0.25);
    let [least, most] = four.load_factor_range["cpu"].map(Option::unwrap);
    near(least, 0.7 / 0.5);
    near(most, 0.7 / 0.125);
    assert_eq!(design(&report, "1 x two").keeps_up, None);
    assert_eq!(verdict(&report), Some(("1 x four", ServiceVerdictBy::Price)));
    assert_eq!(report.extras.maybe.as_ref().unwrap().design.id, "1 x two");
    assert!(report.extras.reference.is_assumed);
    assert!(warned(&report, "speed of the recorded machine is unknown"));
}

#[test]
fn threads_that_share_a_core_are_read_by_the_speed_of_that_many() {
    // Two cores of two threads: a lone thread has 1.5 of the speed while all are busy, so that two
    // busy ones do 3 of 4.
    let shared = |id: &str, cores: u32| {
        let text = machine(id, cores, 2.0, "16GiB", VOLUME, "10Gb");
        format!("{text}threads_per_core = 2\ncore_speed_single = 3.0\n")
    };
    let (_folder, trace) = traced(&load([2.0; 50]));
    let report = answer(&survey(vec![trace], &(shared("traced", 4) + &shared("half", 2)), &[1]));
    near(design(&report, "1 x traced").used.cpu.unwrap(), 0.5);
    // 3 of the 2 that two threads of one core do.
    near(design(&report, "1 x half").used.cpu.unwrap(), 1.5);
    assert_eq!(verdict(&report), Some(("1 x traced", ServiceVerdictBy::Cores)));
    // 70 % of four threads, 2.8, do 3.4 of 4; 70 % of two, 1.4, do 1.7 of 2.
    near(design(&report, "1 x traced").load_factor["cpu"], 3.4 / 3.0);
    near(design(&report, "1 x half").load_factor["cpu"], 1.7 / 3.0);
}

#[test]
fn the_load_times_its_factor_is_the_most_that_keeps_up() {
    let (_folder, trace) = traced(&load((0..200).map(|nth| if nth == 9 { 2.5 } else { 1.0 })));
    let report = answer(&survey(vec![trace], &space(), &[1]));
    let traced = design(&report, "1 x traced");
    // The peak, 2.5 of 4 cores, reaches the capacity before the others have too little headroom.
    near(traced.load_factor["cpu"], 4.0 / 2.5);
    near(design(&report, "1 x half").load_factor["cpu"], 2.0 / 2.5);
    assert!(traced.load_factor_range.is_empty());
    assert!(traced.used.memory.is_some() && !traced.load_factor.contains_key("memory"));
}

#[test]
fn stolen_and_throttled_time_is_demand() {
    let stolen = |nth| Sample { steal: Ns::SECOND, ..second(nth, 1.0) };
    let (_folder, trace) = traced(&(0..50).map(stolen).collect::<Vec<_>>());
    let report = answer(&survey(vec![trace], &space(), &[1]));
    near(design(&report, "1 x traced").used.cpu.unwrap(), 0.5);
    near(report.extras.load.cpu_cores.p99, 2.0);
    assert!(warned(&report, "50 % of the demand for cores was not served"));
}

fn with_memory(folder: &Path, anonymous: u64, cache: u64, columns: &[&str]) -> String {
    let sample = |nth| Sample {
        memory: Bytes(anonymous),
        anonymous: Bytes(anonymous),
        cache: Bytes(cache),
        ..second(nth, 0.5)
    };
    let samples: Vec<Sample> = (0..50).map(sample).collect();
    let mut all = Columns::all(ColumnKind::Measured, "made up");
    all.set(columns, ColumnKind::Missing, "not counted");
    let machine = MachineInfo { cores: 4, memory: Bytes(16 << 30), ..MachineInfo::default() };
    MadeTrace { columns: all, machine, samples: &samples, ..MadeTrace::default() }
        .write(&folder.join("a"))
}

#[test]
fn each_of_more_nodes_needs_the_memory_of_the_recorded_one() {
    let folder = tempfile::tempdir().unwrap();
    let trace = with_memory(folder.path(), 6 << 30, 0, &[]);
    let report = answer(&survey(vec![trace], &space(), &[1, 4]));
    near(design(&report, "1 x traced").used.memory.unwrap(), 6.0 / 16.0);
    for id in ["1 x half", "4 x half"] {
        near(design(&report, id).used.memory.unwrap(), 0.75);
        assert_eq!(design(&report, id).keeps_up, Some(false));
        assert_eq!(design(&report, id).short_of, ["memory"]);
    }
}

#[test]
fn a_page_cache_that_no_longer_fits_is_a_doubt_about_storage() {
    let folder = tempfile::tempdir().unwrap();
    let trace = with_memory(folder.path(), 2 << 30, 12 << 30, &[]);
    let slow = priced(&machine("small", 4, 2.0, "4GiB", ("1MB", "1ms"), "10Gb"), 0.1);
    let quick = priced(&machine("quick", 4, 2.0, "4GiB", ("1GB", "0.1ms"), "10Gb"), 0.3);
    let report = answer(&survey(vec![trace], &(space() + &slow + &quick), &[1]));
    let small = design(&report, "1 x small");
    assert_eq!((small.keeps_up, small.short_of.as_slice()), (None, ["disk"].as_slice()));
    near(small.used.disk.unwrap(), 0.0);
    // 10 GiB in five minutes at 1 MB/s.
    near(small.range["disk"][1].unwrap(), f64::from(10 << 10) * 1.048_576 / 300.0);
    assert_eq!(design(&report, "1 x quick").keeps_up, Some(true));
    assert!(!design(&report, "1 x traced").range.contains_key("disk"));
}

#[test]
fn a_record_without_memory_judges_only_machines_of_as_much() {
    let folder = tempfile::tempdir().unwrap();
    let without = ["memory_bytes", "anonymous_bytes", "cache_bytes", "command_anonymous_bytes"];
    let trace = with_memory(folder.path(), 0, 0, &without);
    let report = answer(&survey(vec![trace], &space(), &[1]));
    assert_eq!(design(&report, "1 x traced").used.memory, None);
    assert_eq!(design(&report, "1 x slow").keeps_up, Some(true));
    assert_eq!(design(&report, "1 x half").keeps_up, None);
    assert!(warned(&report, "the record has no memory"));
}

#[test]
fn storage_has_the_longest_of_its_limits() {
    let disk = |nth: u64| DiskSample {
        device: 8 << 20,
        reads: 200,
        read_bytes: Bytes(20_000_000),
        writes: 100,
        write_bytes: Bytes(10_000_000),
        busy: Ns::SECOND / 10 * (nth % 2),
        ..DiskSample::default()
    };
    let samples: Vec<Sample> =
        (0..50).map(|nth| Sample { disks: vec![disk(nth)], ..second(nth, 0.5) }).collect();
    let (_folder, trace) = traced(&samples);
    let limited = |id: &str, limits: &str| {
        format!(
            "[[machines]]\nid = \"{id}\"\ncores = 4\ncore_speed = 2.0\nmemory = \"16GiB\"\n\
             storage = {{ bandwidth = \"100MB\"{limits} }}\nnetwork = \"10Gb\"\n"
        )
    };
    let text = [
        limited("traced", ""),
        limited("writes", ", write_bandwidth = \"20MB\""),
        limited("iops", ", iops = 400, write_iops = 200"),
        limited("latency", ", latency = \"32ms\""),
    ]
    .concat();
    let report = answer(&survey(vec![trace], &text, &[1, 2]));
    for (id, used) in [
        ("1 x traced", 0.3),
        ("2 x traced", 0.15),
        ("1 x writes", 0.2 + 0.5),
        ("1 x iops", 0.5 + 0.5),
        ("2 x iops", 0.5),
        // 300 requests of 32 ms, with 32 outstanding.
        ("1 x latency", 0.3),
    ] {
        near(design(&report, id).used.disk.unwrap(), used);
    }
    assert_eq!(design(&report, "1 x iops").keeps_up, Some(false));
    assert_eq!(design(&report, "1 x iops").limited_by, "disk");
}

#[test]
fn a_volume_has_its_burst_for_half_an_hour_a_day() {
    // Ten minutes a sample, at twice the sustained bandwidth.
    let sample = |nth: u64| {
        let span = Ns::SECOND * 600;
        let disk = DiskSample {
            device: 8 << 20,
            writes: 100,
            write_bytes: Bytes(200_000_000 * 600),
            ..DiskSample::default()
        };
        let start = span * nth;
        Sample { start, span, disks: vec![disk], ..second(nth, 0.5) }
    };
    let text = "[[machines]]\nid = \"traced\"\ncores = 4\ncore_speed = 2.0\nmemory = \"16GiB\"\n\
                storage = { bandwidth = \"100MB\", burst = \"400MB\" }\nnetwork = \"10Gb\"\n";
    let uses = |samples: u64| {
        let (_folder, trace) = traced(&(0..samples).map(sample).collect::<Vec<_>>());
        let report = answer(&survey(vec![trace], text, &[1]));
        let found = design(&report, "1 x traced").clone();
        (found.peak.disk.unwrap(), found.samples_over_capacity.disk.unwrap())
    };
    assert_eq!(uses(3), (0.5, 0));
    assert_eq!(uses(5), (2.0, 2));
}

#[test]
fn the_busier_direction_of_the_network_counts() {
    let sample = |nth| Sample {
        rx_bytes: Bytes(20_000_000),
        tx_bytes: Bytes(50_000_000),
        ..second(nth, 0.5)
    };
    let samples: Vec<Sample> = (0..50).map(sample).collect();
    let (_folder, trace) = traced(&samples);
    let text = space() + &machine("link", 4, 2.0, "16GiB", VOLUME, "400Mb");
    let report = answer(&survey(vec![trace], &text, &[1, 2]));
    near(design(&report, "1 x link").used.network.unwrap(), 1.0);
    near(design(&report, "2 x link").used.network.unwrap(), 0.5);
    assert_eq!(design(&report, "1 x link").keeps_up, Some(false));
}

#[test]
fn a_full_link_hides_demand() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |nth| Sample { tx_bytes: Bytes(125_000_000), ..second(nth, 0.5) };
    let samples: Vec<Sample> = (0..50).map(sample).collect();
    let interfaces =
        vec![InterfaceInfo { name: "eth0".into(), megabits: Some(1000), counted: true }];
    let mut of = made(&samples, &[]);
    of.machine.interfaces = interfaces;
    let trace = of.write(&folder.path().join("a"));
    let report = answer(&survey(vec![trace], &space(), &[1]));
    let found = design(&report, "1 x traced");
    assert_eq!((found.keeps_up, found.range["network"][1]), (None, None));
    // Nothing says how much of it is hidden.
    assert_eq!(found.load_factor_range["network"][0], None);
    assert!(warned(&report, "the link was at its rate"));
}

#[test]
fn what_the_record_does_not_have_is_unknown_and_not_zero() {
    let folder = tempfile::tempdir().unwrap();
    let samples = load([1.0; 20]);
    let of_network = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
    let mut of = made(&samples, &of_network);
    for column in &mut of.columns.disks {
        column.kind = ColumnKind::Missing;
    }
    let trace = of.write(&folder.path().join("a"));
    let report = answer(&survey(vec![trace], &space(), &[1]));
    let found = design(&report, "1 x traced");
    assert_eq!((found.used.disk, found.used.network), (None, None));
    assert_eq!(found.load_factor.keys().copied().collect::<Vec<_>>(), ["cpu"]);
    assert_eq!(found.keeps_up, Some(true));
    assert!(report.extras.load.disk.is_none() && report.extras.load.network.is_none());
    assert!(warned(&report, "the record has no disks: storage is not judged"));
    assert!(warned(&report, "the record has no network: the network is not judged"));
}

#[test]
fn recorded_nodes_are_added_and_their_memory_is_not_divided() {
    let folder = tempfile::tempdir().unwrap();
    let traces = ["a", "b"].map(|name| write(folder.path(), name, &load([1.5; 50]), true));
    let report = answer(&survey(traces.to_vec(), &space(), &[1, 2, 3]));
    near(design(&report, "1 x traced").used.cpu.unwrap(), 0.75);
    near(design(&report, "2 x traced").used.cpu.unwrap(), 0.375);
    // 2 GiB in each of two nodes.
    let memory = |id| design(&report, id).used.memory.unwrap();
    near(memory("1 x traced"), 0.25);
    near(memory("2 x traced"), 0.125);
    near(memory("3 x traced"), 0.125);
    assert!(design(&report, "2 x traced").is_reference);
    assert_eq!((report.nodes, report.extras.load.nodes), (2, 2));
}

#[test]
fn without_a_design_that_keeps_up_the_nearest_is_named() {
    let (_folder, trace) = traced(&load([3.0; 50]));
    let text = [
        machine("traced", 4, 2.0, "16GiB", VOLUME, "10Gb"),
        machine("half", 2, 2.0, "8GiB", VOLUME, "10Gb"),
    ]
    .concat();
    let report = answer(&survey(vec![trace], &text, &[1]));
    assert_eq!(verdict(&report), None);
    let nearest = report.extras.nearest.as_ref().unwrap();
    assert_eq!((nearest.design.id.as_str(), nearest.resource), ("1 x traced", "cpu"));
    near(nearest.used.unwrap(), 0.75);
    assert!(report.front.is_empty());
}

#[test]
fn without_prices_the_least_power_is_recommended() {
    let metered = |id: &str, idle: u32, active: u32| {
        let text = machine(id, 4, 2.0, "16GiB", VOLUME, "10Gb");
        format!("{text}idle = \"{idle}W\"\nactive = \"{active}W\"\n")
    };
    let (_folder, trace) = traced(&load([1.0; 50]));
    let text = metered("traced", 10, 50) + &metered("green", 5, 33);
    let report = answer(&survey(vec![trace], &text, &[1, 2]));
    assert_eq!(verdict(&report), Some(("1 x green", ServiceVerdictBy::Power)));
    near(design(&report, "1 x green").power_w.unwrap(), 5.0 + 28.0 / 4.0);
    near(design(&report, "2 x traced").power_w.unwrap(), 2.0 * (10.0 + 40.0 / 8.0));
}

#[test]
fn a_short_record_warns() {
    let (_folder, trace) = traced(&load([1.0; 90]));
    let report = answer(&survey(vec![trace], &space(), &[1]));
    assert!(warned(&report, "the record covers 90 s: it has none of the peaks of a day"));
    near(report.extras.load.span_s, 90.0);
}

#[test]
fn values_that_no_survey_can_have_are_refused() {
    let (_folder, trace) = traced(&load([1.0; 2]));
    let one = || survey(vec![trace.clone()], &space(), &[1]);
    let of = |catalogue| ServiceSurvey { catalogue, ..one() };
    let refused = [
        ServiceSurvey { headroom: 1.0, ..one() },
        ServiceSurvey { headroom: -0.1, ..one() },
        ServiceSurvey { headroom: f64::NAN, ..one() },
        ServiceSurvey { nodes: vec![], ..one() },
        ServiceSurvey { nodes: vec![0], ..one() },
        ServiceSurvey { traces: vec![], ..one() },
        of(MachineCatalogue { machines: vec![], ..catalogue(&space()) }),
        of(MachineCatalogue { reference: Some("nowhere".into()), ..catalogue(&space()) }),
        of(MachineCatalogue { reference_speed: Some(1.0), ..catalogue(&space()) }),
    ];
    for survey in refused {
        let found = run(&survey, &Progress::default());
        assert!(matches!(found, Err(ClusterError::Impossible { .. })), "{survey:?}");
    }
}

#[test]
fn gaps_of_one_of_several_nodes_make_a_range_to_peaks_that_coincide() {
    let folder = tempfile::tempdir().unwrap();
    let alternating =
        |first: usize| load((0..50).map(move |n| f64::from((n + first).is_multiple_of(2))));
    let traces = [("a", 0), ("b", 1)]
        .map(|(name, first)| write(folder.path(), name, &alternating(first), true));
    let report = answer(&survey(traces.to_vec(), &space(), &[1]));
    near(design(&report, "1 x traced").used.cpu.unwrap(), 0.25);
    assert!(!design(&report, "1 x traced").range.contains_key("cpu"));
    let path = Path::new(&traces[1]).join("manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let gap = serde_json::json!({"what": "samples for 60 s", "why": "the input has 1 gap"});
    manifest["unavailable"].as_array_mut().unwrap().push(gap);
    std::fs::write(&path, manifest.to_string()).unwrap();
    let report = answer(&survey(traces.to_vec(), &space(), &[1]));
    let found = design(&report, "1 x traced");
    near(found.used.cpu.unwrap(), 0.25);
    near(found.range["cpu"][1].unwrap(), 0.5);
    assert!(warned(&report, "50 samples of 50 s are used; the record lacks samples for 60 s"));
    assert!(warned(&report, "the ranges reach to peaks that coincide"));
}

#[test]
fn samples_of_a_fast_part_are_between_sequential_and_random() {
    let disk = DiskSample {
        device: 8 << 20,
        reads: 60,
        read_bytes: Bytes(60 * 4096),
        ..DiskSample::default()
    };
    let samples: Vec<Sample> =
        (0..20).map(|nth| Sample { disks: vec![disk], ..second(nth, 0.5) }).collect();
    let (_folder, trace) = traced(&samples);
    let part = |id: &str| {
        format!(
            "[[machines]]\nid = \"{id}\"\ncores = 4\ncore_speed = 2.0\nmemory = \"16GiB\"\n\
             storage = \"sata-7200-1tb\"\nnetwork = \"10Gb\"\n"
        )
    };
    let text = space() + &part("disk");
    let report = answer(&survey(vec![trace], &text, &[1, 2]));
    let found = design(&report, "1 x disk");
    let [low, high] = found.range["disk"].map(Option::unwrap);
    // A drive of 7200 revolutions does some 100 to 200 random reads a second with a queue.
    assert!(high > 0.3 && high < 0.8 && low < 0.1 * high, "{low} {high}");
    near(found.used.disk.unwrap(), (low * high).sqrt());
    near(design(&report, "2 x disk").range["disk"][1].unwrap(), high / 2.0);
}

/// Runs are months, which follow one another.
fn operation() -> Operation {
    Operation {
        years: 5.0,
        hours_per_year: 4383.0,
        runs_per_day: None,
        price_per_kwh: 0.2,
        pue: 1.5,
        grams_per_kwh: 500.0,
    }
}

/// Machines that are bought: one of a high price, and one of a high power.
fn owned() -> String {
    let bought = |id: &str, price: f64, active: u32| {
        machine(id, 4, 2.0, "16GiB", VOLUME, "10Gb")
            + &format!(
                "price_per_hour = {}\npurchase_price = {price:.1}\nidle = \"10W\"\n\
                 active = \"{active}W\"\nembodied_kg = 100.0\n",
                price / 20_000.0
            )
    };
    bought("traced", 1000.0, 50) + &bought("hungry", 800.0, 450)
}

fn surveyed(objectives: &[Objective], limits: Goals) -> Report {
    let (_folder, trace) = traced(&load([1.0; 100]));
    let mut survey = survey(vec![trace], &owned(), &[1]);
    survey.catalogue.operation = Some(operation());
    survey.goals = Goals { objectives: objectives.to_vec(), ..limits };
    answer(&survey)
}

#[test]
fn a_month_has_its_share_of_the_purchase_and_its_electricity() {
    let report = surveyed(&[Objective::Tco], Goals::default());
    let bill = design(&report, "1 x traced").bill.unwrap().bill;
    let months = 365.25 * 24.0 / 730.0;
    near(bill.runs_per_year.unwrap(), months);
    near(bill.busy.unwrap(), 1.0);
    near(bill.purchase.unwrap(), 1000.0 / 5.0 / months);
    // Also by itself, and not 730 hours of the price of an hour of work.
    near(design(&report, "1 x traced").hardware.price_per_month.unwrap(), 1000.0 / 5.0 / months);
    // A quarter of the cores is busy: 20 W, for 730 hours.
    near(bill.electricity.unwrap(), 0.020 * 730.0 * 1.5 * 0.2);
    near(bill.total.unwrap(), 1000.0 / 5.0 / months + 4.38);
    near(bill.carbon_use_kg.unwrap(), 0.020 * 730.0 * 1.5 * 0.5);
    assert_eq!(report.extras.objectives, [Objective::Tco]);
}

#[test]
fn the_total_of_a_month_may_choose_another_machine_than_its_price() {
    let by = |objectives: &[Objective]| {
        let report = surveyed(objectives, Goals::default());
        verdict(&report).map(|(id, by)| (id.to_owned(), by))
    };
    assert_eq!(by(&[]), Some(("1 x hungry".into(), ServiceVerdictBy::Price)));
    assert_eq!(by(&[Objective::Tco]), Some(("1 x traced".into(), ServiceVerdictBy::Tco)));
    assert_eq!(by(&[Objective::Carbon]), Some(("1 x traced".into(), ServiceVerdictBy::Carbon)));
    assert_eq!(by(&[Objective::Energy]), Some(("1 x traced".into(), ServiceVerdictBy::Power)));
    let named = surveyed(&[Objective::Tco], Goals::default()).named;
    assert!(
        named.iter().any(|(name, id)| *name == "least-tco" && id.as_deref() == Some("1 x traced"))
    );
}

#[test]
fn limits_leave_out_designs_of_a_service() {
    let limits = Goals { max_power_w: Some(100.0), ..Goals::default() };
    assert_eq!(verdict(&surveyed(&[], limits)).unwrap().0, "1 x traced");
    let none = Goals { max_price: Some(1.0), ..Goals::default() };
    assert_eq!(verdict(&surveyed(&[], none)), None);
}

#[test]
fn a_service_has_neither_a_time_nor_a_deadline() {
    let (_folder, trace) = traced(&load([1.0; 100]));
    for goals in [
        Goals { objectives: vec![Objective::Time], ..Goals::default() },
        Goals { deadline_s: Some(1.0), ..Goals::default() },
    ] {
        let survey = ServiceSurvey { goals, ..survey(vec![trace.clone()], &owned(), &[1]) };
        let error = run(&survey, &Progress::default()).unwrap_err();
        assert!(matches!(error, ClusterError::Impossible { .. }), "{error}");
    }
}
