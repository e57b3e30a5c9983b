//! The processes of the command: their number, their I/O, and, without a control group, their CPU
//! time and memory.
//!
//! The kernel adds the counters of a process to those of its parent when the parent waits for it,
//! so the sum over the living processes includes the ended ones. Orphans become children of this
//! process, which is a subreaper; it reads their counters before it waits for them. Not covered:
//! children of a process that ignores SIGCHLD, and of processes outside the tree.

use crate::cgroup::ControlGroup;
use gordon_units::{Bytes, Ns};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Totals of the tree since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeTotals {
    pub(crate) cpu: Ns,
    pub(crate) read: Bytes,
    pub(crate) written: Bytes,
    /// Bytes that read calls returned, from files or elsewhere.
    pub(crate) returned: Bytes,
}

/// Totals and gauges of the tree at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TreeReading {
    pub(crate) totals: TreeTotals,
    pub(crate) resident: Bytes,
    /// Resident pages that are neither of files nor shared.
    pub(crate) anonymous: Bytes,
    pub(crate) processes: u32,
    /// Number of processes whose I/O counters may not be read.
    pub(crate) hidden: u32,
}

/// The tree of processes below one process.
pub(crate) struct ProcessTree {
    root: u32,
    /// Children that this process had before the command started.
    earlier_children: BTreeSet<u32>,
    /// Totals of the orphans that this process has waited for.
    reaped: TreeTotals,
    /// The largest totals returned so far. A process between its end and its parent's wait is
    /// missing from the sum for a moment, and the totals must not decrease.
    largest: TreeTotals,
    mappings: Mappings,
    tick: u64,
    page: u64,
}

impl ProcessTree {
    /// The children of this process before the command starts. They do not belong to the tree.
    pub(crate) fn earlier_children() -> BTreeSet<u32> {
        own_children().into_iter().collect()
    }

    pub(crate) fn new(root: u32, earlier_children: BTreeSet<u32>) -> Self {
        Self {
            root,
            earlier_children,
            reaped: TreeTotals::default(),
            largest: TreeTotals::default(),
            mappings: Mappings::default(),
            tick: 1_000_000_000 / rustix::param::clock_ticks_per_second(),
            page: rustix::param::page_size() as u64,
        }
    }

    /// Moves all processes of the tree into `group`, including those that start during the move.
    pub(crate) fn enter(&self, group: &ControlGroup) -> std::io::Result<()> {
        let mut moved = BTreeSet::new();
        loop {
            let new: Vec<u32> = self.walk().into_iter().filter(|pid| moved.insert(*pid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            new.into_iter().try_for_each(|pid| group.add(pid))?;
        }
    }

    /// Reads all processes. The members of `group` are used if it has any, otherwise the tree is
    /// walked. Resident memory is read only if no group counts memory by kind.
    pub(crate) fn read(&mut self, group: Option<&ControlGroup>) -> TreeReading {
        self.reap();
        let members = group.and_then(ControlGroup::members);
        let wants_resident = wants_resident(group);
        let mut members = members.unwrap_or_else(|| self.walk());
        // A zombie is not in the group, but its counters are still part of the sum.
        if !members.contains(&self.root) {
            members.push(self.root);
        }
        let mut reading = TreeReading { totals: self.reaped, ..TreeReading::default() };
        for &pid in &members {
            let Some(stat) = stat(pid, self.tick) else { continue };
            reading.processes += u32::from(!stat.zombie);
            reading.totals.cpu += stat.cpu;
            match io(pid) {
                Ok(io) => {
                    reading.totals.read += io.read;
                    reading.totals.written += io.written;
                    reading.totals.returned += io.returned;
                }
                Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => reading.hidden += 1,
                Err(_) => {}
            }
            if wants_resident {
                let [resident, anonymous] = resident(pid, self.page);
                reading.resident += resident;
                reading.anonymous += anonymous;
            }
        }
        let (largest, now) = (&mut self.largest, reading.totals);
        largest.cpu = largest.cpu.max(now.cpu);
        largest.read = largest.read.max(now.read);
        largest.written = largest.written.max(now.written);
        largest.returned = largest.returned.max(now.returned);
        reading.totals = *largest;
        // More was fetched than is explained by what was requested so far. Mappings are read only
        // now, because a process may have thousands of them.
        if self.is_unexplained() {
            for pid in members {
                let maps = fs::read_to_string(format!("/proc/{pid}/maps"));
                self.mappings.add(&maps.unwrap_or_default());
            }
        }
        reading
    }

    fn is_unexplained(&self) -> bool {
        self.largest.read > self.largest.returned + self.mappings.mapped()
    }

    /// Whether what was fetched was never compared with the mappings, although it is more than what
    /// was returned: the tree ended before the first sample.
    pub(crate) fn has_unread_mappings(&self) -> bool {
        self.is_unexplained() && !self.mappings.is_read
    }

    /// What the tree requested of files other than by read calls, as far as it was looked up.
    pub(crate) fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    /// Bytes fetched and returned so far.
    pub(crate) fn totals(&self) -> TreeTotals {
        self.largest
    }

    /// Adds the counters of ended orphans to the totals, and waits for these processes.
    fn reap(&mut self) {
        for pid in self.adopted() {
            let ended = |options| {
                let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | options;
                waitid(WaitId::Pid(pid), options).ok()?
            };
            if ended(WaitIdOptions::NOWAIT).is_some() {
                self.reaped.cpu += stat(pid, self.tick).map_or(Ns::ZERO, |s| s.cpu);
                let io = io(pid).unwrap_or_default();
                self.reaped.read += io.read;
                self.reaped.written += io.written;
                self.reaped.returned += io.returned;
                ended(WaitIdOptions::empty());
            }
        }
    }

    /// The orphans of the tree, which have become children of this process.
    fn adopted(&self) -> Vec<u32> {
        let mut children = own_children();
        children.retain(|pid| *pid != self.root && !self.earlier_children.contains(pid));
        children
    }

    fn walk(&self) -> Vec<u32> {
        descendants([self.root].into_iter().chain(self.adopted()))
    }
}

/// Processes and all their descendants, each once.
pub(crate) fn descendants(roots: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut known = BTreeSet::new();
    let mut all: Vec<u32> = roots.into_iter().filter(|pid| known.insert(*pid)).collect();
    let parents = (!has_children_files()).then(parents);
    let mut at = 0;
    while at < all.len() {
        let children = match &parents {
            Some(parents) => parents.get(&all[at]).cloned().unwrap_or_default(),
            None => children(all[at]),
        };
        all.extend(children.into_iter().filter(|pid| known.insert(*pid)));
        at += 1;
    }
    all
}

fn own_children() -> Vec<u32> {
    let own = std::process::id();
    if has_children_files() { children(own) } else { parents().remove(&own).unwrap_or_default() }
}

/// Whether the kernel lists the children of a thread (`CONFIG_PROC_CHILDREN`).
fn has_children_files() -> bool {
    fs::exists("/proc/thread-self/children").unwrap_or(false)
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(text.split_ascii_whitespace().filter_map(|p| p.parse::<u32>().ok()));
    }
    children
}

/// The children of every process of the machine, by parent.
fn parents() -> BTreeMap<u32, Vec<u32>> {
    let mut parents: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((pid, stat)) = pid.and_then(|pid| Some((pid, stat(pid, 1)?))) {
            parents.entry(stat.parent).or_default().push(pid);
        }
    }
    parents
}

