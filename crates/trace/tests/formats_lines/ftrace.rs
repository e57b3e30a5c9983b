//! Block tracepoints of the kernel, printed by tracefs, trace-cmd and perf.

use super::{case, reads, refused, with};
use gordon_blockio::IoOp::{Discard, Flush, Read, Write};
use gordon_trace::formats::{Format, ReadOptions, RequestEvent};

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
