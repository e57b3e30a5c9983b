//! Lines of text, in the order of GNU `sort` in the C locale.

mod decimal;
mod fields;
mod float;
mod text;
mod version;

use super::{KeyOffset, PREFIX_BITS, PREFIX_BYTES, PREFIX_MASK, RecordFormat, Tiebreak};
use decimal::Decimal;
pub use fields::{KeyEnd, KeyStart};
use fields::{part, skip_blanks, within};
use std::borrow::Cow;
use std::cmp::Ordering;
use text::PART;
pub use text::{Ignore, Translation};

/// How a key is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyOrder {
    /// As bytes.
    #[default]
    Text,
    /// As decimal numbers of any length.
    Decimal,
    /// As decimal numbers with unit suffixes.
    Human,
    /// As floating-point numbers, parsed as C does.
    Float,
    /// As names of months.
    Month,
    /// As version numbers.
    Version,
}

/// A key of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineKey {
    pub start: KeyStart,
    /// The end of the line if `None`.
    pub end: Option<KeyEnd>,
    pub order: KeyOrder,
    pub translation: Translation,
    pub reverse: bool,
}

impl LineKey {
    /// The whole line, compared as bytes.
    pub const LINE: Self = Self {
        start: KeyStart { fields: 0, bytes: 0, skip: false },
        end: None,
        order: KeyOrder::Text,
        translation: Translation { ignore: Ignore::Nothing, fold: false },
        reverse: false,
    };

    /// Whether the key is the whole line and no bytes are ignored.
    fn is_line(&self) -> bool {
        let line = Self { reverse: self.reverse, ..Self::LINE };
        let fold = self.translation.fold;
        *self == Self { translation: Translation { fold, ..line.translation }, ..line }
    }

    /// Whether the key is compared as bytes and none are ignored.
    #[inline]
    fn is_plain(&self) -> bool {
        self.order == KeyOrder::Text && self.translation.ignore == Ignore::Nothing
    }

    /// The text as compared in version order; it is copied only if it changes.
    fn changed<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.translation.is_none() {
            Cow::Borrowed(text)
        } else {
            self.translation.of(text).collect()
        }
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let fold = self.translation.fold;
        let order = match self.order {
            KeyOrder::Text => self.translation.compare(a, b),
            KeyOrder::Decimal => Decimal::read(a).compare(&Decimal::read(b)),
            KeyOrder::Human => {
                let (a, b) = (Decimal::read(a), Decimal::read(b));
                a.unit(fold).cmp(&b.unit(fold)).then_with(|| a.compare(&b))
            }
            KeyOrder::Float => float::order(a).cmp(&float::order(b)),
            KeyOrder::Month => month(a).cmp(&month(b)),
            KeyOrder::Version => version::compare(&self.changed(a), &self.changed(b)),
        };
        if self.reverse { order.reverse() } else { order }
    }

    /// The prefix of the key from byte `from` of a text on, in the order of [`LineKey::compare`].
    /// From byte 0 on, the prefix skips the bytes that most keys share.
    #[inline]
    fn prefix(&self, text: &[u8], from: usize, shared: &[u8]) -> u128 {
        let prefix = match self.order {
            KeyOrder::Text if from == 0 && !shared.is_empty() => {
                self.translation.focused(text, shared)
            }
            KeyOrder::Text => self.translation.prefix(text, from),
            KeyOrder::Decimal => Decimal::read(text).plain(),
            KeyOrder::Human => {
                let number = Decimal::read(text);
                number.human(number.unit(self.translation.fold))
            }
            KeyOrder::Float => float::order(text),
            KeyOrder::Month => month(text).into(),
            KeyOrder::Version => version::prefix(&self.changed(text)),
        };
        if self.reverse { PREFIX_MASK - prefix } else { prefix }
    }

    /// What to compare after equal prefixes that start at byte `from`.
    fn after(&self, prefix: u128, from: usize, shared: &[u8]) -> After {
        let prefix = if self.reverse { PREFIX_MASK - prefix } else { prefix };
        match self.order {
            KeyOrder::Text if !Translation::is_all(prefix) => {
                let is_focused = from == 0 && !shared.is_empty();
                let skipped =
                    if is_focused && Translation::is_shared(prefix) { shared.len() } else { 0 };
                After::Part(from + skipped + PART)
            }
            KeyOrder::Text | KeyOrder::Float | KeyOrder::Month => After::Key,
            KeyOrder::Decimal | KeyOrder::Human if Decimal::is_all(prefix) => After::Key,
            KeyOrder::Decimal | KeyOrder::Human | KeyOrder::Version => After::Unknown,
        }
    }
}

/// What to compare after equal prefixes.
enum After {
    /// The same key, from this byte on.
    Part(usize),
    /// The next key.
    Key,
    /// The whole keys, since the rest has no prefix.
    Unknown,
}

