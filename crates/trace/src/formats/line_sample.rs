//! Parses the first lines of a text in a format, and judges whether the values are plausible.

use super::collector::{Order, RequestCollector};
use super::delimited::{ColumnRole, DelimitedFormat, DelimitedLines, ParsedLine, PlausibleLimits};
use super::entry_error::EntryError;
use super::format::Format;
use super::options::{ReadOptions, RequestEvent};
use super::source::LineFormat;
use super::{blkparse, disksim_validate, ftrace};
use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};
use std::collections::BTreeSet;
use std::sync::Arc;

const SECTOR: u64 = 512;

/// Whether a line is a comment in every format.
pub(super) fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
}

/// A request as a format reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampledRequest {
    pub at: u64,
    pub op: IoOp,
    pub offset: u64,
    pub len: u64,
    /// Device of a block request, key of an object.
    pub device_or_key: u64,
}

/// Result of parsing lines in a format.
#[derive(Debug, Default)]
pub(super) struct LineSample {
    /// Number of lines without comments and headers.
    pub lines: usize,
    /// Number of lines that the format's reader accepts.
    pub accepted: usize,
    pub empty: u64,
    pub clamped: u64,
    pub seen: Vec<SampledRequest>,
}

/// Parses lines in a format; `None` if the format has a test of its own. With `decimals`, times may
/// have decimals even if those of the format have none, for example because the user named the
/// unit.
pub(super) fn read_as(
    format: Format,
    lines: &[&[u8]],
    options: &ReadOptions,
    decimals: bool,
) -> Option<LineSample> {
    let unit = options.time_unit.unwrap_or(format.unit());
    let all = lines;
    // Comments are not evidence for a format with a reader of its own.
    let lines = &all.iter().copied().filter(|line| !is_comment(line)).collect::<Vec<_>>()[..];
    Some(match format {
        Format::Blkparse => read(&mut blkparse::Blkparse::new(RequestEvent::Issue, unit), lines),
        Format::Ftrace => read(&mut ftrace::Ftrace::new(RequestEvent::Issue, unit), lines),
        Format::DisksimValidate => read(&mut disksim_validate::DisksimValidate::new(unit), lines),
        Format::Described(_) | Format::Columns => {
            // The lines to skip have been removed already.
            let description =
                DelimitedFormat { skip_lines: 0, ..(*format.delimited(options)?).clone() };
            let description = Arc::new(description);
            // Times with decimals belong to DiskSim and not to MQSim, which has the same columns,
            // unless the user names their unit.
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
    pub fn fits(&self) -> bool {
        self.accepted > 0 && self.accepted * 2 >= self.lines
    }

    /// Whether two formats read the same requests from the lines.
    pub fn is_same(&self, other: &Self) -> bool {
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
    pub fn meaning(&self, doubts: &[String]) -> String {
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
    pub fn doubts(&self, format: Format, options: &ReadOptions) -> Vec<String> {
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
        let is_large = |seen: &&SampledRequest| seen.len > 1 << 30 && seen.op != IoOp::Discard;
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

/// Flags are bits; traces use only the one that marks a read. Other values are a reason
/// for doubt.
pub(super) fn unusual_flags(description: &DelimitedFormat, lines: &[&[u8]]) -> Option<String> {
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
pub(super) fn too_many_decimals(
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

/// Times before this century, in a format that counts from 1970, are a reason for doubt: any small
/// numbers have the form of such lines.
pub(super) fn too_early(
    format: Format,
    description: &DelimitedFormat,
    lines: &[&[u8]],
    options: &ReadOptions,
) -> Option<String> {
    /// 2000-01-01.
    const CENTURY: Ns = Ns(946_684_800 * Ns::SECOND.0);
    let Format::Described(described) = format else { return None };
    if !described.plausible().since_1970 || options.time_unit.is_some() {
        return None;
    }
    let is_early = |line: &&[u8]| {
        let word = description.word(ColumnRole::Time, line).unwrap_or_default();
        let time = std::str::from_utf8(word).ok().and_then(|word| word.parse::<u64>().ok());
        time.is_some_and(|time| time < CENTURY.0 / format.unit().0)
    };
    let is_found = lines.iter().any(is_early);
    is_found.then(|| "times before the year 2000, and the format has them since 1970".to_owned())
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
