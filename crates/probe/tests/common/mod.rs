//! A folder on real storage.

use gordon_probe::{Access, Target};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder on a file system with direct I/O of 4 KiB; `None` if the machine has none. The folder
/// of the build is tried first, because the folder for temporary files is often in memory.
pub fn folder(test: &str) -> Option<TempDir> {
    let places = [PathBuf::from(env!("CARGO_TARGET_TMPDIR")), std::env::temp_dir()];
    for place in places {
        let folder = tempfile::tempdir_in(place).expect("a folder");
        let file = folder.path().join("looked-at");
        fs::write(&file, [1; 4096]).expect("a file");
        let opened = Target::open(&file, Access::ReadOnly);
        fs::remove_file(&file).expect("it was there");
        if opened.is_ok_and(|target| target.sector() <= 4096) {
            return Some(folder);
        }
    }
    gordon_testkit::skipped(&format!("{test}: no file system with direct I/O of 4 KiB"));
    None
}
