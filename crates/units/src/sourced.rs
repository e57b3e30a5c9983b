//! A value with its source: a publication, or the reason for an assumption.
//!
//! In a config a value stands alone (`read = "25us"`: the user's own), names its source (`read = {
//! value = "25us", source = "Gordon ASPLOS'09, Table 1" }`) or, if it was never published, gives
//! the reason for the choice: `overhead = { value = 1.3, assumed = "fitted to ..." }`.

use crate::Date;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use serde::de::value::{
    BoolDeserializer, F64Deserializer, I64Deserializer, MapAccessDeserializer,
    SeqAccessDeserializer, StrDeserializer, U64Deserializer,
};
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Where a value was taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user gave the value without a source.
    Given,
    /// A data sheet, or a paper and its table.
    Published(String),
    /// The value was never published; the text gives the reason for the choice.
    Assumed(String),
}

/// A value with its source. Dereferences to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where the value was taken from.
    pub source: Source,
}

impl<T> Deref for Sourced<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> From<T> for Sourced<T> {
    fn from(value: T) -> Self {
        Self { value, source: Source::Given }
    }
}

impl<T: Serialize> Serialize for Sourced<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let (key, text) = match &self.source {
            Source::Given => return self.value.serialize(s),
            Source::Published(text) => ("source", text),
            Source::Assumed(text) => ("assumed", text),
        };
        let mut map = s.serialize_map(Some(2))?;
        map.serialize_entry("value", &self.value)?;
        map.serialize_entry(key, text)?;
        map.end()
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Full<T> {
    value: T,
    source: Option<String>,
    date: Option<Date>,
    assumed: Option<String>,
}

struct Either<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
    type Value = Sourced<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a value, or { value = ..., source = \"...\" }, or { value = ..., assumed = \"...\" }",
        )
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Self::Value, E> {
        T::deserialize(BoolDeserializer::new(v)).map(Sourced::from)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        T::deserialize(I64Deserializer::new(v)).map(Sourced::from)
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        T::deserialize(U64Deserializer::new(v)).map(Sourced::from)
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
        T::deserialize(F64Deserializer::new(v)).map(Sourced::from)
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        let text: StrDeserializer<'_, E> = v.into_deserializer();
        T::deserialize(text).map(Sourced::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(seq)).map(Sourced::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let full = Full::<T>::deserialize(MapAccessDeserializer::new(map))?;
        let source = match (full.source, full.assumed, full.date) {
            (Some(text), None, None) => Source::Published(text),
            (Some(text), None, Some(date)) => Source::Published(format!("{text}, {date}")),
            (None, Some(text), None) => Source::Assumed(text),
            (None, None, None) => Source::Given,
            (None, _, Some(_)) => {
                return Err(A::Error::custom("a `date` is that of a `source`"));
            }
            (Some(_), Some(_), _) => {
                return Err(A::Error::custom("a value has a `source` or is `assumed`, not both"));
            }
        };
        Ok(Sourced { value: full.value, source })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sourced<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Either(PhantomData))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => f.write_str("given"),
            Self::Published(text) => f.write_str(text),
            Self::Assumed(text) => f.write_str(&("assumed: ".to_owned() + text)),
        }
    }
}
