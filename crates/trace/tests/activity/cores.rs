//! Cores that come, go or are not listed, in the forms of sadf.

use crate::conversion::Conversion;
use crate::sadf::{document, host};
use gordon_trace::activity::{ActivityError, ActivityFormat, ActivityOptions};
use gordon_units::Ns;

/// A sample of 10 s with rows of cores: name, busy and idle per cent.
fn sample(time: &str, rows: &[(&str, f64, f64)]) -> String {
    let row = |(cpu, busy, idle): &(&str, f64, f64)| {
        format!(
            r#"{{"cpu": "{cpu}", "user": {busy:.2}, "system": 0.00, "iowait": 0.00, "idle": {idle:.2}}}"#
        )
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    format!(
        r#"{{"timestamp": {{"date": "2026-11-26", "time": "{time}", "utc": 1, "interval": 10}},
        "cpu-load": [{}]}}"#,
        rows.join(",")
    )
}

fn machine(cores: u32, samples: &[String], restarts: &str) -> String {
    document(&[host("n1", &format!("\"number-of-cpus\": {cores},"), samples, restarts)])
}

fn boot(time: &str, cores: u32) -> String {
    format!(r#"{{"boot": {{"date": "2026-11-26", "time": "{time}", "cpu_count": {cores}}}}}"#)
}

fn seconds(made: &Conversion) -> Vec<u64> {
    made.samples().iter().map(|sample| sample.cpu().as_secs().round() as u64).collect()
}

#[test]
fn cores_without_a_row_are_offline_if_the_row_of_all_is_the_mean_of_the_others() {
    let rows = [("all", 75.0, 25.0), ("0", 100.0, 0.0), ("1", 50.0, 50.0)];
    let made = Conversion::sysstat(&machine(8, &[sample("10:00:10", &rows)], ""));
    assert_eq!(seconds(&made), [15]);
    assert!(made.warns("cores: 6 of 8 have no row in 1 samples and were offline"));
    // Rows of zeros are those of cores that are offline.
    let mut rows = rows.to_vec();
    let zeros = ["2", "3", "4", "5", "6", "7"];
    rows.extend(zeros.map(|core| (core, 0.0, 0.0)));
    let made = Conversion::sysstat(&machine(8, &[sample("10:00:10", &rows)], ""));
    assert_eq!(seconds(&made), [15]);
}

#[test]
fn cores_that_were_not_listed_have_what_the_row_of_all_leaves() {
    // 8 cores at 25 % are 20 s, and the listed ones have 15 s of them.
    let rows = [("all", 25.0, 75.0), ("0", 100.0, 0.0), ("1", 50.0, 50.0)];
    let made = Conversion::sysstat(&machine(8, &[sample("10:00:10", &rows)], ""));
    assert_eq!(seconds(&made), [20]);
    assert_eq!(made.samples()[0].cpu_per_core[0], Ns(10 * Ns::SECOND.0));
    assert!(made.warns("cores: 6 of 8 have no row in 1 samples; the row of all"));
}

#[test]
fn without_a_row_of_all_the_other_cores_are_unknown() {
    let rows = [("0", 100.0, 0.0), ("1", 50.0, 50.0)];
    let made = Conversion::sysstat(&machine(8, &[sample("10:00:10", &rows)], ""));
    assert_eq!(seconds(&made), [15]);
    let warnings = &made.report().warnings;
    assert!(warnings.iter().any(|w| w.contains("unknown") && w.contains("-P ALL")), "{warnings:?}");
}

#[test]
fn a_resized_machine_has_the_cores_of_each_time() {
    let samples = [("10:00:10", 100.0), ("10:00:20", 100.0), ("10:10:10", 50.0)];
    let samples = samples.map(|(time, busy)| sample(time, &[("all", busy, 100.0 - busy)]));
    let text = machine(4, &samples, &boot("10:05:00", 8));
    for cores in [None, Some(8)] {
        let options = ActivityOptions { cores, ..ActivityOptions::default() };
        let made = Conversion::of(&[&text], ActivityFormat::Sysstat, options);
        assert_eq!(seconds(&made), [40, 40, 40], "{cores:?}");
        assert_eq!(made.report().hosts[0].cores, 8);
        assert!(made.warns("cores: the machine had 4 and 8"), "{cores:?}");
    }
    // A machine that became smaller.
    let text = machine(8, &samples, &boot("10:05:00", 4));
    assert_eq!(seconds(&Conversion::sysstat(&text)), [80, 80, 20]);
}

#[test]
fn a_core_that_was_added_counts_and_too_few_cores_are_an_error() {
    let before = sample("10:00:10", &[("all", 100.0, 0.0), ("0", 100.0, 0.0)]);
    let after = sample("10:00:20", &[("all", 75.0, 25.0), ("0", 100.0, 0.0), ("1", 50.0, 50.0)]);
    let text = machine(1, &[before, after], "");
    let made = Conversion::sysstat(&text);
    assert_eq!(seconds(&made), [10, 15]);
    assert!(made.warns("cores: the input states 1 and lists a core 1"));
    let options = ActivityOptions { cores: Some(1), ..ActivityOptions::default() };
    let made = Conversion::of(&[&text], ActivityFormat::Sysstat, options);
    let ActivityError::Cores { why, .. } = made.error() else { panic!("{:?}", made.error()) };
    assert!(why.contains("a core 1") && why.contains("--cores gives 1"), "{why}");
}

#[test]
fn samples_of_zeros_everywhere_have_no_cpu_time() {
    let samples = [
        sample("10:00:10", &[("all", 50.0, 50.0)]),
        sample("10:00:20", &[("all", 0.0, 0.0), ("0", 0.0, 0.0)]),
    ];
    let made = Conversion::sysstat(&machine(2, &samples, ""));
    assert_eq!(seconds(&made), [10]);
    assert_eq!(made.report().hosts[0].left_out.without_cpu, 1);
}
