//! The generator compared with gensort 1.5, and the kinds of output.

use gordon_sort::{Generate, Progress, Records, SortError, generate};
use gordon_units::Bytes;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

/// The checksum printed by `gensort -c [-a] [-s] -bSTART COUNT` of gensort 1.5, and the CRC-32 of
/// its output: start, count, -a, -s, checksum, CRC-32.
#[rustfmt::skip]
const GENSORT: [(u128, usize, bool, bool, &str, u32); 40] = [
    (0, 1, false, false, "9ea593a0", 0x9ea593a0),
    (0, 1, false, true, "9ea593a0", 0x9ea593a0),
    (0, 1, true, false, "3fcaea0a", 0x3fcaea0a),
    (0, 1, true, true, "3fcaea0a", 0x3fcaea0a),
    (0, 1000, false, false, "1ea6370b955", 0xb2d6dc98),
    (0, 1000, false, true, "1e96301166b", 0x997bda43),
    (0, 1000, true, false, "1f5dfb3631a", 0xb726b8d7),
    (0, 1000, true, true, "1eef17d1cac", 0xa5ea1561),
    (0, 100000, false, false, "c3068574c6ff", 0x5527bef2),
    (0, 100000, false, true, "c3480c053dda", 0xe865364b),
    (0, 100000, true, false, "c34e19c81885", 0xde6b3fae),
    (0, 100000, true, true, "c30e6c1fe3e5", 0x73ea7c9b),
    (1, 50, false, false, "18d82f1a37", 0x4b5f3f79),
    (1, 50, false, true, "1b2c522db2", 0xcdb6d0f8),
    (1, 50, true, false, "17a2655f00", 0x023f1988),
    (1, 50, true, true, "18677f099d", 0xd1d45025),
    (2000, 50, false, false, "18a36e9fa2", 0xf092e0da),
    (2000, 50, false, true, "1adf4cbbae", 0x0872f3f8),
    (2000, 50, true, false, "17392305aa", 0x58b99ace),
    (2000, 50, true, true, "18697168f4", 0xf5cd2314),
    ((1 << 60) - 6, 50, false, false, "1b43ad8f89", 0xcc88d4bd),
    ((1 << 60) - 6, 50, false, true, "1c10ce74b2", 0x361fe847),
    ((1 << 60) - 6, 50, true, false, "1a9a2c3429", 0xba5512a8),
    ((1 << 60) - 6, 50, true, true, "184a460c2f", 0xfa73414b),
    ((1 << 64) - 6, 50, false, false, "1cf373f655", 0x92a4c57d),
    ((1 << 64) - 6, 50, false, true, "172622c1e2", 0xcf962a99),
    ((1 << 64) - 6, 50, true, false, "1844d848e2", 0x2718df7f),
    ((1 << 64) - 6, 50, true, true, "19b9af6499", 0x109de8d4),
    ((1 << 65) - 2, 50, false, false, "1683c8670c", 0x515472ab),
    ((1 << 65) - 2, 50, false, true, "1ab0d2c0c6", 0x14417670),
    ((1 << 65) - 2, 50, true, false, "1b6f657ad1", 0xceccd1f4),
    ((1 << 65) - 2, 50, true, true, "1a6687e95e", 0x2f39eee4),
    ((1 << 124) - 6, 50, false, false, "185bc6c456", 0x039e6209),
    ((1 << 124) - 6, 50, false, true, "19fb8dc026", 0xe2a555b8),
    ((1 << 124) - 6, 50, true, false, "190745c034", 0x4325c779),
    ((1 << 124) - 6, 50, true, true, "1abba0af03", 0xef2fcee6),
    (u128::MAX - 49, 50, false, false, "1895197ae6", 0x6ea06def),
    (u128::MAX - 49, 50, false, true, "17378492bc", 0xcb17e86f),
    (u128::MAX - 49, 50, true, false, "1a3dde68a7", 0x02328651),
    (u128::MAX - 49, 50, true, true, "1ad74a6f65", 0xa63e6d23),
];

