//! Reads text with columns.

use super::super::clf::hash_name;
use super::super::collector::{RawRequest, RequestCollector};
use super::super::entry_error::EntryError;
use super::super::fields::{BAR, BLANK, COMMA, Fields, SEMICOLON, TAB};
use super::super::rwbs;
use super::super::source::LineFormat;
use super::{ColumnRef, ColumnRole, DelimitedFormat, OpMeaning, Separator};
use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};
use std::collections::HashMap;
use std::sync::Arc;

/// Requests may be issued before the time 0, at which the first one completes. Times count from the
/// first issue, so that a constant is added to all of them: the largest latency, 2.3 years.
const BEFORE_START: Ns = Ns(1 << 56);

/// Maximum number of requests that a row may stand for, because they are in memory at the same
/// time.
const MOST_REPEATS: u64 = 1 << 20;

/// The values of a line.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) struct Row {
    pub time: u64,
    pub op: IoOp,
    pub preflush: bool,
    pub durable: bool,
    pub offset: u64,
    pub size: u64,
    pub key: u64,
    pub device: u32,
    pub latency: Option<Ns>,
    /// Number of parts of the key that are text and were hashed.
    pub hashed: u64,
    /// Number of requests that the row stands for.
    pub repeat: u64,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            time: 0,
            op: IoOp::Read,
            preflush: false,
            durable: false,
            offset: 0,
            size: 0,
            key: 0,
            device: 0,
            latency: None,
            hashed: 0,
            repeat: 1,
        }
    }
}

impl Row {
    /// Passes the requests of the row to the collector.
    #[inline]
    pub fn hand_out(&self, collector: &mut RequestCollector) -> Result<(), EntryError> {
        let Self { time, op, preflush, durable, device, latency, repeat, .. } = *self;
        let Self { mut offset, size: mut len, .. } = *self;
        if op == IoOp::Flush {
            (offset, len) = (0, 0);
        }
        for _ in 0..repeat {
            collector.take(RawRequest {
                time,
                op,
                device,
                offset,
                len,
                latency,
                gap: None,
                pid: None,
                preflush,
                durable,
            })?;
        }
        Ok(())
    }
}

/// How to read the value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    /// A time that may have decimals.
    Time,
    WholeTime,
    Latency,
    WholeLatency,
    /// A word for the operation.
    Word,
    /// Hexadecimal flags: a read if this bit is set, otherwise a write.
    Flags(u32),
    Offset,
    Size,
    Repeat,
    Key,
    /// Part of a key that consists of several columns.
    KeyPart,
    /// A number or a name.
    Device,
    DeviceNumber,
    /// The major or the minor device number; the major one comes first.
    DevicePart,
}

/// The reading of one column. Steps are sorted by column.
#[derive(Clone, Copy, Debug)]
struct ColumnStep {
    at: usize,
    value: ValueKind,
    unit: u64,
    /// Whether the column is to the right of the one that may contain blanks.
    shifted: bool,
}

/// How devices are numbered.
#[derive(Debug, Default)]
enum DeviceNumbers {
    /// No row has been read.
    #[default]
    Unknown,
    /// By the numbers in the trace.
    Numbers,
    /// Names, numbered in order of appearance.
    Names(HashMap<Vec<u8>, u32>),
}

impl DeviceNumbers {
    /// The number of a device. The first device decides whether devices are numbers or names.
    #[inline]
    fn number_of(&mut self, word: &[u8]) -> Result<u32, EntryError> {
        let number = number(word).and_then(|number| u32::try_from(number).ok());
        match (number, &mut *self) {
            (Some(number), Self::Numbers) => Ok(number),
            (Some(number), Self::Unknown) => {
                *self = Self::Numbers;
                Ok(number)
            }
            (None, Self::Numbers) => {
                let expected = "a whole number below 2^32, as in the lines before";
                Err(EntryError::field("device", word, expected))
            }
            (None, Self::Unknown) => {
                *self = Self::Names(HashMap::new());
                self.number_of(word)
            }
            (_, Self::Names(names)) => {
                let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
                Ok(*names.entry(word.to_owned()).or_insert(count))
            }
        }
    }
}

