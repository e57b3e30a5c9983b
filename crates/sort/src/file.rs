//! Files that are read and written at a place, past the page cache where their file system lets us.

use crate::SortError;
use crate::memory::PAGE;
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Whether the page cache is gone past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Past it, where the file system can: nothing is copied, and nothing else is pushed out.
    #[default]
    Direct,
    /// Through it.
    Buffered,
}

/// A file, and a second way to it for parts that are not whole blocks.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    cached: fs::File,
    direct: Option<fs::File>,
}

impl File {
    /// Opens what is there, to be read.
    pub fn open(path: &Path, mode: Mode) -> Result<Self, SortError> {
        // Before it is opened: a pipe would wait for its other end.
        let meta = fs::metadata(path).map_err(|error| SortError::system(path, "open it", error))?;
        if !meta.is_file() {
            return Err(SortError::impossible(
                path.display(),
                "not a regular file",
                "a file; what comes through a pipe has to be in one first",
            ));
        }
        let mut options = OpenOptions::new();
        Self::with(path, mode, options.read(true))
    }

    /// Makes one that must not be there yet, to be read and written by us alone.
    pub fn create(path: &Path, mode: Mode) -> Result<Self, SortError> {
        let mut options = OpenOptions::new();
        let made =
            Self::with(path, Mode::Buffered, options.read(true).write(true).create_new(true));
        let mut file = made?;
        file.direct = direct(path, mode, OpenOptions::new().read(true).write(true))?;
        Ok(file)
    }

    /// Opens what is there, to be read and written.
    pub fn open_to_write(path: &Path, mode: Mode) -> Result<Self, SortError> {
        Self::with(path, mode, OpenOptions::new().read(true).write(true))
    }

    fn with(path: &Path, mode: Mode, options: &mut OpenOptions) -> Result<Self, SortError> {
        let cached =
            options.open(path).map_err(|error| SortError::system(path, "open it", error))?;
        let direct = direct(path, mode, options)?;
        Ok(Self { path: path.into(), cached, direct })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn len(&self) -> Result<u64, SortError> {
        Ok(self.cached.metadata().map_err(|error| self.failed("look at it", error))?.len())
    }

    /// Whether the page cache is gone past.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// The way for a transfer, and how much of it goes there: whole blocks go past the page cache.
    fn way(&self, offset: u64, len: usize) -> (&fs::File, usize) {
        let blocks = len - len % PAGE;
        match &self.direct {
            Some(direct) if blocks > 0 && offset.is_multiple_of(PAGE as u64) => (direct, blocks),
            _ => (&self.cached, len),
        }
    }

    /// Takes the place for so many bytes, so that a full device is heard of now.
    pub fn reserve(&self, len: u64) -> Result<(), SortError> {
        if len == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.cached, FallocateFlags::empty(), 0, len) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.set_len(len),
            Err(Errno::NOSPC | Errno::DQUOT) => Err(self.full(len)),
            Err(error) => Err(self.failed("take its place", error.into())),
        }
    }

    pub fn set_len(&self, len: u64) -> Result<(), SortError> {
        let what = format!("make it {len} bytes long");
        self.cached.set_len(len).map_err(|error| self.failed(&what, error))
    }

    /// Fills `into` from there.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), SortError> {
        let mut done = 0;
        while done < into.len() {
            let (way, len) = self.way(offset + done as u64, into.len() - done);
            match rustix::io::pread(way, &mut into[done..done + len], offset + done as u64) {
                Ok(0) => {
                    let at = offset + done as u64;
                    return Err(SortError::Short { path: self.path.clone(), at });
                }
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed_at("read", offset + done as u64, error)),
            }
        }
        Ok(())
    }

    /// Writes `bytes` there.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), SortError> {
        let mut done = 0;
        while done < bytes.len() {
            let (way, len) = self.way(offset + done as u64, bytes.len() - done);
            match rustix::io::pwrite(way, &bytes[done..done + len], offset + done as u64) {
                Ok(0) => {
                    return Err(self.failed("write", ErrorKind::WriteZero.into()));
                }
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(Errno::NOSPC | Errno::DQUOT) => {
                    return Err(self.full(offset + bytes.len() as u64));
                }
                Err(error) => return Err(self.failed_at("write", offset + done as u64, error)),
            }
        }
        Ok(())
    }

    /// Makes what was written durable, and its length.
    pub fn sync(&self) -> Result<(), SortError> {
        self.cached.sync_all().map_err(|error| self.failed("make it durable", error))
    }

    #[cold]
    fn failed(&self, what: &str, error: Error) -> SortError {
        SortError::system(&self.path, what, error)
    }

    #[cold]
    fn failed_at(&self, what: &str, offset: u64, error: Errno) -> SortError {
        self.failed(&format!("{what} at byte {offset}"), error.into())
    }

    #[cold]
    fn full(&self, len: u64) -> SortError {
        SortError::Full { path: self.path.clone(), len: gordon_units::Bytes(len) }
    }
}

/// A way past the page cache; none where that is not wanted, or the file system has none.
fn direct(
    path: &Path,
    mode: Mode,
    options: &mut OpenOptions,
) -> Result<Option<fs::File>, SortError> {
    if mode == Mode::Buffered {
        return Ok(None);
    }
    match options.custom_flags(bits(OFlags::DIRECT)).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Ok(None),
        Err(error) => Err(SortError::system(path, "open it", error)),
    }
}

#[allow(clippy::cast_possible_wrap)] // flags are bits
fn bits(flags: OFlags) -> i32 {
    flags.bits() as i32
}
