//! Parsing of config text, with errors that name the place and give a hint.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reason why a config is refused. The message ends with the hint, if any, on its own line.
#[derive(Debug, thiserror::Error)]
#[error(
    "{origin}{at}: {what}{try}",
    at = line.map_or(String::new(), |l| format!(", line {l}")),
    try = if hint.is_empty() { String::new() } else { format!("\n  try: {hint}") }
)]
pub struct ConfigError {
    /// The file, or a description of the source if it is not a file.
    pub origin: String,
    /// Line in the file, from 1; `None` if unknown.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to try; empty if there is no hint.
    pub hint: String,
}

/// Parses TOML `text`.
///
/// # Errors
/// Returns an error with the line and the nearest known key if the text is not TOML or not a `T`.
pub fn from_toml<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|e| toml_error(&e, text, origin))
}

/// Returns an error for a number in TOML `text` that is infinite or not a number.
///
/// # Errors
/// Returns an error with the key of the number.
pub(crate) fn refuse_not_finite(text: &str, origin: &str) -> Result<(), ConfigError> {
    let table: toml::Table = from_toml(text, origin)?;
    match not_finite(&toml::Value::Table(table)) {
        None => Ok(()),
        Some((key, number)) => Err(ConfigError {
            origin: origin.into(),
            line: None,
            what: format!("{}: {number} is not a finite number", key.trim_start_matches('.')),
            hint: "leave the key out if its value is unknown".into(),
        }),
    }
}

/// The key, with a dot before each name, and the value of the first number that is not finite.
fn not_finite(value: &toml::Value) -> Option<(String, f64)> {
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some((String::new(), *number)),
        toml::Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            not_finite(item).map(|(key, number)| (format!("[{index}]{key}"), number))
        }),
        toml::Value::Table(table) => table.iter().find_map(|(name, item)| {
            not_finite(item).map(|(key, number)| (format!(".{name}{key}"), number))
        }),
        _ => None,
    }
}

/// Parses JSON `text`, built by a program from parsed configs and overrides.
///
/// # Errors
/// Returns an error with the key path if the text is not a `T`.
pub fn from_json<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, ConfigError> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let key = error.path().to_string();
        let full = error.into_inner().to_string();
        // The position in the JSON means nothing to a user, who never saw that JSON; the key does.
        let what = plain(full.rsplit_once(" at line ").map_or(full.as_str(), |(what, _)| what));
        let hint = hint(&what);
        let what = if key == "." { what } else { format!("{key}: {what}") };
        ConfigError { origin: origin.into(), line: None, what, hint }
    })
}

/// Serialises a value as JSON.
///
/// # Errors
/// Returns an error if the value cannot be represented in JSON.
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
    let what = plain(&error.message().lines().collect::<Vec<_>>().join(" "));
    ConfigError { origin: origin.into(), line, hint: hint(&what), what }
}

/// An error message of serde with names of Rust's types in words.
fn plain(message: &str) -> String {
    let Some((start, name)) = message.rsplit_once("expected ") else { return message.into() };
    let words = match name {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not below zero",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ => return message.into(),
    };
    format!("{start}expected {words}")
}

/// The hint for an error message of serde: the missing key, or the nearest known key. The message
/// itself lists the known keys.
fn hint(message: &str) -> String {
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("add {key} to this table");
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(wrong), known) = (quoted.next(), quoted.collect::<Vec<_>>()) else {
        return String::new();
    };
    if !message.starts_with("unknown") || known.is_empty() {
        return String::new();
    }
    nearest(wrong, known).map_or(String::new(), |near| format!("`{near}`"))
}

/// The entry of `known` most similar to `wrong`; `None` if none is similar enough.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|key| (likeness(wrong, key), key))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, key)| key)
}

/// How similar two words are, up to 1. Two neighbours in the wrong order make one mistake.
fn likeness(wrong: &str, key: &str) -> f64 {
    let is_one_off = wrong.len() > 2 && strsim::osa_distance(wrong, key) == 1;
    strsim::jaro_winkler(wrong, key).max(if is_one_off { 0.9 } else { 0.0 })
}