/// Parser of lines that a [`DelimitedFormat`] describes.
pub(in crate::formats) struct DelimitedLines {
    description: Arc<DelimitedFormat>,
    time_unit: Option<Ns>,
    steps: Vec<ColumnStep>,
    /// Number of columns in the header, if one column may contain blanks, otherwise 0.
    header: usize,
    separator: Separator,
    skip: u64,
    /// Whether the columns are known and the header has been skipped.
    started: bool,
    /// Prefix of comments; `None` if rows may start with it.
    comment: Option<Box<[u8]>>,
    /// Meanings of the operation words that have one letter.
    letters: Box<[Option<OpMeaning>; 256]>,
    devices: DeviceNumbers,
    whole_times: bool,
}

impl DelimitedLines {
    /// Creates a parser. If the format has no decimals in times, they are an error unless the user
    /// names the unit.
    pub fn new(description: &Arc<DelimitedFormat>, time_unit: Option<Ns>) -> Self {
        Self::with_decimals(description, time_unit, time_unit.is_some())
    }

    /// Creates a parser that accepts or rejects `decimals` in times.
    pub fn with_decimals(
        description: &Arc<DelimitedFormat>,
        time_unit: Option<Ns>,
        decimals: bool,
    ) -> Self {
        let letter = |byte: usize| description.meaning(&[u8::try_from(byte).ok()?]);
        Self {
            steps: Vec::new(),
            header: 0,
            separator: description.separator.unwrap_or(Separator::Blank),
            skip: description.skip_lines,
            started: false,
            comment: description.comment.as_ref().map(|comment| comment.as_bytes().into()),
            letters: Box::new(std::array::from_fn(letter)),
            devices: DeviceNumbers::default(),
            whole_times: description.whole_times && !decimals,
            time_unit,
            description: Arc::clone(description),
        }
    }

    /// Whether times are whole seconds.
    pub fn whole_seconds(&self) -> bool {
        self.whole_times && self.description.columns.unit(ColumnRole::Time) == Some(Ns::SECOND.0)
    }

    /// Whether there is a column of times. Without a header so far, the description decides.
    pub fn has_times(&self) -> bool {
        let is_time =
            |step: &ColumnStep| matches!(step.value, ValueKind::Time | ValueKind::WholeTime);
        let found = self.steps.iter().any(is_time);
        found || (!self.started && self.description.columns.unit(ColumnRole::Time).is_some())
    }

    /// Skips a blank line, which counts among the lines to skip.
    pub fn pass(&mut self) {
        self.skip = self.skip.saturating_sub(1);
    }

    /// Parses a line.
    #[inline]
    pub fn row(&mut self, line: &[u8]) -> Result<ParsedLine, EntryError> {
        if !self.started {
            if self.skip > 0 {
                self.skip -= 1;
                return Ok(ParsedLine::NoRow);
            }
            if self.start(line)? {
                return Ok(ParsedLine::NoRow);
            }
        }
        if let Some(comment) = &self.comment
            && line.starts_with(comment)
        {
            return Ok(ParsedLine::NoRow);
        }
        match self.separator {
            Separator::Comma => self.columns::<COMMA>(line),
            Separator::Blank => self.columns::<BLANK>(line),
            Separator::Tab => self.columns::<TAB>(line),
            Separator::Semicolon => self.columns::<SEMICOLON>(line),
            Separator::Bar => self.columns::<BAR>(line),
        }
    }

