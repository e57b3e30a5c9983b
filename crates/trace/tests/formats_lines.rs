//! Each format with a few lines written after its definition, and malformed lines, which must give
//! one clear error with file, position and field.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use gordon_blockio::IoOp::{self, Discard, Flush, Read, Write};
use gordon_trace::formats::{
    Format, FormatError, Order, ReadCounts, ReadOptions, RequestEvent, RequestReader, TraceRequest,
    detect, open,
};
use gordon_units::{Bytes, Ns};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

struct Case {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn case(content: impl AsRef<[u8]>) -> Case {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    fs::write(&path, content).unwrap();
    Case { _dir: dir, path }
}

fn all(reader: &mut RequestReader) -> Result<Vec<TraceRequest>, FormatError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok(all)
}

fn with(path: &Path, options: &ReadOptions) -> (Vec<TraceRequest>, ReadCounts) {
    let mut reader = open(path, None, options).unwrap();
    let all = all(&mut reader).unwrap();
    (all, reader.counts())
}

/// Checks that the format is detected and all requests are read: (ns, op, device, offset, length).
fn reads(format: Format, content: impl AsRef<[u8]>, expected: &[(u64, IoOp, u32, u64, u64)]) {
    let case = case(content);
    assert_eq!(detect(&case.path).unwrap(), format);
    let (all, _) = with(&case.path, &ReadOptions::default());
    let brief: Vec<_> =
        all.iter().map(|io| (io.at.0, io.op, io.device, io.offset.0, io.len.0)).collect();
    assert_eq!(brief, expected);
}

/// Checks that the text of the error names the file, contains all of `what`, and has a hint on a
/// line of its own.
fn refused(format: Option<Format>, content: impl AsRef<[u8]>, what: &[&str]) -> FormatError {
    let case = case(content);
    let result = open(&case.path, format, &ReadOptions::default()).and_then(|mut r| all(&mut r));
    let error = result.expect_err("the content is bad");
    let text = error.to_string();
    assert!(text.contains(&case.path.display().to_string()), "{text}");
    for what in what {
        assert!(text.contains(what), "`{what}` in: {text}");
    }
    assert!(text.lines().nth(1).is_some_and(|hint| hint.starts_with("  try: ")), "{text}");
    error
}

const S: u64 = 1_000_000_000;

#[test]
fn mqsim() {
    let text = "11413000 0 657728 16 1\r\n\n12000000\t3 8 1 0";
    reads(
        Format::MQSIM,
        text,
        &[(0, Read, 0, 657_728 * 512, 8192), (587_000, Write, 3, 4096, 512)],
    );
}

#[test]
fn disksim() {
    let text = "0.500000 0 100 8 1\n2.25 1 7 16 0\n3 0 1 1 0x40000001\n";
    let last = (2_500_000, Read, 0, 512, 512);
    let second = (1_750_000, Write, 1, 7 * 512, 8192);
    reads(Format::DISKSIM, text, &[(0, Read, 0, 51_200, 4096), second, last]);
}

#[test]
fn disksim_validate() {
    let text = "R Hit    1975456   4  15362.00000  56074.00000\nW Miss 8 4 3024.5 27896\n";
    let case = case(text);
    assert_eq!(detect(&case.path).unwrap(), Format::DisksimValidate);
    let (all, _) = with(&case.path, &ReadOptions::default());
    assert_eq!(all[1].at, Ns(71_436_000));
    assert_eq!((all[1].latency, all[1].gap), (Some(Ns(3_024_500)), Some(Ns(27_896_000))));
}

#[test]
fn msr() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                128166372003061629,src1,1,Read,383496192,32768,113736\n\
                128166372016382155,src1,1,write, 512, 1024, 7\n";
    let expected = [(0, Read, 1, 383_496_192, 32_768), (1_332_052_600, Write, 1, 512, 1024)];
    reads(Format::MSR, text, &expected);
    let case = case(text);
    assert_eq!(with(&case.path, &ReadOptions::default()).0[0].latency, Some(Ns(11_373_600)));
}

/// The example of the specification, without its last, misprinted line.
#[test]
fn spc() {
    let text = "0,20941264,8192,W,0.551706,Alpha/NT\n0,20939840,8192,W,0.554041\n\
                1,3436288,15872,w,1.250720,0x123,5.99,test\n0,7695360,4096,R,2.346628\n";
    let first = (0, Write, 0, 20_941_264 * 512, 8192);
    let second = (2_335_000, Write, 0, 20_939_840 * 512, 8192);
    let third = (699_014_000, Write, 1, 3_436_288 * 512, 15_872);
    let last = (1_794_922_000, Read, 0, 7_695_360 * 512, 4096);
    reads(Format::SPC, text, &[first, second, third, last]);
}

