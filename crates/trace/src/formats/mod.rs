//! Reads and writes block traces in the formats of other programs, as a stream of [`TraceRequest`],
//! and object traces as a stream of [`ObjectRequest`].
//!
//! [`open`] detects the format and returns a [`RequestReader`]. Compressed files are decompressed
//! while they are read. Memory is bounded: a buffer of at most 1 MiB per file, and [`WINDOW`]
//! requests if they have to be sorted. `docs/FORMATS.md` states for each format what it contains,
//! what is read, and what the reader was tested with.
//!
//! Not covered: the data of requests, names of processes, and completions as separate events.

mod blkparse;
mod blktrace;
mod clf;
mod collector;
mod convert;
mod delimited;
mod detect;
mod disksim_validate;
mod error;
mod fields;
mod fio;
mod format;
mod ftrace;
mod gordon;
mod input;
mod input_note;
mod objects;
mod records;
mod requeue;
mod source;
mod write;

pub use collector::{Order, ReadCounts, TraceRequest, WINDOW};
pub use convert::{ConversionReport, PendingConversion, RequestLine, convert};
pub use delimited::{ColumnMap, DelimitedFormat, DescribedFormat, OpWords, Separator};
pub use error::{EntryError, FilePosition, FormatCandidate, FormatError};
pub use format::Format;
pub use input_note::{FormatChoice, InputNote};
pub use objects::{NEVER, ObjectReader, ObjectRequest};

use collector::RequestCollector;
use delimited::DelimitedLines;
use detect::DetectedFormat;
use gordon_units::Ns;
use input::Input;
use source::{RecordSource, RequestSource, TextSource};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Requests per batch.
const BATCH: usize = 1 << 13;

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

/// Skips malformed entries or returns their error, and remembers the first.
#[derive(Debug, Default)]
struct SkippedEntries {
    enabled: bool,
    first: Option<String>,
}

impl SkippedEntries {
    #[cold]
    fn bad(
        &mut self,
        path: &Path,
        place: FilePosition,
        format: Format,
        bad: EntryError,
        collector: &mut RequestCollector,
    ) -> Result<(), FormatError> {
        let error = FormatError::Bad { path: path.to_owned(), place, format, bad };
        if !self.enabled {
            return Err(error);
        }
        collector.counts.skipped += 1;
        if self.first.is_none() {
            let text = error.to_string();
            self.first = Some(text.lines().next().unwrap_or_default().to_owned());
        }
        Ok(())
    }
}

