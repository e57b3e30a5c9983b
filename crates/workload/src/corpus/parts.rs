//! Writes a corpus: part files on several threads, in a folder that gets its name when it is
//! complete.
//!
//! A part is the unit of parallel work and has a random stream of its own, so the number of
//! threads does not change the bytes.

use super::generator::{Generator, Part, Separation};
use crate::WorkloadError;
use gordon_units::{Bytes, Progress};
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bytes after which a part is made durable. A stop takes effect after at most as many.
const SYNCED: u64 = 8 << 20;

/// Threads in addition to one for each core, since some of them wait for the disk.
const WAITING: usize = 2;

/// A part file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CorpusFile {
    /// Its name in the folder.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Number of its records.
    pub records: u64,
    /// The CRC-32C of its bytes, in hexadecimal.
    pub crc32c: String,
    /// The sum of the CRC-32 of each record, in hexadecimal.
    pub checksum: String,
    #[serde(skip)]
    pub(super) sum: u128,
}

/// A folder under a temporary name.
#[derive(Debug)]
pub struct CorpusFolder {
    /// The path that it gets.
    path: PathBuf,
    /// Its temporary path; `None` once it has its name.
    partial: Option<PathBuf>,
}

impl CorpusFolder {
    /// Checks that `path` can be made, and removes what killed generators have left.
    pub fn check(path: &Path, bytes: Bytes) -> Result<(), WorkloadError> {
        // A link that leads nowhere exists too.
        if fs::symlink_metadata(path).is_ok() {
            return Err(WorkloadError::Exists(path.to_owned()));
        }
        let folder = parent(path);
        if !folder.is_dir() {
            return Err(WorkloadError::MissingFolder(path.to_owned(), folder.to_owned()));
        }
        remove_abandoned(folder, path);
        if let Ok(found) = rustix::fs::statvfs(folder) {
            let free = Bytes(found.f_bfree.saturating_mul(found.f_frsize));
            if bytes > free {
                let why = format!("{bytes} do not fit in the {free} that are free on its disk");
                return Err(WorkloadError::DiskFull { path: path.to_owned(), why });
            }
        }
        Ok(())
    }

    /// Makes the folder under its temporary name.
    pub fn make(path: &Path) -> Result<Self, WorkloadError> {
        let mut name = partial_start(path);
        name.push(std::process::id().to_string());
        let partial = parent(path).join(name);
        fs::create_dir(&partial).map_err(|error| WorkloadError::write(path, error))?;
        Ok(Self { path: path.to_owned(), partial: Some(partial) })
    }

    /// Writes a small file.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), WorkloadError> {
        let failed = |error| WorkloadError::write(&self.path.join(name), error);
        let mut file = self.create(name)?;
        file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// Gives the folder its name; its files are durable already.
    pub fn keep(mut self) -> Result<(), WorkloadError> {
        let failed = |error| WorkloadError::write(&self.path, error);
        if let Some(partial) = &self.partial {
            let sync = |folder: &Path| File::open(folder).and_then(|folder| folder.sync_all());
            sync(partial).map_err(failed)?;
            // Renaming replaces an empty folder that was made meanwhile.
            if fs::symlink_metadata(&self.path).is_ok() {
                return Err(WorkloadError::Exists(self.path.clone()));
            }
            fs::rename(partial, &self.path).map_err(failed)?;
            let named = sync(parent(&self.path)).map_err(failed);
            self.partial = None;
            named?;
        }
        Ok(())
    }

    fn create(&self, name: &str) -> Result<File, WorkloadError> {
        let folder = self.partial.as_deref().unwrap_or(&self.path);
        let created = OpenOptions::new().write(true).create_new(true).open(folder.join(name));
        created.map_err(|error| WorkloadError::write(&self.path.join(name), error))
    }
}

impl Drop for CorpusFolder {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // A failure to remove the folder cannot be reported here.
            let _ = fs::remove_dir_all(partial);
        }
    }
}

/// The folder that holds `path`.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The temporary name without the number of the process.
fn partial_start(path: &Path) -> OsString {
    let mut start = OsString::from(".");
    start.push(path.file_name().unwrap_or(OsStr::new("corpus")));
    start.push(".partial-");
    start
}

