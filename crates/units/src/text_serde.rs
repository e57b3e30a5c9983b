//! Serde implementations: configs and results hold a quantity as text, such as `"25us"`.

use crate::{Bytes, DataRate, Hertz, Joules, Ns, Volts, Watts};
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err = crate::ParseError>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity with its unit in quotes, such as \"64KiB\", \"25us\" or \"19W\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|e| E::custom(format_args!("`{text}`: {e}")))
    }
}

macro_rules! as_text {
    ($($name:ident)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_str(Text(PhantomData))
            }
        }
    )*};
}

as_text!(Bytes DataRate Hertz Joules Ns Volts Watts);
