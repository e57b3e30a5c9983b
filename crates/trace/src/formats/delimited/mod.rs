//! Text whose lines are columns, described by data: which column holds what, in which unit, how
//! columns are separated, what the words of the operation mean.
//!
//! A description is one of the files in `crates/trace/formats`, which are built in, or comes from a
//! user ([`ColumnMap::parse`]). One reader serves both, blocks and objects alike.

mod built_in;
mod read;

pub use built_in::DescribedFormat;
pub(super) use read::{DelimitedLines, ParsedLine};

use super::blkparse;
use super::error::FormatError;
use super::fields::Notation;
use crate::model::BlockOp;
use gordon_units::{Bytes, Ns};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ColumnRole {
    Time,
    Op,
    Offset,
    Size,
    Key,
    Device,
    Latency,
    /// How many requests the row stands for.
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

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ColumnRef {
    /// Counted from 0.
    Number(usize),
    /// By its name in the header.
    Name(String),
}

/// One column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MappedColumn {
    role: ColumnRole,
    /// Several are added up (size), or identify together (key, device); of each, the first name
    /// that the header has.
    parts: Vec<Vec<ColumnRef>>,
    /// Nanoseconds of a time, bytes of an offset or a size.
    unit: u64,
    /// The header may lack it.
    optional: bool,
}

/// The columns of a text format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    columns: Vec<MappedColumn>,
    text: String,
}

impl ColumnMap {
    /// Parses `NAME=COLUMN[:UNIT],...`: NAME is time, op, offset or lba, size, key, device, latency
    /// or repeat; COLUMN a number from 1 or a name in the header; UNIT s, ms, us, ns of a time, B,
    /// 512B, 4KiB of an offset or a size. Without a unit a time is in seconds, an lba in blocks of
    /// 512 bytes, an offset or a size in bytes. `3+4` adds up sizes, or joins the parts of a key or
    /// a device; `a|b` is the first of the names that the header has; `a?` may be absent.
    ///
    /// # Errors
    /// Where the text is not of this form, or names neither an offset nor a key.
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
            // A name may hold a colon: what follows the last one is a unit only where it reads as
            // one.
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

    /// The unit of the column of `role`, if there is one.
    pub(super) fn unit(&self, role: ColumnRole) -> Option<u64> {
        self.find(role).map(|column| column.unit)
    }

    /// The unit of the sizes: that of the addresses where there is no column of sizes.
    pub(super) fn size_unit(&self) -> Option<u64> {
        self.unit(ColumnRole::Size).or(self.unit(ColumnRole::Offset))
    }

    /// Whether the first column is a key, which may be any text.
    fn starts_with_key(&self) -> bool {
        let key = self.find(ColumnRole::Key).map(|column| &column.parts);
        key.is_some_and(|parts| parts.iter().flatten().any(|at| *at == ColumnRef::Number(0)))
    }

    /// Columns that a line has at least.
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

    /// Whether a header is needed to find the columns.
    fn by_name(&self) -> bool {
        let mut parts = self.columns.iter().flat_map(|c| c.parts.iter().flatten());
        parts.any(|at| matches!(at, ColumnRef::Name(_)))
    }

    /// Whether these are requests for objects.
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

/// `4KiB` of a size, `ms` or `100ns` of a time.
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

/// What stands between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// A comma.
    Comma,
    /// Blanks or tabs, any number of them.
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
    /// The one that a first line has: the first of comma, tab, semicolon, bar and blanks that makes
    /// as many columns of it as are needed, else the first that it has.
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

/// What a word of the operation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpMeaning {
    Op(BlockOp),
    /// It moves no data: counted, and left out.
    Other,
}

const READ: OpMeaning = OpMeaning::Op(BlockOp::Read);
const WRITE: OpMeaning = OpMeaning::Op(BlockOp::Write);
const DISCARD: OpMeaning = OpMeaning::Op(BlockOp::Discard);

/// Words in any case that mean the same in nearly every trace.
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
    ("flush", OpMeaning::Op(BlockOp::Flush)),
    ("delete", OpMeaning::Other),
    ("head", OpMeaning::Other),
];

/// Numbers: what MIDAS, Tencent and most others mean by them. MQSim and DiskSim mean the opposite,
/// so the input's description says which is used.
const NUMBERS: [(&str, OpMeaning); 3] = [("0", READ), ("1", WRITE), ("3", DISCARD)];

