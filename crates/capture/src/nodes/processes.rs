//! The processes of a node: their I/O and, without a control group, their CPU time and memory.
//!
//! The kernel adds the counters of a process to those of its parent when the parent waits for it.
//! The parent of some processes of a node is outside, and takes their counters away. So the last
//! values of a process that has gone are kept, unless its parent is of the node and still there.

use crate::cgroup::ControlGroup;
use crate::process_tree::{
    ProcessStat, TreeReading, TreeTotals, descendants, io, resident, stat, wants_resident,
};
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// A process at its last reading.
#[derive(Clone, Copy, Debug)]
struct KnownProcess {
    parent: u32,
    started: u64,
    totals: TreeTotals,
}

/// Reads the processes of a node.
pub(super) struct NodeProcesses {
    roots: Vec<u32>,
    known: BTreeMap<u32, KnownProcess>,
    /// Whether the processes have been read before: `known` then has the roots too.
    is_read: bool,
    /// Totals of processes that have gone.
    gone: TreeTotals,
    /// The largest totals returned so far. A process between its end and its parent's wait is
    /// missing from the sum for a moment, and the totals must not decrease.
    largest: TreeTotals,
    tick: u64,
    page: u64,
}

impl NodeProcesses {
    /// The descendants of `roots`, or the members of the control group that is given to
    /// [`read`](Self::read).
    pub(super) fn new(roots: Vec<u32>) -> Self {
        Self {
            roots,
            known: BTreeMap::new(),
            is_read: false,
            gone: TreeTotals::default(),
            largest: TreeTotals::default(),
            tick: 1_000_000_000 / rustix::param::clock_ticks_per_second(),
            page: rustix::param::page_size() as u64,
        }
    }

    /// Reads all processes. Resident memory is read only if no group counts memory by kind.
    pub(super) fn read(&mut self, group: Option<&ControlGroup>) -> TreeReading {
        let wants_resident = wants_resident(group);
        let mut reading = TreeReading::default();
        let mut now = BTreeMap::new();
        for pid in self.members(group) {
            let Some(stat) = stat(pid, self.tick) else { continue };
            reading.processes += u32::from(!stat.zombie);
            let mut totals = TreeTotals { cpu: stat.cpu, ..TreeTotals::default() };
            match io(pid) {
                Ok(io) => {
                    (totals.read, totals.written) = (io.read, io.written);
                    totals.returned = io.returned;
                }
                Err(e) if e.kind() == ErrorKind::PermissionDenied => reading.hidden += 1,
                Err(_) => {}
            }
            if wants_resident {
                let [resident, anonymous] = resident(pid, self.page);
                reading.resident += resident;
                reading.anonymous += anonymous;
            }
            now.insert(pid, KnownProcess { parent: stat.parent, started: stat.started, totals });
        }
        self.keep_gone(&now);
        (self.known, self.is_read) = (now, true);
        let sum = self.known.values().fold(self.gone, |sum, process| add(sum, process.totals));
        let largest = &mut self.largest;
        largest.cpu = largest.cpu.max(sum.cpu);
        largest.read = largest.read.max(sum.read);
        largest.written = largest.written.max(sum.written);
        largest.returned = largest.returned.max(sum.returned);
        reading.totals = *largest;
        reading
    }

    fn members(&self, group: Option<&ControlGroup>) -> Vec<u32> {
        let is_same = |known: &KnownProcess, found: &ProcessStat| known.started == found.started;
        let known = self.known.iter().filter_map(|(pid, known)| {
            let found = stat(*pid, self.tick).filter(|found| is_same(known, found))?;
            Some((*pid, found))
        });
        match group {
            Some(group) => {
                let mut members = group.all_members().unwrap_or_default();
                // Zombies are not listed, but their counters are still part of the sum.
                members.extend(known.filter(|(_, found)| found.zombie).map(|(pid, _)| pid));
                members
            }
            None if self.is_read => {
                // An orphan is still of the node, although its new parent is not.
                descendants(known.map(|(pid, _)| pid))
            }
            None => descendants(self.roots.iter().copied()),
        }
    }

    fn keep_gone(&mut self, now: &BTreeMap<u32, KnownProcess>) {
        let is_here = |pid: u32, process: &KnownProcess| {
            now.get(&pid).is_some_and(|found| found.started == process.started)
        };
        for (pid, process) in &self.known {
            let parent = self.known.get(&process.parent);
            let is_waited_for = parent.is_some_and(|parent| is_here(process.parent, parent));
            if !is_here(*pid, process) && !is_waited_for {
                self.gone = add(self.gone, process.totals);
            }
        }
    }
}

fn add(one: TreeTotals, other: TreeTotals) -> TreeTotals {
    TreeTotals {
        cpu: one.cpu + other.cpu,
        read: one.read + other.read,
        written: one.written + other.written,
        returned: one.returned + other.returned,
    }
}
