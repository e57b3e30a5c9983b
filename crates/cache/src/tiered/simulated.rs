//! A simulated cache in DRAM and flash: it says what is found, and which reads and writes of flash
//! follow.

use super::dram::DramTier;
use super::sets::Sets;
use super::simulated_log::SimulatedLog;
use super::{Admission, Io, IoQueue, Layout, TierLookup, TieredCounts, TieredShape};
use alloc::boxed::Box;
use alloc::vec;
use gordon_units::Ns;

/// A simulated cache in DRAM and flash.
pub struct Tiered {
    layout: Simulated,
    io_queue: IoQueue,
}

enum Simulated {
    Log(Box<SimulatedLog>),
    Sets(Box<SimulatedSets>),
}

/// DRAM in front of sets.
struct SimulatedSets {
    tier: DramTier,
    sets: Sets,
}

impl SimulatedSets {
    fn access(&mut self, at: Ns, key: u64, size: u64, io_queue: &mut IoQueue) -> TierLookup {
        self.tier.admission.advance(at, &io_queue.counts);
        if self.tier.find(key).is_some() {
            return TierLookup::Dram;
        }
        if self.sets.find(key, io_queue) {
            return TierLookup::Flash;
        }
        if size <= self.object_capacity() {
            self.tier.insert(key, size, 0);
        }
        while self.tier.list.bytes > self.object_capacity() {
            let (_, admitted) = self.tier.evict(&mut io_queue.counts);
            if let Some(entry) = admitted {
                self.sets.insert(entry.key, entry.bytes, io_queue);
            }
        }
        TierLookup::Miss
    }

    /// DRAM for objects.
    fn object_capacity(&self) -> u64 {
        self.tier.dram.saturating_sub(self.sets.index_bytes())
    }
}

impl Tiered {
    /// Creates an empty cache with `dram` bytes of DRAM. `seed` determines the random draws.
    ///
    /// # Panics
    /// A layout with sets has no set, or a layout with a log has fewer than two segments.
    pub fn new(dram: u64, shape: &TieredShape, admission: Admission, seed: u64) -> Self {
        let layout = match shape.layout {
            Layout::Log | Layout::LogSets => {
                Simulated::Log(Box::new(SimulatedLog::new(dram, shape, admission, seed)))
            }
            Layout::Sets => {
                let tier = DramTier::new(dram, shape.set, admission, seed);
                let sets = Sets::new(shape.sets(), shape.set);
                Simulated::Sets(Box::new(SimulatedSets { tier, sets }))
            }
        };
        Self { layout, io_queue: IoQueue::default() }
    }

    /// Serves a request that arrives at `at`, for an object of `size` bytes.
    pub fn access(&mut self, at: Ns, key: u64, size: u64) -> TierLookup {
        match &mut self.layout {
            Simulated::Log(log) => log.access(at, key, size, &mut self.io_queue),
            Simulated::Sets(sets) => sets.access(at, key, size, &mut self.io_queue),
        }
    }

    /// Sets the number of bytes that flash programs for each byte written to it. A
    /// [`Budget`](super::Budget) limits the bytes programmed.
    pub fn set_write_amplification(&mut self, factor: f64) {
        match &mut self.layout {
            Simulated::Log(log) => log.machine.set_write_amplification(factor),
            Simulated::Sets(sets) => sets.tier.admission.write_amplification = factor,
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> TieredCounts {
        match &self.layout {
            Simulated::Log(log) => log.machine.counts(),
            Simulated::Sets(_) => self.io_queue.counts,
        }
    }

    /// The reads and writes of flash since the last call, in order.
    pub fn io(&mut self) -> vec::Drain<'_, Io> {
        self.io_queue.io.drain(..)
    }

    /// The probability with which an offered object is admitted now, if the admission is random.
    pub fn admission_rate(&self) -> f64 {
        match &self.layout {
            Simulated::Log(log) => log.machine.admission_rate(),
            Simulated::Sets(sets) => sets.tier.admission.rate(),
        }
    }

    /// Memory of the index of flash in bytes.
    pub fn index_bytes(&self) -> u64 {
        match &self.layout {
            Simulated::Log(log) => log.machine.index_bytes(),
            Simulated::Sets(sets) => sets.sets.index_bytes(),
        }
    }

    /// Number of objects in DRAM, and their bytes.
    pub fn in_dram(&self) -> (u64, u64) {
        match &self.layout {
            Simulated::Log(log) => log.machine.in_dram(),
            Simulated::Sets(sets) => (sets.tier.list.len, sets.tier.list.bytes),
        }
    }

    /// Calls `each` with the tier, key and size of every object.
    pub fn residents(&self, each: &mut dyn FnMut(TierLookup, u64, u64)) {
        match &self.layout {
            Simulated::Log(log) => log.residents(each),
            Simulated::Sets(sets) => {
                let all = sets.tier.store.iter();
                all.for_each(|(key, size, _)| each(TierLookup::Dram, key, size));
                sets.sets.residents(&mut |key, size| each(TierLookup::Flash, key, size));
            }
        }
    }
}
