//! The share of each node in the machine's block I/O, for nodes that have no devices of their own.
//!
//! `/proc/PID/io` has the bytes that a process caused to be read, and those that it will cause to
//! be written: the kernel writes them some time later. Bytes that were counted and not yet seen at
//! the devices are therefore outstanding, and a node's share of the I/O of a sample is its part of
//! all outstanding bytes, or of the bytes that the devices moved, if these were more.

use crate::block::IoShare;
use gordon_trace::{DiskSample, Sample};
use gordon_units::{Bytes, Ns};

/// Divides the I/O of the machine among nodes.
pub(super) struct SharedIo {
    /// Devices whose I/O is divided.
    devices: Vec<u32>,
    nodes: Vec<NodeIo>,
    /// Totals of the devices at the last sample.
    before: Vec<DiskSample>,
}

#[derive(Default)]
struct NodeIo {
    /// Bytes read and written by its processes until the last sample.
    counted: [Bytes; 2],
    outstanding: [f64; 2],
    /// Totals of each device of the machine that are the node's.
    disks: Vec<(u32, DiskShare)>,
}

/// Fractions of requests and bytes add up over the samples.
#[derive(Clone, Copy, Default)]
struct DiskShare {
    reads: f64,
    read_bytes: f64,
    writes: f64,
    write_bytes: f64,
    discards: f64,
    discard_bytes: f64,
    flushes: f64,
    busy: f64,
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
impl SharedIo {
    pub(super) fn new(devices: Vec<u32>, nodes: usize) -> Self {
        let mut list = Vec::new();
        list.resize_with(nodes, NodeIo::default);
        Self { devices, nodes: list, before: Vec::new() }
    }

    /// Divides the I/O since the last call. `machine` has the totals since the start, and `counted`
    /// the bytes read and written by the processes of each node since then.
    pub(super) fn divide(&mut self, machine: &Sample, counted: &[[Bytes; 2]]) -> Vec<IoShare> {
        let is_divided = |disk: &&DiskSample| self.devices.contains(&disk.device);
        let now: Vec<DiskSample> = machine.disks.iter().filter(is_divided).copied().collect();
        let then = |device| self.before.iter().find(|disk| disk.device == device);
        let moved = |of: fn(&DiskSample) -> Bytes| -> f64 {
            let since = |disk: &DiskSample| {
                of(disk).saturating_sub(then(disk.device).map_or(Bytes::ZERO, of)).0
            };
            now.iter().map(since).sum::<u64>() as f64
        };
        let moved = [moved(|disk| disk.read_bytes), moved(|disk| disk.write_bytes)];
        for (node, counted) in self.nodes.iter_mut().zip(counted) {
            let more = counted.iter().zip(node.counted).map(|(now, then)| now.saturating_sub(then));
            for (outstanding, more) in node.outstanding.iter_mut().zip(more) {
                *outstanding += more.0 as f64;
            }
            node.counted = *counted;
        }
        let mut shares = vec![[0.0; 2]; self.nodes.len()];
        for op in 0..2 {
            let all: f64 = self.nodes.iter().map(|node| node.outstanding[op]).sum();
            let whole = f64::max(all, moved[op]);
            for (node, share) in self.nodes.iter_mut().zip(&mut shares) {
                share[op] = if whole > 0.0 { node.outstanding[op] / whole } else { 0.0 };
                node.outstanding[op] = f64::max(node.outstanding[op] - share[op] * moved[op], 0.0);
            }
        }
        let all_moved = f64::max(moved[0] + moved[1], 1.0);
        for (node, [reads, writes]) in self.nodes.iter_mut().zip(&shares) {
            let busy = (reads * moved[0] + writes * moved[1]) / all_moved;
            for disk in &now {
                let zero = DiskSample { device: disk.device, ..DiskSample::default() };
                let since = disk.since(then(disk.device).unwrap_or(&zero));
                node.add(&since, *reads, *writes, busy);
            }
        }
        self.before = now;
        shares.into_iter().map(|[reads, writes]| IoShare { reads, writes }).collect()
    }

