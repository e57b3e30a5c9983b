//! Detects the format of a trace from its first 64 KiB after decompression.
//!
//! Binary formats are recognized by their magic numbers. For text, the reader of each format parses
//! the first lines. A format fits if at least half of them are valid, so that a malformed line is
//! reported as such and does not hide the format.
//!
//! Lines of numbers fit several formats. Therefore the values are checked as well. A format in
//! which they are implausible is never chosen. If no format or several remain, the error lists the
//! candidates and what each would mean.

use super::blkparse;
use super::collector::{Order, RequestCollector};
use super::delimited::{ColumnRole, DelimitedLines, DetectMode, ParsedLine, PlausibleLimits};
use super::error::{EntryError, FilePosition, FormatCandidate, FormatError};
use super::input::Input;
use super::input_note::FormatChoice;
use super::source::{LineFormat, trimmed};
use super::{
    DelimitedFormat, Format, ReadOptions, RequestEvent, blktrace, clf, disksim_validate, fio,
    ftrace, records,
};
use crate::model::BlockOp;
use crate::read::BlockReader;
use gordon_units::{Bytes, Ns};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Number of bytes examined.
pub(super) const HEAD: usize = 1 << 16;
/// Number of lines examined.
const LINES: usize = 64;
const SECTOR: u64 = 512;

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

/// The format that the path alone determines: a folder or a single-file block log is our own
/// format; the file of a CPU, or the stem of such files, is blktrace.
pub(super) fn by_path(path: &Path) -> Option<Format> {
    if path.is_dir() || BlockReader::is_file(path) {
        return Some(Format::Gordon);
    }
    (blktrace::is_per_cpu(path) || blktrace::is_stem(path)).then_some(Format::Blktrace)
}

/// The format that the first bytes determine.
pub(super) fn by_content(
    path: &Path,
    input: &mut Input,
    options: &ReadOptions,
) -> Result<DetectedFormat, FormatError> {
    let got = input.want(HEAD);
    let (head, start) = (input.bytes(), FilePosition::Line(0));
    let got =
        got.map_err(|source| FormatError::Read { path: path.to_owned(), place: start, source });
    if head.is_empty() {
        got?;
        let hint = "check that the file is whole";
        return Err(FormatError::Empty { path: path.to_owned(), why: ": no bytes".into(), hint });
    }
    if let Some((what, hint)) = archive(head) {
        return Err(FormatError::Unsupported { path: path.to_owned(), what: what.into(), hint });
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        let what = "it is text in UTF-16, as Windows' PowerShell redirects it".to_owned();
        let hint = "`iconv -f UTF-16 -t UTF-8 FILE > TRACE`, then TRACE";
        return Err(FormatError::Unsupported { path: path.to_owned(), what, hint });
    }
    let chosen = |format| DetectedFormat::new(format, FormatChoice::Content);
    if blktrace::byte_order(head).is_some() {
        return Ok(chosen(Format::Blktrace));
    }
    if is_text(head) {
        let lines = lines(head, got.is_ok() && head.len() < HEAD);
        if lines.is_empty() {
            got?;
        }
        return by_lines(path, &lines, options).map(chosen);
    }
    let mut fits = Vec::new();
    if records::vscsi_version(head).is_some() {
        fits.push(Format::Vscsi);
    }
    if records::is_oracle_general(head) {
        fits.push(Format::OracleGeneral);
    }
    match fits[..] {
        [format] => Ok(chosen(format)),
        [] => {
            got?;
            let why = if head.starts_with(b"PAR1") {
                "it is a Parquet file, but no block log of ours"
            } else {
                "its first records make no sense in any binary one"
            };
            Err(FormatError::Unknown { path: path.to_owned(), why: why.to_owned() })
        }
        _ => {
            let candidates = fits.iter().map(|format| FormatCandidate {
                options: format!("--format {format}"),
                meaning: format.about().to_owned(),
            });
            let why = "its records fit several formats".to_owned();
            Err(FormatError::Ambiguous {
                path: path.to_owned(),
                why,
                candidates: candidates.collect(),
            })
        }
    }
}

/// Whether a text with columns has times. The header may lack that column.
pub(super) fn has_times(input: &mut Input, description: &Arc<DelimitedFormat>) -> bool {
    // A read error occurs again when the trace is read, and is reported then.
    let _ = input.want(HEAD);
    let mut reader = DelimitedLines::new(description, None);
    for line in input.bytes().split(|&b| b == b'\n').map(trimmed).take(LINES) {
        match line {
            [] => reader.pass(),
            line => drop(reader.row(line)),
        }
    }
    reader.has_times()
}

