//! What would meet the deadlines that a plan misses: overlap, faster links, more slices.
//!
//! Each is found by simulating the changed plan: overlap at once, the others by bisection. With
//! first come, first served a faster link can in rare cases delay a job; a remedy that is reported
//! has been simulated and meets all deadlines.

use crate::config::Plan;
use crate::queue::serve;
use gordon_units::DataRate;
use schemars::JsonSchema;
use serde::Serialize;

/// A change of the plan with which all deadlines are met.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Remedy {
    /// Load the next job while one computes.
    Overlap,
    /// Links of this rate.
    Link {
        /// Rate of the link of a slice in bytes a second.
        link_bytes_per_s: f64,
    },
    /// More slices of the same size.
    Slices {
        /// Number of slices.
        slices: u32,
        /// Number of nodes of the array.
        nodes: u32,
    },
}

/// Fastest link and largest array that are tried, relative to the plan's.
const FASTEST: f64 = 1024.0;
const LARGEST: u32 = 64;
/// How near to the least a link is found, as a ratio.
const NEAR: f64 = 1.001;

/// Whether a plan is possible and meets all deadlines.
fn is_met(plan: &Plan) -> bool {
    let Ok(jobs) = plan.phases() else { return false };
    let served = serve(&jobs, plan.slices, plan.overlap);
    jobs.iter().zip(&served).all(|(job, served)| job.due.is_none_or(|due| served.unload.end <= due))
}

/// The remedies of a plan that misses a deadline; empty if none of them meets all deadlines.
pub(crate) fn remedies(plan: &Plan) -> Vec<Remedy> {
    let mut found = Vec::new();
    if !plan.overlap && is_met(&Plan { overlap: true, ..plan.clone() }) {
        found.push(Remedy::Overlap);
    }
    found.extend(least_link(plan).map(|link| Remedy::Link { link_bytes_per_s: link }));
    found.extend(
        least_slices(plan)
            .map(|slices| Remedy::Slices { slices, nodes: slices * plan.slice_nodes() }),
    );
    found
}

/// The slowest link that meets all deadlines.
fn least_link(plan: &Plan) -> Option<f64> {
    let with = |rate: f64| Plan { link: DataRate(rate), ..plan.clone() };
    let (mut low, mut high) = (plan.link.0, plan.link.0 * FASTEST);
    if !is_met(&with(high)) {
        return None;
    }
    while high / low > NEAR {
        let middle = (low * high).sqrt();
        if is_met(&with(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// The least number of slices that meets all deadlines.
fn least_slices(plan: &Plan) -> Option<u32> {
    let size = plan.slice_nodes();
    let with = |slices: u32| Plan { slices, nodes: slices * size, ..plan.clone() };
    let mut high = plan.slices;
    loop {
        high = high.checked_mul(2).filter(|high| high / plan.slices <= LARGEST)?;
        high.checked_mul(size)?;
        if is_met(&with(high)) {
            break;
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low.midpoint(high);
        if is_met(&with(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
