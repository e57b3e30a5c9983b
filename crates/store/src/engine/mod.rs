//! The translation layer with data.
//!
//! The engine carries out the layer's actions in order, with buffers and an image. The data of an
//! operation are transferred when the layer issues it. If the medium reads in parallel, small reads
//! wait and are transferred together in [`Engine::next_op`]. The driver decides when the completion
//! of an operation is reported to the layer: at once, in another order, or after the time that
//! simulated flash takes.
//!
//! Erases are deferred: the block is noted, and erased at the latest when the layer next programs
//! it or the image is shut down. By then a sync has recorded that none of its contents are needed
//! (see [`crate::block_table`]). One sync serves all erases since the previous sync.
//!
//! Erasing a block clears its out-of-band entries and its summary. Its data stay until they are
//! overwritten; in idle time their space is returned to the file system.

mod actions;
mod erases;
mod open;
mod request;
mod transfer;

pub use request::{Completion, Payload};

use crate::buffers::Buffers;
use crate::checksums::Checksums;
use crate::device::SECTOR;
use crate::error::IoError;
use crate::faults::FaultInjector;
use crate::format::table::{BlockRecord, ShutdownState};
use crate::image::Image;
use crate::image_scan;
use crate::mount::MountReport;
use crate::salvage::Unproven;
use crate::sync_tracker::{SyncTracker, Syncer};
use crate::telemetry::{Counters, Telemetry};
use erases::DeferredErases;
use gordon_blockio::Command;
use gordon_ftl::{Extent, Ftl, HostRequest, Input, RequestId};
use gordon_nand::{Buf, FlashOp, ProgramOrderChecker};
use gordon_units::{Lpn, Ppn};
use request::{OpenRequest, OpenRequests, RequestBytes};
use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// An operation whose data have been transferred. The driver reports its completion to the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferredOp {
    /// The operation.
    pub op: FlashOp,
    /// The operation belongs to garbage collection or wear levelling.
    pub copies: bool,
    /// The operation failed, so its block has gone bad.
    pub failed: bool,
}

/// The layer with its buffers and its image. Only one thread may use it at a time;
/// [`Store`](crate::Store) shares it among threads.
///
/// A driver [starts](Self::start) requests, takes operations from [`next_op`](Self::next_op),
/// passes each to [`done`](Self::done), in any order, and takes completed requests from
/// [`finished`](Self::finished).
pub struct Engine<P> {
    image: Image,
    ftl: Ftl,
    program_order: ProgramOrderChecker,
    fault_injector: FaultInjector,
    checksums: Checksums,
    buffers: Buffers,
    requests: OpenRequests<P>,
    /// Operations for the driver, in the order of issue. Those also in `reads` are not transferred
    /// yet.
    transferred_ops: VecDeque<TransferredOp>,
    /// Reads issued but not yet transferred, to be done in one batch.
    reads: Vec<(Ppn, Buf)>,
    /// Buffers whose data are unreadable, not yet reported to the layer.
    unreadable: Vec<Buf>,
    finished: Vec<Completion<P>>,
    /// Operations that failed with an error of the file under the image, to be retried.
    retry_queue: VecDeque<(FlashOp, bool)>,
    /// The error that caused the retries.
    failure: Option<IoError>,
    /// A sync has failed, and the image has been marked accordingly.
    marked_untrusted: bool,
    erases: DeferredErases,
    /// Contents of metadata pages, by their buffer.
    metadata_pages: Vec<(Buf, Vec<u8>)>,
    scratch: transfer::TransferScratch,
    counters: Counters,
    op_digest: u64,
    mounted: MountReport,
    /// The message of the failed assertion that has stopped the engine.
    stopped: Option<String>,
    /// During a repair: the unreadable units, which are replaced by zeros.
    zeroed: Option<BTreeSet<u32>>,
    /// During a salvage: the units that cannot be proved to be current.
    unproven: Option<Unproven>,
}

impl<P: Payload> Engine<P> {
    /// The units that were replaced by zeros.
    pub(crate) fn zeroed(&self) -> impl Iterator<Item = u32> {
        self.zeroed.iter().flatten().copied()
    }

