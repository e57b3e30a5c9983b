//! Where in a line a key is.

use memchr::memchr;
use std::ops::Range;

/// Where a key starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyStart {
    /// Fields before it.
    pub fields: usize,
    /// Bytes before it in its field.
    pub bytes: usize,
    /// Whether blanks at the start of its field are passed over first.
    pub skip: bool,
}

/// Where a key ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEnd {
    /// Fields before that in which it ends.
    pub fields: usize,
    /// How many bytes of that are part of it; none: all.
    pub bytes: usize,
    /// Whether blanks at the start of that field are passed over first.
    pub skip: bool,
}

/// What stands between fields without a separator, and before many a number. A new line can be in a
/// line that ends otherwise.
#[inline]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// Bytes from the first that is not blank on.
#[inline]
pub fn skip_blanks(bytes: &[u8]) -> &[u8] {
    &bytes[blanks(bytes)..]
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| !is_blank(byte)).unwrap_or(bytes.len())
}

/// Where the field that starts at `at` ends: before the separator, or the blanks that lead the
/// next.
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

/// Where the field `fields` after that at `at` starts.
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

/// The part of a line from `start` to `end`: nothing where that is before.
#[inline]
pub fn part(line: &[u8], separator: Option<u8>, start: KeyStart, end: Option<KeyEnd>) -> &[u8] {
    &line[within(line, separator, start, end)]
}

/// Where in a line that is.
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
    // On from the field already found, where the end is not before it.
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
