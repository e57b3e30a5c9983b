//! Loads move the bytes that they report, and overwrite only what they are allowed to.

mod common;

use gordon_probe::{
    Access, CharacteriseConfig, CharacterisePoint, ClosedLoopLoad, LoadLimits, Pattern, ProbeError,
    ProbeOp, Progress, Target, TestFile, characterise, load,
};
use gordon_units::{Bytes, Ns};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const MIB: u64 = 1 << 20;
/// A limit that no test reaches.
const DAY: Ns = Ns(86_400_000_000_000);

fn file(folder: &Path) -> PathBuf {
    let path = folder.join("file");
    fs::write(&path, vec![7u8; 1 << 20]).expect("a file");
    path
}

/// A load that ends by its bytes, not by its time.
fn some(pattern: Pattern, op: ProbeOp, size: u64, depth: u32, bytes: u64) -> ClosedLoopLoad {
    let limits = LoadLimits { time: DAY, bytes, warm_up: Ns::ZERO };
    ClosedLoopLoad { pattern, op, size, depth, span: MIB, seed: 3, limits }
}

fn survey(path: &Path, ops: &[ProbeOp]) -> CharacteriseConfig {
    let points = ops.iter().flat_map(|op| {
        [Pattern::Sequential, Pattern::Random].map(|pattern| CharacterisePoint {
            pattern,
            op: *op,
            size: Bytes(64 << 10),
            depth: 2,
        })
    });
    CharacteriseConfig {
        path: path.into(),
        write: false,
        span: Some(Bytes(MIB)),
        points: points.collect(),
        time: DAY,
        warm_up: Ns(1_000_000),
        bytes: Bytes(4 * MIB),
        seed: 1,
    }
}

#[test]
fn sequential_writes_reach_every_address_once_per_round() {
    let Some(folder) = common::folder("sequential_writes_reach_every_address") else { return };
    let path = file(folder.path());
    let target = Target::open(&path, Access::ReadWrite).unwrap();
    // The load covers half of the file; the other half must not change.
    let mut half = some(Pattern::Sequential, ProbeOp::Write, 16 << 10, 4, MIB / 2);
    half.span = MIB / 2;
    let done = load(&target, &half, &Progress::default()).unwrap();
    assert_eq!((done.requests, done.bytes, done.latency.count()), (32, MIB / 2, 32));
    assert!(done.elapsed > Ns::ZERO);
    let now = fs::read(&path).unwrap();
    let mut pages: Vec<&[u8]> = now[..1 << 19].chunks(4096).collect();
    assert!(pages.iter().all(|page| *page != [7; 4096]));
    pages.sort_unstable();
    assert!(pages.windows(2).all(|two| two[0] != two[1]), "two pages are alike");
    assert!(now[1 << 19..].iter().all(|byte| *byte == 7));
}

#[test]
fn random_writes_follow_the_seed() {
    let Some(folder) = common::folder("random_writes_follow_the_seed") else { return };
    let changed = |seed| {
        let path = file(folder.path());
        let target = Target::open(&path, Access::ReadWrite).unwrap();
        let random =
            ClosedLoopLoad { seed, ..some(Pattern::Random, ProbeOp::Write, 4096, 1, 64 << 10) };
        assert_eq!(load(&target, &random, &Progress::default()).unwrap().requests, 16);
        let now = fs::read(&path).unwrap();
        now.chunks(4096).map(|page| *page != [7; 4096]).collect::<Vec<bool>>()
    };
    let one = changed(1);
    assert!((8..=16).contains(&one.iter().filter(|changed| **changed).count()));
    assert_eq!(one, changed(1));
    assert_ne!(one, changed(2));
}

