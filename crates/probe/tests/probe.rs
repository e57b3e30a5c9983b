//! Probes send the given requests in their order, after the given pauses.

mod common;

use gordon_probe::{
    Access, Probe, ProbeError, ProbeOp, Progress, Target, TargetKind, TimedProbe, probe,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

const LEN: usize = 1 << 20;

fn file(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("file");
    fs::write(&path, vec![7u8; LEN]).expect("a file");
    path
}

fn at(op: ProbeOp, offset: u64, len: u64, think_ns: u64) -> Probe {
    Probe { op: Some(op), offset, len, think_ns }
}

#[test]
fn requests_are_sequential() {
    let Some(folder) = common::folder("requests_are_sequential") else { return };
    let path = file(folder.path());
    let target = Target::open(&path, Access::ReadOnly).unwrap();
    let about = target.description();
    assert_eq!((about.kind, about.capacity, about.sparse), (TargetKind::File, LEN as u64, false));
    let think = 3_000_000;
    let probes = [
        at(ProbeOp::Read, 0, 4096, 0),
        at(ProbeOp::Read, 64 << 10, 64 << 10, think),
        at(ProbeOp::Read, 0, LEN as u64, 0),
    ];
    let progress = Progress::default();
    let timed = probe(&target, &probes, &progress).unwrap();
    assert_eq!(progress.done.load(Ordering::Relaxed), 3);
    let mut before = 0;
    for (TimedProbe { issued_ns, completed_ns }, asked) in timed.into_iter().zip(probes) {
        assert!(issued_ns >= before + asked.think_ns, "{issued_ns} after {before}: {asked:?}");
        assert!(completed_ns > issued_ns);
        before = completed_ns;
    }
    assert_eq!(fs::read(path).unwrap(), vec![7; LEN]);
}

#[test]
fn writes_change_only_their_range() {
    let Some(folder) = common::folder("writes_change_only_their_range") else { return };
    let path = file(folder.path());
    let target = Target::open(&path, Access::ReadWrite).unwrap();
    let probes = [at(ProbeOp::Write, 8192, 4096, 0), at(ProbeOp::Write, 16384, 8192, 0)];
    probe(&target, &probes, &Progress::default()).unwrap();
    let now = fs::read(path).unwrap();
    let pages: Vec<&[u8]> = now.chunks(4096).collect();
    for (number, page) in pages.iter().enumerate() {
        assert_eq!([2, 4, 5].contains(&number), *page != [7; 4096], "page {number}");
    }
    // All pages differ, and they cannot be compressed: all byte values occur about equally often.
    assert!(pages[2] != pages[4] && pages[4] != pages[5]);
    let most = (0..=255u8).map(|byte| pages[4].iter().filter(|b| **b == byte).count()).max();
    assert!(most < Some(50), "{most:?} of 4096");
}

#[test]
fn an_invalid_request_is_refused_before_the_first_is_sent() {
    let Some(folder) = common::folder("an_invalid_request_is_refused") else { return };
    let path = file(folder.path());
    let target = Target::open(&path, Access::ReadWrite).unwrap();
    let fine = at(ProbeOp::Write, 0, 4096, 0);
    for wrong in [
        at(ProbeOp::Read, 1, 4096, 0),
        at(ProbeOp::Read, 0, 4097, 0),
        at(ProbeOp::Read, 0, 0, 0),
        at(ProbeOp::Read, LEN as u64, 4096, 0),
        at(ProbeOp::Read, u64::MAX - 4095, 4096, 0),
    ] {
        let error = probe(&target, &[fine, wrong], &Progress::default()).unwrap_err();
        assert!(matches!(error, ProbeError::Range { number: 2, .. }), "{error}");
    }
    let target = Target::open(&path, Access::ReadOnly).unwrap();
    let error = probe(&target, &[fine], &Progress::default()).unwrap_err();
    assert!(matches!(error, ProbeError::ReadOnly(_)), "{error}");
    let flush = Probe { op: None, offset: 0, len: 0, think_ns: 0 };
    let error = probe(&target, &[flush], &Progress::default()).unwrap_err();
    assert!(matches!(error, ProbeError::ReadOnly(_)), "{error}");
    assert_eq!(fs::read(&path).unwrap(), vec![7; LEN]);
}

#[test]
fn a_flush_follows_the_writes_that_it_makes_durable() {
    let Some(folder) = common::folder("a_flush_follows_the_writes") else { return };
    let path = file(folder.path());
    let target = Target::open(&path, Access::ReadWrite).unwrap();
    let flush = Probe { op: None, offset: 0, len: 0, think_ns: 0 };
    let timed =
        probe(&target, &[at(ProbeOp::Write, 0, 4096, 0), flush], &Progress::default()).unwrap();
    assert_eq!(timed.len(), 2);
    assert!(timed[0].completed_ns <= timed[1].issued_ns);
    assert_ne!(fs::read(path).unwrap()[..4096], vec![7; 4096]);
}

#[test]
fn a_stop_ends_the_run_during_a_pause() {
    let Some(folder) = common::folder("a_stop_ends_it") else { return };
    let target = Target::open(&file(folder.path()), Access::ReadOnly).unwrap();
    let progress = Progress::default();
    let probes = [at(ProbeOp::Read, 0, 4096, 0), at(ProbeOp::Read, 0, 4096, u64::MAX / 4)];
    let ended = std::thread::scope(|scope| {
        let work = scope.spawn(|| probe(&target, &probes, &progress));
        while progress.done.load(Ordering::Relaxed) < 1 {
            std::thread::yield_now();
        }
        progress.stop.store(true, Ordering::Relaxed);
        work.join().unwrap()
    });
    assert!(matches!(ended, Err(ProbeError::Interrupted)));
}

#[test]
fn a_target_that_is_not_storage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Target::open(path, Access::ReadOnly).unwrap_err();
    let error = open(folder.path()).to_string();
    assert!(error.contains("neither a regular file nor a block device\n  try: "), "{error}");
    assert!(matches!(open(Path::new("/dev/null")), ProbeError::Kind(_)));
    assert!(matches!(open(&folder.path().join("none")), ProbeError::Missing(_)));
    let memory = Path::new("/dev/shm");
    if !fs::read_to_string("/proc/mounts").is_ok_and(|text| text.contains("tmpfs /dev/shm tmpfs")) {
        gordon_testkit::skipped("a_target_that_is_not_storage_is_refused: no tmpfs at /dev/shm");
        return;
    }
    let folder = tempfile::tempdir_in(memory).unwrap();
    let error = open(&file(folder.path())).to_string();
    assert!(error.contains("does not do direct I/O"), "{error}");
    assert!(error.contains("\n  try: a path on a disk"), "{error}");
}
