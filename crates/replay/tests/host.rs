//! The host with a device of known service times: closed forms.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Given, Keep, OPEN, Toy, given, play, policy, read};
use gordon_blockio::{Cause, IoOp};
use gordon_replay::ReplayError;
use gordon_replay::host::{CompletedRequest, HostPolicy, LATEST, Pacing, WINDOW, drive};
use gordon_replay::source::{Repeat, RequestSource, TimedRequest};
use gordon_units::{Bytes, Ns, Progress};
use std::sync::atomic::Ordering;

fn latencies(done: &[CompletedRequest]) -> Vec<u64> {
    done.iter().map(|d| (d.completed - d.arrived).0).collect()
}

#[test]
fn arrivals_slower_than_service_do_not_wait() {
    // D/D/1 with a load of 0.8: each latency is the service time.
    let requests = (0..100).map(|i| read(i * 1250, 0, 512));
    let (outcome, done) = play(&mut Toy::new(1000, 0), requests, &policy(OPEN, u32::MAX)).unwrap();
    assert!(latencies(&done).iter().all(|l| *l == 1000));
    assert_eq!(outcome.simulated, Ns(99 * 1250 + 1000));
    assert_eq!(outcome.requests, 100);
}

#[test]
fn arrivals_faster_than_service_queue_up() {
    // Each waits 200 ns longer than the previous one: 1000 - 800.
    let requests = (0..100).map(|i| read(i * 800, 0, 512));
    let (_, done) = play(&mut Toy::new(1000, 0), requests, &policy(OPEN, u32::MAX)).unwrap();
    let expected: Vec<u64> = (0..100).map(|i| 1000 + i * 200).collect();
    assert_eq!(latencies(&done), expected);
}

#[test]
fn a_burst_waits_its_turn_and_time_starts_with_the_first() {
    // Four requests at once, long after time zero of the trace.
    let requests = (0..4).map(|_| read(7_000_000, 0, 512));
    let (outcome, done) = play(&mut Toy::new(1000, 0), requests, &policy(OPEN, u32::MAX)).unwrap();
    assert_eq!(latencies(&done), [1000, 2000, 3000, 4000]);
    assert_eq!(outcome.simulated, Ns(4000));
}

#[test]
fn a_depth_holds_arrivals_back_and_latency_counts_from_arrival() {
    let requests = || (0..4).map(|_| read(0, 0, 512));
    let mut toy = Toy::new(1000, 0);
    let (_, done) = play(&mut toy, requests(), &policy(OPEN, 2)).unwrap();
    assert_eq!(latencies(&done), [1000, 2000, 3000, 4000]);
    // The third is sent to the device when the first is done.
    let submitted: Vec<u64> = toy.seen.iter().map(|(at, _)| at.0).collect();
    assert_eq!(submitted, [0, 0, 1000, 2000]);
    assert_eq!(done[2].issued, Ns(1000));
}

#[test]
fn speed_scales_arrivals_alone() {
    let requests = |every| (0..10u64).map(move |i| read(500 + i * every, 0, 512));
    let twice = policy(Pacing::Arrival { speed: 2.0 }, u32::MAX);
    let (fast, done) = play(&mut Toy::new(10, 0), requests(1000), &twice).unwrap();
    let (same, expected) = play(&mut Toy::new(10, 0), requests(500), &policy(OPEN, 9)).unwrap();
    assert_eq!((fast, done), (same, expected));
    let half = policy(Pacing::Arrival { speed: 0.5 }, u32::MAX);
    let (slow, _) = play(&mut Toy::new(10, 0), requests(1000), &half).unwrap();
    assert_eq!(slow.simulated, Ns(9 * 2000 + 10));
}

