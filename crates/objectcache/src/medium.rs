//! The storage of a cache: its interface, files and block devices, and how they are accessed.

use crate::error::{Error, at_path};
use crate::format::PAGE;
use crate::format::superblock::{EraseBlocks, Superblock};
use gordon_store::{Backend, FileMedia, Image, ImageError, Media, RawWear, is_image};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Result};
use std::ops::Range;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes at the start of a device that are empty before a cache is created on it.
const FOREIGN: usize = 1 << 20;

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

/// Storage of a cache: a file, a block device, or NAND flash.
///
/// The cache divides it into areas: copies of the superblock, halves of the journal, and segments.
/// An area is begun, and then written from its start to its end, never below what was written
/// since.
///
/// - Reads are whole pages ([`PAGE`]); writes are whole units ([`Superblock::unit`]).
/// - Between the begin of an area and the write of a page, that page has old bytes, zeros, or
///   cannot be read.
/// - When [`sync`](Self::sync) has returned, all earlier calls have durable effects. After a power
///   cut, each page that was written since may have its old or its new bytes, zeros, or be
///   unreadable; an area that was begun may have all of its old bytes.
/// - Threads may share it; each area is written by one at a time.
pub(crate) trait Storage: Send + Sync {
    /// Size in bytes.
    fn len(&self) -> u64;

    /// Makes space for a new cache of this size.
    fn grow(&self, _size: u64) -> Result<()> {
        Ok(())
    }

    /// Takes the layout of the cache into account.
    fn set_layout(&self, _superblock: &Superblock) {}

    /// Fills `into`, aligned to pages in memory, with the bytes at `at`.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// Prepares an area for being written again.
    fn begin(&self, area: Range<u64>) -> Result<()>;

    /// Writes bytes that are aligned to pages in memory.
    ///
    /// # Errors
    /// If the error is caused by [`WentBad`](gordon_store::WentBad), the area can be begun and
    /// written again.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()>;

    /// Makes the end of a segment unreadable, durably: its directory is never valid again.
    fn discard(&self, area: Range<u64>) -> Result<()>;

    /// Makes all earlier writes durable.
    fn sync(&self) -> Result<()>;

    /// Whether an area that was being written before a restart can be continued.
    fn continues(&self) -> bool {
        true
    }

    /// Records that the cache was closed.
    fn close(&self) -> Result<()> {
        Ok(())
    }

    /// The wear of NAND flash.
    fn wear(&self) -> Option<RawWear> {
        None
    }

    /// The address of a segment whose erase blocks are worn far less than the free ones: it has not
    /// been written for long. NAND flash wears evenly if it is discarded.
    fn coldest(&self) -> Option<u64> {
        None
    }

    /// Bytes of a program of NAND flash, for [`wear`](Self::wear).
    fn page_bytes(&self) -> u64 {
        PAGE as u64
    }
}

/// A file or block device.
pub(crate) struct FileStorage(pub Arc<dyn Media>);

impl Storage for FileStorage {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn grow(&self, size: u64) -> Result<()> {
        self.0.grow(size)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.0.read_data(at, &mut [IoSliceMut::new(into)])
    }

    fn begin(&self, _area: Range<u64>) -> Result<()> {
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_data(at, &mut [IoSlice::new(bytes)])
    }

    fn discard(&self, area: Range<u64>) -> Result<()> {
        self.write(area.end - PAGE as u64, Buffer::new(PAGE).slice())?;
        self.sync()
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
}

/// The storage of a cache in DRAM, which is never used.
pub(crate) struct NoStorage;

impl Storage for NoStorage {
    fn len(&self) -> u64 {
        0
    }

    fn read(&self, _at: u64, _into: &mut [u8]) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn begin(&self, _area: Range<u64>) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn write(&self, _at: u64, _bytes: &[u8]) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn discard(&self, _area: Range<u64>) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// Reads `len` bytes at `at`, both multiples of [`PAGE`].
pub(crate) fn read(storage: &dyn Storage, at: u64, len: usize) -> Result<Buffer> {
    let mut buffer = Buffer::new(len);
    storage.read(at, buffer.slice())?;
    Ok(buffer)
}

/// Writes whole units.
pub(crate) fn write(storage: &dyn Storage, at: u64, bytes: &[u8]) -> Result<()> {
    if (bytes.as_ptr() as usize).is_multiple_of(PAGE) {
        return storage.write(at, bytes);
    }
    let mut buffer = Buffer::new(bytes.len());
    buffer.slice().copy_from_slice(bytes);
    storage.write(at, buffer.slice())
}

/// Storage that was opened.
pub(crate) struct Opened {
    pub storage: Arc<dyn Storage>,
    /// For reads by io_uring.
    pub file: Option<Arc<File>>,
    /// The erase blocks of NAND flash.
    pub blocks: Option<EraseBlocks>,
    /// How it is accessed.
    pub access: String,
    pub is_new: bool,
    pub path: PathBuf,
}

/// The path of the file or device, in a folder if `path` is one.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("cache.flash") } else { path.to_path_buf() }
}

/// Opens a NAND image. `None` if the path is something else, or does not exist.
pub(crate) fn open_image(path: &Path) -> std::result::Result<Option<(Image, String)>, Error> {
    if !fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return Ok(None);
    }
    let found = FileMedia::open(path, Backend::File, false).and_then(|file| is_image(&file));
    let found = found.map_err(|error| match error.kind() {
        ErrorKind::ResourceBusy => Error::InUse(path.to_path_buf()),
        _ => at_path(path)(error),
    });
    if !found? {
        return Ok(None);
    }
    let through_cache = |why: String| {
        let image = Image::open(path, Backend::File, true)?;
        Ok((image, format!("page cache (O_DIRECT: {why})")))
    };
    let opened = match Image::open(path, Backend::Direct, true) {
        Ok(image) => Ok((image, "O_DIRECT".into())),
        Err(ImageError::Unaligned(..)) => through_cache("units are smaller than pages".into()),
        Err(ImageError::Io { error, .. }) if error.kind() == ErrorKind::InvalidInput => {
            through_cache(error.to_string())
        }
        Err(error) => Err(error),
    };
    Ok(Some(opened?))
}

/// Opens the file of a cache, or creates it with allocated space.
pub(crate) fn open(path: &Path, size: u64) -> std::result::Result<Opened, Error> {
    let path = path.to_path_buf();
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
    if is_device && has_other_data(&media).map_err(at_path(&path))? {
        return Err(Error::Foreign(path));
    }
    let file = media.data_file().map_err(at_path(&path))?;
    let access = match refused {
        None => "O_DIRECT".into(),
        Some(why) => format!("page cache (O_DIRECT: {why})"),
    };
    let storage = Arc::new(FileStorage(Arc::new(media)));
    Ok(Opened { storage, file: Some(Arc::new(file)), blocks: None, access, is_new, path })
}

/// Whether a device without a superblock has data at its start: some file systems (btrfs, ZFS)
/// leave the first pages empty.
fn has_other_data(media: &FileMedia) -> Result<bool> {
    let len = usize::try_from(media.len()).unwrap_or(usize::MAX).min(FOREIGN);
    let mut start = vec![0; len];
    media.read(0, &mut start)?;
    let (superblocks, rest) = start.split_at(len.min(2 * PAGE));
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    Ok(is_zero(superblocks) && !is_zero(rest))
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
