//! Merging of adjacent waiting requests; each request completes by itself.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FLUSH, Random, drain, preset, sectors};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_hdd::classic::ClassicConfig;
use gordon_hdd::drive::{Drive, DriveConfig, StripeConfig};
use gordon_hdd::{PowerManagedDisk, SchedulingPolicy};
use gordon_sim::coalesce::Coalescer;
use gordon_units::{Bytes, Ns, Watts};
use proptest::prelude::*;
use std::collections::VecDeque;

/// A device that carries out one request at a time, 100 us each and 1 us per sector; others wait.
#[derive(Clone, Debug, Default)]
struct OneByOne {
    clock: Ns,
    waiting: VecDeque<(u64, Request)>,
    current: Option<Completion>,
    carried_out: Vec<Request>,
}

impl OneByOne {
    fn start(&mut self) {
        if self.current.is_none()
            && let Some((id, request)) = self.waiting.pop_front()
        {
            self.carried_out.push(request);
            let at = self.clock + Ns(100_000 + request.len.0 / 512 * 1000);
            self.current = Some(Completion { id, at, cause: Cause::Medium, failed: false });
        }
    }
}

impl Device for OneByOne {
    fn capacity(&self) -> Bytes {
        SECTOR * 1000
    }
    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        self.clock = at;
        self.waiting.push_back((id, request));
        self.start();
    }
    fn enlarge(&mut self, id: u64, request: Request) -> bool {
        let waiting = self.waiting.iter_mut().find(|one| one.0 == id);
        waiting.map(|one| one.1 = request).is_some()
    }
    fn next_event(&self) -> Option<Ns> {
        self.current.map(|one| one.at)
    }
    fn step(&mut self, completed: &mut Vec<Completion>) {
        if let Some(done) = self.current.take() {
            self.clock = done.at;
            completed.push(done);
            self.start();
        }
    }
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// Submits all requests at time 0. Returns the completion times in microseconds, the requests
/// carried out, and the number of merged requests.
fn run(most: u64, requests: &[Request]) -> (Vec<u64>, Vec<Request>, u64) {
    let mut device = Coalescer::new(OneByOne::default(), SECTOR * most);
    for (id, request) in requests.iter().enumerate() {
        device.submit(Ns::ZERO, id as u64, *request);
    }
    let mut done = drain(&mut device);
    done.sort_by_key(|one| one.id);
    assert!(done.iter().map(|one| one.id).eq(0..requests.len() as u64), "{done:?}");
    let at = done.iter().map(|one| one.at.0 / 1000).collect();
    (at, device.device().carried_out.clone(), device.joined())
}

#[test]
fn waiting_requests_grow_at_both_ends() {
    let read = |start, len| sectors(IoOp::Read, start, len);
    // The first request is in progress. The second grows at its end, the third at its start.
    let (done, carried, joined) =
        run(64, &[read(0, 8), read(8, 8), read(100, 8), read(16, 8), read(92, 8)]);
    assert_eq!(carried, [read(0, 8), read(8, 16), read(92, 16)]);
    assert_eq!((done, joined), (vec![108, 224, 340, 224, 340], 2));
    // Up to the maximum size: 8 and 8, but not 8 more. Those start the next request.
    let (done, carried, _) =
        run(16, &[read(0, 8), read(8, 8), read(16, 8), read(24, 8), read(32, 8)]);
    assert_eq!(carried, [read(0, 8), read(8, 16), read(24, 16)]);
    assert_eq!(done, [108, 224, 224, 340, 340]);
    // Only requests of one kind are merged, and none over a flush.
    let write = |start| sectors(IoOp::Write, start, 8);
    let (_, carried, joined) = run(64, &[read(0, 8), read(8, 8), write(16), FLUSH, write(24)]);
    assert_eq!((carried.len(), joined), (5, 0));
    // Overlapping requests and requests in progress are not merged.
    let (_, carried, _) = run(64, &[read(0, 8), read(8, 8), read(12, 8)]);
    assert_eq!(carried, [read(0, 8), read(8, 8), read(12, 8)]);
}

