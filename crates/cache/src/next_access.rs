//! When each object comes again, of a trace that does not say so: found in a first reading of it.

use crate::policy::NEVER;
use crate::store::Store;
use alloc::vec::Vec;

/// Requests that one can hold.
const MAX_REQUESTS: usize = u32::MAX as usize;

/// The first reading: 4 bytes for each request, and an entry for each object until it ends.
#[derive(Debug)]
pub struct NextAccessBuilder {
    /// The last request for each object, in the links of its entry.
    last: Store,
    /// From each request to the next for the same object; 0 if there is none.
    distances: Vec<u32>,
}

/// What it found.
#[derive(Debug, Default)]
pub struct NextAccess {
    distances: Vec<u32>,
    memory: usize,
}

impl Default for NextAccessBuilder {
    fn default() -> Self {
        Self { last: Store::new(), distances: Vec::new() }
    }
}

impl NextAccessBuilder {
    /// The next request of the trace is for this object. False, and nothing done, where there were
    /// 2^32 - 1 before it.
    #[must_use]
    pub fn record(&mut self, key: u64) -> bool {
        let now = self.distances.len();
        if now == MAX_REQUESTS {
            return false;
        }
        if let Some(place) = self.last.find(key) {
            let entry = self.last.at_mut(place);
            let before = entry.newer as usize;
            entry.newer = now as u32;
            self.distances[before] = (now - before) as u32;
        } else {
            let place = self.last.insert(key, 0, 0);
            self.last.at_mut(place).newer = now as u32;
        }
        self.distances.push(0);
        true
    }

    /// The trace is at its end.
    pub fn finish(self) -> NextAccess {
        let memory = self.last.memory() + self.distances.capacity() * size_of::<u32>();
        NextAccess { distances: self.distances, memory }
    }
}

impl NextAccess {
    /// Number of the next request for the object of the `number`-th, or [`NEVER`].
    #[inline]
    pub fn after(&self, number: u64) -> u64 {
        match self.distances.get(number as usize) {
            Some(0) | None => NEVER,
            Some(distance) => number + u64::from(*distance),
        }
    }

    /// Bytes of memory at the end of the first reading, when it took the most but for growing.
    pub fn memory(&self) -> usize {
        self.memory
    }
}
