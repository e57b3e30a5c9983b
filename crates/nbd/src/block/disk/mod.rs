//! A plain file as a block device that answers in the time of simulated disks.
//!
//! A request goes into the simulation when it comes, its bytes are moved by a thread beside it, and it is
//! answered when both are done: a write is in the file before anybody hears of it, and nobody
//! hears of anything before the disk would have answered. The simulation never waits for the file,
//! so what the file costs is seen in the lateness, not in what later requests take.
//!
//! A flush takes the disk's time to empty its buffer, and a sync of the file. A request with FUA is
//! followed by the disk's flush, as Linux does it for drives without FUA. Zeros are written; a
//! trim makes a hole, and the disk acknowledges it. What a hint (`cache`) or a question for
//! holes costs a disk is not modelled.

mod asked;
mod bytes;
mod open;
mod spin;
#[cfg(test)]
mod tests;
mod workers;

pub use open::{DiskFile, DiskFileError, DiskPart};

use super::clock::Clock;
use super::status::{DiskStatus, Drives, Of, Status};
use super::{BlockError, Pace, Served, Serving};
use crate::export::{Export, Info, Op, Request};
use asked::Asked;
use bytes::{Bytes, Moved};
use gordon_device::disk::PowerConfig;
use gordon_device::drive::Drive;
use gordon_device::{self as device, Device, SECTOR};
use gordon_units as units;
use spin::Spin;
use std::path::PathBuf;
use std::sync::Arc;
use workers::Workers;

impl DiskFile {
    /// Something to serve.
    ///
    /// # Errors
    /// Where the system has no thread for it.
    pub fn start(self, pace: Pace) -> Result<Serving, BlockError> {
        Ok(Serving(Arc::new(Spinning::start(self, pace)?)))
    }
}

/// The file behind an export.
struct Spinning {
    path: PathBuf,
    bytes: Arc<Bytes>,
    name: String,
    power: Option<PowerConfig>,
    disks: (usize, units::Bytes),
    hosts: Arc<Asked>,
    /// Without it, as fast as it can: whoever submits carries out.
    paced: Option<Paced>,
}

struct Paced {
    clock: Arc<Clock<Spin<Moved>>>,
    workers: Workers<(Request, Option<usize>)>,
}

impl Spinning {
    fn start(file: DiskFile, pace: Pace) -> Result<Self, BlockError> {
        let DiskFile { path, bytes, part: DiskPart { drive, name, power } } = file;
        let disks = (drive.disks().len(), drive.capacity());
        let (hosts, bytes) = (Arc::new(Asked::new()), Arc::new(bytes));
        let paced = match pace {
            Pace::Full => None,
            Pace::Real => Some(Paced::start(drive, &bytes, &hosts)?),
        };
        Ok(Self { path, bytes, name, power, disks, hosts, paced })
    }
}

impl Paced {
    fn start(drive: Drive, bytes: &Arc<Bytes>, hosts: &Arc<Asked>) -> Result<Self, BlockError> {
        let asked = Arc::clone(hosts);
        let clock = Clock::start(Spin::new(drive), move |moved| asked.answer(moved))?;
        let (to, bytes, asked) = (Arc::clone(&clock), Arc::clone(bytes), Arc::clone(hosts));
        let work = move |(request, tag): (Request, Option<usize>)| {
            let moved = bytes.carry_out(request);
            match tag {
                Some(tag) => to.act(|spin, _| spin.moved(tag, moved)),
                None => asked.answer(moved),
            }
        };
        Ok(Self { clock, workers: Workers::start("block-file", work)? })
    }

    fn submit(&self, batch: &mut Vec<Request>, asked: &Asked) {
        let mut jobs = Vec::with_capacity(batch.len());
        self.clock.act(|spin, now| {
            for request in batch.drain(..) {
                let tag =
                    command(&request).map(|(command, durable)| spin.submit(now, command, durable));
                jobs.push((request, tag));
            }
        });
        for (request, tag) in jobs {
            if let Op::WriteZeroes { fast: true, .. } = request.op() {
                asked.answer(Moved::not_fast(request));
            } else {
                self.workers.give((request, tag));
            }
        }
    }
}

/// What a request asks of the disk, if anything, and whether it is to be flushed after it.
fn command(request: &Request) -> Option<(device::Request, bool)> {
    let (op, offset, len, durable) = match request.op() {
        Op::Read { offset } => (device::Op::Read, offset, request.data().len() as u64, false),
        Op::Write { offset, fua } => (device::Op::Write, offset, request.data().len() as u64, fua),
        Op::Flush => (device::Op::Flush, 0, 0, false),
        Op::Trim { offset, length, fua } => (device::Op::Trim, offset, length, fua),
        Op::WriteZeroes { offset, length, fua, fast: false, .. } => {
            (device::Op::Write, offset, length, fua)
        }
        Op::WriteZeroes { .. } | Op::Cache { .. } | Op::Status { .. } => return None,
    };
    let (offset, len) = (units::Bytes(offset), units::Bytes(len));
    Some((device::Request { op, offset, len }, durable))
}

impl Export for Spinning {
    fn info(&self) -> Info {
        Info { minimum: SECTOR, rotational: true, ..Info::new(units::Bytes(self.bytes.len())) }
    }

    fn submit(&self, batch: &mut Vec<Request>) {
        self.hosts.come(batch);
        match &self.paced {
            Some(paced) => paced.submit(batch, &self.hosts),
            None => batch.drain(..).for_each(|request| {
                self.hosts.answer(self.bytes.carry_out(request));
            }),
        }
    }
}

impl Served for Spinning {
    fn status(&self) -> Status {
        let (disk, emulation) = match &self.paced {
            None => (None, None),
            Some(paced) => paced.clock.look(|spin, now, lateness| {
                (Some(Drives::of(&spin.drive, self.power.as_ref(), now)), Some(lateness))
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
            of: Of::Disk(DiskStatus { disks, disk_capacity: capacity.0, disk }),
        }
    }

    fn idle(&self) -> bool {
        false
    }

    fn taken(&self) -> u64 {
        0
    }

    fn close(&self) -> Result<(), BlockError> {
        if let Some(paced) = &self.paced {
            paced.workers.stop();
            paced.clock.stop();
        }
        let synced = self.bytes.sync();
        Ok(synced.map_err(|error| DiskFileError::Sync(self.path.clone(), error))?)
    }
}