/// Lines like those of the UMass OLTP traces: lower-case letters, addresses and sizes in sectors,
/// and several requests at the same time.
#[test]
fn spc_of_oltp() {
    let text = "0,404123,3584,w,0.000000\n1,55123,1536,w,0.000000\n23,1200345,512,r,0.065536\n";
    let first = (0, Write, 0, 404_123 * 512, 3584);
    let last = (65_536_000, Read, 23, 1_200_345 * 512, 512);
    reads(Format::SPC, text, &[first, (0, Write, 1, 55_123 * 512, 1536), last]);
}

/// The published file has no header, but parts of it may have one.
#[test]
fn alibaba() {
    let lines = "0,R,120259084288,4096,1577808000000120\n\n998,W,5368713216,77824,1577808000000166\n\
                 0,W,120259088384,1024,1577808144360001\n";
    let first = (0, Read, 0, 120_259_084_288, 4096);
    let second = (46_000, Write, 998, 5_368_713_216, 77_824);
    let expected = [first, second, (144_359_881_000, Write, 0, 120_259_088_384, 1024)];
    reads(Format::ALIBABA, lines, &expected);
    let named = format!("device_id,opcode,offset,length,timestamp\n{lines}");
    reads(Format::ALIBABA, named, &expected);
}

#[test]
fn tencent() {
    let text = "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n";
    let first = (0, Read, 1063, 12_910_952 * 512, 65_536);
    reads(Format::TENCENT, text, &[first, (S, Write, 1627, 6_338_688 * 512, 4096)]);
}

#[test]
fn fio_2() {
    let text = "fio version 2 iolog\n/dev/a add\n/dev/b add\n/dev/a open\n/dev/a read 4096 512\n\
                /dev/a wait 250 0\n/dev/b write 0 8192\n/dev/b sync 0 0\n/dev/b trim 512 512\n\
                /dev/a close\n";
    let case = case(text);
    let (_, counts) = with(&case.path, &ReadOptions::default());
    assert_eq!(counts.other_kinds, 4);
    let b = 250_000;
    let expected = [
        (0, Read, 0, 4096, 512),
        (b, Write, 1, 0, 8192),
        (b, Flush, 1, 0, 0),
        (b, Discard, 1, 512, 512),
    ];
    reads(Format::Fio, text, &expected);
}

#[test]
fn fio_3() {
    let text = "fio version 3 iolog\n20 /f add\n235 /f open\n239 /f read 61440 4096\n\
                412 /f write 774144 4096\n415 /f datasync 0 0\n500 /f close\n";
    let write = (173_000, Write, 0, 774_144, 4096);
    let flush = (176_000, Flush, 0, 0, 0);
    reads(Format::Fio, text, &[(0, Read, 0, 61_440, 4096), write, flush]);
}

const BLKPARSE: &str = "  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G  WS 223490 + 8 [kjournald]
  8,0    3        3     0.000002197   697  P   N [kjournald]
  8,0    3        7     0.000005500   697  U   N [kjournald] 1
  8,0    3        8     0.000007000   697  D  WS 223490 + 8 [kjournald]
  8,0    1        9     0.000008000     0  m   N cfq697S / complete
  8,0    1        9     0.000009000   698  A   R 100 + 8 <- (8,1) 37
  8,0    1       10     0.000010000     0  D  FN [kworker/1:0]
  8,0    1       11     0.000011000     0  D   R 36 (12 00 00 00 24 00) [hald]
  8,0    1       12     0.000012000     0  D   N 0 [hald]
253,16   1       13     1.000007000   699  D   D 2048 + 16 [fstrim]
253,16   1       14     1.000008000   699  D RSM 7 + 1 [x y]
  8,0    3       15     1.000009000     0  C  WS 223490 + 8 [0]
CPU3 (sda):
 Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB
";

#[test]
fn blkparse() {
    let (sda, vdb) = (8 << 20, 253 << 20 | 16);
    let issued = [
        (0, Write, sda, 223_490 * 512, 4096),
        (3_000, Flush, sda, 0, 0),
        (S, Discard, vdb, 2048 * 512, 8192),
        (S + 1_000, Read, vdb, 7 * 512, 512),
    ];
    reads(Format::Blkparse, BLKPARSE, &issued);
    let case = case(BLKPARSE);
    let by =
        |event| with(&case.path, &ReadOptions { event: Some(event), ..ReadOptions::default() }).0;
    assert_eq!((by(RequestEvent::Queue).len(), by(RequestEvent::Complete).len()), (1, 1));
    let (of, counts) =
        with(&case.path, &ReadOptions { device: Some(vdb), ..ReadOptions::default() });
    assert_eq!((of.len(), counts.other_devices, counts.empty), (2, 2, 0));
}

