//! Batches of reads of one file into buffers that the caller lends.
#![allow(unsafe_code)]

use super::is_passing;
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

const DEPTH: u32 = 128;

/// One read of a batch.
#[derive(Debug)]
pub struct Job<'a> {
    /// Offset in the file, in bytes.
    pub at: u64,
    /// The buffer; a successful read fills all of it.
    pub into: &'a mut [u8],
    /// The result of the read.
    pub result: Result<()>,
}

/// An io_uring for batches of reads.
pub struct Reads(Mutex<IoUring>);

impl Reads {
    /// Returns `None` if the kernel has no io_uring or denies access to it.
    #[must_use]
    pub fn new() -> Option<Self> {
        IoUring::new(DEPTH).ok().map(|ring| Self(Mutex::new(ring)))
    }

    /// Performs all reads; each job receives its own result.
    pub fn read(&self, file: &File, jobs: &mut [&mut Job<'_>]) {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for jobs in jobs.chunks_mut(DEPTH as usize) {
            Self::read_some(&mut ring, file, jobs);
        }
    }

    fn read_some(ring: &mut IoUring, file: &File, jobs: &mut [&mut Job<'_>]) {
        let fd = types::Fd(file.as_raw_fd());
        let guard = AbortOnUnwind;
        for (at, job) in (0..).zip(jobs.iter_mut()) {
            let Ok(len) = u32::try_from(job.into.len()) else {
                job.result = Err(ErrorKind::InvalidInput.into());
                continue;
            };
            let entry = opcode::Read::new(fd, job.into.as_mut_ptr(), len)
                .offset(job.at)
                .build()
                .user_data(at);
            // SAFETY: the kernel may write to the buffer until it has reported the completion of
            // this read. The buffer is lent to this call, which does not return before that, and
            // `guard` aborts the process if a panic would unwind out of the call earlier. There are
            // at most as many jobs as entries of the queue, and all earlier reads have completed.
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
                // The kernel may still write to the lent buffers, so this call must not return.
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
        mem::forget(guard);
        for job in jobs.iter_mut().filter(|job| is_canceled(job)) {
            job.result = file.read_exact_at(job.into, job.at);
        }
    }
}

/// Aborts the process when it is dropped. It is forgotten when the kernel has completed all reads,
/// so only a panic between the first read and the last completion drops it.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Whether the kernel has cancelled a read. Nobody cancels reads here, but a file system that
/// cannot start a read at once hands it to a kernel thread, which counts towards this process's
/// limits and may be refused.
fn is_canceled(job: &Job<'_>) -> bool {
    let canceled = Some(rustix::io::Errno::CANCELED.raw_os_error());
    job.result.as_ref().is_err_and(|error| error.raw_os_error() == canceled)
}

/// Reports a short read as an error: callers only read within the file.
fn result(code: i32, len: usize) -> Result<()> {
    match usize::try_from(code) {
        Ok(read) if read == len => Ok(()),
        Ok(_) => Err(ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(Error::from_raw_os_error(-code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    #[test]
    fn reads_fill_their_buffers_and_the_end_of_the_file_is_an_error() {
        let Some(reads) = Reads::new() else {
            return gordon_testkit::skipped("reads_fill_their_buffers: io_uring is not available");
        };
        let file = tempfile::NamedTempFile::new().expect("a file");
        let content: Vec<u8> = (0..300 * 100u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(file.path(), &content).expect("written");
        let mut buffers = vec![[0; 100]; 301];
        let mut jobs: Vec<_> = (0u64..)
            .zip(&mut buffers)
            .map(|(at, into)| Job { at: at * 100, into, result: Ok(()) })
            .collect();
        reads.read(file.as_file(), &mut jobs.iter_mut().collect::<Vec<_>>());
        let last = jobs.pop().expect("the one past the end");
        let error = last.result.expect_err("there is nothing");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(jobs.iter().all(|job| job.result.is_ok()));
        assert_eq!(buffers[..300].concat(), content);
    }

    /// The process that `a_panic_while_the_kernel_has_buffers_ends_the_process` starts.
    #[test]
    fn panicking_child() {
        if env::var_os("GORDON_RING_CHILD").is_some() {
            let _guard = AbortOnUnwind;
            panic!("as in a read");
        }
    }

    #[test]
    fn a_panic_while_the_kernel_has_buffers_ends_the_process() {
        let this = env::current_exe().expect("a path");
        let ended = Command::new(this)
            .args(["--exact", "ring::lent::tests::panicking_child"])
            .env("GORDON_RING_CHILD", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("it runs");
        assert_eq!(ended.signal(), Some(6), "SIGABRT, not a failed test");
    }
}
