//! Finds tracefs, in which the kernel describes its events. If tracefs is not mounted, a detached
//! mount is created, which is visible to no other process and ends with its last open file.

use super::format::{EventFormats, PageFormat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

pub(crate) const EVENTS: [&str; 3] = ["block_rq_issue", "block_rq_complete", "block_rq_requeue"];
/// Index of the event that older kernels lack.
pub(crate) const REQUEUE: usize = 2;

pub(crate) struct Tracefs {
    dir: PathBuf,
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Opens tracefs where it is mounted, otherwise through a detached mount.
    pub(crate) fn find() -> Result<Self, String> {
        let mounted = Path::new("/sys/kernel/tracing");
        match fs::metadata(mounted.join("events/block")) {
            Ok(_) => return Ok(Self { dir: mounted.to_owned(), _mount: None }),
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
        let dir = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        match fs::metadata(dir.join("events/block")) {
            Ok(_) => Ok(Self { dir, _mount: Some(mount) }),
            Err(e) => Err(format!("the kernel has no block events: {e}")),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn formats(&self) -> Result<EventFormats, String> {
        let of = |event| self.read(&format!("block/{event}/format"));
        let (issue, complete) = (of(EVENTS[0])?, of(EVENTS[1])?);
        let requeue = of(EVENTS[REQUEUE]).ok();
        EventFormats::parse(&issue, &complete, requeue.as_deref())
            .ok_or_else(|| "the kernel's block events have an unknown layout".to_owned())
    }

    pub(crate) fn page_format(&self) -> Result<PageFormat, String> {
        PageFormat::parse(&self.read("header_page")?)
            .ok_or_else(|| "the kernel's trace pages have an unknown layout".to_owned())
    }

    /// Reads a file with one call: a second read of `header_page` returns nothing.
    fn read(&self, file: &str) -> Result<String, String> {
        let mut text = vec![0; 1 << 16];
        File::open(self.dir.join("events").join(file))
            .and_then(|mut file| file.read(&mut text))
            .map(|len| String::from_utf8_lossy(&text[..len]).into_owned())
            .map_err(|e| format!("tracefs has no events/{file}: {e}"))
    }
}
