//! A plain file as a block device that answers in the time of simulated disks.
//!
//! A request goes into the simulation when it comes, its bytes are moved by a thread beside it, and
//! it is answered when both are done: a write is in the file before anybody hears of it, and nobody
//! hears of anything before the disk would have answered. The simulation never waits for the file,
//! so what the file costs is seen in the lateness, not in what later requests take.
//!
//! A flush takes the disk's time to empty its buffer, and a sync of the file. A request with FUA is
//! followed by the disk's flush, as Linux does it for drives without FUA. Zeros are written; a
//! trim makes a hole, and the disk acknowledges it. What a hint (`cache`) or a question for
//! holes costs a disk is not modelled.

mod file_bytes;
mod host_counters;
mod open;
mod sim_disk;
#[cfg(test)]
mod tests;
mod workers;

pub use open::{DiskFile, DiskPart};

use crate::block_device::BlockDevice;
use crate::clock::SimClock;
use crate::error::{BlockError, DiskFileError};
use crate::serving::{Pace, Serving};
use crate::status::{DeviceStatus, DiskStatus, Drives, Status};
use file_bytes::{FileBytes, FinishedIo};
use gordon_blockio::{self as blockio, Device, SECTOR};
use gordon_hdd::PowerConfig;
use gordon_hdd::drive::Drive;
use gordon_nbd::{Export, ExportInfo, Op, Request};
use gordon_units as units;
use host_counters::HostCounters;
use sim_disk::SimDisk;
use std::path::PathBuf;
use std::sync::Arc;
use workers::Workers;

impl DiskFile {
    /// Something to serve.
    ///
    /// # Errors
    /// Where the system has no thread for it.
    pub fn start(self, pace: Pace) -> Result<Serving, BlockError> {
        Ok(Serving(Arc::new(DiskExport::start(self, pace)?)))
    }
}

/// The file behind an export.
struct DiskExport {
    path: PathBuf,
    bytes: Arc<FileBytes>,
    name: String,
    power: Option<PowerConfig>,
    disks: (usize, units::Bytes),
    hosts: Arc<HostCounters>,
    /// Without it, as fast as it can: whoever submits carries out.
    simulated: Option<SimulatedDisks>,
}

struct SimulatedDisks {
    clock: Arc<SimClock<SimDisk<FinishedIo>>>,
    workers: Workers<(Request, Option<usize>)>,
}

impl DiskExport {
    fn start(file: DiskFile, pace: Pace) -> Result<Self, BlockError> {
        let DiskFile { path, bytes, part: DiskPart { drive, name, power } } = file;
        let disks = (drive.disks().len(), drive.capacity());
        let (hosts, bytes) = (Arc::new(HostCounters::new()), Arc::new(bytes));
        let simulated = match pace {
            Pace::Full => None,
            Pace::Real => Some(SimulatedDisks::start(drive, &bytes, &hosts)?),
        };
        Ok(Self { path, bytes, name, power, disks, hosts, simulated })
    }
}

impl SimulatedDisks {
    fn start(
        drive: Drive,
        bytes: &Arc<FileBytes>,
        hosts: &Arc<HostCounters>,
    ) -> Result<Self, BlockError> {
        let counters = Arc::clone(hosts);
        let clock =
            SimClock::start(SimDisk::new(drive), move |finished| counters.answer(finished))?;
        let (to, bytes, counters) = (Arc::clone(&clock), Arc::clone(bytes), Arc::clone(hosts));
        let work = move |(request, tag): (Request, Option<usize>)| {
            let finished = bytes.carry_out(request);
            match tag {
                Some(tag) => to.with(|disks, _| disks.bytes_moved(tag, finished)),
                None => counters.answer(finished),
            }
        };
        Ok(Self { clock, workers: Workers::start("block-file", work)? })
    }

    fn submit(&self, batch: &mut Vec<Request>, counters: &HostCounters) {
        let mut jobs = Vec::with_capacity(batch.len());
        self.clock.with(|disks, now| {
            for request in batch.drain(..) {
                let tag =
                    command(&request).map(|(command, durable)| disks.submit(now, command, durable));
                jobs.push((request, tag));
            }
        });
        for (request, tag) in jobs {
            if let Op::WriteZeroes { fast: true, .. } = request.op() {
                counters.answer(FinishedIo::not_fast(request));
            } else {
                self.workers.give((request, tag));
            }
        }
    }
}

/// What a request asks of the disk, if anything, and whether it is to be flushed after it.
fn command(request: &Request) -> Option<(blockio::Request, bool)> {
    let (op, offset, len, durable) = match request.op() {
        Op::Read { offset } => (blockio::IoOp::Read, offset, request.data().len() as u64, false),
        Op::Write { offset, fua } => {
            (blockio::IoOp::Write, offset, request.data().len() as u64, fua)
        }
        Op::Flush => (blockio::IoOp::Flush, 0, 0, false),
        Op::Trim { offset, length, fua } => (blockio::IoOp::Discard, offset, length, fua),
        Op::WriteZeroes { offset, length, fua, fast: false, .. } => {
            (blockio::IoOp::Write, offset, length, fua)
        }
        Op::WriteZeroes { .. } | Op::Cache { .. } | Op::Status { .. } => return None,
    };
    let (offset, len) = (units::Bytes(offset), units::Bytes(len));
    Some((blockio::Request { op, offset, len }, durable))
}

impl Export for DiskExport {
    fn info(&self) -> ExportInfo {
        ExportInfo {
            minimum: SECTOR,
            rotational: true,
            ..ExportInfo::new(units::Bytes(self.bytes.len()))
        }
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        self.hosts.record_batch(batch);
        match &self.simulated {
            Some(simulated) => simulated.submit(batch, &self.hosts),
            None => batch.drain(..).for_each(|request| {
                self.hosts.answer(self.bytes.carry_out(request));
            }),
        }
    }
}

impl BlockDevice for DiskExport {
    fn status(&self) -> Status {
        let (disk, emulation) = match &self.simulated {
            None => (None, None),
            Some(simulated) => simulated.clock.observe(|disks, now, lateness| {
                (Some(Drives::of(&disks.drive, self.power.as_ref(), now)), Some(lateness))
            }),
        };
        let (disks, capacity) = self.disks;
        Status {
            kind: "disk-status",
            version: env!("CARGO_PKG_VERSION"),
            preset: self.name.clone(),
            capacity: self.bytes.len(),
            uptime_s: self.hosts.uptime_s(),
            read_only: self.bytes.broken().map(str::to_owned),
            hosts: self.hosts.hosts(),
            syncs: self.bytes.syncs(),
            medium_errors: self.bytes.errors(),
            emulation,
            of: DeviceStatus::Disk(DiskStatus { disks, disk_capacity: capacity.0, disk }),
        }
    }

    fn idle(&self) -> bool {
        false
    }

    fn taken(&self) -> u64 {
        0
    }

    fn close(&self) -> Result<(), BlockError> {
        if let Some(simulated) = &self.simulated {
            simulated.workers.stop();
            simulated.clock.stop();
        }
        let synced = self.bytes.sync();
        Ok(synced.map_err(|error| DiskFileError::Sync(self.path.clone(), error))?)
    }
}
