//! The array, its links, and the queue of jobs.

use crate::error::PlanError;
use gordon_units::{Bytes, DataRate, Ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A queue of jobs for `gordon plan --jobs`. Jobs start in the order of their arrival, and jobs
/// that arrive at the same time in the order of the file.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobQueue {
    /// The jobs, at least one.
    #[serde(default)]
    pub jobs: Vec<PlannedJob>,
}

/// A job: its data are loaded, it computes, and its results are transferred back.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedJob {
    /// Name of the job.
    pub name: String,
    /// Size of the data that are loaded. Default: that of `--data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// Size of the results that are transferred back. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Bytes>,
    /// Number of nodes, rounded up to whole slices. Default: as many slices as the data need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Time at which the job arrives, after the start of the plan. Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Ns>,
    /// Time after its arrival within which the job has to end. Default: no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Ns>,
    /// Time to compute, once the data are loaded; at least that of reading them once. Default: the
    /// time of `compute_per_gb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<Ns>,
    /// Time to compute for each GB (10^9 bytes) of the data. Default: the data are read once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_per_gb: Option<Ns>,
}

/// A node of the array.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayNode {
    /// Capacity of its storage.
    pub capacity: Bytes,
    /// Bandwidth of reads.
    pub read: DataRate,
    /// Bandwidth of writes.
    pub write: DataRate,
    /// Bandwidth of its network in each direction. Default: it never limits.
    #[serde(default)]
    pub network: Option<DataRate>,
}

/// The array and its queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// A node.
    pub node: ArrayNode,
    /// Number of nodes of the array.
    pub nodes: u32,
    /// Number of slices, all of the same size.
    pub slices: u32,
    /// Rate of the link of a slice, in each direction; one transfer at a time uses it.
    pub link: DataRate,
    /// Whether the data of the next job are loaded while a job computes, for which each slice is
    /// divided into two halves.
    pub overlap: bool,
    /// Size of the data of jobs that name none.
    pub data: Option<Bytes>,
    /// The jobs.
    pub jobs: Vec<PlannedJob>,
}

/// Most slices and jobs of a plan.
const MOST_SLICES: u32 = 4096;
const MOST_JOBS: usize = 10_000;
/// Most nodes of an array.
const MOST_NODES: u32 = 1_000_000;
/// Longest time of a phase: a hundred years.
const LONGEST_SECS: f64 = 100.0 * 365.25 * 86400.0;
/// Bytes of a GB.
const GB: f64 = 1e9;

/// A job with its phases, on as many slices as it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phases {
    /// Number of slices.
    pub slices: u32,
    /// Size of the data.
    pub data: Bytes,
    pub arrival: Ns,
    pub load: Ns,
    pub compute: Ns,
    pub unload: Ns,
    /// Time at which it has to end, if it has a deadline.
    pub due: Option<Ns>,
}

impl Phases {
    /// Time on slices that nothing else uses.
    pub fn alone(&self) -> Ns {
        self.load + self.compute + self.unload
    }
}

impl Plan {
    /// Nodes of a slice.
    pub fn slice_nodes(&self) -> u32 {
        self.nodes / self.slices
    }

    /// Capacity of a slice.
    pub fn slice_capacity(&self) -> Bytes {
        Bytes(self.node.capacity.0 * u64::from(self.slice_nodes()))
    }

    /// Size of the data that a job may have in a slice.
    pub fn slice_data(&self) -> Bytes {
        Bytes(self.slice_capacity().0 / if self.overlap { 2 } else { 1 })
    }

    /// Bandwidth of reads of a slice.
    pub fn slice_read(&self) -> DataRate {
        self.node.read * f64::from(self.slice_nodes())
    }

    /// Bandwidth of writes of a slice.
    pub fn slice_write(&self) -> DataRate {
        self.node.write * f64::from(self.slice_nodes())
    }

    /// Bandwidth of the networks of the nodes of a slice; `None` if they never limit.
    pub fn slice_network(&self) -> Option<DataRate> {
        Some(self.node.network? * f64::from(self.slice_nodes()))
    }

