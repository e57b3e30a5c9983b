//! A table of numbers, each in as few bits as the largest needs: the map of an array of 2^22
//! super-pages takes 22 bits an entry, not 32.

use alloc::vec;
use alloc::vec::Vec;

/// Numbers from 0 to a maximum, initially 0.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    bits: usize,
    mask: u64,
}

impl Packed {
    pub fn new(len: u32, max: u32) -> Self {
        let bits = (32 - max.leading_zeros()).max(1) as usize;
        // An entry is accessed as the 8 bytes from its first; at most 7 + 32 bits of these are
        // used.
        let bytes = vec![0; (len as usize * bits).div_ceil(8) + 8];
        Self { bytes, bits, mask: (1 << bits) - 1 }
    }

    /// The largest number that an entry can hold.
    pub fn max(&self) -> u32 {
        // The mask has at most 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            self.mask as u32
        }
    }

    /// A copy of the table with as many bits an entry as `max` needs.
    pub fn with_max(&self, max: u32) -> Self {
        // Entry indices have 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let len = ((self.bytes.len() - 8) * 8 / self.bits) as u32;
        let mut new = Self::new(len, max);
        (0..len).for_each(|at| new.set(at, self.get(at)));
        new
    }

    /// An empty table of the same size.
    pub fn emptied(&self) -> Self {
        Self { bytes: vec![0; self.bytes.len()], ..*self }
    }

    #[inline(always)]
    fn word(&self, byte: usize) -> u64 {
        let bytes = self.bytes[byte..byte + 8].try_into().expect("8 bytes are 8 bytes");
        u64::from_le_bytes(bytes)
    }

    #[inline(always)]
    pub fn get(&self, index: u32) -> u32 {
        let bit = index as usize * self.bits;
        // The mask leaves at most 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        {
            ((self.word(bit / 8) >> (bit % 8)) & self.mask) as u32
        }
    }

    #[inline(always)]
    pub fn set(&mut self, index: u32, value: u32) {
        let bit = index as usize * self.bits;
        let (byte, shift) = (bit / 8, bit % 8);
        let word = self.word(byte) & !(self.mask << shift) | u64::from(value) << shift;
        self.bytes[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Sets consecutive entries from `index` on, without reading bytes just stored.
    pub fn set_run(&mut self, index: u32, values: &[u32]) {
        let bit = index as usize * self.bits;
        let end = bit + values.len() * self.bits;
        let after = self.word(end / 8) >> (end % 8) << (end % 8);
        let (mut byte, mut shift) = (bit / 8, bit % 8);
        let mut word = self.word(byte) & ((1 << shift) - 1);
        for &value in values {
            word |= u64::from(value) << shift;
            self.bytes[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
            // Keeps the bits of the byte that is not full yet.
            shift += self.bits;
            byte += shift / 8;
            word >>= shift / 8 * 8;
            shift %= 8;
        }
        word |= after;
        self.bytes[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// The memory from an entry on.
    #[inline]
    pub fn from(&self, index: u64) -> &[u8] {
        let at = usize::try_from(index.saturating_mul(self.bits as u64) / 8).unwrap_or(usize::MAX);
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The memory of the table.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The memory of the table, to be filled from a checkpoint.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Bytes of memory allocated.
    pub fn memory(&self) -> u64 {
        self.bytes.capacity() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_do_not_overlap() {
        for max in [
            1,
            2,
            255,
            256,
            1 << 16,
            1 << 18,
            1 << 20,
            (1 << 22) - 1,
            1 << 22,
            (1 << 24) - 1,
            1 << 24,
            1 << 25,
            (1 << 28) - 1,
            u32::MAX,
        ] {
            let mut table = Packed::new(100, max);
            let value = |i: u32| i.wrapping_mul(2_654_435_761) & (table.mask as u32);
            let values: Vec<u32> = (0..100).map(value).collect();
            for &i in &[99, 0, 50] {
                table.set(i, max);
            }
            for i in (0..100).rev() {
                table.set(i, values[i as usize]);
            }
            assert!((0..100).all(|i| table.get(i) == values[i as usize]), "max {max}");
            for i in (0..100).step_by(11) {
                let mut other = Packed::new(100, max);
                (0..100).for_each(|i| other.set(i, max));
                other.set_run(i, &values[i as usize..90.max(i as usize)]);
                let value = |at| if (i..90).contains(&at) { values[at as usize] } else { max };
                assert!((0..100).all(|at| other.get(at) == value(at)), "max {max}, from {i}");
            }
        }
    }
}