/// Lines that blkparse does not print are errors, not events of another kind.
#[test]
fn garbage_in_blkparse_is_malformed() {
    let line = |action: &str, rwbs: &str| format!("8,0 1 1 0.1 5 {action} {rwbs} 8 + 8 [x]\n");
    for other in ["Q", "UT", "m", "A"] {
        let case = case(line(other, "R") + &line("D", "N") + &line("D", "FWFSM"));
        let (ios, counts) = with(&case.path, &ReadOptions::default());
        assert_eq!((ios.len(), counts.other_kinds), (1, 2), "{other}");
    }
    for (action, rwbs, field) in [("Y", "R", "action"), ("DD", "R", "action"), ("D", "R7", "rwbs")]
    {
        let text = line("D", "R") + &line(action, rwbs);
        refused(Some(Format::Blkparse), text, &[&format!("line 2: {field}: expected")]);
    }
}

/// Without issue events, as for a device mapper, queue events are taken.
#[test]
fn blkparse_without_issues() {
    let text: String = BLKPARSE
        .lines()
        .filter(|l| !l.contains("  D ") && !l.contains(" D RSM"))
        .fold(String::new(), |text, line| text + line + "\n");
    reads(Format::Blkparse, text, &[(0, Write, 8 << 20, 223_490 * 512, 4096)]);
}

/// Events of a write that the busy driver returned twice, and of a read that completed in part and
/// was requeued for the rest.
const REQUEUED: &str = "  8,0    2        1     0.000000000   920  Q  WS 4096 + 8 [dd]
  8,0    2        2     0.000030000   920  D  WS 4096 + 8 [kworker/2:1H]
  8,0    2        3     0.000040000   920  R  WS 4096 + 8 [0]
  8,0    2        4     0.000050000   920  I  WS 4096 + 8 [kworker/2:1H]
  8,0    2        5     0.000060000   920  D  WS 4096 + 8 [kworker/2:1H]
  8,0    2        6     0.000070000   920  R  WS 4096 + 8 [0]
  8,0    1        7     0.000075000   921  D   R 4096 + 8 [cat]
  8,0    2        8     0.000080000   920  D  WS 4096 + 8 [dd]
  8,0    2        9     0.000580000     0  C  WS 4096 + 8 [0]
  8,0    1       10     0.000590000   921  D   R 64 + 16 [cat]
  8,0    1       11     0.000591000   921  C   R 64 + 8 [0]
  8,0    1       12     0.000592000   921  R   R 72 + 8 [0]
  8,0    1       13     0.000593000   921  D   R 72 + 8 [cat]
  8,0    1       14     0.000594000   921  D  WS 4096 + 8 [dd]
";

#[test]
fn a_request_dispatched_again_after_a_requeue_is_one_request() {
    let sda = 8 << 20;
    let expected = [
        (0, Write, sda, 4096 * 512, 4096),
        (45_000, Read, sda, 4096 * 512, 4096),
        (560_000, Read, sda, 64 * 512, 8192),
        (564_000, Write, sda, 4096 * 512, 4096),
    ];
    reads(Format::Blkparse, REQUEUED, &expected);
    let case = case(REQUEUED);
    let (ios, counts) = with(&case.path, &ReadOptions::default());
    assert_eq!(ios.len() as u64 + counts.other_kinds, 14);
}

/// A requeued request that failed is not dispatched again.
#[test]
fn a_requeued_request_that_failed_does_not_hide_a_later_one() {
    let line = |seq: u32, action: &str, end: &str| {
        format!("8,0 0 {seq} 0.00000{seq}000 9 {action} W 8 + 8 [{end}]\n")
    };
    let text = [("D", "dd"), ("R", "0"), ("C", "65531"), ("D", "dd")];
    let text: String = (1..).zip(text).map(|(seq, (action, end))| line(seq, action, end)).collect();
    let write = |at| (at, Write, 8 << 20, 4096, 4096);
    reads(Format::Blkparse, text, &[write(0), write(3_000)]);
}

