//! Surveys of machines whose storage was measured, on traces with known answers.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::machines::{
    SPACE, answer, catalogue, job, made, named, near, reading, refusal, second, survey_of, traced,
    write,
};
use gordon_blockio::IoOp;
use gordon_cluster::ClusterError;
use gordon_cluster::model::job::JobSurvey;
use gordon_cluster::space::catalogue::MachineCatalogue;
use gordon_cluster::space::machine::{MachineStorage, StorageTable};
use gordon_cluster::space::measured::{
    AccessPattern, MeasuredStorage, MeasuredStorages, StoragePoint,
};
use gordon_cluster::survey::run;
use gordon_replay::characterise::{CharacteriseConfig, MeasuredPoint, characterise};
use gordon_trace::DiskSample;
use gordon_units::{Bytes, DataRate, Ns, Progress};

/// A point at which a request takes this time of the device.
fn point(pattern: AccessPattern, size_bytes: u64, seconds_per_request: f64) -> StoragePoint {
    StoragePoint {
        pattern,
        size_bytes,
        queue_depth: 1,
        seconds_per_request,
        mean_latency_s: seconds_per_request,
    }
}

/// The survey of a trace on the machines of `SPACE`. The machine `storage` has the measured storage
/// `ssd.json`, together with `limits`.
fn measured_survey(trace: String, points: Vec<StoragePoint>, limits: &str) -> JobSurvey {
    let own = "storage = { bandwidth = \"1GB\", latency = \"0.1ms\" }";
    let text =
        SPACE.replacen(own, &format!("storage = {{ measured = \"d/ssd.json\"{limits} }}"), 1);
    let storage = MeasuredStorage::new("a test".into(), points);
    let measured = MeasuredStorages::from([("d/ssd.json".into(), storage)]);
    survey_of(vec![trace], MachineCatalogue { measured, ..catalogue(&text) })
}

/// Size of the requests of `reading`, which take 0.5 s on the traced volume of 100 MB/s.
const MEGABYTE: u64 = 1_000_000;

#[test]
fn measured_storage_has_the_time_of_its_requests_and_the_longest_of_its_limits() {
    let (_folder, trace) = traced(&[reading(0)]);
    // 20 ms a request, 50 requests: a second, twice the time of the traced volume.
    let points = vec![point(AccessPattern::SequentialRead, MEGABYTE, 20e-3)];
    let report = answer(&measured_survey(trace.clone(), points.clone(), ""));
    near(job(&report, "storage").time_s, 1.5);
    assert_eq!(named(&report, "storage").hardware.storage, "ssd.json");
    assert_eq!(named(&report, "storage").hardware.storage_part, None);
    assert_eq!(job(&report, "storage").energy_j, None);
    for (limits, expected, label) in [
        (", bandwidth = \"25MB\"", 2.5, "ssd.json, at most 25MB/s"),
        (", bandwidth = \"500MB\"", 1.5, "ssd.json, at most 500MB/s"),
        (", iops = 25.0", 2.5, "ssd.json"),
    ] {
        let report = answer(&measured_survey(trace.clone(), points.clone(), limits));
        near(job(&report, "storage").time_s, expected);
        assert_eq!(named(&report, "storage").hardware.storage, label);
    }
}

#[test]
fn the_traced_machine_may_have_measured_storage() {
    let (_folder, trace) = traced(&[reading(0)]);
    let points = vec![point(AccessPattern::SequentialRead, MEGABYTE, 10e-3)];
    let mut config = measured_survey(trace, points, "");
    config.catalogue.reference = Some("storage".into());
    let report = answer(&config);
    near(job(&report, "storage").time_s, 1.0);
    // The volume of `traced` also takes 0.5 s, at 100 MB/s.
    near(job(&report, "traced").time_s, 1.0);
}

#[test]
fn the_latency_of_the_measured_storage_that_was_traced_has_the_depth_of_the_job() {
    let (_folder, trace) = traced(&[reading(0)]);
    // Alone, 50 reads would take 2 s; they took 0.5 s, so that 4 were outstanding.
    let alone = point(AccessPattern::SequentialRead, MEGABYTE, 40e-3);
    let four = StoragePoint { queue_depth: 4, seconds_per_request: 10e-3, ..alone };
    let more = StoragePoint { queue_depth: 32, seconds_per_request: 9e-3, ..alone };
    let mut config = measured_survey(trace, vec![more, alone, four], "");
    config.catalogue.reference = Some("storage".into());
    let slow = StorageTable {
        bandwidth: Some(DataRate(1e9).into()),
        latency: Some(Ns::from_secs(0.1).into()),
        ..StorageTable::default()
    };
    config.catalogue.machines[0].storage = MachineStorage(slow).into();
    let report = answer(&config);
    near(job(&report, "storage").time_s, 1.0);
    near(job(&report, "traced").time_s, 0.5 + 50.0 * 0.1 / 4.0);
}

#[test]
fn measured_storage_serves_requests_by_their_pattern_in_the_block_log() {
    let folder = tempfile::tempdir().unwrap();
    let sectors = 2000;
    let at = |nth: u64| Ns(nth * 1_000_000);
    let place = |nth: u64, step: u64| nth * step * u64::from(sectors);
    let points = vec![
        point(AccessPattern::SequentialRead, MEGABYTE, 10e-3),
        point(AccessPattern::RandomRead, MEGABYTE, 30e-3),
    ];
    // Of 50 sequential requests only the first is random.
    for (name, step, expected) in [("seq", 1, 0.5 + 49.0 * 10e-3 + 30e-3), ("random", 3, 2.0)] {
        let log: Vec<_> = (0..50)
            .map(|nth| common::io(at(nth), IoOp::Read, place(nth, step), sectors, Some(Ns(1))))
            .collect();
        let samples = [reading(0)];
        let mut trace = made(&samples, &[]);
        trace.requests = Some(&log);
        let trace = trace.write(&folder.path().join(name));
        let report = answer(&measured_survey(trace, points.clone(), ""));
        near(job(&report, "storage").time_s, expected);
        assert!(report.assumptions.iter().all(|a| a.value != "sequential"));
    }
}

