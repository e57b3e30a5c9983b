//! Mirrored copies (RAID-1, RAID-10) and a shared bus: distribution of requests, and completion
//! times.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FLUSH, Random, closed_loop, disk, drain, near, sectors};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_sim::bus::SharedBus;
use gordon_sim::stripe::{CHUNK, Stripe, StripeError};
use gordon_units::{Bytes, Ns};
use proptest::prelude::*;

/// A device that takes 100 us for each request and 1 us for each sector on its link, with any
/// number in parallel.
#[derive(Clone, Debug, Default)]
struct Fixed {
    submitted: Vec<(Ns, Request)>,
    pending: Vec<Completion>,
}

impl Device for Fixed {
    fn capacity(&self) -> Bytes {
        SECTOR * 1000
    }
    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        assert!(self.next_event().is_none_or(|next| at <= next));
        self.submitted.push((at, request));
        let at = at + Ns(100_000 + request.len.0 / 512 * 1000);
        self.pending.push(Completion { id, at, cause: Cause::Medium, failed: false });
        self.pending.sort_by_key(|one| one.at);
    }
    fn next_event(&self) -> Option<Ns> {
        self.pending.first().map(|c| c.at)
    }
    fn step(&mut self, completed: &mut Vec<Completion>) {
        completed.push(self.pending.remove(0));
    }
    fn usage(&self) -> Usage {
        Usage { read: Ns(1), write: Ns(2), controller: Ns(3) }
    }
}

fn array(devices: usize, copies: u32) -> Stripe<Fixed> {
    let all = vec![Fixed::default(); devices];
    Stripe::new(all, SECTOR * 10).unwrap().mirrored(copies).unwrap()
}

/// Number of requests that each device received.
fn counts(array: &Stripe<Fixed>) -> Vec<usize> {
    array.members().iter().map(|one| one.submitted.len()).collect()
}

/// An array on a bus that takes `sector_ns` nanoseconds per sector.
fn on_bus(devices: usize, copies: u32, sector_ns: u64) -> Stripe<Fixed> {
    let (rate, link) = (Bytes(512_000_000_000 / sector_ns), Bytes(512_000_000));
    array(devices, copies).on(SharedBus { rate, link }).unwrap()
}

/// Completion times in nanoseconds of requests that are all submitted at time 0.
fn done(array: &mut Stripe<Fixed>, requests: &[Request]) -> Vec<u64> {
    for (id, request) in requests.iter().enumerate() {
        array.submit(Ns::ZERO, id as u64, *request);
    }
    let mut done = drain(array);
    assert!(done.windows(2).all(|pair| pair[0].at <= pair[1].at));
    done.sort_by_key(|one| one.id);
    assert_eq!(done.len(), requests.len());
    done.iter().map(|one| one.at.0).collect()
}

#[test]
fn writes_go_to_every_copy_and_reads_to_the_least_busy_in_turn() {
    let mut mirror = array(3, 3);
    assert_eq!(mirror.capacity(), SECTOR * 1000);
    mirror.submit(Ns::ZERO, 0, sectors(IoOp::Write, 0, 4));
    mirror.submit(Ns::ZERO, 1, FLUSH);
    mirror.submit(Ns::ZERO, 2, sectors(IoOp::Discard, 0, 4));
    assert_eq!(counts(&mirror), [3, 3, 3]);
    // All copies have the same number of outstanding requests, so they take turns.
    for (id, least) in [(3, [4, 3, 3]), (4, [4, 4, 3]), (5, [4, 4, 4]), (6, [5, 4, 4])] {
        mirror.submit(Ns::ZERO, id, sectors(IoOp::Read, 0, 4 * id));
        assert_eq!(counts(&mirror), least);
    }
    assert_eq!(drain(&mut mirror).len(), 7);
    // The next three reads go to the second, the third and the first copy; the second is then the
    // first to be idle.
    let at = Ns(1_000_000);
    for (id, len) in [(7, 1), (8, 400), (9, 300)] {
        mirror.submit(at, id, sectors(IoOp::Read, 0, len));
    }
    mirror.step(&mut Vec::new());
    let before = counts(&mirror);
    for id in [10, 11] {
        mirror.submit(Ns(1_101_000), id, sectors(IoOp::Read, 0, 1));
    }
    // Each copy then has one request. The second one received the last read, so the third is next.
    let after = counts(&mirror);
    assert_eq!([after[0] - before[0], after[1] - before[1], after[2] - before[2]], [0, 1, 1]);
    assert_eq!(mirror.usage(), Usage { read: Ns(3), write: Ns(6), controller: Ns(9) });
}

#[test]
fn four_devices_in_two_copies_are_a_stripe_of_two() {
    let mut ten = array(4, 2);
    assert_eq!(ten.capacity(), SECTOR * 2000);
    // Chunks 0 and 1: one on the first pair, one on the second.
    let write = sectors(IoOp::Write, 5, 10);
    assert_eq!(done(&mut ten, &[write]), [105_000]);
    let parts: Vec<Request> = ten.members().iter().map(|one| one.submitted[0].1).collect();
    let (first, second) = (sectors(IoOp::Write, 5, 5), sectors(IoOp::Write, 0, 5));
    assert_eq!(parts, [first, first, second, second]);
    for (devices, copies) in [(4, 3), (4, 0), (2, 4)] {
        let plain = Stripe::new(vec![Fixed::default(); devices], CHUNK).unwrap();
        let refused = plain.mirrored(copies).unwrap_err();
        assert_eq!(refused, StripeError::Copies(devices, copies));
    }
}

