//! Block traces in the formats people have them in, as one stream of [`Io`].
//!
//! [`open`] tells the format by content and hands out a [`Reader`]. Files are read as they come, gzip
//! and zstd too, in bounded memory: the largest part is a buffer of at most 1 MiB a file and, where
//! requests are put in order, [`WINDOW`] of them. What each format holds, what of it is taken and what
//! the reader is tested on is in `docs/FORMATS.md`.
//!
//! Not covered: data, process names, and completions as events of their own.

mod ascii;
mod blkparse;
mod blktrace;
mod clf;
mod convert;
mod csv;
mod detect;
mod error;
mod fields;
mod fio;
mod input;
mod intake;
mod objects;
mod own;
mod records;
mod source;
mod write;

pub use convert::{Conversion, Converted, Line, convert};
pub use error::{Bad, FormatError, Place};
pub use intake::{Counts, Io, Order, WINDOW};
pub use objects::{NEVER, Object, Objects};

use gordon_units::Ns;
use input::Input;
use intake::Intake;
use source::{Binary, Source, Text};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Requests of a batch.
const BATCH: usize = 1 << 13;

/// A format of block traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// A trace of `gordon trace`: a folder.
    Gordon,
    /// Text of blkparse, in its default format.
    Blkparse,
    /// Binary events of the kernel's block tracer, as blktrace stores them.
    Blktrace,
    /// fio's I/O log, versions 2 and 3.
    Fio,
    /// CSV of the MSR Cambridge traces.
    Msr,
    /// Text that MQSim reads.
    Mqsim,
    /// Text that DiskSim reads by default.
    Disksim,
    /// The traces DiskSim's disk models were validated with: closed loop.
    DisksimValidate,
    /// CSV of the Storage Performance Council.
    Spc,
    /// CSV of Alibaba's block traces.
    Alibaba,
    /// CSV of Tencent's block traces.
    Tencent,
    /// libCacheSim's binary records of 24 bytes.
    OracleGeneral,
    /// Binary records of VMware's vscsiStats as CloudPhysics published them.
    Vscsi,
    /// Logs of web servers in the common or combined log format: objects, not blocks.
    Clf,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Gordon,
        Self::Blkparse,
        Self::Blktrace,
        Self::Fio,
        Self::Msr,
        Self::Mqsim,
        Self::Disksim,
        Self::DisksimValidate,
        Self::Spc,
        Self::Alibaba,
        Self::Tencent,
        Self::OracleGeneral,
        Self::Vscsi,
        Self::Clf,
    ];

    /// Its name, as `--format` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gordon => "gordon",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Fio => "fio",
            Self::Msr => "msr",
            Self::Mqsim => "mqsim",
            Self::Disksim => "disksim",
            Self::DisksimValidate => "disksim-validate",
            Self::Spc => "spc",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::OracleGeneral => "oracleGeneral",
            Self::Vscsi => "vscsi",
            Self::Clf => "clf",
        }
    }

    /// What it is, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Gordon => {
                "trace of `gordon trace`, or made by `gordon trace convert`: a folder; or by `gordon cache generate`: a file"
            }
            Self::Blkparse => "text of blkparse, its default format",
            Self::Blktrace => {
                "binary events of blktrace: NAME.blktrace.N of all CPUs, or one stream"
            }
            Self::Fio => "I/O log of fio --write_iolog, versions 2 and 3",
            Self::Msr => {
                "CSV of MSR Cambridge: 100 ns since 1601, host, disk, Read|Write, offset, bytes"
            }
            Self::Mqsim => "text: ns, device, sector, sectors, 0 write | 1 read",
            Self::Disksim => "text: ms with decimals, device, sector, sectors, flags (1 read)",
            Self::DisksimValidate => {
                "text: R|W, Hit|Miss, sector, sectors, response us, gap us; closed loop"
            }
            Self::Spc => "CSV: unit, sector, bytes, R|W, seconds",
            Self::Alibaba => "CSV: device, R|W, offset, bytes, us",
            Self::Tencent => "CSV: seconds, sector, sectors, 0 read | 1 write, volume",
            Self::OracleGeneral => {
                "binary, 24 bytes: seconds, block of 512 bytes (or object), bytes, next access; all reads"
            }
            Self::Vscsi => "binary, 32 or 40 bytes: SCSI reads and writes of a virtual machine",
            Self::Clf => {
                "log of a web server, common or combined log format: objects, for gordon cache alone"
            }
        }
    }

    /// What its reader is tested on; `docs/FORMATS.md` has the figures.
    pub const fn tested_on(self) -> &'static str {
        match self {
            Self::Gordon => "its own traces",
            Self::Blkparse | Self::Blktrace | Self::Fio => "its own tool",
            Self::Clf => "logs of nginx and Apache, made for it",
            Self::Spc => "requests of a real file, put into its form",
            Self::Alibaba => "a few lines of a real file",
            Self::Vscsi => "real files (32 bytes)",
            Self::Msr
            | Self::Mqsim
            | Self::Disksim
            | Self::DisksimValidate
            | Self::Tencent
            | Self::OracleGeneral => "real files",
        }
    }

    /// Whether its reader has met a whole real file or bytes of the format's own tool; what has met
    /// neither is read all the same.
    pub const fn support(self) -> &'static str {
        match self {
            Self::Spc | Self::Alibaba => "unsupported (read all the same)",
            Self::Vscsi => "yes; 40 bytes: unsupported",
            _ => "yes",
        }
    }

    /// The unit of its time stamps, where it has one.
    pub(crate) const fn unit(self) -> Ns {
        match self {
            Self::Gordon | Self::Blktrace | Self::Mqsim => Ns(1),
            Self::Msr => Ns(100),
            Self::Fio | Self::DisksimValidate | Self::Alibaba | Self::Vscsi => Ns(1_000),
            Self::Disksim => Ns(1_000_000),
            Self::Blkparse | Self::Spc | Self::Tencent | Self::OracleGeneral | Self::Clf => {
                Ns::SECOND
            }
        }
    }

    /// Whether its requests come with the time they took.
    pub(crate) const fn has_latency(self) -> bool {
        matches!(self, Self::Gordon | Self::Msr | Self::DisksimValidate | Self::Vscsi)
    }

    /// Whether [`Objects`] reads it.
    pub const fn is_objects(self) -> bool {
        matches!(self, Self::OracleGeneral | Self::Clf)
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        let found = Self::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| FormatError::Name(text.to_owned()))
    }
}

