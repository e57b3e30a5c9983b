//! Config text to config, with errors that say where and what to try.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;

/// Why a config is refused. The text has the hint, where there is one, on its own line.
#[derive(Debug, thiserror::Error)]
#[error(
    "{origin}{at}: {what}{try}",
    at = line.map_or(String::new(), |l| format!(", line {l}")),
    try = if hint.is_empty() { String::new() } else { format!("\n  try: {hint}") }
)]
pub struct ConfigError {
    /// The file, or what stands for it.
    pub origin: String,
    /// Line in it, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to try.
    pub hint: String,
}

/// Parses TOML `text`.
///
/// # Errors
/// Where it is not TOML, or not a `T`: says at which line, and the nearest key that is known.
pub fn from_toml<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|e| toml_error(&e, text, origin))
}

/// Parses JSON `text`, built by a program from parsed configs and overrides.
///
/// # Errors
/// Where it is not a `T`: says at which key.
pub fn from_json<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, ConfigError> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let key = error.path().to_string();
        let full = error.into_inner().to_string();
        // The place in the JSON says nothing to a user, who never saw it: the key does.
        let what = full.rsplit_once(" at line ").map_or(full.as_str(), |(what, _)| what);
        ConfigError {
            origin: origin.into(),
            line: None,
            what: if key == "." { what.into() } else { format!("{key}: {what}") },
            hint: hint(what),
        }
    })
}

/// Any value as JSON.
///
/// # Errors
/// Where it cannot be said in JSON.
pub fn to_json<T: Serialize>(value: &T, origin: &str) -> Result<String, ConfigError> {
    serde_json::to_string(value).map_err(|e| ConfigError {
        origin: origin.into(),
        line: None,
        what: e.to_string(),
        hint: String::new(),
    })
}

fn toml_error(error: &toml::de::Error, text: &str, origin: &str) -> ConfigError {
    let line = error.span().map(|span| {
        text.as_bytes()[..span.start.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
    });
    let what = error.message().lines().collect::<Vec<_>>().join(" ");
    ConfigError { origin: origin.into(), line, hint: hint(&what), what }
}

/// What to try after a message of serde's: the nearest known key, and all of them.
fn hint(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(wrong), known) = (quoted.next(), quoted.collect::<Vec<_>>()) else {
        return String::new();
    };
    if !message.starts_with("unknown") || known.is_empty() {
        return String::new();
    }
    let mut hint = String::new();
    if let Some(near) = nearest(wrong, known.iter().copied()) {
        let _ = write!(hint, "`{near}`; ");
    }
    let _ = write!(hint, "known here: {}", known.join(", "));
    hint
}

/// The one of `known` most like `wrong`, if it is like it at all.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|key| (strsim::jaro_winkler(wrong, key), key))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, key)| key)
}
