//! Limits of the memory that requests hold, for each connection and for all together.
//!
//! Each connection has a reserve, which is enough for small requests. Memory beyond the reserve
//! comes from a pool that all connections share. A client that fills the pool and does not collect
//! its replies therefore delays large requests of other clients, but not small ones. Buffers are
//! kept for the next request and count as used; a connection frees them when it is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sizes of buffers are multiples of this.
const STEP: usize = 4096;

/// The memory that all connections share, beyond their reserves.
#[derive(Debug)]
pub(super) struct MemoryPool {
    all: usize,
    left: AtomicUsize,
}

impl MemoryPool {
    pub(super) fn new(bytes: usize) -> Self {
        let all = bytes.next_multiple_of(STEP);
        Self { all, left: AtomicUsize::new(all) }
    }

    fn take(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn take_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether so little is left that connections should keep no idle buffers.
    fn scarce(&self) -> bool {
        self.left.load(Ordering::Relaxed) < self.all / 4
    }
}

/// The buffers of one connection.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    pool: Arc<MemoryPool>,
    reserve: usize,
    limit: usize,
    /// Bytes of all buffers, those in `kept` included.
    used: usize,
    kept: Vec<Vec<u8>>,
}

impl MemoryBudget {
    /// `limit` bounds the bytes of all buffers and must hold at least one request of the largest
    /// size.
    pub(super) fn new(pool: Arc<MemoryPool>, reserve: usize, limit: usize) -> Self {
        let limit = limit.max(reserve).next_multiple_of(STEP);
        Self { pool, reserve, limit, used: 0, kept: Vec::new() }
    }

    /// Returns a buffer of this length, or `None` if the limit or the pool is exhausted now.
    pub(super) fn buffer(&mut self, length: usize) -> Option<Vec<u8>> {
        let size = length.next_multiple_of(STEP);
        // Reuse a buffer that is not much too large, and the last one first, because it is in the
        // CPU cache.
        let fits = |kept: &Vec<u8>| (size..=size.max(STEP) * 4).contains(&kept.capacity());
        if let Some(place) = self.kept.iter().rposition(fits) {
            let mut buffer = self.kept.swap_remove(place);
            buffer.resize(length, 0);
            return Some(buffer);
        }
        if self.used + size > self.reserve {
            self.trim(self.reserve.saturating_sub(size));
        }
        if self.used + size > self.limit || !self.grow(size) {
            return None;
        }
        let mut buffer = vec![0; size];
        buffer.truncate(length);
        Some(buffer)
    }

    /// Takes a buffer back.
    pub(super) fn give(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() > 0 {
            self.kept.push(buffer);
        }
        if self.above() > 0 && self.pool.scarce() {
            self.release_idle();
        }
    }

    /// Frees idle buffers until at most `used` bytes are used or no idle buffer is left.
    pub(super) fn trim(&mut self, used: usize) {
        while self.used > used
            && let Some(buffer) = self.kept.pop()
        {
            self.shrink(buffer.capacity());
        }
    }

    /// Frees idle buffers beyond the reserve.
    pub(super) fn release_idle(&mut self) {
        self.trim(self.reserve);
    }

    /// Bytes taken from the pool.
    pub(super) fn above(&self) -> usize {
        self.used.saturating_sub(self.reserve)
    }

    fn grow(&mut self, size: usize) -> bool {
        let more = (self.used + size).saturating_sub(self.reserve) - self.above();
        if more > 0 && !self.pool.take(more) {
            return false;
        }
        self.used += size;
        true
    }

    fn shrink(&mut self, size: usize) {
        let before = self.above();
        self.used = self.used.saturating_sub(size);
        self.pool.take_back(before - self.above());
    }
}

impl Drop for MemoryBudget {
    fn drop(&mut self) {
        self.pool.take_back(self.above());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_connections_cannot_use_up_a_reserve() {
        let pool = Arc::new(MemoryPool::new(1 << 20));
        let mut greedy = MemoryBudget::new(Arc::clone(&pool), 64 << 10, 8 << 20);
        let used: Vec<_> = (0..32).map_while(|_| greedy.buffer(1 << 17)).collect();
        assert_eq!(used.len(), 8, "the reserve and the pool together");
        let mut modest = MemoryBudget::new(Arc::clone(&pool), 64 << 10, 8 << 20);
        let small: Vec<_> = (0..32).map_while(|_| modest.buffer(4096)).collect();
        assert_eq!(small.len(), 16 + 16, "the reserve, and the rest of the pool");
        assert!(modest.buffer(1 << 17).is_none());
        used.into_iter().for_each(|buffer| greedy.give(buffer));
        assert!(!pool.scarce(), "returned buffers go back to a scarce pool");
        assert!(modest.buffer(1 << 17).is_some());
        drop((greedy, modest));
        assert_eq!(pool.left.load(Ordering::Relaxed), 1 << 20);
    }

    #[test]
    fn buffers_are_reused() {
        let mut budget = MemoryBudget::new(Arc::new(MemoryPool::new(0)), 64 << 10, 64 << 10);
        for length in [1, 4096, 100, 65_536, 7, 65_536, 0] {
            let buffer = budget.buffer(length).expect("one at a time fits");
            assert_eq!(buffer.len(), length);
            budget.give(buffer);
        }
        assert!(budget.buffer(65_537).is_none());
    }
}