/// The event of a request that counts, in `blkparse` and `blktrace` traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Q: it enters the block layer.
    Queue,
    /// D: it goes to the device.
    Issue,
    /// C: the device has done it.
    Complete,
}

impl FromStr for Event {
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Leave out what is malformed, and count it.
    pub skip_bad: bool,
    /// Only the requests of this device.
    pub device: Option<u32>,
    /// What to do where time goes backwards.
    pub order: Order,
    /// The unit of the time stamps, where it is not the format's: at most a second.
    pub time_unit: Option<Ns>,
    /// Which event counts; else [`Event::Issue`] if the first events have one, else
    /// [`Event::Queue`], else [`Event::Complete`].
    pub event: Option<Event>,
}

/// What is done with what is malformed.
#[derive(Debug, Default)]
struct Skip {
    enabled: bool,
    first: Option<String>,
}

impl Skip {
    #[cold]
    fn bad(
        &mut self,
        path: &Path,
        place: Place,
        format: Format,
        bad: Bad,
        intake: &mut Intake,
    ) -> Result<(), FormatError> {
        let error = FormatError::Bad { path: path.to_owned(), place, format, bad };
        if !self.enabled {
            return Err(error);
        }
        intake.counts.skipped += 1;
        if self.first.is_none() {
            let text = error.to_string();
            self.first = Some(text.lines().next().unwrap_or_default().to_owned());
        }
        Ok(())
    }
}

/// Hands out the requests of a trace in batches.
pub struct Reader {
    path: PathBuf,
    format: Format,
    options: Options,
    source: Box<dyn Source>,
    intake: Intake,
    skip: Skip,
    done: bool,
}

/// The format of the trace at `path`, told by its content.
///
/// # Errors
/// Where it cannot be read, or is of no known format, or may be of several.
pub fn detect(path: &Path) -> Result<Format, FormatError> {
    if let Some(format) = detect::by_path(path) {
        return Ok(format);
    }
    let mut input = open_input(path)?;
    detect::by_content(path, &mut input)
}

/// Opens the trace at `path`; `-` is standard input. Without a format, its content tells it.
///
/// # Errors
/// Where it cannot be opened, its format is not told, or the options make no sense for it.
pub fn open(path: &Path, format: Option<Format>, options: &Options) -> Result<Reader, FormatError> {
    if let Some(unit) = options.time_unit
        && (unit == Ns::ZERO || unit > Ns::SECOND)
    {
        let why = "the unit of time stamps is between 1ns and 1s\n  try: --time-unit 1us";
        return Err(FormatError::Option(why.to_owned()));
    }
    let mut order = options.order;
    let by_path = format.or_else(|| detect::by_path(path));
    let (format, source): (Format, Box<dyn Source>) = match by_path {
        Some(format @ Format::Gordon) => {
            (format, Box::new(own::Own::open(path, options.device)?) as Box<dyn Source>)
        }
        Some(format @ Format::Blktrace) => {
            (format, Box::new(blktrace::Blktrace::open(path, options.event)?))
        }
        by_path => {
            let mut input = open_input(path)?;
            let format = match by_path {
                Some(format) => format,
                None => detect::by_content(path, &mut input)?,
            };
            (format, source(format, input, path, options)?)
        }
    };
    if format == Format::Blktrace && order == Order::Strict {
        // Each CPU has its buffer; blkparse sorts what it finds in them too.
        order = Order::Sort;
    }
    Ok(Reader {
        path: path.to_owned(),
        format,
        options: *options,
        source,
        intake: Intake::new(options.device, order),
        skip: Skip { enabled: options.skip_bad, first: None },
        done: false,
    })
}

