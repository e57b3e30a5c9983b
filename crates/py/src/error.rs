//! Errors for users: what is wrong and where, then what to try.

use pyo3::{PyErr, import_exception};
use std::fmt::{Debug, Display};

import_exception!(gordon.errors, GordonError);

/// Converts an error to a `GordonError`.
pub fn raise(error: impl Display + Debug) -> PyErr {
    GordonError::new_err(parts(&error))
}

/// Converts an error of one of several inputs, whose name precedes the message.
pub fn raise_of(name: &str, error: impl Display + Debug) -> PyErr {
    let (what, hint, kind) = parts(&error);
    GordonError::new_err((format!("{name}: {what}"), hint, kind))
}

/// Message, hint and kind of an error; a hint is on a line of its own in the error's text.
pub fn parts(error: &(impl Display + Debug)) -> (String, String, String) {
    let text = error.to_string();
    let (what, hint) = text.split_once("\n  try: ").unwrap_or((&text, ""));
    (what.to_owned(), hint.to_owned(), kind(error))
}

/// The name of an error's variant, as `not-found`; empty for an error that is plain text. A derived
/// `Debug` starts with that name, so error enums need not list their kinds again.
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
