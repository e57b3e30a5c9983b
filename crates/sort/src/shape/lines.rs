//! Lines of text, in the order of GNU `sort` in the C locale.

mod decimal;
mod fields;
mod float;
mod text;
mod version;

use super::{Depth, PREFIX_BYTES, PREFIX_MASK, Rest, Shape};
use decimal::Decimal;
pub use fields::{End, Start};
use fields::{part, skip_blanks};
use std::borrow::Cow;
use std::cmp::Ordering;
pub use text::{Ignore, Translation};

/// What a key is compared as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Bytes.
    #[default]
    Text,
    /// Decimal numbers of any length.
    Decimal,
    /// The same with letters of units.
    Human,
    /// What C reads as a number.
    Float,
    /// Names of months.
    Month,
    /// Versions.
    Version,
}

/// A key of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub start: Start,
    /// The line's end where there is none.
    pub end: Option<End>,
    pub order: Order,
    pub translation: Translation,
    pub reverse: bool,
}

impl Key {
    /// The whole line, as it is.
    pub const LINE: Self = Self {
        start: Start { fields: 0, bytes: 0, skip: false },
        end: None,
        order: Order::Text,
        translation: Translation { ignore: Ignore::Nothing, fold: false },
        reverse: false,
    };

    /// Texts as the order of versions sees them: only where they are changed are they copied.
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
            Order::Text => self.translation.compare(a, b),
            Order::Decimal => Decimal::read(a).compare(&Decimal::read(b)),
            Order::Human => {
                let (a, b) = (Decimal::read(a), Decimal::read(b));
                a.unit(fold).cmp(&b.unit(fold)).then_with(|| a.compare(&b))
            }
            Order::Float => float::order(a).cmp(&float::order(b)),
            Order::Month => month(a).cmp(&month(b)),
            Order::Version => version::compare(&self.changed(a), &self.changed(b)),
        };
        if self.reverse { order.reverse() } else { order }
    }

    /// Part number `part` of the key in the order that [`Key::compare`] has.
    #[inline]
    fn prefix(&self, text: &[u8], part: u32) -> u128 {
        let prefix = match self.order {
            Order::Text => self.translation.prefix(text, part),
            Order::Decimal => Decimal::read(text).plain(),
            Order::Human => {
                let number = Decimal::read(text);
                number.human(number.unit(self.translation.fold))
            }
            Order::Float => float::order(text),
            Order::Month => month(text).into(),
            Order::Version => version::prefix(&self.changed(text)),
        };
        if self.reverse { PREFIX_MASK - prefix } else { prefix }
    }

    /// What follows a part of the key: the next, or what is said here.
    fn after(&self, prefix: u128) -> After {
        let prefix = if self.reverse { PREFIX_MASK - prefix } else { prefix };
        match self.order {
            Order::Text if !Translation::is_all(prefix) => After::Part,
            Order::Text | Order::Float | Order::Month => After::Key,
            Order::Decimal | Order::Human if Decimal::is_all(prefix) => After::Key,
            Order::Decimal | Order::Human | Order::Version => After::Unknown,
        }
    }
}

/// What follows a part of a key.
enum After {
    /// Another.
    Part,
    /// The next key.
    Key,
    /// Something that has no parts.
    Unknown,
}

/// The month whose name a text starts with, from 1 on; 0 where there is none.
fn month(text: &[u8]) -> u8 {
    const NAMES: &[u8; 36] = b"JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    let Some(name) = skip_blanks(text).first_chunk::<3>() else { return 0 };
    let names = NAMES.as_chunks::<3>().0;
    let found = names.iter().zip(1..).find(|(month, _)| month.eq_ignore_ascii_case(name));
    found.map_or(0, |(_, number)| number)
}

/// Lines, and their order.
#[derive(Clone, Debug)]
pub struct Lines {
    keys: Vec<Key>,
    /// What stands between fields; blanks where there is none.
    separator: Option<u8>,
    /// What ends a line.
    end: u8,
}

impl Lines {
    /// Lines that end in `end`, in the order of these keys, the first one first.
    ///
    /// # Panics
    ///
    /// Without a key.
    pub(super) fn new(keys: Vec<Key>, separator: Option<u8>, end: u8) -> Self {
        assert!(!keys.is_empty(), "lines have a key");
        Self { keys, separator, end }
    }

    fn line<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.strip_suffix(&[self.end]).unwrap_or(record)
    }

    #[inline]
    fn text<'a>(&self, key: &Key, record: &'a [u8]) -> &'a [u8] {
        part(self.line(record), self.separator, key.start, key.end)
    }
}

impl Shape for Lines {
    #[inline]
    fn end(&self, bytes: &[u8], start: usize) -> usize {
        let rest = &bytes[start..];
        start + memchr::memchr(self.end, rest).map_or(rest.len(), |at| at + 1)
    }

    fn whole(&self, bytes: &[u8]) -> usize {
        memchr::memrchr(self.end, bytes).map_or(0, |at| at + 1)
    }

    fn separator(&self) -> Option<u8> {
        Some(self.end)
    }

    #[inline]
    fn prefix(&self, record: &[u8]) -> u128 {
        self.prefix_at(record, Depth::default())
    }

    fn is_whole(&self) -> bool {
        matches!(&self.keys[..], [Key { order: Order::Float | Order::Month, .. }])
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
    fn prefix_at(&self, record: &[u8], depth: Depth) -> u128 {
        let key = &self.keys[depth.key as usize];
        key.prefix(self.text(key, record), depth.part)
    }

    fn rest(&self, prefix: u128, depth: Depth) -> Rest {
        let key = depth.key as usize;
        match self.keys[key].after(prefix) {
            After::Part => Rest::At(Depth { part: depth.part + 1, ..depth }),
            After::Key if key + 1 == self.keys.len() => Rest::Nothing,
            After::Key => Rest::At(Depth { key: depth.key + 1, part: 0 }),
            After::Unknown => Rest::Compare,
        }
    }
}