/// Reads the requests of a block trace in batches.
pub struct RequestReader {
    note: InputNote,
    path: PathBuf,
    format: Format,
    options: ReadOptions,
    source: Box<dyn RequestSource>,
    collector: RequestCollector,
    skip: SkippedEntries,
    done: bool,
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

/// An open trace of blocks or of objects.
#[derive(Debug)]
pub enum OpenedTrace {
    /// Requests for blocks.
    Blocks(RequestReader),
    /// Requests for objects.
    Objects(ObjectReader),
}

/// Detects the format of the trace at `path`, as [`open_any`] does.
///
/// # Errors
/// When the file cannot be read, or its format is ambiguous.
pub fn detect(path: &Path) -> Result<Format, FormatError> {
    if let Some(format) = detect::by_path(path) {
        return Ok(format);
    }
    let mut input = open_input(path)?;
    detect::by_content(path, &mut input, &ReadOptions::default()).map(|found| found.format)
}

/// Opens a trace of blocks; `-` is standard input. Without `format` and columns, the format is
/// detected.
///
/// # Errors
/// When the file cannot be opened, is a trace of objects, its format is ambiguous, or the options
/// do not fit it.
pub fn open(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
) -> Result<RequestReader, FormatError> {
    match open_as(path, format, options, false, false)? {
        OpenedTrace::Blocks(reader) => Ok(reader),
        OpenedTrace::Objects(objects) => {
            let format = objects.format();
            let why = format!("format {format} is a trace of objects, not of blocks");
            let hint =
                "gordon cache replay, which reads objects; or --format with the right format";
            Err(FormatError::Option(format!("{}: {why}\n  try: {hint}", path.display())))
        }
    }
}

/// Opens a trace of blocks or of objects. With `sees_ahead`, the number of the next request in a
/// trace of objects must be that of a later request.
///
/// # Errors
/// When the file cannot be opened, its format is ambiguous, or the options do not fit it.
pub fn open_any(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
    sees_ahead: bool,
) -> Result<OpenedTrace, FormatError> {
    open_as(path, format, options, true, sees_ahead)
}

/// Describes how the trace at `path` is read. `objects` selects objects for a format that can be
/// read as blocks or as objects (oracleGeneral).
///
/// # Errors
/// When the file cannot be opened, its format is ambiguous, or the options do not fit it.
pub fn note(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
    objects: bool,
) -> Result<InputNote, FormatError> {
    Ok(match open_as(path, format, options, objects, false)? {
        OpenedTrace::Blocks(reader) => reader.note,
        OpenedTrace::Objects(objects) => objects.note().clone(),
    })
}

fn open_as(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
    objects: bool,
    sees_ahead: bool,
) -> Result<OpenedTrace, FormatError> {
    if let Some(unit) = options.time_unit
        && (unit == Ns::ZERO || unit > Ns::SECOND)
    {
        let why = "--time-unit is between 1ns and 1s\n  try: --time-unit 1us";
        return Err(FormatError::Option(why.to_owned()));
    }
    let given = match (format, &options.columns) {
        (Some(_), Some(_)) => {
            let why = "--format and --columns cannot be combined\n  try: --columns alone";
            return Err(FormatError::Option(why.to_owned()));
        }
        (Some(format), None) => Some(DetectedFormat::new(format, FormatChoice::Format)),
        (None, Some(_)) => Some(DetectedFormat::new(Format::Columns, FormatChoice::Columns)),
        (None, None) => {
            detect::by_path(path).map(|format| DetectedFormat::new(format, FormatChoice::FileName))
        }
    };
    let (detected, source): (DetectedFormat, Box<dyn RequestSource>) = match given {
        Some(given) if given.format == Format::Gordon => (
            given,
            Box::new(gordon::GordonSource::open(path, options.device)?) as Box<dyn RequestSource>,
        ),
        Some(given) if given.format == Format::Blktrace => {
            (given, Box::new(blktrace::Blktrace::open(path, options.event)?))
        }
        given => {
            let mut input = open_input(path)?;
            let mut detected = match given {
                Some(mut given) => {
                    given.doubts = detect::doubts(&mut input, given.format, options);
                    given
                }
                None => detect::by_content(path, &mut input, options)?,
            };
            let format = detected.format;
            let of_objects = match format.delimited(options) {
                Some(description) => {
                    detected.untimed = !detect::has_times(&mut input, &description);
                    description.columns.is_objects()
                }
                None => format == Format::Clf || (format == Format::OracleGeneral && objects),
            };
            if of_objects {
                let opened = ObjectReader::new(path, &detected, input, options, sees_ahead)?;
                return Ok(OpenedTrace::Objects(opened));
            }
            let source = source(format, input, path, options)?;
            (detected, source)
        }
    };
    let mut order = options.order;
    let sorts = match detected.format.delimited(options) {
        Some(description) => description.completed,
        None => detected.format == Format::Blktrace,
    };
    if sorts && order == Order::Strict {
        // Each CPU has its own buffer, and blkparse sorts the events of a buffer as well. Requests
        // that are logged on completion are not in order of issue.
        order = Order::Sort;
    }
    let note = InputNote::new(path, &detected, options, false);
    let format = detected.format;
    Ok(OpenedTrace::Blocks(RequestReader {
        note,
        path: path.to_owned(),
        format,
        options: options.clone(),
        source,
        collector: RequestCollector::new(options.device, order, options.exact),
        skip: SkippedEntries { enabled: options.skip_bad, first: None },
        done: false,
    }))
}

fn open_input(path: &Path) -> Result<Input, FormatError> {
    Input::open(path).map_err(|source| match source.kind() {
        // The file is open, but its compressed data are damaged.
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::Other => {
            FormatError::Read { path: path.to_owned(), place: FilePosition::Line(0), source }
        }
        _ => FormatError::Open { path: path.to_owned(), source },
    })
}

fn source(
    format: Format,
    mut input: Input,
    path: &Path,
    options: &ReadOptions,
) -> Result<Box<dyn RequestSource>, FormatError> {
    let unit = options.time_unit.unwrap_or(format.unit());
    let read =
        |source| FormatError::Read { path: path.to_owned(), place: FilePosition::Line(0), source };
    Ok(match format {
        Format::Gordon => Box::new(gordon::GordonSource::open(path, options.device)?),
        Format::Blktrace => Box::new(blktrace::Blktrace::one(path, input, options.event)?),
        Format::Blkparse => {
            input.want(detect::HEAD).map_err(read)?;
            let event = options.event.unwrap_or_else(|| blkparse::event(input.bytes()));
            Box::new(TextSource::new(blkparse::Blkparse::new(event, unit), input, path, format))
        }
        Format::Ftrace => {
            input.want(detect::HEAD).map_err(read)?;
            let event = options.event.unwrap_or_else(|| ftrace::event(input.bytes()));
            Box::new(TextSource::new(ftrace::Ftrace::new(event, unit), input, path, format))
        }
        Format::Fio => Box::new(TextSource::new(fio::Fio::new(unit), input, path, format)),
        Format::DisksimValidate => Box::new(TextSource::new(
            disksim_validate::DisksimValidate::new(unit),
            input,
            path,
            format,
        )),
        Format::OracleGeneral => {
            Box::new(RecordSource::new(records::OracleGeneral(unit), input, path, format))
        }
        Format::Described(_) | Format::Columns | Format::Clf => {
            let Some(description) = format.delimited(options) else {
                unreachable!("a trace of objects is not read as one of blocks");
            };
            let reader = DelimitedLines::new(&description, options.time_unit);
            Box::new(TextSource::new(reader, input, path, format))
        }
        Format::Vscsi => {
            input.want(detect::HEAD).map_err(read)?;
            match records::vscsi_version(input.bytes()) {
                Some(2) => Box::new(RecordSource::new(records::Vscsi2(unit), input, path, format)),
                // If it is neither version, the first record is an error.
                _ => Box::new(RecordSource::new(records::Vscsi1(unit), input, path, format)),
            }
        }
    })
}

impl RequestReader {
    /// Replaces the content of `batch` with the next requests, in order of time. Returns false at
    /// the end and after an error.
    ///
    /// # Errors
    /// When the file cannot be read, is malformed, goes back in time, or has no requests.
    pub fn fill(&mut self, batch: &mut Vec<TraceRequest>) -> Result<bool, FormatError> {
        batch.clear();
        std::mem::swap(batch, &mut self.collector.out);
        let result = self.next();
        std::mem::swap(batch, &mut self.collector.out);
        if result.is_err() {
            self.done = true;
            batch.clear();
        }
        result?;
        Ok(!batch.is_empty())
    }

