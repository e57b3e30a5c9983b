//! Text with columns, described by data: the content and the unit of each column, the separator,
//! and the meaning of the words for operations.
//!
//! A description is one of the built-in files in `crates/trace/formats`, or comes from a user
//! ([`ColumnMap::parse`]). The same reader serves both, for blocks and for objects.

mod built_in;
mod read;

pub use built_in::DescribedFormat;
pub(super) use read::{DelimitedLines, ParsedLine};

use super::error::FormatError;
use super::fields::Notation;
use super::rwbs;
use gordon_blockio::IoOp;
use gordon_units::{Bytes, Ns};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ColumnRole {
    Time,
    Op,
    Offset,
    Size,
    Key,
    Device,
    Latency,
    /// Number of requests that the row stands for.
    Repeat,
}

impl ColumnRole {
    const NAMES: [(&'static str, Self); 9] = [
        ("time", Self::Time),
        ("op", Self::Op),
        ("offset", Self::Offset),
        ("lba", Self::Offset),
        ("size", Self::Size),
        ("key", Self::Key),
        ("device", Self::Device),
        ("latency", Self::Latency),
        ("repeat", Self::Repeat),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Op => "op",
            Self::Offset => "offset",
            Self::Size => "size",
            Self::Key => "key",
            Self::Device => "device",
            Self::Latency => "latency",
            Self::Repeat => "repeat",
        }
    }
}

/// Reference to a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ColumnRef {
    /// By number, from 0.
    Number(usize),
    /// By its name in the header.
    Name(String),
}

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MappedColumn {
    role: ColumnRole,
    /// The parts of the value, which are added (size) or identify together (key, device). A part
    /// lists alternative names; the first one in the header is used.
    parts: Vec<Vec<ColumnRef>>,
    /// Nanoseconds for a time, bytes for an offset or a size.
    unit: u64,
    /// Whether the header may lack the column.
    optional: bool,
}

/// The columns that are read, and the content of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    columns: Vec<MappedColumn>,
    text: String,
}

