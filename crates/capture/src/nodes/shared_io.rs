//! The share of each node in the machine's block I/O, for nodes that have no devices of their own.
//!
//! `/proc/PID/io` has the bytes that a process caused to be read, and those that it will cause to
//! be written: the kernel writes them some time later. Bytes that were counted and not yet seen at
//! the devices are therefore outstanding, and a node's share of the I/O of a sample is its part of
//! all outstanding bytes, or of the bytes that the devices moved, if these were more.

use crate::block::{IoShare, OutstandingIo};
use gordon_trace::{DiskSample, Sample};
use gordon_units::{Bytes, Ns};

/// Divides the I/O of the machine among nodes.
pub(super) struct SharedIo {
    /// Devices whose I/O is divided.
    devices: Vec<u32>,
    /// Bytes read and written by the processes of each node until the last sample.
    counted: Vec<[Bytes; 2]>,
    outstanding: OutstandingIo,
    /// The share of each node in the totals of each device of the machine.
    disks: Vec<Vec<(u32, DiskShare)>>,
    /// Totals of the devices at the last sample.
    before: Vec<DiskSample>,
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
        Self {
            devices,
            counted: vec![[Bytes::ZERO; 2]; nodes],
            outstanding: OutstandingIo::new(nodes),
            disks: vec![Vec::new(); nodes],
            before: Vec::new(),
        }
    }

    /// Divides the I/O since the last call. `machine` has the totals since the start, and `counted`
    /// the bytes read and written by the processes of each node since then. Returns those since the
    /// last call.
    pub(super) fn divide(&mut self, machine: &Sample, counted: Vec<[Bytes; 2]>) -> Vec<[Bytes; 2]> {
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
        let caused = counted.iter().zip(&self.counted);
        let caused: Vec<[Bytes; 2]> =
            caused.map(|(now, then)| [0, 1].map(|op| now[op].saturating_sub(then[op]))).collect();
        self.counted = counted;
        self.outstanding.add(&caused);
        let shares = self.outstanding.shares(moved);
        self.outstanding.take(moved, &shares);
        let all_moved = f64::max(moved[0] + moved[1], 1.0);
        for (disks, share) in self.disks.iter_mut().zip(&shares) {
            let busy = (share.reads * moved[0] + share.writes * moved[1]) / all_moved;
            for disk in &now {
                let zero = DiskSample { device: disk.device, ..DiskSample::default() };
                let since = disk.since(then(disk.device).unwrap_or(&zero));
                add(disks, &since, *share, busy);
            }
        }
        self.before = now;
        caused
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
        self.disks[node].iter().map(disk).filter(|disk| !disk.is_idle()).collect()
    }
}

/// Adds a node's share of what a device did to the node's totals of the devices.
#[allow(clippy::cast_precision_loss)]
fn add(disks: &mut Vec<(u32, DiskShare)>, since: &DiskSample, share: IoShare, busy: f64) {
    let at = match disks.binary_search_by_key(&since.device, |(device, _)| *device) {
        Ok(at) => at,
        Err(at) => {
            disks.insert(at, (since.device, DiskShare::default()));
            at
        }
    };
    let IoShare { reads, writes } = share;
    let total = &mut disks[at].1;
    total.reads += since.reads as f64 * reads;
    total.read_bytes += since.read_bytes.0 as f64 * reads;
    total.writes += since.writes as f64 * writes;
    total.write_bytes += since.write_bytes.0 as f64 * writes;
    total.discards += since.discards as f64 * writes;
    total.discard_bytes += since.discard_bytes.0 as f64 * writes;
    total.flushes += since.flushes as f64 * writes;
    total.busy += since.busy.0 as f64 * busy;
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
        io.divide(&machine(1000, 0), bytes(&[(100, 0), (400, 0)]));
        let read = [0, 1].map(|node| io.disks(node)[0].read_bytes.0);
        assert_eq!(read, [100, 400]);
        assert_eq!(io.disks(1)[0].busy, Ns(400));
        assert_eq!(io.disks(1).len(), 1, "only devices that are divided");
    }

    #[test]
    fn buffered_writes_count_when_the_device_writes_them() {
        let mut io = SharedIo::new(vec![1], 2);
        io.divide(&machine(0, 0), bytes(&[(0, 300), (0, 100)]));
        assert_eq!(written(&io), [0, 0]);
        io.divide(&machine(0, 200), bytes(&[(0, 300), (0, 100)]));
        assert_eq!(written(&io), [150, 50]);
        // The rest and 50 bytes of the journal, which no process is charged for.
        io.divide(&machine(0, 450), bytes(&[(0, 300), (0, 100)]));
        assert_eq!(written(&io), [300, 100]);
        let caused = io.divide(&machine(0, 900), bytes(&[(0, 310), (0, 100)]));
        assert_eq!(caused, bytes(&[(0, 10), (0, 0)]));
        assert_eq!(written(&io), [310, 100]);
    }
}
