//! A trace from one format to another, and what is in it.

use super::error::FormatError;
use super::intake::{Counts, Io};
use super::write::Writer;
use super::{Format, Options, open};
use crate::model::BlockOp;
use crate::summary::Requests;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a conversion read and wrote.
#[derive(Clone, Debug, Serialize)]
pub struct Conversion {
    /// What the input was read as.
    pub from: &'static str,
    /// What was written.
    pub to: &'static str,
    /// Requests read.
    pub requests: u64,
    /// The first of them.
    pub first: Option<Line>,
    /// The last.
    pub last: Option<Line>,
    /// Reads.
    pub read: Requests,
    /// Writes.
    pub write: Requests,
    /// Discards.
    pub discard: Requests,
    /// Flushes.
    pub flush: Requests,
    /// Requests the output has no word for: they are not in it.
    pub not_written: u64,
    /// Malformed lines or records skipped.
    pub skipped: u64,
    /// What was wrong with the first of them.
    pub first_skipped: Option<String>,
    /// Requests for other devices than those asked for.
    pub other_devices: u64,
    /// Entries of other kinds.
    pub other_kinds: u64,
    /// Reads, writes and discards of no bytes, left out.
    pub empty: u64,
    /// Requests extended to whole sectors.
    pub aligned: u64,
    /// Requests given a later time, to go forward.
    pub clamped: u64,
    /// What to mind.
    pub warnings: Vec<String>,
}

/// A request, as reports show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Since the first request.
    pub at_ns: u64,
    /// What it asks for.
    pub op: &'static str,
    /// Of which device.
    pub device: u32,
    /// Where.
    pub offset_bytes: u64,
    /// How much.
    pub bytes: u64,
}

impl From<&Io> for Line {
    fn from(io: &Io) -> Self {
        Self {
            at_ns: io.at.0,
            op: io.op.name(),
            device: io.device,
            offset_bytes: io.offset.0,
            bytes: io.len.0,
        }
    }
}

/// A trace read to its end and written, but not under its name yet; dropped, nothing is left of it.
///
/// The end of a pipe may be that of a program which was killed: whoever knows of that can look, between
/// the end and the name.
#[must_use]
pub struct Converted {
    writer: Writer,
    conversion: Conversion,
}

impl Converted {
    /// Gives it its name, and says what is in it.
    ///
    /// # Errors
    /// Where it cannot be written to its end.
    pub fn publish(self) -> Result<Conversion, FormatError> {
        self.writer.finish()?;
        Ok(self.conversion)
    }
}

/// Reads the trace at `input` and writes it as `to`, to be [published](Converted::publish) as `output`,
/// which must not exist. Times count from the first request on. `stop` ends it early; nothing is left
/// behind then.
///
/// # Errors
/// Where the input cannot be read, or the output not written.
pub fn convert(
    input: &Path,
    output: &Path,
    from: Option<Format>,
    to: Format,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Converted, FormatError> {
    if !to.is_written() {
        let written = Format::ALL.into_iter().filter(|f| f.is_written()).map(Format::name);
        let written = written.collect::<Vec<_>>().join(", ");
        return Err(FormatError::Option(format!(
            "format {to} is read, not written\n  try: --to with one of {written}"
        )));
    }
    if to == Format::Gordon && output.as_os_str() == "-" {
        let why = "our own trace is a folder and cannot go to standard output\n  try: --to mqsim";
        return Err(FormatError::Option(why.to_owned()));
    }
    let mut reader = open(input, from, options)?;
    let from = reader.format();
    // The input is known to start well before anything is written.
    let mut batch = Vec::new();
    let mut more = reader.fill(&mut batch)?;
    let mut writer = Writer::create(output, to, from, input)?;
    let mut tally = Tally::default();
    let grain = to.grain().0;
    while more {
        if stop.load(Ordering::Relaxed) {
            return Err(FormatError::Stopped);
        }
        for io in &batch {
            tally.add(io);
            let latency = io.latency.filter(|_| to == Format::Msr).map_or(0, |latency| latency.0);
            tally.finer |= !(io.at.0.is_multiple_of(grain) && latency.is_multiple_of(grain));
            if to.has(io.op) {
                writer.push(io)?;
            } else {
                tally.not_written += 1;
            }
        }
        more = reader.fill(&mut batch)?;
    }
    let conversion = tally.conversion(from, to, reader.counts(), reader.first_skipped());
    Ok(Converted { writer, conversion })
}

#[derive(Default)]
struct Tally {
    first: Option<Io>,
    last: Option<Io>,
    ops: [Requests; 4],
    not_written: u64,
    latencies: bool,
    /// Some have none.
    without: bool,
    /// Times that the written format cannot tell.
    finer: bool,
    gaps: bool,
    processes: bool,
}

impl Tally {
    fn add(&mut self, io: &Io) {
        self.first.get_or_insert(*io);
        self.last = Some(*io);
        let of = &mut self.ops[io.op as usize];
        of.requests += 1;
        of.bytes += io.len.0;
        // A time of 0 is what is written where none is known.
        self.latencies |= io.latency.is_some_and(|latency| latency.0 > 0);
        self.without |= io.latency.is_none();
        self.gaps |= io.gap.is_some();
        self.processes |= io.pid.is_some();
    }

    fn conversion(
        self,
        from: Format,
        to: Format,
        counts: Counts,
        first_skipped: Option<&str>,
    ) -> Conversion {
        let mut warnings = Vec::new();
        let mut warn = |count: u64, (one, many): (&str, &str), what: &str| {
            if count > 0 {
                warnings.push(format!("{count} {}{what}", if count == 1 { one } else { many }));
            }
        };
        let requests = ("request", "requests");
        warn(
            self.not_written,
            ("discard or flush", "discards and flushes"),
            &format!(" left out: {to} has no word for them"),
        );
        let first = format!(" skipped, the first: {}", first_skipped.unwrap_or(""));
        warn(counts.skipped, ("malformed", "malformed"), &first);
        warn(counts.empty, requests, " of no bytes left out");
        warn(counts.aligned, requests, " extended to whole sectors");
        warn(counts.clamped, requests, " earlier than the one before given its time");
        if self.gaps {
            warnings.push(format!("the gaps of closed loop are lost: {to} has open loop only"));
        }
        if self.latencies && !to.has_latency() {
            warnings.push(format!("the measured latencies are lost: {to} has none"));
        }
        if self.processes || matches!(from, Format::Blkparse | Format::Blktrace) {
            let what = "the numbers of the processes and the flags of the requests are lost";
            warnings.push(format!("{what}: a conversion keeps none"));
        }
        if self.without && to == Format::Msr {
            let why = "requests whose latency is not known have a response time of 0";
            warnings.push(format!("{why}: {to} must have one"));
        }
        if self.finer {
            warnings
                .push(format!("times are cut to multiples of {}: {to} has no finer", to.grain()));
        }
        let of = |op: BlockOp| self.ops[op as usize];
        Conversion {
            from: from.name(),
            to: to.name(),
            requests: counts.requests,
            first: self.first.as_ref().map(Line::from),
            last: self.last.as_ref().map(Line::from),
            read: of(BlockOp::Read),
            write: of(BlockOp::Write),
            discard: of(BlockOp::Discard),
            flush: of(BlockOp::Flush),
            not_written: self.not_written,
            skipped: counts.skipped,
            first_skipped: first_skipped.map(str::to_owned),
            other_devices: counts.other_devices,
            other_kinds: counts.other_kinds,
            empty: counts.empty,
            aligned: counts.aligned,
            clamped: counts.clamped,
            warnings,
        }
    }
}