impl ColumnMap {
    /// Parses `NAME=COLUMN[:UNIT],...`. NAME is time, op, offset or lba, size, key, device, latency
    /// or repeat. COLUMN is a number from 1, or a name in the header. UNIT is s, ms, us or ns for a
    /// time, and B, 512B or 4KiB for an offset or a size. Without a unit, a time is in seconds, an
    /// lba in blocks of 512 bytes, and an offset or a size in bytes. `3+4` adds sizes, or joins the
    /// parts of a key or a device. `a|b` is the first of the names that the header has. `a?` may be
    /// missing.
    ///
    /// # Errors
    /// When the text does not have this form, or names neither an offset nor a key.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let wrong = |why: String| {
            let example = "time=1:s,op=2,lba=3:4KiB,size=4:B";
            FormatError::Option(format!("columns `{text}`: {why}\n  try: \"{example}\""))
        };
        let mut columns: Vec<MappedColumn> = Vec::new();
        for item in text.split(',') {
            let Some((name, place)) = item.split_once('=') else {
                return Err(wrong(format!("`{}` is not NAME=COLUMN", item.trim())));
            };
            let (name, place) = (name.trim(), place.trim());
            let Some(&(_, role)) = ColumnRole::NAMES.iter().find(|(known, _)| *known == name)
            else {
                let names = ColumnRole::NAMES.map(|(name, _)| name).join(", ");
                return Err(wrong(format!("`{name}` is not one of {names}")));
            };
            if columns.iter().any(|column| column.role == role) {
                return Err(wrong(format!("{} is named twice", role.name())));
            }
            // A name may contain a colon, so the text after the last one is a unit only if it can
            // be parsed as one.
            let (place, unit) = match place.rsplit_once(':') {
                Some((place, unit)) => match unit_of(role, unit.trim()) {
                    Some(unit) => (place.trim(), unit),
                    None if matches!(
                        role,
                        ColumnRole::Op | ColumnRole::Key | ColumnRole::Device | ColumnRole::Repeat
                    ) =>
                    {
                        return Err(wrong(format!("{name} has no unit")));
                    }
                    None => return Err(wrong(format!("`{unit}` is not a unit of {name}"))),
                },
                None if name == "lba" => (place, 512),
                None if matches!(role, ColumnRole::Time | ColumnRole::Latency) => {
                    (place, Ns::SECOND.0)
                }
                None => (place, 1),
            };
            let (place, optional) = match place.strip_suffix('?') {
                Some(place) => (place, true),
                None => (place, false),
            };
            let parts = place.split('+').map(|part| part.split('|').map(at).collect());
            let parts: Option<Vec<Vec<ColumnRef>>> = parts.collect();
            let parts = parts.ok_or_else(|| {
                wrong(format!(
                    "`{place}` is not a column: a number from 1, or a name in the header"
                ))
            })?;
            if parts.len() > 1
                && !matches!(role, ColumnRole::Size | ColumnRole::Key | ColumnRole::Device)
            {
                return Err(wrong(format!("{name} is in one column")));
            }
            columns.push(MappedColumn { role, parts, unit, optional });
        }
        let numbers = columns.iter().flat_map(|c| c.parts.iter().flatten());
        let mut numbers: Vec<usize> = numbers
            .filter_map(|at| match at {
                ColumnRef::Number(number) => Some(*number),
                ColumnRef::Name(_) => None,
            })
            .collect();
        numbers.sort_unstable();
        if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong(format!("column {} is named twice", twice[0] + 1)));
        }
        let columns = Self { columns, text: text.to_owned() };
        let has = |role| columns.find(role).is_some();
        match (has(ColumnRole::Offset), has(ColumnRole::Key)) {
            (true, true) => {
                let why = "a trace has blocks (offset or lba) or objects (key), not both";
                return Err(wrong(why.to_owned()));
            }
            (false, false) => {
                let why =
                    "the column of the offset (of blocks) or of the key (of objects) is missing";
                return Err(wrong(why.to_owned()));
            }
            (true, false)
                if !has(ColumnRole::Size) && columns.unit(ColumnRole::Offset) < Some(512) =>
            {
                let why = "the column of the size is missing (blocks of one size are `lba=1:4KiB`)";
                return Err(wrong(why.to_owned()));
            }
            (false, true) if has(ColumnRole::Device) => {
                let why = "objects have no device; `key=2+5` makes a key of two columns";
                return Err(wrong(why.to_owned()));
            }
            _ => {}
        }
        Ok(columns)
    }

    fn find(&self, role: ColumnRole) -> Option<&MappedColumn> {
        self.columns.iter().find(|column| column.role == role)
    }

    /// The unit of the column of `role`, if any.
    pub(super) fn unit(&self, role: ColumnRole) -> Option<u64> {
        self.find(role).map(|column| column.unit)
    }

    /// The unit of sizes; that of addresses if there is no column of sizes.
    pub(super) fn size_unit(&self) -> Option<u64> {
        self.unit(ColumnRole::Size).or(self.unit(ColumnRole::Offset))
    }

    /// Whether the first column is a key, which may be any text.
    fn starts_with_key(&self) -> bool {
        let key = self.find(ColumnRole::Key).map(|column| &column.parts);
        key.is_some_and(|parts| parts.iter().flatten().any(|at| *at == ColumnRef::Number(0)))
    }

    /// The minimum number of columns of a line.
    fn least(&self) -> usize {
        let columns = self.columns.iter().filter(|column| !column.optional);
        let least = columns.flat_map(|column| &column.parts).map(|part| match part.first() {
            Some(ColumnRef::Number(number)) => (number + 1, 0),
            _ => (0, 1),
        });
        let (last, named) =
            least.fold((0, 0), |(last, named), (at, name)| (last.max(at), named + name));
        last.max(named)
    }

    /// Whether the header is needed to find the columns.
    fn by_name(&self) -> bool {
        let mut parts = self.columns.iter().flat_map(|c| c.parts.iter().flatten());
        parts.any(|at| matches!(at, ColumnRef::Name(_)))
    }

    /// Whether the requests are for objects.
    pub(super) fn is_objects(&self) -> bool {
        self.find(ColumnRole::Key).is_some()
    }
}

impl fmt::Display for ColumnMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn at(text: &str) -> Option<ColumnRef> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let number: usize = text.parse().ok()?;
        return number.checked_sub(1).filter(|&at| at < 1 << 12).map(ColumnRef::Number);
    }
    Some(ColumnRef::Name(text.to_owned()))
}

