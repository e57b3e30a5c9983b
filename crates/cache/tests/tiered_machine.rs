//! The machine of a cache with bytes, compared with a plain list of what is where: completions
//! arrive at any time, readers keep segments pinned, writes fail, and the host crashes.

use gordon_cache::tiered::{
    Action, Admission, DirectoryEntry, LogObject, LogShape, ObjectSize, Place, Removal, SetArrival,
    SetChoice, SetResident, SetShape, TieredMachine,
};
use gordon_units::{Ns, SplitMix64};
use std::collections::{BTreeMap, BTreeSet, HashMap};

const SHAPE: LogShape =
    LogShape { segments: 5, stride: 4096, capacity: 4000, unit: 64, reinsert: true, sets: None };

/// Objects of at most 384 bytes, which are about half of them, move to sets.
const SETS: SetShape =
    SetShape { sets: 5, bytes: 4096, capacity: 1000, largest: 384, threshold: 2 };

/// A set that is being written.
struct SetWrite {
    set: u32,
    content: Vec<InSet>,
    before: Vec<InSet>,
    choice: SetChoice,
    /// Number of objects that move to the set.
    moves: u64,
    /// Whether the machine has requested the write.
    is_update: bool,
}

/// An object: its key and its version.
type Content = (u64, u64);

/// An object in a set: its re-reference prediction value and its content.
type InSet = (u8, Content);

/// What the medium has in a segment.
#[derive(Clone, Debug, Default)]
struct OnMedium {
    sequence: u64,
    /// Objects with their sequence numbers.
    entries: Vec<(DirectoryEntry, Content, u64)>,
}

/// A driver that completes its work at random times.
struct Driver {
    machine: TieredMachine,
    shape: LogShape,
    random: SplitMix64,
    /// Objects in DRAM by their numbers.
    dram: BTreeMap<u32, Content>,
    /// Segments in memory.
    buffers: BTreeMap<u32, Vec<(DirectoryEntry, Content, u64)>>,
    medium: Vec<OnMedium>,
    sets: Vec<Vec<InSet>>,
    /// Sets whose update was requested, and the one that is being written.
    updates: Vec<u32>,
    set_write: Option<SetWrite>,
    in_sets: u64,
    writing: Vec<u32>,
    preparing: Option<u32>,
    /// Contents of the segment that was prepared.
    prepared: Vec<(DirectoryEntry, Content, u64)>,
    pins: Vec<u64>,
    sequence: u64,
    /// Durable removals: hash to sequence number.
    records: HashMap<u64, u64>,
    /// The current version of each key that may be found, and the last version of each key.
    current: HashMap<u64, u64>,
    versions: u64,
    patient: bool,
}

fn size(key: u64) -> ObjectSize {
    ObjectSize { bytes: 64 * (1 + key % 13), directory: 8 * (1 + (key % 5) as u32) }
}

impl Driver {
    fn new(shape: LogShape, seed: u64) -> Self {
        Self {
            machine: TieredMachine::new(6000, shape, Admission::All, seed),
            shape,
            random: SplitMix64(seed),
            dram: BTreeMap::new(),
            buffers: BTreeMap::new(),
            medium: vec![OnMedium::default(); shape.segments as usize],
            sets: vec![Vec::new(); shape.sets.map_or(0, |sets| sets.sets as usize)],
            updates: Vec::new(),
            set_write: None,
            in_sets: 0,
            writing: Vec::new(),
            preparing: None,
            prepared: Vec::new(),
            pins: Vec::new(),
            sequence: 0,
            records: HashMap::new(),
            current: HashMap::new(),
            versions: 0,
            patient: false,
        }
    }

    fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn append(&mut self, entry: DirectoryEntry, content: Content) {
        let sequence = self.next_sequence();
        let segment = self.machine.segment_of(entry.offset);
        let buffer = self.buffers.get_mut(&segment).expect("it is open");
        assert!(
            buffer
                .iter()
                .all(|(other, ..)| { other.offset + u64::from(other.bytes) <= entry.offset })
        );
        buffer.push((entry, content, sequence));
        let used: u32 = buffer.iter().map(|(entry, ..)| entry.bytes + entry.directory).sum();
        assert!(used <= self.shape.capacity);
    }

