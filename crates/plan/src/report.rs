//! The report of a plan.

use crate::config::{Phases, Plan};
use crate::error::PlanError;
use crate::queue::{Served, Span, serve};
use crate::remedies::{Remedy, remedies};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;

/// A slice of the array. Rates are in bytes a second.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SliceReport {
    /// Number of nodes.
    pub nodes: u32,
    /// Capacity.
    pub capacity_bytes: u64,
    /// Size of the data that a job may have in it.
    pub slice_data_bytes: u64,
    /// Bandwidth of reads.
    pub read_bytes_per_s: f64,
    /// Bandwidth of writes.
    pub write_bytes_per_s: f64,
    /// Rate of its link.
    pub link_bytes_per_s: f64,
    /// Bandwidth of the networks of its nodes in each direction; `None` if it is unknown, and then
    /// never limits.
    pub network_bytes_per_s: Option<f64>,
    /// Rate at which it is loaded: the least of the link, the networks and the writes.
    pub load_bytes_per_s: f64,
    /// Share of its bandwidth of writes that loading uses.
    pub load_share: f64,
    /// Time to compute for each GB that hides the loading of the next job.
    pub hidden_s_per_gb: f64,
}

/// The times of a job, in seconds after the start of the plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobTimes {
    /// Name of the job.
    pub name: String,
    /// Number of nodes of its slices.
    pub nodes: u32,
    /// Its slices, from 0.
    pub slices: Vec<usize>,
    /// Size of its data.
    pub data_bytes: u64,
    /// Size of its results.
    pub results_bytes: u64,
    /// Arrival.
    pub arrival_s: f64,
    /// Start of loading.
    pub load_start_s: f64,
    /// End of loading.
    pub load_end_s: f64,
    /// Start of computing.
    pub compute_start_s: f64,
    /// End of computing.
    pub compute_end_s: f64,
    /// Start of the transfer of results.
    pub unload_start_s: f64,
    /// End of the job.
    pub end_s: f64,
    /// Time of loading.
    pub load_s: f64,
    /// Time of computing.
    pub compute_s: f64,
    /// Time of the transfer of results.
    pub unload_s: f64,
    /// Time in which it waited.
    pub wait_s: f64,
    /// Time on slices that no other job uses.
    pub alone_s: f64,
    /// Time at which it has to end, if it has a deadline.
    pub due_s: Option<f64>,
    /// Time by which it misses its deadline; 0 if it meets it.
    pub late_s: Option<f64>,
    /// Whether it would miss its deadline even on slices that no other job uses.
    pub is_late_alone: bool,
}

/// A plan that was simulated.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanReport {
    /// Number of nodes of the array.
    pub nodes: u32,
    /// Number of slices.
    pub slices: u32,
    /// Whether loading overlaps with computing.
    pub overlap: bool,
    /// A slice.
    pub slice: SliceReport,
    /// The jobs, in the order of the queue.
    pub jobs: Vec<JobTimes>,
    /// Time from the first arrival to the end of the last job.
    pub span_s: f64,
    /// Share of the time of all links in which they transfer.
    pub link_busy_share: f64,
    /// Share of the time of all slices in which they compute.
    pub compute_busy_share: f64,
    /// Share of the transfer time in which the slice computes for another job.
    pub hidden_share: f64,
    /// Number of jobs that miss their deadlines.
    pub late: usize,
    /// What would meet all deadlines, if some are missed.
    pub remedies: Vec<Remedy>,
}

/// Simulates a plan.
///
/// # Errors
/// Returns an error if the array or a job has an impossible value, or if a job does not fit.
pub fn run(plan: &Plan) -> Result<PlanReport, PlanError> {
    let jobs = plan.phases()?;
    let served = serve(&jobs, plan.slices, plan.overlap);
    let times: Vec<JobTimes> =
        (0..jobs.len()).map(|at| times(plan, at, &jobs[at], &served[at])).collect();
    let late = times.iter().filter(|job| job.late_s.is_some_and(|late| late > 0.0)).count();
    let first = jobs.iter().map(|job| job.arrival).min().unwrap_or_default();
    let last = served.iter().map(|served| served.unload.end).max().unwrap_or_default();
    let span_s = (last - first).as_secs();
    let used = Used::new(plan, &served);
    let whole = span_s * f64::from(plan.slices);
    Ok(PlanReport {
        nodes: plan.nodes,
        slices: plan.slices,
        overlap: plan.overlap,
        slice: slice(plan),
        jobs: times,
        span_s,
        link_busy_share: share(used.link_s, whole),
        compute_busy_share: share(used.compute_s, whole),
        hidden_share: share(used.both_s, used.link_s),
        late,
        remedies: if late > 0 { remedies(plan) } else { Vec::new() },
    })
}

