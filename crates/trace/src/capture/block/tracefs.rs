//! An own instance of the kernel's tracer. tracefs need not be mounted: it is opened as a mount
//! that has no place in any name space and goes away with its last file.

use super::format::Formats;
use crate::capture::own::{self, OwnName};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

const EVENTS: [&str; 3] = ["block_rq_issue", "block_rq_complete", "block_rq_requeue"];
const REQUEUE: usize = 2;

/// An instance, removed when dropped.
pub(crate) struct Instance {
    dir: PathBuf,
    tracefs: PathBuf,
    _mount: Option<OwnedFd>,
}

impl Instance {
    pub(crate) fn create() -> Result<Self, String> {
        let (tracefs, mount) = find()?;
        remove_stale(&tracefs);
        let dir = tracefs.join("instances").join(OwnName::current().to_string());
        fs::create_dir(&dir).map_err(|e| format!("tracefs gives no instance: {e}"))?;
        Ok(Self { dir, tracefs, _mount: mount })
    }

    pub(crate) fn formats(&self) -> Result<Formats, String> {
        // In one read: `header_page` has nothing to say to a second one.
        let read = |file: String| {
            let mut text = vec![0; 1 << 16];
            File::open(self.tracefs.join("events").join(&file))
                .and_then(|mut file| file.read(&mut text))
                .map(|len| String::from_utf8_lossy(&text[..len]).into_owned())
                .map_err(|e| format!("tracefs has no events/{file}: {e}"))
        };
        let page = read("header_page".to_owned())?;
        let of = |event| read(format!("block/{event}/format"));
        let (issue, complete) = (of(EVENTS[0])?, of(EVENTS[1])?);
        let requeue = of(EVENTS[REQUEUE]).ok();
        Formats::parse(&page, &issue, &complete, requeue.as_deref())
            .ok_or_else(|| "the kernel's block events have an unknown layout".to_owned())
    }

    pub(crate) fn cpus(&self) -> Result<Vec<usize>, String> {
        let dir = self.dir.join("per_cpu");
        let entries = fs::read_dir(&dir).map_err(|e| format!("tracefs has no per_cpu: {e}"))?;
        let mut cpus: Vec<usize> = entries
            .filter_map(|e| e.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    /// Sets clock and buffers, and turns the events on.
    pub(crate) fn start(&self, buffer_kb: usize) -> Result<(), String> {
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &buffer_kb.to_string())?;
        for (i, event) in EVENTS.iter().enumerate() {
            match self.write(&format!("events/block/{event}/enable"), "1") {
                Err(why) if i != REQUEUE => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }

    /// The pages of one CPU; reading never waits.
    pub(crate) fn pipe(&self, cpu: usize) -> Result<File, String> {
        let path = self.per_cpu(cpu, "trace_pipe_raw");
        let open = || -> std::io::Result<File> {
            let file = File::open(&path)?;
            fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
            Ok(file)
        };
        open().map_err(|e| format!("tracefs has no trace_pipe_raw of CPU {cpu}: {e}"))
    }

    /// Events thrown away so far: overwritten before they were read, or never stored.
    pub(crate) fn lost(&self, cpus: usize) -> u64 {
        (0..cpus)
            .filter_map(|cpu| fs::read_to_string(self.per_cpu(cpu, "stats")).ok())
            .map(|stats| lost(&stats))
            .sum()
    }

    fn per_cpu(&self, cpu: usize, file: &str) -> PathBuf {
        self.dir.join(format!("per_cpu/cpu{cpu}/{file}"))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        fs::write(self.dir.join(file), text).map_err(|e| format!("tracefs refuses {file}: {e}"))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

fn lost(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| ["overrun", "commit overrun", "dropped events"].contains(name))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// tracefs where it is mounted, else through a mount of our own.
fn find() -> Result<(PathBuf, Option<OwnedFd>), String> {
    let mounted = Path::new("/sys/kernel/tracing");
    match fs::metadata(mounted.join("events/block")) {
        Ok(_) => return Ok((mounted.to_owned(), None)),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            return Err("tracefs is for root alone".to_owned());
        }
        Err(_) => {}
    }
    let mount = || {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    let mount: OwnedFd = mount().map_err(|e| match e {
        rustix::io::Errno::PERM => "only root may open tracefs".to_owned(),
        other => format!("tracefs cannot be opened: {other}"),
    })?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
    match fs::metadata(path.join("events/block")) {
        Ok(_) => Ok((path, Some(mount))),
        Err(e) => Err(format!("the kernel has no block events: {e}")),
    }
}

/// Removes the instances of capture processes that are gone. One in use refuses to go.
pub(crate) fn remove_stale(tracefs: &Path) {
    own::remove_stale(&tracefs.join("instances"));
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_was_lost() {
        let stats = "entries: 3\noverrun: 20\ncommit overrun: 1\nbytes: 9\noldest event ts: 1.0\n\
                     dropped events: 300\nread events: 7\n";
        assert_eq!(super::lost(stats), 321);
    }
}
