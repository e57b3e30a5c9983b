//! A stripe distributes requests to its members, and multiplies their rate.

mod common;

use common::{FLUSH, Random, closed_loop, disk, drain, near, sectors};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, SECTOR, Usage};
use gordon_sim::stripe::{CHUNK, Stripe, StripeError};
use gordon_units::{Bytes, Ns};
use proptest::prelude::*;

/// A device that completes each request after 1 us and records it.
#[derive(Clone, Debug)]
struct Recorder {
    capacity: Bytes,
    requests: Vec<Request>,
    pending: Vec<Completion>,
}

impl Recorder {
    fn new(capacity: Bytes) -> Self {
        Self { capacity, requests: Vec::new(), pending: Vec::new() }
    }
}

impl Device for Recorder {
    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        assert!(request.op == IoOp::Flush || request.len > Bytes::ZERO);
        assert!(request.offset + request.len <= self.capacity);
        self.requests.push(request);
        self.pending.push(Completion {
            id,
            at: at + Ns(1000),
            cause: Cause::Medium,
            failed: false,
        });
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

fn disks(count: usize) -> Stripe<gordon_hdd::Disk> {
    Stripe::new((0..count).map(|_| disk()).collect(), CHUNK).expect("they are alike")
}

#[test]
fn members_multiply_the_sequential_rate() {
    for (op, count) in [(IoOp::Read, 400), (IoOp::Write, 400)] {
        let rate = |members: usize| {
            let mut stripe = disks(members);
            // 1 MiB requests, enough of them to keep every member busy, and a flush at the end.
            let done = closed_loop(&mut stripe, 4 * members, count * members + 1, |i| {
                if i == (count * members) as u64 { FLUSH } else { sectors(op, i * 2048, 2048) }
            });
            let bytes = (count * members) as f64 * 1_048_576.0;
            assert!(done.windows(2).all(|w| w[0].at <= w[1].at));
            bytes / done.last().unwrap().at.as_secs()
        };
        let one = rate(1);
        near("one", one, 105e6, 0.02);
        near("two", rate(2), 2.0 * one, 0.02);
        near("four", rate(4), 4.0 * one, 0.02);
    }
}

#[test]
fn a_stripe_of_one_is_its_member() {
    let pattern = |random: &mut Random| {
        let op = if random.below(3) == 0 { IoOp::Write } else { IoOp::Read };
        sectors(op, random.below(1_000_000) * 8, 8 + random.below(500))
    };
    let (mut a, mut b) = (Random(9), Random(9));
    let (mut stripe, mut alone) = (disks(1), disk());
    let striped = closed_loop(&mut stripe, 8, 2000, |_| pattern(&mut a));
    let direct = closed_loop(&mut alone, 8, 2000, |_| pattern(&mut b));
    assert_eq!(striped, direct);
    assert_eq!(stripe.usage(), alone.usage());
}

#[test]
fn neighbouring_chunks_become_one_request_a_member() {
    let members = vec![Recorder::new(Bytes(1 << 20)); 2];
    let mut stripe = Stripe::new(members, Bytes(4096)).unwrap();
    // Chunks 1 (second half), 2, 3, 4, 5 (first half): chunks 1, 3 and 5 are chunks 0, 1 and 2 of
    // member 1; chunks 2 and 4 are chunks 1 and 2 of member 0.
    let request = Request::new(IoOp::Write, Bytes(4096 + 2048), Bytes(2048 + 3 * 4096 + 2048));
    stripe.submit(Ns(5), 77, request);
    assert_eq!(
        drain(&mut stripe),
        [Completion { id: 77, at: Ns(1005), cause: Cause::Medium, failed: false }]
    );
    let part = |offset, len| Request::new(IoOp::Write, Bytes(offset), Bytes(len));
    assert_eq!(stripe.members()[0].requests, [part(4096, 8192)]);
    assert_eq!(stripe.members()[1].requests, [part(2048, 8192)]);
    stripe.submit(Ns(2000), 78, FLUSH);
    assert!(stripe.members().iter().all(|m| m.requests.last() == Some(&FLUSH)));
    assert_eq!(stripe.usage(), Usage { read: Ns(2), write: Ns(4), controller: Ns(6) });
}

#[test]
fn invalid_stripes_are_refused() {
    let small = || Recorder::new(Bytes(10 * 4096));
    assert_eq!(Stripe::<Recorder>::new(vec![], CHUNK).unwrap_err(), StripeError::NoMembers);
    for chunk in [0, 100, 11 * 4096] {
        let error = Stripe::new(vec![small()], Bytes(chunk)).unwrap_err();
        assert_eq!(error, StripeError::Chunk(Bytes(chunk)));
    }
    // Each member counts as its smallest, in whole chunks.
    let members = vec![small(), Recorder::new(Bytes(1 << 20))];
    assert_eq!(Stripe::new(members, Bytes(3 * 4096)).unwrap().capacity(), Bytes(2 * 9 * 4096));
}

#[test]
fn members_may_be_of_any_kind() {
    let (mut disk, mut recorder) = (disk(), Recorder::new(Bytes(1 << 40)));
    let members: Vec<&mut dyn Device> = vec![&mut disk, &mut recorder];
    let mut stripe = Stripe::new(members, CHUNK).unwrap();
    stripe.submit(Ns::ZERO, 1, sectors(IoOp::Read, 0, 2048));
    assert_eq!(drain(&mut stripe).len(), 1);
}

proptest! {
    #[test]
    fn every_sector_goes_to_its_chunk(
        n in 1usize..6, chunk in 1u64..5,
        requests in prop::collection::vec((0u64..200, 1u64..60), 1..20),
    ) {
        let members = vec![Recorder::new(SECTOR * 300); n];
        let mut stripe = Stripe::new(members, SECTOR * chunk).unwrap();
        for (i, (start, len)) in requests.iter().enumerate() {
            let before: Vec<usize> = stripe.members().iter().map(|m| m.requests.len()).collect();
            let at = Ns(i as u64 * 2000);
            stripe.submit(at, i as u64, sectors(IoOp::Read, *start, *len));
            // Sector by sector: sector s is in chunk k = s / chunk, which is chunk k / n of member
            // k % n.
            let mut expected = vec![Vec::new(); n];
            for s in *start..start + len {
                let k = s / chunk;
                let member = usize::try_from(k).unwrap() % n;
                expected[member].push(k / n as u64 * chunk + s % chunk);
            }
            for (m, expected) in expected.iter().enumerate() {
                let new = &stripe.members()[m].requests[before[m]..];
                prop_assert!(new.len() <= 1);
                let sent: Vec<u64> = new.iter()
                    .flat_map(|r| r.offset.0 / 512..(r.offset.0 + r.len.0) / 512).collect();
                prop_assert_eq!(&sent, expected);
            }
            let (id, at) = (i as u64, at + Ns(1000));
            let done = Completion { id, at, cause: Cause::Medium, failed: false };
            prop_assert_eq!(drain(&mut stripe), [done]);
        }
    }
}
