//! Records of one length.

use super::{PREFIX_BITS, Shape};
use std::cmp::Ordering;

/// The records of the sort benchmark: 100 bytes, of which the first 10 are the key, in the order of
/// bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Benchmark;

impl Benchmark {
    /// Bytes of a record.
    pub const RECORD: usize = 100;
    /// Bytes of its key, at its start.
    pub const KEY: usize = 10;
}

impl Shape for Benchmark {
    #[inline]
    fn end(&self, _: &[u8], start: usize) -> usize {
        start + Self::RECORD
    }

    fn whole(&self, bytes: &[u8]) -> usize {
        bytes.len() - bytes.len() % Self::RECORD
    }

    fn separator(&self) -> Option<u8> {
        None
    }

    #[inline]
    fn prefix(&self, record: &[u8]) -> u128 {
        let Some(start) = record.first_chunk::<16>() else { unreachable!("a whole record") };
        u128::from_be_bytes(*start) >> (128 - PREFIX_BITS)
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a[..Self::KEY].cmp(&b[..Self::KEY])
    }

    fn length(&self) -> Option<usize> {
        Some(Self::RECORD)
    }
}