    fn act(&mut self) {
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::Drop { place } => {
                    let (key, _) = self.dram.remove(&place).expect("it was there");
                    self.current.remove(&key);
                }
                Action::Demote { place, entry } => {
                    let content = self.dram.remove(&place).expect("it was there");
                    assert_eq!(entry.key, content.0);
                    self.append(entry, content);
                }
                Action::Reinsert { from, to } => {
                    let old = self.prepared.iter().find(|(entry, ..)| *entry == from);
                    let content = old.expect("it was prepared").1;
                    self.current.insert(content.0, content.1);
                    self.append(DirectoryEntry { offset: to, ..from }, content);
                }
                Action::Open { segment } => {
                    self.prepared = self.medium[segment as usize].entries.clone();
                    for (entry, content, _) in &self.prepared {
                        // Evicted, unless an action inserts the object again.
                        let is_current = self.current.get(&content.0) == Some(&content.1);
                        if is_current && !self.is_elsewhere(*content, entry.offset) {
                            self.current.remove(&content.0);
                        }
                    }
                    self.buffers.insert(segment, Vec::new());
                }
                Action::Write { segment } => {
                    let pinned = |offset: &u64| self.machine.segment_of(*offset) == segment;
                    assert!(!self.pins.iter().any(pinned), "a reader would see new bytes");
                    self.writing.push(segment);
                }
                Action::Prepare { segment } => {
                    assert!(self.preparing.replace(segment).is_none());
                }
                Action::UpdateSet { set } => self.updates.push(set),
            }
        }
        let (_, bytes) = self.machine.in_dram();
        assert!(self.patient || bytes + self.machine.index_bytes() <= 6000);
    }

    /// Whether a version is in DRAM or in memory, or at another place on the medium.
    fn is_elsewhere(&self, content: Content, offset: u64) -> bool {
        let segments = self.buffers.values().chain(self.medium.iter().map(|it| &it.entries));
        self.dram.values().any(|held| *held == content)
            || (0..self.sets.len())
                .any(|set| self.content_of(set as u32).iter().any(|(_, held)| *held == content))
            || segments.flatten().any(|(entry, held, _)| {
                *held == content
                    && entry.offset != offset
                    && self.machine.is_live(content.0, entry.offset)
            })
    }

    /// The content of a set, as a reader sees it.
    fn content_of(&self, set: u32) -> &[InSet] {
        match &self.set_write {
            Some(write) if write.set == set => &write.content,
            _ => &self.sets[set as usize],
        }
    }

    /// Starts to write a set: without the object of a key, or with those that are in the log.
    fn begin_set(&mut self, set: u32, without: Option<u64>) {
        assert!(self.set_write.is_none());
        let before = self.sets[set as usize].clone();
        let size = |key: u64| size(key).bytes as u32;
        let mut residents = Vec::new();
        let mut objects: Vec<Content> = Vec::new();
        for (position, (rrpv, content)) in before.iter().enumerate() {
            let key = content.0;
            if without != Some(key) {
                residents.push(SetResident { key, size: size(key), position, rrpv: *rrpv });
                objects.push(*content);
            }
        }
        let mut arrivals = Vec::new();
        if without.is_none() {
            for LogObject { offset, was_hit, .. } in self.machine.in_log(set) {
                let content = self.content_at(offset);
                let key = content.0;
                assert!(self.machine.is_live(key, offset));
                arrivals.push(SetArrival { key, size: size(key), offset, was_hit });
                objects.push(content);
            }
        }
        let choice = self.machine.begin_set(set, before.len() as u64, &residents, &arrivals);
        let chosen = choice.chosen.iter();
        let content: Vec<InSet> = chosen.map(|(number, rrpv)| (*rrpv, objects[*number])).collect();
        let stays = |number: usize| choice.chosen.iter().any(|(chosen, _)| *chosen == number);
        let lost = (0..residents.len()).filter(|number| !stays(*number));
        let lost = lost.map(|number| objects[number]).collect();
        let moves = choice.chosen.iter().filter(|(number, _)| *number >= residents.len()).count();
        let moves = moves as u64;
        assert!(content.iter().map(|(_, content)| size(content.0)).sum::<u32>() <= 1000);
        let keys: BTreeSet<u64> = content.iter().map(|(_, content)| content.0).collect();
        assert_eq!(keys.len(), content.len(), "a key is twice in a set");
        let is_update = without.is_none();
        self.set_write = Some(SetWrite { set, content, before, choice, moves, is_update });
        self.settle(lost);
    }

    /// Versions were lost at one place. They are gone unless they are at another one, where a crash
    /// or a failed write may have left them.
    fn settle(&mut self, lost: Vec<Content>) {
        for content in lost {
            if self.current.get(&content.0) != Some(&content.1) {
                continue;
            }
            match self.find(content.0, false) {
                Some((_, version)) => assert_eq!(version, content.1),
                None => {
                    self.current.remove(&content.0);
                }
            }
        }
    }

    /// Ends the write of a set.
    fn end_set(&mut self, fails: bool) {
        let Some(write) = self.set_write.take() else { return };
        let SetWrite { set, content, before, choice, moves, is_update } = write;
        if is_update {
            self.machine.set_updated();
        }
        if fails {
            self.machine.fail_set(&choice);
            if self.chance(2) {
                self.sets[set as usize] = content;
            } else {
                // Evicted objects are found again, unless they have been replaced.
                for (_, held) in &before {
                    self.current.entry(held.0).or_insert(held.1);
                }
            }
            return;
        }
        self.machine.commit_set(&choice);
        self.in_sets += moves;
        self.sets[set as usize] = content;
    }

    /// Completes some work.
    fn complete(&mut self) {
        if self.set_write.is_some() && self.chance(2) {
            let fails = self.chance(8);
            self.end_set(fails);
        }
        if self.set_write.is_none() && !self.updates.is_empty() && self.chance(2) {
            let set = self.updates.remove(0);
            self.begin_set(set, None);
        }
        if !self.writing.is_empty() && self.chance(3) {
            let at = self.random.below(self.writing.len() as u64) as usize;
            let segment = self.writing.swap_remove(at);
            let entries = self.buffers.remove(&segment).expect("it was in memory");
            let fails = self.chance(8);
            // A failed write may leave the old segment, or have written the new one.
            if !fails || self.chance(2) {
                let sequence = self.next_sequence();
                self.medium[segment as usize] = OnMedium { sequence, entries: entries.clone() };
            }
            if fails {
                let directory: Vec<_> = entries.iter().map(|(entry, ..)| *entry).collect();
                let live = entries
                    .iter()
                    .filter(|(entry, content, _)| self.machine.is_live(content.0, entry.offset));
                let lost = live.map(|(_, content, _)| *content).collect();
                self.machine.fail(segment, &directory);
                self.settle(lost);
            } else {
                self.machine.commit(segment);
            }
        }
        if self.preparing.is_some() && self.chance(3) {
            let segment = self.preparing.take().expect("it is");
            let medium = &mut self.medium[segment as usize];
            if self.random.below(8) == 0 {
                // Its directory is damaged, and erased.
                let mut lost = std::mem::take(&mut medium.entries);
                lost.retain(|(entry, content, _)| self.machine.is_live(content.0, entry.offset));
                self.machine.unreadable(segment);
                self.settle(lost.iter().map(|(_, content, _)| *content).collect());
            } else {
                let entries = medium.entries.iter().map(|(entry, ..)| *entry).collect();
                self.machine.prepared(segment, entries);
            }
        }
        if !self.pins.is_empty() && self.chance(3) {
            let at = self.random.below(self.pins.len() as u64) as usize;
            let offset = self.pins.swap_remove(at);
            self.machine.release(offset);
        }
        self.act();
    }

    fn content_at(&self, offset: u64) -> Content {
        let segment = self.machine.segment_of(offset);
        let entries = match self.buffers.get(&segment) {
            Some(buffer) => buffer,
            None => &self.medium[segment as usize].entries,
        };
        let found = entries.iter().find(|(entry, ..)| entry.offset == offset);
        found.expect("an object is there").1
    }

    /// Where a key is, after the driver has compared full keys.
    fn find(&mut self, key: u64, request: bool) -> Option<(Place, u64)> {
        let mut place =
            if request { self.machine.lookup(Ns::ZERO, key) } else { self.machine.peek(key) };
        loop {
            let (offset, version) = match place {
                Place::Miss => return self.find_in_set(key, request),
                Place::Dram(number) => {
                    let content = self.dram[&number];
                    assert_eq!(content.0, key);
                    return Some((place, content.1));
                }
                Place::Buffered { offset } => (offset, self.content_at(offset)),
                Place::Flash { offset, bytes } => {
                    let content = self.content_at(offset);
                    let exact = size(content.0).bytes;
                    assert!(bytes >= exact && bytes <= exact + exact / 16 + 64);
                    if request && self.chance(4) {
                        self.pins.push(offset);
                    } else {
                        self.machine.release(offset);
                    }
                    (offset, content)
                }
            };
            if version.0 == key {
                return Some((place, version.1));
            }
            place = if request {
                self.machine.next_candidate(key, offset)
            } else {
                self.machine.peek_next(key, offset)
            };
        }
    }

    /// As [`find`](Self::find), in the set of a key.
    fn find_in_set(&mut self, key: u64, request: bool) -> Option<(Place, u64)> {
        let set = self.machine.set_with(key)?;
        let content = self.content_of(set).to_vec();
        if self.set_write.as_ref().is_none_or(|write| write.set != set) {
            let keys: Vec<u64> = content.iter().map(|(_, held)| held.0).collect();
            self.machine.learn_set(set, &keys);
        }
        let position = content.iter().position(|(_, held)| held.0 == key)?;
        if request {
            self.machine.mark_hit_in_set(set, position);
        }
        Some((Place::Miss, content[position].1.1))
    }

    /// Removes an object; records that durably if necessary. Returns whether there was one.
    fn remove(&mut self, key: u64) -> bool {
        let found = self.find(key, false);
        let mut record = self.machine.is_on_medium(key);
        match found {
            None => {}
            Some((Place::Dram(number), _)) => {
                self.machine.remove_from_dram(number);
                self.dram.remove(&number);
            }
            Some((Place::Buffered { offset } | Place::Flash { offset, .. }, _)) => {
                match self.machine.remove(key, offset).expect("it is there") {
                    Removal::OnMedium => record = true,
                    Removal::Buffered => {
                        let segment = self.machine.segment_of(offset);
                        let buffer = self.buffers.get_mut(&segment).expect("it is in memory");
                        buffer.retain(|(entry, ..)| entry.offset != offset);
                    }
                }
            }
            Some((Place::Miss, _)) => {}
        }
        if let Some(set) = self.machine.set_with(key) {
            // The medium may have the old content until the write is durable.
            if self.set_write.as_ref().is_some_and(|write| write.set == set) {
                self.end_set(false);
            }
            // A copy may be in the set after a crash or a failed write.
            if self.find_in_set(key, false).is_some() {
                self.end_set(false);
                self.begin_set(set, Some(key));
                self.end_set(false);
            }
        }
        if record {
            let sequence = self.next_sequence();
            self.records.insert(key, sequence);
            self.machine.recorded(key);
        }
        self.current.remove(&key);
        found.is_some()
    }

    fn put(&mut self, key: u64) {
        self.remove(key);
        self.versions += 1;
        let number = self.machine.insert(Ns::ZERO, key, size(key)).expect("it fits");
        self.dram.insert(number, (key, self.versions));
        self.current.insert(key, self.versions);
        self.act();
    }

    /// Every key is found as the list says.
    fn check(&mut self, keys: u64) {
        for key in 0..keys {
            let found = self.find(key, false).map(|(_, version)| version);
            assert_eq!(found, self.current.get(&key).copied(), "key {key}");
        }
        let found = self.machine.in_dram().0 + self.machine.in_flash().0;
        if self.sets.is_empty() {
            assert_eq!(self.current.len() as u64, found);
        } else {
            // A crash or a failed write may leave an object in the log and in its set.
            let in_sets: usize =
                (0..).zip(&self.sets).map(|(set, _)| self.content_of(set).len()).sum();
            assert!(self.current.len() as u64 <= found + in_sets as u64);
            assert!(self.machine.in_sets() <= in_sets as u64 + 20);
        }
    }

    /// The host crashes: a new machine recovers what the medium has.
    fn crash(&mut self, newest: &HashMap<u64, u64>) {
        let mut next = Self::new(self.shape, self.random.next_u64());
        next.sequence = self.sequence;
        next.versions = self.versions;
        next.records = self.records.clone();
        if let Some(SetWrite { set, content, .. }) = self.set_write.take() {
            match self.random.below(3) {
                0 => self.sets[set as usize] = content,
                // A torn write.
                1 => self.sets[set as usize].clear(),
                _ => {}
            }
        }
        next.sets = std::mem::take(&mut self.sets);
        next.in_sets = self.in_sets;
        for (_, content) in next.sets.iter().flatten() {
            let is_newest = newest.get(&content.0) == Some(&content.1);
            assert!(is_newest, "{content:?} was removed or replaced");
            next.current.insert(content.0, content.1);
        }
        let mut order: Vec<usize> = (0..self.medium.len()).collect();
        order.sort_by_key(|at| self.medium[*at].sequence);
        for at in order.iter().copied() {
            for (entry, content, sequence) in &self.medium[at].entries {
                if self.records.get(&content.0).is_some_and(|removed| removed > sequence) {
                    continue;
                }
                let is_newest = newest.get(&content.0) == Some(&content.1);
                assert!(is_newest, "{content:?} was removed or replaced");
                next.medium[at] = self.medium[at].clone();
                // An older copy of the same version.
                if let Some((Place::Flash { offset, .. }, _)) = next.find(content.0, false) {
                    next.machine.remove(content.0, offset);
                }
                next.machine.recover(entry);
                next.current.insert(content.0, content.1);
            }
            next.medium[at] = self.medium[at].clone();
        }
        let newest = *order.last().expect("there are segments");
        next.machine.recovered(newest as u32 + 1);
        *self = next;
        self.act();
    }
}