/// Reasons why the first lines of a text trace are implausible in the format that the user named.
pub(super) fn doubts(input: &mut Input, format: Format, options: &ReadOptions) -> Vec<String> {
    // A read error occurs again when the trace is read, and is reported then.
    let whole = input.want(HEAD).is_ok() && input.bytes().len() < HEAD;
    let mut head = input.bytes();
    if !is_text(head) {
        return Vec::new();
    }
    let skip = options.columns.as_ref().map_or(0, |description| description.skip_lines);
    for _ in 0..skip {
        let end = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
        head = &head[end..];
    }
    match read_as(format, &lines(head, whole), options, options.time_unit.is_some()) {
        Some(sample) if sample.accepted > 0 => {
            let mut doubts = sample.doubts(format, options);
            if let Some(description) = format.delimited(options) {
                doubts.extend(unusual_flags(&description, &lines(head, whole)));
            }
            doubts
        }
        _ => Vec::new(),
    }
}

/// Description of an archive or of an unsupported compression, and how to unpack it.
fn archive(head: &[u8]) -> Option<(&'static str, &'static str)> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Some(("it is a zip archive", "`unzip -p FILE.zip MEMBER > TRACE`, then TRACE"));
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some((
            "it is a tar archive",
            "`tar -xf FILE.tar` (which decompresses, too), then the trace in it",
        ));
    }
    if head.starts_with(b"7z\xbc\xaf\x27\x1c") {
        return Some(("it is a 7z archive", "`7z x FILE.7z`, then the trace in it"));
    }
    None
}

/// Text has no control characters except line ends and tabs.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|&b| b >= b' ' || matches!(b, b'\n' | b'\r' | b'\t'))
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
}

/// The complete lines of `head` that are not blank.
fn lines(head: &[u8], whole: bool) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> =
        head.split(|&b| b == b'\n').map(trimmed).filter(|l| !l.is_empty()).collect();
    // The last line may be truncated. It is kept if it is the only one and longer than `head`.
    if !whole && (lines.len() > 1 || head.len() < HEAD) {
        lines.pop();
    }
    lines
}

/// A request as a format reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SampledRequest {
    at: u64,
    op: BlockOp,
    offset: u64,
    len: u64,
    /// Device of a block request, key of an object.
    device_or_key: u64,
}

/// Result of parsing lines in a format.
#[derive(Debug, Default)]
struct LineSample {
    /// Number of lines without comments and headers.
    lines: usize,
    /// Number of lines that the format's reader accepts.
    accepted: usize,
    empty: u64,
    clamped: u64,
    seen: Vec<SampledRequest>,
}

/// Parses lines in a format; `None` if the format has a test of its own. With `decimals`, times may
/// have decimals even if those of the format have none, for example because the user named the
/// unit.
fn read_as(
    format: Format,
    lines: &[&[u8]],
    options: &ReadOptions,
    decimals: bool,
) -> Option<LineSample> {
    let unit = options.time_unit.unwrap_or(format.unit());
    let all = lines;
    // Comments are no evidence for a format with a reader of its own.
    let lines = &all.iter().copied().filter(|line| !is_comment(line)).collect::<Vec<_>>()[..];
    Some(match format {
        Format::Blkparse => read(&mut blkparse::Blkparse::new(RequestEvent::Issue, unit), lines),
        Format::Ftrace => read(&mut ftrace::Ftrace::new(RequestEvent::Issue, unit), lines),
        // Times with decimals belong to DiskSim's columns, unless the user names the format.
        Format::DisksimValidate => read(&mut disksim_validate::DisksimValidate::new(unit), lines),
        Format::Described(_) | Format::Columns => {
            // The lines to skip have been removed already.
            let description =
                DelimitedFormat { skip_lines: 0, ..(*format.delimited(options)?).clone() };
            let description = Arc::new(description);
            let mut reader =
                DelimitedLines::with_decimals(&description, options.time_unit, decimals);
            if !description.columns.is_objects() {
                return Some(read(&mut RowLines(reader), all));
            }
            let mut sample = LineSample::default();
            let mut last = 0;
            for line in all {
                sample.lines += 1;
                match reader.row(line) {
                    Ok(ParsedLine::NoRow) => sample.lines -= 1,
                    Ok(ParsedLine::Other) => sample.accepted += 1,
                    Ok(ParsedLine::Row(row)) => {
                        sample.accepted += 1;
                        sample.empty += u64::from(row.size == 0);
                        sample.clamped += u64::from(row.time < last);
                        last = row.time;
                        sample.seen.push(SampledRequest {
                            at: row.time,
                            op: row.op,
                            offset: 0,
                            len: row.size,
                            device_or_key: row.key,
                        });
                    }
                    Err(_) => {}
                }
            }
            sample
        }
        _ => return None,
    })
}

