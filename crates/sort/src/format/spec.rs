//! Record formats as users write them: `2,2n` for lines, `8:16:u64be` for records.

use super::fixed::{self, KeyType};
use super::lines::{self, Ignore, KeyEnd, KeyOrder, KeyStart, Translation};
use super::{Benchmark, Fixed, Lines, RecordFormat};
use crate::SortError;
use serde::{Deserialize, Serialize};

/// Maximum length of a fixed-length record.
const LONGEST: usize = 1 << 20;

/// The record format of a sort, and its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordConfig {
    /// The records of the sort benchmark.
    #[default]
    Benchmark,
    /// Records of fixed length.
    Fixed(FixedConfig),
    /// Lines of text.
    Lines(LinesConfig),
}

/// The format of fixed-length records, as users specify it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedConfig {
    /// Bytes of a record.
    pub record: usize,
    /// Keys, `START:END[:TYPE][:r]`; without one, the whole record.
    #[serde(default)]
    pub keys: Vec<String>,
}

/// The format of lines, as users specify it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinesConfig {
    /// Keys as in `sort -k`; without one, the whole line.
    pub keys: Vec<String>,
    /// Options for all keys that have none of their own, as letters.
    pub options: String,
    /// The separator of fields; `None` for blanks.
    pub separator: Option<String>,
    /// Lines end in a zero byte.
    pub zero: bool,
    /// Lines with equal keys stay in input order; otherwise they are compared as bytes.
    pub stable: bool,
}

impl Default for LinesConfig {
    fn default() -> Self {
        Self { keys: vec![], options: String::new(), separator: None, zero: false, stable: true }
    }
}

/// An operation that is generic over the record format.
pub trait FormatVisitor {
    /// The result of the operation.
    type Output;

    /// Performs the operation.
    fn visit<S: RecordFormat>(self, format: &S) -> Self::Output;
}

impl RecordConfig {
    /// Performs an operation with the format, compiled for its type.
    ///
    /// # Errors
    /// Returns an error if a key is invalid.
    pub fn with<V: FormatVisitor>(&self, visitor: V) -> Result<V::Output, SortError> {
        Ok(match self {
            Self::Benchmark => visitor.visit(&Benchmark),
            Self::Fixed(config) => match config.shape()? {
                format if format.is_benchmark() => visitor.visit(&Benchmark),
                format => visitor.visit(&format),
            },
            Self::Lines(config) => visitor.visit(&config.shape()?),
        })
    }

    /// Validates the keys.
    ///
    /// # Errors
    /// Returns an error if a key is invalid.
    pub fn check(&self) -> Result<(), SortError> {
        struct Nothing;
        impl FormatVisitor for Nothing {
            type Output = ();
            fn visit<S: RecordFormat>(self, _: &S) {}
        }
        self.with(Nothing)
    }
}

impl FixedConfig {
    fn shape(&self) -> Result<Fixed, SortError> {
        if self.record == 0 || self.record > LONGEST {
            return Err(SortError::impossible(
                format!("--record {}", self.record),
                format!("a record has 1 to {LONGEST} bytes"),
                "--record 100",
            ));
        }
        let all = fixed::FixedKey {
            bytes: 0..self.record,
            kind: KeyType::Bytes,
            little: false,
            reverse: false,
        };
        let keys = self.keys.iter().map(|key| fixed_key(key, self.record));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        Ok(Fixed::new(self.record, if keys.is_empty() { vec![all] } else { keys }))
    }
}

fn wrong(what: &str, text: &str, why: impl ToString, hint: &str) -> SortError {
    SortError::impossible(format!("{what} {text:?}"), why, hint)
}

const FIXED_HINT: &str = "START:END[:TYPE][:r], as 8:16:u64be: bytes 8 to 15, as a number; TYPE is \
                          bytes, ascii (any case), or u, i, f with its bits and le or be";

