//! The preset compared with its data sheet and with closed forms.

mod common;

use common::{FLUSH, Random, closed_loop, disk, drain, near, preset, sectors};
use gordon_blockio::{Completion, Device, IoOp, Usage};
use gordon_hdd::{Disk, DiskStats};
use gordon_units::Ns;
use proptest::prelude::*;

/// Bytes per second of `count` sequential requests of `each` sectors from `start` on.
fn sequential(disk: &mut Disk, op: IoOp, depth: usize, start: u64, each: u64, count: usize) -> f64 {
    let done = closed_loop(disk, depth, count, |i| sectors(op, start + i * each, each));
    // From the first completion on, since positioning is not part of the rate.
    let span = done[count - 1].at - done[0].at;
    (count as f64 - 1.0) * each as f64 * 512.0 / span.as_secs()
}

#[test]
fn the_average_seek_matches_the_data_sheet() {
    let disk = disk();
    let mut random = Random(1);
    let cylinders = u64::from(disk.mechanics().geometry().cylinders());
    let mut mean = |write| {
        let pairs = 200_000;
        let total: u64 = (0..pairs)
            .map(|_| {
                let distance = random.below(cylinders).abs_diff(random.below(cylinders));
                disk.mechanics().seek(u32::try_from(distance).unwrap(), write).0
            })
            .sum();
        total as f64 / f64::from(pairs) / 1e6
    };
    near("average read seek, ms,", mean(false), 8.5, 0.01);
    near("average write seek, ms,", mean(true), 9.5, 0.01);
}

#[test]
fn sequential_transfers_run_at_the_rate_of_the_medium() {
    let end = disk().mechanics().geometry().sectors();
    let size = 300 * 2048;
    // 105 MB/s in the outermost zone, 0.55 of it in the innermost.
    for (start, rate) in [(0, 105e6), (end - size, 0.55 * 105e6)] {
        for depth in [1, 4] {
            for each in [128, 2048] {
                let count = usize::try_from(size / each).unwrap();
                let read = sequential(&mut disk(), IoOp::Read, depth, start, each, count);
                near(&format!("read at {start}, depth {depth}, by {each}"), read, rate, 0.015);
            }
        }
        // Writes are acknowledged early, so the time includes a flush at the end.
        let mut disk = disk();
        let done = closed_loop(&mut disk, 4, 301, |i| match i {
            300 => FLUSH,
            _ => sectors(IoOp::Write, start + i * 2048, 2048),
        });
        let write = size as f64 * 512.0 / done[300].at.as_secs();
        near(&format!("write at {start}"), write, rate, 0.015);
    }
}

#[test]
fn a_random_read_takes_overhead_seek_rotation_and_transfer() {
    let mut disk = disk();
    let mut random = Random(2);
    let count = 20_000;
    let end = disk.mechanics().geometry().sectors() / 8;
    let done = closed_loop(&mut disk, 1, count, |_| sectors(IoOp::Read, random.below(end) * 8, 8));
    let each = done[count - 1].at.as_secs() * 1e3 / count as f64;
    // 0.1 + 8.5 + 4.167 + 8 sectors of 5.5 us. Outer cylinders hold more sectors, so the mean seek
    // over sectors is a little shorter than that over cylinders.
    near("random read, ms,", each, 0.1 + 8.5 + 4.167 + 0.044, 0.015);
    let DiskStats { seek_time, rotation_time, .. } = disk.stats();
    near("rotation, ms,", rotation_time.as_secs() * 1e3 / count as f64, 4.167, 0.01);
    near("seek, ms,", seek_time.as_secs() * 1e3 / count as f64, 8.5, 0.02);
}

