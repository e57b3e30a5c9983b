//! The store of replays: what is kept, what is used again, and what is not trusted.
#![allow(clippy::unwrap_used)]

mod common;

use common::{io, part, sample, survey, write};
use gordon_blockio::IoOp;
use gordon_cluster::ClusterError;
use gordon_cluster::model::paper::PaperSurvey;
use gordon_cluster::survey::ReportOf;
use gordon_cluster::survey::{missing_replays, run, run_with};
use gordon_cluster::trace::replays::{RESULTS_VERSION, ReplayJob, ReplayStore, run_job};
use gordon_trace::{BlockIo, TraceError};
use gordon_units::{Ns, Progress, Sourced, Watts};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// A job of three seconds: random and sequential reads and writes of several sizes, and a flush.
fn job(folder: &Path, name: &str, seed: u64) -> String {
    let mut requests: Vec<BlockIo> = Vec::new();
    for i in 0..2000u64 {
        let at = Ns(i * 1_500_000);
        let op = if i % 3 == 0 { IoOp::Read } else { IoOp::Write };
        let random = (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed) % 100_000 * 8;
        let place = if i % 2 == 0 { random } else { 10_000_000 + i * 256 };
        requests.push(io(at, op, place, if i % 2 == 0 { 8 } else { 256 }, Some(Ns(4_000_000))));
    }
    requests.push(io(Ns(2_999_900_000), IoOp::Flush, 0, 0, Some(Ns(1000))));
    let samples: Vec<_> = (0..3).map(|second| sample(second, 200_000_000, 1000)).collect();
    write(&folder.join(name), &samples, &requests)
}

const STORAGES: [(&str, u32); 3] =
    [("gordon-slc-256g", 1), ("sata-7200-1tb", 1), ("sata-7200-1tb", 4)];

fn config(traces: Vec<String>) -> PaperSurvey {
    let nodes = u32::try_from(traces.len()).unwrap();
    survey(traces, nodes, &[("atom", "1.9GHz", 1)], &STORAGES)
}

fn kept(config: &PaperSurvey, store: &ReplayStore) -> ReportOf<PaperSurvey> {
    run_with(config, Some(store), &Progress::default()).unwrap()
}

fn json(report: &ReportOf<PaperSurvey>) -> String {
    serde_json::to_string(report).unwrap()
}

fn jobs(config: &PaperSurvey, store: &ReplayStore) -> Vec<ReplayJob> {
    missing_replays(config, store, &Progress::default()).unwrap().jobs
}

/// The entries of a store, in order of their names.
fn entries(store: &ReplayStore) -> Vec<PathBuf> {
    let version = fs::read_dir(store.folder()).unwrap().next().unwrap().unwrap().path();
    let mut paths: Vec<_> =
        fs::read_dir(version).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The entries of a store as files: a new entry is a new file.
fn files(store: &ReplayStore) -> Vec<u64> {
    entries(store).iter().map(|path| fs::metadata(path).unwrap().ino()).collect()
}

/// A progress with which any replay is interrupted.
fn no_replay() -> Progress {
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    progress
}

#[test]
fn a_second_survey_takes_all_replays_from_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = ReplayStore::at(&folder.path().join("new/cache")).unwrap();
    let config = config(vec![job(folder.path(), "a", 1), job(folder.path(), "b", 2)]);
    let without = json(&run(&config, &Progress::default()).unwrap());
    assert_eq!(jobs(&config, &store).len(), 6);
    assert_eq!(json(&kept(&config, &store)), without);
    let missing = missing_replays(&config, &store, &Progress::default()).unwrap();
    assert_eq!((missing.jobs.len(), missing.found), (0, 6));
    let before = files(&store);
    let progress = Progress::default();
    let again = run_with(&config, Some(&store), &progress).unwrap();
    assert_eq!(json(&again), without);
    let designs = again.designs_total;
    assert_eq!(progress.progress(), (designs, designs));
    assert_eq!(files(&store), before, "a replay would have replaced its entry");
}

#[test]
fn an_interrupted_survey_continues_with_the_replays_that_are_done() {
    let folder = tempfile::tempdir().unwrap();
    let store = ReplayStore::at(&folder.path().join("cache")).unwrap();
    let all = config(vec![job(folder.path(), "a", 1)]);
    let first = PaperSurvey { storage: all.storage[..1].to_vec(), ..all.clone() };
    kept(&first, &store);
    let stopped = run_with(&all, Some(&store), &no_replay()).unwrap_err();
    assert!(matches!(stopped, ClusterError::Interrupted));
    assert_eq!(missing_replays(&all, &store, &Progress::default()).unwrap().found, 1);
}