/// Parses a key of a record of `record` bytes.
fn fixed_key(text: &str, record: usize) -> Result<fixed::FixedKey, SortError> {
    let err = |why: String| wrong("--key", text, why, FIXED_HINT);
    let mut parts: Vec<&str> = text.split(':').collect();
    let reverse = parts.len() > 2 && parts.last() == Some(&"r");
    if reverse {
        parts.pop();
    }
    if parts.len() > 3 {
        return Err(err(format!("{:?} is too much", parts[3])));
    }
    let number = |part: &str| match part.parse::<usize>() {
        Ok(value) if value <= record && part.starts_with(|first: char| first.is_ascii_digit()) => {
            Ok(value)
        }
        Ok(value) if value > record => {
            Err(err(format!("byte {value} is not in a record of {record} bytes")))
        }
        _ => Err(err(format!("{part:?} is not the number of a byte"))),
    };
    let start = number(parts[0])?;
    let (kind, width, little) = fixed_type(parts.get(2).copied().unwrap_or("bytes"))
        .ok_or_else(|| err(format!("{:?} is not a type", parts.get(2).unwrap_or(&""))))?;
    let end = match parts.get(1) {
        None | Some(&"") => width.map_or(record, |width| start + width),
        Some(end) => number(end)?,
    };
    if end > record {
        return Err(err(format!("bytes {start} to {end} are not in a record of {record} bytes")));
    }
    if start >= end {
        return Err(err(format!("no byte is between {start} and {end}")));
    }
    match width {
        Some(width) if width != end - start => Err(err(format!(
            "{} has {width} bytes, and there are {} from {start} to {end}",
            parts[2],
            end - start
        ))),
        _ => Ok(fixed::FixedKey { bytes: start..end, kind, little, reverse }),
    }
}

/// The type with this name, its length if that is fixed, and whether it is little-endian.
fn fixed_type(name: &str) -> Option<(KeyType, Option<usize>, bool)> {
    match name {
        "" | "bytes" => return Some((KeyType::Bytes, None, false)),
        "ascii" => return Some((KeyType::Ascii, None, false)),
        _ => {}
    }
    let kind = match name.chars().next()? {
        'u' => KeyType::Unsigned,
        'i' => KeyType::Signed,
        'f' => KeyType::Float,
        _ => return None,
    };
    let (bits, little) = match &name[1..] {
        "8" => ("8", false),
        rest => match rest.strip_suffix("le") {
            Some(bits) => (bits, true),
            None => (rest.strip_suffix("be")?, false),
        },
    };
    let width = match (bits, kind) {
        ("8", KeyType::Signed | KeyType::Unsigned) => 1,
        ("16", KeyType::Signed | KeyType::Unsigned) => 2,
        ("32", _) => 4,
        ("64", _) => 8,
        _ => return None,
    };
    Some((kind, Some(width), little))
}

const LINES_HINT: &str = "FIELD[.BYTE][LETTERS][,FIELD[.BYTE][LETTERS]], as 2,2n: field 2, as a \
                          number; LETTERS are of b d f g h i M n r V";

/// Options of a key, or of all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KeyFlags {
    skip_start: bool,
    skip_end: bool,
    reverse: bool,
    fold: bool,
    punctuation: bool,
    control: bool,
    decimal: bool,
    float: bool,
    human: bool,
    month: bool,
    version: bool,
}

impl KeyFlags {
    /// Sets the option with this letter; returns whether it exists.
    fn take(&mut self, letter: u8, (start, end): (bool, bool)) -> bool {
        let place = match letter {
            b'b' => {
                self.skip_start |= start;
                self.skip_end |= end;
                return true;
            }
            b'd' => &mut self.punctuation,
            b'f' => &mut self.fold,
            b'g' => &mut self.float,
            b'h' => &mut self.human,
            b'i' => &mut self.control,
            b'M' => &mut self.month,
            b'n' => &mut self.decimal,
            b'r' => &mut self.reverse,
            b'V' => &mut self.version,
            _ => return false,
        };
        *place = true;
        true
    }

    /// A key with these options; `None` if they contradict each other.
    fn key(self, (start, end): (KeyStart, Option<KeyEnd>)) -> Option<lines::LineKey> {
        let ignore = match (self.punctuation, self.control) {
            (true, _) => Ignore::Punctuation,
            (false, true) => Ignore::Control,
            _ => Ignore::Nothing,
        };
        let orders = [
            (self.decimal, KeyOrder::Decimal),
            (self.float, KeyOrder::Float),
            (self.human, KeyOrder::Human),
            (self.month, KeyOrder::Month),
            (self.version, KeyOrder::Version),
        ];
        let mut chosen = orders.iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, order)| *order);
        let order = chosen.next().unwrap_or_default();
        let goes = matches!(order, KeyOrder::Text | KeyOrder::Version) || ignore == Ignore::Nothing;
        (goes && chosen.next().is_none()).then_some(lines::LineKey {
            start: KeyStart { skip: self.skip_start, ..start },
            end: end.map(|end| KeyEnd { skip: self.skip_end, ..end }),
            order,
            translation: Translation { ignore, fold: self.fold },
            reverse: self.reverse,
        })
    }
}

