//! Converts a trace to another format, and reports what it contains.

use super::collector::ReadCounts;
use super::error::FormatError;
use super::format::Format;
use super::input_note::InputNote;
use super::objects::ObjectReader;
use super::options::ReadOptions;
use super::reader::{OpenedTrace, RequestReader, open_as};
use super::records::OracleRecord;
use super::request::TraceRequest;
use super::write::RequestWriter;
use crate::summary::RequestTotals;
use gordon_blockio::IoOp;
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Report of a conversion. Counters have the same meaning as in [`ReadCounts`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConversionReport {
    /// How the input was read: its format, how that was chosen, its units.
    pub input: InputNote,
    /// Name of the input format.
    pub from: &'static str,
    /// Name of the output format.
    pub to: &'static str,
    /// Requests read.
    pub requests: u64,
    /// Number of different objects; `None` for a trace of blocks.
    pub objects: Option<u64>,
    /// The first request; `None` for a trace of objects.
    pub first: Option<RequestLine>,
    /// The last request; `None` for a trace of objects.
    pub last: Option<RequestLine>,
    /// Number and bytes of the reads.
    pub read: RequestTotals,
    /// Number and bytes of the writes.
    pub write: RequestTotals,
    /// Number and bytes of the discards.
    pub discard: RequestTotals,
    /// Number of flushes, which have no bytes.
    pub flush: RequestTotals,
    /// Requests that the output format cannot express. They are left out.
    pub not_written: u64,
    /// Malformed lines or records that were skipped.
    pub skipped: u64,
    /// Error of the first skipped line or record.
    pub first_skipped: Option<String>,
    /// Requests for other devices than the selected one.
    pub other_devices: u64,
    /// Entries that are not a read, write, discard or flush, or not the event that is taken.
    pub other_kinds: u64,
    /// Reads, writes and discards of zero bytes. They are left out.
    pub empty: u64,
    /// Requests extended to whole sectors.
    pub extended: u64,
    /// Requests that were given a later time, so that time does not go backwards.
    pub clamped: u64,
    /// Requests of other methods than GET in logs of web servers. They are left out.
    pub other_methods: u64,
    /// Requests of other statuses than 200 in logs of web servers. They are left out.
    pub other_statuses: u64,
    /// Text keys, which were hashed to 64 bits.
    pub hashed_keys: u64,
    /// What was lost or changed, one sentence each.
    pub warnings: Vec<String>,
}

/// A request in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestLine {
    /// Time since the first request.
    pub at_ns: u64,
    /// Name of the operation.
    pub op: &'static str,
    /// Device number.
    pub device: u32,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 for a flush.
    pub bytes: u64,
}

impl From<&TraceRequest> for RequestLine {
    fn from(io: &TraceRequest) -> Self {
        Self {
            at_ns: io.at.0,
            op: io.op.name(),
            device: io.device,
            offset_bytes: io.offset.0,
            bytes: io.len.0,
        }
    }
}

/// A conversion that has been written under a temporary name. Dropping it removes the output.
///
/// The end of a piped input may mean that its program was killed. The caller can check that before
/// it publishes the output.
#[must_use]
pub struct PendingConversion {
    writer: RequestWriter,
    conversion: ConversionReport,
}

impl PendingConversion {
    /// Renames the output to its final name and returns the report.
    ///
    /// # Errors
    /// When the output cannot be completed.
    pub fn publish(self) -> Result<ConversionReport, FormatError> {
        self.writer.finish()?;
        Ok(self.conversion)
    }
}

