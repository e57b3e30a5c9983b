//! Memory of requests: how much each connection and all of them may hold.
//!
//! A connection has a reserve of its own that nobody can take, enough for small requests; what is
//! above comes from a share that all have together. So a client that fills the share, and lets its
//! requests lie, slows large requests of others and no small ones. Buffers are kept for the next
//! request, counted as held, and given back when the connection has nothing to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Buffers are of multiples of this.
const STEP: usize = 4096;

/// What is there for all connections.
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

    /// Nothing should be kept that is not in use.
    fn scarce(&self) -> bool {
        self.left.load(Ordering::Relaxed) < self.all / 4
    }
}

/// What one connection holds.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    pool: Arc<MemoryPool>,
    reserve: usize,
    limit: usize,
    /// Bytes of all buffers, in use or kept.
    used: usize,
    kept: Vec<Vec<u8>>,
}

impl MemoryBudget {
    /// `limit` should hold one request of the largest size at least.
    pub(super) fn new(pool: Arc<MemoryPool>, reserve: usize, limit: usize) -> Self {
        let limit = limit.max(reserve).next_multiple_of(STEP);
        Self { pool, reserve, limit, used: 0, kept: Vec::new() }
    }

    /// A buffer of that length, or none now.
    pub(super) fn buffer(&mut self, length: usize) -> Option<Vec<u8>> {
        let size = length.next_multiple_of(STEP);
        // A kept one that is not wastefully large, the last first: it is in the processor's cache.
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

    /// A buffer comes back.
    pub(super) fn give(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() > 0 {
            self.kept.push(buffer);
        }
        if self.above() > 0 && self.pool.scarce() {
            self.release_idle();
        }
    }

    /// Frees kept buffers until no more is held than that, as far as they go.
    pub(super) fn trim(&mut self, used: usize) {
        while self.used > used
            && let Some(buffer) = self.kept.pop()
        {
            self.shrink(buffer.capacity());
        }
    }

    /// Frees what is above the reserve.
    pub(super) fn release_idle(&mut self) {
        self.trim(self.reserve);
    }

    /// What it holds of the share.
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
    fn a_reserve_is_nobody_elses() {
        let pool = Arc::new(MemoryPool::new(1 << 20));
        let mut greedy = MemoryBudget::new(Arc::clone(&pool), 64 << 10, 8 << 20);
        let used: Vec<_> = (0..32).map_while(|_| greedy.buffer(1 << 17)).collect();
        assert_eq!(used.len(), 8, "the reserve and the pool together");
        let mut modest = MemoryBudget::new(Arc::clone(&pool), 64 << 10, 8 << 20);
        let small: Vec<_> = (0..32).map_while(|_| modest.buffer(4096)).collect();
        assert_eq!(small.len(), 16 + 16, "the reserve, and the rest of the pool");
        assert!(modest.buffer(1 << 17).is_none());
        used.into_iter().for_each(|buffer| greedy.give(buffer));
        assert!(!pool.scarce(), "little was left: what came back was not all kept");
        assert!(modest.buffer(1 << 17).is_some());
        drop((greedy, modest));
        assert_eq!(pool.left.load(Ordering::Relaxed), 1 << 20);
    }

    #[test]
    fn buffers_come_again() {
        let mut budget = MemoryBudget::new(Arc::new(MemoryPool::new(0)), 64 << 10, 64 << 10);
        for length in [1, 4096, 100, 65_536, 7, 65_536, 0] {
            let buffer = budget.buffer(length).expect("one at a time fits");
            assert_eq!(buffer.len(), length);
            budget.give(buffer);
        }
        assert!(budget.buffer(65_537).is_none());
    }
}
