//! Files of lines and of records by keys, sorted in every way, against GNU sort and the same in memory.

mod common;

use common::gnu::{arguments, gnu, known};
use common::sorted;
use gordon_sort::{Config, FixedConfig, Job, LinesConfig, Watch};
use gordon_units::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fs;
use tempfile::TempDir;

/// Sorts files in each way; each has to come to `expected`.
fn same(config: &Config, inputs: &[&[u8]], expected: &[u8]) {
    let folder = TempDir::new().expect("a folder");
    let files: Vec<_> = (0..inputs.len()).map(|n| folder.path().join(format!("in{n}"))).collect();
    for (file, bytes) in files.iter().zip(inputs) {
        fs::write(file, bytes).expect("written");
    }
    let methods = [("one-pass", 64u64), ("distribute", 1), ("merge", 1), ("auto", 1)].into_iter();
    let ways = methods.flat_map(|method| ["radix", "merge"].map(|in_core| (method, in_core)));
    for ((method, memory), in_core) in ways {
        let text = serde_json::json!({
            "inputs": files,
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
        let report = job.run(&Watch::default()).expect("sorted");
        let what = format!("{config:?} {method} {in_core}");
        assert_eq!(report.bytes, expected.len() as u64, "{what}");
        assert!(fs::read(&job.output).expect("an output") == expected, "{what}");
    }
}

/// Lines as of a log: a time that most of them share, an address, a number.
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
fn files_of_lines() {
    if known().is_none() {
        // This sort is another: nothing to compare with.
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
        // An end is missing, and a line is longer than what is read at a time.
        first.pop();
        let long = [&b"2026 ".repeat(1 << 12)[..], &[end]].concat();
        let files = [&first[..], b"", &second, &long];
        let mut all = first.clone();
        all.extend([&[end][..], &second, &long].concat());
        let keys = keys.iter().map(|key: &&str| (*key).to_string()).collect();
        let config = LinesConfig { keys, options: options.into(), zero, ..LinesConfig::default() };
        let expected = gnu(&arguments(&config), &all);
        same(&Config::Lines(config), &files, &expected);
    }
}

#[test]
fn files_of_records() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut bytes = vec![0; 24 * 60_000];
    random.fill_bytes(&mut bytes);
    for record in bytes.chunks_mut(24) {
        // Keys that come again, and starts that are the same.
        let start = record[0] & 1;
        record[..11].fill(start);
        record[12] &= 3;
        record[16] &= 0x81;
    }
    for keys in
        [&[][..], &["12:13:i8:r"], &["0:16:ascii"], &["0:12", "16::f32be:r"], &["16:24:u64le"]]
    {
        let keys = keys.iter().map(|key: &&str| (*key).to_string()).collect();
        let config = Config::Fixed(FixedConfig { record: 24, keys });
        let expected = sorted(&config, &bytes).expect("sound");
        let (first, second) = bytes.split_at(24 * 30_000);
        same(&config, &[first, second], &expected);
    }
}
