//! Writes blocks to a pipe or a terminal in order, whichever threads generate them.

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

/// Interval at which a thread that waits for the other end of a pipe checks for a stop: 50 ms.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Bytes that a ready pipe accepts without blocking (pipe(7), `PIPE_BUF`). A larger write could
/// block, and could then not be stopped.
const PIECE: usize = 4096;

/// The next block to write.
#[derive(Default)]
struct Turn {
    block: u64,
    broken: bool,
}

/// An output that accepts bytes in order only.
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

    /// Opens an output; waits until a pipe has a reader.
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

    /// Writes a block after the earlier ones. If one of them fails, returns that error, and this
    /// block is not written.
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
