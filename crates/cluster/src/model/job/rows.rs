//! Rows of the table of machines.

use super::evaluate::JobModel;
use crate::model::bill_rows;
use crate::model::job::group::{JOB_LIMITS, JobColumns};
use crate::space::machines::MachineDesign;
use crate::survey::{Chunk, NamedColumn};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use std::sync::Arc;

/// The rows of the table for a chunk. `front` holds the numbers of the designs on the front,
/// ascending.
pub(super) fn rows(model: &JobModel<'_>, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
    let members = model.members(chunk);
    let designs: Vec<&MachineDesign<'_>> =
        members.iter().map(|number| &model.space.designs[*number]).collect();
    let numbers: Vec<u64> = members.iter().map(|number| *number as u64).collect();
    let on_front: Vec<bool> =
        numbers.iter().map(|number| front.binary_search(number).is_ok()).collect();
    let mut columns = JobColumns::default();
    let mut bills = Vec::with_capacity(members.len());
    model.each_group(members, |group, designs, _| {
        let own: Vec<_> = designs.iter().map(|design| model.job_design(design)).collect();
        let found = group.columns(&own);
        for ((design, own), secs) in designs.iter().zip(&own).zip(&found.time) {
            bills.push(model.bill_of(group, own, design, *secs));
        }
        columns.append(&found);
    });
    let JobColumns { time, low, high, energy, price, limits } = columns;
    let all = || designs.iter();
    let places = || all().map(|design| &model.space.places[design.place]);
    let prices = all().map(|d| d.machine.price_per_hour.as_ref().map(|price| **price));
    let fits = all().map(|design| model.traces.fit(design).known());
    let whole = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let known = |values: Vec<f64>| {
        float(values.into_iter().map(|value| (!value.is_nan()).then_some(value)))
    };
    let mut table: Vec<NamedColumn> = Vec::new();
    let mut add = |name: &str, column: ArrayRef| table.push((name.into(), column));
    add("number", Arc::new(UInt64Array::from(numbers)));
    add("id", text(all().map(|d| model.space.id(d))));
    add("machine", text(all().map(|d| &d.machine.id)));
    add("nodes", Arc::new(UInt32Array::from_iter_values(all().map(|d| d.nodes))));
    add("cores", Arc::new(UInt32Array::from_iter_values(all().map(|d| *d.machine.cores))));
    add("core_speed", whole(all().map(|d| *d.machine.core_speed).collect()));
    add("storage", text(places().map(|place| place.storage.label())));
    add("network_bytes_per_s", whole(places().map(|place| place.network).collect()));
    add("price_per_hour", float(prices));
    add("price_per_month", float(all().map(|design| model.price_per_month(design))));
    add("pareto", Arc::new(BooleanArray::from(on_front)));
    add("time_s", whole(time));
    add("time_s_low", whole(low));
    add("time_s_high", whole(high));
    add("energy_j", known(energy));
    add("price", known(price));
    add("memory_fits", Arc::new(BooleanArray::from_iter(fits)));
    for (name, shares) in JOB_LIMITS.iter().zip(limits) {
        add(&format!("limits_{name}"), whole(shares));
    }
    table.extend(bill_rows::columns(&bills));
    table
}

fn text(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn float(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from_iter(values))
}