    /// Examines a line before the first row. Returns whether it is a comment or the header.
    #[cold]
    fn start(&mut self, line: &[u8]) -> Result<bool, EntryError> {
        let description = Arc::clone(&self.description);
        // If rows start with names, a comment has a blank after its prefix.
        let is_comment = |sign: &&str| {
            let rest = line.strip_prefix(sign.as_bytes());
            rest.is_some_and(|rest| match rest.first() {
                Some(b' ' | b'\t') | None => true,
                Some(_) => !description.columns.starts_with_key(),
            })
        };
        let comment = description.comment.as_deref().filter(is_comment);
        let by_name = description.columns.by_name();
        if comment.is_some() && !by_name {
            return Ok(true);
        }
        let bare = comment.map_or(line, |c| &line[c.len()..]);
        self.separator = description
            .separator
            .unwrap_or_else(|| Separator::of(bare, description.columns.least()));
        let words = self.separator.split(bare);
        let found = self.find(&words);
        match found {
            // A comment can be the header.
            Err(_) if comment.is_some() => return Ok(true),
            Err(bad) => return Err(bad),
            Ok(()) => {}
        }
        self.started = true;
        let is_key = |step: &ColumnStep| matches!(step.value, ValueKind::Key | ValueKind::KeyPart);
        if self.steps.iter().any(|step| step.at == 0 && is_key(step)) {
            // Rows start with names, which may start with the prefix of comments.
            self.comment = None;
        }
        if by_name {
            return Ok(true);
        }
        Ok(self.is_header(&words))
    }

    /// Whether the first line is a header: it has no number in the columns of numbers, and no
    /// operation.
    fn is_header(&self, words: &[&[u8]]) -> bool {
        let word = |step: &ColumnStep| words.get(step.at).copied().unwrap_or_default();
        let is_number =
            |word: &[u8]| word.first().is_none_or(|b| b.is_ascii_digit() || b".-+".contains(b));
        let mut numbers = self.steps.iter().filter(|step| step.is_number()).peekable();
        let mut ops = self.steps.iter().filter(|step| step.value == ValueKind::Word);
        numbers.peek().is_some()
            && !numbers.any(|step| is_number(word(step)))
            && !ops.any(|step| self.description.meaning(word(step)).is_some())
    }

    /// Finds the columns, if necessary by their names in the header.
    fn find(&mut self, header: &[&[u8]]) -> Result<(), EntryError> {
        let bare =
            |word: &[u8]| String::from_utf8_lossy(word).trim().trim_matches('"').to_lowercase();
        let names: Vec<String> = header.iter().map(|word| bare(word)).collect();
        let position = |name: &str| names.iter().position(|n| *n == name.to_lowercase());
        let ragged = self.description.ragged.as_deref().and_then(position);
        let mut steps = Vec::new();
        for column in &self.description.columns.columns {
            for part in &column.parts {
                let found = part.iter().find_map(|at| match at {
                    ColumnRef::Number(number) => Some(*number),
                    ColumnRef::Name(name) => position(name),
                });
                let Some(at) = found else {
                    if column.optional {
                        continue;
                    }
                    let line = header.join(&b' ');
                    return Err(EntryError::named(
                        "header",
                        &line,
                        format!("a column named {}", names_of(part)),
                    ));
                };
                // A user's unit applies to time stamps, and to latencies in the same unit.
                let is_time = matches!(column.role, ColumnRole::Time | ColumnRole::Latency)
                    && Some(column.unit) == self.description.columns.unit(ColumnRole::Time);
                let unit = match self.time_unit {
                    Some(unit) if is_time => unit.0,
                    _ => column.unit,
                };
                let value = self.value(column.role, column.parts.len() > 1);
                let shifted = ragged.is_some_and(|ragged| at > ragged);
                steps.push(ColumnStep { at, value, unit, shifted });
            }
        }
        steps.sort_by_key(|step| step.at);
        self.header = if ragged.is_some() { header.len() } else { 0 };
        self.steps = steps;
        Ok(())
    }

