//! Shares the block log of the machine out among nodes that have no devices of their own.
//!
//! The kernel does not record for whom a buffered write is, so requests are assigned such that each
//! node has, in each sample, its share of the bytes read and written. The share of a sample is
//! known at its end, and the requests wait until then. Requests are issued before they complete, so
//! the shares are not those of the disks' counters: outstanding bytes are taken away once they are
//! issued, and a node never has more bytes in the log than its processes caused and one request.

use gordon_blockio::IoOp;
use gordon_trace::BlockIo;
use gordon_units::{Bytes, Ns};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Limit of waiting requests. A million requests take 64 MB.
const MAX_WAITING: usize = 1 << 20;

/// Shares of one node in the I/O of the machine, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IoShare {
    pub(crate) reads: f64,
    /// Of writes, discards and flushes.
    pub(crate) writes: f64,
}

/// Bytes, read and written, that the processes of each node caused and that were not seen at the
/// devices so far. A node that was given more than its processes caused has a negative number.
pub(crate) struct OutstandingIo(Vec<[f64; 2]>);

#[allow(clippy::cast_precision_loss)]
impl OutstandingIo {
    pub(crate) fn new(nodes: usize) -> Self {
        Self(vec![[0.0; 2]; nodes])
    }

    /// Adds the bytes that the processes of each node caused.
    pub(crate) fn add(&mut self, caused: &[[Bytes; 2]]) {
        for (outstanding, caused) in self.0.iter_mut().flatten().zip(caused.iter().flatten()) {
            *outstanding += caused.0 as f64;
        }
    }

    /// The share of each node in bytes that were seen at the devices: its part of all outstanding
    /// bytes, or of the bytes seen, if these are more. The rest is of other processes.
    pub(crate) fn shares(&self, seen: [f64; 2]) -> Vec<IoShare> {
        let share = |node: &[f64; 2], op: usize| {
            let all: f64 = self.0.iter().map(|node| node[op].max(0.0)).sum();
            let whole = all.max(seen[op]);
            if whole > 0.0 { node[op].max(0.0) / whole } else { 0.0 }
        };
        self.0
            .iter()
            .map(|node| IoShare { reads: share(node, 0), writes: share(node, 1) })
            .collect()
    }

    /// Takes the nodes' `shares` of the bytes seen away.
    pub(crate) fn take(&mut self, seen: [f64; 2], shares: &[IoShare]) {
        for (node, share) in self.0.iter_mut().zip(shares) {
            node[0] -= share.reads * seen[0];
            node[1] -= share.writes * seen[1];
        }
    }
}

/// The bytes that the processes of each node caused to be read and written in one sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CausedIo {
    /// End of the sample, since the start of the trace.
    pub(crate) end: Ns,
    pub(crate) nodes: Vec<[Bytes; 2]>,
}

/// Passes the bytes of each sample from the sampling thread to that of the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct CausedQueue(Arc<Mutex<VecDeque<CausedIo>>>);

impl CausedQueue {
    pub(crate) fn push(&self, caused: CausedIo) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(caused);
    }

    fn take(&self) -> VecDeque<CausedIo> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Assigns requests to nodes.
pub(super) struct Distribution {
    queue: CausedQueue,
    known: VecDeque<CausedIo>,
    waiting: VecDeque<BlockIo>,
    outstanding: OutstandingIo,
    shares: Vec<IoShare>,
    /// Bytes of each operation that each node should have received so far less those it received.
    /// The last entry is of other processes.
    credit: BTreeMap<IoOp, Vec<f64>>,
}

/// Bytes that a request reads and writes. Nothing is outstanding for a discard or a flush.
#[allow(clippy::cast_precision_loss)]
fn moved(io: &BlockIo) -> [f64; 2] {
    match io.op {
        IoOp::Read => [io.bytes().0 as f64, 0.0],
        IoOp::Write => [0.0, io.bytes().0 as f64],
        IoOp::Discard | IoOp::Flush => [0.0; 2],
    }
}

impl Distribution {
    pub(super) fn new(queue: CausedQueue, nodes: usize) -> Self {
        Self {
            queue,
            known: VecDeque::new(),
            waiting: VecDeque::new(),
            outstanding: OutstandingIo::new(nodes),
            shares: vec![IoShare::default(); nodes],
            credit: BTreeMap::new(),
        }
    }