#[test]
fn a_bus_carries_one_request_at_a_time() {
    let read = |start| sectors(IoOp::Read, start, 10);
    // Two microseconds per sector on the bus, one on the link. The first read is done at 110 us;
    // its data are available from 100 us on and cross until 120, those of the second until 140.
    assert_eq!(done(&mut on_bus(2, 1, 2000), &[read(0), read(10)]), [120_000, 140_000]);
    // Two reads of one device give the same times. With half a microsecond per sector, only the
    // last sector is left to cross; the second read's data cross after it.
    assert_eq!(done(&mut on_bus(2, 1, 2000), &[read(0), read(20)]), [120_000, 140_000]);
    assert_eq!(done(&mut on_bus(2, 1, 500), &[read(0), read(10)]), [110_500, 115_500]);
    // Writes cross first: 0 to 20 and 20 to 40 us; the devices receive them at 10 and at 30.
    let write = |start| sectors(IoOp::Write, start, 10);
    let mut two = on_bus(2, 1, 2000);
    assert_eq!(done(&mut two, &[write(0), write(10)]), [120_000, 140_000]);
    let reached: Vec<Ns> = two.members().iter().map(|one| one.submitted[0].0).collect();
    assert_eq!(reached, [Ns(10_000), Ns(30_000)]);
    // On a bus faster than the links: at once, and when the first has crossed, at 5 us.
    assert_eq!(done(&mut on_bus(2, 1, 500), &[write(0), write(10)]), [110_000, 115_000]);
    // A read among writes does not wait for data that have crossed; flushes and trims have no data.
    let mixed = [write(0), read(10), FLUSH, sectors(IoOp::Discard, 0, 10)];
    assert_eq!(done(&mut on_bus(2, 1, 2000), &mixed), [120_000, 120_000, 100_000, 110_000]);
    // Each copy of a write crosses the bus.
    assert_eq!(done(&mut on_bus(2, 2, 2000), &[write(0)]), [140_000]);
    let none = SharedBus { rate: Bytes(0), link: Bytes(1) };
    assert_eq!(array(1, 1).on(none).unwrap_err(), StripeError::Bus(Bytes(0)));
}

#[test]
fn streams_saturate_at_the_rate_of_the_bus() {
    let rate = |bus: u64, op: IoOp| {
        let bus = SharedBus { rate: Bytes(bus), link: Bytes(300_000_000) };
        let mut four = Stripe::new(vec![disk(); 4], Bytes(1 << 20)).unwrap().on(bus).unwrap();
        let count = 1600;
        // One stream per disk.
        let done = closed_loop(&mut four, 16, count + 1, |i| match i {
            1600 => FLUSH,
            _ => sectors(op, i * 2048, 2048),
        });
        count as f64 * 1_048_576.0 / done[count].at.as_secs()
    };
    for op in [IoOp::Read, IoOp::Write] {
        near("behind 80 MB/s", rate(80_000_000, op), 80e6, 0.01);
        near("behind 200 MB/s", rate(200_000_000, op), 200e6, 0.01);
        near("behind 1 GB/s", rate(1_000_000_000, op), 4.0 * 105e6, 0.02);
    }
}

#[test]
fn copies_double_reads_and_not_writes() {
    let rate = |devices: usize, op: IoOp| {
        let copies = u32::try_from(devices).unwrap();
        let all = Stripe::new(vec![disk(); devices], CHUNK).unwrap();
        let mut all = all.mirrored(copies).unwrap();
        let mut random = Random(3);
        let end = disk().capacity().0 / 4096 - 1;
        let done =
            closed_loop(&mut all, 4 * devices, 4000, |_| sectors(op, random.below(end) * 8, 8));
        4000.0 / done[3999].at.as_secs()
    };
    near("reads of two copies", rate(2, IoOp::Read), 2.0 * rate(1, IoOp::Read), 0.03);
    // Both copies write the same; one waits for the other a little.
    near("writes of two copies", rate(2, IoOp::Write), rate(1, IoOp::Write), 0.03);
}

proptest! {
    #[test]
    fn reads_and_writes_of_a_sector_go_to_the_same_place(
        groups in 1usize..4, copies in 1u32..4, bus in 0u64..2,
        requests in prop::collection::vec((0u64..400, 1u64..100, any::<bool>()), 1..30),
    ) {
        let devices = groups * copies as usize;
        let mut array = array(devices, copies);
        if bus > 0 {
            array = array.on(SharedBus { rate: Bytes(1 << 28), link: Bytes(512_000_000) }).unwrap();
        }
        let capacity = array.capacity().0 / 512;
        let mut all = Vec::new();
        for (id, &(start, len, read)) in requests.iter().enumerate() {
            let start = start.min(capacity - len);
            let op = if read { IoOp::Read } else { IoOp::Write };
            array.submit(Ns::ZERO, id as u64, sectors(op, start, len));
            let groups = groups as u64;
            let place = |s| (op, s / 10 % groups, s / 10 / groups * 10 + s % 10);
            let places = (start..start + len).map(place);
            for (op, group, at) in places {
                // Every copy of a write, one copy of a read.
                all.extend(vec![(op, group, at); if read { 1 } else { copies as usize }]);
            }
        }
        prop_assert_eq!(drain(&mut array).len(), requests.len());
        let mut submitted = Vec::new();
        for (device, one) in array.members().iter().enumerate() {
            for (_, Request { op, offset, len, .. }) in &one.submitted {
                let group = (device / copies as usize) as u64;
                let sectors = offset.0 / 512..(offset.0 + len.0) / 512;
                submitted.extend(sectors.map(|at| (*op, group, at)));
            }
        }
        all.sort_unstable();
        submitted.sort_unstable();
        prop_assert_eq!(submitted, all);
    }
}
