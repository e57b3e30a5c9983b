//! Names of the objects that capture creates in the kernel (tracer instances, control groups). A
//! name identifies its process, so that objects of a killed process are recognized and removed.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "gordon-";

/// Process number and start time, which together are unique, and a serial number within the
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerTag {
    pid: u32,
    /// Start time in clock ticks since boot.
    started: u64,
    serial: u32,
}

impl OwnerTag {
    pub(crate) fn current() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Self { pid, started: started(pid).unwrap_or(0), serial }
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let (pid, started, serial) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
            serial: serial.parse().ok()?,
        })
    }

    fn is_alive(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

impl fmt::Display for OwnerTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}-{}-{}", self.pid, self.started, self.serial)
    }
}

fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything. The state is the first field after it, the
    // start time is 19 fields further.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Removes the folders in `dir` that belong to processes which have ended. A process in another PID
/// namespace looks as if it had ended, but the kernel refuses to remove a folder in use.
pub(crate) fn remove_stale(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(OwnerTag::parse).is_some_and(|name| !name.is_alive()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_ended_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let alive = OwnerTag::current().to_string();
        let keep = [alive.as_str(), "gordon", "gordon-x-1-0", "other-1-1-0"];
        let reused = format!("gordon-{}-1-0", std::process::id());
        for name in keep.iter().copied().chain(["gordon-4194999-5-0", &reused]) {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        remove_stale(dir.path());
        let mut left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        let mut expected = keep.map(std::ffi::OsString::from);
        expected.sort();
        assert_eq!(left, expected);
    }
}
