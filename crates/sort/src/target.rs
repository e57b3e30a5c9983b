//! The output: nobody sees it under its name before it is whole and durable.

use crate::SortError;
use crate::file::{File, Mode};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the name of an unfinished output has after the name of the output; the number of the process
/// that makes it follows.
const PARTIAL: &str = ".partial-";

/// The file that is written.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    file: Arc<File>,
    /// Its name until it is whole; none where it is written in its place.
    partial: Option<PathBuf>,
}

impl Target {
    pub fn new(
        path: &Path,
        mode: Mode,
        overwrite: bool,
        inputs: &[PathBuf],
    ) -> Result<Self, SortError> {
        let found = fs::canonicalize(path);
        if let Ok(found) = &found {
            if !found.is_file() {
                let hint = "a file's name";
                return Err(SortError::impossible(path.display(), "not a regular file", hint));
            }
            let same = |input: &PathBuf| fs::canonicalize(input).is_ok_and(|input| input == *found);
            if overwrite && inputs.iter().any(same) {
                let why = "it is the input too, and overwriting destroys it while it is read";
                let hint = "without overwriting: the new file takes its name when it is durable";
                return Err(SortError::impossible(path.display(), why, hint));
            }
        }
        // A link stays a link.
        let path = found.unwrap_or_else(|_| path.into());
        if overwrite && path.exists() {
            let file = Arc::new(File::open_to_write(&path, mode)?);
            return Ok(Self { path, file, partial: None });
        }
        remove_abandoned(&path);
        let mut name = path.clone().into_os_string();
        name.push(format!("{PARTIAL}{}", std::process::id()));
        let partial = PathBuf::from(name);
        let file = Arc::new(File::create(&partial, mode)?);
        if let Ok(old) = fs::metadata(&path) {
            // Who may read the old one may read the new one.
            let _ = fs::set_permissions(&partial, old.permissions());
        }
        Ok(Self { path, file, partial: Some(partial) })
    }

    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Makes it durable, then gives it its name.
    pub fn keep(mut self) -> Result<(), SortError> {
        self.file.sync()?;
        if let Some(partial) = self.partial.take() {
            let named = fs::rename(&partial, &self.path);
            named.map_err(|error| SortError::system(&self.path, "take its name", error))?;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| SortError::system(folder, "make it durable", error))?;
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // There is nobody left to hear that it could not be.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Removes what sorts to the same output left when they were killed.
fn remove_abandoned(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        let process = rest
            .and_then(|rest| rest.strip_prefix(PARTIAL.as_bytes()))
            .and_then(|rest| std::str::from_utf8(rest).ok()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            // Another sort may have been quicker.
            let _ = fs::remove_file(entry.path());
        }
    }
}
