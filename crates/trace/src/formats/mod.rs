//! Block traces in the formats people have them in, as one stream of [`TraceRequest`].
//!
//! [`open`] detects the format by content and hands out a [`RequestReader`]. Files are read as they come,
//! gzip and zstd too, in bounded memory: the largest part is a buffer of at most 1 MiB a file and,
//! where requests are put in order, [`WINDOW`] of them. What each format holds, what of it is taken
//! and what the reader is tested on is in `docs/FORMATS.md`.
//!
//! Not covered: data, process names, and completions as events of their own.

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

/// Requests of a batch.
const BATCH: usize = 1 << 13;

/// The event of a request that counts, in `blkparse`, `blktrace` and `ftrace` traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// Q: it enters the block layer.
    Queue,
    /// D: it goes to the device.
    Issue,
    /// C: the device has done it.
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

/// How to read a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Leave out what is malformed, and count it.
    pub skip_bad: bool,
    /// Only the requests of this device.
    pub device: Option<u32>,
    /// What to do where time goes backwards.
    pub order: Order,
    /// The unit of the time stamps, where it is not the format's: at most a second.
    pub time_unit: Option<Ns>,
    /// Which event counts; else [`RequestEvent::Issue`] if the first events have one, else
    /// [`RequestEvent::Queue`], else [`RequestEvent::Complete`].
    pub event: Option<RequestEvent>,
    /// Requests keep their bytes, and are not extended to whole sectors.
    pub exact: bool,
    /// A log of a web server that goes back in time keeps its order, as with [`Order::Clamp`].
    pub clamps_logs: bool,
    /// The columns of a text trace, where no format is named.
    pub columns: Option<Arc<DelimitedFormat>>,
}

/// What is done with what is malformed.
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

/// Hands out the requests of a trace in batches.
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

/// The columns that a user describes, as the options have them: [`ReadOptions::columns`].
///
/// # Errors
/// Where they are malformed, or the other options come without columns.
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
    let own = DelimitedFormat::own(columns, separator, skip_lines.unwrap_or(0), words)?;
    Ok(Some(Arc::new(own)))
}

/// A trace as requests for blocks, or for objects.
#[derive(Debug)]
pub enum OpenedTrace {
    /// Blocks.
    Blocks(RequestReader),
    /// Objects.
    Objects(ObjectReader),
}

/// The format that [`open_any`] detects for the trace at `path`.
///
/// # Errors
/// Where it cannot be read, or its format is not clear.
pub fn detect(path: &Path) -> Result<Format, FormatError> {
    if let Some(format) = detect::by_path(path) {
        return Ok(format);
    }
    let mut input = open_input(path)?;
    detect::by_content(path, &mut input, &ReadOptions::default()).map(|found| found.format)
}

/// Opens the trace at `path` as requests for blocks; `-` is standard input. Without a format or
/// columns, its content decides.
///
/// # Errors
/// Where it cannot be opened, it is of objects, its format is not clear, or the options make no
/// sense for it.
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

/// Opens the trace at `path` as what it is: requests for objects, or for blocks. With `sees_ahead`,
/// the number of the next request in a trace of objects has to lie ahead.
///
/// # Errors
/// Where it cannot be opened, its format is not clear, or the options make no sense for it.
pub fn open_any(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
    sees_ahead: bool,
) -> Result<OpenedTrace, FormatError> {
    open_as(path, format, options, true, sees_ahead)
}

/// What the trace at `path` would be read as. One that may be of blocks or of objects
/// (oracleGeneral) is one of `objects`, or not.
///
/// # Errors
/// Where it cannot be opened, its format is not clear, or the options make no sense for it.
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
                Some(about) => {
                    detected.untimed = !detect::has_times(&mut input, &about);
                    about.columns.is_objects()
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
        Some(about) => about.completed,
        None => detected.format == Format::Blktrace,
    };
    if sorts && order == Order::Strict {
        // Each CPU has its buffer, and blkparse sorts what it finds in them too; requests that are
        // written when they complete are not in the order in which they were issued.
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
        // It is open, and what is compressed there is damaged.
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
            let Some(about) = format.delimited(options) else {
                unreachable!("a trace of objects is not read as one of blocks");
            };
            let reader = DelimitedLines::new(&about, options.time_unit);
            Box::new(TextSource::new(reader, input, path, format))
        }
        Format::Vscsi => {
            input.want(detect::HEAD).map_err(read)?;
            match records::vscsi_version(input.bytes()) {
                Some(2) => Box::new(RecordSource::new(records::Vscsi2(unit), input, path, format)),
                // What is neither is told by its first record.
                _ => Box::new(RecordSource::new(records::Vscsi1(unit), input, path, format)),
            }
        }
    })
}

impl RequestReader {
    /// Replaces the content of `batch` with the next requests, in order of time; false at the end.
    /// After an error there are no more.
    ///
    /// # Errors
    /// Where the file cannot be read, is malformed, goes back in time, or holds no request at all.
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

    /// What the trace was read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the trace is read as: its format, how that was chosen, its units.
    pub fn note(&self) -> &InputNote {
        &self.note
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was read so far, and what was left out.
    pub fn counts(&self) -> ReadCounts {
        self.collector.counts
    }

    /// What was left out or changed so far, a line each.
    pub fn notes(&self) -> Vec<String> {
        let events = matches!(self.format, Format::Blkparse | Format::Blktrace | Format::Ftrace);
        self.counts().notes(self.first_skipped(), events)
    }

    /// Malformed lines or records skipped so far.
    pub fn skipped(&self) -> u64 {
        self.collector.counts.skipped
    }

    /// What was wrong with the first of those skipped.
    pub fn first_skipped(&self) -> Option<&str> {
        self.skip.first.as_deref()
    }
}

impl fmt::Debug for RequestReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("format", &self.format).finish()
    }
}

/// Batches of requests.
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
