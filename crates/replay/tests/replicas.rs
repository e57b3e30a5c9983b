//! Replicas on flash, on disks and on sleeping disks: sums, limits, what is refused.
#![allow(clippy::unwrap_used, missing_docs)]

use gordon_config::{from_json, from_toml};
use gordon_replay::ReplayError;
use gordon_replay::replicas::{ReplicasConfig, ReplicasReport, run};
use gordon_units::Progress;
use serde_json::{Value, json};

const SLC: &str = include_str!("../../../python/gordon/parts/flash/gordon-slc-256g.toml");
const SATA: &str = include_str!("../../../python/gordon/parts/disk/sata-7200-1tb.toml");

/// The preset, reduced to 4 GiB raw, and the disk of the paper. 2 MiB are written every 10 s.
fn config() -> Value {
    let mut flash: Value = from_toml(SLC, "preset").unwrap();
    flash["geometry"]["blocks_per_plane"] = json!(256);
    flash["capacity"] = json!("3GiB");
    let disk: Value = from_toml(SATA, "preset").unwrap();
    let load =
        json!({"pattern": "sequential-write", "size": "2MiB", "requests": 1000, "every": "10s"});
    json!({
        "flash": flash, "disk": {"config": disk}, "load": {"bench": load}, "fit": "error",
        "replicas": 3, "buffer": "256MiB", "max_age": "10h", "spin_down": null,
        "link_bytes_per_s": 125e6, "rates": [1.0], "seed": 1,
    })
}

fn ran(config: &Value) -> Result<ReplicasReport, ReplayError> {
    let config: ReplicasConfig = from_json(&config.to_string(), "replicas").unwrap();
    run(&config, &Progress::default())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn energies_add_up_from_states_to_arrangements() {
    let report = ran(&config()).unwrap();
    let ids: Vec<_> = report.arrangements.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["flash", "disks", "sleeping"]);
    for one in &report.arrangements {
        let sum: f64 = one.devices.iter().map(|device| device.energy_j).sum();
        assert!(close(sum, one.energy_j) && close(one.mean_w * report.run_s, sum), "{}", one.id);
        let [working, copies] = &one.devices[..] else { panic!("{}", one.id) };
        assert_eq!((working.count, copies.count), (1, 2));
        for device in &one.devices {
            let parts: f64 = device.energy_by_part_j.values().sum();
            assert!(close(parts, device.energy_j), "{device:?}");
        }
    }
    let copies = &report.arrangements[2].devices[1];
    let (wakes, asleep) = (copies.wakes.unwrap(), copies.asleep.unwrap());
    // 2,000 MiB fill 256 MiB seven times; the rest is written at the end.
    assert_eq!((wakes, report.batches.count, report.batches.full), (8, 8, 7));
    assert_eq!(report.batches.bytes, 2000 << 20);
    // Two disks, 1 W in standby, 227 J for a wake-up.
    assert!(close(copies.energy_by_part_j["standby"], 2.0 * asleep * report.run_s), "{copies:?}");
    assert_eq!(copies.energy_by_part_j["waking"], 2.0 * 227.0 * 8.0);
    assert!(close(copies.rated_years.unwrap(), 50_000.0 / copies.wakes_per_year.unwrap()));
    let awake = &report.arrangements[1].devices[1];
    assert_eq!((awake.wakes, awake.asleep), (Some(0), Some(0.0)));
    assert!(awake.energy_j > 9.0 * 2.0 * report.run_s && awake.energy_j > 4.0 * copies.energy_j);
}

#[test]
fn the_break_even_time_is_that_of_a_hand_calculation() {
    // Standby of t and a wake-up: 1 W x t + 227 J. Idle in the same time: 9 W x (t + 13.5 s).
    let by_hand = (227.0 - 9.0 * 13.5) / (9.0 - 1.0);
    let report = ran(&config()).unwrap();
    assert!((report.break_even_s - by_hand).abs() < 1e-9, "{}", report.break_even_s);
    assert_eq!(report.spin_down_s, report.break_even_s);
    let mut given = config();
    given["spin_down"] = json!("1min");
    assert_eq!(ran(&given).unwrap().spin_down_s, 60.0);
}

