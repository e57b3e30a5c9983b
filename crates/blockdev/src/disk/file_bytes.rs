//! Requests of clients carried out on a plain file.

use gordon_blockio::Command;
use gordon_nbd::{AllocationExtent, Errno, MAX_EXTENTS, Op, Request, RequestError};
use gordon_store::{Media, SECTOR, SyncTracker};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Holes consist of whole blocks of this size.
const BLOCK: u64 = 4096;

/// The file that holds the data of an export.
pub(super) struct FileBytes {
    file: SyncTracker,
    errors: AtomicU64,
}

/// A request that has been carried out and not yet answered.
pub(super) struct FinishedIo {
    pub request: Request,
    /// The extents are for a status request, and empty otherwise.
    pub result: Result<Vec<AllocationExtent>, RequestError>,
}

impl FinishedIo {
    /// Refuses a fast zeroing, because zeroes take as long as other data.
    pub fn not_fast(request: Request) -> Self {
        let fault = RequestError { errno: Errno::NotSup, why: "zeros are written" };
        Self { request, result: Err(fault) }
    }

    /// Completes the request.
    pub fn answer(self) {
        match self.result {
            Ok(extents) if matches!(self.request.op(), Op::Status { .. }) => {
                self.request.done_with(extents);
            }
            Ok(_) => self.request.done(),
            Err(RequestError { errno, why }) => self.request.fail(errno, why),
        }
    }
}

const BROKEN: &str = "a sync of the file failed: nothing more is promised";

impl FileBytes {
    pub fn new(media: Box<dyn Media>) -> Self {
        let file = SyncTracker::new(media);
        // The file may have unsynced data of an earlier writer. Count that as a change, so that the
        // first flush syncs it.
        file.change(|_| Ok(())).expect("the change does nothing");
        Self { file, errors: AtomicU64::new(0) }
    }

    pub fn len(&self) -> u64 {
        self.file.media().len()
    }

    /// Number of syncs of the file.
    pub fn syncs(&self) -> u64 {
        self.file.syncs_started()
    }

    /// Number of failed reads, writes and syncs of the file.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// The reason why it takes no writes, if any.
    pub fn broken(&self) -> Option<&'static str> {
        self.file.is_broken().then_some(BROKEN)
    }

    /// Syncs the file if something was written since the last sync.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Carries out a request, and waits for the file.
    pub fn carry_out(&self, mut request: Request) -> FinishedIo {
        if let Op::Command(Command::WriteZeroes { no_hole: true, fast: true, .. }) = request.op() {
            return FinishedIo::not_fast(request);
        }
        let result = self.try_to(&mut request).map_err(|error| {
            self.errors.fetch_add(1, Ordering::Relaxed);
            fault(&error)
        });
        FinishedIo { request, result }
    }

    fn try_to(&self, request: &mut Request) -> io::Result<Vec<AllocationExtent>> {
        let command = match request.op() {
            Op::Command(command) => command,
            Op::Cache { .. } => return Ok(Vec::new()),
            Op::Status { offset, length, .. } => {
                return extents(self.file.media(), offset, length);
            }
        };
        if !matches!(command, Command::Read { .. }) && self.file.is_broken() {
            return Err(io::Error::other(BROKEN));
        }
        let durable = match command {
            Command::Read { offset } => {
                self.file.media().read(offset, request.data_mut())?;
                false
            }
            Command::Write { offset, fua } => {
                self.file.change(|media| media.write(offset, request.data()))?;
                fua
            }
            Command::Flush => true,
            // Clients may rely on zeroes to the last byte: see `payload::to_command`.
            Command::Trim { offset, length, fua } => {
                self.file.change(|media| clear(media, offset, length, true))?;
                fua
            }
            Command::WriteZeroes { offset, length, fua, no_hole, .. } => {
                self.file.change(|media| clear(media, offset, length, !no_hole))?;
                fua
            }
        };
        if durable {
            self.file.sync()?;
        }
        Ok(Vec::new())
    }
}

/// Zeroes the range. With `holes`, whole blocks become holes.
fn clear(media: &dyn Media, offset: u64, length: u64, holes: bool) -> io::Result<()> {
    let end = offset + length;
    // The whole blocks inside the range.
    let (from, to) = (offset.next_multiple_of(BLOCK), end / BLOCK * BLOCK);
    if !holes || to <= from {
        return zeros(media, offset, end);
    }
    media.erase(from, to - from)?;
    zeros(media, offset, from)?;
    zeros(media, to, end)
}

fn zeros(media: &dyn Media, mut at: u64, end: u64) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    while at < end {
        let now = ZEROS.len().min(usize::try_from(end - at).unwrap_or(ZEROS.len()));
        media.write(at, &ZEROS[..now])?;
        at += now as u64;
    }
    Ok(())
}

/// The data and the holes of the range in whole sectors. A sector with some data counts as data.
fn extents(media: &dyn Media, offset: u64, length: u64) -> io::Result<Vec<AllocationExtent>> {
    let (mut at, end) = (offset, offset + length);
    let mut extents = Vec::new();
    while at < end && extents.len() < MAX_EXTENTS {
        let data = (media.next_data(at)? / SECTOR * SECTOR).clamp(at, end);
        let hole = data > at;
        let next = if hole { data } else { media.next_hole(at)?.next_multiple_of(SECTOR) };
        // Another process may change the file between the calls, so any result must be valid.
        let next = next.clamp(at + SECTOR, end);
        extents.push(AllocationExtent { length: next - at, hole, zero: hole });
        at = next;
    }
    Ok(extents)
}

fn fault(error: &io::Error) -> RequestError {
    let (errno, why) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (Errno::NoSpc, "no space left in the file system under the file")
        }
        _ => (Errno::Io, "the file failed"),
    };
    RequestError { errno, why }
}