/// A share of a time; none of no time.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn slice(plan: &Plan) -> SliceReport {
    let load = plan.load_rate().0;
    SliceReport {
        nodes: plan.slice_nodes(),
        capacity_bytes: plan.slice_capacity().0,
        slice_data_bytes: plan.slice_data().0,
        read_bytes_per_s: plan.slice_read().0,
        write_bytes_per_s: plan.slice_write().0,
        link_bytes_per_s: plan.link.0,
        network_bytes_per_s: plan.slice_network().map(|network| network.0),
        load_bytes_per_s: load,
        load_share: load / plan.slice_write().0,
        hidden_s_per_gb: 1e9 / load,
    }
}

fn times(plan: &Plan, at: usize, phases: &Phases, served: &Served) -> JobTimes {
    let job = &plan.jobs[at];
    let end = served.unload.end;
    let in_all = end - phases.arrival;
    JobTimes {
        name: job.name.clone(),
        nodes: phases.slices * plan.slice_nodes(),
        slices: served.slices.clone(),
        data_bytes: phases.data.0,
        results_bytes: job.results.unwrap_or_default().0,
        arrival_s: phases.arrival.as_secs(),
        load_start_s: served.load.start.as_secs(),
        load_end_s: served.load.end.as_secs(),
        compute_start_s: served.compute.start.as_secs(),
        compute_end_s: served.compute.end.as_secs(),
        unload_start_s: served.unload.start.as_secs(),
        end_s: end.as_secs(),
        load_s: phases.load.as_secs(),
        compute_s: phases.compute.as_secs(),
        unload_s: phases.unload.as_secs(),
        wait_s: (in_all - phases.alone()).as_secs(),
        alone_s: phases.alone().as_secs(),
        due_s: phases.due.map(Ns::as_secs),
        late_s: phases.due.map(|due| if end > due { (end - due).as_secs() } else { 0.0 }),
        is_late_alone: phases.due.is_some_and(|due| phases.arrival + phases.alone() > due),
    }
}

/// Busy time of links and processors, summed over slices, and the time in which both are busy.
#[derive(Default)]
struct Used {
    link_s: f64,
    compute_s: f64,
    both_s: f64,
}

impl Used {
    fn new(plan: &Plan, served: &[Served]) -> Self {
        let mut transfers = vec![Vec::new(); plan.slices as usize];
        let mut computes = transfers.clone();
        for job in served {
            for &at in &job.slices {
                transfers[at].extend([job.load, job.unload]);
                computes[at].push(job.compute);
            }
        }
        let mut used = Self::default();
        for (transfers, computes) in transfers.iter_mut().zip(&mut computes) {
            transfers.sort_by_key(|span| span.start);
            computes.sort_by_key(|span| span.start);
            used.link_s += sum(transfers);
            used.compute_s += sum(computes);
            used.both_s += common(transfers, computes);
        }
        used
    }
}

/// Seconds of all spans.
fn sum(spans: &[Span]) -> f64 {
    spans.iter().map(|span| span.length().as_secs()).sum()
}

/// Seconds that spans of both lists have in common; neither list overlaps itself.
fn common(one: &[Span], other: &[Span]) -> f64 {
    let (mut at, mut next, mut sum) = (0, 0, 0.0);
    while let (Some(a), Some(b)) = (one.get(at), other.get(next)) {
        let (start, end) = (a.start.max(b.start), a.end.min(b.end));
        if end > start {
            sum += (end - start).as_secs();
        }
        if a.end < b.end {
            at += 1;
        } else {
            next += 1;
        }
    }
    sum
}
