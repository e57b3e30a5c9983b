//! Sorted files compared with a model, for each kind of input, method and amount of memory.

use gordon_sort::{
    Benchmark, InCore, Io, Job, Method, Partial, Progress, Settings, SortError, SortReport,
};
use gordon_units::Bytes;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const RECORD: usize = Benchmark::RECORD;
const KEY: usize = Benchmark::KEY;

/// How keys are generated.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Uniform,
    Equal,
    Few,
    Sorted,
    Reversed,
    /// Half of them share their first bytes; a third are equal.
    Skewed,
    /// They differ in the last two bytes only.
    Late,
}

const KEYS: [Keys; 7] =
    [Keys::Uniform, Keys::Equal, Keys::Few, Keys::Sorted, Keys::Reversed, Keys::Skewed, Keys::Late];
const IN_CORE: [InCore; 2] = [InCore::Radix, InCore::Merge];
const METHODS: [Method; 4] = [Method::Auto, Method::OnePass, Method::Distribute, Method::Merge];

/// `count` records; the rest of each record holds its position.
fn records(keys: Keys, count: usize, seed: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut bytes = vec![0; count * RECORD];
    for (number, record) in bytes.chunks_mut(RECORD).enumerate() {
        random.fill_bytes(&mut record[..KEY]);
        match keys {
            Keys::Uniform => {}
            Keys::Equal => record[..KEY].fill(7),
            Keys::Few => record[1..KEY].fill(0),
            Keys::Sorted => record[..8].copy_from_slice(&(number as u64).to_be_bytes()),
            Keys::Reversed => record[..8].copy_from_slice(&(!(number as u64)).to_be_bytes()),
            Keys::Skewed => match random.next_u64() % 6 {
                0 | 1 => record[..KEY].fill(255),
                2..=4 => record[..6].fill(3),
                _ => {}
            },
            Keys::Late => record[..KEY - 2].fill(9),
        }
        record[KEY..KEY + 8].copy_from_slice(&(number as u64).to_le_bytes());
        record[RECORD - 1] = b'\n';
    }
    bytes
}

fn model(bytes: &[u8]) -> Vec<u8> {
    let mut all: Vec<&[u8]> = bytes.chunks(RECORD).collect();
    all.sort_by_key(|record| &record[..KEY]);
    all.concat()
}

fn job(folder: &Path, inputs: &[&str], method: Method, memory: u64) -> Job {
    let text = serde_json::json!({
        "inputs": inputs.iter().map(|name| folder.join(name)).collect::<Vec<_>>(),
        "output": folder.join("out"),
        "settings": { "memory": Bytes(memory).to_string(), "method": method, "threads": 2 },
    });
    serde_json::from_value(text).expect("a job")
}

fn run(job: &Job) -> Result<SortReport, SortError> {
    job.run(&Progress::default())
}