    /// Adds a request, in order of issue.
    pub(super) fn push(&mut self, io: BlockIo) {
        self.waiting.push_back(io);
    }

    /// Returns the requests of the samples that have ended, each with the number of its node; with
    /// `all`, the later ones too. Requests of other processes are left out.
    pub(super) fn settle(&mut self, all: bool, mut each: impl FnMut(usize, BlockIo)) {
        self.known.extend(self.queue.take());
        while let Some(sample) = self.known.front() {
            // A later request shows that all requests of the sample are here.
            if !all && self.waiting.back().is_none_or(|io| io.at <= sample.end) {
                break;
            }
            let count = self.waiting.partition_point(|io| io.at <= sample.end);
            self.outstanding.add(&sample.nodes);
            self.known.pop_front();
            self.share_out(count, &mut each);
        }
        if all {
            self.share_out(self.waiting.len(), &mut each);
        }
        // These cannot wait for the end of their sample, and are shared out as those before them.
        while self.waiting.len() > MAX_WAITING {
            self.assign_first(&mut each);
        }
    }

    /// Shares out the first `count` requests.
    fn share_out(&mut self, count: usize, each: &mut impl FnMut(usize, BlockIo)) {
        let mut seen = [0.0; 2];
        for [read, written] in self.waiting.range(..count).map(moved) {
            seen[0] += read;
            seen[1] += written;
        }
        self.shares = self.outstanding.shares(seen);
        for _ in 0..count {
            self.assign_first(each);
        }
    }

    /// Assigns the first request to the node whose share is the furthest behind after the request
    /// is added to the total.
    #[allow(clippy::cast_precision_loss)]
    fn assign_first(&mut self, each: &mut impl FnMut(usize, BlockIo)) {
        let Some(io) = self.waiting.pop_front() else { return };
        self.outstanding.take(moved(&io), &self.shares);
        // A flush has no bytes.
        let bytes = io.bytes().0.max(512) as f64;
        let credit = self.credit.entry(io.op).or_insert_with(|| vec![0.0; self.shares.len() + 1]);
        let others = credit.len() - 1;
        let mut rest = 1.0;
        for (credit, share) in credit.iter_mut().zip(&self.shares) {
            let share = if io.op == IoOp::Read { share.reads } else { share.writes };
            rest -= share;
            *credit += share * bytes;
        }
        credit[others] += f64::max(rest, 0.0) * bytes;
        let numbers = 0..credit.len();
        let most = numbers.max_by(|a, b| credit[*a].total_cmp(&credit[*b]));
        let most = most.expect("other processes have an entry");
        credit[most] -= bytes;
        if most != others {
            each(most, io);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_trace::BlockFlags;

    fn io(at: u64, op: IoOp, sectors: u32) -> BlockIo {
        let (flags, device, sector, process) = (BlockFlags::default(), 1, 0, 0);
        let (pid, latency) = (1, None);
        BlockIo { at: Ns(at), device, sector, sectors, op, flags, pid, process, latency }
    }

    fn caused(end: u64, nodes: &[(u64, u64)]) -> CausedIo {
        let nodes = nodes.iter().map(|&(read, written)| [Bytes(read), Bytes(written)]).collect();
        CausedIo { end: Ns(end), nodes }
    }

    fn settled(distribution: &mut Distribution, all: bool) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        distribution.settle(all, |node, io| found.push((node, io.at.0)));
        found
    }

    /// Bytes that each node reads and writes in the log.
    fn logged(distribution: &mut Distribution, all: bool) -> [[u64; 2]; 2] {
        let mut bytes = [[0; 2]; 2];
        distribution.settle(all, |node, io| {
            bytes[node][usize::from(io.op == IoOp::Write)] += io.bytes().0;
        });
        bytes
    }

    #[test]
    fn bytes_are_shared_within_one_request() {
        let queue = CausedQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 2);
        let (reads, writes) = (1000 * 10 * 512, 1000 * 8 * 512);
        queue.push(caused(999, &[(reads / 2, writes / 10), (reads / 4, writes / 10 * 9)]));
        for at in 0..1000 {
            let sectors = 8 + u32::try_from(at % 5).unwrap();
            distribution.push(io(at, IoOp::Read, sectors));
            distribution.push(io(at, IoOp::Write, 8));
        }
        distribution.push(io(1000, IoOp::Read, 8));
        let bytes = logged(&mut distribution, false);
        for (node, [read, write]) in
            [(0, [reads / 2, writes / 10]), (1, [reads / 4, writes / 10 * 9])]
        {
            assert!(bytes[node][0].abs_diff(read) <= 12 * 512, "{bytes:?}");
            assert!(bytes[node][1].abs_diff(write) <= 12 * 512, "{bytes:?}");
        }
    }

