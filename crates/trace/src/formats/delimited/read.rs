//! The reader of text whose lines are columns.

use super::super::clf::hash_name;
use super::super::error::Bad;
use super::super::fields::{BAR, BLANK, COMMA, Fields, SEMICOLON, TAB};
use super::super::intake::{Intake, Raw};
use super::super::source::Lines;
use super::{At, Delimited, Meaning, Role, Separator};
use crate::model::BlockOp;
use gordon_units::Ns;
use std::collections::HashMap;
use std::sync::Arc;

/// Requests that a row stands for, at most: they are in memory together.
const MOST_REPEATS: u64 = 1 << 20;

/// What a line holds.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) struct Row {
    pub time: u64,
    pub op: BlockOp,
    pub offset: u64,
    pub size: u64,
    pub key: u64,
    pub device: u32,
    pub latency: Option<Ns>,
    /// Requests that it stands for.
    pub repeat: u64,
}

impl Row {
    /// Its requests for blocks.
    #[inline]
    pub fn hand_out(&self, intake: &mut Intake) -> Result<(), Bad> {
        let Self { time, op, offset, size: len, device, latency, repeat, .. } = *self;
        for _ in 0..repeat {
            intake.take(Raw { time, op, device, offset, len, latency, gap: None, pid: None })?;
        }
        Ok(())
    }
}

/// One column to read: the next after those before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: usize,
    role: Role,
    unit: u64,
    /// The key or the device is made of several columns.
    joined: bool,
    /// After the column that may hold blanks.
    shifted: bool,
}

/// Reads lines as a [`Delimited`] describes them.
pub(in crate::formats) struct DelimitedLines {
    about: Arc<Delimited>,
    time_unit: Option<Ns>,
    steps: Vec<Step>,
    /// Columns of the header, where one column may hold blanks.
    header: usize,
    separator: Separator,
    skip: u64,
    /// The columns are found, and the header is passed.
    started: bool,
    /// Devices by their names, in the order in which they come; none while they are numbers.
    devices: Option<HashMap<Vec<u8>, u32>>,
    whole_times: bool,
    /// Keys that are text, and were hashed.
    pub hashed: u64,
}

impl DelimitedLines {
    pub fn new(about: &Arc<Delimited>, time_unit: Option<Ns>) -> Self {
        Self {
            steps: Vec::new(),
            header: 0,
            separator: about.separator.unwrap_or(Separator::Blank),
            skip: about.skip_lines,
            started: false,
            devices: None,
            whole_times: about.whole_times && time_unit.is_none(),
            hashed: 0,
            time_unit,
            about: Arc::clone(about),
        }
    }

    /// Whether times have no decimals, and are in seconds.
    pub fn whole_seconds(&self) -> bool {
        self.whole_times && self.about.columns.unit(Role::Time) == Some(Ns::SECOND.0)
    }

    /// Whether there is a column of times, as far as it is known.
    pub fn has_times(&self) -> bool {
        let found = self.steps.iter().any(|step| step.role == Role::Time);
        found || (!self.started && self.about.columns.unit(Role::Time).is_some())
    }

    /// Passes a blank line, which counts among those to skip.
    pub fn pass(&mut self) {
        self.skip = self.skip.saturating_sub(1);
    }

    /// Reads a line; nothing where it is a comment, a header, or an operation that moves no data.
    #[inline]
    pub fn row(&mut self, line: &[u8]) -> Result<Read, Bad> {
        if !self.started {
            if self.skip > 0 {
                self.skip -= 1;
                return Ok(Read::NoRow);
            }
            if self.start(line)? {
                return Ok(Read::NoRow);
            }
        }
        if let Some(comment) = &self.about.comment
            && line.starts_with(comment.as_bytes())
        {
            return Ok(Read::NoRow);
        }
        match self.separator {
            Separator::Comma => self.columns::<COMMA>(line),
            Separator::Blank => self.columns::<BLANK>(line),
            Separator::Tab => self.columns::<TAB>(line),
            Separator::Semicolon => self.columns::<SEMICOLON>(line),
            Separator::Bar => self.columns::<BAR>(line),
        }
    }