/// Rows of blocks, in which comments and headers are not counted as lines.
struct RowLines(DelimitedLines);

trait SampleLine {
    /// Parses a line. Returns whether it is a row.
    fn sample_line(
        &mut self,
        line: &[u8],
        collector: &mut RequestCollector,
    ) -> Result<bool, EntryError>;
}

impl<L: LineFormat> SampleLine for L {
    fn sample_line(
        &mut self,
        line: &[u8],
        collector: &mut RequestCollector,
    ) -> Result<bool, EntryError> {
        self.line(line, collector).map(|_| true)
    }
}

impl SampleLine for RowLines {
    fn sample_line(
        &mut self,
        line: &[u8],
        collector: &mut RequestCollector,
    ) -> Result<bool, EntryError> {
        Ok(match self.0.row(line)? {
            ParsedLine::NoRow => false,
            ParsedLine::Other => true,
            ParsedLine::Row(row) => {
                row.hand_out(collector)?;
                true
            }
        })
    }
}

fn read<L: SampleLine>(reader: &mut L, lines: &[&[u8]]) -> LineSample {
    let mut collector = RequestCollector::new(None, Order::Clamp, true);
    let mut sample = LineSample::default();
    for line in lines {
        match reader.sample_line(line, &mut collector) {
            Ok(true) => (sample.lines, sample.accepted) = (sample.lines + 1, sample.accepted + 1),
            Ok(false) => {}
            Err(_) => sample.lines += 1,
        }
    }
    (sample.empty, sample.clamped) = (collector.counts.empty, collector.counts.clamped);
    let seen = collector.out.iter().map(|io| SampledRequest {
        at: io.at.0,
        op: io.op,
        offset: io.offset.0,
        len: io.len.0,
        device_or_key: u64::from(io.device),
    });
    sample.seen = seen.collect();
    sample
}

impl LineSample {
    fn span(&self) -> u64 {
        match (self.seen.first(), self.seen.last()) {
            (Some(first), Some(last)) => last.at.saturating_sub(first.at),
            _ => 0,
        }
    }

    /// Whether at least half of the lines are valid.
    fn fits(&self) -> bool {
        self.accepted > 0 && self.accepted * 2 >= self.lines
    }

    /// Whether two formats read the same requests from the lines.
    fn is_same(&self, other: &Self) -> bool {
        (self.accepted, self.empty) == (other.accepted, other.empty) && self.seen == other.seen
    }

    /// Whether all requests have the same distance in time: then the times are made up, or number
    /// the requests.
    fn is_regular(&self) -> bool {
        let gap = |pair: &[SampledRequest]| pair[1].at.saturating_sub(pair[0].at);
        let mut gaps = self.seen.windows(2).map(gap);
        gaps.next().is_none_or(|first| gaps.all(|gap| gap == first))
    }

    /// Description of the requests for the list of candidates.
    fn meaning(&self, doubts: &[String]) -> String {
        let bytes: u64 = self.seen.iter().fold(0, |sum, seen| sum.saturating_add(seen.len));
        let count = self.seen.len();
        let requests = if count == 1 { "request" } else { "requests" };
        let mut text = format!("{count} {requests}, {}, over {}", Bytes(bytes), span(self.span()));
        if self.empty > 0 {
            text.push_str(&format!("; {} of no bytes", self.empty));
        }
        if !doubts.is_empty() {
            text.push_str(&format!("; implausible: {}", doubts.join("; ")));
        }
        text
    }