#[test]
fn a_disk_sleeps_below_its_limit_and_not_above() {
    let mut given = config();
    let limits = ran(&given).unwrap().limits;
    let (asleep, keeps_up) =
        (limits.asleep_bytes_per_s.unwrap(), limits.keeps_up_bytes_per_s.unwrap());
    assert!(asleep < keeps_up);
    // 2 MiB in 10 s are the speed of 1.
    let speed = |rate: f64| rate / f64::from(2 << 20) * 10.0;
    given["rates"] = json!([0.9 * speed(asleep), 1.2 * speed(asleep), 4.0 * speed(keeps_up)]);
    let rates = ran(&given).unwrap().by_rate;
    assert!(rates[0].wakes > 1 && rates[0].late == 0, "{rates:?}");
    // The disk sleeps until the first batch, and perhaps before the last one.
    assert!(rates[1].wakes <= 2 && rates[1].late <= 1, "{rates:?}");
    assert!(rates[2].late > 0 && rates[2].exposed_bytes > 256 << 20, "{rates:?}");
}

#[test]
fn sleeping_pays_below_the_rate_that_is_found_between_the_given_ones() {
    // 32 MiB are written in 160 s at a speed of 1, and in 16 s, soon after the disk has fallen
    // asleep, at a speed of 10.
    let mut given = config();
    given["buffer"] = json!("32MiB");
    given["load"]["bench"]["requests"] = json!(300);
    given["rates"] = json!([10.0, 1.0, 1.0]);
    let report = ran(&given).unwrap();
    let pays: Vec<_> = report.by_rate.iter().map(|rate| (rate.speed, rate.pays)).collect();
    assert_eq!(pays, [(1.0, Some(true)), (10.0, Some(false))]);
    let speed = report.pays_below_bytes_per_s.unwrap() / report.write_bytes_per_s;
    assert!(speed > 1.0 && speed < 10.0, "{speed}");
    given["rates"] = json!([0.97 * speed, 1.03 * speed]);
    let rates = ran(&given).unwrap().by_rate;
    assert_eq!((rates[0].pays, rates[1].pays), (Some(true), Some(false)), "{rates:?}");
    given["rates"] = json!([1.0]);
    assert_eq!(ran(&given).unwrap().pays_below_bytes_per_s, None);
}

#[test]
fn a_node_is_recovered_in_the_time_of_the_slower_of_disk_and_link() {
    let mut given = config();
    let slow = ran(&given).unwrap().recovery;
    // 3 GiB at the 105 MB/s of the outer tracks, and over 125 MB/s.
    let bytes = f64::from(3 << 10) * f64::from(1 << 20);
    assert!((slow.read_s - bytes / 105e6).abs() < 0.02 * slow.read_s, "{slow:?}");
    assert_eq!((slow.wake_s, slow.limited_by), (13.5, "disk"));
    assert!(close(slow.link_s, bytes / 125e6) && close(slow.time_s, 13.5 + slow.read_s));
    given["link_bytes_per_s"] = json!(10e6);
    let link = ran(&given).unwrap().recovery;
    assert_eq!(link.limited_by, "link");
    assert!(close(link.time_s, 13.5 + bytes / 10e6), "{link:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let mut given = config();
    given["load"]["bench"]["pattern"] = json!("random-write");
    let bytes = |given: &Value| serde_json::to_string(&ran(given).unwrap()).unwrap();
    let first = bytes(&given);
    assert_eq!(first, bytes(&given));
    given["seed"] = json!(2);
    assert_ne!(first, bytes(&given));
}

#[test]
fn what_cannot_be_simulated_is_refused_by_its_option() {
    let refused = |key: &str, value: Value, named: &str| {
        let mut given = config();
        *given.pointer_mut(key).unwrap() = value;
        match ran(&given) {
            Err(ReplayError::Impossible { what, .. }) => assert_eq!(what, named),
            other => panic!("{key}: {other:?}"),
        }
    };
    refused("/replicas", json!(1), "--replicas");
    refused("/buffer", json!("0B"), "--buffer");
    refused("/buffer", json!("4GiB"), "--buffer");
    refused("/max_age", json!("0s"), "--max-age");
    refused("/link_bytes_per_s", json!(0.0), "--link");
    refused("/rates", json!([1.0, 0.0]), "--rates");
    refused("/load/bench/every", Value::Null, "--every");
    refused("/load/bench/requests", json!(1), "the pattern");
    refused("/load/bench/pattern", json!("random-read"), "the pattern");
    refused("/disk/config/power/standby", Value::Null, "--disk");
    refused("/disk/config/power/standby/draws", json!("9W"), "--disk");
    refused("/disk/config/geometry/sectors", json!(6_000_000), "--disk");
}