pub(crate) struct ProcessStat {
    pub(crate) zombie: bool,
    pub(crate) parent: u32,
    /// CPU time, with that of the children it has waited for.
    pub(crate) cpu: Ns,
    /// Start, in ticks since the boot; with the number it identifies the process.
    pub(crate) started: u64,
}

pub(crate) fn stat(pid: u32, tick: u64) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, tick)
}

/// Format: `pid (name) state parent ...`. The 12th to 15th fields after the name are the user and
/// system times of the process and of the children it has waited for; the 20th is the start.
fn parse_stat(text: &str, tick: u64) -> Option<ProcessStat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let times = fields.get(11..15)?.iter().map(|f| f.parse::<u64>().unwrap_or(0));
    Some(ProcessStat {
        zombie: matches!(fields[0], "Z" | "X"),
        parent: fields[1].parse().ok()?,
        cpu: Ns(times.sum::<u64>() * tick),
        started: fields.get(19).and_then(|f| f.parse().ok()).unwrap_or(0),
    })
}

/// The most distinct files whose mappings are kept.
const MOST_MAPPED: usize = 1 << 16;

/// Files that processes had mapped, and other ways to read that the kernel's counters lack.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    /// End of the mapped part of each file, by device and inode.
    files: BTreeMap<(String, u64), u64>,
    /// Whether a process had a ring of io_uring, or a context of Linux AIO.
    pub(crate) is_asynchronous: bool,
    /// Whether there were more files than are kept.
    pub(crate) is_partial: bool,
    /// Whether the mappings of any process were read.
    is_read: bool,
}

impl Mappings {
    /// Bytes of the distinct files, each up to the end of its mapped part.
    pub(crate) fn mapped(&self) -> Bytes {
        Bytes(self.files.values().fold(0, |sum, size| sum.saturating_add(*size)))
    }

    /// Adds the text of `/proc/PID/maps`: `start-end perms offset device inode path`.
    fn add(&mut self, text: &str) {
        // An ended process has none.
        self.is_read |= !text.is_empty();
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (range, offset) = (fields.next(), fields.nth(1));
            let (device, inode, path) = (fields.next(), fields.next(), fields.next());
            let Some(path) = path else { continue };
            if path.starts_with("anon_inode:[io_uring]") || path.starts_with("/[aio]") {
                self.is_asynchronous = true;
                continue;
            }
            // Shared memory is not read from storage.
            let is_memory = ["/memfd:", "/SYSV", "/dev/"].iter().any(|of| path.starts_with(of));
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            let end = || {
                let (start, end) = range?.split_once('-')?;
                hex(offset?)?.checked_add(hex(end)?.checked_sub(hex(start)?)?)
            };
            let file = device.zip(inode.and_then(|inode| inode.parse::<u64>().ok()));
            let (Some((device, inode @ 1..)), Some(end), false) = (file, end(), is_memory) else {
                continue;
            };
            if self.files.len() >= MOST_MAPPED {
                self.is_partial = true;
                return;
            }
            let known = self.files.entry((device.to_owned(), inode)).or_default();
            *known = end.max(*known);
        }
    }
}

