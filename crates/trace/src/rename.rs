//! Renames of complete files and folders, which never replace what another program has made.

use std::io;
use std::path::Path;

/// Renames `from` to `to`; an error of the kind `AlreadyExists` if there is a `to`.
#[cfg(unix)]
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, rename, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system does not support the flag.
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(rename(from, to)?),
        renamed => Ok(renamed?),
    }
}

/// Renames `from` to `to`; an error of the kind `AlreadyExists` if there is a `to`.
#[cfg(not(unix))]
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

/// Gives `to` the name `from` and the other way round.
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
    // The file system cannot do it at once: for a moment there is no `to`.
    let mut name = from.file_name().unwrap_or_default().to_owned();
    name.push("-old");
    let old = from.with_file_name(name);
    std::fs::rename(to, &old)?;
    std::fs::rename(from, to)?;
    std::fs::rename(&old, from)
}