fn run(shape: LogShape, seed: u64) {
    let mut driver = Driver::new(shape, seed);
    // The last version of each key that was not removed, in the cache or not.
    let mut newest: HashMap<u64, u64> = HashMap::new();
    let keys = 60;
    for step in 0..1500 {
        let key = driver.random.below(keys);
        match driver.random.below(12) {
            0..=5 => {
                let found = driver.find(key, true).map(|(_, version)| version);
                assert_eq!(found, driver.current.get(&key).copied(), "key {key}");
                if found.is_none() {
                    driver.put(key);
                    newest.insert(key, driver.versions);
                }
            }
            6 => {
                driver.put(key);
                newest.insert(key, driver.versions);
            }
            7 => {
                driver.remove(key);
                newest.remove(&key);
            }
            8 if driver.chance(100) => driver.crash(&newest),
            _ => driver.complete(),
        }
        if step % 50 == 0 {
            driver.check(keys);
        }
    }
    // A clean shutdown moves everything to the medium.
    driver.machine.drain();
    driver.patient = true;
    while !driver.machine.is_drained() {
        driver.complete();
    }
    driver.machine.flush();
    while driver.machine.in_flight() > 0 {
        driver.complete();
    }
    driver.check(keys);
    assert!(driver.dram.is_empty());
    assert!(shape.sets.is_none() || driver.in_sets > 20, "{}", driver.in_sets);
    driver.crash(&newest);
    driver.check(keys);
}

