//! Rows of the table of designs.

use super::evaluate::ServiceModel;
use super::resource::ResourceUse;
use crate::model::bill_rows;
use crate::survey::NamedColumn;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use std::sync::Arc;

/// The rows of the table for these designs. `front` holds the numbers of the designs on the front,
/// ascending.
pub(super) fn rows(
    model: &ServiceModel<'_>,
    numbers: impl Iterator<Item = u64>,
    front: &[u64],
) -> Vec<NamedColumn> {
    let numbers: Vec<u64> = numbers.collect();
    let answers: Vec<_> = numbers.iter().map(|number| model.answer(*number)).collect();
    let machines: Vec<_> = numbers.iter().map(|number| model.parts_of(*number).0.machine).collect();
    let text = |values: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let count = |values: Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(values)) };
    let on_front: Vec<bool> =
        numbers.iter().map(|number| front.binary_search(number).is_ok()).collect();
    let mut table: Vec<NamedColumn> = Vec::new();
    let mut add = |name: &str, column: ArrayRef| table.push((name.into(), column));
    add("number", Arc::new(UInt64Array::from(numbers.clone())));
    add("id", text(numbers.iter().map(|number| model.name(*number)).collect()));
    add("machine", text(machines.iter().map(|machine| machine.id.clone()).collect()));
    add("nodes", count(numbers.iter().map(|number| model.nodes(*number)).collect()));
    add("cores", count(machines.iter().map(|machine| *machine.cores).collect()));
    add("pareto", Arc::new(BooleanArray::from(on_front)));
    add("keeps_up", Arc::new(answers.iter().map(|a| a.keeps_up()).collect::<BooleanArray>()));
    add("price_per_month", Arc::new(answers.iter().map(|a| a.price).collect::<Float64Array>()));
    add("power_w", Arc::new(answers.iter().map(|a| a.power).collect::<Float64Array>()));
    type Figure = (&'static str, fn(&ResourceUse) -> f64);
    let figures: [Figure; 2] = [("use", |used| used.best.p99), ("peak", |used| used.best.peak)];
    for (figure, of) in figures {
        for (at, resource) in super::resource::RESOURCES.into_iter().enumerate() {
            let values = answers.iter().map(|answer| {
                let (_, used) = answer.uses.named().nth(at)?;
                used.as_ref().map(of)
            });
            add(&format!("{figure}_{resource}"), Arc::new(values.collect::<Float64Array>()));
        }
    }
    let bills: Vec<_> = answers.iter().map(|answer| answer.bill).collect();
    table.extend(bill_rows::columns(&bills));
    table
}
