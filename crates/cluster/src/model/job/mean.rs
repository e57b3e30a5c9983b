//! The mean of surveys of several jobs over the machines of a space: of the seconds, joules and
//! prices of one run of each job. Names and front are by the rules of a survey of one job.

use crate::model::cost::{Compared, Figures, Goals, Objective};
use crate::model::hardware::Hardware;
use crate::survey::mean::{known_mean, mean, mean_shares, of_all_jobs};
use crate::survey::report::as_map;
use crate::survey::{ChosenIds, choose_among};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Surveys of several jobs, whose mean is taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobMean {
    /// The survey of each job, with all of its designs.
    pub jobs: Vec<MachineJob>,
}

/// What the mean takes of the survey of a job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineJob {
    /// Largest memory in use of any trace; `None` if it is unknown.
    pub peak_memory_bytes: Option<u64>,
    /// What the front compares.
    pub objectives: Vec<Objective>,
    /// The machines.
    pub designs: Vec<MeanMachine>,
}

/// A machine with one of its storages and networks; its time is without what the range is made of,
/// which differs by job.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct MeanMachine {
    /// The design, and its nodes.
    #[serde(flatten)]
    pub hardware: Hardware,
    /// Whether its memory holds all jobs; `None` if that is unknown.
    pub memory_fits: Option<bool>,
    /// Fraction of the time by what takes it, 0 to 1.
    pub limits: BTreeMap<String, f64>,
    /// Time, energy and price.
    pub job: MeanOutcome,
}

/// The mean time, energy and price of several jobs.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub struct MeanOutcome {
    /// Best estimate in seconds.
    pub time_s: f64,
    /// Lower end of the 80 % range.
    pub time_s_low: f64,
    /// Upper end of the 80 % range.
    pub time_s_high: f64,
    /// Energy of all nodes; `None` if it is unknown of a job.
    pub energy_j: Option<f64>,
    /// Price of all nodes; `None` if it is unknown of a job.
    pub price: Option<f64>,
    /// Price at the upper end of the range.
    pub price_high: Option<f64>,
}

/// The mean of surveys of several jobs over the machines of a space.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobMeanReport {
    /// The machines of all jobs, in the order of the space.
    pub designs: Vec<MeanMachine>,
    /// Ids of the designs on the Pareto front, by time.
    pub front: Vec<String>,
    /// By name: id of the design; `None` without such a design.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    pub named: Vec<(&'static str, Option<String>)>,
}

impl JobMean {
    /// The mean; `None` without jobs. Only machines that may hold every job are on the front or
    /// have a name.
    #[must_use]
    pub fn report(&self) -> Option<JobMeanReport> {
        let of_jobs: Vec<&[MeanMachine]> = self.jobs.iter().map(|job| &job.designs[..]).collect();
        let of_each = of_all_jobs(&of_jobs, |design| &design.hardware.id);
        let is_candidate = |of: &Vec<&MeanMachine>| {
            of.iter().zip(&self.jobs).all(|(design, job)| design.may_hold(job.peak_memory_bytes))
        };
        let designs: Vec<(MeanMachine, bool)> =
            of_each.iter().map(|of| (mean_machine(of), is_candidate(of))).collect();
        let objectives = self.jobs.first()?.objectives.clone();
        let compared = Compared::by(objectives, &Goals::default());
        let ChosenIds { front, named } = choose_among(
            &designs,
            &compared.fronts(),
            compared.names(),
            |(design, _)| design.hardware.id.clone(),
            |choice, number, (design, is_candidate)| {
                if *is_candidate {
                    compared.compare(number, &design.figures(), choice);
                }
            },
        );
        let designs = designs.into_iter().map(|(design, _)| design).collect();
        Some(JobMeanReport { designs, front, named })
    }
}

impl MeanMachine {
    /// Whether it may hold a job that used `peak` bytes of memory, so that it may be named.
    fn may_hold(&self, peak: Option<u64>) -> bool {
        let is_enough = || peak.is_none_or(|peak| self.hardware.memory_bytes >= peak);
        self.memory_fits.unwrap_or_else(is_enough)
    }

