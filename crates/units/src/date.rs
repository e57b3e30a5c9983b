//! Dates of sources.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A date, `2026-08-20`; in TOML it may also stand without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(String);

impl Date {
    /// Checks that the text looks like a date: `YYYY-MM-DD`.
    fn parse<E: Error>(text: &str) -> Result<Self, E> {
        let mut parts = text.split('-');
        let mut has_digits = |count: usize| {
            parts.next().is_some_and(|p| p.len() == count && p.bytes().all(|b| b.is_ascii_digit()))
        };
        let whole = has_digits(4) && has_digits(2) && has_digits(2);
        if whole && parts.next().is_none() {
            return Ok(Self(text.to_owned()));
        }
        Err(E::custom(format_args!("`{text}` is not a date such as 2026-08-20")))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Date;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date such as 2026-08-20")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Date, E> {
        Date::parse(text)
    }

    /// TOML passes a date without quotes as a table with one entry.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Date, A::Error> {
        let entry: Option<(String, String)> = map.next_entry()?;
        let (_, text) = entry.ok_or_else(|| A::Error::custom("expected a date"))?;
        Date::parse(&text)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Text)
    }
}

impl JsonSchema for Date {
    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\d{4}-\d{2}-\d{2}$",
            "examples": ["2026-08-20"],
        })
    }
}
