use super::*;
use crate::clock::{RealTimeSim, Simulated};
use gordon_blockio::{IoOp, Request};
use gordon_testkit::Random;

fn request(op: IoOp, offset: u64, len: u64) -> Request {
    Request::new(op, units::Bytes(offset), units::Bytes(len))
}

/// Random requests with their arrival times; some writes are durable.
fn load(seed: u64) -> Vec<(Ns, Request)> {
    let (mut random, mut now) = (Random::new(seed), Ns::ZERO);
    let next = |_| {
        now += Ns(random.below(12_000_000) as u64);
        let offset = random.below(1 << 20) as u64 * 4096;
        let (op, durable) =
            [(IoOp::Read, false), (IoOp::Write, false), (IoOp::Write, true)][random.below(3)];
        let request = request(op, offset, 4096 * (1 + random.below(64) as u64));
        (now, Request { durable, ..request })
    };
    (0..200).map(next).collect()
}

/// When each request was due, and when it was answered. The thread of the clock wakes `late` after
/// each time that it waits for, and the bytes of a request are moved `late` after it arrived.
fn served(load: &[(Ns, Request)], disks: u32, mut late: impl FnMut() -> Ns) -> Vec<(Ns, Ns)> {
    let mut sim = RealTimeSim::new(SimDisk::new(drive(disks)));
    let mut answers = vec![(Ns::ZERO, Ns::ZERO); load.len()];
    let mut jobs: Vec<(Ns, usize, usize)> = vec![];
    let mut left = load.iter().enumerate().peekable();
    let mut now = Ns::ZERO;
    loop {
        let arrival = left.peek().map(|(_, (at, ..))| *at);
        let moved = jobs.iter().map(|job| job.0).min();
        let woken = sim.next().map(|at| (at + late()).max(now));
        let Some(next) = arrival.into_iter().chain(moved).chain(woken).min() else { break };
        now = next;
        if moved == Some(now) {
            let at = jobs.iter().position(|job| job.0 == now).unwrap();
            let (_, tag, id) = jobs.swap_remove(at);
            sim.with(now, |disks, _| disks.bytes_moved(tag, id));
        } else if arrival == Some(now) {
            let (id, &(_, request)) = left.next().unwrap();
            let tag = sim.with(now, |disks, now| disks.submit(now, request));
            jobs.push((now + late(), tag, id));
        }
        for due in sim.ready(now) {
            answers[due.answer] = (due.at, now);
        }
    }
    answers
}

#[test]
fn late_threads_and_slow_files_change_no_time_of_the_disk() {
    for (seed, disks) in [(1, 1), (2, 1), (3, 2), (4, 5), (5, 0), (6, 0)] {
        let load = load(seed);
        let prompt = served(&load, disks, || Ns::ZERO);
        let mut random = Random::new(seed);
        let slow = served(&load, disks, || Ns(random.below(30_000_000) as u64));
        let times = |all: &[(Ns, Ns)]| all.iter().map(|(due, _)| *due).collect::<Vec<_>>();
        assert_eq!(times(&prompt), times(&slow), "seed {seed}");
        assert!(prompt.iter().all(|(due, answered)| due == answered), "seed {seed}");
        assert!(slow.iter().all(|(due, answered)| due <= answered), "seed {seed}");
        let came = load.iter().map(|(at, ..)| *at);
        assert!(came.zip(&slow).all(|(came, (due, _))| came < *due), "seed {seed}");
        // They are also the times of the disk alone, because here no request depends on an answer.
        let (mut alone, mut done) = (drive(disks), vec![]);
        for (id, &(at, request)) in (0..).zip(&load) {
            alone.run_until(at, &mut done);
            alone.submit(at, id, request);
        }
        alone.run_until(Ns::MAX, &mut done);
        done.sort_by_key(|done| done.id);
        let alone: Vec<_> = done.iter().map(|done| done.at).collect();
        assert_eq!(times(&served(&load, disks, || Ns(700_000))), alone, "seed {seed}");
    }
}

#[test]
fn a_durable_write_waits_for_the_medium() {
    let write = request(IoOp::Write, 1 << 30, 4096);
    let [lazy, durable] = [false, true].map(|durable| {
        let mut disks = SimDisk::new(drive(1));
        let tag = disks.submit(Ns::ZERO, Request { durable, ..write });
        disks.bytes_moved(tag, ());
        let mut at = None;
        while at.is_none() {
            disks.step();
            disks.ended(|due| at = Some(due.at));
        }
        (at.unwrap(), disks.drive.stats().destages)
    });
    assert!(lazy.0 < Ns(1_000_000) && lazy.1 == 0, "{lazy:?}");
    assert!(durable.0 > lazy.0 + Ns(1_000_000) && durable.1 == 1, "{durable:?}");
}

#[test]
fn disks_of_a_stripe_work_in_parallel() {
    // Two requests for each disk, far from each other; a single disk serves all sequentially.
    let far: Vec<_> = (0..8u64)
        .map(|n| (Ns::ZERO, request(IoOp::Read, (n << 36) + (n % 4) * 65536, 4096)))
        .collect();
    let last = |disks| served(&far, disks, || Ns::ZERO).into_iter().map(|(due, _)| due).max();
    let (one, four) = (last(1).unwrap(), last(4).unwrap());
    assert!(four.0 * 2 < one.0, "{one} {four}");
}