    fn next(&mut self) -> Result<(), FormatError> {
        while !self.done && self.collector.out.is_empty() {
            if self.source.fill(&mut self.collector, &mut self.skip, BATCH)? {
                continue;
            }
            self.done = true;
            if let Err(bad) = self.collector.finish() {
                let place = FilePosition::Record(self.collector.counts.requests + 1, 0);
                let (path, format) = (self.path.clone(), self.format);
                return Err(FormatError::Bad { path, place, format, bad });
            }
            if self.collector.counts.requests == 0 {
                return Err(self.empty());
            }
        }
        Ok(())
    }

    #[cold]
    fn empty(&self) -> FormatError {
        let counts = &self.collector.counts;
        let mut why = String::new();
        let mut hint = "check that the file is whole and of this format";
        if counts.other_kinds > 0 {
            why = format!(
                ": its {} entries are all other operations or other events",
                counts.other_kinds
            );
        }
        if let Some(first) = &self.skip.first {
            why =
                format!(": {} lines or records are malformed, the first: {first}", counts.skipped);
            hint = "--format with the right format";
        }
        if let (Some(device), 1..) = (self.options.device, counts.other_devices) {
            let device = match self.format {
                Format::Gordon | Format::Blkparse | Format::Blktrace | Format::Ftrace => {
                    format!("{},{}", device >> 20, device & 0xf_ffff)
                }
                _ => device.to_string(),
            };
            why = format!(" of device {device}: {} are of others", counts.other_devices);
            hint = "--device with a number that is in the trace, or without it";
        }
        FormatError::Empty { path: self.path.clone(), why, hint }
    }

    /// The format that is read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How the trace is read: its format, how that was chosen, its units.
    pub fn note(&self) -> &InputNote {
        &self.note
    }

    /// Path of the trace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counters of the entries so far.
    pub fn counts(&self) -> ReadCounts {
        self.collector.counts
    }

    /// What was left out or changed so far, one line each.
    pub fn notes(&self) -> Vec<String> {
        let events = matches!(self.format, Format::Blkparse | Format::Blktrace | Format::Ftrace);
        self.counts().notes(self.first_skipped(), events)
    }

    /// Number of malformed lines or records skipped so far.
    pub fn skipped(&self) -> u64 {
        self.collector.counts.skipped
    }

    /// Error of the first skipped line or record.
    pub fn first_skipped(&self) -> Option<&str> {
        self.skip.first.as_deref()
    }
}

impl fmt::Debug for RequestReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("format", &self.format).finish()
    }
}

/// Iterates over batches of requests.
impl Iterator for RequestReader {
    type Item = Result<Vec<TraceRequest>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = Vec::new();
        match self.fill(&mut batch) {
            Ok(true) => Some(Ok(batch)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