impl LinesConfig {
    fn shape(&self) -> Result<Lines, SortError> {
        let separator = self.separator.as_deref().map(separator).transpose()?;
        let mut all = KeyFlags::default();
        for (at, letter) in self.options.bytes().enumerate() {
            if !all.take(letter, (true, true)) {
                let why = stray(&self.options, at);
                return Err(wrong("--order", &self.options, why, "letters of b d f g h i M n r V"));
            }
        }
        let whole = (lines::LineKey::LINE.start, None);
        let clash = |what: &str, text: &str| {
            wrong(
                what,
                text,
                "its letters do not go together",
                "at most one of n, g, h, M and V; d and i only alone or with V",
            )
        };
        let mut keys = vec![];
        for text in &self.keys {
            let (place, letters) = line_key(text)?;
            let letters = if letters == KeyFlags::default() { all } else { letters };
            keys.push(letters.key(place).ok_or_else(|| clash("--key", text))?);
        }
        if keys.is_empty() {
            keys.push(all.key(whole).ok_or_else(|| clash("--order", &self.options))?);
        }
        if !self.stable {
            keys.push(lines::LineKey { reverse: all.reverse, ..lines::LineKey::LINE });
        }
        Ok(Lines::new(keys, separator, if self.zero { 0 } else { b'\n' }))
    }
}

fn separator(text: &str) -> Result<u8, SortError> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\0" => Ok(0),
        bytes => Err(wrong(
            "--field-separator",
            text,
            format!("it is one byte, not {}", bytes.len()),
            "--field-separator , or '\\0' for a zero byte, or $'\\t' for a tab",
        )),
    }
}

/// Describes a character that is not an option.
fn stray(text: &str, at: usize) -> String {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some('R') => format!("'R', at byte {at}, would be a random order: records have none here"),
        Some(letter) => format!("{letter:?}, at byte {at}, is not an option of a key"),
        None => format!("it ends at byte {at}"),
    }
}

/// Parses a key of a line: its position and its options.
fn line_key(text: &str) -> Result<((KeyStart, Option<KeyEnd>), KeyFlags), SortError> {
    let mut at = 0;
    let bytes = text.as_bytes();
    let err = |why: String| wrong("--key", text, why, LINES_HINT);
    // Parses a number of at least `least`; numbers that are too large saturate.
    let number = |at: &mut usize, what: &str, least: usize| {
        let start = *at;
        let mut value = 0usize;
        while let Some(digit) = bytes.get(*at).filter(|byte| byte.is_ascii_digit()) {
            value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
            *at += 1;
        }
        if start == *at {
            return Err(err(format!("no number of a {what} at byte {start}")));
        }
        if value < least {
            return Err(err(format!(
                "{what}s are counted from 1, and there is a 0 at byte {start}"
            )));
        }
        Ok(value)
    };
    let mut letters = KeyFlags::default();
    let fields = number(&mut at, "field", 1)? - 1;
    let mut start = KeyStart { fields, bytes: 0, skip: false };
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        start.bytes = number(&mut at, "byte", 1)? - 1;
    }
    while bytes.get(at).is_some_and(|&letter| letters.take(letter, (true, false))) {
        at += 1;
    }
    let mut end = None;
    if bytes.get(at) == Some(&b',') {
        at += 1;
        let fields = number(&mut at, "field", 1)? - 1;
        let mut place = KeyEnd { fields, bytes: 0, skip: false };
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            // A byte number of 0 means the whole field.
            place.bytes = number(&mut at, "byte", 0)?;
        }
        while bytes.get(at).is_some_and(|&letter| letters.take(letter, (false, true))) {
            at += 1;
        }
        end = Some(place);
    }
    if at < bytes.len() {
        return Err(err(stray(text, at)));
    }
    Ok(((start, end), letters))
}
