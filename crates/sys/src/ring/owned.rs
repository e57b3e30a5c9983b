//! Reads and writes of any files; the ring owns the buffer of each transfer until it completes.
#![allow(unsafe_code)]

use super::is_passing;
use io_uring::types::{CancelBuilder, Fd};
use io_uring::{IoUring, Probe, opcode, squeue};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The `user_data` of ring entries that are not transfers.
const OWN: u64 = u64::MAX;

/// Maximum bytes of a transfer; a longer transfer is truncated to this length. The kernel's own
/// limit is 2 GiB less a page.
const MOST: usize = 1 << 30;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read from the file into the buffer.
    Read,
    /// Write the buffer to the file.
    Write,
}

/// A transfer between a file and a part of a buffer.
#[derive(Debug)]
pub struct Transfer {
    /// Read or write.
    pub op: Op,
    /// The file; it stays open until the transfer has completed.
    pub file: Arc<File>,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The buffer; the ring owns it until the transfer has completed.
    pub buffer: Vec<u8>,
    /// The range of the buffer to transfer.
    pub part: Range<usize>,
    /// An identifier of the caller's choice, returned in [`Ended`].
    pub key: u64,
}

/// A completed transfer.
#[derive(Debug)]
pub struct Ended {
    /// The caller's identifier of the transfer.
    pub key: u64,
    /// The buffer of the transfer.
    pub buffer: Vec<u8>,
    /// The number of bytes transferred, or the error. The number is smaller than requested if the
    /// file ends, the device is full, or the kernel transfers less for another reason.
    pub result: Result<usize>,
}

/// The buffer and file of a transfer. They are kept from before the kernel receives the transfer
/// until it reports completion.
struct Slot {
    key: u64,
    buffer: Vec<u8>,
    file: Arc<File>,
}

/// An io_uring and the transfers in flight.
pub struct Ring {
    ring: IoUring,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
}

impl Ring {
    /// Creates a ring for at most `depth` transfers in flight.
    ///
    /// # Errors
    /// Returns an error if the kernel has no io_uring, does not support its read and write
    /// operations, or denies access to it.
    pub fn new(depth: u32) -> Result<Self> {
        let ring = IoUring::new(depth.max(1))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if ![opcode::Read::CODE, opcode::Write::CODE].iter().all(|&op| probe.is_supported(op)) {
            return Err(ErrorKind::Unsupported.into());
        }
        let slots: Vec<Option<Slot>> = (0..depth.max(1)).map(|_| None).collect();
        let free = (0..slots.len()).rev().collect();
        let mut new = Self { ring, slots, free };
        // Some systems permit creating a ring but deny using it; a no-op detects that.
        new.push(&opcode::Nop::new().build().user_data(OWN))?;
        new.ring.submit_and_wait(1)?;
        new.ring.completion().for_each(drop);
        Ok(new)
    }

    /// Number of transfers in flight.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether another transfer can be started.
    #[must_use]
    pub fn has_place(&self) -> bool {
        !self.free.is_empty()
    }

    /// Queues a transfer; [`submit`](Self::submit) or [`wait`](Self::wait) submits it.
    ///
    /// # Errors
    /// Returns the transfer if `depth` transfers are in flight or its part is not within its
    /// buffer.
    pub fn start(&mut self, mut transfer: Transfer) -> std::result::Result<(), Transfer> {
        let Transfer { op, offset, key, .. } = transfer;
        let fd = Fd(transfer.file.as_raw_fd());
        let Range { start, end } = transfer.part;
        let part = transfer.buffer.get_mut(start..end.min(start.saturating_add(MOST)));
        let Some(part) = part else { return Err(transfer) };
        let Some(at) = self.free.pop() else { return Err(transfer) };
        #[allow(clippy::cast_possible_truncation)] // it is at most `MOST`
        let (bytes, len) = (part.as_mut_ptr(), part.len() as u32);
        let entry = match op {
            Op::Read => opcode::Read::new(fd, bytes, len).offset(offset).build(),
            Op::Write => opcode::Write::new(fd, bytes.cast_const(), len).offset(offset).build(),
        };
        let Transfer { buffer, file, part, .. } = transfer;
        // Moving a vector does not move its memory.
        self.slots[at] = Some(Slot { key, buffer, file });
        if self.push(&entry.user_data(at as u64)).is_ok() {
            return Ok(());
        }
        // The submission queue was full: the kernel has not received the entry.
        self.free.push(at);
        let Some(Slot { buffer, file, .. }) = self.slots[at].take() else {
            unreachable!("it was put there")
        };
        Err(Transfer { op, file, offset, buffer, part, key })
    }

