//! The `[timing]` section of a flash device.

use gordon_nand::{Modes, Times, Timing};
use gordon_units::{Hertz, Ns, Sourced};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Upper limit of the time of an operation. A longer time is a typing error, and sums of such times
/// would overflow.
pub(super) const LONGEST: Ns = Ns(3_600_000_000_000);

/// Timing of flash operations and buses.
///
/// Read and program times may be lists with one time for each type of page: page i of a block has
/// type i modulo the length of the list (TLC: lower, middle, upper).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingConfig {
    /// Page read time, from the cells to the page register (t_R). A list gives a time for each type
    /// of page.
    pub read: Sourced<PageTimes>,
    /// Page program time, from the page register to the cells (t_PROG). A list gives a time for
    /// each type of page.
    pub program: Sourced<PageTimes>,
    /// Block erase time (t_BERS).
    pub erase: Sourced<Ns>,
    /// Width of a bus: number of data lines.
    pub bus_bits: Sourced<u32>,
    /// Transfers per second on each data line.
    pub bus_rate: Sourced<Hertz>,
    /// Bus time of the command, address and status cycles of an operation on one physical page or
    /// block.
    pub command: Sourced<Ns>,
    /// Multi-plane operations: pending operations of one kind on different planes of the same dies,
    /// at the same page of their blocks, are carried out together. It makes a difference only if a
    /// super-page has fewer planes than a die. Default: true, as in all chips with planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_plane: Option<Sourced<bool>>,
    /// Independent plane reads: multi-plane reads need not be at the same page of their blocks.
    /// Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub independent_reads: Option<Sourced<bool>>,
    /// Cache read: the dies read the next page while the data of the previous page are transferred
    /// on the bus. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Sourced<bool>>,
    /// Cache program: the data of the next page are transferred on the bus while the dies program
    /// the previous page. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_program: Option<Sourced<bool>>,
    /// Whether reads overtake programs and erases that wait for the same dies, up to 16 reads in a
    /// row. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_first: Option<Sourced<bool>>,
    /// Suspension of programs and erases for reads of the host: the time from such a read until the
    /// dies have stopped and can read. The operation resumes when no read waits, or after 16 reads;
    /// an operation is suspended at most 16 times. Requires `read_first`. Default: no suspension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<Sourced<Ns>>,
}

impl TimingConfig {
    /// Checks that no time exceeds [`LONGEST`]. Returns the key of the first that does.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let times = [
            ("timing.read", self.read.longest()),
            ("timing.program", self.program.longest()),
            ("timing.erase", *self.erase),
            ("timing.command", *self.command),
            ("timing.suspend", self.suspend.as_ref().map_or(Ns::ZERO, |time| **time)),
        ];
        times.into_iter().find(|(_, time)| *time > LONGEST).map_or(Ok(()), |(key, _)| Err(key))
    }

    /// The timing table of the simulated array.
    pub fn resolve(&self) -> Timing {
        let on = |knob: &Option<Sourced<bool>>| knob.as_ref().is_some_and(|on| **on);
        Timing {
            read: self.read.0.clone(),
            program: self.program.0.clone(),
            erase: *self.erase,
            bus_bits: *self.bus_bits,
            bus_rate: *self.bus_rate,
            command: *self.command,
            modes: Modes {
                multi_plane: self.multi_plane.as_ref().is_none_or(|on| **on),
                independent_reads: on(&self.independent_reads),
                cache_read: on(&self.cache_read),
                cache_program: on(&self.cache_program),
                read_first: on(&self.read_first),
                suspend: self.suspend.as_ref().map(|time| **time),
            },
        }
    }
}

/// Times of an operation by type of page; in text, a single time or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTimes(pub Times);

impl PageTimes {
    /// The longest time of any page type.
    pub fn longest(&self) -> Ns {
        self.0.types().iter().copied().max().unwrap_or_default()
    }
}

impl From<Ns> for PageTimes {
    fn from(time: Ns) -> Self {
        Self(time.into())
    }
}

impl Serialize for PageTimes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0.types() {
            [one] => one.serialize(s),
            all => all.serialize(s),
        }
    }
}

struct OneOrList;

impl<'de> Visitor<'de> for OneOrList {
    type Value = PageTimes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time in quotes, such as \"50us\", or a list of times, one for each type of page",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PageTimes, E> {
        let time: Ns = text.parse().map_err(|e| E::custom(format_args!("`{text}`: {e}")))?;
        Ok(time.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PageTimes, A::Error> {
        let mut times = Vec::new();
        while let Some(time) = seq.next_element::<Ns>()? {
            times.push(time);
        }
        let none = "a list of no times; give one for each type of page";
        Times::new(times).map(PageTimes).ok_or_else(|| A::Error::custom(none))
    }
}

impl<'de> Deserialize<'de> for PageTimes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(OneOrList)
    }
}

impl JsonSchema for PageTimes {
    fn schema_name() -> Cow<'static, str> {
        "PageTimes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Ns>();
        json_schema!({
            "description": "A time, or one for each type of page.",
            "anyOf": [time, { "type": "array", "items": time, "minItems": 1 }],
        })
    }
}
