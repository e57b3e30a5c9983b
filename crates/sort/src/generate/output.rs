//! Where records go: a file that is there when it is whole, a block device, or a pipe.

use super::stream::Stream;
use crate::blocks::BLOCK;
use crate::file::{File, Mode};
use crate::{SortError, Watch};
use gordon_units::Bytes;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

/// Where records go.
pub enum Output<'a> {
    /// A file, under a name of its own until it is whole.
    File(File, Beside),
    /// A block device, and the claim that nothing else uses it.
    Device(File, #[expect(dead_code)] fs::File),
    /// Block after block.
    Stream(Stream<'a>),
}

impl<'a> Output<'a> {
    /// Opens `path` for so many bytes.
    pub fn open(path: &Path, len: u64, watch: &'a Watch) -> Result<Self, SortError> {
        if path == Path::new("-") {
            return Ok(Self::Stream(Stream::stdout(watch)?));
        }
        let failed = |error| SortError::system(path, "open it", error);
        let kind = match fs::metadata(path) {
            Ok(meta) => meta.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Self::file(path.into(), len);
            }
            Err(error) => return Err(failed(error)),
        };
        if kind.is_file() {
            // Of a link, what it leads to is replaced.
            Self::file(fs::canonicalize(path).map_err(failed)?, len)
        } else if kind.is_block_device() {
            Self::device(path, len)
        } else if kind.is_fifo() || kind.is_char_device() {
            Ok(Self::Stream(Stream::open(path, watch)?))
        } else {
            let what =
                if kind.is_dir() { "it is a folder" } else { "nothing can be written there" };
            Err(SortError::impossible(path.display(), what, "a file, a block device, or a pipe"))
        }
    }

    fn file(path: PathBuf, len: u64) -> Result<Self, SortError> {
        let beside = Beside::of(path);
        let file = File::create(&beside.made, Mode::Direct)?;
        file.reserve(len).map_err(|error| match error {
            SortError::Full { .. } => {
                let why = format!("no place on the device for {}", Bytes(len));
                SortError::impossible(
                    beside.path.display(),
                    why,
                    "fewer records, or another device",
                )
            }
            other => other,
        })?;
        Ok(Self::File(file, beside))
    }

    fn device(path: &Path, len: u64) -> Result<Self, SortError> {
        let mut options = OpenOptions::new();
        #[allow(clippy::cast_possible_wrap)] // flags are bits
        let claim = options.read(true).custom_flags(OFlags::EXCL.bits() as i32).open(path);
        let claim = claim.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::BUSY) => SortError::impossible(
                path.display(),
                "in use (mounted, or part of something): it is not written to",
                "unmount it, or name a file on it",
            ),
            _ => SortError::system(path, "open it", error),
        })?;
        let file = File::open_to_write(path, Mode::Direct)?;
        let held = file.len()?;
        if len > held {
            let why = format!("{} do not fit in {}", Bytes(len), Bytes(held));
            return Err(SortError::impossible(path.display(), why, "fewer records"));
        }
        Ok(Self::Device(file, claim))
    }

    /// Writes a block.
    pub fn write(&self, block: u64, bytes: &[u8]) -> Result<(), SortError> {
        match self {
            Self::File(file, _) | Self::Device(file, _) => file.write(block * BLOCK as u64, bytes),
            Self::Stream(stream) => stream.write(block, bytes),
        }
    }

    /// All are written: a file or a device has them durably after this. Whether they went past the page
    /// cache.
    pub fn finish(self) -> Result<bool, SortError> {
        match self {
            Self::File(file, beside) => {
                file.sync()?;
                beside.keep()?;
                Ok(file.is_direct())
            }
            Self::Device(file, _) => file.sync().map(|()| file.is_direct()),
            Self::Stream(_) => Ok(false),
        }
    }
}

/// A file beside its place: it is gone unless it is kept.
pub struct Beside {
    /// Where it will be.
    path: PathBuf,
    /// Where it is.
    made: PathBuf,
    kept: bool,
}

impl Beside {
    fn of(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let made = path.with_file_name(format!(".{name}.partial-{}", process::id()));
        Self { path, made, kept: false }
    }

    /// Gives it its name, durably.
    fn keep(mut self) -> Result<(), SortError> {
        let failed = |error| SortError::system(&self.path, "give it its name", error);
        fs::rename(&self.made, &self.path).map_err(failed)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::File::open(folder.unwrap_or(Path::new(".")));
        folder.and_then(|folder| folder.sync_all()).map_err(failed)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.kept {
            // There may be none, and nobody to hear of it.
            let _ = fs::remove_file(&self.made);
        }
    }
}
