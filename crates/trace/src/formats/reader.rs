//! Opens traces, in a given or a detected format, and reads the requests of block traces.

use super::collector::{Order, ReadCounts, RequestCollector};
use super::delimited::DelimitedLines;
use super::detect::{by_content, by_path, doubts, has_times};
use super::entry_error::FilePosition;
use super::error::FormatError;
use super::format::Format;
use super::input::{HEAD, Input, open_input};
use super::input_note::{DetectedFormat, FormatChoice, InputNote};
use super::objects::ObjectReader;
use super::options::ReadOptions;
use super::request::TraceRequest;
use super::source::{RecordSource, RequestSource, SkippedEntries, TextSource};
use super::{blkparse, blktrace, disksim_validate, fio, ftrace, gordon, records};
use gordon_units::Ns;
use std::fmt;
use std::path::{Path, PathBuf};

/// Requests per batch.
const BATCH: usize = 1 << 13;

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
    if let Some(format) = by_path(path) {
        return Ok(format);
    }
    let mut input = open_input(path)?;
    by_content(path, &mut input, &ReadOptions::default()).map(|found| found.format)
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
                "gordon cache replay, which reads objects; or --format or --columns of blocks";
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

pub(super) fn open_as(
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
            by_path(path).map(|format| DetectedFormat::new(format, FormatChoice::FileName))
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
                    given.doubts = doubts(&mut input, given.format, options);
                    given
                }
                None => by_content(path, &mut input, options)?,
            };
            let format = detected.format;
            let of_objects = match format.delimited(options) {
                Some(description) => {
                    detected.untimed = !has_times(&mut input, &description);
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

fn source(
    format: Format,
    mut input: Input,
    path: &Path,
    options: &ReadOptions,
) -> Result<Box<dyn RequestSource>, FormatError> {
    let unit = options.time_unit.unwrap_or(format.unit());
    let read =
        |source| FormatError::Read { path: path.to_owned(), place: FilePosition::Line(0), source };
    let name = format.name();
    Ok(match format {
        Format::Gordon => Box::new(gordon::GordonSource::open(path, options.device)?),
        Format::Blktrace => Box::new(blktrace::Blktrace::one(path, input, options.event)?),
        Format::Blkparse => {
            input.want(HEAD).map_err(read)?;
            let event = options.event.unwrap_or_else(|| blkparse::event(input.bytes()));
            Box::new(TextSource::new(blkparse::Blkparse::new(event, unit), input, path, name))
        }
        Format::Ftrace => {
            input.want(HEAD).map_err(read)?;
            let event = options.event.unwrap_or_else(|| ftrace::event(input.bytes()));
            Box::new(TextSource::new(ftrace::Ftrace::new(event, unit), input, path, name))
        }
        Format::Fio => Box::new(TextSource::new(fio::Fio::new(unit), input, path, name)),
        Format::DisksimValidate => Box::new(TextSource::new(
            disksim_validate::DisksimValidate::new(unit),
            input,
            path,
            name,
        )),
        Format::OracleGeneral => {
            Box::new(RecordSource::new(records::OracleGeneral(unit), input, path, name))
        }
        Format::Described(_) | Format::Columns | Format::Clf => {
            let Some(description) = format.delimited(options) else {
                unreachable!("a trace of objects is not read as one of blocks");
            };
            let reader = DelimitedLines::new(&description, options.time_unit);
            Box::new(TextSource::new(reader, input, path, name))
        }
        Format::Vscsi => {
            input.want(HEAD).map_err(read)?;
            match records::vscsi_version(input.bytes()) {
                Some(2) => Box::new(RecordSource::new(records::Vscsi2(unit), input, path, name)),
                // If it is neither version, the first record is an error.
                _ => Box::new(RecordSource::new(records::Vscsi1(unit), input, path, name)),
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
                return Err(FormatError::Bad {
                    path,
                    place,
                    format: format.name(),
                    bad: Box::new(bad),
                });
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