fn open_input(path: &Path) -> Result<Input, FormatError> {
    Input::open(path).map_err(|source| match source.kind() {
        // It is open, and what is compressed there is damaged.
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::Other => {
            FormatError::Read { path: path.to_owned(), place: Place::Line(0), source }
        }
        _ => FormatError::Open { path: path.to_owned(), source },
    })
}

fn source(
    format: Format,
    mut input: Input,
    path: &Path,
    options: &Options,
) -> Result<Box<dyn Source>, FormatError> {
    let unit = options.time_unit.unwrap_or(format.unit());
    let read = |source| FormatError::Read { path: path.to_owned(), place: Place::Line(0), source };
    Ok(match format {
        Format::Gordon => Box::new(own::Own::open(path, options.device)?),
        Format::Blktrace => Box::new(blktrace::Blktrace::one(path, input, options.event)?),
        Format::Blkparse => {
            input.want(detect::HEAD).map_err(read)?;
            let event = options.event.unwrap_or_else(|| blkparse::event(input.bytes()));
            Box::new(Text::new(blkparse::Blkparse::new(event, unit), input, path, format))
        }
        Format::Fio => Box::new(Text::new(fio::Fio::new(unit), input, path, format)),
        Format::Msr => Box::new(Text::new(csv::Msr(unit), input, path, format)),
        Format::Mqsim => Box::new(Text::new(ascii::Mqsim(unit), input, path, format)),
        Format::Disksim => Box::new(Text::new(ascii::Disksim(unit), input, path, format)),
        Format::DisksimValidate => {
            Box::new(Text::new(ascii::Validate::new(unit), input, path, format))
        }
        Format::Spc => Box::new(Text::new(csv::Spc(unit), input, path, format)),
        Format::Alibaba => Box::new(Text::new(csv::Alibaba(unit), input, path, format)),
        Format::Tencent => Box::new(Text::new(csv::Tencent(unit), input, path, format)),
        Format::OracleGeneral => {
            Box::new(Binary::new(records::OracleGeneral(unit), input, path, format))
        }
        Format::Clf => {
            let why = "format clf is a trace of objects, not of blocks\n  try: gordon cache replay, \
                       which reads it";
            return Err(FormatError::Option(why.to_owned()));
        }
        Format::Vscsi => {
            input.want(detect::HEAD).map_err(read)?;
            match records::vscsi_version(input.bytes()) {
                Some(2) => Box::new(Binary::new(records::Vscsi2(unit), input, path, format)),
                // What is neither is told by its first record.
                _ => Box::new(Binary::new(records::Vscsi1(unit), input, path, format)),
            }
        }
    })
}

impl Reader {
    /// Replaces the content of `batch` with the next requests, in order of time; false at the end.
    /// After an error there are no more.
    ///
    /// # Errors
    /// Where the file cannot be read, is malformed, goes back in time, or holds no request at all.
    pub fn fill(&mut self, batch: &mut Vec<Io>) -> Result<bool, FormatError> {
        batch.clear();
        std::mem::swap(batch, &mut self.intake.out);
        let result = self.next();
        std::mem::swap(batch, &mut self.intake.out);
        if result.is_err() {
            self.done = true;
            batch.clear();
        }
        result?;
        Ok(!batch.is_empty())
    }

    fn next(&mut self) -> Result<(), FormatError> {
        while !self.done && self.intake.out.is_empty() {
            if self.source.fill(&mut self.intake, &mut self.skip, BATCH)? {
                continue;
            }
            self.done = true;
            if let Err(bad) = self.intake.finish() {
                let place = Place::Record(self.intake.counts.requests + 1, 0);
                let (path, format) = (self.path.clone(), self.format);
                return Err(FormatError::Bad { path, place, format, bad });
            }
            if self.intake.counts.requests == 0 {
                return Err(self.empty());
            }
        }
        Ok(())
    }

    #[cold]
    fn empty(&self) -> FormatError {
        let counts = &self.intake.counts;
        let mut why = String::new();
        let mut hint = "check that the file is whole and of this format";
        if counts.other_kinds > 0 {
            why = format!(": all its {} entries are of other kinds", counts.other_kinds);
        }
        if let Some(first) = &self.skip.first {
            why =
                format!(": {} lines or records are malformed, the first: {first}", counts.skipped);
            hint = "--format with its real format";
        }
        if let (Some(device), 1..) = (self.options.device, counts.other_devices) {
            why = format!(" of device {device}: {} are of others", counts.other_devices);
            hint = "--device with a number that is in the trace, or without it";
        }
        FormatError::Empty { path: self.path.clone(), why, hint }
    }

    /// What the trace was read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was read so far, and what was left out.
    pub fn counts(&self) -> Counts {
        self.intake.counts
    }

    /// Malformed lines or records skipped so far.
    pub fn skipped(&self) -> u64 {
        self.intake.counts.skipped
    }

    /// What was wrong with the first of those skipped.
    pub fn first_skipped(&self) -> Option<&str> {
        self.skip.first.as_deref()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("format", &self.format).finish()
    }
}

/// Batches of requests.
impl Iterator for Reader {
    type Item = Result<Vec<Io>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = Vec::new();
        match self.fill(&mut batch) {
            Ok(true) => Some(Ok(batch)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
