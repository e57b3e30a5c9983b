//! The validator compared with a simple model, and with the output of valsort 1.5.

use gordon_sort::{
    Progress, Records, SortError, Validated, read_summaries, validate, write_summary,
};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Records with these keys.
fn records(keys: &[u16]) -> Vec<u8> {
    let mut bytes = vec![0; keys.len() * 100];
    Records::new(false, false).fill(0, &mut bytes);
    for (record, key) in bytes.chunks_mut(100).zip(keys) {
        record[..10].fill(0);
        record[4..6].copy_from_slice(&key.to_be_bytes());
    }
    bytes
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }
}

fn whole(paths: &[PathBuf]) -> Validated {
    let parts = validate(paths, None, &Progress::default()).expect("read");
    Validated::whole(&parts).expect("some")
}

fn counted(keys: &[u16]) -> (u64, u64, u64, Option<u64>) {
    let pairs = || (1..).zip(keys.windows(2));
    let duplicates = pairs().filter(|(_, pair)| pair[0] == pair[1]).count();
    let mut falls = pairs().filter(|(_, pair)| pair[0] > pair[1]).map(|(at, _)| at);
    let first = falls.next();
    let unordered = u64::from(first.is_some()) + falls.count() as u64;
    (keys.len() as u64, duplicates as u64, unordered, first)
}

proptest! {
    #[test]
    fn joined_partitions_equal_the_whole(
        keys in proptest::collection::vec(0u16..6, 1..60),
        sorted in any::<bool>(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
    ) {
        let mut keys = keys;
        if sorted {
            keys.sort_unstable();
        }
        let folder = Folder::new();
        let bytes = records(&keys);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(keys.len())).collect();
        ends.push(keys.len());
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|end| *end > 0);
        let mut start = 0;
        let mut paths = Vec::new();
        let mut summaries = Vec::new();
        for end in ends {
            let path = folder.file(&format!("part-{end}"), &bytes[start * 100..end * 100]);
            summaries.extend(whole(std::slice::from_ref(&path)).to_bytes());
            paths.push(path);
            start = end;
        }
        let found = whole(&paths);
        let (count, duplicates, unordered, first) = counted(&keys);
        let sum: u128 = bytes.chunks(100).map(|r| u128::from(crc32fast::hash(r))).sum();
        prop_assert_eq!(found.records, count);
        prop_assert_eq!(found.duplicates, duplicates);
        prop_assert_eq!(found.unordered, unordered);
        prop_assert_eq!(found.first_disorder, first);
        prop_assert_eq!(found.checksum, sum);
        prop_assert_eq!(&found.first[..], &bytes[..100]);
        prop_assert_eq!(&found.last[..], &bytes[bytes.len() - 100..]);
        // Files of summaries give the same result.
        let summaries = read_summaries(&folder.file("all.sum", &summaries)).expect("read");
        prop_assert_eq!(Validated::whole(&summaries), Some(found));
    }

    #[test]
    fn random_bytes_are_refused_as_summaries(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        // Random 128-bit numbers exceed the counts of any file.
        let folder = Folder::new();
        prop_assert!(read_summaries(&folder.file("made", &bytes)).is_err());
    }
}

#[test]
fn disorder_is_found_between_blocks() {
    // A block has 40,960 records.
    let folder = Folder::new();
    let mut keys: Vec<u16> = (0..100_000u32).map(|n| (n / 4) as u16).collect();
    let path = folder.file("made", &records(&keys));
    let progress = Progress::default();
    let parts = validate(&[path], None, &progress).expect("read");
    assert_eq!((parts[0].duplicates, parts[0].first_disorder), (75_000, None));
    assert_eq!(progress.done.load(Ordering::Relaxed), 10_000_000);
    assert_eq!(progress.total.load(Ordering::Relaxed), 10_000_000);
    for place in [1, 40_959, 40_960, 40_961, 81_920, 99_999] {
        let kept = std::mem::replace(&mut keys[place], 0);
        let found = whole(&[folder.file("made", &records(&keys))]);
        let (_, duplicates, unordered, first) = counted(&keys);
        assert_eq!((found.duplicates, found.unordered), (duplicates, unordered), "{place}");
        assert_eq!(found.first_disorder, first, "{place}");
        keys[place] = kept;
    }
}

#[test]
fn a_number_of_records_limits_the_check() {
    let folder = Folder::new();
    let mut bytes = records(&[1, 2, 3, 4, 0]);
    // As on a block device, other data follow the records.
    bytes.extend([7; 33]);
    let path = folder.file("made", &bytes);
    let found =
        validate(&[path.clone(), path.clone()], Some(4), &Progress::default()).expect("read");
    assert_eq!(found.iter().map(|part| part.records).collect::<Vec<_>>(), [4, 4]);
    let found = Validated::whole(&found).expect("some");
    assert_eq!((found.unordered, found.first_disorder), (1, Some(4)));
    for records in [0, 6, u64::MAX] {
        let error = validate(std::slice::from_ref(&path), Some(records), &Progress::default());
        let error = error.expect_err("not so many").to_string();
        assert!(error.contains(&format!("made: {records} records of 5")), "{error}");
    }
}

/// The non-zero bytes of the numbers that `valsort -o` of valsort 1.5 writes for gensort's first
/// two ASCII records in reverse order.
const VALSORT: [(usize, u8); 8] =
    [(8, 1), (24, 1), (40, 2), (72, 92), (73, 106), (74, 90), (75, 63), (76, 1)];

#[test]
fn a_summary_matches_valsort() {
    let mut bytes = vec![0; 200];
    Records::new(true, false).fill(0, &mut bytes);
    bytes.rotate_left(100);
    let folder = Folder::new();
    let found = whole(&[folder.file("made", &bytes)]);
    let mut expected = [0; 80];
    VALSORT.iter().for_each(|(at, value)| expected[*at] = *value);
    let expected = [&expected[..], &bytes].concat();
    assert_eq!(found.to_bytes(), expected);
    let path = folder.0.path().join("sum");
    write_summary(&found, &path, &Progress::default()).expect("written");
    assert_eq!(fs::read(&path).expect("read"), expected);
}

#[test]
fn files_that_cannot_be_checked_are_refused() {
    let folder = Folder::new();
    let missing = folder.0.path().join("none");
    let one = folder.file("one", &records(&[1]));
    let errors = [
        (folder.file("empty", b""), "empty: no record in 0 bytes"),
        (folder.file("short", &[0; 99]), "short: no record in 99 bytes"),
        (
            folder.file("odd", &[0; 1234]),
            "1234 bytes are not whole records of 100: 34 are left over from byte 1200",
        ),
        (missing, "none: cannot open it: No such file"),
        (folder.0.path().into(), "neither a regular file nor a block device"),
        ("/dev/zero".into(), "neither a regular file nor a block device"),
    ];
    for (path, part) in errors {
        // The error comes before any file is checked.
        let progress = Progress::default();
        let error = validate(&[one.clone(), path], None, &progress).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(progress.done.load(Ordering::Relaxed), 0);
    }
    for bytes in [vec![], vec![0; 279], vec![0; 280], vec![0; 281]] {
        let error = read_summaries(&folder.file("sum", &bytes)).expect_err("none").to_string();
        assert!(error.contains("sum: not summaries of 280 bytes"), "{error}");
    }
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    assert!(matches!(validate(&[one], None, &progress), Err(SortError::Interrupted)));
}
