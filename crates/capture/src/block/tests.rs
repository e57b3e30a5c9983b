//! Decodes a page recorded on a machine (x86-64, Linux 6.18), and compares it with the kernel's
//! text of the same events.

use super::format::{BlockEvent, EventFormats, EventKind, PageFormat};
use super::ring;
use gordon_blockio::IoOp;
use gordon_units::Ns;

const HEADER: &str = include_str!("../../tests/data/header_page");
const ISSUE: &str = include_str!("../../tests/data/block_rq_issue.format");
const COMPLETE: &str = include_str!("../../tests/data/block_rq_complete.format");
const REQUEUE: &str = include_str!("../../tests/data/block_rq_requeue.format");
const PAGE: &[u8] = include_bytes!("../../tests/data/cpu.page");
const TEXT: &str = include_str!("../../tests/data/cpu.txt");

fn recorded(formats: &EventFormats, page: &[u8]) -> Vec<BlockEvent> {
    let mut events = Vec::new();
    let missed = ring::entries(page, PageFormat::parse(HEADER).unwrap(), |at, record| {
        events.push(formats.event(at, record).expect("the page holds block events alone"));
    });
    assert_eq!(missed, Ok(false));
    events
}

/// Parses a line of the kernel's text: `TASK-PID [CPU] flags 12.345678: block_rq_issue: 254,0 WS
/// 512 () 8 + 1 ... [comm]`. The time is in microseconds.
fn text(line: &str) -> (u64, EventKind, u32, u64, u32, String, u32, String) {
    let (left, right) = line.split_once(": block_rq_").unwrap();
    let time = left.rsplit(' ').next().unwrap().replace('.', "").parse().unwrap();
    let pid = left.split_whitespace().next().unwrap().rsplit('-').next().unwrap().parse().unwrap();
    let words: Vec<&str> = right.split_whitespace().collect();
    let (major, minor) = words[1].split_once(',').unwrap();
    let device = major.parse::<u32>().unwrap() << 20 | minor.parse::<u32>().unwrap();
    let plus = words.iter().position(|w| *w == "+").unwrap();
    let (kind, comm) = match words[0] {
        "issue:" => (EventKind::Issued, words.last().unwrap().trim_matches(['[', ']'])),
        "complete:" => (EventKind::Completed, ""),
        other => panic!("{other}"),
    };
    let sectors = words[plus + 1].parse().unwrap();
    let sector = words[plus - 1].parse().unwrap();
    (time, kind, device, sector, sectors, words[2].to_owned(), pid, comm.to_owned())
}

#[test]
fn a_recorded_page_is_read_as_the_kernel_reads_it() {
    let formats = EventFormats::parse(ISSUE, COMPLETE, Some(REQUEUE)).unwrap();
    let events = recorded(&formats, PAGE);
    let lines: Vec<&str> = TEXT.lines().collect();
    assert_eq!(events.len(), lines.len());
    for (event, line) in events.iter().zip(lines) {
        let (time, kind, device, sector, sectors, rwbs, pid, comm) = text(line);
        assert!(event.at.0.abs_diff(time * 1000) <= 1000, "{event:?}\n{line}");
        assert_eq!(
            (event.kind, event.device, event.sectors, event.pid),
            (kind, device, sectors, pid)
        );
        let op = match rwbs.as_bytes()[0] {
            b'R' => IoOp::Read,
            b'W' => IoOp::Write,
            b'D' => IoOp::Discard,
            b'F' => IoOp::Flush,
            other => panic!("{other}"),
        };
        assert_eq!(event.op, Some(op), "{line}");
        let place = if op == IoOp::Flush { 0 } else { sector };
        assert_eq!(event.sector, place, "{line}");
        let name = event.comm.split(|b| *b == 0).next().unwrap();
        assert_eq!(std::str::from_utf8(name), Ok(comm.as_str()), "{line}");
    }
    for op in [IoOp::Write, IoOp::Discard, IoOp::Flush] {
        assert!(events.iter().any(|e| e.op == Some(op)), "{op:?}");
    }
}

#[test]
fn a_truncated_record_is_not_an_event() {
    let formats = EventFormats::parse(ISSUE, COMPLETE, None).unwrap();
    let mut whole = 0;
    let _ = ring::entries(PAGE, PageFormat::parse(HEADER).unwrap(), |at, record| {
        whole += u32::from(formats.event(at, record).is_some());
        assert_eq!(formats.event(at, &record[..40]), None);
        assert_eq!(formats.event(at, &[]), None);
    });
    assert!(whole > 50);
    assert_eq!(formats.event(Ns(0), &[0xff; 64]), None);
}