/// Parses `4KiB` for a size, `ms` or `100ns` for a time.
fn unit_of(role: ColumnRole, text: &str) -> Option<u64> {
    match role {
        ColumnRole::Time | ColumnRole::Latency => {
            let one = if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "1" };
            let unit = Ns::from_str(&format!("{one}{text}")).ok()?;
            (Ns::ZERO < unit && unit <= Ns::SECOND).then_some(unit.0)
        }
        ColumnRole::Offset | ColumnRole::Size => {
            let one = if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "1" };
            let unit = Bytes::from_str(&format!("{one}{text}")).ok()?;
            (0 < unit.0 && unit.0 <= 1 << 30).then_some(unit.0)
        }
        _ => None,
    }
}

/// Separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// A comma.
    Comma,
    /// Any number of blanks or tabs.
    Blank,
    /// One tab.
    Tab,
    /// A semicolon.
    Semicolon,
    /// A vertical bar.
    Bar,
}

impl FromStr for Separator {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text {
            "," | "comma" => Ok(Self::Comma),
            " " | "blank" | "space" => Ok(Self::Blank),
            "\t" | "\\t" | "tab" => Ok(Self::Tab),
            ";" | "semicolon" => Ok(Self::Semicolon),
            "|" | "bar" => Ok(Self::Bar),
            _ => Err(FormatError::Option(format!(
                "unknown separator `{text}`\n  try: comma, blank, tab, semicolon or bar"
            ))),
        }
    }
}

impl Separator {
    /// Chooses the separator from the first line: the first of comma, tab, semicolon, bar and
    /// blanks that gives enough columns, otherwise the first that occurs.
    fn of(line: &[u8], columns: usize) -> Self {
        let marks =
            [(b',', Self::Comma), (b'\t', Self::Tab), (b';', Self::Semicolon), (b'|', Self::Bar)];
        let present = marks.into_iter().filter(|(byte, _)| line.contains(byte));
        let present: Vec<Self> =
            present.map(|(_, separator)| separator).chain([Self::Blank]).collect();
        let enough = present.iter().find(|separator| separator.split(line).len() >= columns);
        *enough.unwrap_or(&present[0])
    }
}

/// Meaning of a word for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpMeaning {
    Op(IoOp),
    /// The operation moves no data. It is counted and left out.
    Other,
}

const READ: OpMeaning = OpMeaning::Op(IoOp::Read);
const WRITE: OpMeaning = OpMeaning::Op(IoOp::Write);
const DISCARD: OpMeaning = OpMeaning::Op(IoOp::Discard);

/// Words that mean the same in nearly every trace, in upper or lower case.
const WORDS: [(&str, OpMeaning); 23] = [
    ("R", READ),
    ("W", WRITE),
    ("read", READ),
    ("write", WRITE),
    ("get", READ),
    ("gets", READ),
    ("set", WRITE),
    ("put", WRITE),
    ("add", WRITE),
    ("replace", WRITE),
    ("cas", WRITE),
    ("append", WRITE),
    ("prepend", WRITE),
    ("incr", WRITE),
    ("decr", WRITE),
    ("RS", READ),
    ("WS", WRITE),
    ("D", DISCARD),
    ("discard", DISCARD),
    ("trim", DISCARD),
    ("flush", OpMeaning::Op(IoOp::Flush)),
    ("delete", OpMeaning::Other),
    ("head", OpMeaning::Other),
];

/// Meaning of numbers in MIDAS, Tencent and most others. MQSim and DiskSim mean the opposite, so
/// the description of the input states which is used.
const NUMBERS: [(&str, OpMeaning); 3] = [("0", READ), ("1", WRITE), ("3", DISCARD)];

/// Meaning of the letters that blkparse prints for RWBS (`%d` of its `-f`): an optional flush, the
/// operation, and flags in the order of the kernel's `blk_fill_rwbs`.
fn of_rwbs(word: &[u8]) -> Option<OpMeaning> {
    let rest = word.strip_prefix(b"F").unwrap_or(word);
    let (_, mut rest) = rest.split_first().filter(|(op, _)| b"RWDFN".contains(op))?;
    for mark in [b"F", b"A", b"S", b"M", b"U"] {
        rest = rest.strip_prefix(mark).unwrap_or(rest);
    }
    let known = rest.is_empty();
    known.then(|| rwbs::op(word).map_or(OpMeaning::Other, OpMeaning::Op))
}