    /// How to read a column of `role`.
    fn value(&self, role: ColumnRole, joined: bool) -> ValueKind {
        match role {
            ColumnRole::Time if self.whole_times => ValueKind::WholeTime,
            ColumnRole::Time => ValueKind::Time,
            ColumnRole::Latency if self.whole_times => ValueKind::WholeLatency,
            ColumnRole::Latency => ValueKind::Latency,
            ColumnRole::Op => self.description.read_flag.map_or(ValueKind::Word, ValueKind::Flags),
            ColumnRole::Offset => ValueKind::Offset,
            ColumnRole::Size => ValueKind::Size,
            ColumnRole::Repeat => ValueKind::Repeat,
            ColumnRole::Key if joined => ValueKind::KeyPart,
            ColumnRole::Key => ValueKind::Key,
            ColumnRole::Device if joined => ValueKind::DevicePart,
            ColumnRole::Device if self.description.numbered_devices => ValueKind::DeviceNumber,
            ColumnRole::Device => ValueKind::Device,
        }
    }

    #[inline]
    fn columns<const SEP: u8>(&mut self, line: &[u8]) -> Result<ParsedLine, EntryError> {
        // Columns beyond those of the header come from blanks within one value, which may also be
        // empty: then a column is missing.
        let shift = match self.header {
            0 => 0,
            header => {
                let found = self.separator.split(line).len();
                found.cast_signed() - header.cast_signed()
            }
        };
        let mut fields = Fields::<SEP>::new(line);
        let mut row = Row::default();
        let mut next = 0;
        match self.values(&mut fields, shift, &mut next, &mut row) {
            Ok(true) => {}
            Ok(false) => return Ok(ParsedLine::Other),
            Err(bad) => return Err(bad.in_column(next - 1)),
        }
        if let Some((least, most)) = self.description.widths {
            while !fields.is_done() {
                fields.skip();
                next += 1;
            }
            if next < least || next > most {
                return Err(wrong_width(next, least, most));
            }
        }
        if self.description.completed {
            let latency = row.latency.unwrap_or(Ns::ZERO).0;
            row.time = row.time.saturating_add(BEFORE_START.0).saturating_sub(latency);
        }
        Ok(ParsedLine::Row(row))
    }

    /// Reads the values of a line. Returns false if its operation moves no data. `next` counts the
    /// columns read.
    #[inline]
    fn values<const SEP: u8>(
        &mut self,
        fields: &mut Fields<'_, SEP>,
        shift: isize,
        next: &mut usize,
        row: &mut Row,
    ) -> Result<bool, EntryError> {
        let mut size = None;
        for step in &self.steps {
            let shift = if step.shifted { shift.max(-1) } else { 0 };
            let at = step.at.saturating_add_signed(shift);
            while *next < at {
                fields.skip();
                *next += 1;
            }
            *next += 1;
            match step.value {
                ValueKind::Time => row.time = fields.time("time", Ns(step.unit))?,
                ValueKind::WholeTime => row.time = in_ns(fields.number("time")?, step.unit)?,
                ValueKind::Latency => {
                    row.latency =
                        latency::<SEP>(fields.text(), step.unit, self.description.completed)?;
                }
                ValueKind::WholeLatency => {
                    row.latency = Some(Ns(in_ns(fields.number("latency")?, step.unit)?));
                }
                ValueKind::Word => {
                    let word = fields.text();
                    let meaning = match word {
                        [letter] => self.letters[usize::from(*letter)],
                        _ => self.description.meaning(word),
                    };
                    match meaning {
                        Some(OpMeaning::Op(op)) => {
                            row.op = op;
                            if word.len() > 1 && self.description.takes_rwbs {
                                row.preflush = rwbs::is_preflush(op, word);
                                row.durable = rwbs::is_durable(op, word);
                            }
                        }
                        // Such a row may lack the following columns.
                        Some(OpMeaning::Other) => return Ok(false),
                        None => return Err(unknown_op(&self.description, word)),
                    }
                }
                ValueKind::Flags(read) => {
                    let is_read = flags(fields.text())? & read != 0;
                    row.op = if is_read { IoOp::Read } else { IoOp::Write };
                }
                ValueKind::Offset => {
                    row.offset = scaled(
                        fields.amount("offset", self.description.notation)?,
                        step.unit,
                        "offset",
                    )?;
                }
                ValueKind::Size => {
                    let bytes = scaled(
                        fields.amount("size", self.description.notation)?,
                        step.unit,
                        "size",
                    )?;
                    size = Some(size.unwrap_or(0_u64).saturating_add(bytes));
                }
                ValueKind::Repeat => row.repeat = repeat(fields)?,
                ValueKind::Key => {
                    let word = key(fields)?;
                    row.key = match number(word) {
                        Some(number) => number,
                        None => {
                            row.hashed += 1;
                            hash_name(word.iter().copied())
                        }
                    };
                }
                ValueKind::KeyPart => {
                    let word = key(fields)?;
                    row.hashed += 1;
                    row.key = hash_name(word.iter().copied())
                        ^ row.key.rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                }
                ValueKind::Device => row.device = self.devices.number_of(fields.text())?,
                ValueKind::DeviceNumber => row.device = fields.small("device")?,
                ValueKind::DevicePart => row.device = row.device << 20 | fields.small("device")?,
            }
        }
        // Without a column of sizes, a request is one block.
        row.size = match size {
            Some(size) => size,
            None => self.description.columns.unit(ColumnRole::Offset).unwrap_or(1),
        };
        Ok(true)
    }
}

