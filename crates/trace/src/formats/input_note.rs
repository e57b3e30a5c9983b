//! Describes how an input is read: its format, how that was chosen, and the units of its columns.

use super::delimited::{ColumnRole, DelimitedFormat};
use super::format::Format;
use super::options::ReadOptions;
use gordon_units::{Bytes, Ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// How the format of an input was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum FormatChoice {
    /// The user named the format.
    #[serde(rename = "--format")]
    Format,
    /// The user described the columns.
    #[serde(rename = "--columns")]
    Columns,
    /// The path is that of a folder or of a file of blktrace.
    #[serde(rename = "file name")]
    FileName,
    /// The content fits no other format.
    #[serde(rename = "content")]
    Content,
}

impl fmt::Display for FormatChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "named by --format",
            Self::Columns => "described by --columns",
            Self::FileName => "detected by its file name",
            Self::Content => "auto-detected",
        })
    }
}

/// The format of an input, and why its values are implausible in a format that the user named.
#[derive(Clone, Debug)]
pub(super) struct DetectedFormat {
    pub format: Format,
    pub chosen: FormatChoice,
    pub doubts: Vec<String>,
    /// The input is text with columns, and has no column of times.
    pub untimed: bool,
}

impl DetectedFormat {
    pub fn new(format: Format, chosen: FormatChoice) -> Self {
        Self { format, chosen, doubts: Vec::new(), untimed: false }
    }
}

/// Description of how an input is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputNote {
    /// Path of the input.
    pub path: String,
    /// Name of the format.
    pub format: &'static str,
    /// How the format was chosen.
    pub chosen_by: FormatChoice,
    /// Unit of times; `None` if there are no times.
    pub time_unit_ns: Option<u64>,
    /// Unit of addresses; `None` for objects.
    pub address_unit_bytes: Option<u64>,
    /// Unit of sizes; `None` if there are no sizes.
    pub size_unit_bytes: Option<u64>,
    /// The columns; `None` if the format has no description.
    pub columns: Option<String>,
    /// Meanings of numeric operation codes; `None` if the description has none.
    pub operations: Option<String>,
    /// Reasons why the values are implausible in the format that the user named.
    pub doubts: Vec<String>,
    /// All of this in one line.
    pub summary: String,
}

impl InputNote {
    pub(super) fn new(
        path: &Path,
        detected: &DetectedFormat,
        options: &ReadOptions,
        objects: bool,
    ) -> Self {
        let format = detected.format;
        let description = format.delimited(options);
        let delimited = description.as_deref();
        let unit = |role| delimited.and_then(|d: &DelimitedFormat| d.columns.unit(role));
        let (time, address, size) = match delimited {
            Some(_) => {
                let address = unit(ColumnRole::Offset);
                (unit(ColumnRole::Time), address, unit(ColumnRole::Size).or(address))
            }
            None => {
                let (address, size) = format.units();
                (Some(format.unit().0), Some(address), Some(size))
            }
        };
        let mut note = Self {
            path: path.display().to_string(),
            format: format.name(),
            chosen_by: detected.chosen,
            time_unit_ns: time
                .filter(|_| !detected.untimed)
                .map(|unit| options.time_unit.map_or(unit, |unit| unit.0)),
            address_unit_bytes: address.filter(|_| !objects),
            size_unit_bytes: size,
            columns: delimited.map(|d| d.columns.to_string()),
            operations: delimited.and_then(DelimitedFormat::numbers),
            doubts: detected.doubts.clone(),
            summary: String::new(),
        };
        note.summary = note.to_string();
        note
    }
}

impl fmt::Display for InputNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: format {}, {}", self.path, self.format, self.chosen_by)?;
        match self.time_unit_ns {
            Some(unit) => write!(f, "; times in {}", time_unit(unit))?,
            None => f.write_str("; no times")?,
        }
        match self.address_unit_bytes {
            Some(unit) => write!(f, "; addresses in {}", byte_unit(unit))?,
            None => f.write_str("; objects")?,
        }
        match self.size_unit_bytes {
            Some(unit) => write!(f, "; sizes in {}", byte_unit(unit))?,
            None => f.write_str("; no sizes: each counts as 1 byte")?,
        }
        if let Some(operations) = &self.operations {
            write!(f, "; operations {operations}")?;
        }
        Ok(())
    }
}

/// Names of common units, and `units of 100ns` for others.
fn time_unit(ns: u64) -> String {
    match ns {
        1_000_000_000 => "seconds".to_owned(),
        1_000_000 => "milliseconds".to_owned(),
        1_000 => "microseconds".to_owned(),
        1 => "nanoseconds".to_owned(),
        _ => format!("units of {}", Ns(ns)),
    }
}

fn byte_unit(bytes: u64) -> String {
    if bytes == 1 { "bytes".to_owned() } else { format!("blocks of {}", Bytes(bytes)) }
}
