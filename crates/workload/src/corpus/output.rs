//! Records in memory before they are written.

use super::generator::BLOCK;
use super::model::{Chain, FREE};
use gordon_units::SplitMix64;

/// Bytes of records, with free bytes after them, which words may overwrite beyond their ends.
#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    at: usize,
}

impl Default for Output {
    fn default() -> Self {
        Self { bytes: vec![0; 2 * BLOCK], at: 0 }
    }
}

impl Output {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.at]
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.at
    }

    /// Keeps the first bytes.
    pub fn truncate(&mut self, len: usize) {
        self.at = self.at.min(len);
    }

    /// Appends bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.free(bytes.len());
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Ensures that there are this many free bytes.
    #[inline]
    fn free(&mut self, count: usize) {
        if self.bytes.len() - self.at < count {
            self.bytes.resize(2 * (self.at + count), 0);
        }
    }
}

/// Appends words, without a space after the last one.
#[inline]
pub fn put_words<'a>(
    chain: &Chain,
    words: impl Iterator<Item = &'a u32>,
    random: &mut SplitMix64,
    out: &mut Output,
) {
    for &word in words {
        out.free(FREE);
        out.at = chain.put(word, random, &mut out.bytes, out.at);
    }
    out.at -= usize::from(out.bytes().ends_with(b" "));
}
