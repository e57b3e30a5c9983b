//! Output of blkparse: events, requeues, and the lines that are not events.

use super::{S, case, reads, refused, with};
use gordon_blockio::IoOp::{Discard, Flush, Read, Write};
use gordon_trace::formats::{Format, ReadOptions, RequestEvent, open};

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
        assert_eq!((ios.len(), counts.preflushes, counts.other_kinds), (2, 1, 2), "{other}");
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
        // The flag of the write is a flush of its own.
        (1_000_000, Flush, dm, 0, 0),
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
