//! Errors for configs from which no disk can be built: the value, the key, and what to try.

mod common;

use common::PRESET;
use gordon_hdd::{DiskConfig, DiskConfigError};

/// The error for the preset with one value replaced.
#[track_caller]
fn error(key_and_value: &str, replacement: &str) -> String {
    let text = PRESET.replacen(key_and_value, replacement, 1);
    assert_ne!(text, PRESET, "`{key_and_value}` is not in the preset");
    DiskConfig::from_toml(&text).expect_err(replacement).to_string()
}

#[test]
fn the_preset_round_trips() {
    let config = DiskConfig::from_toml(PRESET).unwrap();
    let again = DiskConfig::from_toml(&toml::to_string(&config).unwrap()).unwrap();
    assert_eq!(again, config);
}

#[test]
fn every_number_of_the_preset_has_a_source() {
    let values = PRESET.lines().filter(|l| !l.starts_with('#') && l.contains(" = "));
    for line in values.filter(|l| !l.starts_with("summary")) {
        assert!(line.contains("source = ") || line.contains("assumed = "), "{line}");
    }
}

#[test]
fn impossible_values_are_refused() {
    for (from, to, says) in [
        ("price = { value = 100,", "price = { value = -100,", "price is -100"),
        ("embodied_kg = { value = 20,", "embodied_kg = { value = -20,", "embodied_kg is -20"),
        (
            "rated_life_years = { value = 5,",
            "rated_life_years = { value = 0,",
            "rated_life_years is 0",
        ),
        ("value = 7200,", "value = 0,", "geometry.rpm is 0"),
        ("heads = { value = 8,", "heads = { value = 0,", "geometry.heads is 0"),
        ("sectors = { value = 1953525168,", "sectors = { value = 0,", "geometry.sectors is 0"),
        ("count = { value = 16,", "count = { value = 0,", "linear.count is 0"),
        (
            "inner_to_outer = { value = 0.55,",
            "inner_to_outer = { value = 1.5,",
            "inner_to_outer is 1.5",
        ),
        (
            "inner_to_outer = { value = 0.55,",
            "inner_to_outer = { value = nan,",
            "inner_to_outer is NaN",
        ),
        ("value = \"105MB\"", "value = \"1KB\"", "outer_rate_per_s is 0"),
        ("track_skew = { value = \"1.2ms\"", "track_skew = { value = \"1ms\"", "at least 1.2ms"),
        (
            "cylinder_skew = { value = \"1.4ms\"",
            "cylinder_skew = { value = \"9ms\"",
            "at most 8333332ns",
        ),
        ("value = \"300MB\"", "value = \"0MB\"", "interface.rate_per_s is 0"),
        ("queue_depth = { value = 32,", "queue_depth = { value = 0,", "queue_depth is 0"),
        ("size = { value = \"32MiB\"", "size = { value = \"8MiB\"", "leaves for each segment is 0"),
        ("read_ahead = { value = \"1MiB\"", "read_ahead = { value = \"2MiB\"", "at most 1MiB"),
        ("segments = { value = 16,", "segments = { value = 0,", "cache.segments is 0"),
        ("ageing = { value = 0.01,", "ageing = { value = -1,", "scheduler.ageing is -1"),
        ("read = { value = \"13W\"", "read = { value = \"3W\"", "power.read is 3W"),
    ] {
        let text = error(from, to);
        assert!(text.contains(says), "{to}: {text}");
    }
}

#[test]
fn contradictions_are_named() {
    // Slower on average than over the full stroke.
    let text = error("average = { value = \"8.5ms\"", "average = { value = \"18.5ms\"");
    assert!(text.contains("three times of seek.read falls"), "{text}");
    // Zones for a different capacity.
    let (before, rest) = PRESET.split_once("[geometry.zones.linear]").unwrap();
    let after = &rest[rest.find("[seek]").unwrap()..];
    let table = "[[geometry.zones.table]]\ncylinders = 1000\nsectors_per_track = 1000\n";
    let error = DiskConfig::from_toml(&format!("{before}{table}{after}")).unwrap_err();
    assert_eq!(error, DiskConfigError::Capacity { held: 8_000_000, stated: 1_953_525_168 });
}

#[test]
fn typing_errors_are_shown_in_their_line() {
    let text = error("[cache]", "[cache]\nsice = 1");
    assert!(text.contains("unknown field `sice`") && text.contains("`size`"), "{text}");
    let text = error("value = \"32MiB\"", "value = \"32 parsecs\"");
    assert!(text.contains("unknown unit"), "{text}");
    let text = error("[geometry.zones.linear]", "[geometry.zones.liner]");
    assert!(text.contains("unknown variant `liner`"), "{text}");
    let text = error("[interface]", "[interfaec]");
    assert!(text.contains("unknown field `interfaec`"), "{text}");
}
