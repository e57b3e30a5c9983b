//! A simulated log, with sets behind it if they are wanted: the machine that a cache with bytes
//! drives, with each of its actions carried out at once.

use super::flash_index::rounded;
use super::journal::SimulatedJournal;
use super::{
    Action, Admission, DirectoryEntry, Io, IoQueue, LogObject, LogShape, ObjectSize, Place,
    SetArrival, SetResident, SetShape, TierLookup, TieredMachine, TieredShape,
};
use alloc::vec;
use alloc::vec::Vec;
use gordon_units::Ns;

/// The machine, and the directories of the segments and the sets as the medium has them.
pub(super) struct SimulatedLog {
    pub machine: TieredMachine,
    directories: Vec<Vec<DirectoryEntry>>,
    stride: u32,
    sets: Vec<Vec<SetObject>>,
    set_bytes: u32,
    /// Bytes by which an object is smaller in a set than in the log.
    set_saving: u32,
    journal: Option<SimulatedJournal>,
}

/// An object in a set.
#[derive(Clone, Copy)]
struct SetObject {
    key: u64,
    /// Size in the log in bytes.
    bytes: u32,
    /// Re-reference prediction value.
    rrpv: u8,
}

impl SimulatedLog {
    pub fn new(dram: u64, shape: &TieredShape, admission: Admission, seed: u64) -> Self {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (segments, sets) = (count(shape.log() / u64::from(shape.segment)), shape.sets());
        let log = LogShape {
            segments,
            stride: shape.segment,
            capacity: shape.segment,
            // Sizes are simulated to the byte.
            unit: 1,
            reinsert: shape.reinsert,
            sets: (sets > 0).then_some(SetShape {
                sets: count(sets),
                bytes: shape.set,
                capacity: shape.set,
                // The index has rounded sizes.
                largest: count(rounded(shape.set_largest.into())),
                threshold: shape.threshold,
            }),
        };
        let mut machine = TieredMachine::new(dram, log, admission, seed);
        for set in 0..count(sets) {
            // The sets of a new cache are empty.
            machine.learn_set(set, &[]);
        }
        Self {
            machine,
            directories: vec![Vec::new(); segments as usize],
            stride: shape.segment,
            sets: vec![Vec::new(); count(sets) as usize],
            set_bytes: shape.set,
            set_saving: shape.set_saving,
            journal: shape
                .journal
                .map(|settings| SimulatedJournal::new(settings, segments, shape.flash)),
        }
    }

    /// The object at an offset of which this holds.
    fn entry(&self, offset: u64, is_it: impl Fn(u64) -> bool) -> Option<&DirectoryEntry> {
        let directory = &self.directories[self.machine.segment_of(offset) as usize];
        let first = directory.partition_point(|entry| entry.offset < offset);
        let mut there = directory[first..].iter().take_while(|entry| entry.offset == offset);
        there.find(|entry| is_it(entry.key))
    }

    /// Offset of a set in the flash.
    fn set_offset(&self, set: u32) -> u64 {
        self.directories.len() as u64 * u64::from(self.stride)
            + u64::from(set) * u64::from(self.set_bytes)
    }

    fn read(&mut self, offset: u64, bytes: u32, io_queue: &mut IoQueue) {
        io_queue.io.push(Io { write: false, offset, bytes });
        self.machine.count_read(bytes.into());
    }