/// The I/O mechanisms available on this system; not every system permits io_uring.
fn ios() -> Vec<Io> {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("in"), records(Keys::Uniform, 10, 1)).expect("written");
    let mut first = job(folder.path(), &["in"], Method::Auto, 1 << 20);
    first.settings.io = Io::Uring;
    match run(&first) {
        Ok(report) => {
            assert_eq!(report.io, Io::Uring);
            vec![Io::Threads, Io::Uring]
        }
        Err(error) => {
            assert!(error.to_string().contains("io_uring"), "{error}");
            vec![Io::Threads]
        }
    }
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_input_is_sorted_stably_by_every_method() {
    let (folder, ios) = (TempDir::new().expect("a folder"), ios());
    for keys in KEYS {
        let bytes = records(keys, 40_000, 1);
        fs::write(folder.path().join("in"), &bytes).expect("written");
        let expected = model(&bytes);
        for (method, &io) in
            METHODS.iter().flat_map(|&method| ios.iter().map(move |io| (method, io)))
        {
            let memories = [1 << 20, 3 << 20, 64 << 20].into_iter();
            for (memory, in_core) in memories.flat_map(|memory| IN_CORE.map(|how| (memory, how))) {
                let mut job = job(folder.path(), &["in"], method, memory);
                (job.settings.io, job.settings.in_core) = (io, in_core);
                let what = format!("{keys:?} {method:?} {memory} {io:?} {in_core:?}");
                match run(&job) {
                    Ok(report) => {
                        assert_eq!((report.records, report.io), (40_000, io), "{what}");
                        assert!(fs::read(&job.output).expect("an output") == expected, "{what}");
                        let auto =
                            if memory > 8 << 20 { Method::OnePass } else { Method::Distribute };
                        let used = if method == Method::Auto { auto } else { method };
                        assert_eq!(report.plan.method, used, "{what}");
                        assert_eq!(report.plan.in_core, in_core, "{what}");
                        assert_eq!(report.passes > 1, used != Method::OnePass, "{what}");
                    }
                    Err(SortError::Impossible { why, .. }) => {
                        assert_eq!(method, Method::OnePass, "{what}");
                        assert!(
                            memory < 64 << 20 && why.contains("one pass needs"),
                            "{what}: {why}"
                        );
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
                assert!(fs::read(folder.path().join("in")).expect("the input") == bytes);
            }
        }
    }
    assert_eq!(names(folder.path()), ["in", "out"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn random_counts_and_transfer_sizes_are_sorted(
        keys in prop::sample::select(&KEYS[..]),
        method in prop::sample::select(&METHODS[..]),
        counts in prop::collection::vec(0usize..9_000, 1..4),
        sizes in [12u32..20, 12u32..20, 12u32..20],
        memory in 20u32..25,
        seed in 0u64..1000,
        buffered: bool,
        overwrite: bool,
        io in prop::sample::select(ios()),
        in_core in prop::sample::select(&IN_CORE[..]),
    ) {
        let folder = TempDir::new().expect("a folder");
        let (mut all, mut inputs) = (Vec::new(), Vec::new());
        for (number, &count) in counts.iter().enumerate() {
            let bytes = records(keys, count, seed + number as u64);
            fs::write(folder.path().join(number.to_string()), &bytes).expect("written");
            inputs.push(number.to_string());
            all.extend(bytes);
        }
        if overwrite {
            // Longer than the new output.
            fs::write(folder.path().join("out"), vec![1; all.len() + 5000]).expect("written");
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let mut job = job(folder.path(), &inputs, method, 1 << memory);
        let size = |bits: u32| Some(Bytes(1 << bits));
        job.settings.transfers.input = size(sizes[0]);
        job.settings.transfers.output = size(sizes[1]);
        job.settings.transfers.temp = size(sizes[2]);
        job.settings.overwrite = overwrite;
        job.settings.seed = seed;
        (job.settings.io, job.settings.in_core) = (io, in_core);
        if buffered {
            job.settings.mode = gordon_sort::CacheMode::Buffered;
        }
        match run(&job) {
            Ok(report) => {
                prop_assert_eq!(report.bytes, all.len() as u64);
                prop_assert!(fs::read(&job.output).expect("an output") == model(&all));
            }
            Err(SortError::Impossible { .. }) => {
                let large = sizes.iter().any(|&bits| bits > memory - 2);
                prop_assert!(large || method == Method::OnePass);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

/// Splits bytes over files in units of `unit`.
fn stripe(bytes: &[u8], count: usize, unit: usize) -> Vec<Vec<u8>> {
    let mut files = vec![Vec::new(); count];
    for (number, unit) in bytes.chunks(unit).enumerate() {
        files[number % count].extend_from_slice(unit);
    }
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn a_striped_input_is_sorted_as_it_is_whole(
        keys in prop::sample::select(&KEYS[..]),
        method in prop::sample::select(&METHODS[..]),
        count in 0usize..20_000,
        files in 1usize..5,
        pages in 1usize..40,
        transfer in 12u32..18,
        folders in 0usize..4,
        buffered: bool,
        io in prop::sample::select(ios()),
    ) {
        let folder = TempDir::new().expect("a folder");
        let (bytes, unit) = (records(keys, count, 1), 4096 * pages);
        let names: Vec<String> = (0..files).map(|n| n.to_string()).collect();
        for (name, bytes) in names.iter().zip(stripe(&bytes, files, unit)) {
            fs::write(folder.path().join(name), bytes).expect("written");
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut job = job(folder.path(), &names, method, 3 << 20);
        job.stripe = Some(Bytes(unit as u64));
        job.settings.transfers.input = Some(Bytes(1 << transfer));
        job.settings.transfers.temp = Some(Bytes(3 << (transfer - 1)));
        job.settings.io = io;
        for n in 0..folders {
            let temp = folder.path().join(format!("temp{n}"));
            fs::create_dir(&temp).expect("a folder");
            job.settings.temp.push(temp);
        }
        if buffered {
            job.settings.mode = gordon_sort::CacheMode::Buffered;
        }
        match run(&job) {
            Ok(report) => {
                prop_assert_eq!(report.records, count as u64);
                prop_assert!(fs::read(&job.output).expect("an output") == model(&bytes));
            }
            Err(SortError::Impossible { .. }) => prop_assert_eq!(method, Method::OnePass),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn invalid_stripes_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let bytes = records(Keys::Uniform, 3000, 1);
    let write = |files: &[Vec<u8>]| {
        for (name, bytes) in ["a", "b", "c"].iter().zip(files) {
            fs::write(folder.path().join(name), bytes).expect("written");
        }
    };
    let with = |names: &[&str], unit: u64| {
        let mut job = job(folder.path(), names, Method::Auto, 8 << 20);
        job.stripe = Some(Bytes(unit));
        run(&job).map(|report| report.records).map_err(|error| error.to_string())
    };
    write(&stripe(&bytes, 3, 8192));
    assert_eq!(with(&["a", "b", "c"], 8192), Ok(3000));
    for (names, unit, expected) in [
        (&["b", "a", "c"][..], 8192, "b: it has 98304 bytes, and would have 103392 if 300000"),
        (&["a", "b", "c"], 4096, "a: it has 103392 bytes, and would have 102400"),
        (&["a", "b", "c"], 5000, "is not whole pages"),
        (&["a", "b", "c"], 0, "is not whole pages"),
        (&[], 4096, "over no files"),
        (&["a", "none"], 4096, "cannot open it"),
    ] {
        let message = with(names, unit).expect_err(expected);
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("try: "), "{message}");
    }
    // An incomplete record at the end of the striped input.
    write(&stripe(&[&bytes[..], b"the rest"].concat(), 3, 4096));
    let message = with(&["a", "b", "c"], 4096).expect_err("a part");
    assert!(message.contains("8 bytes left over at byte 300000"), "{message}");
    assert_eq!(names(folder.path()), ["a", "b", "c", "out"]);
}

#[test]
fn a_part_of_a_record_is_refused_kept_or_dropped() {
    let folder = TempDir::new().expect("a folder");
    let mut bytes = records(Keys::Uniform, 1000, 1);
    let expected = model(&bytes);
    bytes.extend_from_slice(b"the rest");
    fs::write(folder.path().join("in"), &bytes).expect("written");
    let mut job = job(folder.path(), &["in"], Method::Auto, 8 << 20);
    let error = run(&job).expect_err("a part").to_string();
    assert!(error.contains("8 bytes left over at byte 100000"), "{error}");
    assert_eq!(names(folder.path()), ["in"]);
    job.settings.partial_last = Partial::Keep;
    assert_eq!(run(&job).expect("kept").partial_bytes, 8);
    let kept = [&expected[..], b"the rest"].concat();
    assert!(fs::read(&job.output).expect("an output") == kept);
    job.settings.partial_last = Partial::Drop;
    run(&job).expect("dropped");
    assert!(fs::read(&job.output).expect("an output") == expected);
}

#[test]
fn a_part_of_pages_that_lies_at_a_page_is_kept() {
    let folder = TempDir::new().expect("a folder");
    let (first, second, rest) = ([b'b'; 1 << 16], [b'a'; 1 << 16], [b'c'; 9000]);
    let bytes = [&first[..], &second, &rest].concat();
    fs::write(folder.path().join("in"), bytes).expect("written");
    let mut job = job(folder.path(), &["in"], Method::Auto, 8 << 20);
    job.records = serde_json::from_str(r#"{"fixed": {"record": 65536}}"#).expect("records");
    job.settings.partial_last = Partial::Keep;
    assert_eq!(run(&job).expect("kept").partial_bytes, 9000);
    let kept = fs::read(&job.output).expect("an output");
    assert!(kept == [&second[..], &first, &rest].concat());
}

#[test]
fn the_output_may_be_the_input() {
    let folder = TempDir::new().expect("a folder");
    let bytes = records(Keys::Uniform, 30_000, 1);
    fs::write(folder.path().join("out"), &bytes).expect("written");
    let mut job = job(folder.path(), &["out"], Method::Distribute, 2 << 20);
    job.settings.overwrite = true;
    let error = run(&job).expect_err("it would be destroyed").to_string();
    assert!(error.contains("it is the input too"), "{error}");
    job.settings.overwrite = false;
    run(&job).expect("sorted");
    assert!(fs::read(&job.output).expect("an output") == model(&bytes));
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn files_of_a_killed_sort_are_removed_by_the_next() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("in"), records(Keys::Uniform, 10, 1)).expect("written");
    // No process has that number; this process has its own.
    let living = format!("out.partial-{}", std::process::id() - 1);
    let others = [
        "other.partial-4194305",
        "out.partial-4194305-05-01",
        "out.partial-4194305-notes",
        "out.partial-x",
    ];
    for name in ["out.partial-4194305"].into_iter().chain(others) {
        fs::write(folder.path().join(name), "left").expect("written");
    }
    let parent = Path::new("/proc").join((std::process::id() - 1).to_string()).exists();
    if parent {
        fs::write(folder.path().join(&living), "in use").expect("written");
    }
    run(&job(folder.path(), &["in"], Method::Auto, 8 << 20)).expect("sorted");
    let mut expected = [&["in", "out"][..], &others].concat();
    if parent {
        expected.push(&living);
    }
    expected.sort_unstable();
    assert_eq!(names(folder.path()), expected);
}

#[test]
fn a_stopped_sort_leaves_no_files() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("in"), records(Keys::Uniform, 50_000, 1)).expect("written");
    fs::write(folder.path().join("out"), "the old one").expect("written");
    for (method, io) in [Method::OnePass, Method::Distribute, Method::Merge]
        .into_iter()
        .flat_map(|method| ios().into_iter().map(move |io| (method, io)))
    {
        let mut job = job(folder.path(), &["in"], method, 32 << 20);
        job.settings.io = io;
        let progress = Progress::default();
        progress.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let error = job.run(&progress).expect_err("stopped");
        assert!(matches!(error, SortError::Interrupted), "{error}");
        assert_eq!(fs::read(&job.output).expect("the old one"), b"the old one");
        assert_eq!(names(folder.path()), ["in", "out"]);
    }
}

#[test]
fn invalid_settings_are_refused() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("in"), records(Keys::Uniform, 10, 1)).expect("written");
    let good = job(folder.path(), &["in"], Method::Auto, 8 << 20);
    let with = |change: fn(&mut Settings)| {
        let mut job = good.clone();
        change(&mut job.settings);
        job
    };
    let cases: [(&str, Job); 6] = [
        ("cannot open it", Job { inputs: vec![folder.path().join("none")], ..good.clone() }),
        ("neither a regular file", Job { inputs: vec![folder.path().into()], ..good.clone() }),
        ("not a regular file", Job { output: folder.path().into(), ..good.clone() }),
        ("less than 1MiB", with(|settings| settings.memory = Some(Bytes(1000)))),
        ("threads: 1025: more than 1024", with(|settings| settings.threads = 1025)),
        ("there is no such folder", Job { output: folder.path().join("none/out"), ..good.clone() }),
    ];
    for (expected, job) in cases {
        let error = run(&job).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let none = with(|settings| {
        settings.temp = vec!["none".into()];
        settings.method = Method::Merge;
    });
    assert!(run(&none).is_err());
    assert_eq!(names(folder.path()), ["in"]);
}

#[test]
fn text_is_refused_unless_records_are_requested() {
    let folder = TempDir::new().expect("a folder");
    let lines: String = (0..1000).rev().map(|n| format!("{n:09}\n")).collect();
    let binary = records(Keys::Uniform, 10, 1);
    let ascii: String = (0..10).rev().map(|n| format!("{n:098}\r\n")).collect();
    let check = |inputs: &[(&str, &[u8])], record: Option<u64>| {
        let mut names = vec![];
        for (name, bytes) in inputs {
            fs::write(folder.path().join(name), bytes).expect("written");
            names.push(*name);
        }
        let mut job = job(folder.path(), &names, Method::Auto, 8 << 20);
        if let Some(record) = record {
            let text = serde_json::json!({"fixed": {"record": record}});
            job.records = serde_json::from_value(text).expect("records");
        }
        run(&job)
    };
    let lines = lines.as_bytes();
    for inputs in [&[("in", lines)][..], &[("in", &binary), ("text", lines)]] {
        let error = check(inputs, None).expect_err("text");
        assert!(matches!(error, SortError::Text { over: 0, .. }), "{error}");
    }
    let error = check(&[("in", &lines[..104])], None).expect_err("text");
    assert!(matches!(error, SortError::Text { over: 4, .. }), "{error}");
    assert!(!folder.path().join("out").exists());
    assert_eq!(check(&[("in", lines)], Some(100)).expect("asked for").records, 100);
    assert_eq!(check(&[("in", ascii.as_bytes())], None).expect("evident").records, 10);
}

#[test]
fn buckets_fit_in_the_least_memory() {
    let folder = TempDir::new().expect("a folder");
    let bytes = records(Keys::Uniform, 100_000, 1);
    fs::write(folder.path().join("in"), &bytes).expect("written");
    let job = job(folder.path(), &["in"], Method::Distribute, 1 << 20);
    let report = run(&job).expect("sorted");
    assert_eq!((report.passes, report.large_buckets), (2, 0));
    assert!(fs::read(&job.output).expect("an output") == model(&bytes));
}