#[test]
fn an_entry_is_found_by_what_the_replay_depends_on_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = ReplayStore::at(&folder.path().join("cache")).unwrap();
    let trace = job(folder.path(), "a", 1);
    let config = config(vec![trace.clone()]);
    kept(&config, &store);
    let missing = |change: &dyn Fn(&mut PaperSurvey)| {
        let mut changed = config.clone();
        change(&mut changed);
        jobs(&changed, &store).len()
    };

    assert_eq!(missing(&|c| c.storage[0].counts = vec![1, 2]), 1);
    assert_eq!(missing(&|c| c.processors[0].counts = vec![1, 2]), 0);
    let disk = "sata-7200-1tb";
    assert_eq!(missing(&|c| c.parts.disk.get_mut(disk).unwrap().cache.segments = 3.into()), 2);
    assert_eq!(missing(&|c| c.parts.disk.get_mut(disk).unwrap().power.idle = Watts(0.1).into()), 0);
    assert_eq!(missing(&|c| c.parts.disk.get_mut(disk).unwrap().summary = "a disk".into()), 0);
    let flash = "gordon-slc-256g";
    assert_eq!(
        missing(&|c| {
            let timing = &mut c.parts.flash.get_mut(flash).unwrap().timing;
            timing.erase = Sourced::from(timing.erase.value);
        }),
        0,
        "another source of the same value"
    );
    assert_eq!(
        missing(&|c| {
            let timing = &mut c.parts.flash.get_mut(flash).unwrap().timing;
            timing.erase = Sourced::from(timing.erase.value + Ns(1));
        }),
        1
    );

    let renamed = folder.path().join("another-name");
    fs::rename(&trace, &renamed).unwrap();
    let renamed = PaperSurvey { traces: vec![renamed.display().to_string()], ..config.clone() };
    assert_eq!(jobs(&renamed, &store).len(), 0);
    let other = PaperSurvey { traces: vec![job(folder.path(), "b", 2)], ..config.clone() };
    assert_eq!(jobs(&other, &store).len(), 3);
    let twice = [other.traces[0].clone(), other.traces[0].clone()];
    let twice = PaperSurvey { traces: twice.to_vec(), nodes: 2, ..other };
    assert_eq!(jobs(&twice, &store).len(), 3, "equal traces are replayed once");
}

#[test]
fn a_damaged_entry_is_reported_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = ReplayStore::at(&folder.path().join("cache")).unwrap();
    let config = config(vec![job(folder.path(), "a", 1)]);
    let good = kept(&config, &store);
    let paths = entries(&store);
    let whole = fs::read(&paths[0]).unwrap();
    let other = fs::read(&paths[1]).unwrap();
    let mut flipped = whole.clone();
    let at = whole.len() - 10;
    flipped[at] ^= 1;
    let mut binary = whole.clone();
    binary[40] = 0xFF;
    let cut = whole[..whole.len() / 2].to_vec();
    for damaged in [Vec::new(), b"\n".to_vec(), cut, flipped, binary, other] {
        fs::write(&paths[0], &damaged).unwrap();
        assert_eq!(
            missing_replays(&config, &store, &Progress::default()).unwrap().warnings.len(),
            1
        );
        let mut report = kept(&config, &store);
        let warning = report.warnings.pop().unwrap();
        assert!(warning.contains(&paths[0].display().to_string()), "{warning}");
        assert_eq!(json(&report), json(&good));
        assert_eq!(fs::read(&paths[0]).unwrap(), whole);
    }
    assert_eq!(json(&kept(&config, &store)), json(&good));
}

