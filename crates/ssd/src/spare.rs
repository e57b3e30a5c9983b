//! The `spare` key of a flash device: its over-provisioning as a share of what it exports.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Raw capacity beyond the exported one, as a share of the exported one; in text `18%` or `0.18`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Spare(pub f64);

impl fmt::Display for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nine decimals, so that rounding does not show.
        write!(f, "{}%", (self.0 * 1e11).round() / 1e9)
    }
}

impl Serialize for Spare {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

struct NumberOrPercent;

impl Visitor<'_> for NumberOrPercent {
    type Value = Spare;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share of the capacity, such as \"18%\" or 0.18")
    }

    fn visit_f64<E: Error>(self, share: f64) -> Result<Spare, E> {
        if share >= 1.0 {
            return Err(E::custom(format_args!(
                "{share} is {} %; write a share with its per cent sign, such as \"18%\", or 0.18",
                share * 100.0
            )));
        }
        checked(share)
    }

    #[allow(clippy::cast_precision_loss)]
    fn visit_u64<E: Error>(self, share: u64) -> Result<Spare, E> {
        self.visit_f64(share as f64)
    }

    #[allow(clippy::cast_precision_loss)]
    fn visit_i64<E: Error>(self, share: i64) -> Result<Spare, E> {
        self.visit_f64(share as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Spare, E> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (text.trim(), 1.0),
        };
        let share: f64 = number.parse().map_err(|_| {
            E::custom(format_args!("`{text}` is not a share, such as \"18%\" or 0.18"))
        })?;
        if scale == 1.0 { self.visit_f64(share) } else { checked(share / scale) }
    }
}

/// The most that an array has beyond what it exports: 100 times as much.
const MOST: f64 = 100.0;

fn checked<E: Error>(share: f64) -> Result<Spare, E> {
    if share > 0.0 && share <= MOST {
        return Ok(Spare(share));
    }
    let what = if share > MOST { "more than 10,000 %" } else { "not above zero" };
    Err(E::custom(format_args!("{share} is {what}; give a share such as \"18%\" or 0.18")))
}

impl<'de> Deserialize<'de> for Spare {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NumberOrPercent)
    }
}

impl JsonSchema for Spare {
    fn schema_name() -> Cow<'static, str> {
        "Spare".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A share of the exported capacity, such as \"18%\" or 0.18.",
            "anyOf": [
                { "type": "number", "exclusiveMinimum": 0 },
                { "type": "string", "pattern": r"^\d*\.?\d+ *%?$" },
            ],
        })
    }
}