#[test]
fn a_closed_loop_keeps_its_depth() {
    for depth in [1, 2, 8] {
        let mut toy = Toy::new(1000, 0);
        // Times do not matter, even if they go backwards.
        let requests = (0..50).map(|i| read(1_000_000 - i, 0, 512));
        let (outcome, done) = play(&mut toy, requests, &policy(Pacing::Closed, depth)).unwrap();
        assert_eq!(outcome.simulated, Ns(50 * 1000));
        let depth = u64::from(depth);
        let expected: Vec<u64> = (0..50).map(|i| 1000 * (i + 1).min(depth)).collect();
        assert_eq!(latencies(&done), expected);
        let submitted: Vec<u64> = toy.seen.iter().map(|(at, _)| at.0).collect();
        let expected: Vec<u64> = (0..50u64).map(|i| 1000 * i.saturating_sub(depth - 1)).collect();
        assert_eq!(submitted, expected);
    }
}

#[test]
fn gaps_start_at_completions() {
    let gaps = [500, 0, 3000];
    let requests = || gaps.into_iter().map(|gap| TimedRequest { gap: Ns(gap), ..read(0, 0, 512) });
    let mut toy = Toy::new(1000, 0);
    let (outcome, done) = play(&mut toy, requests(), &policy(Pacing::Gaps, 1)).unwrap();
    let submitted: Vec<u64> = toy.seen.iter().map(|(at, _)| at.0).collect();
    // 0 to 1000; 500 later to 2500; at once to 3500.
    assert_eq!(submitted, [0, 1500, 2500]);
    assert_eq!(latencies(&done), [1000, 1000, 1000]);
    assert_eq!(outcome.simulated, Ns(3500));
    // Two users: the third request comes from the first user, 500 after its completion at 1000.
    let mut toy = Toy::new(1000, 0);
    play(&mut toy, requests(), &policy(Pacing::Gaps, 2)).unwrap();
    let submitted: Vec<u64> = toy.seen.iter().map(|(at, _)| at.0).collect();
    assert_eq!(submitted, [0, 0, 1500]);
    // With many users.
    let mut toy = Toy::new(1000, 0);
    let many = (0..5_001).map(|_| TimedRequest { gap: Ns(500), ..read(0, 0, 512) });
    play(&mut toy, many, &policy(Pacing::Gaps, 5_000)).unwrap();
    assert_eq!(toy.seen.iter().filter(|(at, _)| at.0 == 0).count(), 5_000);
}

#[test]
fn a_split_request_completes_with_its_last_part() {
    let mut toy = Toy::new(100, 1);
    let split = HostPolicy { split: Some(Bytes(4096)), ..policy(Pacing::Closed, 1) };
    let write = TimedRequest { op: IoOp::Write, ..read(0, 1024, 10_240) };
    let (outcome, done) = play(&mut toy, [write, read(0, 0, 4096)], &split).unwrap();
    let parts: Vec<_> = toy.seen.iter().map(|(_, r)| (r.offset.0, r.len.0)).collect();
    assert_eq!(parts, [(1024, 4096), (5120, 4096), (9216, 2048), (0, 4096)]);
    // Three parts in sequence: 3 x 100 + 10240.
    assert_eq!(latencies(&done), [10_540, 4196]);
    assert_eq!((outcome.requests, outcome.device_requests), (2, 4));
    assert_eq!((done[0].offset, done[0].len), (1024, 10_240));
}

#[test]
fn the_last_cause_of_the_parts_is_the_request_s() {
    let split = HostPolicy { split: Some(Bytes(8192)), ..policy(Pacing::Closed, 1) };
    // A part of 8 KiB that waited for collection, then one of 1 KiB that did not.
    let write = TimedRequest { op: IoOp::Write, ..read(0, 0, 9216) };
    let (_, done) = play(&mut Toy::new(100, 0), [write], &split).unwrap();
    assert_eq!(done[0].cause, Cause::Collection);
}

#[test]
fn ranges_are_aligned_out() {
    let mut toy = Toy::new(100, 0);
    play(&mut toy, [read(0, 700, 1000), read(0, 511, 1)], &policy(Pacing::Closed, 1)).unwrap();
    let parts: Vec<_> = toy.seen.iter().map(|(_, r)| (r.offset.0, r.len.0)).collect();
    // 700..1700 is within 512..2048.
    assert_eq!(parts, [(512, 1536), (0, 512)]);
}

