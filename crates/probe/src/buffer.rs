//! Buffers for direct I/O: aligned memory, with content that cannot be compressed or deduplicated.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};

/// Alignment of buffers in bytes. Every device accepts pages.
const ALIGNMENT: usize = 4096;

/// Number of random bytes; longer buffers repeat them. The distance of the copies is larger than
/// the window of any compression.
const RANDOM_PERIOD: usize = 4 << 20;

/// Bytes that start on a page boundary.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// A buffer of zeros. Its memory is allocated when it is used.
    pub fn new(len: usize) -> Self {
        let bytes = vec![0; len + ALIGNMENT - 1];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start, len }
    }

    /// A buffer that neither compression nor deduplication makes smaller.
    pub fn random(len: usize, seed: u64) -> Self {
        let mut buffer = Self::new(len);
        let bytes = buffer.get_mut();
        let drawn = len.min(RANDOM_PERIOD);
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes[..drawn]);
        let (from, to) = bytes.split_at_mut(drawn);
        to.chunks_mut(RANDOM_PERIOD).for_each(|part| part.copy_from_slice(&from[..part.len()]));
        buffer
    }

    pub fn get(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }

    /// Makes each page of the first `len` bytes different from all pages written before.
    pub fn stamp(&mut self, len: usize) {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let write = WRITES.fetch_add(1, Ordering::Relaxed);
        for (page, part) in (0u64..).zip(self.get_mut()[..len].chunks_mut(ALIGNMENT)) {
            // A request has fewer than 2^24 pages.
            let mark = (write << 24 ^ page).to_le_bytes();
            let count = mark.len().min(part.len());
            part[..count].copy_from_slice(&mark[..count]);
        }
    }
}
