//! A cache in DRAM and a log in flash, with sets for small objects, for a driver that has the
//! bytes.
//!
//! The machine decides where objects are; it has no bytes, no full keys, no I/O and no clock. Keys
//! are hashes of 64 bits. The driver carries out its [`Action`]s and reports what was completed.
//!
//! 1. [`lookup`](TieredMachine::lookup) answers where an object may be. In flash this is a
//!    candidate: the driver reads it and compares the full key, and asks for the
//!    [`next_candidate`](TieredMachine::next_candidate) if the key differs. A segment that is being
//!    read from the medium is pinned until [`release`](TieredMachine::release).
//! 2. After a miss the driver [`insert`](TieredMachine::insert)s the object into DRAM. Objects that
//!    DRAM evicts appear as actions: their bytes are dropped, or move to the segment that is being
//!    filled in memory.
//! 3. A full segment is written ([`Action::Write`]) when no reader has its place pinned. Its
//!    objects are served from memory until [`commit`](TieredMachine::commit).
//! 4. The place of a new segment is that of the oldest one. Which objects are there is read from
//!    its directory ahead of time ([`Action::Prepare`]), so that opening a segment never waits. If
//!    it is not read yet, or too many segments are being written, admission refuses objects.
//! 5. After a restart, [`recover`](TieredMachine::recover) takes the directories, oldest first.
//!
//! With [`LogShape::sets`], small objects leave the log for a set. Before a segment is evicted,
//! each set of its small objects is updated ([`Action::UpdateSet`]): the driver reads the set and
//! the objects of the set in the log ([`in_log`](TieredMachine::in_log)), gets those that are in it
//! from now on ([`begin_set`](TieredMachine::begin_set)), writes the set, and reports that with
//! [`commit_set`](TieredMachine::commit_set). An object is in the index of the log until then. What
//! is in the sets is known by filters only ([`set_with`](TieredMachine::set_with)), so the driver
//! removes an object from a set by writing the set again.
//!
//! Bytes on the medium outlive their entries in the index. An object that was evicted may come back
//! after a crash, until the directory of its segment is overwritten; one that was removed must not.
//! [`remove`](TieredMachine::remove) and [`is_on_medium`](TieredMachine::is_on_medium) say when the
//! driver must record the removal durably.

mod moving;

use super::dram::DramTier;
use super::flash_index::{FlashIndex, rounded};
use super::sets::SetIndex;
use super::vocabulary::{Action, DirectoryEntry, LogShape, ObjectSize, Place, Removal};
use super::{Admission, TieredCounts};
use crate::index::hash;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use gordon_units::Ns;

/// Memory of the index for each object, for which DRAM holds fewer objects: a slot of 64 bits in a
/// table that is four fifths full.
pub(super) const INDEX_BYTES: u64 = 10;

/// Segments that may be waiting to be written, or being written, while another is filled.
const IN_FLIGHT: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentState {
    /// On the medium, or empty.
    Stored,
    /// Being filled in memory.
    Open,
    /// Full; readers have its place pinned.
    Full,
    /// Being written.
    Writing,
}

#[derive(Clone, Debug)]
struct Segment {
    state: SegmentState,
    /// Bytes used by objects, and by entries of the directory.
    bytes: u32,
    directory: u32,
    /// Slots of the index: objects, and those that have moved to sets.
    live: u32,
    pins: u32,
}

/// The state of the directory of the oldest segment.
#[derive(Clone, Debug)]
enum Preparation {
    NotRequested,
    Requested,
    /// Objects move to this number of sets first.
    Moving(Vec<DirectoryEntry>, usize),
    Ready(Vec<DirectoryEntry>),
}