    /// Reasons why the values are implausible.
    fn doubts(&self, format: Format, options: &ReadOptions) -> Vec<String> {
        let (mut doubts, seen, count) = (Vec::new(), &self.seen, self.seen.len());
        // Only one tool writes these lines, and it has no other units.
        if matches!(format, Format::Blkparse | Format::Ftrace) {
            return doubts;
        }
        let rows = count as u64 + if format.reads_objects() { 0 } else { self.empty };
        if self.empty * 4 > rows && rows >= 4 {
            doubts.push(format!("{} of {rows} requests have no bytes", self.empty));
        }
        if format.reads_objects() {
            let description = format.delimited(options);
            let unit =
                description.and_then(|description| description.columns.size_unit()).unwrap_or(1);
            self.object_doubts(format, unit, &mut doubts);
            return doubts;
        }
        let delimited = format.delimited(options);
        let size_unit = match &delimited {
            Some(description) => description.columns.size_unit().unwrap_or(SECTOR),
            None => format.units().1,
        };
        if size_unit >= SECTOR
            && count >= 2
            && seen.iter().all(|s| s.len % (SECTOR * size_unit) == 0)
            && seen.iter().any(|s| s.len >= 4096 * size_unit)
        {
            let why = "all sizes are multiples of 512 blocks, so they may be bytes";
            doubts.push(why.to_owned());
        }
        if size_unit == 1 && format.is_numbers() {
            let small = seen.iter().filter(|s| s.len < SECTOR).count();
            if count >= 2 && small * 2 > count {
                doubts.push("most sizes are below 512 bytes, so they may be blocks".to_owned());
            }
        }
        let is_large = |seen: &&SampledRequest| seen.len > 1 << 30 && seen.op != BlockOp::Discard;
        if let Some(large) = seen.iter().find(is_large) {
            doubts.push(format!("a request of {}", Bytes(large.len)));
        }
        if let Some(far) = seen.iter().find(|s| s.offset > 1 << 50) {
            doubts.push(format!("an address of {}", Bytes(far.offset)));
        }
        let plausible = match format {
            Format::Described(described) => described.plausible(),
            _ => PlausibleLimits::default(),
        };
        if let Some(most) = plausible.devices {
            let devices: BTreeSet<u64> = seen.iter().map(|s| s.device_or_key).collect();
            if devices.len() > most && devices.len() * 2 > count {
                doubts.push(format!("{} devices in {count} requests", devices.len()));
            }
        }
        // In a trace with only an order, all times are the same.
        if count >= 3 && self.span() > 0 {
            let gap = self.span() / (count as u64 - 1);
            if gap > 3_600 * Ns::SECOND.0 {
                doubts.push(format!(
                    "a request every {}, so the unit of time may be another",
                    span(gap)
                ));
            } else if plausible.least_interval.is_some_and(|least| Ns(gap) < least) {
                doubts.push(format!(
                    "a request every {}, more than the devices of this format can serve, so the \
                     times may be seconds",
                    span(gap)
                ));
            } else if gap < 10 && count >= 4 && !self.is_regular() {
                doubts.push(format!(
                    "a request every {}, so the unit of time may be another",
                    span(gap)
                ));
            }
        }
        doubts
    }

    fn object_doubts(&self, format: Format, unit: u64, doubts: &mut Vec<String>) {
        if !format.is_numbers() {
            return;
        }
        let count = self.seen.len();
        if self.clamped > 0 {
            doubts.push(format!("times go back {} times", self.clamped));
        }
        if count >= 2 && self.seen.iter().all(|s| s.len % (8 * unit) == 0) {
            doubts.push("all sizes are multiples of 8, so they may be blocks".to_owned());
        }
        let keys: BTreeSet<u64> = self.seen.iter().map(|s| s.device_or_key).collect();
        if count >= 2 && keys.len() == 1 {
            doubts
                .push("all requests are for one object, so the column may be a device".to_owned());
        }
    }
}

/// A time with three digits, in a suitable unit.
fn span(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (unit, name) = units.into_iter().find(|(unit, _)| ns >= *unit).unwrap_or((1, "ns"));
    #[allow(clippy::cast_precision_loss)]
    let value = ns as f64 / unit as f64;
    let decimals = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{name}")
}

/// A format that accepts the lines, with what it reads.
struct FormatFit {
    format: Format,
    sample: LineSample,
    doubts: Vec<String>,
}

impl FormatFit {
    fn new(format: Format, lines: &[&[u8]], options: &ReadOptions, decimals: bool) -> Option<Self> {
        let sample = read_as(format, lines, options, decimals)?;
        let mut doubts = sample.doubts(format, options);
        if let Some(description) = format.delimited(options) {
            doubts.extend(unusual_flags(&description, lines));
            doubts.extend(too_many_decimals(format, &description, lines, options));
        }
        Some(Self { format, sample, doubts })
    }
}