    /// Runs work on the engine. An assertion that fails in it stops the engine permanently; the
    /// image is then as after a kill.
    fn guard<T: Default>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        if self.stopped.is_some() {
            return T::default();
        }
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => done,
            Err(panic) => {
                self.stop(message(&*panic));
                T::default()
            }
        }
    }

    /// Stops the engine and fails all requests in flight.
    #[cold]
    fn stop(&mut self, why: String) {
        self.stopped = Some(why);
        self.transferred_ops.clear();
        self.reads.clear();
        for (_, open) in self.requests.iter_mut() {
            open.fault = Some(IoError::Stopped);
            let gone = RequestBytes::Detached(Vec::new());
            if let RequestBytes::Owned(payload) = std::mem::replace(&mut open.bytes, gone) {
                let (command, result) = (open.command, Err(IoError::Stopped));
                self.finished.push(Completion { command, payload, result, needs_sync: false });
            }
        }
    }

    /// The message of the failed assertion that has stopped the engine, if any.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Accepts a request and processes it as far as possible without waiting for an operation.
    ///
    /// Offsets and lengths must be multiples of [`SECTOR`] and lie inside the device. A trim
    /// discards the logical pages that lie wholly in its range, which then read as zeros; zeroes
    /// trim them too. Later writes cannot run out of flash space, as everywhere on the device, so
    /// that `no_hole` needs no attention.
    pub fn start(&mut self, command: Command, payload: P) {
        if self.stopped.is_some() {
            let result = Err(IoError::Stopped);
            return self.finished.push(Completion { command, payload, result, needs_sync: false });
        }
        self.guard(|engine| engine.accept(command, payload));
    }

    fn accept(&mut self, command: Command, payload: P) {
        self.counters.queue_depth.add(self.requests.len() as u64 + 1);
        let length = payload.bytes().len() as u64;
        let (offset, length) = match command {
            Command::Read { offset } | Command::Write { offset, .. } => (offset, length),
            Command::Trim { offset, length, .. } | Command::WriteZeroes { offset, length, .. } => {
                (offset, length)
            }
            Command::Flush => (0, SECTOR),
        };
        let end = offset.checked_add(length);
        let inside = end.is_some_and(|end| end <= self.image.device().capacity.0);
        let whole = offset.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR);
        let fault = match command {
            _ if !inside || !whole || length == 0 => Some(IoError::Invalid),
            Command::Read { .. } => {
                let unproven = self.unproven.as_ref();
                let hit = unproven.is_some_and(|unproven| unproven.overlaps(offset, length));
                hit.then_some(IoError::Unreadable)
            }
            _ if self.unproven.is_some() => Some(IoError::Salvaging),
            _ => self.retry(),
        };
        if fault != Some(IoError::Invalid) {
            self.count(command, length);
        }
        let first = offset / SECTOR;
        let id = self.requests.add(OpenRequest::new(command, payload, first, fault));
        if fault.is_some() {
            return self.end_request(id);
        }
        self.submit_to_ftl(id, command, first, length / SECTOR);
    }

    fn count(&mut self, command: Command, length: u64) {
        let counters = &mut self.counters;
        match command {
            Command::Read { .. } => {
                counters.reads += 1;
                counters.host_bytes_read += length;
            }
            Command::Write { .. } => {
                counters.writes += 1;
                counters.host_bytes_written += length;
            }
            Command::Flush => counters.flushes += 1,
            Command::Trim { .. } => {
                counters.trims += 1;
                counters.host_bytes_trimmed += length;
            }
            Command::WriteZeroes { .. } => {
                counters.zeroes += 1;
                counters.host_bytes_trimmed += length;
            }
        }
    }

    /// Submits a request to the layer.
    fn submit_to_ftl(&mut self, id: RequestId, command: Command, first: u64, sectors: u64) {
        let per_page = self.ftl.config().sectors_per_page;
        let extent = Extent { request: id, first, sectors };
        match command {
            Command::Read { .. } => {
                self.requests.get(id).left = extent.count(per_page);
                self.handle(HostRequest::Read(extent));
            }
            Command::Write { .. } => {
                self.requests.get(id).left = extent.count(per_page) + 1;
                self.write(extent);
                self.answered(id, false);
                self.carry_out_actions();
            }
            Command::Flush => {
                self.requests.get(id).left = 1;
                self.handle(HostRequest::Flush(id));
            }
            Command::Trim { .. } => self.clear(extent, false),
            Command::WriteZeroes { .. } => self.clear(extent, true),
        }
    }

    /// Trims the whole pages of a range. With `zero`, the partial pages at its ends are zeroed,
    /// else they are left as they are.
    fn clear(&mut self, extent: Extent, zero: bool) {
        let Extent { request: id, first, sectors } = extent;
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let end = first + sectors;
        // The last page may extend beyond the end of the device.
        let last = if end == self.sectors() { end.next_multiple_of(per_page) } else { end };
        let (from, to) = (first.div_ceil(per_page), last / per_page);
        let trims = to.saturating_sub(from);
        let head = (first, end.min(from * per_page));
        let tail = (head.1.max(to * per_page).min(end), end);
        let part = |(from, to): (u64, u64)| {
            (zero && to > from).then_some(Extent { request: id, first: from, sectors: to - from })
        };
        let parts = [part(head), part(tail)];
        let pages = self.ftl.config().sectors_per_page;
        let pieces: u64 = parts.iter().flatten().map(|extent| extent.count(pages)).sum();
        self.requests.get(id).left = trims + pieces + 1;
        parts.into_iter().flatten().for_each(|extent| self.write(extent));
        for lpn in from..to {
            let lpn = Lpn(u32::try_from(lpn).expect("a page of the device"));
            self.handle(HostRequest::Trim(id, lpn));
        }
        self.answered(id, false);
        self.carry_out_actions();
    }

    /// Submits a write to the layer, and notes which of its sub-requests have not been copied to a
    /// buffer yet. The request must expect one acknowledgement more than it has sub-requests, so
    /// that it cannot complete before this function returns.
    fn write(&mut self, extent: Extent) {
        let Extent { request: id, first, sectors } = extent;
        let per_page = u64::from(self.ftl.config().sectors_per_page);
        let page = |sector: u64| u32::try_from(sector / per_page).expect("a page of the device");
        let (start, end) = (page(first), page(first + sectors - 1) + 1);
        self.requests.get(id).next = start;
        self.handle(HostRequest::Write(extent));
        let open = self.requests.get(id);
        open.deferred_pages.extend(open.next..end);
        open.next = end;
    }

    /// Submits a host request to the layer and carries out the resulting actions.
    fn handle(&mut self, host: HostRequest) {
        self.ftl.handle(Input::Host(host));
        self.carry_out_actions();
    }

    /// The next operation whose data have been transferred, in the order of issue.
    #[inline]
    pub fn next_op(&mut self) -> Option<TransferredOp> {
        if !self.reads.is_empty() {
            self.guard(Self::read_together);
        }
        self.transferred_ops.pop_front()
    }

    /// Reports the completion of an operation to the layer.
    pub fn done(&mut self, moved: TransferredOp) {
        self.guard(|engine| engine.end_operation(moved));
    }

    fn end_operation(&mut self, moved: TransferredOp) {
        let TransferredOp { op, failed, .. } = moved;
        if let FlashOp::Read { buf, .. } = op
            && !self.unreadable.is_empty()
        {
            self.report_unreadable(buf);
        }
        self.ftl.handle(if failed { Input::Failed(op) } else { Input::Done(op) });
        self.carry_out_actions();
    }

    /// Completes operations in order until none is left and no request waits. (Requests may wait
    /// for the write buffer to be written out, such as a trim after a write.)
    pub fn run(&mut self) {
        loop {
            while let Some(moved) = self.next_op() {
                self.done(moved);
            }
            if !self.kick() {
                return;
            }
        }
    }

    /// Handles requests that wait although no operation is in flight. If they wait for the write
    /// buffer, it is written out; if the file under the image accepts no writes, they fail. Returns
    /// true if there are operations now.
    pub fn kick(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        if self.failure.is_some() {
            self.fail_waiting();
            return false;
        }
        self.requests.len() > 0 && !self.ftl.is_worn_out() && self.idle()
    }

    /// Does background work: garbage collection, and writing out the write buffer. Returns true if
    /// there was any.
    pub fn idle(&mut self) -> bool {
        self.guard(|engine| {
            if engine.unproven.is_some() || engine.retry().is_some() {
                return false;
            }
            engine.ftl.handle(Input::Idle);
            engine.carry_out_actions();
            !engine.transferred_ops.is_empty()
        })
    }

    /// As [`idle`](Self::idle), for when no client waits; also returns the space of erased blocks
    /// to the file system.
    pub fn background_work(&mut self) -> bool {
        self.idle() || self.punch_hole()
    }

    /// Moves the requests completed since the last call to the end of `into`.
    pub fn finished(&mut self, into: &mut Vec<Completion<P>>) {
        into.append(&mut self.finished);
    }

    /// Calls `each` with the length of each part of a range and whether the part holds data, in
    /// order, until `each` returns false. Adjacent parts differ. The range must be whole sectors
    /// inside the device.
    pub fn extents(&self, offset: u64, length: u64, mut each: impl FnMut(u64, bool) -> bool) {
        let unit = self.image.offsets.unit;
        let (mut at, end) = (offset, offset + length);
        let is_data =
            |at: u64| u32::try_from(at / unit).is_ok_and(|lpn| self.ftl.is_mapped(Lpn(lpn)));
        let unproven = self.unproven.as_ref();
        let is_data = |at| is_data(at) || unproven.is_some_and(|unproven| unproven.overlaps(at, 1));
        while at < end {
            let (start, data) = (at, is_data(at));
            while at < end && is_data(at) == data {
                at = (at - at % unit + unit).min(end);
            }
            if !each(at - start, data) {
                return;
            }
        }
    }

    /// The current state and counters.
    #[must_use]
    pub fn telemetry(&self) -> Telemetry {
        let mut counters = self.counters.clone();
        counters.syncs = self.sync_tracker().syncs_started();
        Telemetry {
            counters,
            ftl: *self.ftl.stats(),
            free_blocks: self.ftl.free_blocks(),
            good_blocks: self.ftl.good_blocks(),
            worn_out: self.ftl.is_worn_out(),
            in_flight: self.requests.len(),
        }
    }

    /// The translation layer, read-only.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The report of the mount.
    pub fn mounted(&self) -> &MountReport {
        &self.mounted
    }

    /// Whether a damaged image is being [salvaged](Self::salvage).
    pub fn is_salvaging(&self) -> bool {
        self.unproven.is_some()
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// A digest of all operations issued so far, in order; see [`op_digest`](crate::op_digest).
    pub fn op_digest(&self) -> u64 {
        self.op_digest
    }

    /// Number of sectors of the device.
    pub fn sectors(&self) -> u64 {
        self.image.device().capacity.0 / SECTOR
    }

    /// Why writes currently fail, if they do.
    pub fn failure(&self) -> Option<IoError> {
        match () {
            () if self.stopped.is_some() => Some(IoError::Stopped),
            () if self.unproven.is_some() => Some(IoError::Salvaging),
            () if self.ftl.is_worn_out() => Some(IoError::WornOut),
            () => self.failure,
        }
    }

    /// A handle to make written data durable.
    pub fn syncer(&self) -> Syncer {
        Syncer(self.image.sync_tracker.clone())
    }

    fn sync_tracker(&self) -> &Arc<SyncTracker> {
        &self.image.sync_tracker
    }

    /// If a sync is due for deferred erases: the number of changes that it must make durable. Each
    /// due sync is returned only once.
    pub(crate) fn take_due_sync(&mut self) -> Option<u64> {
        self.erases.take_sync_due().then(|| self.sync_tracker().write_seq())
    }

    /// Records the time since the previous request in the statistics; `together` requests arrived
    /// at once.
    pub fn record_arrival(&mut self, after_ns: u64, together: usize) {
        self.counters.arrivals_ns.add(after_ns);
        self.counters.arrivals_ns.add_zeros(together.saturating_sub(1) as u64);
    }
}

