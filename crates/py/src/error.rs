//! Errors for users: what and where, then what to try.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};
use std::fmt::Display;

create_exception!(gordon._core, GordonError, PyException, "args: (what and where, what to try)");

/// A `GordonError` of an error whose text has its hint, if any, on its own line.
pub fn raise(error: impl Display) -> PyErr {
    let text = error.to_string();
    let (what, hint) = text.split_once("\n  try: ").unwrap_or((&text, ""));
    GordonError::new_err((what.to_owned(), hint.to_owned()))
}
