//! The bytes of a plain file, as clients ask for them.

use gordon_nbd::{AllocationExtent, Errno, MAX_EXTENTS, Op, Request, RequestError};
use gordon_store::{Media, SECTOR, SyncTracker};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Holes are made of whole ones of these.
const BLOCK: u64 = 4096;

/// A file.
pub(super) struct FileBytes {
    file: SyncTracker,
    errors: AtomicU64,
}

/// A request that was carried out.
pub(super) struct FinishedIo {
    pub request: Request,
    /// Extents are the answer to a status.
    pub result: Result<Vec<AllocationExtent>, RequestError>,
}

impl FinishedIo {
    /// Zeros that are no faster than other data.
    pub fn not_fast(request: Request) -> Self {
        let fault = RequestError { errno: Errno::NotSup, why: "zeros are written" };
        Self { request, result: Err(fault) }
    }

    /// Answers the client.
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
        // Who wrote to it before may not have synced: the first flush does.
        file.change(|_| Ok(())).expect("nothing was done");
        Self { file, errors: AtomicU64::new(0) }
    }

    pub fn len(&self) -> u64 {
        self.file.media().len()
    }

    /// Syncs of the file.
    pub fn syncs(&self) -> u64 {
        self.file.syncs_started()
    }

    /// Errors of the file.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Why it takes no writes, if so.
    pub fn broken(&self) -> Option<&'static str> {
        self.file.is_broken().then_some(BROKEN)
    }

    /// Makes durable what was written.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Does what a request asks for, and waits until that is done.
    pub fn carry_out(&self, mut request: Request) -> FinishedIo {
        if let Op::WriteZeroes { no_hole: true, fast: true, .. } = request.op() {
            return FinishedIo::not_fast(request);
        }
        let result = self.try_to(&mut request).map_err(|error| {
            self.errors.fetch_add(1, Ordering::Relaxed);
            fault(&error)
        });
        FinishedIo { request, result }
    }

    fn try_to(&self, request: &mut Request) -> io::Result<Vec<AllocationExtent>> {
        let op = request.op();
        let writes = !matches!(op, Op::Read { .. } | Op::Cache { .. } | Op::Status { .. });
        if writes && self.file.is_broken() {
            return Err(io::Error::other(BROKEN));
        }
        let durable = match op {
            Op::Read { offset } => {
                self.file.media().read(offset, request.data_mut())?;
                false
            }
            Op::Write { offset, fua } => {
                self.file.change(|media| media.write(offset, request.data()))?;
                fua
            }
            Op::Flush => true,
            // Zeros to the last byte: see `payload::to_command`.
            Op::Trim { offset, length, fua } => {
                self.file.change(|media| clear(media, offset, length, true))?;
                fua
            }
            Op::WriteZeroes { offset, length, fua, no_hole, .. } => {
                self.file.change(|media| clear(media, offset, length, !no_hole))?;
                fua
            }
            Op::Cache { .. } => false,
            Op::Status { offset, length, .. } => {
                return extents(self.file.media(), offset, length);
            }
        };
        if durable {
            self.file.sync()?;
        }
        Ok(Vec::new())
    }
}

/// Zeros, as holes where they may be and can be made.
fn clear(media: &dyn Media, offset: u64, length: u64, holes: bool) -> io::Result<()> {
    let end = offset + length;
    // The blocks that lie wholly inside.
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

/// Data and holes, in whole sectors: a sector with data in it is data.
fn extents(media: &dyn Media, offset: u64, length: u64) -> io::Result<Vec<AllocationExtent>> {
    let (mut at, end) = (offset, offset + length);
    let mut extents = Vec::new();
    while at < end && extents.len() < MAX_EXTENTS {
        let data = (media.next_data(at)? / SECTOR * SECTOR).clamp(at, end);
        let hole = data > at;
        let next = if hole { data } else { media.next_hole(at)?.next_multiple_of(SECTOR) };
        // A file that others change meanwhile may say anything.
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
