//! A cluster as the `tasks` model needs it, and the time of a task on one of its nodes.

use super::cached::Recompute;
use super::demand::TaskDemand;
use super::memory::Held;
use super::scattered::conflict;
use super::speeds::Speeds;

/// A cluster of equal nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Number of nodes.
    pub nodes: u32,
    /// Nodes that keep each byte of output.
    pub replicas: u32,
    /// Whether tasks read the disks of all nodes.
    pub is_scattered: bool,
    /// Each of them.
    pub node: TaskNode,
}

impl Cluster {
    /// Seconds of reading the input of a task for each second that it takes from the disk of its
    /// own node.
    fn conflict(&self, demand: &TaskDemand) -> f64 {
        if !self.is_scattered {
            return 1.0;
        }
        let node = &self.node;
        let computing = (demand.work + demand.uncounted) / node.speeds.each(node.slots);
        let think = computing + demand.gc + demand.fetch;
        let readers = (self.nodes * node.slots).min(demand.peers);
        let secs = demand.moved[0] / node.storage[0];
        conflict(secs, think, f64::from(readers), f64::from(self.nodes))
    }
}

/// A node with its executors.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskNode {
    /// Its cores.
    pub speeds: Speeds,
    /// Bytes a second that its storage reads and writes.
    pub storage: [f64; 2],
    /// Bytes a second of its link, each way.
    pub network: f64,
    /// Tasks that it runs at a time.
    pub slots: u32,
    /// Tasks that each of its executors runs at a time.
    pub executor_slots: u32,
    /// What its memory holds.
    pub held: Held,
    /// Heap of a traced executor for each byte of an executor here.
    pub heap_ratio: f64,
    /// Speed of a lone thread of the traced node relative to this one.
    pub lone_ratio: f64,
    /// Seconds of the start of executors here for each recorded one.
    pub startup_ratio: f64,
    /// Seconds of the driver here for each recorded one.
    pub driver_ratio: f64,
}

/// What the time of a task, or of a job, is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Start of the executors.
    Startup,
    /// The driver, outside of stages.
    Driver,
    /// Scheduling of tasks.
    Scheduling,
    /// Computing that the engine counts.
    Compute,
    /// The first tasks of a stage in a slot.
    WarmUp,
    /// Computing that it does not count.
    Uncounted,
    /// Garbage collection.
    Gc,
    /// Shuffle data of other nodes.
    Network,
    /// Reads and writes.
    Disk,
    /// Reads and writes of spilled data.
    Spill,
    /// Computing and reading of cached blocks that were evicted.
    Recompute,
}

impl Part {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Driver => "driver",
            Self::Scheduling => "scheduling",
            Self::Compute => "compute",
            Self::WarmUp => "warm_up",
            Self::Uncounted => "uncounted",
            Self::Gc => "gc",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Spill => "spill",
            Self::Recompute => "recompute",
        }
    }
}

/// All parts, in the order of [`Parts`].
pub const PARTS: [Part; 11] = [
    Part::Startup,
    Part::Driver,
    Part::Scheduling,
    Part::Compute,
    Part::WarmUp,
    Part::Uncounted,
    Part::Gc,
    Part::Network,
    Part::Disk,
    Part::Spill,
    Part::Recompute,
];

/// Seconds by part.
pub type Parts = [f64; PARTS.len()];

/// A task on a node: what it needs of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TaskPhases {
    /// Seconds of scheduling.
    pub scheduling: f64,
    /// Seconds of garbage collection.
    pub gc: f64,
    /// Seconds of waiting for shuffle data.
    pub fetch: f64,
    /// Work on a core.
    pub compute: f64,
    /// Work on a core that the engine does not count.
    pub uncounted: f64,
    /// Work on a core for blocks that were evicted.
    pub recompute: f64,
    /// Seconds of the storage that it waits for.
    pub disk: f64,
    /// The shares of `disk` that are for spilled data, and for blocks that were evicted.
    pub spill: f64,
    pub evicted: f64,
    /// Seconds of the storage, and of the link, that may be behind its computing.
    pub behind: [f64; 2],
}

impl TaskPhases {
    /// A task on a node of `cluster`.
    pub fn of(demand: &TaskDemand, cluster: &Cluster) -> Self {
        let node = &cluster.node;
        let secs = |[read, write]: [f64; 2]| read / node.storage[0] + write / node.storage[1];
        let spill = secs([demand.spilled(&node.held); 2]);
        let recompute = match demand.is_evicted(&node.held) {
            true => demand.recompute,
            false => Recompute::default(),
        };
        let evicted = secs([recompute.read, 0.0]);
        let moved = secs([demand.moved[0] * cluster.conflict(demand), demand.moved[1]]);
        let disk = moved * demand.waited + spill + evicted;
        let of_disk = |secs: f64| if secs > 0.0 { secs / disk } else { 0.0 };
        // Each node also writes the copies of others, and the link carries them.
        let copied = demand.output * f64::from(cluster.replicas - 1);
        let behind = moved * (1.0 - demand.waited).max(0.0)
            + secs([demand.shuffled * node.held.shuffle_on_disk, copied]);
        let remote = demand.shuffled * (1.0 - 1.0 / f64::from(cluster.nodes));
        let fetch = match demand.remote > 0.0 {
            true => demand.fetch * remote / demand.remote,
            // Nothing was fetched from others, so that it waited for its own host.
            false => demand.fetch,
        };
        Self {
            scheduling: demand.scheduling * node.lone_ratio,
            gc: demand.gc * node.heap_ratio * node.speeds.stretch(1.0)
                / node.speeds.of_core(f64::from(node.slots)),
            fetch,
            compute: demand.work,
            uncounted: demand.uncounted,
            recompute: recompute.work,
            disk,
            spill: of_disk(spill),
            evicted: of_disk(evicted),
            behind: [behind, (remote + copied) / node.network],
        }
    }

    /// Seconds of the task if no other one shares the node: no schedule makes it shorter.
    pub fn alone(&self, node: &TaskNode) -> f64 {
        let work = self.compute + self.uncounted + self.recompute;
        let computing = work / node.speeds.fastest();
        let chain = self.scheduling + self.gc + self.fetch + computing + self.disk;
        self.behind.into_iter().fold(chain, f64::max)
    }
}
