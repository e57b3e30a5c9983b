//! The records of the benchmark: 100 bytes, of which the first 10 are the key.
//! docs/design/sort-data.md describes every byte.

use super::random::{after, next};
use crate::blocks::RECORD;

/// Number of key bytes that skew can replace.
const SKEWED: usize = 6;

/// Number of records whose random numbers are drawn at a time.
const DRAWN: usize = 512;

/// Number of parts of a binary record, of ten bytes each. Part n is made from the random number of
/// the nth record after this one.
const PARTS: usize = 10;

/// Masks for the exclusive or with each part, so that adjacent records share no bytes. Part and
/// mask are in the top 80 of 128 bits.
const MASKS: [u128; PARTS] = [
    0,
    0xF0E8_E4E2_E1D8_D4D2_D1CC << 48,
    0xCAC9_C6C5_C3B8_B4B2_B1AC << 48,
    0xAAA9_A6A5_A39C_9A99_9695 << 48,
    0x938E_8D8B_8778_7472_716C << 48,
    0x6A69_6665_635C_5A59_5655 << 48,
    0x534E_4D4B_473C_3A39_3635 << 48,
    0x332E_2D2B_271E_1D1B_170F << 48,
    0xC8C4_C2C1_9894_9291_8CE0 << 48,
    0x170F_332E_2D2B_271E_1D1B << 48,
];

/// Generates records of one kind.
#[derive(Debug)]
pub struct Records {
    ascii: bool,
    /// For skewed keys: the possible starts of keys, indexed by the bit length of the record's
    /// random number.
    skew: Option<Box<[[u8; SKEWED]; 129]>>,
}

impl Records {
    /// Generates printable or binary records, with uniform or skewed keys.
    #[must_use]
    pub fn new(ascii: bool, skewed: bool) -> Self {
        let skew = skewed.then(|| {
            // The starts of skewed keys are those of records 0 to 128.
            let mut number = 0;
            Box::new(std::array::from_fn(|_| {
                number = next(number);
                let key = if ascii { ascii_key(number) } else { binary_key(number) };
                std::array::from_fn(|at| key[at])
            }))
        });
        Self { ascii, skew }
    }

    /// Fills `into` with whole records, from number `first` on; bytes after the last whole record
    /// stay unchanged.
    pub fn fill(&self, first: u128, into: &mut [u8]) {
        let (records, _) = into.as_chunks_mut::<RECORD>();
        if self.ascii {
            self.fill_ascii(first, records);
        } else {
            self.fill_binary(first, records);
        }
    }

    fn fill_binary(&self, mut first: u128, records: &mut [[u8; RECORD]]) {
        let mut number = after(first);
        // The random numbers in big-endian order, so that a part is their first bytes.
        let mut drawn = [0; DRAWN + PARTS - 1];
        let mut draw = |place: &mut u128| {
            number = next(number);
            *place = number.to_be();
        };
        drawn[DRAWN..].iter_mut().for_each(&mut draw);
        for records in records.chunks_mut(DRAWN) {
            drawn.copy_within(DRAWN.., 0);
            drawn[PARTS - 1..].iter_mut().for_each(&mut draw);
            for (record, numbers) in records.iter_mut().zip(drawn.windows(PARTS)) {
                // Stores all 16 bytes of a number at once; the next part overwrites the excess
                // bytes.
                for part in 0..PARTS - 1 {
                    let bytes = (numbers[part] ^ MASKS[part].to_be()).to_ne_bytes();
                    record[part * 10..part * 10 + 16].copy_from_slice(&bytes);
                }
                let bytes = (numbers[PARTS - 1] ^ MASKS[PARTS - 1].to_be()).to_ne_bytes();
                record[90..].copy_from_slice(&bytes[..10]);
                if let Some(skew) = &self.skew {
                    skew_bits(record, u128::from_be(numbers[0]), &skew[class(first)]);
                }
                first = first.wrapping_add(1);
            }
        }
    }

    fn fill_ascii(&self, first: u128, records: &mut [[u8; RECORD]]) {
        let mut number = after(first);
        let mut at = first;
        for record in records {
            number = next(number);
            record[..10].copy_from_slice(&ascii_key(number));
            record[10..12].fill(b' ');
            for (digit, place) in (0..32).rev().zip(&mut record[12..44]) {
                *place = hex(at >> (4 * digit));
            }
            record[44..46].fill(b' ');
            for (digit, place) in (0..13).rev().zip(record[46..98].as_chunks_mut::<4>().0) {
                *place = [hex(number >> (4 * digit)); 4];
            }
            record[98..].copy_from_slice(b"\r\n");
            if let Some(skew) = &self.skew {
                let count = (number >> 32) as usize & 0x7;
                let count = if count > SKEWED { 0 } else { count };
                record[..count].copy_from_slice(&skew[class(at)][..count]);
            }
            at = at.wrapping_add(1);
        }
    }
}

/// Replaces the first bits of a key by those of `start`. Their number, 0 to 48, is given by six
/// bits of the random number; a quarter of all records stay unchanged.
#[inline]
fn skew_bits(record: &mut [u8; RECORD], number: u128, start: &[u8; SKEWED]) {
    let count = (number >> 32) as u32 & 0x3F;
    if count == 0 || count > 8 * SKEWED as u32 {
        return;
    }
    let Some(key) = record.first_chunk_mut::<8>() else { unreachable!("100 bytes") };
    let [a, b, c, d, e, f] = *start;
    let start = u64::from_be_bytes([a, b, c, d, e, f, 0, 0]);
    let taken = u64::MAX << (64 - count);
    *key = (start & taken | u64::from_be_bytes(*key) & !taken).to_be_bytes();
}

/// Index of the start of a skewed key: the bit length of the random number, with 61 to 63 counted
/// as 64 and 125 to 127 as 128, as in gensort.
fn class(number: u128) -> usize {
    match 128 - number.leading_zeros() as usize {
        61..64 => 64,
        125..128 => 128,
        bits => bits,
    }
}

/// The first ten bytes of a random number.
fn binary_key(number: u128) -> [u8; 10] {
    let bytes = number.to_be_bytes();
    std::array::from_fn(|at| bytes[at])
}

/// Ten of the 95 printable characters: eight from the high half of a random number, two from the
/// low half.
#[inline]
#[allow(clippy::cast_possible_truncation)] // halves
fn ascii_key(number: u128) -> [u8; 10] {
    let (mut high, mut low) = ((number >> 64) as u64, number as u64);
    std::array::from_fn(|at| {
        let half = if at < 8 { &mut high } else { &mut low };
        let character = b' ' + (*half % 95) as u8;
        *half /= 95;
        character
    })
}

/// The hexadecimal digit of the lowest four bits.
#[inline]
fn hex(number: u128) -> u8 {
    b"0123456789ABCDEF"[(number & 0xF) as usize]
}
