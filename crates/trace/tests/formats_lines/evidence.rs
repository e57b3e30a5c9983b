//! Formats are chosen with evidence, and the output of other programs is named.

use crate::{case, reads, refused};
use gordon_blockio::IoOp::{Flush, Read, Write};
use gordon_trace::formats::{Format, FormatError, ReadOptions, columns, open};

#[test]
fn five_small_integers_are_not_a_trace_of_tencent() {
    let text = "1,2,3,0,5\n2,3,4,1,5\n3,9,8,0,1\n";
    let case = case(text);
    let Err(FormatError::Ambiguous { candidates, .. }) =
        open(&case.path, None, &ReadOptions::default())
    else {
        panic!("it was read")
    };
    let tencent = candidates.iter().find(|candidate| candidate.options == "--format tencent");
    assert!(tencent.is_some_and(|candidate| candidate.meaning.contains("before the year 2000")));
    // Whoever knows the format names it.
    assert!(open(&case.path, Some(Format::TENCENT), &ReadOptions::default()).is_ok());
}

#[test]
fn an_unknown_format_lists_those_of_activity_too() {
    let names = ["sysstat", "prometheus", "rezolus", "spark-eventlog", "blkparse"];
    refused(None, "hello world\nhow are you\n", &names);
}

#[test]
fn the_text_of_other_programs_names_them_and_what_can_be_read() {
    let banner = "Linux 6.1.0 (db1) \t03/02/2026 \t_x86_64_\t(4 CPU)\n\n";
    let sar = format!("{banner}10:00:01  CPU  %user  %nice  %system  %iowait  %steal  %idle\n");
    for (text, what) in [
        (sar.as_str(), ["sar", "sadf -j FILE"]),
        ("<?xml version=\"1.0\"?>\n<sysstat>\n", ["sadf -x", "sadf -j FILE"]),
        ("{__name__=\"up\"} =>\n1 @[1]\n", ["promtool", "--format json"]),
        ("# HELP up Up.\n# TYPE up gauge\nup 1\n", ["exporter", "range query"]),
        ("TIME(ms) DISK COMM PID LAT(ms)\n1 sda fio 7 0.1\n", ["bpftrace", "biosnoop of BCC"]),
    ] {
        let error = refused(None, text, &what);
        assert!(matches!(error, FormatError::Unsupported { .. }), "{error}");
    }
}

#[test]
fn utf16_is_named_whatever_format_the_user_gives() {
    let line = "\u{feff}0.5,R,0,4096\n";
    let little: Vec<u8> = line.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = line.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let words = gordon_trace::formats::OpWords::default();
    for bytes in [little, big] {
        for format in [None, Some(Format::MSR), Some(Format::Blkparse), Some(Format::Fio)] {
            refused(format, &bytes, &["UTF-16", "iconv"]);
        }
        let described = columns(Some("time=1:s,op=2,offset=3,size=4:B"), None, None, &words);
        let options = ReadOptions { columns: described.unwrap(), ..ReadOptions::default() };
        let case = case(&bytes);
        let Err(error) = open(&case.path, None, &options) else { panic!("it was read") };
        assert!(error.to_string().contains("iconv"), "{error}");
    }
}

const HEADER: &str = "TIME(s)  COMM  PID  DISK  T  SECTOR  BYTES  LAT(ms)\n";
const US: u64 = 1000;

#[test]
fn biosnoop_of_libbpf_has_the_letters_of_blkparse() {
    let text = format!(
        "{HEADER}0.000000 fio 5 sda R 8 4096 0.000\n0.001000 fio 5 sda RA 16 8192 0.000\n\
         0.002000 jbd2/sda1-8 3 sda FF 0 0 0.000\n0.003000 fio 5 sda WFS 24 4096 0.000\n"
    );
    let expected = [
        (0, Read, 0, 4096, 4096),
        (1000 * US, Read, 0, 8192, 8192),
        (2000 * US, Flush, 0, 0, 0),
        (3000 * US, Write, 0, 12_288, 4096),
    ];
    reads("biosnoop".parse().unwrap(), &text, &expected);
    // With the time in the queue, as -Q prints it.
    let queued = text.replace("  LAT(ms)", "  QUE(ms)  LAT(ms)").replace("0.000\n", "0.5 0.000\n");
    reads("biosnoop".parse().unwrap(), queued, &expected);
    let unknown = text.replace(" RA ", " XQ ");
    refused(None, unknown, &["line 3", "op", "XQ"]);
}

#[test]
fn a_process_without_a_name_does_not_move_the_columns() {
    let text = format!(
        "{HEADER}0.000000          5 sda R 8 4096 0.000\n0.001000 Web Content 5 sda W 16 4096 0.000\n"
    );
    let expected = [(0, Read, 0, 4096, 4096), (1000 * US, Write, 0, 8192, 4096)];
    reads("biosnoop".parse().unwrap(), text, &expected);
    // A line that lacks more is malformed.
    let cut = format!("{HEADER}0.000000 fio 5 sda R 8 4096 0.000\n0.001000 5 sda R 8\n");
    refused(None, cut, &["line 3"]);
}

#[test]
fn requests_that_were_issued_before_the_first_completion_keep_their_times() {
    let text = format!(
        "{HEADER}0.000000 fio 5 sda R 8 4096 50.000\n0.001000 fio 5 sda R 16 4096 41.000\n\
         0.024000 fio 5 sda W 24 4096 4.000\n"
    );
    let expected = [
        (0, Read, 0, 4096, 4096),
        (10_000 * US, Read, 0, 8192, 4096),
        (70_000 * US, Write, 0, 12_288, 4096),
    ];
    reads("biosnoop".parse().unwrap(), text, &expected);
}
