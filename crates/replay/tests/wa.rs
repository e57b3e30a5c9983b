//! Write amplification of the simulated layer compared with theory.
#![allow(clippy::unwrap_used, missing_docs)]

use gordon_config::from_json;
use gordon_replay::wa::{WaConfig, WaReport, write_amplification};
use gordon_units::Progress;
use serde_json::{Value, json};

fn wa(config: Value) -> WaReport {
    let config: WaConfig = from_json(&config.to_string(), "wa").unwrap();
    write_amplification(&config, &Progress::default()).unwrap()
}

#[test]
fn greedy_matches_theory() {
    for rho in [0.7, 0.8, 0.9] {
        // Small arrays are below theory: 1 % at 256 blocks.
        let report = wa(json!({"rho": rho, "blocks": 512, "pages_per_block": 32}));
        let off = report.write_amplification / report.theory.unwrap() - 1.0;
        assert!(report.converged && (-0.012..0.005).contains(&off), "rho {rho}: {off}");
        let pages = report.pages;
        let amplification = 1.0 + pages.gc_program as f64 / pages.host_program as f64;
        assert!((report.write_amplification - amplification).abs() < 1e-12);
        assert_eq!(pages.host_program, 8 * 512 * 32);
    }
}

#[test]
fn fully_valid_victims_are_collected_as_theory_assumes() {
    // At rho 0.8 and 32 pages per block, one random victim in nine has no stale page. Theory
    // includes these.
    for (policy, rho) in [("random", 0.8), ("fifo", 0.8)] {
        let config = json!({"policy": policy, "rho": rho, "blocks": 256, "pages_per_block": 32});
        let report = wa(config);
        let off = report.write_amplification / report.theory.unwrap() - 1.0;
        assert!(report.converged && off.abs() < 0.015, "{policy} at rho {rho}: {off}");
    }
}

#[test]
fn hot_pages_amplify_more_if_they_are_not_separated() {
    let uniform = json!({"rho": 0.9, "blocks": 256, "pages_per_block": 32});
    let mut hot = uniform.clone();
    hot["hot_cold"] = json!({"space": 0.1, "share": 0.9});
    let (uniform, hot) = (wa(uniform), wa(hot));
    assert!(hot.write_amplification > 1.1 * uniform.write_amplification);
    assert!(hot.theory.is_none() && uniform.theory.is_some());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed: u64| {
        let config = json!({"rho": 0.8, "blocks": 64, "pages_per_block": 16, "seed": seed});
        serde_json::to_string(&wa(config)).unwrap()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn invalid_configs_are_refused() {
    for (config, key) in [
        (json!({"rho": 1.0}), "--rho"),
        (json!({"rho": 0.0}), "--rho"),
        (json!({"rho": 0.00001, "hot_cold": {"space": 0.1, "share": 0.9}}), "--rho"),
        (json!({"rho": 0.8, "blocks": 2}), "--blocks"),
        (json!({"rho": 0.8, "choices": 2}), "--choices"),
        (json!({"rho": 0.8, "hot_cold": {"space": 1.0, "share": 0.5}}), "--hot-share"),
        (json!({"rho": 0.9999, "blocks": 16, "pages_per_block": 16}), "flash translation layer"),
    ] {
        let config: WaConfig = from_json(&config.to_string(), "wa").unwrap();
        let error = write_amplification(&config, &Progress::default()).unwrap_err().to_string();
        assert!(error.starts_with(key) && error.contains("\n  try: "), "{error}");
    }
}