/// Removes unfinished folders of processes that no longer exist.
fn remove_abandoned(folder: &Path, path: &Path) {
    let start = partial_start(path);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.as_encoded_bytes().strip_prefix(start.as_encoded_bytes());
        let number =
            number.and_then(|number| std::str::from_utf8(number).ok()?.parse::<u32>().ok());
        let ours = number == Some(std::process::id());
        if number
            .is_some_and(|number| ours || !Path::new("/proc").join(number.to_string()).exists())
        {
            // Another process may have removed it already.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes all parts; returns a description of each file, in order.
pub fn write(
    folder: &CorpusFolder,
    generator: &dyn Generator,
    parts: &[Part],
    threads: Option<usize>,
    progress: &Progress,
) -> Result<Vec<CorpusFile>, WorkloadError> {
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let files: Vec<Mutex<Option<CorpusFile>>> = parts.iter().map(|_| Mutex::new(None)).collect();
    let first_error: Mutex<Option<WorkloadError>> = Mutex::new(None);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let number =
                usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
            let Some(part) = parts.get(number) else { break };
            match write_part(folder, generator, part, progress, &failed) {
                Ok(file) => {
                    *files[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
                }
                Err(error) => {
                    // The first error is the cause; the other threads stop because of it.
                    let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(error);
                    failed.store(true, Ordering::Relaxed);
                }
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores + WAITING).clamp(1, parts.len().max(1));
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system refuses a thread, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if let Some(error) = first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let files = files.into_iter().map(|file| {
        let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
        file.unwrap_or_else(|| unreachable!("each part is written, or there is an error"))
    });
    Ok(files.collect())
}

fn write_part(
    folder: &CorpusFolder,
    generator: &dyn Generator,
    part: &Part,
    progress: &Progress,
    failed: &AtomicBool,
) -> Result<CorpusFile, WorkloadError> {
    let name = format!("part-{:05}.{}", part.number, generator.suffix());
    let path = folder.path.join(&name);
    let error = |error| WorkloadError::write(&path, error);
    let mut file = folder.create(&name)?;
    let (mut bytes, mut records, mut sum, mut crc, mut unsynced) = (0, 0, 0, 0, 0);
    generator.fill(part, &mut |block: &[u8]| {
        progress.check()?;
        if failed.load(Ordering::Relaxed) {
            return Err(WorkloadError::Stopped);
        }
        file.write_all(block).map_err(error)?;
        crc = crc32c::crc32c_append(crc, block);
        let (count, part_sum) = checksum(block, generator.separation());
        records += count;
        sum += part_sum;
        bytes += block.len() as u64;
        unsynced += block.len() as u64;
        if unsynced >= SYNCED {
            file.sync_data().map_err(error)?;
            unsynced = 0;
        }
        progress.step(block.len() as u64);
        Ok(())
    })?;
    file.sync_all().map_err(error)?;
    let (crc32c, checksum) = (format!("{crc:08x}"), format!("{sum:x}"));
    Ok(CorpusFile { name, bytes, records, crc32c, checksum, sum })
}

/// Number of records in whole records, and the sum of the CRC-32 of each.
fn checksum(block: &[u8], separation: Separation) -> (u64, u128) {
    let mut count = 0;
    let mut sum = 0;
    let mut add = |record: &[u8]| {
        count += 1;
        sum += u128::from(crc32fast::hash(record));
    };
    match separation {
        Separation::Lines => {
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', block) {
                add(&block[start..end]);
                start = end + 1;
            }
        }
        Separation::Fixed(len) => block.chunks_exact(len).for_each(add),
    }
    (count, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_sum_over_records() {
        let crc = |text: &[u8]| u128::from(crc32fast::hash(text));
        let sum = crc(b"ab") + crc(b"") + crc(b"c");
        assert_eq!(checksum(b"ab\n\nc\n", Separation::Lines), (3, sum));
        assert_eq!(checksum(b"abcd", Separation::Fixed(2)), (2, crc(b"ab") + crc(b"cd")));
    }
}