#[test]
fn requests_beyond_the_capacity_are_refused_or_wrap() {
    let end = 1 << 20;
    for (request, last) in
        [(read(0, end - 512, 513), end + 512), (read(0, end * 9, 1), end * 9 + 512)]
    {
        let error = play(&mut Toy::new(1, 0), [request], &policy(Pacing::Closed, 1)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("request 1 ") && text.contains(&format!("byte {last}")), "{text}");
        assert!(text.contains("--fit wrap"), "{text}");
    }
    let overflow = read(0, u64::MAX - 100, 512);
    assert!(matches!(
        play(&mut Toy::new(1, 0), [overflow], &policy(OPEN, 1)),
        Err(ReplayError::Past { .. })
    ));
    let wrap = HostPolicy { wrap: true, ..policy(Pacing::Closed, 1) };
    let mut toy = Toy::new(1, 0);
    let (outcome, _) =
        play(&mut toy, [read(0, 3 * end + 1024, 512), read(0, end - 512, 1024)], &wrap).unwrap();
    let parts: Vec<_> = toy.seen.iter().map(|(_, r)| (r.offset.0, r.len.0)).collect();
    // The second request has two parts, at the end and at the start.
    assert_eq!(parts, [(1024, 512), (end - 512, 512), (0, 512)]);
    assert_eq!(outcome.requests, 2);
    let error = play(&mut toy, [read(0, 0, end + 1)], &wrap).unwrap_err();
    assert!(matches!(error, ReplayError::Larger { number: 1, .. }), "{error}");
}

#[test]
fn empty_requests_are_counted_and_not_submitted() {
    for pacing in [OPEN, Pacing::Closed, Pacing::Gaps] {
        let mut toy = Toy::new(100, 0);
        let requests = [read(0, 0, 0), read(5, 0, 512), read(6, 9, 0)];
        let (outcome, done) = play(&mut toy, requests, &policy(pacing, 1)).unwrap();
        assert_eq!((outcome.requests, outcome.empty, outcome.device_requests), (3, 2, 1));
        assert_eq!((toy.seen.len(), done.len()), (1, 3));
    }
}

#[test]
fn flushes_have_no_range() {
    let flush = TimedRequest { op: IoOp::Flush, ..read(0, 1 << 40, 77) };
    let mut toy = Toy::new(100, 0);
    play(&mut toy, [flush], &policy(Pacing::Closed, 1)).unwrap();
    assert_eq!((toy.seen[0].1.offset, toy.seen[0].1.len), (Bytes(0), Bytes(0)));
}

#[test]
fn times_that_go_backwards_are_refused_where_they_matter() {
    let requests = || [read(100, 0, 512), read(300, 0, 512), read(299, 0, 512)];
    let error = play(&mut Toy::new(1, 0), requests(), &policy(OPEN, 1)).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("request 3 ") && text.contains("299ns"), "{text}");
    play(&mut Toy::new(1, 0), requests(), &policy(Pacing::Closed, 1)).unwrap();
}

