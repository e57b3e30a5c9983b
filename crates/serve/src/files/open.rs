//! Opens files below a root without a race: the kernel refuses a path that leaves it.

use crate::meta::FileStamp;
use rustix::fs::{Advice, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The folder of files.
#[derive(Debug)]
pub(crate) struct Root {
    folder: OwnedFd,
    /// Symbolic links may lead out of the folder.
    follows_links: bool,
}

/// What a path names.
#[derive(Debug)]
pub(crate) enum Opened {
    File(File, FileStamp),
    Folder,
    /// Nothing, or something that is neither a file nor a folder.
    Missing,
    /// The system, or a link out of the root, forbids it.
    Forbidden,
    /// Too many open files, or the disk failed.
    Failed,
}

impl Root {
    pub fn open(path: &Path, follows_links: bool) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        let root = Self { folder, follows_links };
        // A kernel without openat2 (before Linux 5.6) is an error at the start.
        root.descriptor(".", ResolveFlags::empty(), OFlags::PATH)?;
        Ok(root)
    }

    /// Opens a file if the kernel knows the path without reading from the disk; `None` if it may
    /// have to read. The first look at a file is left to a thread that may wait.
    pub fn look_cached(&self, relative: &str) -> Option<Opened> {
        self.look(relative, ResolveFlags::CACHED)
    }

    /// Opens a file; this may wait for the disk.
    pub fn look_waiting(&self, relative: &str) -> Opened {
        let found = self.look(relative, ResolveFlags::empty());
        found.unwrap_or_else(|| Opened::Failed)
    }

    fn look(&self, relative: &str, resolve: ResolveFlags) -> Option<Opened> {
        let name = if relative.is_empty() { "." } else { relative };
        // Without NONBLOCK an open of a named pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.descriptor(name, resolve, flags).and_then(|file| {
            let stat = rustix::fs::fstat(&file)?;
            Ok((file, stat))
        });
        Some(match opened {
            Ok((file, stat)) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Opened::File(File::from(file), stamp(&stat)),
                FileType::Directory => Opened::Folder,
                _ => Opened::Missing,
            },
            Err(Errno::AGAIN) => return None,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::NXIO | Errno::NODEV) => {
                Opened::Missing
            }
            Err(Errno::ACCESS | Errno::PERM | Errno::XDEV | Errno::LOOP) => Opened::Forbidden,
            Err(_) => Opened::Failed,
        })
    }

    fn descriptor(
        &self,
        name: &str,
        resolve: ResolveFlags,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let within =
            if self.follows_links { ResolveFlags::NO_MAGICLINKS } else { ResolveFlags::BENEATH };
        let flags = flags | OFlags::CLOEXEC;
        rustix::fs::openat2(&self.folder, name, flags, Mode::empty(), within | resolve)
    }
}

fn stamp(stat: &Stat) -> FileStamp {
    // A time before 1970 is as good a stamp as any other.
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let ns = |seconds: i64, ns: u64| (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(ns);
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    FileStamp {
        size: stat.st_size as u64,
        modified_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        inode: stat.st_ino,
        changed_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
    }
}

/// The stamp of an open file.
pub(crate) fn stamp_of(file: &File) -> io::Result<FileStamp> {
    Ok(stamp(&rustix::fs::fstat(file)?))
}

/// Reads a part of a file, all of it or an error. The kernel then drops its own copy of the part:
/// the file would otherwise be twice in memory.
pub(crate) fn read_part(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    let length = std::num::NonZeroU64::new(length as u64);
    // Not all file systems take advice; the bytes were read.
    let _ = rustix::fs::fadvise(file, offset, length, Advice::DontNeed);
    Ok(bytes)
}
