//! A simulated disk as the backend.

use super::super::simulated::Simulated;
use super::*;
use gordon_config::from_json;
use gordon_replay::disk::{DiskDevice, DiskRunConfig};
use serde_json::json;

fn disk() -> DiskDevice {
    let text = include_str!("../../../../../python/gordon/parts/disk/sata-7200-1tb.toml");
    DiskDevice::Config(Box::new(from_toml(text, "sata-7200-1tb.toml").unwrap()))
}

/// 400 pages spread over 200 GB, 100 ms apart.
fn apart() -> Vec<(u64, u64, bool)> {
    (0..400_u64).map(|i| (i * 100_000, i * 7_919_933 % 50_000_000, true)).collect()
}

#[test]
fn a_miss_has_the_latency_of_the_disk() {
    let (_folder, mut config) = config(&apart(), MIB, 0);
    config.backend = BackendKind::Simulated(Box::new(disk()));
    let report = run(&config, &Progress::default()).unwrap();
    let alone: DiskRunConfig = from_json(
        &json!({"device": disk(), "load": {"trace": {"path": config.trace.path, "format": "mqsim"}}})
            .to_string(),
        "run",
    )
    .unwrap();
    let alone = gordon_replay::disk::run(&alone, &Progress::default()).unwrap().report;
    let alone = serde_json::to_value(&alone).unwrap();
    let number = |path: &str| alone.pointer(path).unwrap().as_f64().unwrap();
    assert_eq!((report.hit_report.misses, report.backend.reads), (400, 400));
    // Requests reach the disk 350 ns later, so some just miss their sector, and others do not.
    let mean = number("/response_ms/mean") * 1e3;
    let mean_latency = report.levels.backend.latency_us.mean.unwrap();
    assert!(
        (mean_latency / mean - 1.0).abs() < 0.02 && mean_latency > 8_000.0,
        "{mean_latency} us, alone {mean}"
    );
    let head = report.backend.head.unwrap();
    assert!((head.mechanism_s.seek - number("/mechanism_s/seek")).abs() < 1e-9, "{head:?}");
    assert!((report.backend.busy_s - 400.0 * mean_latency / 1e6).abs() < 1e-3);
    assert_eq!(head.places, "where the trace has them");
    let energy = number("/energy_j") / number("/simulated_s") * report.simulated_s;
    assert!((head.energy_j.unwrap() / energy - 1.0).abs() < 0.02, "{head:?}, alone {energy}");
}

#[test]
fn written_data_are_on_the_medium_at_the_end() {
    let lines: Vec<_> = apart().into_iter().map(|(at, page, _)| (at / 1000, page, false)).collect();
    let (_folder, mut config) = config(&lines, MIB, 0);
    config.backend = BackendKind::Simulated(Box::new(disk()));
    let report = run(&config, &Progress::default()).unwrap();
    assert_eq!((report.backend.writes, report.backend.reads), (400, 0));
    let spent = report.backend.head.unwrap().mechanism_s;
    // The disk needs a hundred times the arrival interval, and a seek for each page.
    assert!(report.simulated_s > 1.0 && spent.seek > 0.4, "{spent:?}");
    let sum = spent.seek + spent.rotation + spent.transfer + spent.idle;
    assert!((sum - report.simulated_s).abs() < 1e-6, "{spent:?}");
}

#[test]
fn objects_are_placed_in_the_order_of_first_access() {
    let mut disk = Simulated::new(&disk(), "object").unwrap();
    assert_eq!(disk.place(77, Bytes(100)), Bytes(0));
    assert_eq!(disk.place(u64::MAX, Bytes(9000)), Bytes(4096));
    assert_eq!(disk.place(5, Bytes(4096)), Bytes(4096 + 12_288));
    // The same key again, up to its reserved size; a larger object is placed again.
    assert_eq!(disk.place(77, Bytes(4096)), Bytes(0));
    assert_eq!(disk.place(77, Bytes(4097)), Bytes(2 * 4096 + 12_288));
    disk.check().unwrap();
    disk.place(6, Bytes(2 << 40));
    assert!(disk.check().unwrap_err().to_string().contains("objects take"));
}

#[test]
fn sequential_reads_are_faster_than_random_reads() {
    let mut below = Simulated::new(&disk(), "object").unwrap();
    let mut now = Ns::ZERO;
    for key in 0..256 {
        let place = below.place(key, Bytes(4096));
        now = below.carry_out(now, false, place, Bytes(4096));
    }
    let random_read = below.mean_random_read(Bytes(4096));
    assert!(random_read > Ns(8_000_000) && now < random_read * 10, "{now}, anywhere {random_read}");
}

#[test]
fn accesses_beyond_the_capacity_are_refused() {
    let (_folder, mut config) = config(&[(0, 1 << 40, true)], MIB, 0);
    config.backend = BackendKind::Simulated(Box::new(disk()));
    let error = run(&config, &Progress::default()).unwrap_err().to_string();
    assert!(error.contains("the trace asks for byte") && error.contains("\n  try: a larger disk"));
}
