//! The network namespace of a node, and the counters of its interfaces.

use super::options::NodeOptions;
use crate::error::CaptureError;
use crate::machine_counters::{ProcFile, network};
use gordon_trace::InterfaceInfo;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
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
    /// Identifies the namespace.
    pub(super) inode: u64,
}

impl NodeNetwork {
    /// Opens the counters of the node's namespace; `None` if it has none of its own, or if it is that
    /// of the first process, which is of the machine and not of a node.
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
        Ok(Some(Self { devices, inode: own }))
    }

    /// Received bytes, received packets, sent bytes and sent packets without the loopback.
    pub(super) fn read(&mut self) -> Option<[u64; 4]> {
        Some(network(self.devices.read().ok()?, |name| name != "lo"))
    }

    /// The interfaces without the loopback. Their speed is known only inside of the namespace.
    pub(super) fn interfaces(&mut self) -> Vec<InterfaceInfo> {
        let text = self.devices.read().unwrap_or_default();
        let names = text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()));
        let names = names.filter(|name| *name != "lo").map(str::to_owned);
        names.map(|name| InterfaceInfo { name, megabits: None, counted: true }).collect()
    }
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
