//! The kinds of config that users write, by name.

use crate::config::{Cpu, Memory, Network, Overhead, Space};
use gordon_device::{disk, ssd};
use gordon_replay::cache::flashcache::Design;
pub use gordon_replay::parse::{ConfigError, from_json};
use gordon_replay::parse::{from_toml, nearest, to_json};
use gordon_sort::Settings;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The kinds of config, by the names users give them.
pub const KINDS: [&str; 10] = [
    "space",
    "cpu",
    "memory",
    "network",
    "overhead",
    "flash",
    "disk",
    "drive",
    "flashcache",
    "sort",
];

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
            "disk" => Ok($run::<disk::DiskConfig>($($arg),*)),
            "drive" => Ok($run::<disk::classic::ClassicConfig>($($arg),*)),
            "flashcache" => Ok($run::<Design>($($arg),*)),
            "sort" => Ok($run::<Settings>($($arg),*)),
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
        to_json(&from_toml::<T>(text, origin)?, origin)
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
