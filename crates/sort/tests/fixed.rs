//! Fixed-length records, compared with a simple model.

mod common;

use common::sorted;
use gordon_sort::{Benchmark, FixedConfig, FormatVisitor, RecordConfig, RecordFormat};
use proptest::prelude::*;
use std::cmp::Ordering;

fn fixed(record: usize, keys: &[&str]) -> FixedConfig {
    FixedConfig { record, keys: keys.iter().map(|key| (*key).to_string()).collect() }
}

/// Types with an order other than that of their bytes.
const TYPES: [(&str, usize); 18] = [
    ("u8", 1),
    ("i8", 1),
    ("u16be", 2),
    ("u16le", 2),
    ("i16be", 2),
    ("i16le", 2),
    ("u32be", 4),
    ("u32le", 4),
    ("i32be", 4),
    ("i32le", 4),
    ("u64be", 8),
    ("u64le", 8),
    ("i64be", 8),
    ("i64le", 8),
    ("f32be", 4),
    ("f32le", 4),
    ("f64be", 8),
    ("f64le", 8),
];

/// Compares two values as Rust does.
fn by_type(name: &str, a: &[u8], b: &[u8]) -> Ordering {
    let value = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if name.ends_with("le") {
            bytes.reverse();
        }
        let fill = if name.starts_with('i') && bytes[0] >> 7 == 1 { 0xFF } else { 0 };
        let mut wide = [fill; 8];
        wide[8 - bytes.len()..].copy_from_slice(&bytes);
        u64::from_be_bytes(wide)
    };
    let (a, b) = (value(a), value(b));
    match &name[..name.len().min(3)] {
        "f64" => f64::from_bits(a).total_cmp(&f64::from_bits(b)),
        "f32" => f32::from_bits(a as u32).total_cmp(&f32::from_bits(b as u32)),
        _ if name.starts_with('i') => a.cast_signed().cmp(&b.cast_signed()),
        _ => a.cmp(&b),
    }
}

#[derive(Clone, Debug)]
struct Part {
    start: usize,
    len: usize,
    name: &'static str,
    reverse: bool,
}

impl Part {
    fn text(&self) -> String {
        let reverse = if self.reverse { ":r" } else { "" };
        format!("{}:{}:{}{reverse}", self.start, self.start + self.len, self.name)
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (a, b) = (&a[self.start..][..self.len], &b[self.start..][..self.len]);
        let order = match self.name {
            "bytes" => a.cmp(b),
            "ascii" => a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()),
            name => by_type(name, a, b),
        };
        if self.reverse { order.reverse() } else { order }
    }
}

fn part(record: usize) -> impl Strategy<Value = Part> {
    let text = (prop::sample::select(vec!["bytes", "ascii"]), 1..=record);
    let kind = prop_oneof![
        text,
        prop::sample::select(TYPES.to_vec()).prop_filter("too wide", move |kind| kind.1 <= record),
    ];
    (kind, any::<bool>()).prop_flat_map(move |((name, len), reverse)| {
        (0..=record - len).prop_map(move |start| Part { start, len, name, reverse })
    })
}

fn records() -> impl Strategy<Value = (usize, Vec<Part>, Vec<u8>)> {
    (1..40usize, 0..40usize).prop_flat_map(|(record, count)| {
        // Few different values, so that keys often repeat; none between Z and a, where case would
        // matter.
        let byte = prop::sample::select(b"\0\x01AaBbZz\x7f\x80\x81\xfe\xff".to_vec());
        let bytes = prop::collection::vec(byte, record * count..=record * count);
        let any_bytes = prop::collection::vec(any::<u8>(), record * count..=record * count);
        let parts = prop::collection::vec(part(record), 0..4);
        (Just(record), parts, prop_oneof![bytes, any_bytes])
    })
}

