//! Rows of the table of clusters.

use super::evaluate::TasksModel;
use crate::model::bill_rows;
use crate::survey::{Chunk, NamedColumn};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use std::sync::Arc;

/// The rows of the table for a chunk. `front` holds the numbers of the designs on the front,
/// ascending.
pub(super) fn rows(model: &TasksModel<'_>, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
    let numbers: Vec<u64> = model.members(chunk).collect();
    let found: Vec<_> = numbers.iter().map(|number| model.answer(*number)).collect();
    let designs: Vec<_> = numbers.iter().map(|number| model.cluster(*number)).collect();
    let known = |values: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let whole = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let count = |values: Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(values)) };
    let text = |values: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let on_front: Vec<bool> =
        numbers.iter().map(|number| front.binary_search(number).is_ok()).collect();
    let mut table: Vec<NamedColumn> = Vec::new();
    let mut add = |name: &str, column: ArrayRef| table.push((name.into(), column));
    add("number", Arc::new(UInt64Array::from(numbers.clone())));
    add("id", text(numbers.iter().map(|number| model.name(*number)).collect()));
    add("machine", text(designs.iter().map(|(design, ..)| design.id()).collect()));
    add("nodes", count(designs.iter().map(|(.., nodes)| *nodes).collect()));
    add("cores", count(designs.iter().map(|(design, ..)| *design.machine.cores).collect()));
    add("pareto", Arc::new(BooleanArray::from(on_front)));
    add("time_s", whole(found.iter().map(|answer| answer.time).collect()));
    add("time_s_low", whole(found.iter().map(|answer| answer.low).collect()));
    add("time_s_high", whole(found.iter().map(|answer| answer.high).collect()));
    add("floor_s", whole(found.iter().map(|answer| answer.floor).collect()));
    add("energy_j", known(found.iter().map(|answer| answer.energy(answer.time)).collect()));
    add("price_per_month", known(numbers.iter().map(|n| model.price_per_month(*n)).collect()));
    add("price", known(found.iter().map(|answer| answer.price(answer.time)).collect()));
    let bills: Vec<_> = (numbers.iter().zip(&found))
        .map(|(number, answer)| model.bill(*number, &model.run(*number, answer.time)))
        .collect();
    table.extend(bill_rows::columns(&bills));
    table
}