#[test]
fn a_queue_shortens_positioning_and_serves_everyone() {
    let rate_and_worst = |depth| {
        let mut disk = disk();
        let mut random = Random(3);
        let count = 20_000;
        let end = disk.mechanics().geometry().sectors() / 8;
        let mut sent = vec![Ns::ZERO; count];
        let mut completed: Vec<Completion> = Vec::new();
        let mut worst = Ns::ZERO;
        let mut next = 0;
        let mut now = Ns::ZERO;
        while completed.len() < count {
            while next < count && next < completed.len() + depth {
                sent[next] = now;
                disk.submit(now, next as u64, sectors(IoOp::Read, random.below(end) * 8, 8));
                next += 1;
            }
            let before = completed.len();
            disk.step(&mut completed);
            for done in &completed[before..] {
                now = done.at;
                worst = worst.max(done.at - sent[usize::try_from(done.id).unwrap()]);
            }
        }
        (count as f64 / now.as_secs(), worst)
    };
    let ((one, _), (four, _), (many, worst)) =
        (rate_and_worst(1), rate_and_worst(4), rate_and_worst(32));
    assert!(four > 1.2 * one, "{four} a second at depth 4, {one} at 1");
    assert!(many > 2.0 * one, "{many} a second at depth 32, {one} at 1");
    // A wait of w offsets w / 100 of positioning, which never exceeds 14.7 + 8.3 ms: after 2.3 s of
    // waiting no new request is preferred.
    assert!(worst < Ns(2_600_000_000), "{worst}");
}

#[test]
fn a_burst_that_fits_the_cache_is_accepted_at_interface_rate() {
    let mut disk = disk();
    let mut random = Random(4);
    let end = disk.mechanics().geometry().sectors() / 128;
    // 100 writes of 64 KiB in 100 places.
    let done =
        closed_loop(&mut disk, 32, 100, |_| sectors(IoOp::Write, random.below(end) * 128, 128));
    let rate = 100.0 * 65_536.0 / done[99].at.as_secs();
    near("burst", rate, 300e6, 0.01);
    assert!(disk.stats().destages < 10);
    // The flush then writes all of them to the medium.
    disk.submit(done[99].at, 100, FLUSH);
    let flushed = drain(&mut disk);
    assert_eq!((disk.stats().sectors_destaged, flushed.len()), (12_800, 1));
    assert!(flushed[0].at > Ns(200_000_000), "{}", flushed[0].at);
}

#[test]
fn reads_go_before_destages() {
    let mut disk = disk();
    let mut random = Random(5);
    let end = disk.mechanics().geometry().sectors() / 8;
    // 60 scattered writes fit in the cache; the reads after them take as long as without them.
    let done = closed_loop(&mut disk, 1, 160, |i| {
        let op = if i < 60 { IoOp::Write } else { IoOp::Read };
        sectors(op, random.below(end) * 8, 8)
    });
    let each = (done[159].at - done[60].at).as_secs() * 1e3 / 99.0;
    near("read among destages, ms,", each, 12.8, 0.1);
    assert!(disk.stats().destages < 5, "{:?}", disk.stats());
    drain(&mut disk);
    assert_eq!(disk.stats().destages, 60);
}

#[test]
fn a_slow_sequential_reader_finds_everything_in_memory() {
    let mut disk = disk();
    let mut completed = Vec::new();
    let count = 200;
    // 64 KiB every 2 ms, a third of the medium's rate.
    for i in 0..count {
        let at = Ns(i * 2_000_000);
        while disk.next_event().is_some_and(|next| next < at) {
            disk.step(&mut completed);
        }
        disk.submit(at, i, sectors(IoOp::Read, i * 128, 128));
    }
    drain(&mut disk);
    let stats = disk.stats();
    // All reads hit except the first, which waits for the disk, and those that arrive meanwhile.
    assert!(stats.cache_hits >= count - 8, "{stats:?}");
    // Read-ahead continues before its data are used up, in few operations.
    assert!(stats.rotation_time < Ns(30 * 8_333_333), "{stats:?}");
}