    /// The devices' totals that are of a node.
    pub(super) fn disks(&self, node: usize) -> Vec<DiskSample> {
        let disk = |(device, share): &(u32, DiskShare)| DiskSample {
            device: *device,
            reads: share.reads as u64,
            read_bytes: Bytes(share.read_bytes as u64),
            writes: share.writes as u64,
            write_bytes: Bytes(share.write_bytes as u64),
            discards: share.discards as u64,
            discard_bytes: Bytes(share.discard_bytes as u64),
            flushes: share.flushes as u64,
            busy: Ns(share.busy as u64),
        };
        self.nodes[node].disks.iter().map(disk).filter(|disk| !disk.is_idle()).collect()
    }
}

#[allow(clippy::cast_precision_loss)]
impl NodeIo {
    fn add(&mut self, since: &DiskSample, reads: f64, writes: f64, busy: f64) {
        let at = match self.disks.binary_search_by_key(&since.device, |(device, _)| *device) {
            Ok(at) => at,
            Err(at) => {
                self.disks.insert(at, (since.device, DiskShare::default()));
                at
            }
        };
        let share = &mut self.disks[at].1;
        share.reads += since.reads as f64 * reads;
        share.read_bytes += since.read_bytes.0 as f64 * reads;
        share.writes += since.writes as f64 * writes;
        share.write_bytes += since.write_bytes.0 as f64 * writes;
        share.discards += since.discards as f64 * writes;
        share.discard_bytes += since.discard_bytes.0 as f64 * writes;
        share.flushes += since.flushes as f64 * writes;
        share.busy += since.busy.0 as f64 * busy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(reads: u64, writes: u64) -> Sample {
        let disk = |device, read, write| DiskSample {
            device,
            read_bytes: Bytes(read),
            write_bytes: Bytes(write),
            busy: Ns(read + write),
            ..DiskSample::default()
        };
        Sample { disks: vec![disk(1, reads, writes), disk(9, 777, 777)], ..Sample::default() }
    }

    fn bytes(list: &[(u64, u64)]) -> Vec<[Bytes; 2]> {
        list.iter().map(|(read, write)| [Bytes(*read), Bytes(*write)]).collect()
    }

    fn written(io: &SharedIo) -> [u64; 2] {
        [0, 1].map(|node| io.disks(node).iter().map(|disk| disk.write_bytes.0).sum())
    }

    #[test]
    fn what_the_nodes_did_not_cause_is_of_others() {
        let mut io = SharedIo::new(vec![1], 2);
        let shares = io.divide(&machine(1000, 0), &bytes(&[(100, 0), (400, 0)]));
        assert_eq!(shares.iter().map(|s| s.reads).collect::<Vec<_>>(), [0.1, 0.4]);
        let read = [0, 1].map(|node| io.disks(node)[0].read_bytes.0);
        assert_eq!(read, [100, 400]);
        assert_eq!(io.disks(1)[0].busy, Ns(400));
        assert_eq!(io.disks(1).len(), 1, "only devices that are divided");
    }

    #[test]
    fn buffered_writes_count_when_the_device_writes_them() {
        let mut io = SharedIo::new(vec![1], 2);
        io.divide(&machine(0, 0), &bytes(&[(0, 300), (0, 100)]));
        assert_eq!(written(&io), [0, 0]);
        io.divide(&machine(0, 200), &bytes(&[(0, 300), (0, 100)]));
        assert_eq!(written(&io), [150, 50]);
        // The rest and 50 bytes of the journal, which no process is charged for.
        io.divide(&machine(0, 450), &bytes(&[(0, 300), (0, 100)]));
        assert_eq!(written(&io), [300, 100]);
        let shares = io.divide(&machine(0, 900), &bytes(&[(0, 300), (0, 100)]));
        assert!(shares.iter().all(|share| share.writes == 0.0));
        assert_eq!(written(&io), [300, 100]);
    }
}
