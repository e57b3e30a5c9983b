//! Kinds of config and their names.

use crate::parse::{ConfigError, from_json, from_toml, nearest, refuse_not_finite, to_json};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of config, such as `disk`: its name and its type.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The name that users write.
    pub name: &'static str,
    to_json: fn(&str, &str) -> Result<String, ConfigError>,
    check: fn(&str, &str) -> Result<(), ConfigError>,
    schema: fn() -> Result<String, ConfigError>,
}

impl Kind {
    /// A kind with this name, whose configs have the type `T`.
    #[must_use]
    pub const fn of<T: DeserializeOwned + Serialize + JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            to_json: toml_to_json::<T>,
            check: check_json::<T>,
            schema: schema_of_config::<T>,
        }
    }

    /// Parses TOML `text` and returns the config as JSON, quantities as text. `origin` names the
    /// file in errors.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML or not a config of this kind.
    pub fn to_json(&self, text: &str, origin: &str) -> Result<String, ConfigError> {
        (self.to_json)(text, origin)
    }

    /// Checks JSON `text`, a config that a program changed.
    ///
    /// # Errors
    /// Returns an error with the key path if the text is not a config of this kind.
    pub fn check(&self, text: &str, origin: &str) -> Result<(), ConfigError> {
        (self.check)(text, origin)
    }

    /// The JSON Schema of this kind.
    ///
    /// # Errors
    /// Returns an error if the schema cannot be serialised as JSON.
    pub fn schema(&self) -> Result<String, ConfigError> {
        (self.schema)()
    }
}

fn check_json<T: DeserializeOwned>(text: &str, origin: &str) -> Result<(), ConfigError> {
    from_json::<T>(text, origin).map(drop)
}

fn toml_to_json<T: DeserializeOwned + Serialize>(
    text: &str,
    origin: &str,
) -> Result<String, ConfigError> {
    let config = from_toml::<T>(text, origin)?;
    refuse_not_finite(text, origin)?;
    to_json(&config, origin)
}

/// A kind of report, such as `flash-run`: its name and its type.
#[derive(Clone, Copy)]
pub struct ReportKind {
    /// The name of the kind.
    pub name: &'static str,
    schema: fn() -> Result<String, ConfigError>,
}

impl ReportKind {
    /// A kind with this name, whose reports have the type `T`.
    #[must_use]
    pub const fn of<T: Serialize + JsonSchema>(name: &'static str) -> Self {
        Self { name, schema: schema_of_report::<T> }
    }

    /// The JSON Schema of this kind.
    ///
    /// # Errors
    /// Returns an error if the schema cannot be serialised as JSON.
    pub fn schema(&self) -> Result<String, ConfigError> {
        (self.schema)()
    }
}

/// The schema of what is read.
fn schema_of_config<T: JsonSchema>() -> Result<String, ConfigError> {
    schema::<T>(SchemaSettings::default())
}