    /// Adds an entry to the submission queue. The entry either uses no memory, or uses that of a
    /// slot that was just filled.
    fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        // SAFETY: an entry for a slot refers to bytes of the slot's buffer and to the descriptor of
        // the slot's file. The slot keeps both unchanged until the kernel reports completion
        // (`reap`); if completions can no longer be received, the slots are leaked (`drop`), as
        // they are if the caller forgets the ring. Other entries refer to neither memory nor a
        // file.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|_| ErrorKind::ResourceBusy.into())
    }

    /// Submits the queued transfers, waits for a completion, and appends the completed transfers to
    /// `ended`. It may return without a completed transfer.
    ///
    /// # Errors
    /// Returns an error if the kernel no longer accepts calls; completions of the transfers in
    /// flight will then never be received.
    pub fn wait(&mut self, ended: &mut Vec<Ended>) -> Result<()> {
        match self.ring.submit_and_wait(1) {
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        self.reap(ended);
        Ok(())
    }

    /// Submits the queued transfers without waiting.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn submit(&mut self) -> Result<()> {
        loop {
            match self.ring.submit() {
                Ok(_) => return Ok(()),
                Err(error) if is_passing(&error) => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }

    /// A descriptor that is readable while completed transfers can be taken by
    /// [`reap`](Self::reap).
    ///
    /// # Errors
    /// Returns an error if the process has no descriptor left.
    pub fn descriptor(&self) -> Result<OwnedFd> {
        // SAFETY: the descriptor is that of `self.ring`, which is open during the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }.try_clone_to_owned()
    }

    /// Appends the completed transfers to `ended`, without waiting.
    pub fn reap(&mut self, ended: &mut Vec<Ended>) {
        for entry in self.ring.completion() {
            let at = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            let Some(slot) = self.slots.get_mut(at).and_then(Option::take) else { continue };
            self.free.push(at);
            let code = entry.result();
            let result = usize::try_from(code).map_err(|_| Error::from_raw_os_error(-code));
            ended.push(Ended { key: slot.key, buffer: slot.buffer, result });
        }
    }

    /// Requests cancellation of all transfers in flight; cancelled transfers complete with an
    /// error. Kernels before 5.19 cancel nothing.
    pub fn cancel(&mut self) {
        let all = opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(OWN);
        // If the queue is full, nothing is cancelled and the transfers complete by themselves.
        let _ = self.ring.submit();
        let _ = self.push(&all);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let mut ended = Vec::new();
        if self.under_way() > 0 {
            self.cancel();
        }
        while self.under_way() > 0 {
            if self.wait(&mut ended).is_err() {
                // The kernel may still use the buffers, so they are leaked.
                mem::forget(mem::take(&mut self.slots));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_testkit::watchdog;
    use rustix::event::{PollFd, PollFlags, poll};
    use std::io::Write;

    fn ring(depth: u32) -> Option<Ring> {
        let made = Ring::new(depth);
        made.inspect_err(|error| gordon_testkit::skipped(&format!("io_uring: {error}"))).ok()
    }

    /// Whether the kernel can cancel all transfers of a ring (5.19 or later); reports the test as
    /// skipped if not.
    fn cancels(test: &str) -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut parts = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let known = (parts.next(), parts.next()) >= (Some(5), Some(19));
        if !known {
            gordon_testkit::skipped(&format!("{test}: Linux {} cancels nothing", release.trim()));
        }
        known
    }

    fn all(ring: &mut Ring) -> Vec<Ended> {
        let mut ended = Vec::new();
        while ring.under_way() > 0 {
            ring.wait(&mut ended).expect("it answers");
        }
        ended.sort_by_key(|ended| ended.key);
        ended
    }

    fn transfer(op: Op, file: &Arc<File>, offset: u64, buffer: Vec<u8>, key: u64) -> Transfer {
        let part = 0..buffer.len();
        Transfer { op, file: file.clone(), offset, buffer, part, key }
    }

    #[test]
    fn written_data_is_read_in_parts_and_in_any_order() {
        let Some(mut ring) = ring(4) else { return };
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        for block in 0..4u8 {
            let buffer = vec![block; 5000];
            ring.start(transfer(Op::Write, &file, u64::from(block) * 5000, buffer, 9))
                .expect("a place");
        }
        assert!(!ring.has_place());
        let one_more = transfer(Op::Write, &file, 0, vec![1; 10], 1);
        assert_eq!(ring.start(one_more).expect_err("no place").buffer, vec![1; 10]);
        assert!(all(&mut ring).iter().all(|ended| matches!(ended.result, Ok(5000))));
        for key in 0..3u64 {
            let mut read = transfer(Op::Read, &file, 4990 + key * 5000, vec![7; 30], key);
            read.part = 5..25;
            ring.start(read).expect("a place");
        }
        for ended in all(&mut ring) {
            assert!(matches!(ended.result, Ok(20)), "{ended:?}");
            let key = u8::try_from(ended.key).expect("small");
            let expected = [vec![7; 5], vec![key; 10], vec![key + 1; 10], vec![7; 5]].concat();
            assert_eq!(ended.buffer, expected);
        }
    }

    #[test]
    fn completions_are_taken_when_the_descriptor_is_readable() {
        let Some(mut ring) = ring(4) else { return };
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&[3; 100]).expect("written");
        let file = Arc::new(file.reopen().expect("open"));
        let readable = ring.descriptor().expect("a descriptor");
        let mut ended = Vec::new();
        for key in 0..3 {
            ring.start(transfer(Op::Read, &file, key, vec![0; 10], key)).expect("a place");
            ring.submit().expect("it takes it");
            while ended.len() as u64 <= key {
                let mut polled = [PollFd::new(&readable, PollFlags::IN)];
                assert_eq!(poll(&mut polled, None), Ok(1));
                ring.reap(&mut ended);
            }
        }
        ring.reap(&mut ended);
        assert_eq!(ended.iter().map(|ended| ended.key).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(ended.iter().all(|ended| ended.buffer == [3; 10]));
    }

    #[test]
    fn short_reads_and_errors_are_reported() {
        let Some(mut ring) = ring(8) else { return };
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&[3; 100]).expect("written");
        let read_only = Arc::new(File::open(file.path()).expect("open"));
        ring.start(transfer(Op::Read, &read_only, 60, vec![0; 100], 0)).expect("a place");
        ring.start(transfer(Op::Read, &read_only, 100, vec![0; 100], 1)).expect("a place");
        ring.start(transfer(Op::Write, &read_only, 0, vec![0; 100], 2)).expect("a place");
        let mut outside = transfer(Op::Read, &read_only, 0, vec![0; 10], 3);
        outside.part = 5..11;
        assert!(ring.start(outside).is_err());
        let ended = all(&mut ring);
        let codes: Vec<_> = ended
            .iter()
            .map(|ended| ended.result.as_ref().map_err(|error| error.raw_os_error()).copied())
            .collect();
        assert_eq!(codes, [Ok(40), Ok(0), Err(Some(9))], "EBADF: it was opened to be read");
    }

    #[test]
    fn cancelled_transfers_return_their_buffers() {
        if !cancels("cancelled_transfers_return_their_buffers") {
            return;
        }
        let Some(mut ring) = ring(4) else { return };
        let _watchdog = watchdog("cancelled_transfers_return_their_buffers");
        let (read, write) = std::io::pipe().expect("a pipe");
        let read = Arc::new(File::from(OwnedFd::from(read)));
        ring.start(transfer(Op::Read, &read, 0, vec![5; 10], 1)).expect("a place");
        ring.cancel();
        let ended = all(&mut ring);
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0].buffer, vec![5; 10]);
        assert!(ended[0].result.is_err(), "{ended:?}");
        drop(write);
    }

    #[test]
    fn dropping_a_ring_releases_its_files() {
        if !cancels("dropping_a_ring_releases_its_files") {
            return;
        }
        let Some(mut ring) = ring(4) else { return };
        let _watchdog = watchdog("dropping_a_ring_releases_its_files");
        let (read, write) = std::io::pipe().expect("a pipe");
        let read = Arc::new(File::from(OwnedFd::from(read)));
        ring.start(transfer(Op::Read, &read, 0, vec![5; 1], 1)).expect("a place");
        drop(ring);
        assert_eq!(Arc::strong_count(&read), 1, "nothing is left of it");
        drop(write);
    }
}
