//! Next-access times of a trace that does not record them, for Belady's policy. They are found in a
//! first pass over the trace.

use crate::policy::NEVER;
use crate::store::Store;
use alloc::vec::Vec;

/// Maximum number of requests.
const MAX_REQUESTS: usize = u32::MAX as usize;

/// The first pass over a trace. It takes 4 bytes for each request, and until its end also an entry
/// for each object.
#[derive(Debug)]
pub struct NextAccessBuilder {
    /// An entry for each object. Its link `newer` is the number of the last request for it.
    last: Store,
    /// For each request, the distance to the next request for the same object; 0 if there is none.
    distances: Vec<u32>,
}

/// The next-access time of each request of a trace.
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
    /// Records the next request of the trace, which is for this object. Returns false, and does
    /// nothing, if there are already 2^32 - 1 requests.
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

    /// Ends the pass.
    pub fn finish(self) -> NextAccess {
        let memory = self.last.memory() + self.distances.capacity() * size_of::<u32>();
        NextAccess { distances: self.distances, memory }
    }
}

impl NextAccess {
    /// The number of the next request for the object of request `number`, or [`NEVER`].
    #[inline]
    pub fn after(&self, number: u64) -> u64 {
        match self.distances.get(number as usize) {
            Some(0) | None => NEVER,
            Some(distance) => number + u64::from(*distance),
        }
    }

    /// Memory in bytes at the end of the pass, when it was largest.
    pub fn memory(&self) -> usize {
        self.memory
    }
}
