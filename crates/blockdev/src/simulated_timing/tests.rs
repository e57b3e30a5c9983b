//! Comparison of the simulated device with the store in simulated time. Both get the same requests
//! and idle periods at the same times; they must issue the same operations at the same times, and
//! answer alike.
//!
//! There are two exceptions. The simulated device answers a write from the write buffer at once.
//! The store answers it when the bytes are in the buffer, which takes longer while the rest of
//! their page is being read, or the page is being programmed. In idle time the store writes out its
//! buffer, and the simulated device does not: idle periods follow a flush here.

use super::{Busy, SimulatedTiming};
use crate::describe::{Part, describe};
use gordon_blockio::{Device, IoOp, Request};
use gordon_ssd::{IDLE_AFTER, Ssd, SsdConfig};
use gordon_store::{Command, Engine, Image, ImageOffsets, Payload, op_digest};
use gordon_testkit::{MemoryMedia, Random};
use gordon_units::{Bytes, Ns};
use std::collections::BTreeMap;
use std::path::Path;

/// The preset with two die groups of a few blocks, and the settings that a store needs. With some
/// seeds the blocks wear out soon.
fn config(seed: u64) -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let text = std::fs::read_to_string(format!("{root}gordon-slc-256g.toml")).unwrap();
    let mut config: SsdConfig = toml::from_str(&text).unwrap();
    let geometry = &mut config.geometry;
    (geometry.buses, geometry.packages_per_bus) = (2.into(), 1.into());
    (geometry.dies_per_package, geometry.blocks_per_plane) = (2.into(), 32.into());
    geometry.pages_per_block = 16.into();
    config.super_page.size = Bytes(8192).into();
    config.super_page.unit = Some(Bytes([1024, 2048, 4096, 8192][seed as usize % 4]).into());
    config.ftl.write_points = Some(2.into());
    (config.ftl.summary, config.ftl.durable) = (Some(true.into()), Some(true.into()));
    config.ftl.write_buffer = Some(Bytes(65536).into());
    config.capacity = Bytes(4 << 20).into();
    if seed % 3 == 2 {
        (config.endurance.erase_budget, config.endurance.spread) = (4.into(), Some(0.1.into()));
    }
    config.endurance.factory_bad = Some(0.01.into());
    config
}

/// The id of a request, and its bytes.
struct Tagged(u64, Vec<u8>);

impl Payload for Tagged {
    fn bytes(&self) -> &[u8] {
        &self.1
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.1
    }
}

/// By the id of a request: when it was answered, and whether it failed.
type Answers = BTreeMap<u64, (Ns, bool)>;

/// The store in simulated time, with the same idle periods as the simulated device.
struct Stored {
    timing: SimulatedTiming<Tagged>,
    open: usize,
    idle_at: Option<Ns>,
    in_background: bool,
    answers: Answers,
}

impl Stored {
    fn new(config: &SsdConfig, seed: u64) -> Self {
        let (config, (.., timing)) = (config.clone(), config.parts(seed).unwrap());
        let part = Part { config, name: "test".into(), seed, faults: None };
        let device = describe(&part).unwrap();
        assert_eq!(device.geometry.blocks_per_plane, *part.config.geometry.blocks_per_plane);
        let resolved = device.resolve().unwrap();
        let media = MemoryMedia::new(ImageOffsets::new(&resolved).len);
        let image = Image::format(Path::new("memory"), Box::new(media), device).unwrap();
        let timing = SimulatedTiming::new(Engine::open(image).unwrap(), &timing);
        Self { timing, open: 0, idle_at: None, in_background: false, answers: Answers::new() }
    }

    fn submit(&mut self, now: Ns, id: u64, request: Request) {
        let Request { op, offset: Bytes(offset), len: Bytes(length), .. } = request;
        let (command, bytes) = match op {
            IoOp::Read => (Command::Read { offset }, length),
            IoOp::Write => (Command::Write { offset, fua: false }, length),
            IoOp::Discard => (Command::Trim { offset, length, fua: false }, 0),
            IoOp::Flush => (Command::Flush, 0),
        };
        (self.idle_at, self.in_background) = (None, false);
        self.open += 1;
        let bytes = vec![7; usize::try_from(bytes).unwrap()];
        self.timing.engine.start(command, Tagged(id, bytes));
        self.timing.issue(now);
        self.collect(now);
    }

    fn collect(&mut self, now: Ns) {
        for ended in self.timing.ended.drain(..) {
            self.open -= 1;
            self.answers.insert(ended.payload.0, (now, ended.result.is_err()));
        }
        if self.open > 0 || !self.timing.is_empty() {
            return;
        }
        if self.in_background {
            self.timing.engine.idle();
            self.timing.issue(now);
        } else if self.idle_at.is_none() {
            self.idle_at = Some(now + IDLE_AFTER);
        }
    }

    fn advance(&mut self, until: Ns) {
        loop {
            let next = self.timing.next_at();
            if let Some(idle) = self.idle_at.filter(|&idle| next.is_none_or(|next| idle < next)) {
                if idle > until {
                    return;
                }
                (self.idle_at, self.in_background) = (None, true);
                self.timing.engine.idle();
                self.timing.issue(idle);
            } else if next.is_some_and(|next| next <= until) {
                let now = self.timing.step();
                self.collect(now);
            } else {
                return;
            }
        }
    }
}