/// What the letters mean that blkparse prints as RWBS (`%d` of its `-f`): a flush before, the
/// operation, and marks in the order of the kernel's `blk_fill_rwbs`.
fn of_rwbs(word: &[u8]) -> Option<OpMeaning> {
    let rest = word.strip_prefix(b"F").unwrap_or(word);
    let (_, mut rest) = rest.split_first().filter(|(op, _)| b"RWDFN".contains(op))?;
    for mark in [b"F", b"A", b"S", b"M", b"U"] {
        rest = rest.strip_prefix(mark).unwrap_or(rest);
    }
    let known = rest.is_empty();
    known.then(|| blkparse::op(word).map_or(OpMeaning::Other, OpMeaning::Op))
}

/// A text format whose lines are columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelimitedFormat {
    /// Its columns.
    pub columns: ColumnMap,
    /// What is between them; without it the first line tells.
    pub separator: Option<Separator>,
    /// Lines to pass over at the start.
    pub skip_lines: u64,
    /// Lines that start with it are comments.
    pub comment: Option<String>,
    /// Columns that each line has: at least, at most.
    pub(super) widths: Option<(usize, usize)>,
    /// The name of the one column of the header whose values may hold blanks.
    pub(super) ragged: Option<String>,
    /// A time is that of the completion: the latency is subtracted.
    pub(super) completed: bool,
    /// Times have no decimals in the format's own unit.
    pub(super) whole_times: bool,
    /// How addresses and sizes are written.
    pub(super) notation: Notation,
    /// Devices have numbers, never names.
    pub(super) numbered_devices: bool,
    /// The operation is a hexadecimal number of flags, of which this one marks a read.
    pub(super) read_flag: Option<u32>,
    /// The words of the operation, and what each means.
    pub(super) words: Vec<(String, OpMeaning)>,
    /// Letters as blkparse prints them are words of the operation, too.
    pub(super) takes_rwbs: bool,
}

/// The words of the operation in a user's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpWords {
    /// Reads.
    pub reads: Vec<String>,
    /// Writes.
    pub writes: Vec<String>,
    /// Discards.
    pub trims: Vec<String>,
}

impl DelimitedFormat {
    /// A user's own: `columns` as [`ColumnMap::parse`] takes them. Words of the operation that the
    /// user names replace the known ones of their kind, and all numbers; comments start with `#`.
    ///
    /// # Errors
    /// Where the columns are malformed, or a word means two things.
    pub fn own(
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

    /// What a word of the operation means.
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

    /// Its words for numbers, as the description of the input shows them.
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

/// A description as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescriptionFile {
    name: String,
    about: String,
    source: String,
    tested_on: String,
    columns: String,
    separator: Option<String>,
    comment: Option<String>,
    widths: Option<(usize, usize)>,
    ragged: Option<String>,
    #[serde(default)]
    completed: bool,
    #[serde(default)]
    whole_times: bool,
    #[serde(default)]
    numbered_devices: bool,
    read_flag: Option<u32>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    #[serde(default)]
    trims: Vec<String>,
    #[serde(default)]
    others: Vec<String>,
    #[serde(default)]
    decimal_times: bool,
    #[serde(default)]
    detect: DetectMode,
    #[serde(default)]
    plausible: PlausibleLimits,
    /// Its reader has met a whole real file, or bytes of the format's own tool.
    #[serde(default)]
    proven: bool,
}

/// Beyond what the values of a trace are implausible.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::formats) struct PlausibleLimits {
    /// Devices, where there are fewer than twice as many requests.
    pub devices: Option<usize>,
    /// The mean interval of requests.
    pub least_interval: Option<Ns>,
}

/// How far the content of a file says that it is of a format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::formats) enum DetectMode {
    /// Its words or its header are its own.
    #[default]
    Distinct,
    /// It is numbers alone, which fit other formats too: chosen only where nothing else fits.
    Numbers,
    /// The same, but its names may be text.
    Generic,
    /// Chosen by name only; listed as a candidate.
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
            // What fits any number fits too many formats.
            notation: Notation::Decimal,
            numbered_devices: self.numbered_devices,
            read_flag: self.read_flag,
            words,
            takes_rwbs: false,
        })
    }
}
