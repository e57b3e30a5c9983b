//! The format of a trace by its content: the first 64 KiB after decompression.
//!
//! Binary formats go by their numbers; text by which format's own reader takes its first lines. A
//! format that takes more than half of them is good enough, so that a malformed line among the first
//! is told as such and does not hide the format.

use super::error::{FormatError, Place};
use super::input::Input;
use super::intake::{Intake, Order};
use super::source::{Lines, is_header, trimmed};
use super::{Event, Format, ascii, blkparse, blktrace, clf, csv, fio, records};
use crate::read::BlockReader;
use std::path::Path;

/// Bytes that are looked at.
pub(super) const HEAD: usize = 1 << 16;
const LINES: usize = 64;

/// What the path alone says: a folder is our own format, and its block log as a file, which is read from
/// its end; a stem is that of blktrace.
pub(super) fn by_path(path: &Path) -> Option<Format> {
    if path.is_dir() || BlockReader::is_file(path) {
        return Some(Format::Gordon);
    }
    (blktrace::is_per_cpu(path) || blktrace::is_stem(path)).then_some(Format::Blktrace)
}

/// What the first bytes say.
pub(super) fn by_content(path: &Path, input: &mut Input) -> Result<Format, FormatError> {
    let got = input.want(HEAD);
    let (head, start) = (input.bytes(), Place::Line(0));
    let got =
        got.map_err(|source| FormatError::Read { path: path.to_owned(), place: start, source });
    if head.is_empty() {
        got?;
        let hint = "check that the file is whole";
        return Err(FormatError::Empty { path: path.to_owned(), why: ": no bytes".into(), hint });
    }
    let whole = head.len() < HEAD;
    let found = if blktrace::byte_order(head).is_some() {
        vec![Format::Blktrace]
    } else if is_text(head) {
        by_lines(head, whole)
    } else {
        let mut fits = Vec::new();
        if records::vscsi_version(head).is_some() {
            fits.push(Format::Vscsi);
        }
        if records::is_oracle_general(head) {
            fits.push(Format::OracleGeneral);
        }
        fits
    };
    if found.is_empty() {
        got?;
    }
    match found[..] {
        [format] => Ok(format),
        [] if head.starts_with(b"PAR1") => Err(FormatError::Unknown {
            path: path.to_owned(),
            why: "it is a Parquet file, but no block log of ours".to_owned(),
        }),
        [] => {
            let what = if is_text(head) {
                let line = head.split(|&b| b == b'\n').find(|l| !trimmed(l).is_empty());
                let line = String::from_utf8_lossy(line.unwrap_or_default());
                let shown: String = line.chars().take(60).flat_map(char::escape_debug).collect();
                format!("its first line is `{shown}`")
            } else {
                "its first records make no sense in any binary one".to_owned()
            };
            Err(FormatError::Unknown { path: path.to_owned(), why: what })
        }
        _ => Err(FormatError::Ambiguous { path: path.to_owned(), fits: found }),
    }
}

/// Text has no zeros and no control characters but ends of lines and tabs.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|&b| b >= b' ' || matches!(b, b'\n' | b'\r' | b'\t'))
}

fn by_lines(head: &[u8], whole: bool) -> Vec<Format> {
    let mut lines: Vec<&[u8]> =
        head.split(|&b| b == b'\n').map(trimmed).filter(|l| !l.is_empty()).take(LINES).collect();
    // The last line may be cut; it is all there is of a very long one.
    if !whole && lines.len() > 1 && lines.len() < LINES {
        lines.pop();
    }
    if lines.first().is_some_and(|l| *l == fio::V2 || *l == fio::V3) {
        return vec![Format::Fio];
    }
    if clf::is_log(&lines) {
        return vec![Format::Clf];
    }
    let unit = Format::unit;
    let good = [
        (
            Format::Blkparse,
            good(&mut blkparse::Blkparse::new(Event::Issue, unit(Format::Blkparse)), &lines),
        ),
        (Format::Msr, good(&mut csv::Msr(unit(Format::Msr)), &lines)),
        (Format::Mqsim, good(&mut ascii::Mqsim(unit(Format::Mqsim)), &lines)),
        (Format::Disksim, decimal(&lines)),
        (
            Format::DisksimValidate,
            good(&mut ascii::Validate::new(unit(Format::DisksimValidate)), &lines),
        ),
        (Format::Spc, good(&mut csv::Spc(unit(Format::Spc)), &lines)),
        (Format::Alibaba, good(&mut csv::Alibaba(unit(Format::Alibaba)), &lines)),
        (Format::Tencent, good(&mut csv::Tencent(unit(Format::Tencent)), &lines)),
    ];
    let most = good.iter().map(|(_, good)| *good).max().unwrap_or(0);
    // A header counts for none of them.
    if most * 2 < lines.len() || most == 0 {
        return Vec::new();
    }
    good.into_iter().filter(|(_, good)| *good == most).map(|(format, _)| format).collect()
}

/// How many lines a format's reader takes.
fn good<L: Lines>(reader: &mut L, lines: &[&[u8]]) -> usize {
    let mut intake = Intake::new(None, Order::Clamp);
    let skip = usize::from(lines.first().is_some_and(|line| is_header(L::HEADER, line)));
    lines[skip..].iter().filter(|line| reader.line(line, &mut intake).is_ok()).count()
}

/// As DiskSim reads it: whole numbers would do, but times in milliseconds have decimals, which tells
/// them from MQSim's.
fn decimal(lines: &[&[u8]]) -> usize {
    let point = |line: &&&[u8]| {
        line.split(|b| b.is_ascii_whitespace()).next().is_some_and(|w| w.contains(&b'.'))
    };
    let decimals: Vec<&[u8]> = lines.iter().filter(point).copied().collect();
    good(&mut ascii::Disksim(Format::Disksim.unit()), &decimals)
}