    /// Rate at which a slice is loaded: that of its link, or of its writes or the networks of its
    /// nodes if they are slower.
    pub fn load_rate(&self) -> DataRate {
        self.transfer_rate(self.slice_write())
    }

    /// Rate at which a slice transfers results.
    fn unload_rate(&self) -> DataRate {
        self.transfer_rate(self.slice_read())
    }

    fn transfer_rate(&self, storage: DataRate) -> DataRate {
        let network = self.slice_network().map_or(f64::INFINITY, |network| network.0);
        DataRate(self.link.0.min(storage.0).min(network))
    }

    /// The phases of all jobs, in their order.
    pub(crate) fn phases(&self) -> Result<Vec<Phases>, PlanError> {
        self.check()?;
        let jobs: Vec<Phases> =
            self.jobs.iter().map(|job| self.phases_of(job)).collect::<Result<_, _>>()?;
        // The longest that the queue can take: no two jobs at the same time.
        let last = jobs.iter().map(|job| job.arrival.as_secs()).fold(0.0, f64::max);
        let longest = jobs.iter().map(|job| job.alone().as_secs()).sum::<f64>() + last;
        if longest > LONGEST_SECS {
            return Err(PlanError::BadArray {
                what: "jobs",
                why: "one by one they take more than a hundred years".into(),
                hint: "plan a part of the queue".into(),
            });
        }
        Ok(jobs)
    }

    fn check(&self) -> Result<(), PlanError> {
        let bad = |what, why: String, hint: &str| {
            Err(PlanError::BadArray { what, why, hint: hint.into() })
        };
        if !(1..=MOST_NODES).contains(&self.nodes) {
            let why = format!("{} is not 1 to {MOST_NODES}", self.nodes);
            return bad("nodes", why, "--nodes 1024");
        }
        if !(1..=MOST_SLICES).contains(&self.slices) || !self.nodes.is_multiple_of(self.slices) {
            let why = format!(
                "{} nodes do not divide into {} slices of the same size, 1 to {MOST_SLICES}",
                self.nodes, self.slices
            );
            return bad("slices", why, "a number of slices that divides the number of nodes");
        }
        for (what, rate) in [
            ("link", self.link),
            ("read bandwidth", self.node.read),
            ("write bandwidth", self.node.write),
            ("network bandwidth", self.node.network.unwrap_or(self.link)),
        ] {
            if !(rate.0.is_finite() && rate.0 > 0.0) {
                return bad(what, format!("{rate} is not above zero"), "a rate such as 2Gb");
            }
        }
        let whole = self.node.capacity.0.checked_mul(u64::from(self.nodes));
        if self.node.capacity.0 == 0 || whole.is_none() {
            let why = format!("{} a node is not a capacity", self.node.capacity.human());
            return bad("capacity", why, "a node with storage");
        }
        if self.jobs.is_empty() {
            return Err(PlanError::NoJobs);
        }
        if self.jobs.len() > MOST_JOBS {
            let why = format!("{} jobs are more than {MOST_JOBS}", self.jobs.len());
            return bad("jobs", why, "plan a part of the queue");
        }
        let mut seen = BTreeSet::new();
        match self.jobs.iter().find(|job| !seen.insert(job.name.as_str())) {
            Some(job) => Err(PlanError::SameName { job: job.name.clone() }),
            None => Ok(()),
        }
    }