/// The schema of what is written: keys that are always written are required.
fn schema_of_report<T: JsonSchema>() -> Result<String, ConfigError> {
    schema::<T>(SchemaSettings::default().for_serialize())
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Result<String, ConfigError> {
    to_json(&settings.into_generator().into_root_schema_for::<T>(), "schema")
}

/// What has a name among others: a [`Kind`] or a [`ReportKind`].
pub trait Named {
    /// Its name.
    fn name(&self) -> &'static str;
}

impl Named for Kind {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Named for ReportKind {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// Finds a kind by name.
///
/// # Errors
/// Returns an error that lists all kinds if no kind has this name.
pub fn find<'a, K: Named>(kinds: &'a [K], name: &str) -> Result<&'a K, ConfigError> {
    let names = || kinds.iter().map(Named::name);
    kinds.iter().find(|kind| kind.name() == name).ok_or_else(|| ConfigError {
        origin: "config".into(),
        line: None,
        what: format!("no kind `{name}`; there is {}", names().collect::<Vec<_>>().join(", ")),
        hint: nearest(name, names()).map_or(String::new(), |near| format!("`{near}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_json;
    use gordon_units::{Bytes, Watts};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Memory {
        summary: String,
        idle: Watts,
        line: Bytes,
        bandwidth: Bytes,
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    struct Parts {
        memory: BTreeMap<String, Memory>,
    }

    const KINDS: [Kind; 2] = [Kind::of::<Memory>("memory"), Kind::of::<Parts>("parts")];
    const MEMORY: &str = "summary = 'DDR2'\nidle = '3W'\nline = '64B'\n";

    fn refused(text: &str) -> ConfigError {
        KINDS[0].to_json(text, "my.toml").unwrap_err()
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_nearest() {
        let error = refused(&format!("{MEMORY}bandwith = '4GB'\n"));
        assert_eq!(error.line, Some(4));
        assert!(error.to_string().starts_with("my.toml, line 4: unknown field `bandwith`"));
        assert_eq!(error.hint, "`bandwidth`");
    }

    #[test]
    fn two_letters_in_the_wrong_order_are_one_mistake() {
        assert_eq!(nearest("lur", ["fifo", "lru", "clock"]), Some("lru"));
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("clokc", ["lru", "clock"]), Some("clock"));
    }

    #[test]
    fn errors_name_a_missing_key_and_an_invalid_value() {
        let error = refused(MEMORY);
        assert!(error.what.contains("missing field `bandwidth`"), "{}", error.what);
        assert_eq!(error.hint, "add `bandwidth` to this table");
        let error = refused(&MEMORY.replace("'3W'", "'3 horses'"));
        assert!(error.line == Some(2) && error.what.contains("unknown unit"), "{error}");
    }

    #[test]
    fn types_are_named_in_words() {
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        struct Machine {
            cores: u32,
            price: f64,
        }
        let refused =
            |text: &str| Kind::of::<Machine>("machine").to_json(text, "my.toml").unwrap_err().what;
        let cores = refused("cores = 2.5\nprice = 1");
        assert!(cores.ends_with("`2.5`, expected a whole number, not below zero"), "{cores}");
        let price = refused("cores = 2\nprice = '1'");
        assert!(price.ends_with("expected a number"), "{price}");
    }

    /// JSON has no such numbers, and would hold null.
    #[test]
    fn numbers_that_are_not_finite_are_refused_with_their_key() {
        #[derive(Serialize, Deserialize, JsonSchema)]
        struct Priced {
            prices: Vec<BTreeMap<String, f64>>,
        }
        for number in ["nan", "-nan", "inf", "+inf"] {
            let text = format!("prices = [{{ a = 1.0 }}, {{ b = {number} }}]");
            let error = Kind::of::<Priced>("priced").to_json(&text, "my.toml").unwrap_err();
            assert!(error.to_string().starts_with("my.toml: prices[1].b: "), "{error}");
        }
    }

    #[test]
    fn json_errors_name_the_key_path() {
        let text = r#"{"memory": {"x": {"summary": "", "idle": "3"}}}"#;
        let error = from_json::<Parts>(text, "survey").unwrap_err();
        assert!(error.what.starts_with("memory.x.idle: "), "{}", error.what);
    }

    #[test]
    fn a_changed_config_is_checked_with_its_key_path() {
        let parts = |idle: &str| {
            let memory = r#""summary": "", "line": "64B", "bandwidth": "4GB""#;
            KINDS[1].check(&format!(r#"{{"memory": {{"x": {{{memory}, {idle}}}}}}}"#), "parts")
        };
        assert!(parts(r#""idle": "3W""#).is_ok());
        let error = parts(r#""idle": "3""#).unwrap_err();
        assert!(error.to_string().starts_with("parts: memory.x.idle: "), "{error}");
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_nearest() {
        let error = find(&KINDS, "memroy").map(|kind| kind.name).unwrap_err();
        assert!(error.hint.contains("`memory`"), "{error}");
        let schema = find(&KINDS, "parts").unwrap().schema().unwrap();
        assert!(schema.contains("properties"), "{schema}");
    }
}
