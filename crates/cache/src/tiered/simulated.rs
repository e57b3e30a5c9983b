//! A simulated cache in DRAM and flash: it says what is found, and which reads and writes of flash
//! follow.

use super::dram::DramTier;
use super::log_sets::LogSets;
use super::sets::Sets;
use super::{
    Action, Admission, DirectoryEntry, FlashStore, Io, IoQueue, Layout, LogShape, ObjectSize,
    Place, TierLookup, TieredCounts, TieredMachine, TieredShape,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
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

/// The machine, and the directories of the segments as the medium has them.
struct SimulatedLog {
    machine: TieredMachine,
    directories: Vec<Vec<DirectoryEntry>>,
    stride: u32,
}

/// DRAM in front of a layout with sets.
struct SimulatedSets {
    tier: DramTier,
    flash_store: Box<dyn FlashStore>,
}

impl SimulatedLog {
    /// The object of this key at an offset, if that is what is there.
    fn entry(&self, key: u64, offset: u64) -> Option<&DirectoryEntry> {
        let directory = &self.directories[self.machine.segment_of(offset) as usize];
        let first = directory.partition_point(|entry| entry.offset < offset);
        let mut there = directory[first..].iter().take_while(|entry| entry.offset == offset);
        there.find(|entry| entry.key == key)
    }

    fn access(&mut self, at: Ns, key: u64, size: u64, io_queue: &mut IoQueue) -> TierLookup {
        let mut place = self.machine.lookup(at, key);
        loop {
            let (offset, on_medium) = match place {
                Place::Dram(_) => return TierLookup::Dram,
                Place::Buffered { offset } => (offset, false),
                Place::Flash { offset, .. } => {
                    self.machine.release(offset);
                    (offset, true)
                }
                Place::Miss => break,
            };
            if let Some(entry) = self.entry(key, offset) {
                if on_medium {
                    io_queue.io.push(Io { write: false, offset, bytes: entry.bytes });
                    let bytes = u64::from(entry.bytes);
                    self.machine.count_read(bytes);
                }
                return TierLookup::Flash;
            }
            place = self.machine.next_candidate(key, offset);
        }
        self.machine.insert(at, key, ObjectSize { bytes: size, directory: 0 });
        while let Some(action) = self.machine.next_action() {
            self.carry_out(action, io_queue);
        }
        TierLookup::Miss
    }

    fn carry_out(&mut self, action: Action, io_queue: &mut IoQueue) {
        match action {
            Action::Drop { .. } => {}
            Action::Demote { entry, .. } => self.append(entry),
            Action::Reinsert { from, to } => self.append(DirectoryEntry { offset: to, ..from }),
            Action::Open { segment } => self.directories[segment as usize].clear(),
            Action::Write { segment } => {
                let offset = u64::from(segment) * u64::from(self.stride);
                io_queue.io.push(Io { write: true, offset, bytes: self.stride });
                self.machine.commit(segment);
            }
            Action::Prepare { segment } => {
                let directory = self.directories[segment as usize].clone();
                self.machine.prepared(segment, directory);
            }
            Action::UpdateSet { .. } => unreachable!("a log without sets"),
        }
    }

    fn append(&mut self, entry: DirectoryEntry) {
        let segment = self.machine.segment_of(entry.offset) as usize;
        self.directories[segment].push(entry);
    }
}

impl SimulatedSets {
    fn access(&mut self, at: Ns, key: u64, size: u64, io_queue: &mut IoQueue) -> TierLookup {
        self.tier.admission.advance(at, &io_queue.counts);
        if self.tier.find(key).is_some() {
            return TierLookup::Dram;
        }
        if self.flash_store.find(key, io_queue) {
            return TierLookup::Flash;
        }
        if size <= self.object_capacity() {
            self.tier.insert(key, size, 0);
        }
        while self.tier.list.bytes > self.object_capacity() {
            let (_, admitted) = self.tier.evict(&mut io_queue.counts);
            if let Some(entry) = admitted {
                self.flash_store.insert(entry.key, entry.bytes, io_queue);
            }
        }
        TierLookup::Miss
    }

    /// DRAM for objects. Objects that DRAM evicts to flash make the index grow.
    fn object_capacity(&self) -> u64 {
        self.tier.dram.saturating_sub(self.flash_store.index_bytes())
    }
}

impl Tiered {
    /// Creates an empty cache with `dram` bytes of DRAM. `seed` determines the random draws.
    ///
    /// # Panics
    /// A layout with sets has no set, or a layout with a log has fewer than two segments.
    pub fn new(dram: u64, shape: &TieredShape, admission: Admission, seed: u64) -> Self {
        let sets = |flash_store| {
            let tier = DramTier::new(dram, shape.largest(), admission, seed);
            Simulated::Sets(Box::new(SimulatedSets { tier, flash_store }))
        };
        let layout = match shape.layout {
            Layout::Log => {
                let segments = shape.log() / u64::from(shape.segment);
                let log = LogShape {
                    segments: u32::try_from(segments).unwrap_or(u32::MAX),
                    stride: shape.segment,
                    capacity: shape.segment,
                    // Sizes are simulated to the byte.
                    unit: 1,
                    reinsert: shape.reinsert,
                    sets: None,
                };
                let machine = TieredMachine::new(dram, log, admission, seed);
                let directories = vec![Vec::new(); log.segments as usize];
                let stride = shape.segment;
                Simulated::Log(Box::new(SimulatedLog { machine, directories, stride }))
            }
            Layout::Sets => sets(Box::new(Sets::new(0, shape.sets(), shape.set))),
            Layout::LogSets => sets(Box::new(LogSets::new(shape))),
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
            Simulated::Sets(sets) => sets.flash_store.index_bytes(),
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
            Simulated::Log(log) => {
                log.machine.each_in_dram(|key, size| each(TierLookup::Dram, key, size));
                for entry in log.directories.iter().flatten() {
                    if log.machine.is_live(entry.key, entry.offset) {
                        each(TierLookup::Flash, entry.key, entry.bytes.into());
                    }
                }
            }
            Simulated::Sets(sets) => {
                let all = sets.tier.store.iter();
                all.for_each(|(key, size, _)| each(TierLookup::Dram, key, size));
                sets.flash_store.residents(&mut |key, size| each(TierLookup::Flash, key, size));
            }
        }
    }
}
