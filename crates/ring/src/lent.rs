//! Many reads of one file, into buffers of the caller's.
#![allow(unsafe_code)]

use crate::is_passing;
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};

const DEPTH: u32 = 128;

/// One of many reads.
#[derive(Debug)]
pub struct Job<'a> {
    /// From where.
    pub at: u64,
    /// To where, all of it.
    pub into: &'a mut [u8],
    /// How it ended.
    pub result: Result<()>,
}

/// A queue of reads, where the kernel has them.
pub struct Reads(Mutex<IoUring>);

impl Reads {
    /// None where the kernel has no io_uring, or does not let us.
    #[must_use]
    pub fn new() -> Option<Self> {
        IoUring::new(DEPTH).ok().map(|ring| Self(Mutex::new(ring)))
    }

    /// Does all reads; each has its own result.
    pub fn read(&self, file: &File, jobs: &mut [&mut Job<'_>]) {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for jobs in jobs.chunks_mut(DEPTH as usize) {
            Self::read_some(&mut ring, file, jobs);
        }
    }

    fn read_some(ring: &mut IoUring, file: &File, jobs: &mut [&mut Job<'_>]) {
        let fd = types::Fd(file.as_raw_fd());
        for (at, job) in (0..).zip(jobs.iter_mut()) {
            let Ok(len) = u32::try_from(job.into.len()) else {
                job.result = Err(ErrorKind::InvalidInput.into());
                continue;
            };
            let entry = opcode::Read::new(fd, job.into.as_mut_ptr(), len)
                .offset(job.at)
                .build()
                .user_data(at);
            // SAFETY: the buffer is lent to this call, which does not end before the kernel has said
            // that the read has; there are no more jobs than entries, and all earlier ones are over.
            if unsafe { ring.submission().push(&entry) }.is_err() {
                job.result = Err(ErrorKind::OutOfMemory.into());
                continue;
            }
            job.result = Err(ErrorKind::WouldBlock.into());
        }
        let waits = |job: &Job<'_>| {
            job.result.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        let mut left = jobs.iter().filter(|job| waits(job)).count();
        while left > 0 {
            match ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => continue,
                // The kernel may still write to the buffers: there is no way to go on from here.
                Err(_) => std::process::abort(),
            }
            for entry in ring.completion() {
                left -= 1;
                let at = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
                if let Some(job) = jobs.get_mut(at) {
                    job.result = result(entry.result(), job.into.len());
                }
            }
        }
    }
}

/// A read of less than was asked for is no read: the file is as long as it says.
fn result(code: i32, len: usize) -> Result<()> {
    match usize::try_from(code) {
        Ok(read) if read == len => Ok(()),
        Ok(_) => Err(ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(Error::from_raw_os_error(-code)),
    }
}
