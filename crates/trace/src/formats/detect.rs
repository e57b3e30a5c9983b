//! Detects the format of a trace from its first 64 KiB after decompression.
//!
//! Binary formats are recognized by magic numbers, or by plausible values in the first records. For
//! text, the reader of each format parses the first lines. A format fits if at least half of them
//! are valid, so that a malformed line is reported as such and does not hide the format.
//!
//! Lines of numbers fit several formats. Therefore the values are checked as well. A format in
//! which they are implausible is never chosen. If no format or several remain, the error lists the
//! candidates and what each would mean.

use super::delimited::{ColumnRole, DelimitedFormat, DelimitedLines, DetectMode};
use super::entry_error::FilePosition;
use super::error::{FormatCandidate, FormatError};
use super::format::Format;
use super::input::{HEAD, Input};
use super::input_note::{DetectedFormat, FormatChoice};
use super::line_sample::{
    LineSample, is_comment, read_as, too_early, too_many_decimals, unusual_flags,
};
use super::options::ReadOptions;
use super::source::trimmed;
use super::{blktrace, clf, fio, records};
use crate::foreign::{ForeignText, foreign_text};
use crate::read::BlockReader;
use gordon_units::Ns;
use std::path::Path;
use std::sync::Arc;

/// Number of lines examined.
const LINES: usize = 64;

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
    let chosen = |format| DetectedFormat::new(format, FormatChoice::Content);
    if blktrace::byte_order(head).is_some() {
        return Ok(chosen(Format::Blktrace));
    }
    if is_text(head) {
        if let Some(ForeignText { what, hint }) = foreign_text(&String::from_utf8_lossy(head)) {
            let what = what.to_owned();
            return Err(FormatError::Unsupported { path: path.to_owned(), what, hint });
        }
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
                "it is a Parquet file, but neither a block log of ours nor a recording of rezolus"
            } else {
                "its first records make no sense in any binary one"
            };
            let known = Format::names();
            Err(FormatError::Unknown { path: path.to_owned(), why: why.to_owned(), known })
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
            doubts.extend(too_early(format, &description, lines, options));
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
        let known = Format::names();
        return Err(FormatError::Unknown { path: path.to_owned(), why, known });
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
