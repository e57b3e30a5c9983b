//! The mean of surveys of several jobs over a grid.
//!
//! Each job weighs the same, as in the Gordon paper (section 5.4, "the average across our benchmark
//! suite"): times and energies are means of values relative to the baseline of the same job, in
//! seconds and joules of the mean baseline. Powers and shares are means. Flash wears by one run of
//! each job.

use super::evaluate::{NAMES, propose};
use super::report::{DesignReport, FlashReport, OutcomeReport};
use crate::model::bill::YEAR;
use crate::survey::mean::{mean, mean_shares, of_all_jobs};
use crate::survey::report::as_map;
use crate::survey::{ChosenIds, choose_among};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Surveys of several jobs, whose mean is taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperMean {
    /// The survey of each job, with all of its designs.
    pub jobs: Vec<PaperJob>,
    /// Names of the storage parts that are disks.
    pub disks: BTreeSet<String>,
}

/// What the mean takes of the survey of a job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperJob {
    /// The design that others are compared with.
    pub baseline: BaselineReport,
    /// The designs within the budget.
    pub designs: Vec<DesignReport>,
}

/// The design that others are compared with.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct BaselineReport {
    /// Name of the design.
    pub id: String,
    /// Results with a barrier after each sample.
    pub sync: OutcomeReport,
    /// Results without barriers.
    pub nosync: OutcomeReport,
    /// Results with barriers at the ends of stages, if stages were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<OutcomeReport>,
}

/// The mean of surveys of several jobs over a grid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PaperMeanReport {
    /// The designs of all jobs, in the order of the space.
    pub designs: Vec<DesignReport>,
    /// The mean of what others are compared with.
    pub baseline: BaselineReport,
    /// Ids of the designs on the Pareto front, by time.
    pub front: Vec<String>,
    /// By name: id of the design; `None` without such a design.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    pub named: Vec<(&'static str, Option<String>)>,
}

impl PaperMean {
    /// The mean; `None` without jobs.
    #[must_use]
    pub fn report(&self) -> Option<PaperMeanReport> {
        let bases = Bases::of(&self.jobs);
        let of_jobs: Vec<&[DesignReport]> = self.jobs.iter().map(|job| &job.designs[..]).collect();
        let of_each = of_all_jobs(&of_jobs, |design| &design.id);
        let designs: Vec<DesignReport> = of_each.iter().map(|of| bases.design(of)).collect();
        let id = |design: &DesignReport| design.id.clone();
        let ChosenIds { front, named } =
            choose_among(&designs, &[2], &NAMES, id, |choice, number, design| {
                let by = design.stages.as_ref().unwrap_or(&design.sync);
                let is_disk = self.disks.contains(&design.storage);
                propose(choice, number, [by.time_s, by.energy_j, by.node_power_w], is_disk);
            });
        let first = &self.jobs.first()?.baseline;
        let baseline = BaselineReport {
            id: first.id.clone(),
            sync: relative(&bases.sync, &bases.sync),
            nosync: relative(&bases.nosync, &bases.nosync),
            stages: bases.stages.as_ref().map(|stages| relative(stages, stages)),
        };
        Some(PaperMeanReport { designs, baseline, front, named })
    }
}

/// What the baseline takes for each job.
struct Bases {
    sync: Vec<OutcomeReport>,
    nosync: Vec<OutcomeReport>,
    /// `None` unless all jobs have stages.
    stages: Option<Vec<OutcomeReport>>,
}

impl Bases {
    fn of(jobs: &[PaperJob]) -> Self {
        let all = || jobs.iter().map(|job| &job.baseline);
        Self {
            sync: all().map(|base| base.sync).collect(),
            nosync: all().map(|base| base.nosync).collect(),
            stages: all().map(|base| base.stages).collect(),
        }
    }