/// blkparse prints no address for a flush without data.
#[test]
fn a_flush_without_data_has_no_address() {
    let text = "253,0    3        1     0.000000000  1201  Q  WS 2048 + 8 [jbd2/dm-0-8]
253,0    3        2     0.000210000     0  C  WS 2048 + 8 [0]
253,0    3        3     0.000300000  1201  Q FWS [jbd2/dm-0-8]
253,0    3        4     0.000900000     0  C FWS 0 [0]
253,0    3        5     0.001000000  1201  Q FWS 2056 + 8 [jbd2/dm-0-8]
253,0    3        6     0.001100000  1201  Q   R [jbd2/dm-0-8]
";
    let dm = 253 << 20;
    let expected = [
        (0, Write, dm, 2048 * 512, 4096),
        (300_000, Flush, dm, 0, 0),
        (1_000_000, Write, dm, 2056 * 512, 4096),
    ];
    reads(Format::Blkparse, text, &expected);
    let case = case(text);
    assert_eq!(with(&case.path, &ReadOptions::default()).1.empty, 1);
    let by = ReadOptions { event: Some(RequestEvent::Complete), ..ReadOptions::default() };
    let ops: Vec<_> = with(&case.path, &by).0.iter().map(|io| io.op).collect();
    assert_eq!(ops, [Write, Flush]);
}

/// Output of blkparse 1.2.0 before and after the events, with `-s` also statistics of processes.
#[test]
fn statistics_of_blkparse_are_not_events() {
    let events = "  8,0    0        1     0.000000000   920  D  WS 4096 + 8 [dd]\n  \
                  8,0    1        1     0.000005000   921  D   R 8192 + 16 [unknown]\n";
    let of_cpu = " Reads Queued:           0,        0KiB\t Writes Queued:           2,        4KiB
 Read Dispatches:        0,        0KiB\t Write Dispatches:        3,        4KiB
 Reads Requeued:         0\t\t Writes Requeued:         1
 Reads Completed:        0,        0KiB\t Writes Completed:        2,        4KiB
 Read Merges:            0,        0KiB\t Write Merges:            0,        0KiB
 Read depth:             1        \t Write depth:             1
 PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB
 PC Read Disp.:          5,        1KiB\t PC Write Disp.:          0,        0KiB
 PC Reads Req.:          0\t\t PC Writes Req.:          0
 PC Reads Compl.:        5\t\t PC Writes Compl.:        0
 IO unplugs:             0        \t Timer unplugs:           0
 Allocation wait:        0        \t Allocation wait:         0
 Dispatch wait:          0        \t Dispatch wait:           0
 Completion wait:        0        \t Completion wait:         0
";
    let cpus: String = (0..64).map(|cpu| format!("CPU{cpu} (sda):\n{of_cpu}")).collect();
    let end = "Throughput (R/W): 0KiB/s / 8,000KiB/s\nEvents (sda): 11 entries\n\
               Skips: 0 forward (0 -   0.0%)\n";
    let files = "Input file sda.blktrace.0 added\nInput file sda.blktrace.1 added\n";
    let after =
        format!("dd (920)\n{of_cpu}a b (7, ...)\n{of_cpu}\n{cpus}\nTotal (sda):\n{of_cpu}\n{end}");
    let expected =
        [(0, Write, 8 << 20, 4096 * 512, 4096), (5_000, Read, 8 << 20, 8192 * 512, 8192)];
    reads(Format::Blkparse, format!("{events}{after}{files}"), &expected);
    reads(Format::Blkparse, format!("{files}{events}{after}"), &expected);
    let comment = "# fsync of every write\n";
    let middle = events.replace('\n', &format!("\n{}", comment.repeat(80)));
    reads(Format::Blkparse, format!("{}{middle}{after}", comment.repeat(80)), &expected);
    // Lines that only resemble this output are malformed.
    for other in ["dd (x)", "(920)", "Reads 12", "8,0 1 1 0.1 5 D R 36 (12)x"] {
        let text = format!("{events}{other}\n{after}");
        if other.starts_with('8') {
            reads(Format::Blkparse, text, &expected);
        } else {
            refused(Some(Format::Blkparse), text, &["line 3: device: expected MAJOR,MINOR"]);
        }
    }
}

