//! Reads and writes of any files, each with a buffer that belongs to the ring until it is done.
#![allow(unsafe_code)]

use super::is_passing;
use io_uring::types::{CancelBuilder, Fd};
use io_uring::{IoUring, Probe, opcode, squeue};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Marks what is no transfer.
const OWN: u64 = u64::MAX;

/// Bytes of a transfer at most; of a longer one this is its start. The kernel's own bound is a page
/// below twice that.
const MOST: usize = 1 << 30;

/// What is done with a part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It is filled from a file.
    Read,
    /// It goes to a file.
    Write,
}

/// What is to be moved.
#[derive(Debug)]
pub struct Transfer {
    /// Which way.
    pub op: Op,
    /// It stays open until the transfer has ended.
    pub file: Arc<File>,
    /// Where in the file.
    pub offset: u64,
    /// Where in memory.
    pub buffer: Vec<u8>,
    /// Which part of the buffer.
    pub part: Range<usize>,
    /// The caller's own mark.
    pub key: u64,
}

/// A transfer that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The caller's own mark.
    pub key: u64,
    /// It comes back.
    pub buffer: Vec<u8>,
    /// How many bytes were moved: fewer than asked for where a file ends, a device is full, or the
    /// kernel sees fit.
    pub result: Result<usize>,
}

/// What the kernel uses, from before it is told of it until it has said that it is through.
struct Slot {
    key: u64,
    buffer: Vec<u8>,
    file: Arc<File>,
}

/// Transfers under way.
pub struct Ring {
    ring: IoUring,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
}

impl Ring {
    /// For so many transfers at a time.
    ///
    /// # Errors
    /// Where the kernel has no io_uring, or one without reads and writes, or does not let us.
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
        // Some let us make a ring and then not use it.
        new.push(&opcode::Nop::new().build().user_data(OWN))?;
        new.ring.submit_and_wait(1)?;
        new.ring.completion().for_each(drop);
        Ok(new)
    }

    /// How many transfers are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is a place for another.
    #[must_use]
    pub fn has_place(&self) -> bool {
        !self.free.is_empty()
    }

    /// Prepares a transfer; [`wait`](Self::wait) begins it.
    ///
    /// # Errors
    /// The transfer, where there is no place for it or its part is not within its buffer.
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
        // A vector's memory stays where it is when the vector moves.
        self.slots[at] = Some(Slot { key, buffer, file });
        if self.push(&entry.user_data(at as u64)).is_ok() {
            return Ok(());
        }
        // The kernel has not heard of it.
        self.free.push(at);
        let Some(Slot { buffer, file, .. }) = self.slots[at].take() else {
            unreachable!("it was put there")
        };
        Err(Transfer { op, file, offset, buffer, part, key })
    }

    /// The one way to the kernel: either an entry of no memory, or one of a slot that was just
    /// filled.
    fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        // SAFETY: an entry of a slot names bytes within the slot's buffer and a descriptor of the
        // slot's file. Both stay there, untouched, until the kernel has said that the transfer
        // ended (`reap`); where it cannot be heard, they are never freed (`drop`). Whoever forgets
        // the ring leaks them too. Other entries name neither.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|_| ErrorKind::ResourceBusy.into())
    }

    /// Begins what was prepared, waits until something ends, and adds it to `ended`; sometimes
    /// there is nothing.
    ///
    /// # Errors
    /// Where the kernel does not answer any more: what is under way will never be heard of.
    pub fn wait(&mut self, ended: &mut Vec<Ended>) -> Result<()> {
        match self.ring.submit_and_wait(1) {
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        self.reap(ended);
        Ok(())
    }

    fn reap(&mut self, ended: &mut Vec<Ended>) {
        for entry in self.ring.completion() {
            let at = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            let Some(slot) = self.slots.get_mut(at).and_then(Option::take) else { continue };
            self.free.push(at);
            let code = entry.result();
            let result = usize::try_from(code).map_err(|_| Error::from_raw_os_error(-code));
            ended.push(Ended { key: slot.key, buffer: slot.buffer, result });
        }
    }

    /// Asks the kernel to leave off whatever it can of all that is under way, which ends with an
    /// error then. Kernels before 5.19 leave off nothing.
    pub fn cancel(&mut self) {
        let all = opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(OWN);
        // Where there is no place for it, they end by themselves.
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
                // The kernel may still use them: they are never freed.
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
    use std::io::Write;
    use std::os::fd::OwnedFd;

    fn ring(depth: u32) -> Option<Ring> {
        let made = Ring::new(depth);
        made.inspect_err(|error| gordon_testkit::skipped(&format!("io_uring: {error}"))).ok()
    }

    /// Whether the kernel can cancel all transfers of a ring, as it does from 5.19 on; where not,
    /// the test is skipped.
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
    fn what_is_written_is_read_in_parts_and_in_any_order() {
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
    fn the_end_of_a_file_and_errors_are_told() {
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
    fn what_never_ends_is_left_off_and_buffers_come_back() {
        if !cancels("what_never_ends_is_left_off_and_buffers_come_back") {
            return;
        }
        let Some(mut ring) = ring(4) else { return };
        let _watchdog = watchdog("what_never_ends_is_left_off_and_buffers_come_back");
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
    fn a_ring_that_goes_gives_all_back() {
        if !cancels("a_ring_that_goes_gives_all_back") {
            return;
        }
        let Some(mut ring) = ring(4) else { return };
        let _watchdog = watchdog("a_ring_that_goes_gives_all_back");
        let (read, write) = std::io::pipe().expect("a pipe");
        let read = Arc::new(File::from(OwnedFd::from(read)));
        ring.start(transfer(Op::Read, &read, 0, vec![5; 1], 1)).expect("a place");
        drop(ring);
        assert_eq!(Arc::strong_count(&read), 1, "nothing is left of it");
        drop(write);
    }
}