/// The number of the month whose name the text starts with, from 1 on; 0 if there is none.
fn month(text: &[u8]) -> u8 {
    const NAMES: &[u8; 36] = b"JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    let Some(name) = skip_blanks(text).first_chunk::<3>() else { return 0 };
    let names = NAMES.as_chunks::<3>().0;
    let found = names.iter().zip(1..).find(|(month, _)| month.eq_ignore_ascii_case(name));
    found.map_or(0, |(_, number)| number)
}

/// Minimum number of shared bytes for which prefixes skip them.
const WORTH: usize = 3;

/// Number of sampled keys that suffice to find the bytes that most share.
const LOOKED_AT: usize = 1024;

/// Lines, and their order.
#[derive(Clone, Debug)]
pub struct Lines {
    keys: Vec<LineKey>,
    /// The byte between fields; if `None`, fields are separated by blanks.
    separator: Option<u8>,
    /// The byte that ends a line.
    end: u8,
    /// The bytes with which the first keys of most lines start; empty if unknown.
    shared: Vec<u8>,
}

impl Lines {
    /// Lines that end in `end`, ordered by these keys, the first one first.
    ///
    /// # Panics
    /// Panics if there is no key.
    pub(super) fn new(keys: Vec<LineKey>, separator: Option<u8>, end: u8) -> Self {
        assert!(!keys.is_empty(), "lines have a key");
        Self { keys, separator, end, shared: vec![] }
    }

    fn line<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.strip_suffix(&[self.end]).unwrap_or(record)
    }

    /// The bytes that most keys share at this depth.
    #[inline]
    fn shared(&self, depth: KeyOffset) -> &[u8] {
        if depth.key == 0 { &self.shared } else { &[] }
    }

    #[inline]
    fn text<'a>(&self, key: &LineKey, record: &'a [u8]) -> &'a [u8] {
        part(self.line(record), self.separator, key.start, key.end)
    }
}

impl RecordFormat for Lines {
    #[inline]
    fn end(&self, bytes: &[u8], start: usize) -> usize {
        let rest = &bytes[start..];
        start + memchr::memchr(self.end, rest).map_or(rest.len(), |at| at + 1)
    }

    fn complete_len(&self, bytes: &[u8]) -> usize {
        memchr::memrchr(self.end, bytes).map_or(0, |at| at + 1)
    }

    fn separator(&self) -> Option<u8> {
        Some(self.end)
    }

    #[inline]
    fn prefix(&self, record: &[u8]) -> u128 {
        self.prefix_at(record, KeyOffset::default())
    }

    fn prefix_is_full_key(&self) -> bool {
        matches!(&self.keys[..], [LineKey { order: KeyOrder::Float | KeyOrder::Month, .. }])
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let mut orders =
            self.keys.iter().map(|key| key.compare(self.text(key, a), self.text(key, b)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn length(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn prefix_at(&self, record: &[u8], depth: KeyOffset) -> u128 {
        let key = &self.keys[depth.key as usize];
        if key.is_plain() && depth.at == 0 && self.shared(depth).is_empty() {
            let line = self.line(record);
            let text = within(line, self.separator, key.start, key.end);
            let prefix = key.translation.prefix_of(&record[text.start..], text.len());
            return if key.reverse { PREFIX_MASK - prefix } else { prefix };
        }
        // A line is shorter than 2^32 bytes.
        key.prefix(self.text(key, record), depth.at as usize, self.shared(depth))
    }

    #[inline]
    fn prefix_from(&self, bytes: &[u8], start: usize, depth: KeyOffset) -> u128 {
        let key = &self.keys[depth.key as usize];
        // The line is long enough to have been equal up to this byte, so its end need not be
        // searched.
        if depth.at > 0 && key.is_line() {
            let from = start + depth.at as usize;
            let prefix = key.translation.prefix_until(&bytes[from..], self.end);
            return if key.reverse { PREFIX_MASK - prefix } else { prefix };
        }
        self.prefix_at(&bytes[start..self.end(bytes, start)], depth)
    }

    fn tiebreak(&self, prefix: u128, depth: KeyOffset) -> Tiebreak {
        let key = depth.key as usize;
        match self.keys[key].after(prefix, depth.at as usize, self.shared(depth)) {
            After::Part(at) => u32::try_from(at)
                .map_or(Tiebreak::Compare, |at| Tiebreak::At(KeyOffset { at, ..depth })),
            After::Key if key + 1 == self.keys.len() => Tiebreak::Nothing,
            After::Key => Tiebreak::At(KeyOffset { key: depth.key + 1, at: 0 }),
            After::Unknown => Tiebreak::Compare,
        }
    }

    fn specialized(&self, sample: &[&[u8]]) -> Self {
        let key = &self.keys[0];
        let some = sample.iter().step_by(sample.len().div_ceil(LOOKED_AT).max(1));
        let mut shared = match key.order {
            KeyOrder::Text => key.translation.shared(some.map(|line| self.text(key, line))),
            _ => vec![],
        };
        if shared.len() < WORTH {
            shared.clear();
        }
        Self { shared, ..self.clone() }
    }
}