/// An idle disk, transfers of megabytes and discards of gigabytes do not suggest another unit.
#[test]
fn a_trace_of_blkparse_is_never_implausible() {
    let line = |n: u64, seconds: u64, op: &str, sectors: u64| {
        format!("  8,0 0 {n} {seconds}.000000000 920 D {op} {} + {sectors} [dd]\n", n * 8192)
    };
    let idle = [line(1, 0, "R", 8), line(2, 40_000, "R", 8), line(3, 90_000, "R", 8)].concat();
    let large = [line(1, 0, "W", 8192), line(2, 1, "W", 4096), line(3, 2, "D", 8 << 20)].concat();
    for text in [idle, large] {
        let case = case(text);
        let reader = open(&case.path, None, &ReadOptions::default()).unwrap();
        assert_eq!((reader.format(), reader.note().doubts.len()), (Format::Blkparse, 0));
        assert_eq!(with(&case.path, &ReadOptions::default()).0.len(), 3);
    }
}

/// Output of Linux 6.18 for a `dd conv=fsync` and a `fstrim`, with a requeue.
const FTRACE: &str = "# tracer: nop
#
# entries-in-buffer/entries-written: 486/486   #P:2
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
              dd-31522   [001] ..... 19787.888200: block_bio_queue: 254,0 WS 161771520 + 2560 [dd]
              dd-31522   [001] ..... 19787.888222: block_rq_issue: 254,0 WS 1310720 () 161771520 + 2560 be,0,4 [dd]
       opt cgu.0-31457   [001] ..s.. 19787.888791: block_rq_complete: 254,0 WS () 161771520 + 2560 be,0,4 [0]
              dd-31522   [001] ..... 19787.904788: block_bio_queue: 254,0 FWS 0 + 0 [dd]
    kworker/1:1H-44      [001] ..... 19787.904802: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]
       opt cgu.0-31457   [001] ..s.. 19787.904832: block_rq_complete: 254,0 FF () 18446744073709551615 + 0 none,0,0 [0]
          <idle>-0       [000] d.h1. 19787.905000: sched_wakeup: comm=dd pid=31522 prio=120 target_cpu=001
    kworker/0:1H-54      [000] ..... 19788.921080: block_rq_issue: 254,0 DS 8192 () 322163248 + 16 be,0,4 [kworker/0:1H]
    kworker/0:1H-54      [000] ..... 19788.921090: block_rq_requeue: 254,0 DS () 322163248 + 16 [0]
    kworker/0:1H-54      [000] ..... 19788.921180: block_rq_issue: 254,0 DS 8192 () 322163248 + 16 be,0,4 [kworker/0:1H]
            hald-77      [000] ..... 19788.921190: block_rq_issue: 254,0 R 36 (12 00 00 00 24 00) 0 + 0 [hald]
";

#[test]
fn ftrace() {
    let vda = 254 << 20;
    let issued = [
        (0, Write, vda, 161_771_520 * 512, 1_310_720),
        (16_580_000, Flush, vda, 0, 0),
        (1_032_858_000, Discard, vda, 322_163_248 * 512, 8192),
    ];
    reads(Format::Ftrace, FTRACE, &issued);
    let case = case(FTRACE);
    let by =
        |event| with(&case.path, &ReadOptions { event: Some(event), ..ReadOptions::default() }).0;
    let ops = |event| by(event).iter().map(|io| io.op).collect::<Vec<_>>();
    assert_eq!(ops(RequestEvent::Queue), [Write, Flush]);
    assert_eq!(ops(RequestEvent::Complete), [Write, Flush]);
    let (_, counts) = with(&case.path, &ReadOptions::default());
    assert_eq!((counts.requests, counts.other_kinds, counts.empty), (3, 8, 0));
}

/// Lines without the fields that older kernels lack, as printed by trace-cmd and perf, and of a
/// device mapper.
#[test]
fn ftrace_of_other_tools() {
    let old = "     job-12 [000] .... 5.000000: block_rq_issue: 8,0 R 8192 () 512 + 16 [job]\n     \
               job-12 [000] .... 5.002000: block_rq_complete: 8,0 R () 512 + 16 [0]\n";
    let expected = [(0, Read, 8 << 20, 512 * 512, 8192)];
    reads(Format::Ftrace, old, &expected);
    let of_trace_cmd = "CPU 1 is empty\ncpus=2\n              \
                        dd-31522 [001] 19787.888222: block_rq_issue:       8,0 R 8192 () 512 + 16 be,0,4 [dd]\n";
    reads(Format::Ftrace, of_trace_cmd, &expected);
    let of_perf = "              dd 31954 [000] 19809.009909:    block:block_rq_issue: 8,0 R 8192 () 512 + 16 0x2,0,4 [dd]
       opt cgu.0 31878 [001] 19809.010129:          1 block:block_rq_complete: 8,0 R () 512 + 16 0x2,0,4 [0]
";
    reads(Format::Ftrace, of_perf, &expected);
    let of_mapper = "   a b-9  [000] ..... 1.5: block_bio_queue: 253,1 WS 8 + 8 [a b]\n   \
                     <idle>-0  [000] ..s1. 1.6: block_bio_complete: 253,1 WS 8 + 8 [0]\n";
    reads(Format::Ftrace, of_mapper, &[(0, Write, 253 << 20 | 1, 4096, 4096)]);
}