#[test]
fn a_store_that_fails_later_does_not_stop_the_survey() {
    let folder = tempfile::tempdir().unwrap();
    let store = ReplayStore::at(&folder.path().join("cache")).unwrap();
    let config = config(vec![job(folder.path(), "a", 1)]);
    let good = kept(&config, &store);
    for path in entries(&store) {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    }
    let mut report = kept(&config, &store);
    let warning = report.warnings.pop().unwrap();
    assert!(warning.contains("cannot write") && warning.contains("and 2 more"), "{warning}");
    assert_eq!(json(&report), json(&good));
    let jobs = jobs(&config, &store);
    let entry = run_job(&jobs[0], &Progress::default()).unwrap();
    let error = store.add(&jobs[0], &entry).unwrap_err();
    assert!(matches!(error, ClusterError::Cache { .. }), "{error}");
    assert_eq!(entries(&store).len(), 3, "no temporary file is left");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "text").unwrap();
    for path in [file.clone(), file.join("cache"), PathBuf::from("/proc/cache")] {
        let error = ReplayStore::at(&path).unwrap_err();
        assert!(matches!(error, ClusterError::Cache { .. }), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()));
    }
    assert_eq!(fs::read(&file).unwrap(), b"text");
}

#[test]
fn jobs_computed_elsewhere_give_the_same_entries() {
    let folder = tempfile::tempdir().unwrap();
    let here = ReplayStore::at(&folder.path().join("here")).unwrap();
    let there = ReplayStore::at(&folder.path().join("there")).unwrap();
    let config = config(vec![job(folder.path(), "a", 1)]);
    let report = kept(&config, &here);
    for job in jobs(&config, &there) {
        let sent = serde_json::to_string(&job).unwrap();
        let job: ReplayJob = serde_json::from_str(&sent).unwrap();
        let entry = run_job(&job, &Progress::default()).unwrap();
        assert!(there.add(&job, &entry[1..]).is_err());
        there.add(&job, &entry).unwrap();
    }
    let bytes = |store: &ReplayStore| {
        let paths = entries(store).into_iter();
        paths.map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(bytes(&here), bytes(&there));
    let before = files(&there);
    assert_eq!(json(&kept(&config, &there)), json(&report));
    assert_eq!(files(&there), before);
}

#[test]
fn a_job_that_cannot_be_computed_here_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = ReplayStore::at(&folder.path().join("cache")).unwrap();
    let trace = PathBuf::from(job(folder.path(), "a", 1));
    let job_of = |config: &PaperSurvey| jobs(config, &store).remove(0);
    let mine = job_of(&config(vec![trace.display().to_string()]));
    let fail = |job: &ReplayJob| run_job(job, &Progress::default()).unwrap_err();

    let mut other: serde_json::Value = serde_json::to_value(&mine).unwrap();
    other["gordon"] = "0.0.9".into();
    let other: ReplayJob = serde_json::from_value(other).unwrap();
    let error = fail(&other);
    assert!(
        matches!(&error, ClusterError::OtherVersion { there, .. } if *there == format!("0.0.9-r{RESULTS_VERSION}"))
    );

    let aside = folder.path().join("aside");
    fs::rename(&trace, &aside).unwrap();
    assert!(matches!(fail(&mine), ClusterError::NotShared { .. }));
    job(folder.path(), "a", 2);
    assert!(matches!(fail(&mine), ClusterError::NotShared { .. }));
    fs::write(trace.join("block.parquet"), "text").unwrap();
    assert!(matches!(fail(&mine), ClusterError::Trace(TraceError::Damaged { .. })));
}

/// The SHA-256 of the storage times, counters and wear of the job above, by `RESULTS_VERSION`.
const DIGESTS: [&str; 2] = [
    "10d92bb5b8b4c1710787e460a58f28be40b16c20d8d8ed7661c752ba5676d62f",
    "94dc528201d189f6cf038fc8d2157e8bbd5191e1b59b2f20da81c8db09e71459",
];

#[test]
fn results_change_only_with_their_version() {
    let folder = tempfile::tempdir().unwrap();
    let storages = [STORAGES.as_slice(), &[("nvme-tlc-1tb", 2)]].concat();
    let traces = vec![job(folder.path(), "a", 1)];
    let mut config = survey(traces, 1, &[("atom", "1.9GHz", 1)], &storages);
    config.parts.flash.insert("nvme-tlc-1tb".into(), part("flash", "nvme-tlc-1tb"));
    let report = run(&config, &Progress::default()).unwrap();
    let flash: Vec<_> = report.designs.iter().map(|design| design.flash).collect();
    let results = (&report.storages, &report.extras.series.storages, flash);
    let sum = Sha256::digest(serde_json::to_vec(&results).unwrap());
    let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(DIGESTS.len(), RESULTS_VERSION as usize);
    assert_eq!(
        DIGESTS.last(),
        Some(&sum.as_str()),
        "replays have other results: increase RESULTS_VERSION, so that kept replays are not used, \
         and add this digest"
    );
}
