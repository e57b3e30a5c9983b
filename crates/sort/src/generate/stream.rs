//! Blocks to a pipe or a terminal, one after the other, whoever makes them.

use crate::{Progress, SortError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often one that waits for a pipe's other end looks whether it is to stop: 50 ms.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Bytes that a pipe takes at once where it takes any (pipe(7), `PIPE_BUF`): a write of more would
/// wait where nothing can stop it.
const PIECE: usize = 4096;

/// Whose turn it is.
#[derive(Default)]
struct Turn {
    block: u64,
    broken: bool,
}

/// What takes bytes in order only.
pub struct SequentialOutput<'a> {
    path: PathBuf,
    to: OwnedFd,
    turn: Mutex<Turn>,
    changed: Condvar,
    progress: &'a Progress,
}

impl<'a> SequentialOutput<'a> {
    pub fn stdout(progress: &'a Progress) -> Result<Self, SortError> {
        let path = Path::new("stdout");
        let to = io::stdout().as_fd().try_clone_to_owned();
        let to = to.map_err(|error| SortError::system(path, "open it", error))?;
        Ok(Self::of(path, to, progress))
    }

    /// A pipe is waited for until something reads it.
    pub fn open(path: &Path, progress: &'a Progress) -> Result<Self, SortError> {
        loop {
            let mut options = OpenOptions::new();
            #[allow(clippy::cast_possible_wrap)] // flags are bits
            let opened =
                options.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
            match opened {
                Ok(to) => return Ok(Self::of(path, to.into(), progress)),
                Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                    progress.check()?;
                    thread::sleep(Duration::try_from(TICK).unwrap_or_default());
                }
                Err(error) => return Err(SortError::system(path, "open it", error)),
            }
        }
    }

    fn of(path: &Path, to: OwnedFd, progress: &'a Progress) -> Self {
        let (turn, changed) = (Mutex::default(), Condvar::new());
        Self { path: path.into(), to, turn, changed, progress }
    }

    /// Writes a block when those before it are written. Where one of them cannot be, that is the
    /// error, and this one is left out.
    pub fn write(&self, block: u64, bytes: &[u8]) -> Result<(), SortError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(turn, |turn| turn.block != block && !turn.broken);
        let mut turn = waited.unwrap_or_else(PoisonError::into_inner);
        if turn.broken {
            return Ok(());
        }
        let written = self.put(bytes);
        turn.block += 1;
        turn.broken = written.is_err();
        self.changed.notify_all();
        written
    }

    fn put(&self, bytes: &[u8]) -> Result<(), SortError> {
        let failed = |error: Errno| SortError::system(&self.path, "write", error);
        let mut done = 0;
        while done < bytes.len() {
            match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], Some(&TICK)) {
                Ok(0) => self.progress.check()?,
                Ok(_) => {
                    let piece = &bytes[done..bytes.len().min(done + PIECE)];
                    match rustix::io::write(&self.to, piece) {
                        Ok(written) => done += written,
                        Err(Errno::INTR | Errno::AGAIN) => {}
                        Err(error) => return Err(failed(error)),
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }
}