impl ColumnStep {
    /// Whether the values are always numbers, so that a first line without numbers is a header.
    fn is_number(&self) -> bool {
        match self.value {
            ValueKind::Time
            | ValueKind::WholeTime
            | ValueKind::Latency
            | ValueKind::WholeLatency
            | ValueKind::Flags(_)
            | ValueKind::Offset
            | ValueKind::Size
            | ValueKind::Repeat
            | ValueKind::DeviceNumber
            | ValueKind::DevicePart => true,
            ValueKind::Word | ValueKind::Key | ValueKind::KeyPart | ValueKind::Device => false,
        }
    }
}

impl Separator {
    /// Splits a line into columns.
    pub(super) fn split(self, line: &[u8]) -> Vec<&[u8]> {
        fn all<const SEP: u8>(line: &[u8]) -> Vec<&[u8]> {
            let mut fields = Fields::<SEP>::new(line);
            let mut words = Vec::new();
            while !fields.is_done() {
                words.push(fields.text());
            }
            words
        }
        match self {
            Self::Comma => all::<COMMA>(line),
            Self::Blank => all::<BLANK>(line),
            Self::Tab => all::<TAB>(line),
            Self::Semicolon => all::<SEMICOLON>(line),
            Self::Bar => all::<BAR>(line),
        }
    }
}

impl DelimitedFormat {
    /// The word of a line in the column of `role`, if the column is given by its number.
    pub(in crate::formats) fn word<'a>(
        &self,
        role: ColumnRole,
        line: &'a [u8],
    ) -> Option<&'a [u8]> {
        let ColumnRef::Number(at) = self.columns.find(role)?.parts.first()?.first()? else {
            return None;
        };
        let least = self.columns.least();
        let separator = self.separator.unwrap_or_else(|| Separator::of(line, least));
        separator.split(line).get(*at).copied()
    }
}

/// A parsed line.
pub(in crate::formats) enum ParsedLine {
    Row(Row),
    /// A comment or the header.
    NoRow,
    /// An operation that moves no data.
    Other,
}

