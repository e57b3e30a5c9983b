//! Rows of the table of machines.

use super::evaluate::{Evaluator, Group, paper_design, power};
use super::space::MachineDesign;
use crate::config::Model;
use crate::designs::{JOB_LIMITS, JobColumns, JobGroup, PAPER_LIMITS, PaperGroup, PaperLimits};
use crate::select::Chunk;
use crate::table::NamedColumn;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use std::sync::Arc;

impl Evaluator<'_> {
    /// The rows of the table for a chunk. `front` holds the numbers of the designs on the front,
    /// ascending.
    pub fn rows(&self, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
        let members = self.members(chunk);
        let designs: Vec<&MachineDesign<'_>> =
            members.iter().map(|number| &self.space.designs[*number]).collect();
        let numbers: Vec<u64> = members.iter().map(|number| *number as u64).collect();
        let on_front: Vec<bool> =
            numbers.iter().map(|number| front.binary_search(number).is_ok()).collect();
        // All designs of a chunk are at the same place.
        let place = &self.space.places[designs[0].place];
        let storage = place.storage.label();
        let all = || designs.iter();
        let cores = UInt32Array::from_iter_values(all().map(|d| *d.machine.cores));
        let mut table: Vec<NamedColumn> = vec![
            ("number".into(), Arc::new(UInt64Array::from(numbers))),
            ("id".into(), text(all().map(|d| d.id()))),
            ("machine".into(), text(all().map(|d| &d.machine.id))),
            ("cores".into(), Arc::new(cores)),
            ("core_speed".into(), float(all().map(|d| Some(*d.machine.core_speed)))),
            ("storage".into(), text(all().map(|_| &storage))),
            ("network_bytes_per_s".into(), float(all().map(|_| Some(place.network)))),
            (
                "price_per_hour".into(),
                float(all().map(|d| d.machine.price_per_hour.as_ref().map(|price| **price))),
            ),
            ("pareto".into(), Arc::new(BooleanArray::from(on_front))),
        ];
        match self.group(designs[0]) {
            Group::Job(group) => table.extend(self.job_columns(&group, &designs)),
            Group::Paper(group, limits) => {
                table.extend(self.paper_columns(&group, limits, &designs));
            }
        }
        table
    }

    fn job_columns(
        &self,
        group: &JobGroup<'_>,
        designs: &[&MachineDesign<'_>],
    ) -> Vec<NamedColumn> {
        let own: Vec<_> = designs.iter().map(|design| self.job_design(design)).collect();
        let JobColumns { time, low, high, energy, price, limits } = group.columns(&own);
        let results = [
            ("time_s", time),
            ("time_s_low", low),
            ("time_s_high", high),
            ("energy_j", energy),
            ("price", price),
        ];
        let column = |(name, values): (&str, Vec<f64>)| {
            let known = values.into_iter().map(|value| (!value.is_nan()).then_some(value));
            (name.into(), float(known))
        };
        let fits = designs.iter().map(|design| self.traced.fit(design.machine).known());
        let fits: ArrayRef = Arc::new(BooleanArray::from_iter(fits));
        let results = results.into_iter().map(column).chain([("memory_fits".into(), fits)]);
        results.chain(limit_columns(&JOB_LIMITS, limits)).collect()
    }

    fn paper_columns(
        &self,
        group: &PaperGroup,
        limits: &PaperLimits,
        designs: &[&MachineDesign<'_>],
    ) -> Vec<NamedColumn> {
        let own: Vec<_> = designs.iter().map(|design| paper_design(design)).collect();
        let columns = group.columns(&own, limits);
        let mut results = vec![
            ("sync", columns.sync_time, columns.sync_energy),
            ("nosync", columns.nosync_time, columns.nosync_energy),
        ];
        if self.survey.model == Model::Stages {
            let outcomes = own.iter().map(|design| group.stages(design));
            let (times, energies) = outcomes.map(|o| (o.time, o.energy.total().0)).unzip();
            results.push(("stages", times, energies));
        }
        let mut table = Vec::new();
        for (name, times, energies) in results {
            let energies = designs.iter().zip(energies);
            let energies = energies.map(|(d, energy)| power(d.machine).map(|_| energy));
            let prices = designs.iter().zip(&times).map(|(design, time)| self.price(design, *time));
            let (energies, prices) = (float(energies), float(prices));
            table.push((format!("{name}_time_s"), Arc::new(Float64Array::from(times)) as ArrayRef));
            table.push((format!("{name}_energy_j"), energies));
            table.push((format!("{name}_price"), prices));
        }
        table.extend(limit_columns(&PAPER_LIMITS, columns.limits));
        table
    }
}

fn limit_columns(
    names: &'static [&str],
    shares: impl IntoIterator<Item = Vec<f64>>,
) -> impl Iterator<Item = NamedColumn> {
    let column = |(name, shares)| {
        (format!("limits_{name}"), Arc::new(Float64Array::from(shares)) as ArrayRef)
    };
    names.iter().zip(shares).map(column)
}

fn text(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn float(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from_iter(values))
}