#[test]
fn malformed_lines_of_ftrace_are_errors() {
    let lost = format!("{FTRACE}CPU:1 [LOST 93 EVENTS]\n");
    refused(None, &lost, &["line 17: event: expected a process", "CPU:1 [LOST 93 EVENTS]"]);
    let case = case(&lost);
    let (ios, counts) = with(&case.path, &ReadOptions { skip_bad: true, ..ReadOptions::default() });
    assert_eq!((ios.len(), counts.skipped), (3, 1));
    for (rest, field) in [
        ("8 R 4096 () 8 + 8 [a]", "device"),
        ("8,0 R7 4096 () 8 + 8 [a]", "rwbs"),
        ("8,0 R 4096 8 + 8 [a]", "command"),
        ("8,0 R 4096 () x + 8 [a]", "sector"),
        ("8,0 R 4096 () 8 8 [a]", "sectors"),
        ("8,0 R 4096 () 36028797018963968 + 8 [a]", "sector"),
    ] {
        let text = format!("{FTRACE} a-1 [000] ..... 19799.0: block_rq_issue: {rest}\n");
        refused(None, text, &[&format!("line 17: {field}: expected")]);
    }
}

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

fn vscsi_1(time: u64, block: u64, len: u32, code: u16) -> Vec<u8> {
    let parts: [&[u8]; 7] = [
        &7_u32.to_le_bytes(),
        &len.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &code.to_le_bytes(),
        &0x100_u16.to_le_bytes(),
        &block.to_le_bytes(),
        &time.to_le_bytes(),
    ];
    parts.concat()
}

#[test]
fn vscsi() {
    // WRITE (10), TEST UNIT READY, READ (16), SYNCHRONIZE CACHE (10).
    let records = [
        vscsi_1(5, 100, 512, 0x2a),
        vscsi_1(6, 0, 0, 0),
        vscsi_1(8, 50, 4096, 0x88),
        vscsi_1(9, 1, 512, 0x35),
    ];
    let expected =
        [(0, Write, 0, 51_200, 512), (3_000, Read, 0, 25_600, 4096), (4_000, Flush, 0, 0, 0)];
    reads(Format::Vscsi, records.concat(), &expected);
    let mut cut = records.concat();
    cut.truncate(120);
    refused(None, &cut, &["record 4 (byte 96)", "24 bytes at the end", "32 bytes"]);
    let mut odd = records.concat();
    odd[64 + 15] = 9;
    refused(Some(Format::Vscsi), &odd, &["record 3 (byte 64)", "version", "0x0900"]);
}

fn vscsi_2(time: u64, block: u64, len: u32, code: u16, response: u64) -> Vec<u8> {
    let parts: [&[u8]; 8] = [
        &code.to_le_bytes(),
        &0x200_u16.to_le_bytes(),
        &7_u32.to_le_bytes(),
        &len.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &block.to_le_bytes(),
        &time.to_le_bytes(),
        &response.to_le_bytes(),
    ];
    parts.concat()
}

#[test]
fn vscsi_with_responses() {
    // READ (10), MODE SENSE (6), WRITE (16).
    let records = [
        vscsi_2(5, 100, 4096, 0x28, 830),
        vscsi_2(6, 0, 64, 0x1a, 9),
        vscsi_2(8, 1 << 33, 65_536, 0x8a, 1700),
    ];
    let content = records.concat();
    let expected = [(0, Read, 0, 51_200, 4096), (3_000, Write, 0, 1 << 42, 65_536)];
    reads(Format::Vscsi, &content, &expected);
    let case = case(&content);
    let (all, counts) = with(&case.path, &ReadOptions::default());
    assert_eq!((all[0].latency, all[1].latency), (Some(Ns(830_000)), Some(Ns(1_700_000))));
    assert_eq!(counts.other_kinds, 1);
    refused(None, &content[..100], &["record 3 (byte 80)", "20 bytes at the end", "40 bytes"]);
}

fn oracle(time: u32, object: u64, len: u32, next: i64) -> Vec<u8> {
    let parts: [&[u8]; 4] =
        [&time.to_le_bytes(), &object.to_le_bytes(), &len.to_le_bytes(), &next.to_le_bytes()];
    parts.concat()
}