    /// Looks at a line before the first row: whether it is a comment or the header.
    #[cold]
    fn start(&mut self, line: &[u8]) -> Result<bool, Bad> {
        let about = Arc::clone(&self.about);
        let comment = about.comment.as_deref().filter(|c| line.starts_with(c.as_bytes()));
        let by_name = about.columns.by_name();
        if comment.is_some() && !by_name {
            return Ok(true);
        }
        let bare = comment.map_or(line, |c| &line[c.len()..]);
        self.separator = about.separator.unwrap_or_else(|| Separator::of(bare));
        let words = self.words(bare);
        let found = self.find(&words);
        match found {
            // A comment may be the header.
            Err(_) if comment.is_some() => return Ok(true),
            Err(bad) => return Err(bad),
            Ok(()) => {}
        }
        self.started = true;
        if by_name {
            return Ok(true);
        }
        let mut numbers = self.steps.iter().filter(|step| step.role.is_number()).peekable();
        let is_header = numbers.peek().is_some()
            && numbers.all(|step| {
                let word = words.get(step.at).copied().unwrap_or_default();
                word.first()
                    .is_some_and(|b| !b.is_ascii_digit() && !matches!(b, b'.' | b'-' | b'+'))
            });
        Ok(is_header)
    }

    fn words<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        fn all<const SEP: u8>(line: &[u8]) -> Vec<&[u8]> {
            let mut fields = Fields::<SEP>::new(line);
            let mut words = Vec::new();
            while !fields.is_done() {
                words.push(fields.word());
            }
            words
        }
        match self.separator {
            Separator::Comma => all::<COMMA>(line),
            Separator::Blank => all::<BLANK>(line),
            Separator::Tab => all::<TAB>(line),
            Separator::Semicolon => all::<SEMICOLON>(line),
            Separator::Bar => all::<BAR>(line),
        }
    }

    /// Finds the columns, by the names in the header where they have some.
    fn find(&mut self, header: &[&[u8]]) -> Result<(), Bad> {
        let bare =
            |word: &[u8]| String::from_utf8_lossy(word).trim().trim_matches('"').to_lowercase();
        let names: Vec<String> = header.iter().map(|word| bare(word)).collect();
        let position = |name: &str| names.iter().position(|n| *n == name.to_lowercase());
        let ragged = self.about.ragged.as_deref().and_then(position);
        let mut steps = Vec::new();
        for column in &self.about.columns.columns {
            for part in &column.parts {
                let found = part.iter().find_map(|at| match at {
                    At::Number(number) => Some(*number),
                    At::Name(name) => position(name),
                });
                let Some(at) = found else {
                    if column.optional {
                        continue;
                    }
                    let line = header.join(&b' ');
                    return Err(Bad::named(
                        "header",
                        &line,
                        format!("a column named {}", names_of(part)),
                    ));
                };
                let unit = match (column.role, self.time_unit) {
                    (Role::Time, Some(unit)) => unit.0,
                    _ => column.unit,
                };
                let joined = column.parts.len() > 1;
                let shifted = ragged.is_some_and(|ragged| at > ragged);
                steps.push(Step { at, role: column.role, unit, joined, shifted });
            }
        }
        steps.sort_by_key(|step| step.at);
        self.header = if ragged.is_some() { header.len() } else { 0 };
        self.steps = steps;
        Ok(())
    }

    #[inline]
    fn columns<const SEP: u8>(&mut self, line: &[u8]) -> Result<Read, Bad> {
        // Columns more than the header has: blanks within one of them.
        let shift = match self.header {
            0 => 0,
            header => self.words(line).len().saturating_sub(header),
        };
        let about = &*self.about;
        let mut fields = Fields::<SEP>::new(line);
        let mut row = Row {
            time: 0,
            op: BlockOp::Read,
            offset: 0,
            size: 0,
            key: 0,
            device: 0,
            latency: None,
            repeat: 1,
        };
        let (mut next, mut left_out, mut has_size, mut hashed) = (0, false, false, 0);
        for step in &self.steps {
            let at = step.at + if step.shifted { shift } else { 0 };
            while next < at {
                fields.word();
                next += 1;
            }
            next += 1;
            match step.role {
                Role::Time if self.whole_times => {
                    let time = fields.number("time")?.checked_mul(step.unit);
                    row.time = time.ok_or_else(|| too_late(line))?;
                }
                Role::Time => row.time = fields.time("time", Ns(step.unit))?,
                Role::Latency => {
                    // Some rows have none.
                    let word = fields.word();
                    if !word.is_empty() && word != b"-" {
                        let latency = Fields::<SEP>::new(word).time("latency", Ns(step.unit))?;
                        row.latency = Some(Ns(latency));
                    }
                }
                Role::Op => {
                    let word = fields.word();
                    match about.meaning(word) {
                        Some(Meaning::Op(op)) => row.op = op,
                        Some(Meaning::Other) => left_out = true,
                        None => return Err(unknown_op(about, word)),
                    }
                    if left_out {
                        // Such a row may lack the columns that follow.
                        return Ok(Read::Other);
                    }
                }
                Role::Offset => row.offset = scaled(fields.number("offset")?, step.unit, "offset")?,
                Role::Size => {
                    let size = scaled(fields.number("size")?, step.unit, "size")?;
                    row.size = row.size.saturating_add(size);
                    has_size = true;
                }
                Role::Repeat => {
                    row.repeat = fields.number("repeat")?;
                    if row.repeat > MOST_REPEATS {
                        let found = row.repeat.to_string();
                        return Err(Bad::field(
                            "repeat",
                            found.as_bytes(),
                            "at most 2^20 requests a row",
                        ));
                    }
                }
                Role::Key => {
                    let word = fields.word();
                    if word.is_empty() {
                        return Err(Bad::field("key", word, "a name or a number"));
                    }
                    row.key = match number(word) {
                        Some(number) if !step.joined => number,
                        _ if step.joined => {
                            hashed += 1;
                            hash_name(word.iter().copied())
                                ^ row.key.rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        }
                        _ => {
                            hashed += 1;
                            hash_name(word.iter().copied())
                        }
                    };
                }
                Role::Device => {
                    let word = fields.word();
                    let device = number(word).and_then(|number| u32::try_from(number).ok());
                    row.device = match (device, &mut self.devices) {
                        // Linux' major and minor numbers.
                        (Some(part), _) if step.joined => row.device << 20 | part,
                        (None, _) if step.joined => {
                            return Err(Bad::field("device", word, "a whole number below 2^32"));
                        }
                        (Some(device), None) => device,
                        (_, devices) => {
                            let devices = devices.get_or_insert_default();
                            let count = u32::try_from(devices.len()).unwrap_or(u32::MAX);
                            *devices.entry(word.to_owned()).or_insert(count)
                        }
                    };
                }
            }
        }
        if !has_size {
            row.size = about.columns.unit(Role::Offset).unwrap_or(1);
        }
        if let Some((least, most)) = about.widths {
            while !fields.is_done() {
                fields.word();
                next += 1;
            }
            if next < least || next > most {
                let expected = match most {
                    usize::MAX => format!("at least {least} columns"),
                    most if most == least => format!("{least} columns"),
                    most => format!("{least} to {most} columns"),
                };
                return Err(Bad::named("columns", next.to_string().as_bytes(), expected));
            }
        }
        if about.completed {
            let latency = row.latency.unwrap_or(Ns::ZERO).0;
            row.time = row.time.saturating_sub(latency);
        }
        self.hashed += hashed;
        Ok(Read::Row(row))
    }
}

