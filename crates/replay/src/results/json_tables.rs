//! Tables given as columns of JSON values.

use crate::ReplayError;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::Schema;
use serde_json::Value;
use std::sync::Arc;

/// Columns by name, in order, with one value per row.
pub type JsonColumns = Vec<(String, Vec<Value>)>;

/// Makes a table.
///
/// The type of a column is the first of these that can hold all its values: whole numbers, numbers,
/// booleans, text. A column without values is of numbers.
///
/// # Errors
/// Returns an error if columns differ in length.
pub fn table(columns: &JsonColumns) -> Result<RecordBatch, ReplayError> {
    if columns.is_empty() {
        return Ok(RecordBatch::new_empty(Arc::new(Schema::empty())));
    }
    let columns = columns.iter().map(|(column, values)| (column, array(values), true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| {
        ReplayError::impossible("columns", error.to_string(), "columns of the same length")
    })
}

fn array(values: &[Value]) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    if values.iter().all(Value::is_null) || (all(Value::is_number) && !all(Value::is_u64)) {
        Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>())
    } else if all(Value::is_u64) {
        Arc::new(values.iter().map(Value::as_u64).collect::<UInt64Array>())
    } else if all(Value::is_boolean) {
        Arc::new(values.iter().map(Value::as_bool).collect::<BooleanArray>())
    } else {
        let text = |value: &Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        Arc::new(values.iter().map(text).collect::<StringArray>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt64Type};
    use serde_json::json;

    fn column(name: &str, values: Value) -> (String, Vec<Value>) {
        (name.into(), values.as_array().expect("a list").clone())
    }

    #[test]
    fn a_column_has_the_type_of_its_values() {
        let columns = vec![
            column("count", json!([1, null, u64::MAX])),
            column("ratio", json!([0.5, 1, null])),
            column("none", json!([null, null, null])),
            column("is", json!([true, null, false])),
            column("text", json!(["a", null, 3])),
        ];
        let read = table(&columns).expect("a table");
        let names: Vec<_> = read.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["count", "ratio", "none", "is", "text"]);
        let counts: Vec<_> = read.column(0).as_primitive::<UInt64Type>().iter().collect();
        assert_eq!(counts, [Some(1), None, Some(u64::MAX)]);
        let floats =
            |at: usize| read.column(at).as_primitive::<Float64Type>().iter().collect::<Vec<_>>();
        assert_eq!(floats(1), [Some(0.5), Some(1.0), None]);
        assert_eq!(floats(2), [None; 3]);
        let is: Vec<_> = read.column(3).as_boolean().iter().collect();
        assert_eq!(is, [Some(true), None, Some(false)]);
        let texts: Vec<_> = read.column(4).as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("a"), None, Some("3")]);
    }

    #[test]
    fn no_columns_are_an_empty_table() {
        let made = table(&Vec::new()).expect("a table");
        assert_eq!((made.num_columns(), made.num_rows()), (0, 0));
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let columns = vec![column("a", json!([1, 2])), column("b", json!([1]))];
        assert!(table(&columns).is_err());
    }
}
