//! A folder of replays, by the SHA-256 of what they depend on.
//!
//! Each version of Gordon and of its results has a folder of its own in it, so that a version never
//! reads entries of another. An entry is written under a temporary name and renamed, so that
//! several surveys may use a folder at the same time, and one that is killed loses only the replays
//! in progress. A damaged entry is never used: its replay is computed again and replaces it.

use super::key::{GORDON, ReplayKey, label};
use super::{RESULTS_VERSION, entry};
use crate::error::ClusterError;
use crate::trace::stream::Replayed;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A store of replays on disk.
#[derive(Debug)]
pub struct ReplayStore {
    folder: PathBuf,
    /// The folder of this version.
    entries: PathBuf,
}

/// What a store has for a key.
pub(super) enum Lookup {
    Found(Box<Replayed>),
    Missing,
    Damaged(Trouble),
}

/// Something wrong with a store that does not stop a survey.
pub(super) enum Trouble {
    Damaged { path: PathBuf, why: String },
    NotWritten { path: PathBuf, why: String },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { path, why } => write!(f, "{} is damaged: {why}", path.display()),
            Self::NotWritten { path, why } => write!(f, "cannot write {}: {why}", path.display()),
        }
    }
}

impl ReplayStore {
    /// The store in `folder`, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if no file can be created in the folder.
    pub fn at(folder: &Path) -> Result<Self, ClusterError> {
        let entries = folder.join(format!("replays-{}", label(GORDON, RESULTS_VERSION)));
        let store = Self { folder: folder.into(), entries };
        let writable = fs::create_dir_all(&store.entries).and_then(|()| {
            let (path, _) = store.create_temporary("probe")?;
            fs::remove_file(path)
        });
        match writable {
            Ok(()) => Ok(store),
            Err(error) => Err(ClusterError::Cache { path: folder.into(), why: error.to_string() }),
        }
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, key: &ReplayKey) -> PathBuf {
        self.entries.join(format!("{}.replay", key.hash()))
    }

    /// The replay of `key`; `samples` is the number of samples of the trace.
    pub(super) fn lookup(&self, key: &ReplayKey, samples: usize) -> Lookup {
        let path = self.path(key);
        let read = match fs::read(&path) {
            Ok(bytes) => entry::decode(key, samples, &bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => return Lookup::Missing,
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(replayed) => Lookup::Found(Box::new(replayed)),
            Err(why) => Lookup::Damaged(Trouble::Damaged { path, why }),
        }
    }

    pub(super) fn write(&self, key: &ReplayKey, entry: &[u8]) -> Result<(), Trouble> {
        let path = self.path(key);
        let written = self.create_temporary(key.hash()).and_then(|(temporary, mut file)| {
            let written = file.write_all(entry).and_then(|()| fs::rename(&temporary, &path));
            written.inspect_err(|_| {
                // The first error is the one to report.
                let _ = fs::remove_file(&temporary);
            })
        });
        written.map_err(|error| Trouble::NotWritten { path, why: error.to_string() })
    }

    /// A new file for an entry that is not whole yet. Its name is unique, even among the processes
    /// of several machines.
    fn create_temporary(&self, name: &str) -> io::Result<(PathBuf, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let nth = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.entries.join(format!(".{name}.partial-{}-{nth}", process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Warnings for the reader of a survey: the first trouble of each kind, and how many more.
    pub(super) fn warnings(&self, troubles: impl Iterator<Item = Trouble>) -> Vec<String> {
        let is_damage = |trouble: &Trouble| matches!(trouble, Trouble::Damaged { .. });
        let (damaged, not_written): (Vec<_>, Vec<_>) = troubles.partition(is_damage);
        let warning = |troubles: &[Trouble], what: &str| {
            let first = troubles.first()?;
            let more = match troubles.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            Some(format!("cache {}: {first}{more}; {what}", self.folder.display()))
        };
        let warnings = [
            warning(&damaged, "replayed again and replaced"),
            warning(&not_written, "the survey is complete, but the next one replays this again"),
        ];
        warnings.into_iter().flatten().collect()
    }
}
