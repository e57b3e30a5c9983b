//! The output file, which gets its name only when it is complete and durable.

use crate::SortError;
use crate::file::{CacheMode, SortFile};
use crate::temporary::{existing, remove_of_dead};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Suffix of the name of an unfinished output, followed by the number of the writing process.
const PARTIAL: &str = ".partial-";

/// The file being written.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: Arc<SortFile>,
    /// Its temporary name; `None` if an existing file is overwritten.
    partial: Option<PathBuf>,
}

impl OutputFile {
    pub fn new(
        path: &Path,
        mode: CacheMode,
        overwrite: bool,
        inputs: &[PathBuf],
    ) -> Result<Self, SortError> {
        let found = fs::canonicalize(path);
        if found.is_err() && path.is_symlink() {
            let hint = "its target's name, or remove the link";
            return Err(SortError::impossible(path.display(), "a link that leads nowhere", hint));
        }
        if let Ok(found) = &found {
            if !found.is_file() {
                let hint = "a file's name";
                return Err(SortError::impossible(path.display(), "not a regular file", hint));
            }
            // A hard link is the same file, too.
            let same = |input: &PathBuf| match (fs::metadata(input), fs::metadata(found)) {
                (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
                _ => false,
            };
            if overwrite && inputs.iter().any(same) {
                let why = "it is the input too, and overwriting destroys it while it is read";
                let hint = "without overwriting: the new file takes its name when it is durable";
                return Err(SortError::impossible(path.display(), why, hint));
            }
        }
        // A symbolic link stays a link.
        let path = found.unwrap_or_else(|_| path.into());
        if overwrite && path.exists() {
            let file = Arc::new(SortFile::open_to_write(&path, mode)?);
            return Ok(Self { path, file, partial: None });
        }
        let folder = existing(folder(&path))?;
        remove_abandoned(folder, &path);
        let mut name = path.clone().into_os_string();
        name.push(format!("{PARTIAL}{}", std::process::id()));
        let partial = PathBuf::from(name);
        let file = Arc::new(SortFile::create(&partial, mode)?);
        if let Ok(old) = fs::metadata(&path) {
            // The new file gets the permissions of the old one.
            let _ = fs::set_permissions(&partial, old.permissions());
        }
        Ok(Self { path, file, partial: Some(partial) })
    }

    pub fn file(&self) -> &Arc<SortFile> {
        &self.file
    }

    /// Makes the file durable, then gives it its name.
    pub fn keep(mut self) -> Result<(), SortError> {
        self.file.sync()?;
        if let Some(partial) = &self.partial {
            let named = fs::rename(partial, &self.path);
            named.map_err(|error| SortError::system(&self.path, "take its name", error))?;
            self.partial = None;
            let folder = folder(&self.path);
            let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| SortError::system(folder, "make it durable", error))?;
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // A failure to remove the file cannot be reported here.
            let _ = fs::remove_file(partial);
        }
    }
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes unfinished outputs of killed sorts with the same output.
fn remove_abandoned(folder: &Path, path: &Path) {
    let Some(name) = path.file_name() else { return };
    let mut start = name.as_encoded_bytes().to_vec();
    start.extend_from_slice(PARTIAL.as_bytes());
    remove_of_dead(folder, &start, 1);
}