/// Reads the trace at `input` and writes it in the format `to`, to be
/// [published](PendingConversion::publish) as `output`, which must not exist. Without `to`, blocks
/// are written in our own format and objects as oracleGeneral. Times are relative to the first
/// request. Setting `stop` ends the conversion early and removes the output.
///
/// # Errors
/// When the input cannot be read or the output cannot be written.
pub fn convert(
    input: &Path,
    output: &Path,
    from: Option<Format>,
    to: Option<Format>,
    options: &ReadOptions,
    stop: &AtomicBool,
) -> Result<PendingConversion, FormatError> {
    if let Some(to) = to
        && !to.is_written()
    {
        let written = Format::all().filter(|f| f.is_written()).map(Format::name);
        let written = written.collect::<Vec<_>>().join(", ");
        return Err(FormatError::Option(format!(
            "format {to} is read, not written\n  try: --to with one of {written}"
        )));
    }
    if to.unwrap_or(Format::Gordon) == Format::Gordon && output.as_os_str() == "-" {
        let why = "our own trace is a folder and cannot go to standard output\n  try: --to mqsim";
        return Err(FormatError::Option(why.to_owned()));
    }
    let as_objects = to == Some(Format::OracleGeneral);
    match open_as(input, from, options, as_objects, false)? {
        OpenedTrace::Blocks(_) if as_objects => {
            let why = "oracleGeneral is written of objects, and this is a trace of blocks";
            let hint = "--to gordon, or another format of blocks";
            Err(FormatError::Option(format!("{}: {why}\n  try: {hint}", input.display())))
        }
        OpenedTrace::Blocks(reader) => {
            blocks(reader, (input, output), to.unwrap_or(Format::Gordon), stop)
        }
        OpenedTrace::Objects(reader) => match to {
            None | Some(Format::OracleGeneral) => objects(reader, (input, output), stop),
            Some(to) => {
                let why = format!("{to} is written of blocks, and this is a trace of objects");
                let hint = "--to oracleGeneral";
                Err(FormatError::Option(format!("{}: {why}\n  try: {hint}", input.display())))
            }
        },
    }
}

fn blocks(
    mut reader: RequestReader,
    (input, output): (&Path, &Path),
    to: Format,
    stop: &AtomicBool,
) -> Result<PendingConversion, FormatError> {
    let from = reader.format();
    // Reads the first batch before the output is created, so that a malformed input leaves no
    // output.
    let mut batch = Vec::new();
    let mut more = reader.fill(&mut batch)?;
    let mut writer = RequestWriter::create(output, to, from, input)?;
    let mut tally = ConversionTally::default();
    let resolution = to.resolution().0;
    while more {
        if stop.load(Ordering::Relaxed) {
            return Err(FormatError::Stopped);
        }
        for io in &batch {
            tally.add(io);
            let latency = io.latency.filter(|_| to == Format::MSR).map_or(0, |latency| latency.0);
            tally.has_finer_times |=
                !(io.at.0.is_multiple_of(resolution) && latency.is_multiple_of(resolution));
            if to.can_express(io.op) {
                writer.push(io)?;
            } else {
                tally.not_written += 1;
            }
        }
        more = reader.fill(&mut batch)?;
    }
    let conversion = tally.conversion(&reader, to);
    Ok(PendingConversion { writer, conversion })
}

/// Writes objects as oracleGeneral. Its records have the number of the next request for the same
/// object, so all records, 24 bytes each, are in memory before the first is written.
fn objects(
    mut reader: ObjectReader,
    (input, output): (&Path, &Path),
    stop: &AtomicBool,
) -> Result<PendingConversion, FormatError> {
    let to = Format::OracleGeneral;
    let (mut batch, mut last) = (Vec::new(), HashMap::new());
    let mut records: Vec<OracleRecord> = Vec::new();
    let (mut ops, mut base, mut has_finer_times) = ([RequestTotals::default(); 4], None, false);
    while reader.fill(&mut batch)? {
        if stop.load(Ordering::Relaxed) {
            return Err(FormatError::Stopped);
        }
        for object in &batch {
            let number = records.len();
            let too_large = |what: &str, value: u64| {
                let why = format!("request {} (from 1): {what} {value}", number + 1);
                let hint = "a part of the trace: oracleGeneral has 32 bits for it";
                FormatError::Option(format!(
                    "{}, {why} is too large\n  try: {hint}",
                    input.display()
                ))
            };
            let since = object.at - *base.get_or_insert(object.at);
            has_finer_times |= !since.0.is_multiple_of(Ns::SECOND.0);
            let second = since.0 / Ns::SECOND.0;
            let time = u32::try_from(second).map_err(|_| too_large("its second", second))?;
            let size =
                u32::try_from(object.size).map_err(|_| too_large("its size", object.size))?;
            if let Some(before) = last.insert(object.key, number) {
                records[before].next = number as i64;
            }
            records.push(OracleRecord { time, object: object.key, size, next: -1 });
            let op = if object.write { IoOp::Write } else { IoOp::Read };
            let of = &mut ops[op as usize];
            of.requests += 1;
            of.bytes += object.size;
        }
    }
    let mut writer = RequestWriter::create(output, to, reader.format(), input)?;
    for record in &records {
        writer.record(&record.bytes())?;
    }
    let mut warnings =
        reader.note().doubts.iter().map(|d| format!("implausible: {d}")).collect::<Vec<_>>();
    warnings.extend(reader.notes());
    if ops[IoOp::Write as usize].requests > 0 {
        warnings.push(format!("writes are written as reads: {to} has reads alone"));
    }
    if has_finer_times {
        warnings
            .push(format!("times are cut to multiples of {}: {to} has no finer", to.resolution()));
    }
    let counts = reader.counts();
    let mut conversion =
        ConversionReport::new(reader.note().clone(), to, counts, reader.first_skipped());
    conversion.objects = Some(last.len() as u64);
    (conversion.read, conversion.write) = (ops[IoOp::Read as usize], ops[IoOp::Write as usize]);
    conversion.warnings = warnings;
    Ok(PendingConversion { writer, conversion })
}

