//! JSON Schema of quantities: a string with a unit.

use crate::{Bytes, DataRate, Hertz, Joules, Ns, Sourced, Volts, Watts};
use alloc::borrow::Cow;
use alloc::format;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

macro_rules! quantity {
    ($($name:ident $example:literal)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": r"^\d*\.?\d+ *[A-Za-z]*$",
                    "examples": [$example],
                })
            }
        }
    )*};
}

quantity!(
    Bytes "64KiB" DataRate "10Gb" Ns "25us" Hertz "2.4GHz" Watts "19W" Joules "5kJ" Volts "1.2V"
);

impl<T: JsonSchema> JsonSchema for Sourced<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Sourced_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "description": "A value, alone or with its address.",
            "anyOf": [
                value,
                {
                    "type": "object",
                    "properties": {
                        "value": value,
                        "source": { "type": "string", "description": "Data sheet, paper, table." },
                        "date": { "type": "string", "description": "Date of the source." },
                        "assumed": {
                            "type": "string",
                            "description": "Reason for the value, if no source prints one.",
                        },
                    },
                    "required": ["value"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
