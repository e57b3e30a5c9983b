//! Time, energy, price and limits of a machine, by the `job` model and by the paper's.
//!
//! A node's time is the sum over its samples. Without barriers the longest node gives the time of
//! the job; with the barriers of `sync`, each sample takes as long as on the slowest node.

use super::MachineSurvey;
use super::load::MachineLoad;
use crate::error::ClusterError;
use crate::job::{JobTime, TimeParts, job_time, node_time};
use crate::machine::Machine;
use crate::report::{JobReport, MachineOutcome, MachineReport};
use crate::simulate::Node;
use std::collections::BTreeMap;

pub(super) fn job_outcome(
    survey: &MachineSurvey,
    machine: &Machine,
    loads: &[MachineLoad<'_>],
    report: &mut MachineReport,
) -> Result<(), ClusterError> {
    let times: Vec<JobTime> = loads
        .iter()
        .map(|load| {
            node_time(load.indices().map(|index| {
                let (sample, target) = load.at(index);
                sample.time_on(&target)
            }))
        })
        .collect();
    let time = job_time(times.iter().copied());
    let longest = (0..loads.len()).max_by(|a, b| times[*a].time.total_cmp(&times[*b].time));
    let slowest = &loads[longest.unwrap_or(0)];
    report.limits = limits(slowest.indices().map(|index| {
        let (sample, target) = slowest.at(index);
        sample.parts_on(&target)
    }));
    // All nodes are on until the job ends.
    let energy = loads.iter().map(|load| load.energy(time.time, &survey.parts));
    let energy_j = energy.sum::<Result<Option<f64>, _>>()?;
    report.job = Some(JobReport {
        time_s: time.time,
        time_s_low: time.low,
        time_s_high: time.high,
        energy_j,
        price: price(machine, survey.nodes, time.time),
    });
    Ok(())
}

pub(super) fn paper_outcome(
    survey: &MachineSurvey,
    machine: &Machine,
    loads: &[MachineLoad<'_>],
    nodes: &[Node],
    report: &mut MachineReport,
) -> Result<(), ClusterError> {
    let costs: Vec<Vec<TimeParts>> =
        loads.iter().map(|l| l.indices().map(|index| l.paper(index)).collect()).collect();
    let sums: Vec<f64> =
        costs.iter().map(|stream| stream.iter().map(TimeParts::time).sum()).collect();
    let longest = nodes.iter().map(|node| costs[node.stream].len()).max().unwrap_or(0);
    let running = |node: &&Node, sample: usize| sample < costs[node.stream].len();
    let slowest: Vec<f64> = (0..longest)
        .map(|sample| {
            let times = nodes.iter().filter(|node| running(node, sample)).map(|node| {
                let stream = &costs[node.stream];
                stream[(sample + node.shift) % stream.len()].time()
            });
            times.fold(0.0, f64::max)
        })
        .collect();
    // A node that has finished is off.
    let outcome = |time: f64, on: &dyn Fn(&Node) -> f64| {
        let energy = nodes.iter().map(|node| loads[node.stream].energy(on(node), &survey.parts));
        let energy_j = energy.sum::<Result<Option<f64>, _>>()?;
        let power_w = energy_j.filter(|_| time > 0.0).map(|joules| joules / time);
        Ok::<_, ClusterError>(MachineOutcome {
            time_s: time,
            energy_j,
            power_w,
            node_power_w: power_w.map(|watts| watts / f64::from(survey.nodes)),
            price: price(machine, survey.nodes, time),
        })
    };
    let sync_on = |node: &Node| slowest.iter().take(costs[node.stream].len()).sum();
    report.sync = Some(outcome(slowest.iter().sum(), &sync_on)?);
    let nosync = nodes.iter().map(|node| sums[node.stream]).fold(0.0, f64::max);
    report.nosync = Some(outcome(nosync, &|node| sums[node.stream])?);
    report.limits = limits(costs.iter().flatten().copied());
    Ok(())
}

fn price(machine: &Machine, nodes: u32, secs: f64) -> Option<f64> {
    machine.price_per_hour.as_ref().map(|price| **price * f64::from(nodes) * secs / 3600.0)
}

/// Shares of the time by what takes it: `cpu`, `storage`, `network`, or `idle` for the time that no
/// part of the machine shortens.
pub fn limits(samples: impl Iterator<Item = TimeParts>) -> BTreeMap<String, f64> {
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let mut total = 0.0;
    for parts in samples {
        let time = parts.time();
        total += time;
        let mut add = |name: &str, secs: f64| *shares.entry(name.into()).or_default() += secs;
        if parts.own() >= time {
            add("cpu", parts.computing);
            add("storage", parts.blocked);
            add("idle", parts.idle);
        } else if parts.storage >= parts.network {
            add("storage", time);
        } else {
            add("network", time);
        }
    }
    if total > 0.0 {
        shares.values_mut().for_each(|share| *share /= total);
    }
    shares.retain(|_, share| *share > 0.0);
    shares
}