    pub fn access(&mut self, at: Ns, key: u64, size: u64, io_queue: &mut IoQueue) -> TierLookup {
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
            if let Some(entry) = self.entry(offset, |found| found == key) {
                let bytes = entry.bytes;
                if on_medium {
                    self.read(offset, bytes, io_queue);
                }
                return TierLookup::Flash;
            }
            place = self.machine.next_candidate(key, offset);
        }
        if self.is_in_set(key, io_queue) {
            return TierLookup::Flash;
        }
        // An older version may come back after a crash.
        if let Some(journal) = &mut self.journal
            && self.machine.is_on_medium(key)
        {
            journal.record(key);
            self.machine.recorded(key);
        }
        self.machine.insert(at, key, ObjectSize { bytes: size, directory: 0 });
        self.carry_out_all(io_queue);
        if let Some(journal) = &mut self.journal {
            journal.commit(&mut self.machine, io_queue);
            self.carry_out_all(io_queue);
        }
        TierLookup::Miss
    }

    fn carry_out_all(&mut self, io_queue: &mut IoQueue) {
        while let Some(action) = self.machine.next_action() {
            self.carry_out(action, io_queue);
        }
    }

    /// Reads the set of a key, if its filter matches. Returns whether the object is there.
    fn is_in_set(&mut self, key: u64, io_queue: &mut IoQueue) -> bool {
        let Some(set) = self.machine.set_with(key) else { return false };
        self.read(self.set_offset(set), self.set_bytes, io_queue);
        let objects = &self.sets[set as usize];
        match objects.iter().position(|object| object.key == key) {
            Some(position) => self.machine.mark_hit_in_set(set, position),
            None => {
                self.machine.count_false_positive();
                return false;
            }
        }
        true
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
                self.journal.iter_mut().for_each(SimulatedJournal::segment_written);
            }
            Action::Prepare { segment } => {
                let directory = self.directories[segment as usize].clone();
                self.machine.prepared(segment, directory);
            }
            Action::UpdateSet { set } => {
                self.update_set(set, io_queue);
                self.machine.set_updated();
            }
        }
    }

    fn append(&mut self, entry: DirectoryEntry) {
        let segment = self.machine.segment_of(entry.offset) as usize;
        self.directories[segment].push(entry);
    }

    /// Moves the objects of a set from the log to it, as far as they fit.
    fn update_set(&mut self, set: u32, io_queue: &mut IoQueue) {
        let offset = self.set_offset(set);
        let mut objects = core::mem::take(&mut self.sets[set as usize]);
        if !objects.is_empty() {
            self.read(offset, self.set_bytes, io_queue);
        }
        let in_set = |bytes: u32| bytes.saturating_sub(self.set_saving);
        let resident = |(position, object): (usize, &SetObject)| SetResident {
            key: object.key,
            size: in_set(object.bytes),
            position,
            rrpv: object.rrpv,
        };
        let residents: Vec<SetResident> = objects.iter().enumerate().map(resident).collect();
        let mut arrivals = Vec::new();
        for LogObject { offset, was_hit, .. } in self.machine.in_log(set) {
            let is_live = |key| self.machine.is_live(key, offset);
            let Some(DirectoryEntry { key, bytes, .. }) = self.entry(offset, is_live).copied()
            else {
                continue;
            };
            arrivals.push(SetArrival { key, size: in_set(bytes), offset, was_hit });
            objects.push(SetObject { key, bytes, rrpv: 0 });
        }
        let before = residents.len() as u64;
        let choice = self.machine.begin_set(set, before, &residents, &arrivals);
        io_queue.io.push(Io { write: true, offset, bytes: self.set_bytes });
        self.machine.commit_set(&choice);
        let chosen = choice.chosen.into_iter();
        self.sets[set as usize] =
            chosen.map(|(number, rrpv)| SetObject { rrpv, ..objects[number] }).collect();
    }

    /// Calls `each` with the tier, key and size of every object.
    pub fn residents(&self, each: &mut dyn FnMut(TierLookup, u64, u64)) {
        self.machine.each_in_dram(|key, size| each(TierLookup::Dram, key, size));
        for entry in self.directories.iter().flatten() {
            if self.machine.is_live(entry.key, entry.offset) {
                each(TierLookup::Flash, entry.key, entry.bytes.into());
            }
        }
        for SetObject { key, bytes, .. } in self.sets.iter().flatten() {
            each(TierLookup::Flash, *key, (*bytes).into());
        }
    }
}
