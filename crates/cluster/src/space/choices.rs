//! A value of a machine, or a list of values; each value of a list makes a design of its own.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{
    F64Deserializer, I64Deserializer, MapAccessDeserializer, StrDeserializer, U64Deserializer,
};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// One value, or a list of at least one. Dereferences to all of them.
#[derive(Clone, Debug)]
pub struct Choices<T>(Vec<T>);

impl<T> From<T> for Choices<T> {
    fn from(value: T) -> Self {
        Self(vec![value])
    }
}

impl<T> Deref for Choices<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize> Serialize for Choices<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [only] => only.serialize(s),
            several => several.serialize(s),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Choices<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Choices", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Choices<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        T::deserialize(I64Deserializer::new(v)).map(Choices::from)
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        T::deserialize(U64Deserializer::new(v)).map(Choices::from)
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
        T::deserialize(F64Deserializer::new(v)).map(Choices::from)
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        let text: StrDeserializer<'_, E> = v.into_deserializer();
        T::deserialize(text).map(Choices::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Choices::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        if values.is_empty() {
            return Err(A::Error::custom("the list is empty: give at least one value"));
        }
        Ok(Choices(values))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choices<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(OneOrMany(PhantomData))
    }
}