#[derive(Clone, Debug)]
struct Step {
    op: IoOp,
    start: u64,
    len: u64,
    gap: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let op = prop_oneof![
        4 => Just(IoOp::Read),
        4 => Just(IoOp::Write),
        1 => Just(IoOp::Discard),
        1 => Just(IoOp::Flush),
    ];
    // Starts close together, so that ranges meet, or anywhere; a few lengths exceed the cache.
    let start = prop_oneof![3 => 0u64..5000, 1 => 0u64..1_953_000_000];
    let len = prop_oneof![6 => 1u64..300, 1 => 1u64..80_000];
    let gap = prop_oneof![2 => Just(0u64), 2 => 0u64..300_000, 1 => 0u64..50_000_000];
    let step = (op, start, len, gap).prop_map(|(op, start, len, gap)| Step { op, start, len, gap });
    prop::collection::vec(step, 1..120)
}

/// Replays an open loop. Returns the completions, and usage and counters when the disk is
/// quiescent.
fn replay(steps: &[Step]) -> (Vec<Completion>, Usage, DiskStats, Ns) {
    let mut disk = disk();
    let mut done = Vec::new();
    let mut at = Ns::ZERO;
    for (id, step) in steps.iter().enumerate() {
        at += Ns(step.gap);
        while disk.next_event().is_some_and(|next| next < at) {
            disk.step(&mut done);
        }
        let request = match step.op {
            IoOp::Flush => FLUSH,
            op => sectors(op, step.start, step.len),
        };
        disk.submit(at, id as u64, request);
    }
    let mut end = at;
    while let Some(next) = disk.next_event() {
        end = next;
        disk.step(&mut done);
    }
    (done, disk.usage(), disk.stats(), end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_requests_complete_once_in_order_and_are_accounted_for(steps in steps()) {
        let (done, usage, stats, end) = replay(&steps);
        prop_assert!(done.windows(2).all(|w| w[0].at <= w[1].at));
        let mut ids: Vec<u64> = done.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        prop_assert!(ids.iter().copied().eq(0..steps.len() as u64));
        prop_assert_eq!(stats.requests, steps.len() as u64);
        let mut at = 0;
        let sent: Vec<u64> = steps.iter().map(|s| { at += s.gap; at }).collect();
        for c in &done {
            let i = usize::try_from(c.id).unwrap();
            // No request is faster than its overhead and, with data, the link.
            let is_moved = matches!(steps[i].op, IoOp::Read | IoOp::Write);
            let link = if is_moved { steps[i].len * 1706 } else { 0 };
            prop_assert!(c.at.0 >= sent[i] + 100_000 + link, "{:?} {:?}", c, steps[i]);
        }
        // All written data reach the medium; a sector is destaged at most as often as it was
        // written.
        let written: u64 = steps.iter().filter(|s| s.op == IoOp::Write).map(|s| s.len).sum();
        let mut covered: Vec<(u64, u64)> = steps.iter().filter(|s| s.op == IoOp::Write)
            .map(|s| (s.start, s.start + s.len)).collect();
        covered.sort_unstable();
        let (mut distinct, mut to) = (0, 0);
        for (start, end) in covered {
            distinct += end.max(to) - start.max(to);
            to = to.max(end);
        }
        prop_assert!((distinct..=written).contains(&stats.sectors_destaged), "{:?}", stats);
        // The mechanism is never busy for longer than the elapsed time, and its busy time is fully
        // explained.
        let busy = usage.read + usage.write;
        prop_assert!(busy <= end);
        prop_assert!(busy <= stats.seek_time + stats.rotation_time + stats.transfer_time);
    }

    #[test]
    fn the_same_requests_give_the_same_run(steps in steps()) {
        prop_assert_eq!(replay(&steps), replay(&steps));
    }
}

#[test]
fn the_preset_has_the_power_of_the_paper() {
    let power = preset().power;
    assert_eq!((power.idle.0, power.read.0, power.write.0), (9.0, 13.0, 17.0)); // Table 3
}
