//! Memory placed as direct I/O wants it, and content that no device makes smaller.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};

/// What each is aligned to: pages, which every device takes.
const ALIGNMENT: usize = 4096;

/// So many random bytes are drawn; more are copies, further apart than anything that compresses
/// looks.
const RANDOM_PERIOD: usize = 4 << 20;

/// Bytes that start at a page.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// So many, all zero: memory is taken as they are used.
    pub fn new(len: usize) -> Self {
        let bytes = vec![0; len + ALIGNMENT - 1];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start, len }
    }

    /// So many that neither compression nor deduplication makes fewer.
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

    /// Makes each page of the first `len` bytes unlike all that were written before.
    pub fn stamp(&mut self, len: usize) {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let write = WRITES.fetch_add(1, Ordering::Relaxed);
        for (page, part) in (0u64..).zip(self.get_mut()[..len].chunks_mut(ALIGNMENT)) {
            // Fewer than 2^24 pages in a request.
            let mark = (write << 24 ^ page).to_le_bytes();
            let count = mark.len().min(part.len());
            part[..count].copy_from_slice(&mark[..count]);
        }
    }
}