/// A text format with columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelimitedFormat {
    /// The columns that are read.
    pub columns: ColumnMap,
    /// The separator; `None` to choose it from the first line.
    pub separator: Option<Separator>,
    /// Number of lines to skip at the start.
    pub skip_lines: u64,
    /// Prefix of comments.
    pub comment: Option<String>,
    /// Minimum and maximum number of columns of a line.
    pub(super) widths: Option<(usize, usize)>,
    /// The one column of the header whose values may contain blanks.
    pub(super) ragged: Option<String>,
    /// Times are those of completion, and the latency is subtracted.
    pub(super) completed: bool,
    /// Times have no decimals in the unit of the format.
    pub(super) whole_times: bool,
    /// Notation of addresses and sizes.
    pub(super) notation: Notation,
    /// Devices are numbers, never names.
    pub(super) numbered_devices: bool,
    /// The operation is a hexadecimal number of flags; this flag marks a read.
    pub(super) read_flag: Option<u32>,
    /// The words for operations, with their meanings.
    pub(super) words: Vec<(String, OpMeaning)>,
    /// Letters in the notation of blkparse are accepted for operations as well.
    pub(super) takes_rwbs: bool,
}

/// The words for operations in a user's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpWords {
    /// Words for reads.
    pub reads: Vec<String>,
    /// Words for writes.
    pub writes: Vec<String>,
    /// Words for discards.
    pub trims: Vec<String>,
}

impl DelimitedFormat {
    /// A user's description, with `columns` as in [`ColumnMap::parse`]. Words for operations that
    /// the user names replace the built-in words of the same operation, and all numbers. Comments
    /// start with `#`.
    ///
    /// # Errors
    /// When the columns are malformed, or a word has two meanings.
    pub fn from_options(
        columns: &str,
        separator: Option<Separator>,
        skip_lines: u64,
        words: &OpWords,
    ) -> Result<Self, FormatError> {
        let columns = ColumnMap::parse(columns)?;
        let named = [(&words.reads, READ), (&words.writes, WRITE), (&words.trims, DISCARD)];
        let given = named.iter().any(|(words, _)| !words.is_empty());
        if given && columns.find(ColumnRole::Op).is_none() {
            let why = "--reads, --writes and --trims need a column of the operation\n  try: \
                       op=COLUMN among the columns";
            return Err(FormatError::Option(why.to_owned()));
        }
        let mut all: Vec<(String, OpMeaning)> = Vec::new();
        for (words, meaning) in named {
            for word in words {
                if all.iter().any(|(known, other)| known == word && *other != meaning) {
                    let why = format!(
                        "the operation `{word}` is named for two of reads, writes and trims"
                    );
                    return Err(FormatError::Option(format!("{why}\n  try: name it once")));
                }
                all.push((word.clone(), meaning));
            }
        }
        for (word, meaning) in WORDS {
            let named = named.iter().any(|(words, m)| *m == meaning && !words.is_empty());
            if !named && !all.iter().any(|(known, _)| known.eq_ignore_ascii_case(word)) {
                all.push((word.to_owned(), meaning));
            }
        }
        if !given {
            all.extend(NUMBERS.map(|(word, meaning)| (word.to_owned(), meaning)));
        }
        Ok(Self {
            columns,
            separator,
            skip_lines,
            comment: Some("#".to_owned()),
            widths: None,
            ragged: None,
            completed: false,
            whole_times: false,
            notation: Notation::Any,
            numbered_devices: false,
            read_flag: None,
            words: all,
            takes_rwbs: !given,
        })
    }

