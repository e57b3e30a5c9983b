//! How small objects move from the log to their sets.

use super::{Preparation, SegmentState, TieredMachine};
use crate::index::hash;
use crate::tiered::sets::SetEntry;
use crate::tiered::vocabulary::{DirectoryEntry, LogObject, SetArrival, SetChoice, SetResident};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl TieredMachine {
    /// The sets of the small objects of a segment that have enough objects in the log.
    pub(super) fn sets_to_update(&self, entries: &[DirectoryEntry]) -> BTreeSet<u32> {
        let Some(sets) = &self.sets else { return BTreeSet::new() };
        let small = entries.iter().filter(|entry| {
            self.is_small(entry.bytes.into()) && self.is_live(entry.key, entry.offset)
        });
        let all: BTreeSet<u32> = small.map(|entry| self.set_of(entry.key)).collect();
        let threshold = sets.shape.threshold as usize;
        all.into_iter().filter(|set| self.in_log(*set).len() >= threshold).collect()
    }

    pub(super) fn is_small(&self, bytes: u64) -> bool {
        self.sets.as_ref().is_some_and(|sets| bytes <= sets.shape.largest.into())
    }

    fn set_of(&self, key: u64) -> u32 {
        let count = self.sets.as_ref().map_or(0, |sets| sets.shape.sets);
        self.index.set_of(hash(key), count)
    }

    /// The objects of a set that are in the log on the medium, in the order of their offsets.
    pub fn in_log(&self, set: u32) -> Vec<LogObject> {
        let Some(sets) = &self.sets else { return Vec::new() };
        let unit = u64::from(self.shape.unit);
        let mut found = Vec::new();
        self.index.each_in_set(set, sets.shape.sets, |candidate| {
            let (offset, bytes) = (candidate.location * unit, candidate.size * unit);
            let segment = self.segment_of(offset);
            let is_stored = self.segments[segment as usize].state == SegmentState::Stored;
            if is_stored && self.is_small(bytes) {
                found.push(LogObject { offset, bytes, was_hit: candidate.was_hit });
            }
        });
        found.sort_unstable_by_key(|object| object.offset);
        found
    }

    /// The set that may have an object of this key.
    pub fn set_with(&self, key: u64) -> Option<u32> {
        let sets = self.sets.as_ref()?;
        let set = self.set_of(key);
        sets.may_have(set, key).then_some(set)
    }

    /// Marks the object at a position of a set as requested.
    pub fn mark_hit_in_set(&mut self, set: u32, position: usize) {
        self.sets.iter_mut().for_each(|sets| sets.mark_hit(set, position));
    }

    /// Counts a read of a set that did not have the requested object.
    pub fn count_false_positive(&mut self) {
        self.counts.false_positives += 1;
    }

    /// Chooses the new content of a set that is about to be written. It had `before` objects, of
    /// which `residents` may stay; `arrivals` may move to it from the log. An arrival takes the
    /// place of a resident with the same key, and of two such arrivals the first one counts.
    ///
    /// # Panics
    /// The cache has no sets.
    pub fn begin_set(
        &mut self,
        set: u32,
        before: u64,
        residents: &[SetResident],
        arrivals: &[SetArrival],
    ) -> SetChoice {
        let sets = self.sets.as_mut().expect("a cache with sets");
        let mut numbers = Vec::new();
        let mut entries: Vec<SetEntry> = Vec::new();
        for (number, resident) in residents.iter().enumerate() {
            let SetResident { key, size, position, rrpv } = *resident;
            if arrivals.iter().all(|arrival| arrival.key != key) {
                let was_hit = sets.was_hit(set, position);
                entries.push(SetEntry { key, size, was_hit, rrpv });
                numbers.push(number);
            }
        }
        let olds = entries.len();
        for (number, arrival) in arrivals.iter().enumerate() {
            if entries[olds..].iter().all(|entry| entry.key != arrival.key) {
                entries.push(SetEntry::new(arrival.key, arrival.size, arrival.was_hit));
                numbers.push(residents.len() + number);
            }
        }
        let stays = sets.choose(set, &mut entries, olds);
        self.counts.evicted += stays[..olds].iter().filter(|stays| !**stays).count() as u64;
        let mut choice =
            SetChoice { chosen: Vec::new(), set, before, keys: Vec::new(), moved: Vec::new() };
        for ((number, entry), stays) in numbers.into_iter().zip(entries).zip(stays) {
            if !stays {
                continue;
            }
            choice.chosen.push((number, entry.rrpv));
            choice.keys.push(entry.key);
            if let Some(arrival) = number.checked_sub(residents.len()) {
                choice.moved.push((entry.key, arrivals[arrival].offset));
            }
        }
        sets.extend(set, &choice.keys);
        self.counts.written += u64::from(sets.shape.bytes);
        choice
    }

    /// Reports that a set durably has the objects that were chosen. Those that moved to it leave
    /// the log.
    pub fn commit_set(&mut self, choice: &SetChoice) {
        let Some(sets) = &mut self.sets else { return };
        sets.know(choice.set, &choice.keys, choice.before);
        for (key, offset) in &choice.moved {
            let location = self.location(*offset);
            // Unless it was removed meanwhile.
            if let Some(found) = self.index.mark_moved(hash(*key), location) {
                self.live_bytes -= found.size * u64::from(self.shape.unit);
            }
        }
    }

    /// Reports that a write of a set failed: it may have any objects now.
    pub fn fail_set(&mut self, choice: &SetChoice) {
        self.sets.iter_mut().for_each(|sets| sets.forget(choice.set, choice.before));
    }

    /// Reports the objects of a set that was read, unless it is being written.
    pub fn learn_set(&mut self, set: u32, keys: &[u64]) {
        if let Some(sets) = &mut self.sets
            && !sets.is_known(set)
        {
            sets.know(set, keys, 0);
        }
    }

    /// Reports that an [`UpdateSet`](crate::tiered::Action::UpdateSet) was carried out or failed.
    pub fn set_updated(&mut self) {
        let preparation = core::mem::replace(&mut self.preparation, Preparation::NotRequested);
        self.preparation = match preparation {
            Preparation::Moving(entries, 1) => Preparation::Ready(entries),
            Preparation::Moving(entries, left) => Preparation::Moving(entries, left - 1),
            _ => unreachable!("an update of a set that was not requested"),
        };
    }

    /// Number of objects in sets that were read or written since the start.
    pub fn in_sets(&self) -> u64 {
        self.sets.as_ref().map_or(0, |sets| sets.objects)
    }
}
