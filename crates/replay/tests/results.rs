//! Results of runs that were worked out by hand.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{OPEN, Toy, given, read, rules};
use gordon_device::{Cause, Op};
use gordon_replay::host::{Pacing, drive};
use gordon_replay::results::series::{FIRST, MOST, Run};
use gordon_replay::results::{Recorded, Recorder};
use gordon_replay::source::Timed;
use gordon_units::{Ns, Watch};

fn record(
    service: u64,
    pacing: Pacing,
    depth: u32,
    requests: impl IntoIterator<Item = Timed>,
) -> (Run, Recorded) {
    let mut toy = Toy::new(service, 0);
    let mut recorder = Recorder::new(&toy, 1, None);
    drive(&mut toy, given(requests), &rules(pacing, depth), &mut recorder, &Watch::default())
        .unwrap();
    recorder.finish(&toy).unwrap()
}

#[test]
fn requests_and_depths_fall_into_their_intervals() {
    // Two at 0, each 0.6 ms: done at 0.6 and 1.2 ms; one at 2.5 ms, done at 3.1 ms.
    let ms = 1_000_000;
    let write = Timed { op: Op::Write, ..read(5 * ms / 2, 0, 8192) };
    let (run, recorded) =
        record(600_000, OPEN, u32::MAX, [read(0, 0, 512), read(0, 0, 512), write]);
    assert_eq!((run.width, run.length, run.deepest), (FIRST, Ns(3_100_000), 2));
    let requests: Vec<_> = run.intervals.iter().map(|i| (i.requests[0], i.requests[1])).collect();
    assert_eq!(requests, [(1, 0), (1, 0), (0, 0), (0, 1)]);
    assert_eq!(run.intervals[3].bytes, [0, 8192, 0, 0]);
    // Two for 0.6 ms and one for 0.4; one for 0.2; one for 0.5; one for 0.1.
    let areas: Vec<_> = run.intervals.iter().map(|i| i.outstanding).collect();
    assert_eq!(areas, [1_600_000, 200_000, 500_000, 100_000]);
    // 0: 1.3 ms; 1: 0.6 + 0.6; 2: 0.6.
    assert_eq!(run.depths[..3], [1_300_000, 1_200_000, 600_000]);
    assert_eq!(run.depths.iter().sum::<u64>(), run.length.0);
    let spans: Vec<_> = run.spans().collect();
    assert_eq!(spans[3], (Ns(3 * FIRST.0), Ns(100_000)));
    assert_eq!(run.intervals[0].slowest, Ns(600_000));
    assert_eq!(run.intervals[1].latency, 1_200_000);
    let reads = recorded.latencies.of(Op::Read).summary();
    assert_eq!((reads.mean, reads.max), (Some(900.0), Some(1200.0)));
    assert_eq!(recorded.latencies.get(Op::Write, Cause::Collection).unwrap().count(), 1);
    assert_eq!(recorded.bytes, [1024, 8192, 0, 0]);
    // 1.8 ms of work, all of it somewhere.
    let work: u64 = run.intervals.iter().map(|i| i.device.usage.write.0).sum();
    assert_eq!(work, 1_800_000);
}

#[test]
fn intervals_stay_few_and_lose_nothing() {
    // 50,000 requests a millisecond apart and an hour of silence after the first.
    let at = |i: u64| if i == 0 { 0 } else { 3_600_000_000_000 + i * 1_000_000 };
    let count = 50_000;
    let (run, _) = record(1000, OPEN, u32::MAX, (0..count).map(|i| read(at(i), 0, 512)));
    assert!(run.intervals.len() <= MOST && run.intervals.len() > MOST / 3);
    let total: u64 = run.intervals.iter().map(|i| i.requests[0]).sum();
    assert_eq!(total, count);
    let area: u128 = run.intervals.iter().map(|i| i.outstanding).sum();
    assert_eq!(area, u128::from(count) * 1000);
    let work: u64 = run.intervals.iter().map(|i| i.device.usage.write.0).sum();
    assert_eq!(work, count * 1000);
    assert_eq!(run.depths.iter().sum::<u64>(), run.length.0);
    // The intervals cover the run.
    let covered: Ns = run.spans().map(|(_, len)| len).sum();
    assert_eq!(covered, run.length);
    assert_eq!(run.intervals[0].requests[0], 1);
}

#[test]
fn a_run_that_ends_with_an_interval_has_no_empty_one() {
    let (run, _) = record(500_000, Pacing::Closed, 1, (0..4).map(|_| read(0, 0, 512)));
    assert_eq!(run.length, Ns(2 * FIRST.0));
    // What completes at the very end of an interval counts in the next, but for the last.
    let requests: Vec<_> = run.intervals.iter().map(|i| i.requests[0]).collect();
    assert_eq!(requests, [1, 3]);
}

/// Little's law: outstanding = rate x latency, exactly.
#[test]
fn little_s_law_holds() {
    let requests = (0..1000).map(|i| read(i * 700 + i % 13 * 40, i % 7 * 512, 512));
    let (run, recorded) = record(690, OPEN, u32::MAX, requests);
    let area: u128 = run.intervals.iter().map(|i| i.outstanding).sum();
    let latency: u128 = run.intervals.iter().map(|i| i.latency).sum();
    assert_eq!(area, latency);
    let reads = recorded.latencies.of(Op::Read);
    assert!((reads.summary().mean.unwrap() - latency as f64 / 1e6).abs() < 1e-9);
}
