//! The memory of all bodies on their way to clients. It is limited, so that clients that receive
//! slowly cannot use more of it.

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time between two attempts to reserve memory.
const PAUSE: Duration = Duration::from_millis(5);

/// Counts the bytes of bodies that are held for clients.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicU64::new(0) })
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may be in use.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Reserves memory. `None` if the limit would be exceeded; more than the limit is granted when
    /// nothing else is in use.
    pub fn reserve(self: &Arc<Self>, size: u64) -> Option<Reserved> {
        let before = self.used.fetch_add(size, Ordering::Relaxed);
        let reserved = Reserved { size, budget: Arc::clone(self) };
        (before == 0 || before + size <= self.limit).then_some(reserved)
    }

    /// As `reserve`, but waits for memory. What is to be held must be read after that, so that
    /// those who wait hold nothing.
    pub async fn reserve_later(self: &Arc<Self>, size: u64) -> Reserved {
        self.reserve_releasing(size, || {}).await
    }

    /// As `reserve_later`, for a caller that holds memory: `release` gives up what it can spare.
    pub async fn reserve_releasing(self: &Arc<Self>, size: u64, release: impl Fn()) -> Reserved {
        loop {
            if let Some(reserved) = self.reserve(size) {
                return reserved;
            }
            release();
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Reserved memory, which is returned when this is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    size: u64,
    budget: Arc<Budget>,
}

impl Reserved {
    /// Keeps the memory until the last clone of the body is dropped.
    pub fn hold(self, body: Bytes) -> Bytes {
        Bytes::from_owner(HeldBody { body, _reserved: self })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}

/// A body that is counted.
struct HeldBody {
    body: Bytes,
    _reserved: Reserved,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_returned_when_the_last_part_of_a_body_is_dropped() {
        let budget = Budget::new(10);
        let body = Bytes::from_static(b"12345678");
        let held = budget.reserve(8).expect("it fits").hold(body);
        let part = held.slice(2..4);
        drop(held);
        assert!(budget.reserve(3).is_none());
        assert_eq!(budget.used(), 8);
        drop(part);
        assert_eq!(budget.used(), 0);
        let large = budget.reserve(11).expect("nothing else is held");
        assert!(budget.reserve(1).is_none());
        drop(large);
    }
}