fn request(random: &mut Random, capacity: Bytes) -> Request {
    let all = usize::try_from(capacity.0 / 512).unwrap();
    let sectors = 1 + random.below(32);
    let first = random.below(all - sectors + 1);
    let whole = random.below(2) == 0;
    // Half of the requests are aligned to mapping units, so that trims and combining take place.
    let (first, sectors) = if whole { (first / 16 * 16, 16) } else { (first, sectors) };
    let (op, sectors) = match random.below(16) {
        0..=4 => (IoOp::Read, sectors),
        5..=12 => (IoOp::Write, sectors),
        13..=14 => (IoOp::Discard, sectors),
        _ => (IoOp::Flush, 0),
    };
    let first = if op == IoOp::Flush { 0 } else { first };
    Request::new(op, Bytes(first as u64 * 512), Bytes(sectors as u64 * 512))
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "the operations are kept with debug assertions only")]
fn the_simulated_device_and_the_store_issue_the_same_operations() {
    let mut worn_out = 0;
    for seed in 0..6 {
        let config = config(seed);
        let (mut random, mut now) = (Random::new(seed), Ns::ZERO);
        let mut ssd = Ssd::with_seed(&config, seed).unwrap();
        let mut stored = Stored::new(&config, seed);
        let (mut digest, mut done, mut answers) = (0, vec![], Answers::new());
        ssd.issued();
        let mut advance = |ssd: &mut Ssd, stored: &mut Stored, until| {
            while ssd.next_event().is_some_and(|at| at <= until) {
                ssd.advance(until, &mut done);
                answers.extend(done.drain(..).map(|done| (done.id, (done.at, done.failed))));
            }
            stored.advance(until);
            digest = ssd.issued().into_iter().fold(digest, op_digest::add);
            assert_eq!(digest, stored.timing.engine.op_digest(), "seed {seed}, until {until}");
        };
        let mut writes = vec![];
        let mut submit = |ssd: &mut Ssd, stored: &mut Stored, at, request: Request| {
            let id = writes.len() as u64;
            ssd.submit(at, id, request);
            stored.submit(at, id, request);
            writes.push(request.op == IoOp::Write);
        };
        let flush = Request::FLUSH;
        for _ in 0..6000 {
            // Some pauses are long enough for background work.
            let is_long = random.below(100) == 0;
            if is_long {
                submit(&mut ssd, &mut stored, now, flush);
            }
            now += Ns(random.below(if is_long { 4_000_000 } else { 300_000 }) as u64);
            advance(&mut ssd, &mut stored, now);
            let request = request(&mut random, ssd.capacity());
            submit(&mut ssd, &mut stored, now, request);
        }
        submit(&mut ssd, &mut stored, now, flush);
        advance(&mut ssd, &mut stored, Ns(now.0 * 2));
        assert_eq!((answers.len(), stored.answers.len()), (writes.len(), writes.len()));
        for (((id, one), other), is_write) in
            answers.iter().zip(stored.answers.values()).zip(writes)
        {
            let late = is_write && other.0 > one.0 && other.1 == one.1;
            assert!(late || one == other, "seed {seed}: {id} at {one:?}, stored at {other:?}");
        }
        let (telemetry, stats) = (stored.timing.engine.telemetry(), ssd.stats());
        assert_eq!(telemetry.ftl, stats.ftl, "seed {seed}");
        assert_eq!(stored.timing.die_groups.stats(), stats.die_groups, "seed {seed}");
        assert!(stats.ftl.collections > 10 && stats.ftl.journal_programs > 0, "{:?}", stats.ftl);
        worn_out += usize::from(telemetry.worn_out);
    }
    assert!(worn_out > 0, "none has worn out");
}

#[test]
fn busy_times_grow_and_do_not_exceed_the_elapsed_time() {
    let config = config(1);
    let (mut random, mut now) = (Random::new(1), Ns::ZERO);
    let mut stored = Stored::new(&config, 1);
    let mut before = stored.timing.busy();
    for id in 0..2000 {
        now += Ns(random.below(300_000) as u64);
        stored.advance(now);
        let request = request(&mut random, *config.capacity);
        stored.submit(now, id, request);
        let busy = stored.timing.busy();
        for (was, is) in [(&before.buses, &busy.buses), (&before.dies, &busy.dies)] {
            assert!(was.iter().zip(is).all(|(was, is)| was <= is), "{before:?} {busy:?}");
        }
        // Only dies: a bus may already be reserved for later transfers.
        assert!(busy.dies.iter().all(|&ns| ns <= now.0), "at {now:?}: {busy:?}");
        before = busy;
    }
    assert!(before.dies.iter().all(|&ns| ns > 0), "{before:?}");
    assert!(before.buses.iter().all(|&ns| ns > 0 && ns < 2 * now.0), "{before:?}");
}

/// At full speed, busy times are computed from counted operations. With mapping units of a
/// super-page every operation transfers a whole super-page, so the buses are busy for as long as
/// the simulated ones.
#[test]
fn counted_operations_keep_the_buses_busy_as_long_as_simulated_ones() {
    let config = config(3);
    let (.., timing) = config.parts(3).unwrap();
    assert!(timing.command > Ns::ZERO);
    let (mut random, mut now) = (Random::new(3), Ns::ZERO);
    let mut stored = Stored::new(&config, 3);
    for id in 0..4000 {
        now += Ns(random.below(300_000) as u64);
        stored.advance(now);
        let request = request(&mut random, *config.capacity);
        stored.submit(now, id, request);
    }
    stored.advance(Ns(now.0 * 2));
    let die_groups = &stored.timing.engine.telemetry().counters.die_groups;
    assert!(
        die_groups
            .iter()
            .all(|die_group| die_group.reads > 0 && die_group.programs > 0 && die_group.erases > 0)
    );
    let counted = Busy::of(&stored.timing.engine, &timing);
    assert_eq!(counted.buses, stored.timing.busy().buses);
}