    /// The meaning of a word for an operation.
    #[inline]
    fn meaning(&self, word: &[u8]) -> Option<OpMeaning> {
        let found =
            self.words.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(word));
        match found {
            Some((_, meaning)) => Some(*meaning),
            None if self.takes_rwbs => of_rwbs(word),
            None => None,
        }
    }

    /// The numeric words for operations with their meanings, for the description of the input.
    pub(super) fn numbers(&self) -> Option<String> {
        self.columns.find(ColumnRole::Op)?;
        let shown = self.words.iter().filter(|(word, _)| word.parse::<u64>().is_ok());
        let shown: Vec<String> = shown
            .map(|(word, meaning)| match meaning {
                OpMeaning::Op(op) => format!("{word} {}", op.name()),
                OpMeaning::Other => format!("{word} left out"),
            })
            .collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

/// The content of a description file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescriptionFile {
    /// Name for `--format`; that of the file.
    name: String,
    /// One line for `gordon trace formats`.
    about: String,
    /// Where the format is defined.
    source: String,
    /// Files or tools with which the reader was tested, or that there were none.
    tested_on: String,
    /// Columns and units, in the notation of `--columns`.
    columns: String,
    /// Separator, by the names of `--separator`. Default: chosen from the first line.
    separator: Option<String>,
    /// Prefix of comment lines. Default: `#`.
    comment: Option<String>,
    /// Minimum and maximum number of columns of a line. Default: any that has the read ones.
    widths: Option<(usize, usize)>,
    /// The one column of the header whose values may contain blanks.
    ragged: Option<String>,
    /// Times are those of completion: the latency is subtracted.
    #[serde(default)]
    completed: bool,
    /// Operations may be the letters of blkparse, such as `RA` or `WFS`.
    #[serde(default)]
    rwbs: bool,
    /// Times have no decimals. With them a line is malformed, unless the user gives a time unit.
    #[serde(default)]
    whole_times: bool,
    /// Devices are numbers. A line with another name is malformed.
    #[serde(default)]
    numbered_devices: bool,
    /// The operation is a hexadecimal number of flags, and this flag marks a read.
    read_flag: Option<u32>,
    /// Words for reads. Without words for any operation, those of `--columns` apply.
    #[serde(default)]
    reads: Vec<String>,
    /// Words for writes.
    #[serde(default)]
    writes: Vec<String>,
    /// Words for discards.
    #[serde(default)]
    trims: Vec<String>,
    /// Words for operations whose lines are left out.
    #[serde(default)]
    others: Vec<String>,
    /// Times have decimals, which distinguishes the format from those of whole numbers.
    #[serde(default)]
    decimal_times: bool,
    /// How strongly the content of a file indicates the format. Default: `distinct`.
    #[serde(default)]
    detect: DetectMode,
    /// Limits beyond which the values of a trace are implausible, and it is refused.
    #[serde(default)]
    plausible: PlausibleLimits,
    /// Whether the reader has been tested with a real file, or with output of the format's own
    /// tool.
    #[serde(default)]
    proven: bool,
}

/// Limits beyond which the values of a trace are implausible.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::formats) struct PlausibleLimits {
    /// Number of devices, if there are fewer than twice as many requests.
    pub devices: Option<usize>,
    /// Minimum of the mean interval between requests.
    pub least_interval: Option<Ns>,
    /// Times are those since 1970, of this century.
    #[serde(default)]
    pub since_1970: bool,
}

/// How strongly the content of a file indicates the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::formats) enum DetectMode {
    /// The words or the header are unique to the format.
    #[default]
    Distinct,
    /// Only numbers, which fit other formats as well. Chosen only if nothing else fits.
    Numbers,
    /// Like [`Numbers`](Self::Numbers), but names may be text.
    Generic,
    /// Never detected, but listed as a candidate.
    Never,
}

impl DescriptionFile {
    fn delimited(&self) -> Result<DelimitedFormat, FormatError> {
        let named = [
            (&self.reads, READ),
            (&self.writes, WRITE),
            (&self.trims, DISCARD),
            (&self.others, OpMeaning::Other),
        ];
        let words =
            named.iter().flat_map(|(words, meaning)| words.iter().map(|w| (w.clone(), *meaning)));
        let mut words: Vec<_> = words.collect();
        if words.is_empty() {
            words = WORDS.map(|(word, meaning)| (word.to_owned(), meaning)).to_vec();
        }
        Ok(DelimitedFormat {
            columns: ColumnMap::parse(&self.columns)?,
            separator: self.separator.as_deref().map(str::parse).transpose()?,
            skip_lines: 0,
            comment: Some(self.comment.clone().unwrap_or_else(|| "#".to_owned())),
            widths: self.widths,
            ragged: self.ragged.clone(),
            completed: self.completed,
            whole_times: self.whole_times,
            // Accepting any notation would make the format fit too many files.
            notation: Notation::Decimal,
            numbered_devices: self.numbered_devices,
            read_flag: self.read_flag,
            words,
            takes_rwbs: self.rwbs,
        })
    }
}
