//! A device with known service times and helpers to drive it; the paper's array reduced to one die.
#![allow(clippy::unwrap_used, dead_code, missing_docs)] // each test file uses only some of it

use gordon_blockio::{Cause, Completion, Device, IoOp, Request, Usage};
use gordon_config::from_toml;
use gordon_replay::ReplayError;
use gordon_replay::host::{CompletedRequest, HostPolicy, Observer, Outcome, Pacing, drive};
use gordon_replay::results::series::SampledDevice;
use gordon_replay::source::{RequestSource, TimedRequest};
use gordon_units::{Bytes, Ns, Progress};
use serde_json::{Value, json};

/// The preset of the paper's array.
pub const SLC: &str = include_str!("../../../../python/gordon/parts/flash/gordon-slc-256g.toml");

/// The paper's array with one die of one plane of `blocks`; a super-page is one page.
pub fn one_die(blocks: u64, page: &str) -> Value {
    let mut device: Value = from_toml(SLC, "preset").unwrap();
    let geometry = &mut device["geometry"];
    for key in ["buses", "packages_per_bus", "dies_per_package", "planes_per_die"] {
        geometry[key] = json!(1);
    }
    geometry["blocks_per_plane"] = json!(blocks);
    geometry["page"] = json!(page);
    device["super_page"] = json!({"size": page});
    device
}

/// A device that serves one request at a time, in `fixed` ns plus `per_byte` ns for each byte. A
/// write of more than 4 KiB reports that it waited for garbage collection.
#[derive(Clone, Debug)]
pub struct Toy {
    pub capacity: u64,
    pub fixed: u64,
    pub per_byte: u64,
    pub free_at: Ns,
    pub queue: Vec<(Ns, u64, Cause)>,
    /// Submitted requests and their times.
    pub seen: Vec<(Ns, Request)>,
    pub busy: Ns,
}

impl Toy {
    pub fn new(fixed: u64, per_byte: u64) -> Self {
        let (queue, seen, busy) = (Vec::new(), Vec::new(), Ns::ZERO);
        Self { capacity: 1 << 20, fixed, per_byte, free_at: Ns::ZERO, queue, seen, busy }
    }
}

impl Device for Toy {
    fn capacity(&self) -> Bytes {
        Bytes(self.capacity)
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        assert!(self.next_event().is_none_or(|event| at <= event), "{at} is past an event");
        assert!(request.offset.0 + request.len.0 <= self.capacity);
        let service = Ns(self.fixed + self.per_byte * request.len.0);
        self.busy += service;
        self.free_at = self.free_at.max(at) + service;
        let cause = match request.op {
            IoOp::Write if request.len.0 > 4096 => Cause::Collection,
            _ => Cause::Medium,
        };
        self.queue.push((self.free_at, id, cause));
        self.seen.push((at, request));
    }

    fn next_event(&self) -> Option<Ns> {
        self.queue.first().map(|(at, ..)| *at)
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        let (at, id, cause) = self.queue.remove(0);
        completed.push(Completion { id, at, cause, failed: false });
    }

    fn usage(&self) -> Usage {
        Usage { write: self.busy, ..Usage::default() }
    }
}

impl SampledDevice for Toy {}

/// A source of given requests, in batches of seven.
pub struct Given(pub std::vec::IntoIter<TimedRequest>);

pub fn given(requests: impl IntoIterator<Item = TimedRequest>) -> Given {
    Given(requests.into_iter().collect::<Vec<_>>().into_iter())
}

impl RequestSource for Given {
    fn next_batch(&mut self, batch: &mut Vec<TimedRequest>) -> Result<(), ReplayError> {
        batch.clear();
        batch.extend(self.0.by_ref().take(7));
        Ok(())
    }
}

pub fn read(at: u64, offset: u64, len: u64) -> TimedRequest {
    TimedRequest {
        at: Ns(at),
        gap: Ns::ZERO,
        offset,
        len,
        op: IoOp::Read,
        durable: false,
        queue: 0,
    }
}

pub fn policy(pacing: Pacing, depth: u32) -> HostPolicy {
    HostPolicy { pacing, depth, split: None, wrap: false, weights: vec![1] }
}

pub const OPEN: Pacing = Pacing::Arrival { speed: 1.0 };

/// An observer that keeps all completed requests.
#[derive(Default)]
pub struct Keep(pub Vec<CompletedRequest>);

impl Observer<Toy> for Keep {
    fn arrived(&mut self, _: &Toy, _: Ns) {}
    fn completed(&mut self, _: &Toy, done: &CompletedRequest) -> Result<(), ReplayError> {
        self.0.push(*done);
        Ok(())
    }
}

/// Drives a toy. Returns the totals and the completed requests.
pub fn play(
    toy: &mut Toy,
    requests: impl IntoIterator<Item = TimedRequest>,
    rules: &HostPolicy,
) -> Result<(Outcome, Vec<CompletedRequest>), ReplayError> {
    let mut keep = Keep::default();
    let outcome = drive(toy, given(requests), rules, &mut keep, &Progress::default())?;
    Ok((outcome, keep.0))
}