/// Totals of `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessIo {
    pub(crate) read: Bytes,
    pub(crate) written: Bytes,
    pub(crate) returned: Bytes,
}

/// Bytes read and written by a process and by the children it has waited for.
pub(crate) fn io(pid: u32) -> std::io::Result<ProcessIo> {
    fs::read_to_string(format!("/proc/{pid}/io")).map(|text| parse_io(&text))
}

fn parse_io(text: &str) -> ProcessIo {
    let field = |key| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        Bytes(line.and_then(|n| n.trim().parse().ok()).unwrap_or(0))
    };
    ProcessIo {
        read: field("read_bytes:"),
        written: field("write_bytes:"),
        returned: field("rchar:"),
    }
}

/// Whether the resident pages of processes are needed: the group does not count them by kind.
pub(crate) fn wants_resident(group: Option<&ControlGroup>) -> bool {
    group.is_none_or(|group| group.memory().is_none() || group.memory_kinds().is_none())
}

/// Resident pages of a process, and those that are neither of files nor shared.
pub(crate) fn resident(pid: u32, page: u64) -> [Bytes; 2] {
    statm(&fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default(), page)
}

/// Format: `size resident shared ...`, in pages.
fn statm(text: &str, page: u64) -> [Bytes; 2] {
    let pages = |at| text.split(' ').nth(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let (resident, shared) = (pages(1), pages(2));
    [resident, resident.saturating_sub(shared)].map(|pages| Bytes(pages * page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_parentheses() {
        let text = "42 (a) b) (c) S 7 1 1 0 -1 4194304 90 0 0 0 11 22 33 44 20 0 1 0 900 1 1";
        let stat = parse_stat(text, 10_000_000).unwrap();
        assert_eq!((stat.zombie, stat.parent, stat.cpu), (false, 7, Ns(1_100_000_000)));
        assert_eq!(stat.started, 900);
        assert!(parse_stat("42 (cut) S 7", 1).is_none());
    }

    #[test]
    fn pages_of_files_and_shared_ones_are_not_anonymous() {
        assert_eq!(statm("900 100 30 1 0 60 0\n", 4096), [Bytes(409_600), Bytes(286_720)]);
        assert_eq!(statm("", 4096), [Bytes::ZERO; 2]);
    }

    #[test]
    fn io_of_a_process() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 1\n";
        let io = ProcessIo { read: Bytes(4096), written: Bytes(8192), returned: Bytes(1) };
        assert_eq!(parse_io(text), io);
    }

    #[test]
    fn a_mapped_file_counts_once_up_to_the_end_of_its_mapped_part() {
        let mut mappings = Mappings::default();
        let library = "\
            7f0000000000-7f0000002000 r--p 00000000 fe:00 77 /usr/lib/libc.so.6\n\
            7f0000002000-7f0000005000 r-xp 00002000 fe:00 77 /usr/lib/libc.so.6\n\
            7f0000006000-7f0000007000 rw-p 00000000 00:00 0 [heap]\n\
            7f0000007000-7f0000008000 rw-p 00000000 00:00 0\n\
            7f0000008000-7f0000009000 rw-s 00000000 00:01 9 /memfd:code (deleted)\n\
            7f0000010000-7f0000011000 rw-s 00000000 00:05 8 /dev/zero (deleted)\n";
        mappings.add(library);
        mappings.add(library);
        assert_eq!(mappings.mapped(), Bytes(0x5000));
        mappings.add("7f0000000000-7f0000001000 r--s 00000000 fe:01 77 /data/with a space\n");
        assert_eq!(mappings.mapped(), Bytes(0x6000));
        assert!(!mappings.is_asynchronous && !mappings.is_partial && mappings.is_read);
    }

    #[test]
    fn rings_of_asynchronous_reads_are_detected() {
        for line in [
            "7f0000000000-7f0000002000 rw-s 00000000 00:0e 1036 anon_inode:[io_uring]",
            "7f0000000000-7f0000002000 rw-s 00000000 00:0f 1036 /[aio] (deleted)",
        ] {
            let mut mappings = Mappings::default();
            mappings.add(line);
            assert!(mappings.is_asynchronous, "{line}");
            assert_eq!(mappings.mapped(), Bytes::ZERO);
        }
    }

    #[test]
    fn the_number_of_mapped_files_is_bounded() {
        let mut mappings = Mappings::default();
        let line = |inode| format!("0-1000 r--p 00000000 fe:00 {inode} /f\n");
        mappings.add(&(1..=MOST_MAPPED + 1).map(line).collect::<String>());
        assert_eq!((mappings.files.len(), mappings.is_partial), (MOST_MAPPED, true));
    }
}