    /// What choices compare.
    fn figures(&self) -> Figures {
        Figures {
            time: self.job.time_s_high,
            energy: self.job.energy_j,
            price: self.job.price_high,
            ..Figures::default()
        }
    }
}

/// The mean of a machine of all jobs.
fn mean_machine(of_jobs: &[&MeanMachine]) -> MeanMachine {
    let secs = |figure: fn(&MeanOutcome) -> f64| mean(of_jobs.iter().map(|of| figure(&of.job)));
    let known = |figure: fn(&MeanOutcome) -> Option<f64>| {
        known_mean(of_jobs.iter().map(|of| figure(&of.job)))
    };
    let is_too_small = of_jobs.iter().any(|of| of.memory_fits == Some(false));
    let is_known = of_jobs.iter().all(|of| of.memory_fits.is_some());
    let price_per_month = known_mean(of_jobs.iter().map(|of| of.hardware.price_per_month));
    MeanMachine {
        hardware: Hardware { price_per_month, ..of_jobs[0].hardware.clone() },
        memory_fits: (is_too_small || is_known).then_some(!is_too_small),
        limits: mean_shares(of_jobs.iter().map(|of| &of.limits)),
        job: MeanOutcome {
            time_s: secs(|job| job.time_s),
            time_s_low: secs(|job| job.time_s_low),
            time_s_high: secs(|job| job.time_s_high),
            energy_j: known(|job| job.energy_j),
            price: known(|job| job.price),
            price_high: known(|job| job.price_high),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(id: &str, secs: f64, price: Option<f64>, memory_fits: Option<bool>) -> MeanMachine {
        MeanMachine {
            hardware: Hardware {
                id: id.into(),
                machine: id.into(),
                nodes: 1,
                summary: None,
                cores: 2,
                core_speed: 1.0,
                memory_bytes: 1 << 30,
                storage: "ssd".into(),
                storage_part: None,
                network_bytes_per_s: 1e9,
                price_per_hour: price,
                price_per_month: None,
            },
            memory_fits,
            limits: BTreeMap::new(),
            job: MeanOutcome {
                time_s: secs,
                time_s_low: secs,
                time_s_high: secs,
                energy_j: None,
                price: price.map(|price| price * secs),
                price_high: price.map(|price| price * secs),
            },
        }
    }

    fn mean(jobs: [Vec<MeanMachine>; 2], peak: Option<u64>) -> JobMeanReport {
        let objectives = vec![Objective::Time, Objective::Price];
        let job = |designs| {
            let objectives = objectives.clone();
            MachineJob { peak_memory_bytes: peak, objectives, designs }
        };
        JobMean { jobs: jobs.map(job).into() }.report().unwrap()
    }

    #[test]
    fn a_machine_without_a_price_has_a_name_but_is_not_on_the_front() {
        let job = |secs| {
            let fits = Some(true);
            let priced =
                [machine("slow", secs, Some(1.0), fits), machine("dear", 1.0, Some(9.0), fits)];
            [priced.into(), vec![machine("free", 0.5, None, fits)]].concat()
        };
        let found = mean([job(2.0), job(4.0)], None);
        assert_eq!(found.front, ["dear", "slow"]);
        let names = [("fastest", Some("free")), ("cheapest", Some("slow")), ("least-energy", None)];
        assert_eq!(found.named, names.map(|(name, id)| (name, id.map(str::to_owned))));
        assert_eq!(found.designs[0].job.price, Some(3.0));
        assert_eq!(found.designs[2].job.price, None);
    }

    #[test]
    fn a_machine_that_is_too_small_for_a_job_is_no_candidate() {
        let job = |fits| {
            vec![
                machine("small", 1.0, Some(1.0), fits),
                machine("slow", 2.0, Some(9.0), Some(true)),
            ]
        };
        let fits = |fits, peak| {
            let found = mean([job(Some(true)), job(fits)], peak);
            (found.designs[0].memory_fits, found.front[0].clone())
        };
        assert_eq!(fits(Some(true), None), (Some(true), "small".into()));
        assert_eq!(fits(Some(false), None), (Some(false), "slow".into()));
        assert_eq!(fits(None, None), (None, "small".into()));
        assert_eq!(fits(None, Some(2 << 30)), (None, "slow".into()));
    }
}
