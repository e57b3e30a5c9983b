//! The index of objects in flash: one slot of 64 bits an object, without keys.
//!
//! | bits of a slot | content |
//! |---|---|
//! | location | offset in units, plus 1; 0 in an empty slot |
//! | 3 | distance of the bucket from the home bucket of the object |
//! | 1 | whether the object was requested since it was written |
//! | 8 or 9 | size, rounded up to 5 significant bits; 0 after the object has moved to a set |
//! | the rest | tag: bits of the hash |
//!
//! A bucket is a cache line of 8 slots. An object whose home bucket is full goes to one of the next
//! 7; a byte for each home bucket has the longest distance in use. The home bucket is the hash
//! times the number of buckets, as a fraction, so the position of a bucket and the tag together are
//! a prefix of the hash. The table can therefore grow by an eighth at a time without the keys. It
//! grows when it is four fifths full: between 10.2 and 11.5 bytes an object. Parts of the table
//! grow on their own, so that growth neither needs twice the memory nor takes long.
//!
//! Two objects may have the same prefix of the hash. A lookup therefore returns candidates, which
//! the caller verifies by the key that is stored with the object.
//!
//! The set of an object is the same prefix times the number of sets, as a fraction. The objects of
//! a set are therefore in consecutive buckets, and are found without a list.

use alloc::vec;
use alloc::vec::Vec;

const SLOTS: usize = 8;
/// Number of buckets that may hold the objects of a home bucket, as a power of two.
const REACH_BITS: u32 = 3;
/// Bytes of flash for each bucket of an empty table: 8 objects of 256 KiB, the largest blocks.
const BYTES_PER_BUCKET: u64 = 2 << 20;
/// Maximum number of parts that grow on their own, as a power of two.
const SHARD_BITS: u32 = 6;
/// Significant bits of a size that are stored, without the leading one.
const MANTISSA: u32 = 4;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket([u64; SLOTS]);

/// An object in flash that has the same prefix of the hash as the one that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Offset in units.
    pub location: u64,
    /// Size in units, rounded up by at most a sixteenth.
    pub size: u64,
    /// Whether it was requested since it was written.
    pub was_hit: bool,
}

/// Positions of the fields of a slot.
#[derive(Clone, Copy, Debug)]
struct Fields {
    location: u32,
    size: u32,
}

impl Fields {
    /// The lowest bit of the distance.
    fn distance(self) -> u32 {
        self.location
    }

    fn hit(self) -> u32 {
        self.location + REACH_BITS
    }

    fn size_at(self) -> u32 {
        self.hit() + 1
    }

    fn tag_at(self) -> u32 {
        self.size_at() + self.size
    }

    fn tag_bits(self) -> u32 {
        64 - self.tag_at()
    }

    fn candidate(self, slot: u64) -> Candidate {
        Candidate {
            location: (slot & low(self.location)) - 1,
            size: decode(slot >> self.size_at() & low(self.size)),
            was_hit: slot >> self.hit() & 1 == 1,
        }
    }

    /// Whether the object of a slot has moved to a set.
    fn is_moved(self, slot: u64) -> bool {
        slot >> self.size_at() & low(self.size) == 0
    }

    /// Whether a slot is that of an object with this tag, at this distance from its home.
    #[inline]
    fn matches(self, slot: u64, distance: usize, tag: u64) -> bool {
        slot != 0
            && slot >> self.tag_at() == tag
            && slot >> self.distance() & low(REACH_BITS) == distance as u64
    }
}

fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Encodes a size in units, rounded up to [`MANTISSA`] + 1 significant bits.
fn encode(units: u64) -> u64 {
    let bits = u64::BITS - units.leading_zeros();
    if bits <= MANTISSA {
        return units;
    }
    let shift = bits - MANTISSA - 1;
    let rounded = (units + low(shift)) >> shift;
    // Rounding up may have carried into one more bit.
    let (rounded, shift) =
        if rounded >> (MANTISSA + 1) == 0 { (rounded, shift) } else { (rounded >> 1, shift + 1) };
    u64::from(shift + 1) << MANTISSA | (rounded & low(MANTISSA))
}

fn decode(code: u64) -> u64 {
    match code >> MANTISSA {
        0 => code,
        exponent => (1 << MANTISSA | (code & low(MANTISSA))) << (exponent - 1),
    }
}