#[test]
fn oracle_general() {
    let records = [oracle(7, 10, 512, 3), oracle(7, 11, 4096, -1), oracle(9, 10, 512, -1)];
    let expected = [(0, Read, 0, 5120, 512), (0, Read, 0, 5632, 4096), (2 * S, Read, 0, 5120, 512)];
    reads(Format::OracleGeneral, records.concat(), &expected);
    let objects = [oracle(7, 10, 512, -1), oracle(7, u64::MAX, 512, -1)].concat();
    refused(
        None,
        objects,
        &["record 2 (byte 24)", "object", "not of blocks", "try: gordon cache replay"],
    );
}

#[test]
fn gordon() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.trace");
    common::write(&path, 3, 20_000);
    assert_eq!(detect(&path).unwrap(), Format::Gordon);
    let (all, counts) = with(&path, &ReadOptions::default());
    assert_eq!((all.len(), counts.requests), (20_000, 20_000));
    for (i, io) in (0..).zip(&all) {
        let own = common::io(i, 0);
        assert_eq!((io.at, io.op, io.device), (own.at, own.op, own.device));
        assert_eq!((io.offset, io.len), (Bytes(own.sector * 512), own.bytes()));
        assert_eq!(io.latency, own.latency);
    }
}

#[test]
fn malformed_lines() {
    let good = "10 0 8 8 1\n";
    let at = |bad: &str, what: &[&str]| {
        let what = [&["line 3", "format mqsim"], what].concat();
        refused(None, format!("{good}{good}{bad}\n{good}{good}"), &what);
    };
    at("11 0 x 8 1", &["offset (column 3)", "found `x`"]);
    at("11 0 8 8 2", &["op (column 5)", "1 (read), 0 (write)", "found `2`"]);
    at("11 0 8 8", &["op (column 5)", "found nothing"]);
    at("11 0 8 8 1 1", &["number of columns", "expected 5", "found `6`"]);
    at("-1 0 8 8 1", &["time (column 1)", "found `-1`"]);
    at("1.5 0 8 8 1", &["time (column 1)", "found `1.5`"]);
    at("11 0 18446744073709551615 8 1", &["offset (column 3)", "2^64 bytes in units of 512B"]);
    at("11 0 18014398509481984 8 1", &["offset and length", "2^62"]);
    at("11 4294967296 8 8 1", &["device (column 2)", "2^32"]);
    at("11 sda 8 8 1", &["device (column 2)", "found `sda`"]);
    at("9 0 8 8 1", &["time goes backwards", "--order"]);
    refused(None, "1,R,0,512,5\n1,R,0,512,5\n1,X,0,512,6\n", &["line 3", "op", "found `X`"]);
    refused(None, "0,1,512,R,0.1\n0,1,512,R,0.1\n0,1,512,R,-5\n", &["line 3", "time (column 5)"]);
    let msr = "128166372003061629,src1,1,Read,512,512,7\n";
    refused(
        None,
        format!("{msr}{msr}128166372003061629,src1,1,Read,512,512\n"),
        &["line 3", "latency (column 7)", "found nothing"],
    );
    refused(
        Some(Format::DISKSIM),
        "0.5 0 8 8 1\n0.5 0 8 8 x\n",
        &["line 2", "op (column 5)", "flags", "found `x`"],
    );
    refused(
        Some(Format::Fio),
        "fio version 3 iolog\n1 /f read 0 512\n2 /f wait 5\n",
        &["line 3", "action", "`wait`"],
    );
    refused(Some(Format::Fio), "hello\n", &["line 1", "first line", "version 2"]);
}

#[test]
fn skip_bad_counts() {
    let text = "10 0 8 8 1\n11 0 x 8 1\n9 0 8 8 1\n\n12 0 8 8 1\n13 0 8";
    let case = case(text);
    let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    let mut reader = open(&case.path, None, &options).unwrap();
    let all = all(&mut reader).unwrap();
    assert_eq!((all.len(), reader.skipped()), (2, 3));
    let first = reader.first_skipped().unwrap();
    assert!(first.contains("line 2: offset"), "{first}");
}