impl<P: Payload + Default> Engine<P> {
    /// Writes everything out and shuts the image down in order. The driver must hold no operations.
    pub fn close(&mut self) -> Result<(), IoError> {
        if self.unproven.is_some() {
            return Ok(());
        }
        let mut ended = Vec::new();
        self.start(Command::Flush, P::default());
        self.run();
        self.finished(&mut ended);
        let flush = ended.iter().rev().find(|ended| ended.command == Command::Flush);
        match flush.map(|ended| ended.result) {
            // A worn-out device is left as after a kill, but the blocks that have gone bad are
            // recorded.
            Some(Err(IoError::WornOut)) => {
                self.sync_tracker().sync().map_err(|error| IoError::of(&error))
            }
            Some(Err(fault)) => Err(fault),
            _ => {
                let left = self.guard(|engine| Some(engine.write_shutdown_records()));
                left.unwrap_or_else(|| Err(io::Error::other("stopped")))
                    .map_err(|error| IoError::of(&error))
            }
        }
    }

    /// Writes the records of an orderly shutdown, when all requests are done and the last was a
    /// flush.
    fn write_shutdown_records(&mut self) -> io::Result<()> {
        while self.ftl.is_busy() && self.idle() {
            self.run();
        }
        self.erase_deferred(self.sync_tracker().write_seq())?;
        while self.punch_hole() {}
        if self.ftl.is_busy() || !self.retry_queue.is_empty() {
            return self.sync_tracker().sync();
        }
        let records = self.image.records().into_iter();
        let mut records: Vec<_> =
            records.map(|r| BlockRecord { shutdown_state: ShutdownState::Plain, ..r }).collect();
        let state = self.ftl.clean_shutdown_state();
        for (rank, (block, copies)) in (1..).zip(state.open) {
            records[block.index()].shutdown_state = ShutdownState::Open { rank, copies };
        }
        for block in state.suspects {
            records[block.index()].shutdown_state = ShutdownState::Suspect;
        }
        let digests = image_scan::digests(&self.ftl);
        self.image.end_shutdown(records, &digests)
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
