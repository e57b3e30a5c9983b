//! Errors for users: what and where, then what to try.

use pyo3::{PyErr, import_exception};
use std::fmt::{Debug, Display};

import_exception!(gordon.errors, GordonError);

/// A `GordonError` of an error whose text has its hint, if any, on its own line.
pub fn raise(error: impl Display + Debug) -> PyErr {
    let text = error.to_string();
    let (what, hint) = text.split_once("\n  try: ").unwrap_or((&text, ""));
    GordonError::new_err((what.to_owned(), hint.to_owned(), kind(&error)))
}

/// The name of an error's variant, as `not-found`; empty for an error that is plain text. A derived
/// `Debug` begins with that name, so no error enum has to list its kinds a second time.
fn kind(error: &impl Debug) -> String {
    let text = format!("{error:?}");
    let mut kind = String::new();
    for letter in text.chars().take_while(char::is_ascii_alphanumeric) {
        if letter.is_ascii_uppercase() && !kind.is_empty() {
            kind.push('-');
        }
        kind.push(letter.to_ascii_lowercase());
    }
    kind
}