/// The points of simulated storage with random reads, as `gordon storage characterise` has them.
fn random_reads(device: &serde_json::Value, size: u64, depths: &[u32]) -> Vec<StoragePoint> {
    let points = depths.iter().map(|depth| {
        serde_json::json!({
            "pattern": "random", "op": "read", "size": format!("{size}B"), "depth": depth,
        })
    });
    let config = serde_json::json!({
        "device": device, "points": points.collect::<Vec<_>>(), "bytes": "256MiB",
        "requests": 4000, "seed": 1,
    });
    let config: CharacteriseConfig = serde_json::from_value(config).unwrap();
    let report = characterise(&config, &Progress::default()).unwrap();
    let of = |point: &MeasuredPoint| StoragePoint {
        pattern: AccessPattern::RandomRead,
        size_bytes: point.size_bytes,
        queue_depth: point.queue_depth,
        seconds_per_request: 1.0 / point.iops,
        mean_latency_s: point.latency_us.mean.unwrap() / 1e6,
    };
    report.points.iter().map(of).collect()
}

/// 1000 random reads have a standard error of 1 % on the disk, whose times vary by a third. Depth 4
/// is measured, and 6 interpolated between it and 8.
#[test]
fn random_reads_of_a_block_log_take_as_long_as_their_replay() {
    const READS: u64 = 1000;
    let parts = common::parts(1.0);
    let disk = serde_json::json!({"disk": {"device": {"config": parts.disk["sata-7200-1tb"]}}});
    let flash = serde_json::json!({"flash": {"device": parts.flash["gordon-slc-256g"]}});
    for (part, device, sectors) in
        [("sata-7200-1tb", disk, 1_900_000_000), ("gordon-slc-256g", flash, 400_000_000)]
    {
        let size = 16_384;
        let points = random_reads(&device, size, &[1, 4, 8, 32]);
        for depth in [4, 6] {
            let folder = tempfile::tempdir().unwrap();
            let mut random = 1u64;
            let log: Vec<_> = (0..READS)
                .map(|nth| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let sector = (random >> 20) % (sectors / 32) * 32;
                    let latency = Ns(depth * 1_000_000);
                    common::io(Ns(nth * 1_000_000), IoOp::Read, sector, 32, Some(latency))
                })
                .collect();
            let mut sample = second(0, 0.1);
            sample.iowait = Ns::from_secs(0.9);
            sample.disks = vec![DiskSample {
                device: 8 << 20,
                reads: READS,
                read_bytes: Bytes(READS * size),
                busy: Ns::SECOND,
                ..DiskSample::default()
            }];
            let samples = [sample];
            let mut trace = made(&samples, &[]);
            trace.requests = Some(&log);
            let trace = trace.write(&folder.path().join("a"));
            let mut config = measured_survey(trace, points.clone(), "");
            let simulated = StorageTable { part: Some(part.into()), ..StorageTable::default() };
            config.catalogue.machines[0].storage = MachineStorage(simulated).into();
            let report = answer(&config);
            let of = |id| job(&report, id).time_s - 0.1;
            let ratio = of("storage") / of("traced");
            assert!((ratio - 1.0).abs() < 0.05, "{part}, depth {depth}: {ratio}");
        }
    }
}

#[test]
fn what_was_not_measured_is_assumed_or_refused() {
    let (folder, trace) = traced(&[reading(0)]);
    let assumed = |points| {
        let report = answer(&measured_survey(trace.clone(), points, ""));
        near(job(&report, "storage").time_s, 1.5);
        let list = report.assumptions.iter().filter(|a| a.key.starts_with("storage.measured"));
        list.map(|a| a.value.clone()).collect::<Vec<_>>()
    };
    let random = point(AccessPattern::RandomRead, MEGABYTE, 20e-3);
    let sequential = point(AccessPattern::SequentialRead, MEGABYTE, 20e-3);
    let written = point(AccessPattern::RandomWrite, MEGABYTE, 1.0);
    assert_eq!(assumed(vec![random]), ["sequential", "no sequential reads", "no writes"]);
    assert_eq!(assumed(vec![sequential]), ["sequential", "no random reads", "no writes"]);
    assert_eq!(assumed(vec![random, sequential, written]), ["sequential"]);
    let mut writing = reading(0);
    writing.disks[0].writes = 1;
    let writing = write(folder.path(), "b", &[writing], true);
    match run(&measured_survey(writing, vec![random, sequential], ""), &Progress::default()) {
        Err(error @ ClusterError::NotMeasured { op: "writes", .. }) => {
            assert!(error.to_string().contains("--write"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    match run(&measured_survey(trace, vec![written], ""), &Progress::default()) {
        Err(ClusterError::NotMeasured { op: "reads", .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn measured_points_with_invalid_values_are_refused() {
    let (_folder, trace) = traced(&[reading(0)]);
    let good = point(AccessPattern::SequentialRead, MEGABYTE, 20e-3);
    for points in
        [vec![], vec![good, good], vec![StoragePoint { seconds_per_request: -1.0, ..good }]]
    {
        let refused = refusal(&measured_survey(trace.clone(), points, ""));
        assert!(refused.contains("d/ssd.json"), "{refused}");
    }
}
