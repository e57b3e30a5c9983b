//! The flash presets of the catalogue: each is valid, each number has a source, and the numbers are
//! consistent.

use gordon_ssd::{SsdConfig, SsdError};
use gordon_units::Bytes;
use std::path::Path;
use toml::{Table, Value};

fn presets() -> Vec<(String, Table)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/gordon/parts/flash");
    let files = std::fs::read_dir(root).expect("the catalogue is there");
    let mut files: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
    files.sort();
    let read = |path: &Path| {
        let name = path.file_stem().expect("named").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("readable");
        let table = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, table)
    };
    files.iter().filter(|f| f.extension().is_some_and(|e| e == "toml")).map(|f| read(f)).collect()
}

/// Every sourced value below `table`, with its path.
fn leaves<'a>(table: &'a Table, path: &str, found: &mut Vec<(String, &'a Table)>) {
    for (key, value) in table {
        let path = format!("{path}.{key}");
        match value {
            Value::Table(leaf) if leaf.contains_key("value") => found.push((path, leaf)),
            Value::Table(inner) => leaves(inner, &path, found),
            _ => {}
        }
    }
}

fn value<'a>(preset: &'a Table, section: &str, key: &str) -> &'a Value {
    &preset[section][key]["value"]
}

fn bytes(value: &Value) -> u64 {
    let bytes: Bytes = value.as_str().expect("a text").parse().expect("bytes");
    bytes.0
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn every_preset_is_valid_and_round_trips() {
    for (name, preset) in presets() {
        let config: SsdConfig = toml::from_str(&preset.to_string()).expect(&name);
        config.validate().expect(&name);
        let text = toml::to_string(&config).expect(&name);
        assert_eq!(toml::from_str::<SsdConfig>(&text).expect(&name), config, "{name}");
        // A smaller capacity gives the same device with fewer blocks.
        let small =
            config.clone().with_capacity(Bytes((config.capacity.0 / (16 << 20)) << 20)).unwrap();
        small.validate().expect(&name);
        let part = |config: &SsdConfig| {
            let raw = config.layout().expect(&name).geometry().capacity();
            config.capacity.0 as f64 / raw.0 as f64
        };
        assert!(part(&small) <= part(&config) && part(&small) > part(&config) * 0.95, "{name}");
    }
}

#[test]
fn a_device_that_is_too_small_is_refused_with_the_least_capacity() {
    let (mut small, mut beyond) = (0, 0);
    for (name, preset) in presets() {
        let config: SsdConfig = toml::from_str(&preset.to_string()).expect(&name);
        let Err(SsdError::Small { least, .. }) = config.resized(Bytes(512)) else {
            panic!("{name}: one sector is not refused as too small");
        };
        config.resized(least).expect(&name);
        // A tenth less is refused. The blocks needed are rounded up, so some capacities slightly
        // below the least one are possible.
        let less = Bytes(least.0 / 5120 * 9 * 512);
        let refused = config.resized(less).expect_err(&name);
        assert!(matches!(refused, SsdError::Small { .. }), "{name}: {less}: {refused}");
        // With more write points than blocks, the least capacity exceeds that of the preset.
        let mut many = config.clone();
        many.ftl.write_points = Some(config.layout().expect(&name).blocks().into());
        match many.resized(Bytes(512)) {
            Err(SsdError::Small { least, .. }) => {
                small += 1;
                assert!(least > *config.capacity && many.resized(least).is_ok(), "{name}: {least}");
            }
            // The least capacity is too large for 32-bit block numbers.
            Err(SsdError::Room { .. }) => beyond += 1,
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(small > 0 && beyond > 0, "{small}, {beyond}");
}

#[test]
fn every_number_has_one_source() {
    let presets = presets();
    assert!(presets.len() >= 6, "{}", presets.len());
    for (name, preset) in &presets {
        assert!(preset["summary"].as_str().is_some_and(|s| !s.is_empty()), "{name}");
        let mut found = Vec::new();
        leaves(preset, name, &mut found);
        assert!(found.len() > 20, "{name}: {}", found.len());
        for (path, leaf) in found {
            let texts: Vec<_> = ["source", "assumed"].iter().filter_map(|k| leaf.get(*k)).collect();
            assert_eq!((texts.len(), leaf.len()), (1, 2), "{path}");
            assert!(texts[0].as_str().is_some_and(|text| text.len() > 5), "{path}");
        }
    }
}

#[test]
fn the_numbers_of_a_preset_are_consistent() {
    for (name, preset) in presets() {
        let count = |key| {
            let count = value(&preset, "geometry", key).as_integer().expect("a whole number");
            u64::try_from(count).expect("positive")
        };
        let page = bytes(value(&preset, "geometry", "page"));
        let dies = count("buses") * count("packages_per_bus") * count("dies_per_package");
        let blocks = dies * count("planes_per_die") * count("blocks_per_plane");
        let raw = blocks * count("pages_per_block") * page;
        let exported = bytes(&preset["capacity"]["value"]);
        assert!(exported < raw && exported * 2 > raw, "{name}: {exported} of {raw}");
        // The source or assumption of the capacity shows the arithmetic; the paper's arrays have
        // 256 and 512 GiB.
        let text = preset["capacity"].get("source").or(preset["capacity"].get("assumed"));
        let text = text.and_then(Value::as_str).expect("an address");
        assert!(name.starts_with("gordon-") || text.contains(&grouped(raw)), "{name}: {raw}");
        assert!(!name.starts_with("gordon-") || raw.is_multiple_of(256 << 30), "{name}: {raw}");
        // A super-page is a rectangle of pages, and the mapping unit divides it.
        let super_page = bytes(value(&preset, "super_page", "size"));
        let pages = dies * count("planes_per_die");
        assert!((pages * page).is_multiple_of(super_page), "{name}");
        assert!(super_page.is_multiple_of(page), "{name}");
        if let Some(unit) = preset["super_page"].get("unit") {
            assert!(super_page.is_multiple_of(bytes(&unit["value"])), "{name}");
        }
    }
}

/// The paper's array has 65,536 super-blocks with a summary page each. A summary page crosses 4
/// buses in 8 transfers of 2,080 bytes: 8 x (1.1 us + 1,040 / 133 MHz) = 71.4 us, 4.7 s in all. 4
/// die groups share the buses.
#[test]
fn the_papers_map_is_rebuilt_in_4_7_seconds() {
    for (name, preset) in presets() {
        let config: SsdConfig = toml::from_str(&preset.to_string()).expect(&name);
        let startup = config.startup().expect(&name).as_secs();
        match name.as_str() {
            "gordon-slc-256g" => assert!((startup - 65_536.0 * 71.36e-6).abs() < 0.01, "{startup}"),
            // Without summary pages the out-of-band data of all 2048 x 2 x 256 pages of a die are
            // sensed, 75 us each, and cross the bus of 8 dies: 8 x (361 ns + 448 B / 333 MB/s) =
            // 13.7 us.
            "mqsim-mlc-512g" => {
                let die = 2048.0 * 2.0 * 256.0 * (75e-6 + 361e-9 + 448.0 / 333.333_333e6);
                assert!((startup / die - 1.0).abs() < 0.01, "{startup}, not {die}");
            }
            _ => assert!((0.01..100.0).contains(&startup), "{name}: {startup}"),
        }
    }
}
