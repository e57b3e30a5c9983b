//! Shares the block log of the machine out among nodes that have no devices of their own.
//!
//! The kernel does not record for whom a buffered write is, so requests are assigned such that each
//! node has, in each sample, its share of the bytes read and written. The share of a sample is
//! known at its end, and the requests wait until then.

use gordon_blockio::IoOp;
use gordon_trace::BlockIo;
use gordon_units::Ns;
use std::collections::VecDeque;
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

/// The shares of all nodes in one sample. They may add up to less than 1: the rest is of other
/// processes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SampleShares {
    /// End of the sample, since the start of the trace.
    pub(crate) end: Ns,
    pub(crate) nodes: Vec<IoShare>,
}

/// Passes the shares of each sample from the sampling thread to that of the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShareQueue(Arc<Mutex<VecDeque<SampleShares>>>);

impl ShareQueue {
    pub(crate) fn push(&self, shares: SampleShares) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(shares);
    }

    fn take(&self) -> VecDeque<SampleShares> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Assigns requests to nodes.
pub(super) struct Distribution {
    queue: ShareQueue,
    known: VecDeque<SampleShares>,
    waiting: VecDeque<BlockIo>,
    /// Bytes that each node should have received so far less those it received; reads and writes.
    /// The last entry is of other processes.
    credit: Vec<[f64; 2]>,
}

impl Distribution {
    pub(super) fn new(queue: ShareQueue, nodes: usize) -> Self {
        let credit = vec![[0.0; 2]; nodes + 1];
        Self { queue, known: VecDeque::new(), waiting: VecDeque::new(), credit }
    }

    /// Adds a request, in order of issue.
    pub(super) fn push(&mut self, io: BlockIo) {
        self.waiting.push_back(io);
    }

    /// Returns the requests whose sample has ended, each with the number of its node; with `all`,
    /// the later ones too, by the shares of the last sample. Requests of other processes are left
    /// out.
    pub(super) fn settle(&mut self, all: bool, mut each: impl FnMut(usize, BlockIo)) {
        self.known.extend(self.queue.take());
        while let Some(io) = self.waiting.front() {
            // The last known sample stays, for requests that cannot wait for theirs.
            while self.known.len() > 1 && self.known[0].end < io.at {
                self.known.pop_front();
            }
            let is_known = self.known.front().is_some_and(|sample| io.at <= sample.end);
            if !is_known && !all && self.waiting.len() <= MAX_WAITING {
                return;
            }
            let io = self.waiting.pop_front().expect("it is at the front");
            if let Some(node) = self.assign(&io) {
                each(node, io);
            }
        }
    }

    /// The node whose share is the furthest behind after this request is added to the total.
    #[allow(clippy::cast_precision_loss)]
    fn assign(&mut self, io: &BlockIo) -> Option<usize> {
        let shares = self.known.front()?;
        let others = self.credit.len() - 1;
        let op = usize::from(io.op != IoOp::Read);
        // A flush has no bytes.
        let bytes = io.bytes().0.max(512) as f64;
        let mut rest = 1.0;
        for (credit, share) in self.credit.iter_mut().zip(&shares.nodes) {
            let share = [share.reads, share.writes][op];
            rest -= share;
            credit[op] += share * bytes;
        }
        self.credit[others][op] += f64::max(rest, 0.0) * bytes;
        let numbers = 0..self.credit.len();
        let most = numbers.max_by(|a, b| self.credit[*a][op].total_cmp(&self.credit[*b][op]))?;
        self.credit[most][op] -= bytes;
        (most != others).then_some(most)
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

    fn sample(end: u64, nodes: &[(f64, f64)]) -> SampleShares {
        let nodes = nodes.iter().map(|&(reads, writes)| IoShare { reads, writes }).collect();
        SampleShares { end: Ns(end), nodes }
    }

    fn settled(distribution: &mut Distribution, all: bool) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        distribution.settle(all, |node, io| found.push((node, io.at.0)));
        found
    }

    #[test]
    fn bytes_are_shared_within_one_request() {
        let queue = ShareQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 2);
        queue.push(sample(1000, &[(0.5, 0.1), (0.25, 0.9)]));
        let mut bytes = [[0u64; 2]; 2];
        for at in 0..1000 {
            let sectors = 8 + u32::try_from(at % 5).unwrap();
            distribution.push(io(at, IoOp::Read, sectors));
            distribution.push(io(at, IoOp::Write, 8));
        }
        distribution.settle(false, |node, io| {
            bytes[node][usize::from(io.op == IoOp::Write)] += io.bytes().0;
        });
        let reads = 1000 * 10 * 512;
        let writes = 1000 * 8 * 512;
        for (node, [read, write]) in
            [(0, [reads / 2, writes / 10]), (1, [reads / 4, writes / 10 * 9])]
        {
            assert!(bytes[node][0].abs_diff(read) <= 12 * 512, "{bytes:?}");
            assert!(bytes[node][1].abs_diff(write) <= 12 * 512, "{bytes:?}");
        }
    }

    #[test]
    fn requests_wait_for_the_end_of_their_sample() {
        let queue = ShareQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 2);
        for at in [5, 10, 11, 25] {
            distribution.push(io(at, IoOp::Write, 8));
        }
        assert_eq!(settled(&mut distribution, false), []);
        queue.push(sample(10, &[(0.0, 1.0), (0.0, 0.0)]));
        assert_eq!(settled(&mut distribution, false), [(0, 5), (0, 10)]);
        queue.push(sample(20, &[(0.0, 0.0), (0.0, 1.0)]));
        assert_eq!(settled(&mut distribution, false), [(1, 11)]);
        assert_eq!(settled(&mut distribution, true), [(1, 25)]);
    }

    #[test]
    fn without_shares_no_request_is_of_a_node() {
        let queue = ShareQueue::default();
        let mut distribution = Distribution::new(queue.clone(), 1);
        distribution.push(io(1, IoOp::Flush, 0));
        assert_eq!(settled(&mut distribution, true), []);
        queue.push(sample(9, &[(0.0, 0.0)]));
        distribution.push(io(2, IoOp::Flush, 0));
        assert_eq!(settled(&mut distribution, true), []);
    }
}
