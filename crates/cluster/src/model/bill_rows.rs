//! Bills as columns of a table of designs.

use crate::model::bill::BillReport;
use crate::survey::NamedColumn;
use arrow_array::{ArrayRef, Float64Array};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A column for each number of a bill, `bill_NAME`, and of its inputs, `bill_inputs_NAME`: the
/// names of the CSV. None if no design has a bill.
pub(super) fn columns(bills: &[Option<BillReport>]) -> Vec<NamedColumn> {
    let flat = |bill: &Option<BillReport>| -> Option<Map<String, Value>> {
        let Value::Object(mut own) = serde_json::to_value((*bill)?).ok()? else { return None };
        if let Some(Value::Object(inputs)) = own.remove("inputs") {
            own.extend(inputs.into_iter().map(|(key, value)| (format!("inputs_{key}"), value)));
        }
        Some(own)
    };
    let rows: Vec<_> = bills.iter().map(flat).collect();
    let Some(first) = rows.iter().flatten().next() else { return Vec::new() };
    let column = |key: &String| -> NamedColumn {
        let of = |row: &Option<Map<String, Value>>| row.as_ref()?.get(key)?.as_f64();
        let values: Float64Array = rows.iter().map(of).collect();
        (format!("bill_{key}"), Arc::new(values) as ArrayRef)
    };
    first.keys().map(column).collect()
}
