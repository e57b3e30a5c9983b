//! A plain file as a block device with the timing of simulated disks.
//!
//! A request enters the simulation when it arrives, and another thread moves its bytes. It is
//! answered when both are done: a write is in the file before it is acknowledged, and no request is
//! answered before the disk would have answered it. The simulation never waits for the file. A slow
//! file therefore makes replies late, but does not delay later requests in the simulation.
//!
//! A flush takes the time that the disk needs to empty its buffer, and a sync of the file. A
//! request with FUA is followed by a flush of the disk, as Linux does for drives without FUA. The
//! disk writes zeroes like data. A trim makes a hole in the file and takes no time in the disk.
//! Cache hints and block status take no time in the disk: they are not modelled.

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
use gordon_blockio::Command;
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
    /// Starts the device.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(self, pace: Pace) -> Result<Serving, BlockError> {
        Ok(Serving(Arc::new(DiskExport::start(self, pace)?)))
    }
}

struct DiskExport {
    path: PathBuf,
    bytes: Arc<FileBytes>,
    name: String,
    power: Option<PowerConfig>,
    /// Number of disks, and their capacity.
    disks: (usize, units::Bytes),
    hosts: Arc<HostCounters>,
    /// `None` at full speed: the thread that submits requests carries them out.
    simulated: Option<SimulatedDisks>,
}

struct SimulatedDisks {
    clock: Arc<SimClock<SimDisk<FinishedIo>>>,
    /// Threads that move the bytes of a request, and report it by its tag in the simulation. A
    /// request without a tag takes no time in the disks.
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
                let tag = to_disk(&request).map(|of_disk| disks.submit(now, of_disk));
                jobs.push((request, tag));
            }
        });
        for (request, tag) in jobs {
            if let Op::Command(Command::WriteZeroes { fast: true, .. }) = request.op() {
                counters.answer(FinishedIo::not_fast(request));
            } else {
                self.workers.give((request, tag));
            }
        }
    }
}

/// The request to the disk; `None` if the disk is not involved. Disks forget nothing that is
/// trimmed, so a trim is always durable.
fn to_disk(request: &Request) -> Option<blockio::Request> {
    let data = request.data().len() as u64;
    let Op::Command(command) = request.op() else { return None };
    let (op, offset, len, durable) = match command {
        Command::Read { offset } => (blockio::IoOp::Read, offset, data, false),
        Command::Write { offset, fua } => (blockio::IoOp::Write, offset, data, fua),
        Command::Flush => (blockio::IoOp::Flush, 0, 0, false),
        Command::Trim { offset, length, .. } => (blockio::IoOp::Discard, offset, length, false),
        Command::WriteZeroes { offset, length, fua, fast: false, .. } => {
            (blockio::IoOp::Write, offset, length, fua)
        }
        Command::WriteZeroes { fast: true, .. } => return None,
    };
    let (offset, len) = (units::Bytes(offset), units::Bytes(len));
    Some(blockio::Request { op, offset, len, durable })
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
