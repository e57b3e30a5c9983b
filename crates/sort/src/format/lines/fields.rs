//! The position of a key in a line.

use memchr::memchr;
use std::ops::Range;

/// The start of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyStart {
    /// Number of fields before the key.
    pub fields: usize,
    /// Number of bytes before the key in its field.
    pub bytes: usize,
    /// Whether leading blanks of the field are skipped first.
    pub skip: bool,
}

/// The end of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEnd {
    /// Number of fields before the one in which the key ends.
    pub fields: usize,
    /// Number of bytes of that field that belong to the key; 0 for all.
    pub bytes: usize,
    /// Whether leading blanks of that field are skipped first.
    pub skip: bool,
}

/// Whether a byte is a blank: the separator of fields by default, often found before numbers. A
/// newline may occur in a line that ends in another byte.
#[inline]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// The bytes from the first non-blank on.
#[inline]
pub fn skip_blanks(bytes: &[u8]) -> &[u8] {
    &bytes[blanks(bytes)..]
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| !is_blank(byte)).unwrap_or(bytes.len())
}

/// The end of the field that starts at `at`: before the separator, or before the blanks that lead
/// the next field.
#[inline]
fn field_end(line: &[u8], at: usize, separator: Option<u8>) -> usize {
    let rest = &line[at..];
    at + match separator {
        Some(separator) => memchr(separator, rest).unwrap_or(rest.len()),
        None => {
            let blanks = blanks(rest);
            let word = rest[blanks..].iter().position(|&byte| is_blank(byte));
            word.map_or(rest.len(), |word| blanks + word)
        }
    }
}

/// The start of the field `fields` fields after the one at `at`.
#[inline]
fn field_start(line: &[u8], mut at: usize, separator: Option<u8>, fields: usize) -> usize {
    for _ in 0..fields {
        if at == line.len() {
            break;
        }
        at = field_end(line, at, separator);
        if separator.is_some() && at < line.len() {
            at += 1;
        }
    }
    at
}

/// The part of a line from `start` to `end`; empty if `end` is before `start`.
#[inline]
pub fn part(line: &[u8], separator: Option<u8>, start: KeyStart, end: Option<KeyEnd>) -> &[u8] {
    &line[within(line, separator, start, end)]
}

/// The range of that part within the line.
#[inline]
pub fn within(
    line: &[u8],
    separator: Option<u8>,
    start: KeyStart,
    end: Option<KeyEnd>,
) -> Range<usize> {
    let field = field_start(line, 0, separator, start.fields);
    let mut from = field;
    if start.skip {
        from += blanks(&line[from..]);
    }
    from += start.bytes.min(line.len() - from);
    let Some(end) = end else { return from..line.len() };
    // Continues from the field already found, unless the end is in an earlier one.
    let (mut to, fields) = match end.fields.checked_sub(start.fields) {
        Some(more) => (field, more),
        None => (0, end.fields),
    };
    to = field_start(line, to, separator, fields);
    if end.bytes == 0 {
        // A line that ended before has no such field.
        to = field_end(line, to, separator);
    } else {
        if end.skip {
            to += blanks(&line[to..]);
        }
        to += end.bytes.min(line.len() - to);
    }
    from..to.max(from)
}