/// Parses a whole number without leading zeros, so that 7 and 007 remain different names.
#[inline]
fn number(word: &[u8]) -> Option<u64> {
    let plain = match word {
        [b'0'] => true,
        [b'1'..=b'9', ..] => word.len() <= 20,
        _ => false,
    };
    if !plain {
        return None;
    }
    word.iter().try_fold(0_u64, |value, &digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[inline]
fn scaled(number: u64, unit: u64, field: &'static str) -> Result<u64, EntryError> {
    number.checked_mul(unit).ok_or_else(|| too_large(number, unit, field))
}

#[cold]
fn too_large(number: u64, unit: u64, field: &'static str) -> EntryError {
    let expected = format!("less than 2^64 bytes in units of {}", Bytes(unit));
    EntryError::named(field, number.to_string().as_bytes(), expected)
}

#[inline]
fn in_ns(units: u64, unit: u64) -> Result<u64, EntryError> {
    let late = || EntryError::field("time", units.to_string().as_bytes(), "a time below 584 years");
    units.checked_mul(unit).ok_or_else(late)
}

/// Parses the latency of a request, which some rows do not have.
fn latency<const SEP: u8>(word: &[u8], unit: u64, needed: bool) -> Result<Option<Ns>, EntryError> {
    if !needed && (word.is_empty() || word == b"-") {
        return Ok(None);
    }
    Fields::<SEP>::new(word).time("latency", Ns(unit)).map(|latency| Some(Ns(latency)))
}

#[inline]
fn flags(word: &[u8]) -> Result<u32, EntryError> {
    let digits = word.strip_prefix(b"0x").or(word.strip_prefix(b"0X")).unwrap_or(word);
    let mut value = 0;
    for &digit in digits {
        match char::from(digit).to_digit(16) {
            Some(digit) => value = value << 4 | digit,
            None => return Err(not_flags(word)),
        }
    }
    if digits.is_empty() || digits.len() > 8 { Err(not_flags(word)) } else { Ok(value) }
}

#[cold]
fn not_flags(word: &[u8]) -> EntryError {
    EntryError::field("op", word, "flags: a hexadecimal number below 2^32")
}

fn repeat<const SEP: u8>(fields: &mut Fields<'_, SEP>) -> Result<u64, EntryError> {
    let repeat = fields.number("repeat")?;
    if repeat > MOST_REPEATS {
        let expected = "at most 2^20 requests a row";
        return Err(EntryError::field("repeat", repeat.to_string().as_bytes(), expected));
    }
    Ok(repeat)
}

#[inline]
fn key<'a, const SEP: u8>(fields: &mut Fields<'a, SEP>) -> Result<&'a [u8], EntryError> {
    match fields.text() {
        [] => Err(EntryError::field("key", b"", "a name or a number")),
        word => Ok(word),
    }
}

#[cold]
fn wrong_width(found: usize, least: usize, most: usize) -> EntryError {
    let expected = match most {
        usize::MAX => format!("at least {least}"),
        most if most == least => format!("{least}"),
        most => format!("{least} to {most}"),
    };
    EntryError::named("number of columns", found.to_string().as_bytes(), expected)
}

#[cold]
fn unknown_op(description: &DelimitedFormat, word: &[u8]) -> EntryError {
    const SHOWN: usize = 8;
    let shown = description.words.iter().take(SHOWN).map(|(word, meaning)| match meaning {
        // Numbers have different meanings in different formats, so the meaning is shown.
        OpMeaning::Op(op) if word.parse::<u64>().is_ok() => format!("{word} ({})", op.name()),
        _ => word.clone(),
    });
    let shown: Vec<String> = shown.collect();
    let more = if description.words.len() > SHOWN { ", ..." } else { "" };
    EntryError::named("op", word, format!("one of {}{more}", shown.join(", ")))
}

fn names_of(part: &[ColumnRef]) -> String {
    let names = part.iter().map(|at| match at {
        ColumnRef::Number(number) => (number + 1).to_string(),
        ColumnRef::Name(name) => format!("`{name}`"),
    });
    names.collect::<Vec<_>>().join(" or ")
}

impl LineFormat for DelimitedLines {
    fn blank(&mut self) {
        self.pass();
    }

    #[inline]
    fn line(&mut self, line: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        match self.row(line)? {
            ParsedLine::NoRow => {}
            ParsedLine::Other => collector.other(),
            ParsedLine::Row(row) => row.hand_out(collector)?,
        }
        Ok(())
    }
}
