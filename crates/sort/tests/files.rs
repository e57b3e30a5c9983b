//! Files of lines and records, sorted with every method, compared with GNU sort and with sorting in
//! memory.

mod common;

use common::gnu::{arguments, gnu, known};
use common::{sorted, unique};
use gordon_sort::{FixedConfig, Job, LinesConfig, Progress, RecordConfig};
use gordon_units::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fs;
use tempfile::TempDir;

/// Sorts files with each method, with all records and with duplicates dropped, and compares with
/// the expected bytes.
fn same(config: &RecordConfig, inputs: &[&[u8]], (expected, first_of_equal): (&[u8], &[u8])) {
    let folder = TempDir::new().expect("a folder");
    let files: Vec<_> = (0..inputs.len()).map(|n| folder.path().join(format!("in{n}"))).collect();
    for (file, bytes) in files.iter().zip(inputs) {
        fs::write(file, bytes).expect("written");
    }
    let methods = [("one-pass", 64u64), ("distribute", 1), ("merge", 1), ("auto", 1)].into_iter();
    let ways = methods.flat_map(|method| ["radix", "merge"].map(|in_core| (method, in_core)));
    for ((method, memory), in_core) in ways {
        for (unique, expected) in [(false, expected), (true, first_of_equal)] {
            let text = serde_json::json!({
                "inputs": files,
                "unique": unique,
                "output": folder.path().join("out"),
                "records": config,
                "settings": {
                    "memory": Bytes(memory << 20).to_string(),
                    "method": method,
                    "in_core": in_core,
                    "threads": 2,
                },
            });
            let job: Job = serde_json::from_value(text).expect("a job");
            let what = format!("{config:?} {method} {in_core} {unique}");
            let report = job.run(&Progress::default()).expect(&what);
            assert_eq!(report.output_bytes, expected.len() as u64, "{what}");
            assert!(unique || report.output_records == report.records, "{what}");
            assert!(fs::read(&job.output).expect("an output") == expected, "{what}");
        }
    }
}

/// Lines as in a log: a time that most of them share, an address, and a number.
fn log(count: usize, seed: u64, end: u8) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut bytes = vec![];
    for _ in 0..count {
        let mut draw = |below: u64| random.next_u64() % below;
        let minute = draw(3);
        let path = "/a/long/path/that/is/in/all/of/them".repeat(draw(3) as usize);
        let line = format!(
            "2026-11-22T10:0{minute}:00Z https://example.org{path}/{} {}{}",
            draw(50),
            ["", "-", "0"][draw(3) as usize],
            draw(1000),
        );
        bytes.extend(line.bytes());
        bytes.push(end);
    }
    bytes
}

#[test]
fn files_of_lines_are_sorted_as_by_gnu_sort() {
    if known().is_none() {
        // `sort` is not GNU sort, so there is nothing to compare with.
        return;
    }
    for (keys, options, zero) in [
        (&[][..], "", false),
        (&[], "r", true),
        (&["3n"], "", false),
        (&["2,2", "3nr"], "", true),
        (&["1.12,1.14", "2.20,2f", "3g"], "b", false),
        (&["3V"], "", false),
    ] {
        let end = if zero { 0 } else { b'\n' };
        let (mut first, second) = (log(6_000, 1, end), log(3_000, 2, end));
        // The last line end is missing, and a line is longer than a transfer.
        first.pop();
        let long = [&b"2026 ".repeat(1 << 12)[..], &[end]].concat();
        let files = [&first[..], b"", &second, &long];
        let mut all = first.clone();
        all.extend([&[end][..], &second, &long].concat());
        let keys = keys.iter().map(|key: &&str| (*key).to_string()).collect();
        let config = LinesConfig { keys, options: options.into(), zero, ..LinesConfig::default() };
        same_as_gnu(config, &files, &all);
    }
}

/// Sorts files and compares with GNU sort; `all` is their concatenation with complete last lines.
fn same_as_gnu(config: LinesConfig, files: &[&[u8]], all: &[u8]) {
    let mut options = arguments(&config);
    let expected = gnu(&options, all);
    options.push("-u".into());
    let unique = gnu(&options, all);
    same(&RecordConfig::Lines(config), files, (&expected, &unique));
}

#[test]
fn wide_and_narrow_lines_are_sorted_together() {
    if known().is_none() {
        return;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut lines = vec![];
    for number in 0..1500 {
        // Some are longer than a transfer, some about as long, and many short; every key repeats.
        let length = match number % 50 {
            0 => 300_000,
            1 => 60_000,
            2 => 100_000 + random.next_u64() % 40_000,
            _ => random.next_u64() % 200,
        };
        let key = random.next_u64() % 300;
        lines.extend(format!("{key:06} {}\n", "x".repeat(length as usize)).bytes());
    }
    for keys in [&[][..], &["1,1"]] {
        let keys = keys.iter().map(|key: &&str| (*key).to_string()).collect();
        same_as_gnu(LinesConfig { keys, ..LinesConfig::default() }, &[&lines], &lines);
    }
}

#[test]
fn wide_records_are_sorted() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut bytes = vec![0; 150_000 * 40];
    for record in bytes.chunks_mut(150_000) {
        random.fill_bytes(record);
        record[0] &= 3;
    }
    for keys in [&["0:1"][..], &["149998:150000", "0:40:ascii"]] {
        let keys = keys.iter().map(|key: &&str| (*key).to_string()).collect();
        let config = RecordConfig::Fixed(FixedConfig { record: 150_000, keys });
        let expected = sorted(&config, &bytes).expect("sound");
        let first_of_equal = unique(&config, &bytes).expect("sound");
        same(&config, &[&bytes], (&expected, &first_of_equal));
    }
}

#[test]
fn the_last_resort_comparison_does_not_make_records_unique() {
    let text = serde_json::json!({
        "inputs": [], "unique": true, "output": "out",
        "records": {"lines": {"keys": ["1,1"], "stable": false}},
    });
    let mut job: Job = serde_json::from_value(text).expect("a job");
    let folder = TempDir::new().expect("a folder");
    (job.inputs, job.output) = (vec![folder.path().join("in")], folder.path().join("out"));
    fs::write(&job.inputs[0], "b 2\na 2\na 1\nb 1\n").expect("written");
    job.run(&Progress::default()).expect("sorted");
    assert_eq!(fs::read_to_string(&job.output).expect("an output"), "a 2\nb 2\n");
}

#[test]
fn files_of_records_are_sorted_by_their_keys() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut bytes = vec![0; 24 * 60_000];
    random.fill_bytes(&mut bytes);
    for record in bytes.chunks_mut(24) {
        // Keys repeat, and many share their first bytes.
        let start = record[0] & 1;
        record[..11].fill(start);
        record[12] &= 3;
        record[16] &= 0x81;
    }
    for keys in
        [&[][..], &["12:13:i8:r"], &["0:16:ascii"], &["0:12", "16::f32be:r"], &["16:24:u64le"]]
    {
        let keys = keys.iter().map(|key: &&str| (*key).to_string()).collect();
        let config = RecordConfig::Fixed(FixedConfig { record: 24, keys });
        let expected = sorted(&config, &bytes).expect("sound");
        let (first, second) = bytes.split_at(24 * 30_000);
        let first_of_equal = unique(&config, &bytes).expect("sound");
        same(&config, &[first, second], (&expected, &first_of_equal));
    }
}
