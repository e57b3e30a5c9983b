//! Sets of a page each: an object lies in that of its key, and a set is written as a whole.
//!
//! What stays in a set that is full is chosen by predictions of three bits written with the objects
//! (RRIP, Jaleel and others, ISCA 2010), as Kangaroo does with one bit of memory an object, which
//! says whether it was asked for since its set was last written: then it becomes 0, soon. Where not
//! all fit, all others age until one is 7, far away; then they stay in order, the old before the
//! new, as long as there is room. New ones come in at 6, those asked for in the log at 5.

use super::{Keeper, Medium};
use crate::index::hash;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of memory a set: a filter of 64 bits, four of them an object's, and 32 for objects asked
/// for.
pub(super) const INDEX: u64 = 12;
const FAR: u8 = 7;

/// An object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub key: u64,
    pub size: u32,
    pub asked: bool,
    /// Of three bits.
    pub far: u8,
}

impl Slot {
    /// One that comes in.
    pub fn new(key: u64, size: u32, asked: bool) -> Self {
        Self { key, size, asked: false, far: FAR - 1 - u8::from(asked) }
    }
}

#[derive(Clone, Debug, Default)]
struct Set {
    slots: Vec<Slot>,
    filter: u64,
}

/// All sets.
pub(super) struct Sets {
    /// The first byte.
    base: u64,
    size: u32,
    sets: Vec<Set>,
}

/// The bits of a key in a filter.
fn bits(key: u64) -> u64 {
    let hash = hash(key);
    (0..4).fold(0, |bits, i| bits | 1 << (hash >> (6 * i) & 63))
}

impl Sets {
    /// So many empty ones of `size` bytes.
    pub fn new(base: u64, sets: u64, size: u32) -> Self {
        assert!((1..1 << 31).contains(&sets), "{sets} sets");
        #[allow(clippy::cast_possible_truncation)] // see above
        Self { base, size, sets: vec![Set::default(); sets as usize] }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The set of a key.
    pub fn of(&self, key: u64) -> usize {
        // Other bits than those of the filter.
        ((u128::from(hash(key.rotate_left(32))) * self.sets.len() as u128) >> 64) as usize
    }

    fn offset(&self, at: usize) -> u64 {
        self.base + at as u64 * u64::from(self.size)
    }

    /// Writes objects that are not there into a set; those that found no room.
    pub fn write(&mut self, at: usize, new: &[Slot], medium: &mut Medium) -> Vec<Slot> {
        let (offset, room) = (self.offset(at), u64::from(self.size));
        let set = &mut self.sets[at];
        if !set.slots.is_empty() {
            medium.read(offset, self.size);
        }
        for slot in &mut set.slots {
            if core::mem::take(&mut slot.asked) {
                slot.far = 0;
            }
        }
        let bytes = |slots: &[Slot]| slots.iter().map(|slot| u64::from(slot.size)).sum::<u64>();
        if bytes(&set.slots) + bytes(new) > room {
            let farthest = set.slots.iter().map(|slot| slot.far).max().unwrap_or(FAR);
            set.slots.iter_mut().for_each(|slot| slot.far += FAR - farthest);
        }
        let olds = set.slots.len();
        let mut all: Vec<(usize, Slot)> =
            set.slots.drain(..).chain(new.iter().copied()).enumerate().collect();
        // Stable: the old before the new.
        all.sort_by_key(|(_, slot)| slot.far);
        let (mut held, mut out) = (0, Vec::new());
        let mut stays: Vec<(usize, Slot)> = Vec::with_capacity(all.len());
        for (from, slot) in all {
            if held + u64::from(slot.size) <= room {
                held += u64::from(slot.size);
                stays.push((from, slot));
            } else if from < olds {
                medium.done.evicted += 1;
            } else {
                out.push(slot);
            }
        }
        // In the order in which they came.
        stays.sort_by_key(|(from, _)| *from);
        set.slots.extend(stays.into_iter().map(|(_, slot)| slot));
        set.filter = set.slots.iter().fold(0, |filter, slot| filter | bits(slot.key));
        medium.write(offset, self.size);
        out
    }
}

impl Keeper for Sets {
    fn find(&mut self, key: u64, medium: &mut Medium) -> bool {
        let at = self.of(key);
        let (offset, bits) = (self.offset(at), bits(key));
        let set = &mut self.sets[at];
        if set.filter & bits != bits {
            return false;
        }
        medium.read(offset, self.size);
        match set.slots.iter_mut().find(|slot| slot.key == key) {
            Some(slot) => slot.asked = true,
            None => {
                medium.done.vain += 1;
                return false;
            }
        }
        true
    }

    fn insert(&mut self, key: u64, size: u32, medium: &mut Medium) {
        let at = self.of(key);
        let out = self.write(at, &[Slot::new(key, size, false)], medium);
        medium.done.evicted += out.len() as u64;
    }

    fn index_bytes(&self) -> u64 {
        self.sets.len() as u64 * INDEX
    }

    fn residents(&self, each: &mut dyn FnMut(u64, u64)) {
        self.sets
            .iter()
            .flat_map(|set| &set.slots)
            .for_each(|slot| each(slot.key, slot.size.into()));
    }
}