#[test]
fn times_out_of_order() {
    let text = "10 0 1 1 1\n30 0 3 1 1\n20 0 2 1 1\n40 0 4 1 1\n";
    let case = case(text);
    let by = |order| with(&case.path, &ReadOptions { order, ..ReadOptions::default() });
    let brief = |all: &[TraceRequest]| {
        all.iter().map(|io| (io.at.0, io.offset.0 / 512)).collect::<Vec<_>>()
    };
    let (clamped, counts) = by(Order::Clamp);
    assert_eq!(brief(&clamped), [(0, 1), (20, 3), (20, 2), (30, 4)]);
    assert_eq!(counts.clamped, 1);
    assert_eq!(brief(&by(Order::Sort).0), [(0, 1), (10, 2), (20, 3), (30, 4)]);
    // Too far out of order for the window.
    let mut text = String::new();
    for i in 1..100_000 {
        text += &format!("{i} 0 8 8 1\n");
    }
    text += "5 0 8 8 1\n";
    let far = self::case(text);
    let options = ReadOptions { order: Order::Sort, ..ReadOptions::default() };
    let result = open(&far.path, None, &options).and_then(|mut r| all(&mut r));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("line 100000: time goes backwards"), "{error}");
}

#[test]
fn sectors_and_empty_requests() {
    let text = "1,R,100,1000,5\n1,W,0,0,6\n1,W,512,1,7\n1,R,1024,512,8\n";
    let case = case(text);
    let (all, counts) = with(&case.path, &ReadOptions::default());
    let brief: Vec<_> = all.iter().map(|io| (io.offset.0, io.len.0)).collect();
    assert_eq!(brief, [(0, 1536), (512, 512), (1024, 512)]);
    assert_eq!((counts.extended, counts.empty, counts.requests), (2, 1, 3));
}

#[test]
fn time_units() {
    let text = "10 0 8 8 1\n20 0 8 8 1\n";
    let case = case(text);
    let unit = |unit| ReadOptions { time_unit: Some(Ns(unit)), ..ReadOptions::default() };
    assert_eq!(with(&case.path, &unit(1000)).0[1].at, Ns(10_000));
    let error = open(&case.path, None, &unit(2 * S)).unwrap_err().to_string();
    assert!(error.contains("between 1ns and 1s"), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed() {
    let part = |from: u64| -> String {
        (from..from + 20_000).map(|i| format!("{i} 0 {} 8 {}\n", i * 8, i % 2)).collect()
    };
    let (first, second) = (part(0), part(20_000));
    // Concatenated compressed files are read to the end.
    let zipped = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let packed = [zstd(&first), zstd(&second)].concat();
    for bytes in [zipped.clone(), packed.clone()] {
        let case = case(bytes);
        assert_eq!(with(&case.path, &ReadOptions::default()).0.len(), 40_000);
    }
    for bytes in [&zipped[..zipped.len() - 100], &packed[..packed.len() - 100]] {
        refused(None, bytes, &["cannot read", "after line", "cut short"]);
    }
    for bytes in [&zipped[..14], &packed[..14]] {
        refused(None, bytes, &["cannot read", "after its start", "cut short"]);
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_text() {
    let text = "\u{feff}10 0 8 8 1\n20 0 8 8 1\n";
    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        assert_eq!(with(&case(bytes).path, &ReadOptions::default()).0[1].at, Ns(10));
    }
}

#[test]
fn unknown_and_empty() {
    refused(None, "", &["holds no request"]);
    for text in ["\n\n", "# a\n\n  # b\n"] {
        refused(None, text, &["holds no request: its lines are blank or comments"]);
    }
    refused(None, "hello world\nthis is no trace\n", &["no known trace format", "`hello world`"]);
    refused(
        None,
        (0..400_u32).map(|i| (i * i % 251) as u8).collect::<Vec<_>>(),
        &["no known trace format", "binary"],
    );
    refused(None, "PAR1\0\0\0", &["Parquet"]);
    refused(Some(Format::MQSIM), "\n", &["holds no request"]);
    let long = "1".repeat(3 << 20);
    refused(Some(Format::MQSIM), long, &["no end of line"]);
    let missing = open(Path::new("/nonexistent/x"), None, &ReadOptions::default()).unwrap_err();
    assert!(missing.to_string().contains("cannot open /nonexistent/x"));
    let name = "nonsense".parse::<Format>().unwrap_err().to_string();
    assert!(name.contains("`nonsense`") && name.contains("oracleGeneral"), "{name}");
    for format in Format::all() {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let case = case("10 0 8 8 1\n");
    let options = ReadOptions { device: Some(7), ..ReadOptions::default() };
    let error = open(&case.path, None, &options).and_then(|mut r| all(&mut r)).unwrap_err();
    assert!(error.to_string().contains("of device 7: 1 are of others"), "{error}");
}
