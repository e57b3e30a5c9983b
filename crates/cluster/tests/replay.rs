//! The storage time of a sample is that of its requests, at the concurrency of the trace.
#![allow(clippy::unwrap_used)]

mod common;

use common::{io, sample, write};
use gordon_blockio::{Cause, Completion, Device, IoOp, Request, Usage};
use gordon_cluster::ClusterError;
use gordon_cluster::trace::replay::{AddressMap, Replay, StorageFootprint, replay};
use gordon_cluster::trace::requests::Requests;
use gordon_trace::{BlockIo, Trace, TraceError};
use gordon_units::{Bytes, Ns, Progress};
use std::collections::VecDeque;
use std::path::Path;

const MS: Ns = Ns(1_000_000);

/// Serves up to `width` requests at a time, each in 1 ms, and logs them.
struct Toy {
    width: usize,
    queue: VecDeque<u64>,
    serving: VecDeque<(Ns, u64)>,
    now: Ns,
    busy: Ns,
    log: Vec<Request>,
    preloaded: Vec<(Bytes, Bytes)>,
    deepest: usize,
}

impl Toy {
    fn new(width: usize) -> Self {
        Self {
            width,
            queue: VecDeque::new(),
            serving: VecDeque::new(),
            now: Ns::ZERO,
            busy: Ns::ZERO,
            log: Vec::new(),
            preloaded: Vec::new(),
            deepest: 0,
        }
    }

    fn serve(&mut self) {
        while self.serving.len() < self.width
            && let Some(id) = self.queue.pop_front()
        {
            self.serving.push_back((self.now + MS, id));
            self.busy += MS;
        }
    }
}

impl Device for Toy {
    fn capacity(&self) -> Bytes {
        Bytes(1 << 30)
    }

    fn submit(&mut self, at: Ns, id: u64, request: Request) {
        self.now = at;
        self.log.push(request);
        self.queue.push_back(id);
        self.deepest = self.deepest.max(self.queue.len() + self.serving.len());
        self.serve();
    }

    fn preload(&mut self, offset: Bytes, len: Bytes) {
        self.preloaded.push((offset, len));
    }

    fn next_event(&self) -> Option<Ns> {
        self.serving.front().map(|(at, _)| *at)
    }

    fn step(&mut self, completed: &mut Vec<Completion>) {
        if let Some((at, id)) = self.serving.pop_front() {
            self.now = at;
            completed.push(Completion { id, at, cause: Cause::Medium, failed: false });
            self.serve();
        }
    }

    fn usage(&self) -> Usage {
        Usage { read: self.busy, ..Usage::default() }
    }
}

fn run(requests: &[BlockIo], seconds: u64, device: &mut Toy) -> Result<Replay, ClusterError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.trace");
    let samples: Vec<_> = (0..seconds).map(|s| sample(s, 0, 0)).collect();
    write(&path, &samples, requests);
    let trace = Trace::open(&path)?;
    let samples = trace.activity()?;
    let starts: Vec<Ns> = samples.iter().map(|s| s.start).collect();
    let requests = Requests::of(&trace, &samples)?;
    let footprint = StorageFootprint::of(&requests)?;
    let map = AddressMap::new(&footprint, device.capacity(), Path::new("t.trace"), "toy")?;
    replay(&requests, &starts, &footprint, &map, device, &Progress::default())
}

#[test]
fn a_sample_costs_its_own_requests_without_think_time() {
    let at = |ms| MS * ms;
    let requests = [
        io(at(0), IoOp::Read, 0, 8, Some(Ns(5))),
        io(at(900), IoOp::Read, 8, 8, Some(Ns(5))),
        io(at(2500), IoOp::Write, 16, 8, Some(Ns(5))),
    ];
    let result = run(&requests, 4, &mut Toy::new(1)).unwrap();
    let times: Vec<_> = result.costs.iter().map(|c| c.time).collect();
    assert_eq!(times, [MS * 2, Ns::ZERO, MS, Ns::ZERO]);
    assert_eq!(result.costs[0].usage.read, MS * 2);
    assert_eq!((result.requests, result.simulated), (3, MS * 3));
}

#[test]
fn the_concurrency_of_the_trace_is_preserved() {
    let four = |latency| {
        let requests: Vec<_> = (0..4).map(|i| io(MS * i, IoOp::Read, i * 8, 8, latency)).collect();
        let mut toy = Toy::new(8);
        (run(&requests, 1, &mut toy).unwrap().simulated, toy.deepest)
    };
    assert_eq!(four(Some(Ns(10))), (MS * 4, 1), "one at a time in the trace");
    assert_eq!(four(Some(Ns(1_500_000))), (MS * 2, 2), "each overlaps the one before it");
    assert_eq!(four(Some(MS * 100)), (MS, 4), "all outstanding at once");
    assert_eq!(four(None), (MS, 4), "unknown: as deep as a drive's queue");
}