#[test]
fn reads_change_nothing_and_end_by_their_bytes_and_by_their_time() {
    let Some(folder) = common::folder("reads_change_nothing") else { return };
    let path = file(folder.path());
    let target = Target::open(&path, Access::ReadOnly).unwrap();
    for depth in [1, 8] {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            let done = load(
                &target,
                &some(pattern, ProbeOp::Read, 4096, depth, MIB),
                &Progress::default(),
            );
            assert_eq!(done.unwrap().requests, 256);
        }
    }
    // With a time limit of zero, each thread issues one request.
    let mut short = some(Pattern::Random, ProbeOp::Read, 4096, 8, u64::MAX);
    short.limits.time = Ns::ZERO;
    assert_eq!(load(&target, &short, &Progress::default()).unwrap().requests, 8);
    // The warm-up takes longer than the measurement, but its requests do not count.
    short.limits.warm_up = Ns(10_000_000);
    assert_eq!(load(&target, &short, &Progress::default()).unwrap().requests, 8);
    short.limits = LoadLimits { time: Ns(20_000_000), bytes: u64::MAX, warm_up: Ns::ZERO };
    let done = load(&target, &short, &Progress::default()).unwrap();
    assert!(done.elapsed >= short.limits.time, "it goes on until the time is over");
    let summary = done.latency.summary();
    assert!(summary.mean > Some(0.0) && summary.p50 <= summary.p99 && summary.p999 <= summary.max);
    assert_eq!(fs::read(path).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn an_existing_file_is_only_read_unless_writes_are_allowed() {
    let Some(folder) = common::folder("an_existing_file_is_only_read") else { return };
    let path = file(folder.path());
    let mut asked = survey(&path, &[ProbeOp::Read, ProbeOp::Write]);
    let error = characterise(&asked, &Progress::default()).unwrap_err();
    assert!(matches!(error, ProbeError::Kept(_)), "{error}");
    assert!(error.to_string().contains("destroys what is there\n  try: "), "{error}");
    let report = characterise(&survey(&path, &[ProbeOp::Read]), &Progress::default()).unwrap();
    assert_eq!((report.points.len(), report.scratch), (2, false));
    let target = Target::open(&path, Access::ReadOnly).unwrap();
    let write = some(Pattern::Random, ProbeOp::Write, 4096, 1, MIB);
    assert!(matches!(load(&target, &write, &Progress::default()), Err(ProbeError::ReadOnly(_))));
    assert_eq!(fs::read(&path).unwrap(), vec![7; 1 << 20]);
    asked.write = true;
    let report = characterise(&asked, &Progress::default()).unwrap();
    assert!(report.points.iter().all(|point| point.requests == 64 && point.bandwidth_mb_s > 0.0));
    assert_ne!(fs::read(&path).unwrap(), vec![7; 1 << 20]);
    assert_eq!(fs::metadata(path).unwrap().len(), 1 << 20);
}

#[test]
fn a_scratch_file_is_full_and_leaves_nothing() {
    let Some(folder) = common::folder("a_scratch_file_leaves_nothing") else { return };
    let empty = || fs::read_dir(folder.path()).unwrap().next().is_none();
    let both = survey(folder.path(), &[ProbeOp::Read, ProbeOp::Write]);
    let report = characterise(&both, &Progress::default()).unwrap();
    assert_eq!((report.points.len(), report.scratch, report.span_bytes), (4, true, MIB));
    assert!(empty());
    let place = TestFile::open(folder.path(), false, Some(MIB)).unwrap();
    assert!(empty(), "it has a name, which a kill would leave");
    assert_eq!(place.target.capacity(), MIB);
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    let asked = survey(folder.path(), &[ProbeOp::Read]);
    assert!(matches!(characterise(&asked, &progress), Err(ProbeError::Interrupted)));
    assert!(empty());
    // A path that does not exist must not fall back to another place.
    for name in ["none", "no/where"] {
        let nowhere = survey(&folder.path().join(name), &[ProbeOp::Read]);
        assert!(matches!(
            characterise(&nowhere, &Progress::default()),
            Err(ProbeError::Missing(_))
        ));
    }
    assert!(empty());
}

#[test]
fn invalid_loads_are_errors() {
    let Some(folder) = common::folder("invalid_loads_are_errors") else { return };
    let target = Target::open(&file(folder.path()), Access::ReadOnly).unwrap();
    let read = some(Pattern::Random, ProbeOp::Read, 4096, 1, MIB);
    for (wrong, why) in [
        (ClosedLoopLoad { size: 4095, ..read }, "not whole sectors"),
        (ClosedLoopLoad { size: 0, ..read }, "not whole sectors"),
        (ClosedLoopLoad { size: 2 * MIB, ..read }, "requests of 2MiB in 1MiB"),
        (ClosedLoopLoad { span: 2 * MIB, ..read }, "in 2MiB of"),
        (ClosedLoopLoad { depth: 0, ..read }, "0 requests outstanding"),
        (ClosedLoopLoad { depth: 100_000, ..read }, "100000 requests outstanding"),
        (ClosedLoopLoad { size: 1 << 40, span: 1 << 40, ..read }, "requests of"),
    ] {
        let error = load(&target, &wrong, &Progress::default()).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("\n  try: "), "{error}");
    }
    let large = folder.path().join("large");
    fs::File::create(&large).unwrap().set_len(8 * MIB).unwrap();
    let target = Target::open(&large, Access::ReadOnly).unwrap();
    assert!(target.description().sparse);
    let much = ClosedLoopLoad { size: 8 * MIB, span: 8 * MIB, depth: 1024, ..read };
    let error = load(&target, &much, &Progress::default()).unwrap_err().to_string();
    assert!(error.contains("1024 of 8MiB take more memory than 4GiB"), "{error}");
    let mut asked = survey(folder.path(), &[ProbeOp::Read]);
    asked.span = Some(Bytes(1 << 60));
    let error = characterise(&asked, &Progress::default()).unwrap_err().to_string();
    assert!(error.contains("are free"), "{error}");
}
