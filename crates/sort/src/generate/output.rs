//! The destination of generated records: a file that gets its name when it is complete, a block
//! device, or a pipe.

use super::stream::SequentialOutput;
use crate::blocks::BLOCK;
use crate::file::{CacheMode, SortFile, unit_over};
use crate::target::OutputFile;
use crate::{Progress, SortError};
use gordon_units::Bytes;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The destination of generated records.
pub enum GeneratorOutput<'a> {
    /// A file, under a temporary name until it is complete.
    File(OutputFile),
    /// A block device, and the exclusive claim to it.
    Device(SortFile, #[expect(dead_code)] fs::File),
    /// The files of a striped output.
    Stripe(Vec<OutputFile>, SortFile),
    /// A pipe or terminal, to which blocks are written in order.
    Stream(SequentialOutput<'a>),
}

impl<'a> GeneratorOutput<'a> {
    /// Opens `path` for `len` bytes.
    pub fn open(path: &Path, len: u64, progress: &'a Progress) -> Result<Self, SortError> {
        if path == Path::new("-") {
            return Ok(Self::Stream(SequentialOutput::stdout(progress)?));
        }
        let failed = |error| SortError::system(path, "open it", error);
        let kind = match fs::metadata(path) {
            Ok(meta) => meta.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Self::file(path, len);
            }
            Err(error) => return Err(failed(error)),
        };
        if kind.is_file() {
            Self::file(path, len)
        } else if kind.is_block_device() {
            Self::device(path, len)
        } else if kind.is_fifo() || kind.is_char_device() {
            Ok(Self::Stream(SequentialOutput::open(path, progress)?))
        } else {
            let what =
                if kind.is_dir() { "it is a folder" } else { "nothing can be written there" };
            Err(SortError::impossible(path.display(), what, "a file, a block device, or a pipe"))
        }
    }

    fn file(path: &Path, len: u64) -> Result<Self, SortError> {
        let target = OutputFile::new(path, CacheMode::Direct, false, &[])?;
        reserve(path, target.file(), len)?;
        Ok(Self::File(target))
    }

    /// Opens files over which `len` bytes are striped.
    pub fn striped(paths: &[PathBuf], unit: Bytes, len: u64) -> Result<Self, SortError> {
        let unit = unit_over(unit, paths.len())?;
        if paths.iter().any(|path| path == Path::new("-")) {
            return Err(SortError::impossible("stdout", "no file of a stripe", "names of files"));
        }
        let targets = paths.iter().map(|path| OutputFile::new(path, CacheMode::Direct, false, &[]));
        let targets: Vec<OutputFile> = targets.collect::<Result<_, _>>()?;
        let files: Vec<_> = targets.iter().map(|target| target.file().clone()).collect();
        let file = SortFile::striped(&files, unit);
        for (n, (path, one)) in paths.iter().zip(&files).enumerate() {
            reserve(path, one, file.part_len(n, len))?;
        }
        Ok(Self::Stripe(targets, file))
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
        let file = SortFile::open_to_write(path, CacheMode::Direct)?;
        let held = file.len()?;
        if len > held {
            let why = format!("{} do not fit in {}", Bytes(len), Bytes(held));
            return Err(SortError::impossible(path.display(), why, "fewer records"));
        }
        Ok(Self::Device(file, claim))
    }

    /// Writes the block with this number.
    pub fn write(&self, block: u64, bytes: &[u8]) -> Result<(), SortError> {
        let at = block * BLOCK as u64;
        match self {
            Self::File(target) => target.file().write(at, bytes),
            Self::Device(file, _) | Self::Stripe(_, file) => file.write(at, bytes),
            Self::Stream(stream) => stream.write(block, bytes),
        }
    }

    /// Completes the output; a file or device is durable then. Returns whether the writes bypassed
    /// the page cache.
    pub fn finish(self) -> Result<bool, SortError> {
        match self {
            Self::File(target) => {
                let direct = target.file().is_direct();
                target.keep().map(|()| direct)
            }
            Self::Device(file, _) => file.sync().map(|()| file.is_direct()),
            Self::Stripe(targets, file) => {
                // All files are durable before any of them gets its name.
                file.sync()?;
                targets.into_iter().try_for_each(OutputFile::keep).map(|()| file.is_direct())
            }
            Self::Stream(_) => Ok(false),
        }
    }
}

/// Allocates `len` bytes of an output.
fn reserve(path: &Path, file: &SortFile, len: u64) -> Result<(), SortError> {
    file.reserve(len).map_err(|error| match error {
        SortError::Full { .. } => {
            let why = format!("the device has no room for {}", Bytes(len));
            SortError::impossible(path.display(), why, "fewer records, or another device")
        }
        other => other,
    })
}