/// A cache in DRAM and a log in flash.
pub struct TieredMachine {
    tier: DramTier,
    shape: LogShape,
    index: FlashIndex,
    segments: Vec<Segment>,
    /// By segment, the hashes, in order, of objects that are not in the index, but whose entries on
    /// the medium have not been overwritten.
    evicted: BTreeMap<u32, Vec<u64>>,
    /// The segment that is being filled.
    open: Option<u32>,
    /// The oldest segment, which is opened next.
    next: u32,
    preparation: Preparation,
    in_flight: usize,
    actions: VecDeque<Action>,
    counts: TieredCounts,
    /// Whether eviction from DRAM waits for the flash instead of dropping objects.
    patient: bool,
    /// Bytes by which DRAM may exceed its size while eviction waits for the flash.
    slack: u64,
    live_bytes: u64,
    sets: Option<SetIndex>,
}

impl TieredMachine {
    /// Creates an empty cache with `dram` bytes of DRAM. `seed` determines the random draws.
    ///
    /// # Panics
    /// The log has fewer than two segments, or a segment has no space for an object.
    pub fn new(dram: u64, shape: LogShape, admission: Admission, seed: u64) -> Self {
        assert!((2..1 << 30).contains(&shape.segments), "a log of {} segments", shape.segments);
        assert!(shape.capacity > 0 && shape.capacity <= shape.stride, "{shape:?}");
        let segment =
            Segment { state: SegmentState::Stored, bytes: 0, directory: 0, live: 0, pins: 0 };
        let flash = u64::from(shape.segments) * u64::from(shape.stride);
        Self {
            tier: DramTier::new(dram, shape.capacity, admission, seed),
            index: FlashIndex::new(flash, shape.unit, shape.capacity),
            segments: vec![segment; shape.segments as usize],
            evicted: BTreeMap::new(),
            open: None,
            next: 0,
            preparation: Preparation::NotRequested,
            in_flight: 0,
            actions: VecDeque::new(),
            counts: TieredCounts::default(),
            patient: false,
            slack: 0,
            live_bytes: 0,
            sets: shape.sets.map(SetIndex::new),
            shape,
        }
    }

