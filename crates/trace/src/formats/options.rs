//! Options for reading a trace.

use super::collector::Order;
use super::delimited::{DelimitedFormat, OpWords, Separator};
use super::error::FormatError;
use gordon_units::Ns;
use std::str::FromStr;
use std::sync::Arc;

/// The event that stands for a request, in traces of `blkparse`, `blktrace` and `ftrace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// Q: the request enters the block layer.
    Queue,
    /// D: the request is issued to the device.
    Issue,
    /// C: the device has completed the request.
    Complete,
}

impl FromStr for RequestEvent {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text {
            "queue" | "Q" => Ok(Self::Queue),
            "issue" | "D" => Ok(Self::Issue),
            "complete" | "C" => Ok(Self::Complete),
            _ => Err(FormatError::Option(format!(
                "unknown event `{text}`\n  try: queue, issue or complete"
            ))),
        }
    }
}

/// Options for reading a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Skip and count malformed lines or records, instead of returning an error.
    pub skip_bad: bool,
    /// Read only the requests of this device.
    pub device: Option<u32>,
    /// What to do when time goes backwards.
    pub order: Order,
    /// Unit of the timestamps, at most a second; `None` for that of the format.
    pub time_unit: Option<Ns>,
    /// The event that stands for a request. Without it, [`RequestEvent::Issue`] if the first events
    /// contain it, else [`RequestEvent::Queue`], else [`RequestEvent::Complete`].
    pub event: Option<RequestEvent>,
    /// Do not extend requests to whole sectors.
    pub exact: bool,
    /// Keep the order of logs of web servers if time goes backwards, as [`Order::Clamp`] does.
    pub clamps_logs: bool,
    /// The columns of a text trace, instead of a named format.
    pub columns: Option<Arc<DelimitedFormat>>,
}

impl FromStr for Order {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text {
            "strict" => Ok(Self::Strict),
            "clamp" => Ok(Self::Clamp),
            "sort" => Ok(Self::Sort),
            _ => Err(FormatError::Option(format!(
                "unknown order `{text}`\n  try: strict, clamp or sort"
            ))),
        }
    }
}

/// Builds [`ReadOptions::columns`] from the options of a user.
///
/// # Errors
/// When the columns are malformed, or the other options are given without columns.
pub fn columns(
    columns: Option<&str>,
    separator: Option<&str>,
    skip_lines: Option<u64>,
    words: &OpWords,
) -> Result<Option<Arc<DelimitedFormat>>, FormatError> {
    let separator: Option<Separator> = separator.map(str::parse).transpose()?;
    let Some(columns) = columns else {
        let OpWords { reads, writes, trims } = words;
        let none = separator.is_none() && skip_lines.is_none();
        if !none || [reads, writes, trims].iter().any(|words| !words.is_empty()) {
            let why = "--separator, --skip-lines, --reads, --writes and --trims need --columns";
            let hint = "--columns \"time=1:s,op=2,lba=3,size=4:B\"";
            return Err(FormatError::Option(format!("{why}\n  try: {hint}")));
        }
        return Ok(None);
    };
    let format = DelimitedFormat::from_options(columns, separator, skip_lines.unwrap_or(0), words)?;
    Ok(Some(Arc::new(format)))
}