    #[test]
    fn issued_bytes_are_not_outstanding_any_more() {
        let queue = CausedQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 2);
        let mib = 1 << 20;
        // The other program's 16 MiB are in flight at the end of the first sample.
        queue.push(caused(10, &[(0, 8 * mib), (0, 0)]));
        queue.push(caused(20, &[(0, 0), (0, 32 * mib)]));
        queue.push(caused(30, &[(0, 0), (0, 0)]));
        for at in [5; 24].into_iter().chain([15; 32]).chain([25; 50]) {
            distribution.push(io(at, IoOp::Write, 2048));
        }
        assert_eq!(logged(&mut distribution, true), [[0, 8 * mib], [0, 32 * mib]]);
    }

    #[test]
    fn discards_are_not_given_instead_of_writes() {
        let queue = CausedQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 1);
        queue.push(caused(10, &[(0, 50 * 4096)]));
        for at in 1..=10 {
            distribution.push(io(at, IoOp::Discard, 1 << 17));
            (0..10).for_each(|_| distribution.push(io(at, IoOp::Write, 8)));
        }
        let mut found = Vec::new();
        distribution.settle(true, |_, io| found.push(io.op));
        let [writes, discards] =
            [IoOp::Write, IoOp::Discard].map(|op| found.iter().filter(|o| **o == op).count());
        assert_eq!([writes, discards], [50, 5]);
    }

    #[test]
    fn requests_wait_for_the_end_of_their_sample_and_the_first_later_request() {
        let queue = CausedQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 2);
        for at in [5, 10] {
            distribution.push(io(at, IoOp::Write, 8));
        }
        assert_eq!(settled(&mut distribution, false), []);
        queue.push(caused(10, &[(0, 8192), (0, 0)]));
        assert_eq!(settled(&mut distribution, false), []);
        distribution.push(io(11, IoOp::Write, 8));
        assert_eq!(settled(&mut distribution, false), [(0, 5), (0, 10)]);
        distribution.push(io(25, IoOp::Write, 8));
        queue.push(caused(20, &[(0, 0), (0, 8192)]));
        assert_eq!(settled(&mut distribution, false), [(1, 11)]);
        assert_eq!(settled(&mut distribution, true), [(1, 25)]);
    }

    #[test]
    fn requests_that_cannot_wait_are_shared_out_and_counted_later() {
        let queue = CausedQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 1);
        let requests = MAX_WAITING as u64;
        queue.push(caused(10, &[(0, 4096)]));
        for at in [10, 20] {
            distribution.push(io(at, IoOp::Write, 8));
        }
        assert_eq!(settled(&mut distribution, false), [(0, 10)]);
        (1..requests + 100).for_each(|_| distribution.push(io(20, IoOp::Write, 8)));
        assert_eq!(settled(&mut distribution, false).len(), 100, "by the share before");
        queue.push(caused(20, &[(0, (requests + 50) * 4096)]));
        assert_eq!(settled(&mut distribution, true).len() as u64, requests - 50);
    }

    #[test]
    fn what_no_node_caused_is_of_no_node() {
        let queue = CausedQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 1);
        distribution.push(io(1, IoOp::Flush, 0));
        assert_eq!(settled(&mut distribution, true), []);
        queue.push(caused(9, &[(0, 0)]));
        distribution.push(io(2, IoOp::Flush, 0));
        assert_eq!(settled(&mut distribution, true), []);
    }
}
