//! Binary files of blktrace, one for each CPU.

use super::{gzip, reads, refused, with};
use gordon_blockio::IoOp::{Discard, Flush, Read, Write};
use gordon_trace::formats::{Format, ReadOptions, detect};
use std::fs;

fn event(time: u64, sector: u64, bytes: u32, action: u32, own: &[u8], big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    macro_rules! put {
        ($($value:expr),*) => {
            $(out.extend(if big { $value.to_be_bytes().to_vec() } else { $value.to_le_bytes().to_vec() });)*
        };
    }
    put!(0x6561_7407_u32, 1_u32, time, sector, bytes, action, 42_u32, 8_u32 << 20, 0_u32);
    put!(0_u16, u16::try_from(own.len()).unwrap());
    out.extend(own);
    out
}

#[test]
fn blktrace() {
    let (read, write, flush, issue) = (1_u32 << 16, 1 << 17, 1 << 18, 7);
    let (note, discard) = (1_u32 << 26, 1 << 29);
    for big in [false, true] {
        let mut bytes = event(0, 0, 0, note, b"fio\0", big);
        bytes.extend(event(90, 8, 4096, read | 1, &[], big));
        bytes.extend(event(100, 8, 4096, read | issue, &[], big));
        bytes.extend(event(150, 16, 512, write | issue, b"own bytes", big));
        bytes.extend(event(160, 0, 0, read | flush | issue, &[], big));
        bytes.extend(event(170, 32, 1024, write | discard | issue, &[], big));
        bytes.extend(event(180, 8, 4096, read | 8, &[], big));
        let sda = 8 << 20;
        let expected = [
            (0, Read, sda, 4096, 4096),
            (50, Write, sda, 8192, 512),
            (60, Flush, sda, 0, 0),
            (70, Discard, sda, 16_384, 1024),
        ];
        reads(Format::Blktrace, &bytes, &expected);
        let cut = &bytes[..bytes.len() - 5];
        refused(None, cut, &["record 7", "43 bytes at the end", "48 bytes"]);
        let mut later = bytes.clone();
        later[if big { 3 } else { 0 }] = 8;
        refused(None, &later, &["events of version 8"]);
        let mut odd = bytes.clone();
        odd[54] = 9;
        refused(None, &odd, &["record 2 (byte 52)", "magic"]);
    }
}

/// The same in binary, with the dispatches of a request in the files of two CPUs.
#[test]
fn a_requeue_on_another_cpu_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let write = |time, action: u32, sector| event(time, sector, 4096, 1 << 17 | action, &[], false);
    let (issue, requeue, complete) = (7_u32, 6, 8);
    let mut failed = write(60, complete, 64);
    failed[44] = 5;
    let first = [write(10, issue, 8), write(20, requeue, 8), write(40, complete, 8), failed];
    let second = [write(30, issue, 8), write(45, issue, 64), write(50, requeue, 64)];
    let last = [write(70, issue, 64)];
    for (cpu, events) in [first.concat(), second.concat(), last.concat()].iter().enumerate() {
        fs::write(dir.path().join(format!("sda.blktrace.{cpu}")), events).unwrap();
    }
    let (all, counts) = with(&dir.path().join("sda"), &ReadOptions::default());
    let brief: Vec<_> = all.iter().map(|io| (io.at.0, io.offset.0 / 512)).collect();
    assert_eq!(brief, [(0, 8), (35, 64), (60, 64)]);
    assert_eq!(counts.other_kinds, 5);
}

/// The files of all CPUs are read, whether the path is one of them or their stem.
#[test]
fn blktrace_per_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let issue = |time, sector| event(time, sector, 512, 1 << 16 | 7, &[], false);
    fs::write(dir.path().join("sda.blktrace.0"), [issue(10, 1), issue(40, 4)].concat()).unwrap();
    fs::write(dir.path().join("sda.blktrace.1"), b"").unwrap();
    // Events of a CPU may be slightly out of order.
    fs::write(dir.path().join("sda.blktrace.12"), [issue(30, 3), issue(20, 2)].concat()).unwrap();
    let read_whole = |names: [&str; 3]| {
        for path in names.map(|name| dir.path().join(name)) {
            assert_eq!(detect(&path).unwrap(), Format::Blktrace);
            let (all, _) = with(&path, &ReadOptions::default());
            let brief: Vec<_> = all.iter().map(|io| (io.at.0, io.offset.0 / 512)).collect();
            assert_eq!(brief, [(0, 1), (10, 2), (20, 3), (30, 4)], "{path:?}");
        }
    };
    read_whole(["sda.blktrace.0", "sda.blktrace.12", "sda"]);
    // The same with some or all files compressed.
    let pack = |name: &str, end: &str, pack: fn(&[u8]) -> Vec<u8>| {
        let path = dir.path().join(name);
        fs::write(dir.path().join(format!("{name}{end}")), pack(&fs::read(&path).unwrap()))
            .unwrap();
        fs::remove_file(path).unwrap();
    };
    pack("sda.blktrace.12", ".gz", gzip);
    read_whole(["sda.blktrace.0", "sda.blktrace.12.gz", "sda"]);
    pack("sda.blktrace.0", ".zst", |bytes| zstd::encode_all(bytes, 1).unwrap());
    read_whole(["sda.blktrace.0.zst", "sda.blktrace.12.gz", "sda"]);
}