    /// The mean of a design of all jobs.
    fn design(&self, of_jobs: &[&DesignReport]) -> DesignReport {
        let outcomes = |outcome: fn(&DesignReport) -> OutcomeReport| {
            of_jobs.iter().map(|design| outcome(design)).collect::<Vec<_>>()
        };
        let in_stages = || of_jobs.iter().map(|design| design.stages).collect::<Option<Vec<_>>>();
        DesignReport {
            sync: relative(&outcomes(|design| design.sync), &self.sync),
            nosync: relative(&outcomes(|design| design.nosync), &self.nosync),
            stages: self.stages.as_ref().and_then(|bases| Some(relative(&in_stages()?, bases))),
            limits: mean_shares(of_jobs.iter().map(|design| &design.limits)),
            energy_by_part_j: by_part(of_jobs, &self.sync, |design| &design.energy_by_part_j),
            energy_by_part_nosync_j: by_part(of_jobs, &self.nosync, |design| {
                &design.energy_by_part_nosync_j
            }),
            flash: wear(of_jobs),
            ..of_jobs[0].clone()
        }
    }
}

/// Time and energy relative to the baselines of the jobs, in seconds and joules of the mean
/// baseline; powers are means.
fn relative(of_jobs: &[OutcomeReport], bases: &[OutcomeReport]) -> OutcomeReport {
    let of = |figure: fn(&OutcomeReport) -> f64| {
        scaled(of_jobs.iter().map(figure), bases.iter().map(figure))
    };
    OutcomeReport {
        time_s: of(|outcome| outcome.time_s),
        energy_j: of(|outcome| outcome.energy_j),
        power_w: mean(of_jobs.iter().map(|outcome| outcome.power_w)),
        node_power_w: mean(of_jobs.iter().map(|outcome| outcome.node_power_w)),
    }
}

/// The mean of values relative to those of the baseline, in units of the mean baseline.
fn scaled(
    values: impl ExactSizeIterator<Item = f64>,
    bases: impl ExactSizeIterator<Item = f64> + Clone,
) -> f64 {
    mean(values.zip(bases.clone()).map(|(value, base)| value / base)) * mean(bases)
}

/// The energy of each part; one that a job lacks takes none.
fn by_part(
    of_jobs: &[&DesignReport],
    bases: &[OutcomeReport],
    energies: fn(&DesignReport) -> &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let bases = bases.iter().map(|base| base.energy_j);
    let energy = |part: &String| {
        let of = |design: &&DesignReport| energies(design).get(part).copied().unwrap_or(0.0);
        scaled(of_jobs.iter().map(of), bases.clone())
    };
    let parts = of_jobs.iter().flat_map(|design| energies(design).keys());
    parts.map(|part| (part.clone(), energy(part))).collect()
}

/// Wear by one run of each job; `None` unless all jobs wear flash.
#[allow(clippy::cast_precision_loss)]
fn wear(of_jobs: &[&DesignReport]) -> Option<FlashReport> {
    let all: Vec<FlashReport> = of_jobs.iter().map(|design| design.flash).collect::<Option<_>>()?;
    let sum = |count: fn(&FlashReport) -> f64| all.iter().map(count).sum::<f64>();
    let programs: u64 = all.iter().map(|flash| flash.programs).sum();
    let host = |flash: &FlashReport| Some(flash.programs as f64 / flash.write_amplification?);
    let host = all.iter().filter_map(host).reduce(|sum, more| sum + more);
    let span = of_jobs.iter().map(|design| design.sync.time_s).sum::<f64>();
    let used = sum(|flash| flash.endurance_used);
    Some(FlashReport {
        erases: all.iter().map(|flash| flash.erases).sum(),
        programs,
        erase_equivalents: sum(|flash| flash.erase_equivalents),
        write_amplification: host.map(|host| programs as f64 / host),
        endurance_used: used,
        lifetime_span_s: span,
        lifetime_years: (used > 0.0).then(|| span / used / YEAR),
    })
}