/// Requests that a drive carries out for 64 simultaneous sequential reads of 4 KiB, and the
/// completion time.
fn carried(drive: Drive, coalesce: Option<Bytes>) -> (u64, Ns) {
    let mut drive = drive.striped(StripeConfig { coalesce, ..StripeConfig::default() }).unwrap();
    for id in 0..64 {
        drive.submit(Ns::ZERO, id, sectors(IoOp::Read, id * 8, 8));
    }
    let done = drain(&mut drive);
    assert_eq!(done.len(), 64);
    let requests: u64 = drive.disks().iter().map(|one| one.stats().requests).sum();
    let joined: u64 = drive.disks().iter().map(Drive::joined).sum();
    assert_eq!(requests + joined, 64);
    (requests, done[63].at)
}

#[test]
fn drives_of_both_kinds_merge_waiting_requests() {
    let size = Some(Bytes(128 << 10));
    // 32 are in the drive; the waiting ones are merged into one request of 128 KiB.
    let queued = || Drive::new(&DriveConfig::Config(Box::new(preset())), None).unwrap();
    assert_eq!(carried(queued(), None).0, 64);
    assert_eq!(carried(queued(), size).0, 32 + 1);
    // One is in progress; the other 63 are merged into requests of 32 and 31.
    let text = include_str!("../../../python/gordon/parts/drive/seagate-cheetah-9lp.toml");
    let config: ClassicConfig = toml::from_str(text).unwrap();
    let classic = || {
        let config = DriveConfig::Classic(Box::new(config.clone()));
        Drive::new(&config, Some(SchedulingPolicy::Sptf)).unwrap()
    };
    let (alone, together) = (carried(classic(), None), carried(classic(), size));
    assert_eq!((alone.0, together.0), (64, 3));
    // 61 overheads less.
    assert!(together.1 < alone.1 - Ns(61 * 100_000), "{together:?} {alone:?}");
}

#[test]
fn requests_that_wait_for_a_wake_up_are_merged() {
    let mut config = preset();
    config.power.states.push(gordon_hdd::PowerState {
        name: "standby".into(),
        after: Ns(1_000_000_000).into(),
        draws: Watts(1.0).into(),
        wake: Ns(2_000_000_000).into(),
        wake_energy_j: 20.0.into(),
    });
    let disk = PowerManagedDisk::new(common::disk(), &config.power).unwrap();
    let mut drive = Coalescer::new(disk, Bytes(1 << 20));
    drive.submit(Ns::ZERO, 0, sectors(IoOp::Read, 0, 8));
    drain(&mut drive);
    for id in 1..10 {
        drive.submit(Ns(10_000_000_000 + id), id, sectors(IoOp::Read, 100_000 + id * 8, 8));
    }
    let done = drain(&mut drive);
    assert!(done.len() == 9 && done.iter().all(|one| one.at == done[0].at), "{done:?}");
    assert_eq!((drive.device().disk().stats().requests, drive.joined()), (2, 8));
}

proptest! {
    #[test]
    fn every_sector_is_requested_once_and_every_request_completes(
        seed in any::<u64>(), most in 1u64..64, count in 1usize..60,
    ) {
        let mut random = Random(seed);
        let mut device = Coalescer::new(OneByOne::default(), SECTOR * most);
        let (mut submitted, mut done, mut at) = (Vec::new(), Vec::new(), Ns::ZERO);
        for id in 0..count {
            let ops = [IoOp::Read, IoOp::Write, IoOp::Flush];
            let op = ops[usize::try_from(random.below(9) / 4).unwrap()];
            let request = if op == IoOp::Flush {
                FLUSH
            } else {
                sectors(op, random.below(40) * 8, 8 * (1 + random.below(3)))
            };
            at += Ns(random.below(3) * 40_000);
            while device.next_event().is_some_and(|next| next < at) {
                device.step(&mut done);
            }
            device.submit(at, id as u64, request);
            submitted.push(request);
        }
        done.extend(drain(&mut device));
        done.sort_by_key(|one| one.id);
        prop_assert!(done.iter().map(|one| one.id).eq(0..count as u64));
        let all = |requests: &[Request]| {
            let mut all: Vec<_> = requests.iter().flat_map(|one| {
                (one.offset.0 / 512..(one.offset.0 + one.len.0) / 512).map(|at| (one.op, at))
            }).collect();
            all.sort_unstable();
            all
        };
        prop_assert_eq!(all(&device.device().carried_out), all(&submitted));
        let carried = device.device().carried_out.len() as u64;
        prop_assert_eq!(carried + device.joined(), count as u64);
        let largest = submitted.iter().map(|one| one.len).max().unwrap();
        let most = largest.max(SECTOR * most);
        prop_assert!(device.device().carried_out.iter().all(|one| one.len <= most));
    }
}