#[test]
fn data_read_are_preloaded_and_flushes_have_no_range() {
    let requests = [
        io(Ns(0), IoOp::Flush, 0, 0, Some(Ns(1))),
        io(Ns(1), IoOp::Read, 4096, 8, Some(Ns(1))),
        io(Ns(2), IoOp::Write, 8192, 8, Some(Ns(1))),
        io(Ns(3), IoOp::Discard, 8192, 8, Some(Ns(1))),
    ];
    let mut toy = Toy::new(1);
    run(&requests, 1, &mut toy).unwrap();
    assert_eq!(toy.preloaded, [(Bytes(2 << 20), Bytes(1 << 20))]);
    let ops: Vec<_> = toy.log.iter().map(|r| (r.op, r.offset.0, r.len.0)).collect();
    let at = 8192 * 512;
    assert_eq!(
        ops,
        [
            (IoOp::Flush, 0, 0),
            (IoOp::Read, at / 2, 4096),
            (IoOp::Write, at, 4096),
            (IoOp::Discard, at, 4096)
        ]
    );
}

#[test]
fn extents_past_the_end_are_moved_together_in_order() {
    let far = 10u64 << 30 >> 9; // 10 GiB, in sectors, on a device of 1 GiB
    let requests = [
        io(Ns(0), IoOp::Write, far + 4096, 8, None),
        io(Ns(1), IoOp::Write, far, 8, None),
        io(Ns(2), IoOp::Write, 8, 8, None),
        io(Ns(3), IoOp::Discard, far / 2, 8, None), // no data there
        io(Ns(4), IoOp::Write, far + 2040, 16, None), // crosses the edge of an extent
        // from after the first extent on
        io(Ns(5), IoOp::Discard, 2048, (far + 4096) as u32, None),
    ];
    let mut toy = Toy::new(1);
    run(&requests, 1, &mut toy).unwrap();
    let mib = 1 << 20;
    let (writes, trims): (Vec<&Request>, Vec<&Request>) =
        toy.log.iter().partition(|r| r.op == IoOp::Write);
    let offsets: Vec<_> = writes.iter().map(|r| r.offset.0).collect();
    assert_eq!(offsets, [3 * mib, mib, 4096, mib + 2040 * 512]);
    // The discard does not cover the first extent (rank 0); it covers each of the others.
    let trims: Vec<_> = trims.iter().map(|r| (r.offset.0, r.len.0)).collect();
    assert_eq!(trims, [(mib, mib), (2 * mib, mib), (3 * mib, mib)]);
}

#[test]
fn a_trace_larger_than_the_device_is_refused() {
    let requests: Vec<_> =
        (0..1025).map(|i| io(Ns(i), IoOp::Write, (i * 2) << 11, 8, None)).collect();
    let error = run(&requests, 1, &mut Toy::new(1)).unwrap_err();
    assert!(error.to_string().contains("touches 1025MiB, more than the 1GiB of toy"), "{error}");
}

#[test]
fn a_request_out_of_range_is_an_error_that_names_its_row() {
    let good = io(Ns(5), IoOp::Read, 0, 8, Some(Ns(1)));
    let last = (1 << 53) - 8;
    for bad in [
        io(Ns(5), IoOp::Write, 1 << 55, 8, None),
        io(Ns(5), IoOp::Read, u64::MAX, u32::MAX, None),
        io(Ns(5), IoOp::Discard, last + 1, 8, None),
        io(Ns(5), IoOp::Read, 0, 8, Some(Ns(u64::MAX - 4))),
    ] {
        let error = run(&[good, bad, bad], 1, &mut Toy::new(1)).unwrap_err();
        let ClusterError::Trace(TraceError::Damaged { path, why }) = &error else {
            panic!("{bad:?}: {error}");
        };
        assert!(path.ends_with("t.trace/block.parquet") && why.starts_with("row 2: "), "{error}");
    }
    let latest = Ns(u64::MAX - 1);
    let good = [
        io(Ns(0), IoOp::Discard, last, 8, None),
        io(Ns(0), IoOp::Flush, u64::MAX, 8, None), // a flush has no range
        io(latest, IoOp::Read, 0, 8, Some(Ns(1))),
    ];
    run(&good, 1, &mut Toy::new(1)).unwrap();
}
