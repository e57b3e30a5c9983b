//! The summary of a sequence of records, and joining the summaries of two consecutive sequences.

use crate::Benchmark;
use crate::blocks::{PIECE, RECORD};
use crate::checksum::checksum;
use crate::format::RecordFormat;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::cmp::Ordering;

/// Bytes of a summary in a file.
pub(super) const BYTES: usize = 5 * 16 + 2 * RECORD;

/// The summary of a sequence of records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Validated {
    /// Number of records.
    pub records: u64,
    /// The sum of the CRC-32 of each record.
    #[serde(serialize_with = "hex")]
    #[schemars(with = "String")]
    pub checksum: u128,
    /// Number of records whose key equals that of the previous record.
    pub duplicates: u64,
    /// Number of records whose key is less than that of the previous record.
    pub unordered: u64,
    /// Index of the first record out of order, counted from 0; `None` if all are in order.
    pub first_disorder: Option<u64>,
    /// The first record.
    #[serde(skip)]
    pub first: [u8; RECORD],
    /// The last record.
    #[serde(skip)]
    pub last: [u8; RECORD],
}

impl Validated {
    /// The summary of these records; `None` if there are none.
    pub(super) fn of(records: &[[u8; RECORD]]) -> Option<Self> {
        let (first, last) = (records.first()?, records.last()?);
        let mut found = Self {
            records: records.len() as u64,
            checksum: 0,
            duplicates: 0,
            unordered: 0,
            first_disorder: None,
            first: *first,
            last: *last,
        };
        let mut before = Benchmark.prefix(first);
        let mut at = 0;
        for piece in records.chunks(PIECE / RECORD) {
            found.checksum += checksum(piece);
            for record in piece {
                let key = Benchmark.prefix(record);
                found.step(before.cmp(&key), at);
                before = key;
                at += 1;
            }
        }
        // The first record was compared with itself.
        found.duplicates -= 1;
        Some(found)
    }

    /// Appends the summary of the records that follow.
    pub(super) fn join(&mut self, next: &Self) {
        self.step(Benchmark.compare(&self.last, &next.first), self.records);
        let inside = next.first_disorder.map(|at| self.records + at);
        self.first_disorder = self.first_disorder.or(inside);
        self.records += next.records;
        self.checksum = self.checksum.wrapping_add(next.checksum);
        self.duplicates += next.duplicates;
        self.unordered += next.unordered;
        self.last = next.last;
    }

    /// The joined summary of all parts, in order; `None` if there are none.
    #[must_use]
    pub fn whole(parts: &[Self]) -> Option<Self> {
        let (first, rest) = parts.split_first()?;
        let mut whole = first.clone();
        rest.iter().for_each(|part| whole.join(part));
        Some(whole)
    }

    /// Counts the comparison of the previous record with record `at`.
    fn step(&mut self, before: Ordering, at: u64) {
        match before {
            Ordering::Less => {}
            Ordering::Equal => self.duplicates += 1,
            Ordering::Greater => {
                self.unordered += 1;
                self.first_disorder = self.first_disorder.or(Some(at));
            }
        }
    }

    /// The format of valsort's summaries of partitions: five 128-bit numbers, each with its high
    /// half first, and each half little-endian; then the first and the last record.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers =
            [self.first_disorder.unwrap_or(0), self.unordered, self.records, self.duplicates];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(|n| wide(n.into())).collect();
        bytes.extend(wide(self.checksum));
        bytes.extend(self.first);
        bytes.extend(self.last);
        bytes
    }

    /// Decodes a summary; `None` if the bytes cannot be one.
    pub(super) fn from_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let (numbers, records) = bytes.split_at(5 * 16);
        let (numbers, _) = numbers.as_chunks::<16>();
        let number = |at: usize| u64::try_from(narrow(&numbers[at])).ok();
        let (disorder, unordered) = (number(0)?, number(1)?);
        let (count, duplicates) = (number(2)?, number(3)?);
        let (records, _) = records.as_chunks::<RECORD>();
        // Each record except the first is at most one of these, and the first disorder is one of
        // them.
        let others = count.checked_sub(1)?;
        let fits = unordered.checked_add(duplicates)? <= others && disorder <= others;
        (fits && (disorder == 0) == (unordered == 0)).then_some(Self {
            records: count,
            checksum: narrow(&numbers[4]),
            duplicates,
            unordered,
            first_disorder: (disorder != 0).then_some(disorder),
            first: records[0],
            last: records[1],
        })
    }
}

/// The high half, then the low half.
fn wide(number: u128) -> [u8; 16] {
    number.rotate_right(64).to_le_bytes()
}

fn narrow(bytes: &[u8; 16]) -> u128 {
    u128::from_le_bytes(*bytes).rotate_right(64)
}

fn hex<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:x}"))
}