fn made(start: u128, count: usize, ascii: bool, skewed: bool) -> Vec<u8> {
    let mut bytes = vec![0; count * 100];
    Records::new(ascii, skewed).fill(start, &mut bytes);
    bytes
}

fn to(output: &Path, records: u64) -> Generate {
    Generate {
        outputs: vec![output.into()],
        stripe: None,
        records,
        start: 0,
        ascii: false,
        skewed: false,
    }
}

fn in_folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.dat");
    (folder, path)
}

#[test]
fn the_first_records_byte_for_byte() {
    let ascii = concat!(
        "AsfAGHM5om  00000000000000000000000000000000  ",
        "0000222200002222000022220000222200002222000000001111\r\n",
        "~sHd0jDv6X  00000000000000000000000000000001  ",
        "77779999444488885555CCCC777755555555BBBB666644446666\r\n",
    );
    assert_eq!(String::from_utf8_lossy(&made(0, 2, true, false)), ascii);
    let binary = "4a696d4772617952495065080060836b392cd58b8f5e55961855e79b87f02283a466\
                  b6aab1f9e0cacf1e26b3292afd1064bb18b56ac07d6f656b1d2f430d57bde7e47d81\
                  f36a6dd267948bbc2397bfe28c334e4ad82b8e70166293cfaa0116bfda3bb1ab";
    let hex: String = made(0, 1, false, false).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, binary);
}

#[test]
fn all_records_match_gensort() {
    for (start, count, ascii, skewed, sum, crc) in GENSORT {
        let bytes = made(start, count, ascii, skewed);
        assert_eq!(crc32fast::hash(&bytes), crc, "{start} {count} {ascii} {skewed}");
        let (folder, path) = in_folder();
        let what = Generate { start, ascii, skewed, ..to(&path, count as u64) };
        let summary = generate(&what, &Progress::default()).expect("made");
        assert_eq!((summary.checksum.as_str(), summary.bytes), (sum, bytes.len() as u64));
        assert_eq!(fs::read(&path).expect("read"), bytes);
        // No other file is left.
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}

#[test]
fn skew_of_every_class_matches_gensort() {
    // The CRC-32 of the concatenated outputs of `gensort [-a] -s -bN 32` for N = 2^0 .. 2^127.
    for (ascii, crc) in [(false, 0x9d8c_34a2), (true, 0xec96_400a)] {
        let mut hasher = crc32fast::Hasher::new();
        (0..128).for_each(|power| hasher.update(&made(1 << power, 32, ascii, true)));
        assert_eq!(hasher.finalize(), crc, "{ascii}");
    }
}

#[test]
fn striped_records_are_the_same_unit_by_unit() {
    let count = 40_960 + 4321;
    let expected = made(0, count, false, false);
    let folder = tempfile::tempdir().expect("a folder");
    for (files, unit) in [(1usize, 4096usize), (2, 256 << 10), (3, 12_288), (4, 8 << 20)] {
        let outputs: Vec<PathBuf> = (0..files).map(|n| folder.path().join(n.to_string())).collect();
        let (stripe, records) = (Some(Bytes(unit as u64)), count as u64);
        let what = Generate { outputs: outputs.clone(), stripe, ..to(Path::new("none"), records) };
        generate(&what, &Progress::default()).expect("made");
        let parts: Vec<Vec<u8>> =
            outputs.iter().map(|path| fs::read(path).expect("read")).collect();
        let mut units: Vec<_> = parts.iter().map(|part| part.chunks(unit)).collect();
        let mut found = Vec::new();
        for number in 0..expected.len().div_ceil(unit) {
            found.extend_from_slice(units[number % files].next().expect("a unit"));
        }
        assert!(found == expected, "{files} files, {unit}");
        assert!(units.iter_mut().all(|units| units.next().is_none()), "no more of it");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), files);
    }
    let several = |stripe| Generate {
        outputs: vec![folder.path().join("a"), folder.path().join("b")],
        stripe,
        ..to(Path::new("none"), 10)
    };
    for (what, expected) in [
        (several(None), "one, or --stripe"),
        (several(Some(Bytes(1000))), "is not whole pages"),
        (Generate { outputs: vec![], ..several(Some(Bytes(4096))) }, "over no files"),
        (Generate { outputs: vec!["a/b".into()], ..several(Some(Bytes(4096))) }, "no such folder"),
        (Generate { outputs: vec!["-".into()], ..several(Some(Bytes(4096))) }, "stdout"),
    ] {
        let message = generate(&what, &Progress::default()).expect_err(expected).to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert!(!folder.path().join("a").exists());
}

