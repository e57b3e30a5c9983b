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

mod bytes;
mod spin;
#[cfg(test)]
mod tests;
mod workers;

use super::clock::Clock;
use super::status::{DiskStatus, Drives, Hosts, Of, Status};
use super::{BlockError, Pace, Served, Serving};
use crate::export::{Export, Info, Op, Request};
use bytes::{Bytes, Moved};
use gordon_device::disk::PowerConfig;
use gordon_device::drive::Drive;
use gordon_device::{self as device, Device, SECTOR};
use gordon_store::{Backend, File, Media, is_image};
use gordon_units as units;
use spin::Spin;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use thiserror::Error;
use workers::Workers;

/// The disks in whose time a file is served.
pub struct DiskPart {
    /// One, or several as one.
    pub drive: Drive,
    /// What to call it.
    pub name: String,
    /// What one draws, if that is known.
    pub power: Option<PowerConfig>,
}

/// Why a file cannot be served as a disk.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiskFileError {
    /// It is not there.
    #[error("{0}: no such file\n  try: truncate -s 8G {0}")]
    Missing(PathBuf),
    /// Somebody else has it.
    #[error("{0}: in use by another process\n  try: stop it first")]
    InUse(PathBuf),
    /// It cannot be opened.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nothing in it.
    #[error("{0}: an empty file\n  try: truncate -s 8G {0}")]
    Empty(PathBuf),
    /// Not a disk's.
    #[error(
        "{path}: {len} bytes are no whole sectors of 512 bytes\n  try: truncate -s %512 {path}"
    )]
    Ragged {
        /// Which.
        path: PathBuf,
        /// How long it is.
        len: u64,
    },
    /// It is what the store makes.
    #[error(
        "{path}: a flash image, and {name} is a disk\n  try: a plain file, or no preset of a disk"
    )]
    Image {
        /// Which.
        path: PathBuf,
        /// The disk.
        name: String,
    },
    /// More than the disks hold.
    #[error(
        "{path}: {len} do not fit on {name}, which holds {capacity}\n  try: a larger disk, or --stripe {stripe}"
    )]
    Large {
        /// Which.
        path: PathBuf,
        /// How long it is.
        len: units::Bytes,
        /// The disk.
        name: String,
        /// What it holds.
        capacity: units::Bytes,
        /// So many of it would do.
        stripe: u64,
    },
    /// The last sync.
    #[error("{0}: could not be synced: {1}")]
    Sync(PathBuf, io::Error),
}

/// A file that is open to be served.
pub struct DiskFile {
    path: PathBuf,
    bytes: Bytes,
    part: DiskPart,
}

impl DiskFile {
    /// Opens a file and locks it: to write against all others, to read against those who write.
    ///
    /// # Errors
    /// Where it cannot be had, or does not fit the disk.
    pub fn open(path: &Path, part: DiskPart, write: bool) -> Result<Self, DiskFileError> {
        let fail = |error: io::Error| {
            let path = path.to_owned();
            match error.kind() {
                io::ErrorKind::NotFound => DiskFileError::Missing(path),
                io::ErrorKind::ResourceBusy => DiskFileError::InUse(path),
                _ => DiskFileError::Io { path, error },
            }
        };
        let file = File::open(path, Backend::File, write).map_err(fail)?;
        if is_image(&file).map_err(fail)? {
            let (path, name) = (path.to_owned(), part.name);
            return Err(DiskFileError::Image { path, name });
        }
        Self::on(path, Box::new(file), part)
    }

    /// The same on any medium.
    fn on(path: &Path, media: Box<dyn Media>, part: DiskPart) -> Result<Self, DiskFileError> {
        let (path, len) = (path.to_owned(), media.len());
        let capacity = part.drive.capacity();
        if len == 0 {
            return Err(DiskFileError::Empty(path));
        }
        if !len.is_multiple_of(SECTOR.0) {
            return Err(DiskFileError::Ragged { path, len });
        }
        if len > capacity.0 {
            let one = part.drive.disks()[0].capacity();
            let (len, name, stripe) = (units::Bytes(len), part.name, len.div_ceil(one.0));
            return Err(DiskFileError::Large { path, len, name, capacity, stripe });
        }
        Ok(Self { path, bytes: Bytes::new(media), part })
    }

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

/// What hosts asked.
struct Asked(Mutex<(Hosts, Instant)>, Instant);

impl Asked {
    fn lock(&self) -> MutexGuard<'_, (Hosts, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts requests that came together.
    fn come(&self, batch: &[Request]) {
        let now = Instant::now();
        let mut asked = self.lock();
        let after = now.saturating_duration_since(std::mem::replace(&mut asked.1, now));
        let mut after = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        for request in batch {
            asked.0.come(request, std::mem::take(&mut after));
        }
    }

    /// Answers a request, and counts that.
    fn answer(&self, moved: Moved) {
        let mut asked = self.lock();
        asked.0.in_flight -= 1;
        asked.0.failed += u64::from(moved.result.is_err());
        drop(asked);
        moved.answer();
    }
}

impl Hosts {
    fn come(&mut self, request: &Request, after_ns: u64) {
        self.arrivals_ns.add(after_ns);
        self.in_flight += 1;
        self.queue_depth.add(self.in_flight as u64);
        let bytes = request.data().len() as u64;
        match request.op() {
            Op::Read { .. } => {
                (self.reads, self.host_bytes_read) = (self.reads + 1, self.host_bytes_read + bytes)
            }
            Op::Write { .. } => {
                (self.writes, self.host_bytes_written) =
                    (self.writes + 1, self.host_bytes_written + bytes)
            }
            Op::Flush => self.flushes += 1,
            Op::Trim { length, .. } => {
                (self.trims, self.host_bytes_trimmed) =
                    (self.trims + 1, self.host_bytes_trimmed + length)
            }
            Op::WriteZeroes { .. } => self.zeroes += 1,
            Op::Cache { .. } | Op::Status { .. } => {}
        }
    }
}

impl Spinning {
    fn start(file: DiskFile, pace: Pace) -> Result<Self, BlockError> {
        let DiskFile { path, bytes, part: DiskPart { drive, name, power } } = file;
        let disks = (drive.disks().len(), drive.capacity());
        let now = Instant::now();
        let hosts = Arc::new(Asked(Mutex::new((Hosts::default(), now)), now));
        let bytes = Arc::new(bytes);
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
            uptime_s: self.hosts.1.elapsed().as_secs_f64(),
            read_only: self.bytes.broken().map(str::to_owned),
            hosts: self.hosts.lock().0.clone(),
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
