//! A cluster as the `tasks` model needs it, and the time of a task on one of its nodes.

use super::demand::TaskDemand;
use super::speeds::Speeds;

/// A cluster of equal nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Number of nodes.
    pub nodes: u32,
    /// Each of them.
    pub node: TaskNode,
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
    /// Bytes of execution memory of each task, while all slots are busy.
    pub memory: f64,
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
        }
    }
}

/// All parts, in the order of [`Parts`].
pub const PARTS: [Part; 10] = [
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
    /// Seconds of the storage that it waits for.
    pub disk: f64,
    /// The share of `disk` that is for spilled data.
    pub spill: f64,
    /// Seconds of the storage, and of the link, that may be behind its computing.
    pub behind: [f64; 2],
}

impl TaskPhases {
    /// A task on a node of `cluster`.
    pub fn of(demand: &TaskDemand, cluster: &Cluster) -> Self {
        let node = &cluster.node;
        let secs = |[read, write]: [f64; 2]| read / node.storage[0] + write / node.storage[1];
        let excess = (demand.memory - node.memory).max(0.0);
        let spill = secs([excess * demand.spill_ratio; 2]);
        let moved = secs(demand.moved);
        let disk = moved * demand.waited + spill;
        let remote = demand.shuffled * (1.0 - 1.0 / f64::from(cluster.nodes));
        let fetch = match demand.remote > 0.0 {
            true => demand.fetch * remote / demand.remote,
            // Nothing was fetched from others, so that it waited for its own host.
            false => demand.fetch,
        };
        Self {
            scheduling: demand.scheduling,
            gc: demand.gc * node.heap_ratio * node.speeds.stretch(1.0)
                / node.speeds.of_core(f64::from(node.slots)),
            fetch,
            compute: demand.work,
            uncounted: demand.uncounted,
            disk,
            spill: if disk > 0.0 { spill / disk } else { 0.0 },
            behind: [moved * (1.0 - demand.waited), remote / node.network],
        }
    }

    /// Seconds of the task if no other one shares the node: no schedule makes it shorter.
    pub fn alone(&self, node: &TaskNode) -> f64 {
        let computing = (self.compute + self.uncounted) / node.speeds.fastest();
        let chain = self.scheduling + self.gc + self.fetch + computing + self.disk;
        self.behind.into_iter().fold(chain, f64::max)
    }
}