#[test]
fn blocks_are_in_their_places() {
    // Two whole blocks of 40,960 records and a partial one that is not whole pages.
    let count = 2 * 40_960 + 4321;
    let (_folder, path) = in_folder();
    for (ascii, skewed) in [(false, false), (true, true)] {
        let progress = Progress::default();
        let what = Generate { start: 77, ascii, skewed, ..to(&path, count) };
        generate(&what, &progress).expect("made");
        assert!(fs::read(&path).expect("read") == made(77, count as usize, ascii, skewed));
        assert_eq!(progress.done.load(Ordering::Relaxed), 100 * count);
        assert_eq!(progress.total.load(Ordering::Relaxed), 100 * count);
    }
}

#[test]
fn a_pipe_receives_records_in_order() {
    let (_folder, path) = in_folder();
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let count = 3 * 40_960 + 17;
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        let maker = scope.spawn(|| generate(&to(&path, count), &Progress::default()));
        fs::File::open(&path).and_then(|mut pipe| pipe.read_to_end(&mut got)).expect("read");
        assert!(!maker.join().expect("no panic").expect("made").direct);
    });
    assert!(got == made(0, count as usize, false, false));
}

#[test]
fn a_closed_pipe_is_an_error() {
    let (_folder, path) = in_folder();
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    std::thread::scope(|scope| {
        let maker = scope.spawn(|| generate(&to(&path, 200_000), &Progress::default()));
        let mut some = [0; 1000];
        fs::File::open(&path).and_then(|mut pipe| pipe.read_exact(&mut some)).expect("read");
        let error = maker.join().expect("no panic").expect_err("nobody reads").to_string();
        assert!(error.contains("made.dat: cannot write: Broken pipe"), "{error}");
    });
}

#[test]
fn a_stopped_generator_leaves_the_old_file() {
    let (folder, path) = in_folder();
    fs::write(&path, "before").expect("written");
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    let ended = generate(&to(&path, 1_000_000), &progress);
    assert!(matches!(ended, Err(SortError::Interrupted)), "{ended:?}");
    // Also if a pipe has no reader.
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let ended = generate(&to(&pipe, 10), &progress);
    assert!(matches!(ended, Err(SortError::Interrupted)), "{ended:?}");
    assert_eq!(fs::read(&path).expect("read"), b"before");
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 2);
}

#[test]
fn a_symbolic_link_stays_a_link() {
    let (folder, path) = in_folder();
    let link = folder.path().join("link");
    fs::write(&path, "before").expect("written");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    generate(&to(&link, 3), &Progress::default()).expect("made");
    assert!(link.is_symlink());
    assert_eq!(fs::read(&path).expect("read"), made(0, 3, false, false));
}

#[test]
fn invalid_outputs_are_refused() {
    let (folder, path) = in_folder();
    let socket = folder.path().join("socket");
    let _listens = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    let errors = [
        (to(&socket, 1), "nothing can be written there"),
        (to(&path, 0), "records: 0 of them\n  try: 1 to 92233720368547758"),
        (to(&path, 92_233_720_368_547_759), "records: 92233720368547759 of them"),
        (to(&path, u64::MAX), "records: 18446744073709551615 of them"),
        (
            Generate { start: u128::MAX, ..to(&path, 2) },
            "start: 340282366920938463463374607431768211455",
        ),
        (to(folder.path(), 1), "it is a folder"),
        (to(&path.join("none"), 1), "there is no such folder"),
        // 8 EiB exceed every file system.
        (to(&path, 92_233_720_368_547_758), "made.dat"),
    ];
    for (what, part) in errors {
        let error = generate(&what, &Progress::default()).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
}