fn by_lines(path: &Path, lines: &[&[u8]], options: &ReadOptions) -> Result<Format, FormatError> {
    let comments = lines.iter().take_while(|line| is_comment(line)).count();
    let first = &lines[..lines.len().min(comments + LINES)];
    let without_comments: Vec<&[u8]> =
        first.iter().copied().filter(|line| !is_comment(line)).collect();
    if without_comments.is_empty() {
        let why = ": its lines are blank or comments".to_owned();
        let hint = "check that the file is whole";
        return Err(FormatError::Empty { path: path.to_owned(), why, hint });
    }
    if without_comments.first().is_some_and(|l| *l == fio::V2 || *l == fio::V3) {
        return Ok(Format::Fio);
    }
    if clf::is_log(&without_comments) {
        return Ok(Format::Clf);
    }
    let share = |format, decimals| {
        let sample = read_as(format, first, options, decimals)?;
        let looks = sample.fits()
            && has_expected_decimals(format, first)
            && has_only_numbers(format, first);
        #[allow(clippy::cast_precision_loss)]
        looks.then(|| (format, sample.accepted as f64 / sample.lines as f64))
    };
    // Times with decimals belong to a format that has them, if any fits.
    let shares = |decimals| Format::all().filter_map(|format| share(format, decimals)).collect();
    let mut decimals = false;
    let mut found: Vec<(Format, f64)> = shares(decimals);
    if found.is_empty() && options.time_unit.is_some() {
        decimals = true;
        found = shares(decimals);
    }
    // A malformed line must not hide a format behind those that accept any numbers.
    let most = |numbers: bool| {
        let shares = found.iter().filter(|(format, _)| numbers || !format.is_numbers());
        shares.map(|(_, share)| *share).fold(0.0, f64::max)
    };
    let fits = found.iter().filter(|(format, share)| *share >= most(format.is_numbers()));
    let fits: Vec<FormatFit> =
        fits.filter_map(|&(format, _)| FormatFit::new(format, lines, options, decimals)).collect();
    let plausible = |numbers: bool| {
        let fits = fits
            .iter()
            .filter(move |fit| fit.doubts.is_empty() && fit.format.is_numbers() == numbers);
        let mut formats: Vec<Format> =
            fits.map(|fit| fit.format).filter(|f| f.is_detected()).collect();
        // Two names of the same columns do not make the format ambiguous.
        formats.dedup_by(|b, a| same_columns(*a, *b, options));
        formats
    };
    let (own, numbers) = (plausible(false), plausible(true));
    match (&own[..], &numbers[..]) {
        ([format], _) | ([], [format]) => return Ok(*format),
        _ => {}
    }
    let candidates = candidates(lines, options);
    if candidates.is_empty() {
        let line = String::from_utf8_lossy(first.first().copied().unwrap_or_default());
        let shown: String = line.chars().take(60).flat_map(char::escape_debug).collect();
        let why = format!("its first line is `{shown}`");
        return Err(FormatError::Unknown { path: path.to_owned(), why });
    }
    let why = if own.len() > 1 || numbers.len() > 1 {
        "its lines fit several formats"
    } else if fits.is_empty() {
        "its lines fit a format only where --time-unit is given"
    } else {
        "its values are implausible in the formats that its lines fit"
    };
    Err(FormatError::Ambiguous { path: path.to_owned(), why: why.to_owned(), candidates })
}

/// The candidates: each format that accepts the lines, in each of its [`units`]. Formats that read
/// the same requests are one candidate. Plausible ones come first.
fn candidates(lines: &[&[u8]], options: &ReadOptions) -> Vec<FormatCandidate> {
    let mut readings: Vec<(String, FormatFit)> = Vec::new();
    for format in Format::all() {
        let mut is_read = false;
        for (unit, decimals) in units(format, options) {
            let options = ReadOptions { time_unit: unit.or(options.time_unit), ..options.clone() };
            let Some(fit) = FormatFit::new(format, lines, &options, decimals) else { continue };
            if !fit.sample.fits() || !has_only_numbers(format, lines) {
                continue;
            }
            let is_seconds = unit == Some(Ns::SECOND) && format.unit() < Ns::SECOND;
            if unit.is_some() && !is_seconds && (is_read || !fit.doubts.is_empty()) {
                continue;
            }
            is_read = true;
            let unit = unit.map_or_else(String::new, |unit| format!(" --time-unit {unit}"));
            let named = format!("--format {format}{unit}");
            let same = readings.iter_mut().find(|(_, other)| {
                other.format.reads_objects() == format.reads_objects()
                    && other.sample.is_same(&fit.sample)
            });
            match same {
                Some((names, other)) => {
                    names.push_str(&format!(" or {named}"));
                    if fit.doubts.len() < other.doubts.len() {
                        other.doubts = fit.doubts;
                    }
                }
                None => readings.push((named, fit)),
            }
        }
    }
    readings.sort_by_key(|(_, fit)| !fit.doubts.is_empty());
    let candidate = |(options, fit): (String, FormatFit)| FormatCandidate {
        options,
        meaning: fit.sample.meaning(&fit.doubts),
    };
    readings.into_iter().map(candidate).collect()
}