impl ConversionReport {
    fn new(input: InputNote, to: Format, counts: ReadCounts, first_skipped: Option<&str>) -> Self {
        let none = RequestTotals::default();
        Self {
            from: input.format,
            input,
            to: to.name(),
            requests: counts.requests,
            objects: None,
            first: None,
            last: None,
            read: none,
            write: none,
            discard: none,
            flush: none,
            not_written: 0,
            skipped: counts.skipped,
            first_skipped: first_skipped.map(str::to_owned),
            other_devices: counts.other_devices,
            other_kinds: counts.other_kinds,
            empty: counts.empty,
            extended: counts.extended,
            clamped: counts.clamped,
            other_methods: counts.other_methods,
            other_statuses: counts.other_statuses,
            hashed_keys: counts.hashed_keys,
            warnings: Vec::new(),
        }
    }
}

#[derive(Default)]
struct ConversionTally {
    first: Option<TraceRequest>,
    last: Option<TraceRequest>,
    ops: [RequestTotals; 4],
    not_written: u64,
    has_latencies: bool,
    /// Whether some requests have no latency.
    has_unknown_latency: bool,
    /// Whether some times are finer than the output format can express.
    has_finer_times: bool,
    has_gaps: bool,
    has_processes: bool,
    /// Number of durable writes (FUA).
    durable: u64,
}

impl ConversionTally {
    fn add(&mut self, io: &TraceRequest) {
        self.first.get_or_insert(*io);
        self.last = Some(*io);
        let of = &mut self.ops[io.op as usize];
        of.requests += 1;
        of.bytes += io.len.0;
        // Formats that require a latency write 0 for an unknown one.
        self.has_latencies |= io.latency.is_some_and(|latency| latency.0 > 0);
        self.has_unknown_latency |= io.latency.is_none();
        self.has_gaps |= io.gap.is_some();
        self.has_processes |= io.pid.is_some();
        self.durable += u64::from(io.durable);
    }

    fn conversion(self, reader: &RequestReader, to: Format) -> ConversionReport {
        let from = reader.format();
        let mut warnings: Vec<String> =
            reader.note().doubts.iter().map(|doubt| format!("implausible: {doubt}")).collect();
        if self.not_written > 0 {
            let (count, what) = (self.not_written, "discards and flushes, left out");
            warnings.push(format!("not written: {count} {what}: {to} has no word for them"));
        }
        warnings.extend(reader.notes());
        if self.has_gaps {
            warnings.push(format!("the gaps of closed loop are lost: {to} has open loop only"));
        }
        if self.has_latencies && !to.has_latency() {
            warnings.push(format!("the measured latencies are lost: {to} has none"));
        }
        if self.durable > 0 && to != Format::Gordon {
            let count = self.durable;
            warnings.push(format!("{count} durable writes (FUA) become writes: {to} has no flag"));
        }
        if self.has_processes
            || matches!(from, Format::Blkparse | Format::Blktrace | Format::Ftrace)
        {
            let what = "the numbers of the processes and the other flags of the requests are lost";
            warnings.push(format!("{what}: a conversion keeps none"));
        }
        if self.has_unknown_latency && to == Format::MSR {
            let why = "requests whose latency is not known have a response time of 0";
            warnings.push(format!("{why}: {to} must have one"));
        }
        if self.has_finer_times {
            warnings.push(format!(
                "times are cut to multiples of {}: {to} has no finer",
                to.resolution()
            ));
        }
        let counts = reader.counts();
        let mut conversion =
            ConversionReport::new(reader.note().clone(), to, counts, reader.first_skipped());
        let of = |op: IoOp| self.ops[op as usize];
        conversion.first = self.first.as_ref().map(RequestLine::from);
        conversion.last = self.last.as_ref().map(RequestLine::from);
        conversion.read = of(IoOp::Read);
        conversion.write = of(IoOp::Write);
        conversion.discard = of(IoOp::Discard);
        conversion.flush = of(IoOp::Flush);
        conversion.not_written = self.not_written;
        conversion.warnings = warnings;
        conversion
    }
}