/// What a line is.
pub(in crate::formats) enum Read {
    Row(Row),
    /// A comment or the header.
    NoRow,
    /// An operation that moves no data.
    Other,
}

/// A whole number as it is written: without leading zeros, so that 7 and 007 remain two names.
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
fn scaled(number: u64, unit: u64, field: &'static str) -> Result<u64, Bad> {
    number
        .checked_mul(unit)
        .ok_or_else(|| Bad::field(field, number.to_string().as_bytes(), "less than 2^64 bytes"))
}

#[cold]
fn too_late(line: &[u8]) -> Bad {
    Bad::field("time", line, "a time below 584 years")
}

#[cold]
fn unknown_op(about: &Delimited, word: &[u8]) -> Bad {
    let mut words: Vec<&str> = about.words.iter().map(|(word, _)| word.as_str()).collect();
    words.truncate(8);
    let more = if about.words.len() > words.len() { ", ..." } else { "" };
    Bad::named("op", word, format!("one of {}{more}", words.join(", ")))
}

fn names_of(part: &[At]) -> String {
    let names = part.iter().map(|at| match at {
        At::Number(number) => (number + 1).to_string(),
        At::Name(name) => format!("`{name}`"),
    });
    names.collect::<Vec<_>>().join(" or ")
}

impl Lines for DelimitedLines {
    fn blank(&mut self) {
        self.pass();
    }

    #[inline]
    fn line(&mut self, line: &[u8], intake: &mut Intake) -> Result<(), Bad> {
        match self.row(line)? {
            Read::NoRow => {}
            Read::Other => intake.other(),
            Read::Row(row) => row.hand_out(intake)?,
        }
        Ok(())
    }
}