    /// The segment of an offset.
    pub fn segment_of(&self, offset: u64) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // fewer than 2^30 segments
        let segment = (offset / u64::from(self.shape.stride)) as u32;
        segment
    }

    fn segment(&mut self, offset: u64) -> &mut Segment {
        let at = self.segment_of(offset);
        &mut self.segments[at as usize]
    }

    fn location(&self, offset: u64) -> u64 {
        offset / u64::from(self.shape.unit)
    }

    /// Finds an object for a request that arrives at `at`.
    pub fn lookup(&mut self, at: Ns, key: u64) -> Place {
        self.tier.admission.advance(at, &self.counts);
        if let Some(place) = self.tier.find(key) {
            return Place::Dram(place);
        }
        self.candidate(key, None, true)
    }

    /// The next object in flash that may be the one of this key, after the one at `offset` turned
    /// out to have another key.
    pub fn next_candidate(&mut self, key: u64, offset: u64) -> Place {
        self.candidate(key, Some(offset), true)
    }

    /// As [`lookup`](Self::lookup), but not a request: the object is not marked as requested.
    pub fn peek(&mut self, key: u64) -> Place {
        match self.tier.store.find(key) {
            Some(place) => Place::Dram(place),
            None => self.candidate(key, None, false),
        }
    }

    /// As [`next_candidate`](Self::next_candidate), but not a request.
    pub fn peek_next(&mut self, key: u64, offset: u64) -> Place {
        self.candidate(key, Some(offset), false)
    }

    fn candidate(&mut self, key: u64, after: Option<u64>, request: bool) -> Place {
        let unit = u64::from(self.shape.unit);
        let after = after.map(|offset| offset / unit);
        let Some(found) = self.index.candidate(hash(key), after, request) else {
            return Place::Miss;
        };
        let offset = found.location * unit;
        let segment = self.segment(offset);
        if segment.state != SegmentState::Stored {
            return Place::Buffered { offset };
        }
        segment.pins += 1;
        Place::Flash { offset, bytes: found.size * unit }
    }

    /// Pins a segment that is on the medium, for reading all of it. Returns whether it is there.
    pub fn pin(&mut self, segment: u32) -> bool {
        let segment = &mut self.segments[segment as usize];
        let is_stored = segment.state == SegmentState::Stored;
        segment.pins += u32::from(is_stored);
        is_stored
    }

    /// Whether a segment is on the medium, or empty.
    pub(super) fn is_stored(&self, segment: u32) -> bool {
        self.segments[segment as usize].state == SegmentState::Stored
    }

    /// As [`pin`](Self::pin), unless the segment is pinned already.
    pub fn pin_idle(&mut self, segment: u32) -> bool {
        self.segments[segment as usize].pins == 0 && self.pin(segment)
    }

    /// Ends the reading of a [`Place::Flash`] or of a segment that was [`pin`](Self::pin)ned, by
    /// any offset in the segment.
    pub fn release(&mut self, offset: u64) {
        let number = self.segment_of(offset);
        let segment = self.segment(offset);
        segment.pins -= 1;
        if segment.pins == 0 && segment.state == SegmentState::Full {
            self.write(number);
        }
    }

    fn write(&mut self, segment: u32) {
        self.segments[segment as usize].state = SegmentState::Writing;
        self.counts.written += u64::from(self.shape.stride);
        self.actions.push_back(Action::Write { segment });
    }

    /// Inserts an object, for which there was a miss, into DRAM. Returns its number, or `None` if
    /// it is too large. The actions that follow make space for it.
    pub fn insert(&mut self, at: Ns, key: u64, size: ObjectSize) -> Option<u32> {
        self.tier.admission.advance(at, &self.counts);
        let fits = size.total() <= self.object_capacity();
        fits.then(|| self.tier.insert(key, size.total(), size.directory))
    }

    /// DRAM for objects in bytes.
    fn object_capacity(&self) -> u64 {
        self.tier.dram.saturating_sub(self.index_bytes())
    }

    /// Removes an object from DRAM; the driver drops its bytes.
    pub fn remove_from_dram(&mut self, place: u32) {
        self.tier.remove(place);
    }

    /// Removes an object from flash. Returns `None` if it is not at this offset.
    pub fn remove(&mut self, key: u64, offset: u64) -> Option<Removal> {
        if !self.is_live(key, offset) {
            return None;
        }
        self.forget(key, offset)?;
        match self.segment(offset).state {
            SegmentState::Open | SegmentState::Full => Some(Removal::Buffered),
            SegmentState::Writing | SegmentState::Stored => Some(Removal::OnMedium),
        }
    }

    /// Removes an entry of the index. Returns whether the object was requested.
    fn forget(&mut self, key: u64, offset: u64) -> Option<bool> {
        let removed = self.index.remove(hash(key), self.location(offset))?;
        self.live_bytes -= removed.size * u64::from(self.shape.unit);
        self.segment(offset).live -= 1;
        // An object that has moved to a set has no size.
        (removed.size > 0).then_some(removed.was_hit)
    }

    /// Whether an object is in flash at this offset.
    pub fn is_live(&self, key: u64, offset: u64) -> bool {
        self.index.contains(hash(key), self.location(offset))
    }

    /// Whether the log on the medium may have an object of this key that is not in the index
    /// because it was evicted or has moved to a set, and that a restart could bring back.
    pub fn is_on_medium(&self, key: u64) -> bool {
        self.index.may_have_moved(hash(key))
            || self.evicted.values().any(|keys| keys.binary_search(&key).is_ok())
    }

    /// Reports that the removal of all objects of this key so far is recorded.
    pub fn recorded(&mut self, key: u64) {
        for keys in self.evicted.values_mut() {
            while let Ok(at) = keys.binary_search(&key) {
                keys.remove(at);
            }
        }
    }

    /// The next action, if any. The driver calls this after each insertion, and after each report
    /// of a completion.
    pub fn next_action(&mut self) -> Option<Action> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            self.prepare();
            if !self.actions.is_empty() {
                continue;
            }
            if self.tier.list.bytes <= self.object_capacity() {
                return None;
            }
            let waits = self.patient || self.tier.list.bytes <= self.object_capacity() + self.slack;
            if waits && !self.can_admit() {
                return None;
            }
            self.evict();
        }
    }

    /// Requests the directory of the oldest segment if that is possible and has not been done.
    fn prepare(&mut self) {
        let segment = &self.segments[self.next as usize];
        if segment.state != SegmentState::Stored
            || !matches!(self.preparation, Preparation::NotRequested)
        {
            return;
        }
        if segment.live == 0 {
            self.preparation = Preparation::Ready(Vec::new());
            return;
        }
        self.preparation = Preparation::Requested;
        self.actions.push_back(Action::Prepare { segment: self.next });
    }

    /// Whether every object can be admitted now without waiting.
    fn can_admit(&self) -> bool {
        let largest = self.tier.list.oldest;
        let size = if self.tier.list.len == 0 { 0 } else { self.tier.store.size(largest) };
        self.open.is_some_and(|open| self.fits(open, size)) || self.can_open()
    }

    fn can_open(&self) -> bool {
        // Sealing the open segment adds one in flight.
        let sealed = usize::from(self.open.is_some());
        self.in_flight + sealed <= IN_FLIGHT
            && matches!(self.preparation, Preparation::Ready(_))
            && self.segments[self.next as usize].state == SegmentState::Stored
    }

    fn fits(&self, segment: u32, size: u64) -> bool {
        let segment = &self.segments[segment as usize];
        u64::from(segment.bytes) + u64::from(segment.directory) + size
            <= u64::from(self.shape.capacity)
    }

    /// Evicts the least recently used object from DRAM.
    fn evict(&mut self) {
        let (place, admitted) = self.tier.evict(&mut self.counts);
        let Some(entry) = admitted else {
            self.actions.push_back(Action::Drop { place });
            return;
        };
        let size = u64::from(entry.bytes) + u64::from(entry.directory);
        if !self.open.is_some_and(|open| self.fits(open, size)) && !self.open_next(size) {
            self.counts.admitted -= size;
            self.counts.refused += size;
            self.actions.push_back(Action::Drop { place });
            return;
        }
        let offset = self.append(&entry);
        let entry = DirectoryEntry { offset, ..entry };
        self.actions.push_back(Action::Demote { place, entry });
    }

    /// Adds an object to the open segment, into which it fits.
    fn append(&mut self, entry: &DirectoryEntry) -> u64 {
        let number = self.open.expect("a segment is open");
        let stride = u64::from(self.shape.stride);
        let segment = &mut self.segments[number as usize];
        let offset = u64::from(number) * stride + u64::from(segment.bytes);
        segment.bytes += entry.bytes;
        segment.directory += entry.directory;
        segment.live += 1;
        self.add(entry.key, offset, entry.bytes);
        offset
    }

    fn add(&mut self, key: u64, offset: u64, bytes: u32) {
        let unit = u64::from(self.shape.unit);
        let size = u64::from(bytes).div_ceil(unit).max(1);
        self.index.insert(hash(key), offset / unit, size);
        self.live_bytes += rounded(size) * unit;
    }

    /// Seals the open segment and opens the oldest one, from which objects are evicted. Requested
    /// ones are inserted again as long as an object of `size` bytes still fits. Returns whether a
    /// segment could be opened.
    fn open_next(&mut self, size: u64) -> bool {
        let ready = self.can_open();
        self.seal();
        if !ready {
            return false;
        }
        let number = self.next;
        let preparation = core::mem::replace(&mut self.preparation, Preparation::NotRequested);
        let Preparation::Ready(entries) = preparation else { unreachable!("it can be opened") };
        let mut again = Vec::new();
        let mut evicted = self.evicted.remove(&number).unwrap_or_default();
        for entry in entries {
            evicted.push(entry.key);
            // Objects that were removed or have moved are not in the index.
            let Some(was_hit) = self.forget(entry.key, entry.offset) else { continue };
            if was_hit && self.shape.reinsert {
                again.push(entry);
            } else if self.is_small(entry.bytes.into()) {
                self.counts.dropped += 1;
            } else {
                self.counts.evicted += 1;
            }
        }
        evicted.sort_unstable();
        let segment = &mut self.segments[number as usize];
        debug_assert_eq!(segment.live, 0, "the directory of a segment has all its objects");
        (segment.bytes, segment.directory) = (0, 0);
        segment.state = SegmentState::Open;
        self.evicted.insert(number, evicted);
        self.open = Some(number);
        self.next = (number + 1) % self.shape.segments;
        self.actions.push_back(Action::Open { segment: number });
        for from in again {
            if self.fits(number, u64::from(from.bytes) + u64::from(from.directory) + size) {
                let to = self.append(&from);
                self.counts.reinserted += 1;
                self.actions.push_back(Action::Reinsert { from, to });
            } else {
                self.counts.evicted += 1;
            }
        }
        true
    }

    /// Ends the filling of the open segment.
    fn seal(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.in_flight += 1;
        self.segments[open as usize].state = SegmentState::Full;
        if self.segments[open as usize].pins == 0 {
            self.write(open);
        }
    }

    /// Reports that a segment and its directory are durable.
    pub fn commit(&mut self, segment: u32) {
        self.in_flight -= 1;
        let state = &mut self.segments[segment as usize].state;
        assert_eq!(*state, SegmentState::Writing, "a commit without a write");
        *state = SegmentState::Stored;
        self.evicted.remove(&segment);
    }

    /// Reports that a segment with these objects could not be written. They are evicted. The medium
    /// may have them, or those that were there before.
    pub fn fail(&mut self, segment: u32, entries: &[DirectoryEntry]) {
        for entry in entries {
            if self.forget(entry.key, entry.offset).is_some() {
                self.counts.evicted += 1;
            }
        }
        self.in_flight -= 1;
        let state = &mut self.segments[segment as usize].state;
        assert_eq!(*state, SegmentState::Writing, "a failure without a write");
        *state = SegmentState::Stored;
        let evicted = self.evicted.entry(segment).or_default();
        evicted.extend(entries.iter().map(|entry| entry.key));
        evicted.sort_unstable();
    }

    /// Reports the objects in the directory of a segment, in the order in which they were written.
    pub fn prepared(&mut self, segment: u32, entries: Vec<DirectoryEntry>) {
        assert!(
            segment == self.next && matches!(self.preparation, Preparation::Requested),
            "a directory that was not requested"
        );
        let sets = self.sets_to_update(&entries);
        self.actions.extend(sets.iter().map(|set| Action::UpdateSet { set: *set }));
        self.preparation = match sets.len() {
            0 => Preparation::Ready(entries),
            count => Preparation::Moving(entries, count),
        };
    }

    /// Reports that the directory of a segment cannot be read, after it has been erased durably.
    /// Its objects are evicted.
    pub fn unreadable(&mut self, segment: u32) {
        self.evict_segment(segment);
        if segment == self.next && matches!(self.preparation, Preparation::Requested) {
            self.preparation = Preparation::Ready(Vec::new());
        }
    }

    /// Evicts all objects of a segment that is on the medium. The driver records that durably
    /// before objects of the same keys are in the cache again.
    pub fn evict_segment(&mut self, segment: u32) {
        let units = u64::from(self.shape.stride) / u64::from(self.shape.unit);
        let start = u64::from(segment) * units;
        let (mut objects, mut size) = (0, 0);
        self.index.sweep(start..start + units, |found| {
            objects += 1;
            size += found.size;
        });
        self.live_bytes -= size * u64::from(self.shape.unit);
        self.counts.evicted += objects;
        self.segments[segment as usize].live = 0;
    }

    /// Adds an object that was found in a directory after a restart. The driver adds them in the
    /// order in which they were written, and first removes an older one of the same key.
    pub fn recover(&mut self, entry: &DirectoryEntry) {
        self.segment(entry.offset).live += 1;
        self.add(entry.key, entry.offset, entry.bytes);
    }

    /// Ends the recovery: the segment to be filled next is the one after the newest.
    pub fn recovered(&mut self, next: u32) {
        self.next = next % self.shape.segments;
        self.preparation = Preparation::NotRequested;
    }

    /// Continues the counts of a cache that had written this number of bytes in its life. A budget
    /// counts from time 0.
    pub fn resume(&mut self, written: u64) {
        self.counts.written = written;
        self.tier.admission.resume();
    }

    /// Counts bytes that the driver wrote to its journal.
    pub fn count_journal(&mut self, bytes: u64) {
        self.counts.written += bytes;
        self.counts.journal += bytes;
    }

    /// Empties DRAM: the next actions move all objects that are admitted to flash. They wait for it
    /// instead of dropping objects.
    pub fn drain(&mut self) {
        self.tier.dram = 0;
        self.patient = true;
    }

    /// Lets DRAM exceed its size by `slack` bytes while the flash cannot take an object. Objects
    /// are dropped only beyond that.
    pub fn set_slack(&mut self, slack: u64) {
        self.slack = slack;
    }

    /// Whether DRAM exceeds its size, because eviction waits for the flash.
    pub fn is_behind(&self) -> bool {
        self.tier.list.bytes > self.object_capacity()
    }

    /// Whether objects are left in DRAM.
    pub fn is_drained(&self) -> bool {
        self.tier.list.len == 0
    }

    /// Seals the open segment, so that it is written.
    pub fn flush(&mut self) {
        if self.open.is_some_and(|open| self.segments[open as usize].live > 0) {
            self.seal();
        }
    }

    /// Number of segments that wait to be written or are being written.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The counts so far.
    pub fn counts(&self) -> TieredCounts {
        self.counts
    }

    pub(super) fn count_read(&mut self, bytes: u64) {
        self.counts.read += bytes;
    }

    /// Sets the number of bytes that flash programs for each byte written to it.
    pub fn set_write_amplification(&mut self, factor: f64) {
        self.tier.admission.write_amplification = factor;
    }

    /// The probability with which an offered object is admitted now, if the admission is random.
    pub fn admission_rate(&self) -> f64 {
        self.tier.admission.rate()
    }

    /// Memory of the index of flash, for which DRAM holds fewer objects, in bytes.
    pub fn index_bytes(&self) -> u64 {
        self.index.slots() * INDEX_BYTES + self.set_memory()
    }

    /// Memory that the index has allocated, in bytes.
    pub fn index_memory(&self) -> u64 {
        self.index.memory() + self.set_memory()
    }

    fn set_memory(&self) -> u64 {
        self.sets.as_ref().map_or(0, SetIndex::memory)
    }

    /// Number of objects in DRAM, and their bytes.
    pub fn in_dram(&self) -> (u64, u64) {
        (self.tier.list.len, self.tier.list.bytes)
    }

    /// Number of objects in the log, and their bytes, rounded up by at most a sixteenth each.
    pub fn in_flash(&self) -> (u64, u64) {
        (self.index.len(), self.live_bytes)
    }

    /// Calls `each` with the key and size of every object in DRAM.
    pub fn each_in_dram(&self, mut each: impl FnMut(u64, u64)) {
        self.tier.store.iter().for_each(|(key, size, _)| each(key, size));
    }
}
