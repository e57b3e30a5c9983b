//! Config text to config, with errors that say where and what to try.

use crate::config::{Cpu, Memory, Network, Overhead, Space};
use gordon_device::{disk, ssd};
use schemars::{JsonSchema, schema_for};
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

/// The kinds of config, by the names users give them.
pub const KINDS: [&str; 7] = ["space", "cpu", "memory", "network", "overhead", "flash", "disk"];

/// Calls `$run::<T>($args)` with the type of config `$kind`, or answers with the kinds there are.
macro_rules! by_kind {
    ($kind:expr, $run:ident($($arg:expr),*)) => {
        match $kind {
            "space" => Ok($run::<Space>($($arg),*)),
            "cpu" => Ok($run::<Cpu>($($arg),*)),
            "memory" => Ok($run::<Memory>($($arg),*)),
            "network" => Ok($run::<Network>($($arg),*)),
            "overhead" => Ok($run::<Overhead>($($arg),*)),
            "flash" => Ok($run::<ssd::SsdConfig>($($arg),*)),
            "disk" => Ok($run::<disk::Config>($($arg),*)),
            other => Err(unknown_kind(other)),
        }
    };
}

fn unknown_kind(kind: &str) -> ConfigError {
    ConfigError {
        origin: "config".into(),
        line: None,
        what: format!("no kind `{kind}`; there is {}", KINDS.join(", ")),
        hint: nearest(kind, KINDS).map_or(String::new(), |k| format!("`{k}`")),
    }
}

/// Parses TOML `text` of the given kind and hands it back as JSON, quantities as text.
///
/// # Errors
/// An unknown kind; text that is not TOML, or not of the kind.
pub fn toml_to_json(kind: &str, text: &str, origin: &str) -> Result<String, ConfigError> {
    fn one<T: DeserializeOwned + Serialize>(
        text: &str,
        origin: &str,
    ) -> Result<String, ConfigError> {
        let value: T = toml::from_str(text).map_err(|e| toml_error(&e, text, origin))?;
        to_json(&value, origin)
    }
    by_kind!(kind, one(text, origin))?
}

/// The JSON Schema of a kind.
///
/// # Errors
/// An unknown kind.
pub fn schema(kind: &str) -> Result<String, ConfigError> {
    fn one<T: JsonSchema>() -> Result<String, ConfigError> {
        to_json(&schema_for!(T), "schema")
    }
    by_kind!(kind, one())?
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

fn to_json<T: Serialize>(value: &T, origin: &str) -> Result<String, ConfigError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: &str = "summary = 'DDR2'\nidle = '3W'\nactive = '5.3W'\nline = '64B'\n";

    #[test]
    fn an_unknown_key_names_its_line_and_the_nearest() {
        let text = format!("{MEMORY}bandwith = '4GB'\n");
        let error = toml_to_json("memory", &text, "my.toml").unwrap_err();
        assert_eq!(error.line, Some(5));
        assert!(error.to_string().starts_with("my.toml, line 5: unknown field `bandwith`"));
        assert!(error.hint.starts_with("`bandwidth`; known here: "), "{}", error.hint);
    }

    #[test]
    fn a_missing_key_and_an_impossible_value_are_named() {
        let error = toml_to_json("memory", MEMORY, "my.toml").unwrap_err();
        assert!(error.what.contains("missing field `bandwidth`"), "{}", error.what);
        let text = MEMORY.replace("'3W'", "'3 horses'");
        let error = toml_to_json("memory", &text, "my.toml").unwrap_err();
        assert!(error.line == Some(2) && error.what.contains("unknown unit"), "{error}");
    }

    #[test]
    fn json_errors_name_the_key_path() {
        let error = from_json::<crate::config::Parts>(
            r#"{"memory": {"x": {"summary": "", "idle": "3"}}}"#,
            "survey",
        )
        .unwrap_err();
        assert!(error.what.starts_with("memory.x.idle: "), "{}", error.what);
    }

    #[test]
    fn unknown_kinds_offer_the_known() {
        assert!(schema("dsik").unwrap_err().hint.contains("`disk`"));
        for kind in KINDS {
            assert!(schema(kind).unwrap().contains("properties"), "{kind}");
        }
    }
}