proptest! {
    #[test]
    fn random_records_are_sorted_by_random_keys((record, parts, bytes) in records()) {
        let mut expected: Vec<&[u8]> = bytes.chunks(record).collect();
        expected.sort_by(|a, b| {
            let orders = parts.iter().map(|part| {
                // Upper-case letters precede the characters between the two cases.
                if part.name == "ascii" {
                    let fold = |record: &[u8]| record.to_ascii_uppercase();
                    Part { name: "bytes", ..part.clone() }.compare(&fold(a), &fold(b))
                } else {
                    part.compare(a, b)
                }
            });
            let order = orders.fold(Ordering::Equal, Ordering::then);
            if parts.is_empty() { a.cmp(b) } else { order }
        });
        let keys = parts.iter().map(Part::text).collect();
        let config = RecordConfig::Fixed(FixedConfig { record, keys });
        prop_assert_eq!(sorted(&config, &bytes).expect("sound"), expected.concat());
    }

    #[test]
    fn random_key_texts_cause_no_panic(
        text in any::<String>(),
        near in "[0-9:]{0,6}(u64be|f32le|i8|r|ascii|bytes)?(:r)?",
    ) {
        for key in [text, near] {
            match sorted(&RecordConfig::Fixed(fixed(16, &[&key])), &[7; 32]) {
                Ok(sorted) => prop_assert_eq!(sorted.len(), 32),
                Err(error) => prop_assert!(error.to_string().contains("\n  try: "), "{}", error),
            }
        }
    }
}

#[test]
fn optional_parts_of_a_key_have_defaults() {
    let bytes: Vec<u8> = (0u8..=255).map(|at| at.wrapping_mul(167)).collect();
    let same = |a: &str, b: &str| {
        let sorted =
            |key: &str| sorted(&RecordConfig::Fixed(fixed(16, &[key])), &bytes).expect("sound");
        assert_eq!(sorted(a), sorted(b), "{a} and {b}");
    };
    same("3", "3:16:bytes");
    same("3:", "3:16");
    same("3::bytes:r", "3:16:bytes:r");
    same("3::u64le", "3:11:u64le");
    same("15::i8:r", "15:16:i8:r");
}

#[test]
fn the_benchmark_format_is_recognised() {
    struct Name;
    impl FormatVisitor for Name {
        type Output = &'static str;
        fn visit<S: RecordFormat>(self, shape: &S) -> &'static str {
            assert_eq!(shape.length(), Some(Benchmark::RECORD));
            std::any::type_name::<S>()
        }
    }
    let name = |config: RecordConfig| config.with(Name).expect("sound");
    let benchmark = std::any::type_name::<Benchmark>();
    assert_eq!(name(RecordConfig::default()), benchmark);
    assert_eq!(name(RecordConfig::Fixed(fixed(100, &["0:10"]))), benchmark);
    assert_ne!(name(RecordConfig::Fixed(fixed(100, &["0:10::r"]))), benchmark);
    assert_ne!(name(RecordConfig::Fixed(fixed(100, &["0:11"]))), benchmark);
}

#[test]
fn invalid_keys_are_refused_with_a_reason() {
    let told = |record, key: &str| match RecordConfig::Fixed(fixed(record, &[key])).check() {
        Ok(()) => String::new(),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_string(),
    };
    let keys = [
        ("", "--key \"\": \"\" is not the number of a byte"),
        ("a", "--key \"a\": \"a\" is not the number of a byte"),
        ("+1", "--key \"+1\": \"+1\" is not the number of a byte"),
        ("8:70", "--key \"8:70\": byte 70 is not in a record of 64 bytes"),
        ("8:8", "--key \"8:8\": no byte is between 8 and 8"),
        ("8:16:u64", "--key \"8:16:u64\": \"u64\" is not a type"),
        ("8:12:u64be", "--key \"8:12:u64be\": u64be has 8 bytes, and there are 4 from 8 to 12"),
        ("60::u64be", "--key \"60::u64be\": bytes 60 to 68 are not in a record of 64 bytes"),
        ("8:16:u64be:x", "--key \"8:16:u64be:x\": \"x\" is too much"),
        ("8:16:u64be:r", ""),
    ];
    for (key, error) in keys {
        assert_eq!(told(64, key), error);
    }
    assert_eq!(told(0, "0"), "--record 0: a record has 1 to 1048576 bytes");
}
