//! Renames of complete files and folders, which never replace what another program has made.

use std::io;
use std::path::Path;

/// Renames `from` to `to`.
///
/// # Errors
/// An error of the kind `AlreadyExists` if `to` exists.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    checked_rename(from, to)
}

/// The same where the file system cannot check and rename in one step.
fn checked_rename(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

/// Exchanges the names of two files or folders.
pub fn exchange(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOTSUP) => {}
            exchanged => return Ok(exchanged?),
        }
    }
    exchange_in_steps(from, to)
}

/// The same where the file system cannot exchange names: for a moment `to` does not exist.
fn exchange_in_steps(from: &Path, to: &Path) -> io::Result<()> {
    let mut name = from.file_name().unwrap_or_default().to_owned();
    name.push("-old");
    let old = from.with_file_name(name);
    std::fs::rename(to, &old)?;
    std::fs::rename(from, to)?;
    std::fs::rename(&old, from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with two files, whose contents are their names.
    fn two() -> (tempfile::TempDir, [std::path::PathBuf; 2]) {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a", "b"].map(|name| folder.path().join(name));
        for file in &files {
            fs::write(file, file.file_name().expect("a name").as_encoded_bytes()).expect("a file");
        }
        (folder, files)
    }

    #[test]
    fn a_rename_replaces_nothing() {
        for rename in [rename_new, checked_rename] {
            let (folder, [a, b]) = two();
            let refused = rename(&a, &b).expect_err("`b` exists");
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&b).expect("`b`"), b"b");
            rename(&a, &folder.path().join("c")).expect("no `c` exists");
            assert!(!a.exists());
        }
    }

    #[test]
    fn an_exchange_keeps_both() {
        for exchange in [exchange, exchange_in_steps] {
            let (folder, [a, b]) = two();
            exchange(&a, &b).expect("both exist");
            assert_eq!([&a, &b].map(|file| fs::read(file).expect("a file")), [b"b", b"a"]);
            assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
        }
    }
}
