//! Reads events from an instance of the kernel's tracer: binary pages from the buffer of each CPU.

use super::format::{BlockEvent, EventFormats, PageFormat};
use super::ring;
use super::source::{EventSource, FULL_PERCENT, MAX_QUEUED, buffer_kb};
use super::tracefs::{EVENTS, REQUEUE, Tracefs};
use crate::owner_tag::{self, OwnerTag};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

pub(crate) struct TracefsInstance {
    pipes: Vec<File>,
    formats: EventFormats,
    page_format: PageFormat,
    page: Vec<u8>,
    // Dropped last: the folder can be removed only when none of its files is open.
    folder: InstanceFolder,
}

impl TracefsInstance {
    /// Creates an instance and enables the events; those of other devices than `devices` only if
    /// the kernel refuses to filter.
    pub(crate) fn open(devices: Option<&[u32]>) -> Result<Self, String> {
        let tracefs = Tracefs::find()?;
        let (formats, page_format) = (tracefs.formats()?, tracefs.page_format()?);
        let folder = InstanceFolder::create(tracefs)?;
        let cpus = folder.cpus()?;
        folder.start(buffer_kb(cpus.len()), devices)?;
        let pipes = cpus.iter().map(|cpu| folder.pipe(*cpu)).collect::<Result<_, _>>()?;
        Ok(Self { pipes, formats, page_format, page: vec![0; page_format.page], folder })
    }
}

impl EventSource for TracefsInstance {
    fn how(&self) -> &'static str {
        "block_rq_issue and block_rq_complete of tracefs"
    }

    fn queues(&self) -> usize {
        self.pipes.len()
    }

    fn read(&mut self, queue: usize, events: &mut Vec<BlockEvent>) -> bool {
        while events.len() < MAX_QUEUED {
            let len = match self.pipes[queue].read(&mut self.page) {
                Ok(0) => return true,
                Ok(len) => len,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                // The buffer is empty, or the CPU is offline.
                Err(_) => return true,
            };
            // A malformed page is skipped as a whole. Its events then count as lost, which is
            // better than events that never happened.
            let _ = ring::entries(&self.page[..len], self.page_format, |at, record| {
                if let Some(event) = self.formats.event(at, record) {
                    events.push(event);
                }
            });
            if len < self.page.len() {
                return true;
            }
        }
        false
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.pipes.iter().map(File::as_fd).collect()
    }

    /// Events that were overwritten before they were read, or never stored.
    fn finish(&mut self) -> u64 {
        (0..self.pipes.len())
            .filter_map(|cpu| fs::read_to_string(self.folder.per_cpu(cpu, "stats")).ok())
            .map(|stats| lost(&stats))
            .sum()
    }
}

/// The folder of the instance in tracefs, removed when dropped.
struct InstanceFolder {
    dir: PathBuf,
    _tracefs: Tracefs,
}

impl InstanceFolder {
    fn create(tracefs: Tracefs) -> Result<Self, String> {
        remove_stale(tracefs.dir());
        let dir = tracefs.dir().join("instances").join(OwnerTag::current().to_string());
        fs::create_dir(&dir).map_err(|e| format!("tracefs gives no instance: {e}"))?;
        Ok(Self { dir, _tracefs: tracefs })
    }

    fn cpus(&self) -> Result<Vec<usize>, String> {
        let dir = self.dir.join("per_cpu");
        let entries = fs::read_dir(&dir).map_err(|e| format!("tracefs has no per_cpu: {e}"))?;
        let mut cpus: Vec<usize> = entries
            .filter_map(|e| e.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    /// Sets the clock and the buffers, and enables the events.
    fn start(&self, buffer_kb: usize, devices: Option<&[u32]>) -> Result<(), String> {
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &buffer_kb.to_string())?;
        // Kernels before 5.0 lack this file. The default of the others is one half.
        let _ = self.write("buffer_percent", &FULL_PERCENT.to_string());
        let filter = devices.map(filter);
        for (i, event) in EVENTS.iter().enumerate() {
            if let Some(filter) = &filter {
                let _ = self.write(&format!("events/block/{event}/filter"), filter);
            }
            match self.write(&format!("events/block/{event}/enable"), "1") {
                Err(why) if i != REQUEUE => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens the pages of one CPU for reads that do not block.
    fn pipe(&self, cpu: usize) -> Result<File, String> {
        let path = self.per_cpu(cpu, "trace_pipe_raw");
        let open = || -> std::io::Result<File> {
            let file = File::open(&path)?;
            fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
            Ok(file)
        };
        open().map_err(|e| format!("tracefs has no trace_pipe_raw of CPU {cpu}: {e}"))
    }

    fn per_cpu(&self, cpu: usize, file: &str) -> PathBuf {
        self.dir.join(format!("per_cpu/cpu{cpu}/{file}"))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        fs::write(self.dir.join(file), text).map_err(|e| format!("tracefs refuses {file}: {e}"))
    }
}

impl Drop for InstanceFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// The kernel's expression for the events of these devices, whose numbers have its own form.
fn filter(devices: &[u32]) -> String {
    let one = |device: &u32| format!("dev == {device}");
    devices.iter().map(one).collect::<Vec<_>>().join(" || ")
}

fn lost(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| ["overrun", "commit overrun", "dropped events"].contains(name))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// Removes the instances of captures that have ended. The kernel refuses to remove one in use.
fn remove_stale(tracefs: &Path) {
    owner_tag::remove_stale(&tracefs.join("instances"));
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_filter_has_all_devices() {
        assert_eq!(super::filter(&[7 << 20 | 3, 8 << 20]), "dev == 7340035 || dev == 8388608");
    }

    #[test]
    fn all_kinds_of_lost_events_are_added() {
        let stats = "entries: 3\noverrun: 20\ncommit overrun: 1\nbytes: 9\noldest event ts: 1.0\n\
                     dropped events: 300\nread events: 7\n";
        assert_eq!(super::lost(stats), 321);
    }
}