    fn phases_of(&self, job: &PlannedJob) -> Result<Phases, PlanError> {
        let bad =
            |key, why: String, hint| PlanError::BadJob { job: job.name.clone(), key, why, hint };
        if job.name.trim().is_empty() {
            return Err(bad("name", "it is blank".into(), "a name"));
        }
        let Some(data) = job.data.or(self.data) else {
            return Err(bad(
                "data",
                "it is missing".into(),
                "`data` of the job, or --data for all jobs",
            ));
        };
        if data == Bytes(0) {
            return Err(bad("data", "0 is not above zero".into(), "a size such as 10TB"));
        }
        if job.compute.is_some() && job.compute_per_gb.is_some() {
            let why = "`compute_per_gb` is given, too".into();
            return Err(bad("compute", why, "one of them"));
        }
        if job.deadline == Some(Ns::ZERO) {
            return Err(bad("deadline", "0 is not above zero".into(), "a time such as 24h"));
        }
        let slices = self.slices_of(job, data)?;
        let (load, unload) = (self.load_rate(), self.unload_rate());
        let count = f64::from(slices);
        let results = job.results.unwrap_or(Bytes::ZERO);
        let read_once = bytes(data) / (self.slice_read().0 * count);
        let per_gb = job.compute_per_gb.map(|time| time.as_secs() * bytes(data) / GB);
        let computed = job.compute.map(Ns::as_secs).or(per_gb).unwrap_or(0.0);
        let time = |key, secs: f64| {
            if secs > LONGEST_SECS {
                let why = format!("it takes {secs:.0} s, more than a hundred years");
                return Err(bad(key, why, "a faster link, or less data"));
            }
            Ok(Ns::from_secs(secs))
        };
        let arrival = job.arrival.unwrap_or(Ns::ZERO);
        time("arrival", arrival.as_secs())?;
        let deadline = job.deadline;
        time("deadline", deadline.map_or(0.0, Ns::as_secs))?;
        Ok(Phases {
            slices,
            data,
            arrival,
            load: time("data", bytes(data) / (load.0 * count))?,
            compute: time("compute", computed.max(read_once))?,
            unload: time("results", bytes(results) / (unload.0 * count))?,
            due: deadline.map(|deadline| arrival + deadline),
        })
    }

    /// The number of slices that a job takes.
    fn slices_of(&self, job: &PlannedJob, data: Bytes) -> Result<u32, PlanError> {
        let held = self.slice_data().0;
        let needed = data.0.div_ceil(held.max(1));
        let given = job.nodes.map(|nodes| nodes.div_ceil(self.slice_nodes()));
        if job.nodes == Some(0) || given.is_some_and(|given| given > self.slices) {
            return Err(PlanError::BadJob {
                job: job.name.clone(),
                key: "nodes",
                why: format!(
                    "{} is not 1 to {}, the nodes of the array",
                    job.nodes.unwrap_or_default(),
                    self.nodes
                ),
                hint: match job.nodes {
                    Some(0) => "leave out `nodes` for as many as the data need",
                    _ => "fewer nodes, or a larger array with --nodes",
                },
            });
        }
        let slices = given.map_or(needed, u64::from);
        let most = u64::from(self.slices).min(slices);
        if needed > most {
            // Without overlap a job has both halves of its slices.
            let would_do = self.overlap && data.0.div_ceil(held.max(1) * 2) <= most;
            let overlap = if would_do { ", or leave out --overlap" } else { "" };
            let nodes = needed.saturating_mul(u64::from(self.slice_nodes()));
            let change = match given {
                _ if needed > u64::from(MOST_SLICES) || nodes > u64::from(MOST_NODES) => {
                    "less data, or a node with more storage".to_owned()
                }
                Some(_) if needed <= u64::from(self.slices) => {
                    format!("nodes = {nodes} of the job{overlap}")
                }
                Some(_) => format!(
                    "nodes = {nodes} of the job, with --nodes {nodes} --slices {needed}{overlap}"
                ),
                None => format!("--nodes {nodes} --slices {needed}{overlap}"),
            };
            #[allow(clippy::cast_possible_truncation)]
            return Err(PlanError::JobTooLarge {
                job: job.name.clone(),
                data,
                slices: most as u32,
                of: self.slices,
                capacity: Bytes(held * most),
                hint: change,
            });
        }
        #[allow(clippy::cast_possible_truncation)]
        Ok(slices as u32)
    }
}

/// A size as a number.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn bytes(size: Bytes) -> f64 {
    size.0 as f64
}