/// A size in units as the index stores it: rounded up by at most a sixteenth.
pub(super) fn rounded(units: u64) -> u64 {
    decode(encode(units))
}

/// A part of the table.
struct Shard {
    buckets: Vec<Bucket>,
    /// By home bucket, the longest distance of an object from it.
    reach: Vec<u8>,
    live: usize,
}

/// The index.
pub(super) struct FlashIndex {
    shards: Vec<Shard>,
    shard_bits: u32,
    fields: Fields,
    /// Number of bits of the hash, after those of the shard, that bucket and tag determine.
    prefix: u32,
    live: u64,
    /// Slots of objects that have moved to sets.
    moved: u64,
}

/// Where the slot of an object is or could be.
#[derive(Clone, Copy)]
struct Home {
    shard: usize,
    bucket: usize,
    tag: u64,
}

impl Shard {
    /// The home bucket of a prefix of the hash.
    #[inline]
    fn home(&self, value: u64, prefix: u32) -> usize {
        ((u128::from(value) * self.buckets.len() as u128) >> prefix) as usize
    }

    /// The prefix of the hash of an object with this home bucket and tag. The prefixes of a bucket
    /// are consecutive numbers, at most as many as there are tags.
    fn value(&self, home: usize, tag: u64, prefix: u32, fields: Fields) -> u64 {
        let scaled = (home as u128) << prefix;
        let start = scaled.div_ceil(self.buckets.len() as u128) as u64;
        start + (tag.wrapping_sub(start) & low(fields.tag_bits()))
    }

    fn at(&self, home: usize, distance: usize) -> usize {
        let at = home + distance;
        if at < self.buckets.len() { at } else { at % self.buckets.len() }
    }

    /// The number of buckets that an object of a home bucket may be in.
    fn span(&self) -> usize {
        self.buckets.len().min(1 << REACH_BITS)
    }

    /// Puts a slot, without its distance, into a bucket with space. Returns whether there is one.
    fn put(&mut self, home: usize, slot: u64, fields: Fields) -> bool {
        for distance in 0..self.span() {
            let at = self.at(home, distance);
            if let Some(free) = self.buckets[at].0.iter_mut().find(|slot| **slot == 0) {
                *free = slot | (distance as u64) << fields.distance();
                self.reach[home] = self.reach[home].max(distance as u8);
                return true;
            }
        }
        false
    }

    /// Moves all slots to a table with at least one more bucket.
    #[cold]
    fn grow(&mut self, prefix: u32, fields: Fields) {
        let mut buckets = self.buckets.len();
        loop {
            buckets += buckets / 8 + 1;
            let mut new = Self {
                buckets: vec![Bucket([0; SLOTS]); buckets],
                reach: vec![0; buckets],
                live: self.live,
            };
            let moved = (0..).zip(&self.buckets).all(|(at, bucket)| {
                bucket.0.iter().filter(|slot| **slot != 0).all(|slot| {
                    let distance = (slot >> fields.distance() & low(REACH_BITS)) as usize;
                    let old = if at >= distance { at } else { at + self.buckets.len() } - distance;
                    let tag = slot >> fields.tag_at();
                    let home = new.home(self.value(old, tag, prefix, fields), prefix);
                    let kept =
                        slot & low(fields.tag_at()) & !(low(REACH_BITS) << fields.distance());
                    new.put(home, kept | tag << fields.tag_at(), fields)
                })
            });
            if moved {
                *self = new;
                return;
            }
        }
    }

    /// Computes the longest distance of the objects of a home bucket again.
    fn shorten(&mut self, home: usize, fields: Fields) {
        let is_far = |distance: &usize| {
            let at = self.at(home, *distance);
            let expected = *distance as u64;
            self.buckets[at]
                .0
                .iter()
                .any(|slot| *slot != 0 && slot >> fields.distance() & low(REACH_BITS) == expected)
        };
        let longest = (1..=usize::from(self.reach[home])).rev().find(is_far).unwrap_or(0);
        self.reach[home] = longest as u8;
    }
}