#[test]
fn every_key_is_found_as_a_plain_list_says_and_nothing_removed_comes_back() {
    for seed in 0..60 {
        run(SHAPE, seed);
    }
}

#[test]
fn small_objects_move_to_sets_and_nothing_removed_comes_back() {
    for seed in 0..60 {
        let shape = LogShape { sets: Some(SETS), reinsert: seed % 2 == 0, ..SHAPE };
        run(shape, seed);
        let sets = Some(SetShape { sets: 1, threshold: 1, ..SETS });
        run(LogShape { sets, segments: 2, ..SHAPE }, 1000 + seed);
    }
}

#[test]
fn it_works_with_two_segments_and_without_reinsertion() {
    for seed in 0..40 {
        run(LogShape { segments: 2, reinsert: false, ..SHAPE }, seed);
        run(LogShape { segments: 2, ..SHAPE }, 1000 + seed);
    }
}

#[test]
fn writes_that_do_not_end_refuse_admission_instead_of_keeping_objects_waiting() {
    let mut driver = Driver::new(SHAPE, 1);
    for key in 0..400 {
        driver.put(key);
    }
    let counts = driver.machine.counts();
    assert!(counts.refused > 0 && counts.admitted > 0, "{counts:?}");
    assert_eq!(counts.offered, counts.admitted + counts.refused + counts.dropped);
    assert!(driver.machine.in_flight() <= 3);
}
