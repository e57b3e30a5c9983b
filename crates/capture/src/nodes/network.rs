//! The network namespace of a node, and the counters of its interfaces.

use super::options::NodeOptions;
use crate::error::CaptureError;
use crate::machine_counters::{ProcFile, interface_names as names, network};
use gordon_trace::{InterfaceInfo, LinkFacts, counted_links};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;

/// Where `ip netns` keeps the namespaces that have names.
const NAMED: &str = "/run/netns";

/// The counters of a network namespace. The open file keeps the namespace alive.
pub(super) struct NodeNetwork {
    devices: ProcFile,
    /// Whether an interface is counted, by its name.
    counted: BTreeMap<String, bool>,
    /// Identifies the namespace.
    pub(super) inode: u64,
}

impl NodeNetwork {
    /// Opens the counters of the node's namespace; `None` if it has none of its own, or if it is
    /// that of the first process, which is of the machine and not of a node.
    pub(super) fn open(root: &Path, options: &NodeOptions) -> Result<Option<Self>, CaptureError> {
        let inode = |path: &Path| fs::metadata(path).map(|found| found.ino());
        let (namespace, unknown) = match (&options.netns, options.network_process) {
            (None, None) => return Ok(None),
            (Some(name), _) => {
                let (node, namespace) = (options.name.clone(), name.clone());
                let path = Path::new(NAMED).join(name);
                (path, CaptureError::UnknownNamespace { node, namespace })
            }
            (None, Some(pid)) => {
                let node = options.name.clone();
                let path = root.join(format!("proc/{pid}/ns/net"));
                (path, CaptureError::UnknownProcess { node, pid })
            }
        };
        let Ok(own) = inode(&namespace) else { return Err(unknown) };
        // Only root may look into the first process.
        let of_machine =
            inode(&root.join("proc/1/ns/net")).or_else(|_| inode(&root.join("proc/self/ns/net")));
        if of_machine.is_ok_and(|of_machine| of_machine == own) {
            return Ok(None);
        }
        let opened = match options.network_process.filter(|_| options.netns.is_none()) {
            Some(pid) => ProcFile::open(&root.join(format!("proc/{pid}/net/dev"))),
            None => open_inside(namespace),
        };
        let devices = opened.map_err(|source| CaptureError::System {
            what: format!("the network namespace of {}", options.name),
            source,
        })?;
        Ok(Some(Self { devices, counted: BTreeMap::new(), inode: own }))
    }

    /// Received bytes, received packets, sent bytes and sent packets of the counted interfaces.
    pub(super) fn read(&mut self) -> Option<[u64; 4]> {
        let text = self.devices.read().ok()?;
        // Interfaces that come later are decided on with all that exist then; the others stay.
        let is_new = |name: &&str| !self.counted.contains_key(*name);
        if names(text).any(|name| is_new(&name)) {
            let counted = counted_names(text);
            for name in names(text) {
                let of_name = self.counted.entry(name.to_owned());
                of_name.or_insert_with(|| counted.contains(name));
            }
        }
        Some(network(text, |name| self.counted.get(name).copied().unwrap_or(false)))
    }

    /// The interfaces without the loopback. Their speed is known only inside of the namespace.
    pub(super) fn interfaces(&mut self) -> Vec<InterfaceInfo> {
        self.read();
        let found = self.counted.iter().filter(|(name, _)| *name != "lo");
        let info = found.map(|(name, counted)| InterfaceInfo {
            name: name.clone(),
            megabits: None,
            counted: *counted,
        });
        info.collect()
    }
}

/// The interfaces that do not carry the packets of others, by their names: a namespace of a node
/// has no `/sys` that can be read from outside, and its own link is the end of a pair.
fn counted_names(text: &str) -> BTreeSet<&str> {
    let links: Vec<LinkFacts<'_>> =
        names(text).map(|name| LinkFacts { name, ..LinkFacts::default() }).collect();
    counted_links(&links)
}

/// Opens the counters of a namespace without a process: in a thread that enters it and ends.
fn open_inside(namespace: PathBuf) -> io::Result<ProcFile> {
    let thread = thread::Builder::new().spawn(move || {
        let link = File::open(namespace)?;
        move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network))?;
        ProcFile::open(Path::new("/proc/thread-self/net/dev"))
    })?;
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_runs_containers_counts_its_own_link_once() {
        let text = |names: &[&str]| {
            let lines: String = names.iter().map(|name| format!(" {name}: 1 2 3\n")).collect();
            format!("Inter-|\n face |\n{lines}")
        };
        let own = text(&["lo", "eth0", "docker0", "veth1a2b3c"]);
        assert_eq!(counted_names(&own).into_iter().collect::<Vec<_>>(), ["eth0"]);
        let pair = text(&["lo", "veth-n1"]);
        assert_eq!(counted_names(&pair).into_iter().collect::<Vec<_>>(), ["veth-n1"]);
    }
}