impl FlashIndex {
    /// An empty index of `flash` bytes in units of `unit` bytes, for objects of at most `largest`
    /// bytes.
    pub fn new(flash: u64, unit: u32, largest: u32) -> Self {
        let units = flash / u64::from(unit) + 1;
        let size = u64::BITS - encode(u64::from(largest.div_ceil(unit))).leading_zeros();
        let fields = Fields { location: u64::BITS - units.leading_zeros(), size: size.max(8) };
        let buckets = (flash / BYTES_PER_BUCKET).max(1).next_power_of_two().ilog2();
        let shard_bits = buckets.min(SHARD_BITS);
        let buckets = buckets - shard_bits;
        let empty = || Shard {
            buckets: vec![Bucket([0; SLOTS]); 1 << buckets],
            reach: vec![0; 1 << buckets],
            live: 0,
        };
        Self {
            shards: (0..1 << shard_bits).map(|_| empty()).collect(),
            shard_bits,
            fields,
            prefix: (buckets + fields.tag_bits()).min(u64::BITS - shard_bits),
            live: 0,
            moved: 0,
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> Home {
        let rest = hash << self.shard_bits;
        let shard = if self.shard_bits == 0 { 0 } else { hash >> (u64::BITS - self.shard_bits) };
        let value = rest >> (u64::BITS - self.prefix);
        let bucket = self.shards[shard as usize].home(value, self.prefix);
        Home { shard: shard as usize, bucket, tag: value & low(self.fields.tag_bits()) }
    }

    /// Number of objects.
    pub fn len(&self) -> u64 {
        self.live
    }

    /// Number of slots in use: objects, and those that have moved to sets.
    pub fn slots(&self) -> u64 {
        self.live + self.moved
    }

    /// The set of an object, one of `sets`.
    pub fn set_of(&self, hash: u64, sets: u32) -> u32 {
        let bits = self.shard_bits + self.prefix;
        ((u128::from(hash >> (u64::BITS - bits)) * u128::from(sets)) >> bits) as u32
    }

    /// Calls `each` for each object of a set, one of `sets`.
    pub fn each_in_set(&self, set: u32, sets: u32, mut each: impl FnMut(Candidate)) {
        let bits = self.shard_bits + self.prefix;
        let first = |set: u64| (u128::from(set) << bits).div_ceil(sets.into());
        let (start, end) = (first(set.into()), first(u64::from(set) + 1));
        if start == end {
            return;
        }
        // The last prefix of the set; the end itself may have a bit more.
        let (start, last) = (start as u64, (end - 1) as u64);
        let fields = self.fields;
        for number in start >> self.prefix..=last >> self.prefix {
            let shard = &self.shards[number as usize];
            let shard_start = number << self.prefix;
            let home = |prefix: u64| {
                let clamped = prefix.clamp(start, last);
                shard.home(clamped & low(self.prefix), self.prefix)
            };
            for home in home(shard_start)..=home(shard_start | low(self.prefix)) {
                for distance in 0..=usize::from(shard.reach[home]) {
                    for slot in &shard.buckets[shard.at(home, distance)].0 {
                        let is_of_home = *slot != 0
                            && slot >> fields.distance() & low(REACH_BITS) == distance as u64;
                        if !is_of_home || fields.is_moved(*slot) {
                            continue;
                        }
                        let tag = slot >> fields.tag_at();
                        let value = shard.value(home, tag, self.prefix, fields);
                        if (start..=last).contains(&(shard_start | value)) {
                            each(fields.candidate(*slot));
                        }
                    }
                }
            }
        }
    }

    /// Memory of the table in bytes.
    pub fn memory(&self) -> u64 {
        let bytes = |shard: &Shard| shard.buckets.len() * (size_of::<Bucket>() + 1);
        self.shards.iter().map(bytes).sum::<usize>() as u64
    }

    /// The next object that may be the one with this hash, after the one at the location `after` if
    /// that is still there. With `request`, it is marked as requested.
    #[inline]
    pub fn candidate(&mut self, hash: u64, after: Option<u64>, request: bool) -> Option<Candidate> {
        let home = self.home(hash);
        let mut skips = after.is_some_and(|after| self.find(home, after).is_some());
        let fields = self.fields;
        let shard = &mut self.shards[home.shard];
        for distance in 0..=usize::from(shard.reach[home.bucket]) {
            let bucket = shard.at(home.bucket, distance);
            for slot in &mut shard.buckets[bucket].0 {
                if !fields.matches(*slot, distance, home.tag) {
                    continue;
                }
                if !skips && !fields.is_moved(*slot) {
                    *slot |= u64::from(request) << fields.hit();
                    return Some(fields.candidate(*slot));
                }
                skips &= after != Some((*slot & low(fields.location)) - 1);
            }
        }
        None
    }

    /// Adds an object. The caller removes an older entry of the same object.
    pub fn insert(&mut self, hash: u64, location: u64, size: u64) {
        let fields = self.fields;
        let mut home = self.home(hash);
        let shard = &mut self.shards[home.shard];
        if (shard.live + 1) * 5 > shard.buckets.len() * SLOTS * 4 {
            shard.grow(self.prefix, fields);
            home = self.home(hash);
        }
        let slot = (location + 1) | encode(size) << fields.size_at();
        debug_assert!(slot >> fields.tag_at() == 0, "a location or size outside the flash");
        loop {
            let shard = &mut self.shards[home.shard];
            if shard.put(home.bucket, slot | home.tag << fields.tag_at(), fields) {
                shard.live += 1;
                self.live += 1;
                return;
            }
            shard.grow(self.prefix, fields);
            home = self.home(hash);
        }
    }

    /// The slot of an object: bucket, number and distance.
    fn find(&self, home: Home, location: u64) -> Option<(usize, usize, usize)> {
        let shard = &self.shards[home.shard];
        (0..=usize::from(shard.reach[home.bucket])).find_map(|distance| {
            let at = shard.at(home.bucket, distance);
            let is = |slot: &u64| {
                self.fields.matches(*slot, distance, home.tag)
                    && slot & low(self.fields.location) == location + 1
            };
            shard.buckets[at].0.iter().position(is).map(|number| (at, number, distance))
        })
    }

    /// Whether the object is at this location.
    pub fn contains(&self, hash: u64, location: u64) -> bool {
        self.find(self.home(hash), location).is_some_and(|(bucket, number, _)| {
            let shard = &self.shards[self.home(hash).shard];
            !self.fields.is_moved(shard.buckets[bucket].0[number])
        })
    }

    /// Marks an object at this location as moved to a set: lookups no longer find it. Returns it if
    /// it was there.
    pub fn mark_moved(&mut self, hash: u64, location: u64) -> Option<Candidate> {
        let home = self.home(hash);
        let (bucket, number, _) = self.find(home, location)?;
        let fields = self.fields;
        let slot = &mut self.shards[home.shard].buckets[bucket].0[number];
        if fields.is_moved(*slot) {
            return None;
        }
        let found = fields.candidate(*slot);
        *slot &= !(low(fields.size) << fields.size_at());
        self.live -= 1;
        self.moved += 1;
        Some(found)
    }

    /// Whether an object that may have this hash was marked as moved and is still in the table.
    pub fn may_have_moved(&self, hash: u64) -> bool {
        let home = self.home(hash);
        let shard = &self.shards[home.shard];
        self.moved > 0
            && (0..=usize::from(shard.reach[home.bucket])).any(|distance| {
                let is = |slot: &u64| {
                    self.fields.matches(*slot, distance, home.tag) && self.fields.is_moved(*slot)
                };
                shard.buckets[shard.at(home.bucket, distance)].0.iter().any(is)
            })
    }

    /// Removes an object. Returns it if it was at this location; its size is 0 if it was marked as
    /// moved.
    pub fn remove(&mut self, hash: u64, location: u64) -> Option<Candidate> {
        let home = self.home(hash);
        let (bucket, number, distance) = self.find(home, location)?;
        let shard = &mut self.shards[home.shard];
        let slot = core::mem::take(&mut shard.buckets[bucket].0[number]);
        shard.live -= 1;
        if distance > 0 && distance == usize::from(shard.reach[home.bucket]) {
            shard.shorten(home.bucket, self.fields);
        }
        if self.fields.is_moved(slot) {
            self.moved -= 1;
        } else {
            self.live -= 1;
        }
        Some(self.fields.candidate(slot))
    }

    /// Removes all objects in a range of locations, by a scan of the whole table. Calls `each` for
    /// each of them that was not marked as moved.
    pub fn sweep(&mut self, range: core::ops::Range<u64>, mut each: impl FnMut(Candidate)) {
        let (mut removed, mut moved) = (0, 0);
        let fields = self.fields;
        for shard in &mut self.shards {
            for slot in shard.buckets.iter_mut().flat_map(|bucket| &mut bucket.0) {
                let location = *slot & low(fields.location);
                if location == 0 || !range.contains(&(location - 1)) {
                    continue;
                }
                if fields.is_moved(*slot) {
                    moved += 1;
                } else {
                    removed += 1;
                    each(fields.candidate(*slot));
                }
                // Distances are not shortened: lookups may visit more buckets than they need.
                *slot = 0;
                shard.live -= 1;
            }
        }
        self.live -= removed;
        self.moved -= moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::hash;
    use alloc::collections::BTreeSet;

    #[test]
    fn a_size_is_rounded_up_by_at_most_a_sixteenth() {
        for units in (0..5000).chain([1 << 16, (1 << 32) - 1, 123_456_789]) {
            let rounded = decode(encode(units));
            assert!(rounded >= units && rounded - units <= units / 16, "{units}: {rounded}");
        }
    }

    #[test]
    fn the_table_agrees_with_a_plain_list_while_it_grows_and_shrinks() {
        for (flash, unit) in [(1 << 20, 1), (1 << 30, 64), (1 << 40, 64)] {
            let mut index = FlashIndex::new(flash, unit, 1 << 20);
            let mut listed: Vec<(u64, u64)> = Vec::new();
            let mut draw = 1;
            for step in 0..20_000_u64 {
                draw = hash(draw ^ step);
                let grows = step < 10_000 || step % 3 == 0;
                if grows || listed.is_empty() {
                    let location = draw % (flash / u64::from(unit));
                    listed.push((draw, location));
                    index.insert(draw, location, 1 + draw % 1000);
                } else {
                    let (key, location) = listed.swap_remove(draw as usize % listed.len());
                    let removed = index.remove(key, location).expect("it is there");
                    assert_eq!(removed.location, location);
                    assert!(removed.size > key % 1000);
                }
            }
            assert_eq!(index.len(), listed.len() as u64);
            for (key, location) in &listed {
                let mut after = None;
                let found = loop {
                    let found = index.candidate(*key, after, true).expect("it is not lost");
                    if found.location == *location {
                        break found;
                    }
                    after = Some(found.location);
                };
                assert!(found.was_hit);
            }
            let limit = flash / u64::from(unit) / 2;
            let (kept, swept): (Vec<_>, Vec<_>) =
                listed.iter().partition(|(_, location)| *location >= limit);
            let mut count = 0;
            index.sweep(0..limit, |_| count += 1);
            assert_eq!(count, swept.len());
            assert_eq!(index.len(), kept.len() as u64);
            assert!(kept.iter().all(|(key, location)| index.contains(*key, *location)));
        }
    }

    #[test]
    fn the_objects_of_a_set_are_found_without_a_list_until_they_move() {
        for (flash, unit, sets) in [(1 << 20, 64, 7), (1 << 30, 64, 5000), (1 << 30, 1, 1)] {
            let mut index = FlashIndex::new(flash, unit, 1 << 20);
            let count = 10_000_u64.min(flash / u64::from(unit));
            for number in 0..count {
                index.insert(hash(number), number, 3);
            }
            for number in (0..count).step_by(3) {
                let moved = index.mark_moved(hash(number), number).expect("it is there");
                assert_eq!((moved.location, moved.size), (number, 3));
                assert!(index.mark_moved(hash(number), number).is_none());
                assert!(!index.contains(hash(number), number));
                assert!(index.may_have_moved(hash(number)));
            }
            let mut found = BTreeSet::new();
            for set in 0..sets {
                index.each_in_set(set, sets, |candidate| {
                    assert_eq!(index.set_of(hash(candidate.location), sets), set);
                    assert!(found.insert(candidate.location));
                });
            }
            let expected: BTreeSet<u64> = (0..count).filter(|number| number % 3 != 0).collect();
            assert_eq!(found, expected);
            assert_eq!(index.len(), expected.len() as u64);
            for number in 0..count {
                let removed = index.remove(hash(number), number).expect("it is there");
                assert_eq!(removed.size == 0, number % 3 == 0);
            }
            assert_eq!(index.slots(), 0);
        }
    }

    #[test]
    fn an_object_takes_at_most_12_bytes() {
        let mut index = FlashIndex::new(1 << 30, 64, 1 << 20);
        for number in 0..200_000_u64 {
            index.insert(hash(number), number, 10);
            if number > 20_000 {
                let each = index.memory() as f64 / (number + 1) as f64;
                assert!(each <= 12.0, "{each} bytes for each of {number} objects");
            }
        }
        // A lookup of an absent object seldom finds a candidate.
        let mut is_found = |n: &u64| index.candidate(hash(n + (1 << 40)), None, false).is_some();
        assert!((0..200_000).filter(|n| is_found(n)).count() < 20);
    }
}