#[test]
fn times_beyond_146_years_are_refused_where_they_matter() {
    let far = |at: u64| [read(0, 0, 512), read(at, 0, 512)];
    for (at, speed, fits) in [
        (LATEST.0 - 100, 1.0, true),
        (LATEST.0 + 1, 1.0, false),
        (u64::MAX, 1.0, false),
        (u64::MAX, 8.0, true),
        (1_000_000_000, 1e-12, false),
        (1, 1e-300, false),
    ] {
        let result =
            play(&mut Toy::new(100, 0), far(at), &policy(Pacing::Arrival { speed }, u32::MAX));
        let late = matches!(result, Err(ReplayError::Late { number: 2 }));
        assert_eq!((result.is_ok(), late), (fits, !fits), "{at} at {speed}");
    }
    // A closed loop ignores times; so does a repetition of such a load.
    play(&mut Toy::new(100, 0), far(u64::MAX), &policy(Pacing::Closed, 2)).unwrap();
    let mut again = Repeat::new(|| Ok(given(far(u64::MAX))), 3);
    let (mut batch, mut count) = (Vec::new(), 0);
    while again.next_batch(&mut batch).is_ok() && !batch.is_empty() {
        count += batch.len();
    }
    assert_eq!(count, 6);
    // The sum of gaps is limited, too.
    let gap = TimedRequest { gap: Ns(1 << 61), ..read(0, 0, 512) };
    let error = play(&mut Toy::new(100, 0), [gap; 5], &policy(Pacing::Gaps, 1)).unwrap_err();
    assert!(error.to_string().starts_with("request 3 (from 1) comes more than 146"), "{error}");
}

fn queued(queue: u32, i: u64) -> TimedRequest {
    TimedRequest { queue, ..read(0, i * 512, 512) }
}

#[test]
fn queues_share_a_closed_loop_by_weight() {
    // All requests of queue 0 precede those of queue 1 in the load, within the window.
    let requests = (0..300).map(|i| queued(u32::from(i >= 150), i));
    let weighted = HostPolicy { weights: vec![3, 1], ..policy(Pacing::Closed, 4) };
    let mut toy = Toy::new(1000, 0);
    let (_, done) = play(&mut toy, requests, &weighted).unwrap();
    // While both queues have requests, three of four are those of queue 0.
    let first = done[..160].iter().filter(|d| d.queue == 0).count();
    assert_eq!(first, 120);
    assert_eq!(done.len(), 300);
    for queue in 0..2 {
        let offsets: Vec<u64> =
            done.iter().filter(|d| d.queue == queue).map(|d| d.offset).collect();
        assert!(offsets.is_sorted(), "in a queue the order is kept");
    }
}

#[test]
fn queues_share_arrivals_that_wait_by_weight() {
    let requests = (0..80).map(|i| queued(u32::from(i >= 40), i));
    let weighted = HostPolicy { weights: vec![1, 3], ..policy(OPEN, 1) };
    let (_, done) = play(&mut Toy::new(1000, 0), requests, &weighted).unwrap();
    // All arrive at once, but the first is issued before the second arrives.
    let order: Vec<u32> = done[1..9].iter().map(|d| d.queue).collect();
    assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0]);
}

#[test]
fn a_load_with_one_busy_queue_is_not_read_into_memory() {
    let count = 10 * WINDOW as u64;
    let requests = (0..count).map(|i| queued(0, i % 1000));
    let two = HostPolicy { weights: vec![1, 1], ..policy(Pacing::Closed, 2) };
    let (outcome, _) = play(&mut Toy::new(10, 0), requests, &two).unwrap();
    assert_eq!(outcome.requests, count);
}

#[test]
fn repetitions_follow_a_mean_gap_after_each_other() {
    let once = || Ok(given([read(1000, 0, 512), read(1200, 0, 512), read(1400, 0, 512)]));
    let mut repeat = Repeat::new(once, 3);
    let (mut times, mut batch) = (Vec::new(), Vec::new());
    loop {
        repeat.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        times.extend(batch.iter().map(|r| r.at.0));
    }
    assert_eq!(times, [1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600]);
    let mut none: Repeat<Given, _> = Repeat::new(|| Ok(given([])), 3);
    none.next_batch(&mut batch).unwrap();
    assert!(batch.is_empty());
}

#[test]
fn a_stop_ends_the_run() {
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    let (mut toy, mut keep) = (Toy::new(1, 0), Keep::default());
    let load = given((0..10).map(|_| read(0, 0, 512)));
    let stopped = drive(&mut toy, load, &policy(Pacing::Closed, 1), &mut keep, &progress);
    assert!(matches!(stopped, Err(ReplayError::Interrupted)));
    assert!(toy.seen.is_empty());
}