/// The units of time in which a format may read the lines if the user names none, and whether times
/// may have decimals.
fn units(format: Format, options: &ReadOptions) -> Vec<(Option<Ns>, bool)> {
    let mut units = vec![(None, options.time_unit.is_some())];
    if let (Some(description), None) = (format.delimited(options), options.time_unit) {
        // Naming the unit allows decimals. In a coarser unit, nanoseconds may have too many digits.
        units.extend(description.whole_times.then_some((Some(format.unit()), true)));
        units.push((Some(Ns(1)), true));
        if format.unit() < Ns::SECOND {
            units.push((Some(Ns::SECOND), true));
        }
    }
    units
}

fn same_columns(a: Format, b: Format, options: &ReadOptions) -> bool {
    match (a.delimited(options), b.delimited(options)) {
        (Some(a), Some(b)) => a.columns == b.columns && a.separator == b.separator,
        _ => false,
    }
}

/// Whether most times have decimals, if those of the format do. This distinguishes it from another
/// format with the same columns.
fn has_expected_decimals(format: Format, lines: &[&[u8]]) -> bool {
    let Format::Described(described) = format else { return true };
    if !described.has_decimals() {
        return true;
    }
    let description = described.delimited();
    let point = |line: &&&[u8]| {
        description.word(ColumnRole::Time, line).is_some_and(|word| word.contains(&b'.'))
    };
    let rows = lines.iter().filter(|line| !is_comment(line));
    rows.clone().filter(point).count() * 2 >= rows.count()
}

/// Whether most lines of a format of numbers contain only numbers.
fn has_only_numbers(format: Format, lines: &[&[u8]]) -> bool {
    match format {
        Format::Described(described)
            if described.detect() != DetectMode::Generic && format.is_numbers() =>
        {
            let number =
                |b: &u8| b.is_ascii_digit() || matches!(b, b' ' | b'\t' | b',' | b'.' | b'*');
            let rows = lines.iter().filter(|line| !is_comment(line));
            let numbers = rows.clone().filter(|line| line.iter().all(number)).count();
            numbers * 2 > rows.count()
        }
        _ => true,
    }
}

/// Flags are bits, of which traces use only the one that marks a read. Other values are a reason
/// for doubt.
fn unusual_flags(description: &DelimitedFormat, lines: &[&[u8]]) -> Option<String> {
    let read = description.read_flag?.to_string();
    let odd = |line: &&[u8]| {
        let is_odd = |word: &[u8]| {
            word != b"0" && word != read.as_bytes() && word.iter().all(u8::is_ascii_hexdigit)
        };
        description.word(ColumnRole::Op, line).is_some_and(is_odd)
    };
    lines.iter().any(odd).then(|| format!("flags other than 0 and {read}"))
}

/// Times with more decimals than a nanosecond has, in a format whose unit is finer than a second,
/// are a reason for doubt.
fn too_many_decimals(
    format: Format,
    description: &DelimitedFormat,
    lines: &[&[u8]],
    options: &ReadOptions,
) -> Option<String> {
    let unit = format.unit();
    if description.whole_times || options.time_unit.is_some() || unit >= Ns::SECOND {
        return None;
    }
    let fine = |line: &&[u8]| {
        let word = description.word(ColumnRole::Time, line).unwrap_or_default();
        let decimals = word.iter().rev().position(|&b| b == b'.').unwrap_or_default();
        let parts = u32::try_from(decimals).ok().and_then(|n| 10_u64.checked_pow(n));
        parts.is_none_or(|parts| parts > unit.0)
    };
    let odd = lines.iter().any(fine);
    odd.then(|| "times finer than a nanosecond, so they may be seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_have_three_digits() {
        let cases = [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1us"),
            (666_666, "667us"),
            (1_250_000, "1.25ms"),
            (20_500_000_000, "20.5s"),
            (41_152_100_003_333, "41152s"),
        ];
        for (ns, text) in cases {
            assert_eq!(span(ns), text);
        }
    }
}
