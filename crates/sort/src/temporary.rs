//! Temporary files: those without a name, and the removal of files that killed sorts have left.

use crate::SortError;
use crate::file::{CacheMode, SortFile};
use std::fs;
use std::path::Path;

/// Prefix of the names of temporary files, while they have names.
const SCRATCH: &str = ".gordon-sort-";

/// Creates an unnamed file in a folder, which the system removes when it is closed, however the
/// process ends.
pub fn scratch(folder: &Path, number: usize, mode: CacheMode) -> Result<SortFile, SortError> {
    remove_of_dead(existing(folder)?, SCRATCH.as_bytes(), 2);
    let path = folder.join(format!("{SCRATCH}{}-{number}", std::process::id()));
    let file = SortFile::create(&path, mode)?;
    let removed = fs::remove_file(&path);
    removed.map_err(|error| SortError::system(&path, "remove it", error))?;
    Ok(file)
}

/// Returns the folder if it exists, else an error.
pub fn existing(folder: &Path) -> Result<&Path, SortError> {
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(SortError::impossible(folder.display(), "there is no such folder", "make it (mkdir -p)"))
}

/// Removes files whose names are `start` followed by `numbers` numbers with dashes between, the
/// first of which is that of a process that no longer exists. Other files are not ours. Files with
/// the number of this process are removed if no process holds them: in containers every sort may
/// have the same process number.
pub fn remove_of_dead(folder: &Path, start: &[u8], numbers: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let process = found.as_encoded_bytes().strip_prefix(start).and_then(|rest| {
            let parts = rest.split(|&byte| byte == b'-');
            let parts: Option<Vec<u32>> =
                parts.map(|part| std::str::from_utf8(part).ok()?.parse().ok()).collect();
            parts.filter(|parts| parts.len() == numbers)?.first().copied()
        });
        let Some(process) = process else { continue };
        let ours = process == std::process::id();
        let lives = !ours && Path::new("/proc").join(process.to_string()).exists();
        if !lives && SortFile::is_free(&entry.path()) {
            // Another sort may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}
