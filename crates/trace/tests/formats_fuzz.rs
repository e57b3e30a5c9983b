//! Reading arbitrary bytes gives requests or an error, never a panic, and never more requests than
//! the file has bytes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_trace::formats::{
    Format, FormatError, ObjectReader, Order, ReadOptions, TraceRequest, detect, open,
};
use gordon_trace::{BlockFileWriter, ColumnKind, Columns};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

fn read(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
) -> Result<Vec<TraceRequest>, FormatError> {
    let mut reader = open(path, format, options)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok(all)
}

/// The sizes of the requested objects.
fn objects(path: &Path, format: Format, options: &ReadOptions) -> Result<Vec<u64>, FormatError> {
    let mut reader = ObjectReader::open(path, format, options, false)?;
    let (mut sizes, mut batch) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch)? {
        sizes.extend(batch.iter().map(|object| object.size));
    }
    Ok(sizes)
}

/// Reads the bytes in every way. The requests must be in order and aligned to sectors.
fn every_way(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    fs::write(&path, bytes).unwrap();
    let _ = detect(&path);
    for format in Format::all().map(Some).chain([None]) {
        for order in [Order::Strict, Order::Clamp, Order::Sort] {
            for skip_bad in [false, true] {
                let options = ReadOptions { skip_bad, order, ..ReadOptions::default() };
                match read(&path, format, &options) {
                    Ok(all) => {
                        assert!(!all.is_empty() && all.len() <= bytes.len());
                        assert!(all.is_sorted_by_key(|io| io.at));
                        let sectors =
                            |io: &TraceRequest| (io.offset.0 | io.len.0).is_multiple_of(512);
                        assert!(all.iter().all(sectors));
                    }
                    Err(error) => assert!(error.to_string().contains("\n  try: "), "{error}"),
                }
                let Some(format) = format.filter(|format| format.is_objects()) else { continue };
                match objects(&path, format, &options) {
                    Ok(sizes) => {
                        assert!(!sizes.is_empty() && sizes.len() <= bytes.len());
                        assert!(sizes.iter().all(|&size| size > 0));
                    }
                    Err(error) => assert!(error.to_string().contains("\n  try: "), "{error}"),
                }
            }
        }
    }
}

/// The formats for which there is a valid file to damage.
fn formats() -> Vec<Format> {
    let described = ["msr", "mqsim", "disksim", "spc", "alibaba", "tencent"];
    let described = described.iter().map(|name| name.parse().unwrap());
    Format::ALL.into_iter().filter(|f| *f != Format::Gordon).chain(described).collect()
}

/// A valid file of each format.
fn good(format: Format) -> Vec<u8> {
    let text = match format {
        Format::Blkparse => "  8,0    3        8     0.000007000   697  D  WS 223490 + 8 [jbd2]\n",
        Format::Ftrace => "  a-9  [001] .N... 19.25: block_rq_issue: 8,0 R 512 () 8 + 1 [a]\n",
        Format::Fio => "fio version 3 iolog\n1 /f add\n2 /f read 0 512\n5 /f write 512 512\n",
        Format::MSR => "128166372003061629,src1,1,Read,383496192,32768,113736\n",
        Format::MQSIM => "11413000 0 657728 16 1\n",
        Format::DISKSIM => "0.500000 0 100 8 1\n",
        Format::DisksimValidate => "R Hit    1975456   4  15362.00000  56074.00000\n",
        Format::SPC => "0,20941264,8192,W,0.551706\n",
        Format::ALIBABA => "419,W,8792731648,16384,1577808144360767\n",
        Format::TENCENT => "1538323200,12910952,128,0,1063\n",
        Format::Clf => "h - - [22/Nov/2026:20:04:49 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n",
        Format::Vscsi => {
            let mut record = [0_u8; 32];
            record[4..6].copy_from_slice(&[0, 2]);
            record[12..16].copy_from_slice(&[0x2a, 0, 0, 1]);
            return record.repeat(4);
        }
        Format::OracleGeneral => {
            let mut record = [0_u8; 24];
            record[13] = 2;
            record[16..24].fill(0xff);
            return record.repeat(4);
        }
        _ => {
            let mut event = [0_u8; 48];
            event[..4].copy_from_slice(&[7, 0x74, 0x61, 0x65]);
            event[25] = 16;
            event[28..32].copy_from_slice(&[7, 0, 1, 0]);
            return event.repeat(4);
        }
    };
    text.repeat(if format == Format::Fio { 1 } else { 4 }).into_bytes()
}

#[test]
fn the_good_files_are_good() {
    let folder = tempfile::tempdir().unwrap();
    for format in formats() {
        let path = folder.path().join(format.name());
        fs::write(&path, good(format)).unwrap();
        assert_eq!(detect(&path).unwrap(), format);
        let many = if format == Format::Fio { 2 } else { 4 };
        if format.is_objects() {
            assert_eq!(objects(&path, format, &ReadOptions::default()).unwrap().len(), many);
        }
        if format != Format::Clf {
            assert_eq!(read(&path, None, &ReadOptions::default()).unwrap().len(), many, "{format}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        every_way(&bytes);
    }

    #[test]
    fn random_text(text in "([0-9RWrwQDC.,+ \\t:/-]{0,40}\\r?\\n){0,8}") {
        every_way(text.as_bytes());
    }

    #[test]
    fn damaged(
        which in 0..formats().len(),
        cut in 0..300_usize,
        changes in prop::collection::vec((0..300_usize, any::<u8>()), 0..4),
        packed in 0..3,
    ) {
        let mut bytes = good(formats()[which]);
        bytes.truncate(cut.max(1));
        for (at, byte) in &changes {
            let len = bytes.len();
            bytes[at % len] = *byte;
        }
        if packed == 1 {
            bytes = zstd::encode_all(&bytes[..], 1).unwrap();
            bytes.truncate(cut.max(1));
        }
        every_way(&bytes);
    }

    #[test]
    fn damaged_block_logs(
        changes in prop::collection::vec((any::<u32>(), any::<u8>()), 1..4),
        cut in 0..9_u32,
    ) {
        static LOG: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log");
            let columns = Columns::all(ColumnKind::Estimated, "made up").block;
            let mut writer = BlockFileWriter::create(&path, columns).unwrap();
            writer.block().process("sort");
            for i in 0..300 {
                writer.block().push(common::io(i, 0)).unwrap();
            }
            writer.finish(&serde_json::json!({ "made": "up" })).unwrap();
            fs::read(path).unwrap()
        });
        let mut bytes = LOG.clone();
        for (at, byte) in changes {
            let at = at as usize % bytes.len();
            bytes[at] ^= byte;
        }
        if cut == 0 {
            bytes.truncate(bytes.len() - 1);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, &bytes).unwrap();
        for format in [None, Some(Format::Gordon)] {
            match read(&path, format, &ReadOptions::default()) {
                // Two changes may cancel each other.
                Ok(all) => assert!(all.len() == 300 && bytes == *LOG),
                Err(error) => assert!(error.to_string().contains("\n  try: "), "{error}"),
            }
        }
    }
}
