//! The storage of a cache: a file or block device, and how it is accessed.

use crate::error::{Error, at_path};
use crate::format::PAGE;
use gordon_store::{Backend, FileMedia, Media};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::ops::Range;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A buffer whose used part is aligned for direct I/O.
pub(crate) struct Buffer {
    pub bytes: Vec<u8>,
    pub part: Range<usize>,
}

impl Buffer {
    pub fn new(len: usize) -> Self {
        let bytes = vec![0; len + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Self { bytes, part: start..start + len }
    }

    pub fn slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.part.clone()]
    }
}

/// Reads `len` bytes at `at`, both multiples of [`PAGE`].
pub(crate) fn read(media: &dyn Media, at: u64, len: usize) -> Result<Buffer> {
    let mut buffer = Buffer::new(len);
    media.read_data(at, &mut [IoSliceMut::new(buffer.slice())])?;
    Ok(buffer)
}

/// Writes whole pages at a multiple of [`PAGE`].
pub(crate) fn write(media: &dyn Media, at: u64, bytes: &[u8]) -> Result<()> {
    if (bytes.as_ptr() as usize).is_multiple_of(PAGE) {
        return media.write_data(at, &mut [IoSlice::new(bytes)]);
    }
    let mut buffer = Buffer::new(bytes.len());
    buffer.slice().copy_from_slice(bytes);
    media.write_data(at, &mut [IoSlice::new(buffer.slice())])
}

/// An open file or block device.
pub(crate) struct Opened {
    pub media: Arc<dyn Media>,
    /// For reads by io_uring.
    pub file: Option<Arc<File>>,
    /// How it is accessed.
    pub access: String,
    pub is_new: bool,
    pub path: PathBuf,
}

/// Opens the file of a cache, or creates it with allocated space.
pub(crate) fn open(path: &Path, size: u64) -> std::result::Result<Opened, Error> {
    let path = if path.is_dir() { path.join("cache.flash") } else { path.to_path_buf() };
    let kind = fs::metadata(&path).ok().map(|data| data.file_type());
    let is_device = kind.is_some_and(|kind| kind.is_block_device());
    if kind.is_some_and(|kind| !kind.is_block_device() && !kind.is_file()) {
        return Err(Error::NotStorage(path));
    }
    let is_new = kind.is_none();
    let opened = if is_new {
        create(&path, size)
    } else {
        FileMedia::open(&path, Backend::Direct, true).map(|media| (media, None)).or_else(|error| {
            match error.kind() {
                ErrorKind::InvalidInput => FileMedia::open(&path, Backend::File, true)
                    .map(|media| (media, Some(error.to_string()))),
                _ => Err(error),
            }
        })
    };
    let (media, refused) = opened.map_err(|error| match error.kind() {
        ErrorKind::ResourceBusy => Error::InUse(path.clone()),
        ErrorKind::StorageFull => Error::NoSpace { path: path.clone(), size },
        _ => at_path(&path)(error),
    })?;
    if is_device && media.len() < size {
        let len = media.len();
        return Err(Error::DeviceTooSmall { path, len, size });
    }
    let file = media.data_file().map_err(at_path(&path))?;
    let access = match refused {
        None => "O_DIRECT".into(),
        Some(why) => format!("page cache (O_DIRECT: {why})"),
    };
    Ok(Opened { media: Arc::new(media), file: Some(Arc::new(file)), access, is_new, path })
}

fn create(path: &Path, size: u64) -> Result<(FileMedia, Option<String>)> {
    let made = FileMedia::create(path, size, Backend::Direct);
    let made = match made {
        Ok(media) => Ok((media, None)),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            // The file was created before `O_DIRECT` was refused.
            fs::remove_file(path)?;
            FileMedia::create(path, size, Backend::File)
                .map(|media| (media, Some(error.to_string())))
        }
        Err(error) => Err(error),
    };
    if made.as_ref().is_err_and(|error| error.kind() != ErrorKind::AlreadyExists) {
        // The file may have been created before its length was refused.
        let _ = fs::remove_file(path);
    }
    let (media, refused) = made?;
    let allocated = media.data_file().and_then(|file| {
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size) {
            // Without support, a full file system fails writes later.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    if let Err(error) = allocated {
        fs::remove_file(path)?;
        return Err(error);
    }
    Ok((media, refused))
}
