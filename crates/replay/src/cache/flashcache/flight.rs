//! What is on its way: a page may be asked for again before it is there.

use gordon_units::Ns;
use std::hash::Hasher;

/// Keys are numbers that mean nothing to anybody; one multiplication mixes them.
#[inline]
fn mix(key: u64) -> u64 {
    let mixed = u128::from(key ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15;
    (mixed >> 64) as u64 ^ mixed as u64
}

/// The same for tables of the standard library.
#[derive(Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }
    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.0 = mix(self.0 ^ key);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Keys and when they are there: one that is there leaves its slot to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    there: Ns,
}

/// A key is in the line of its hash: a pair of the processor's, which fetches them together.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(128))]
struct Line([Slot; 8]);

/// Lines of the smallest table.
const LEAST: usize = 8;
/// Lines that stay in the processor's nearest cache: 32 KiB.
const NEAR: usize = 256;

/// Keys on their way; a resource hands them over in order.
pub(super) struct Flight {
    /// A power of two of them.
    lines: Vec<Line>,
    last: Ns,
}

impl Default for Flight {
    fn default() -> Self {
        Self { lines: vec![Line::default(); LEAST], last: Ns::ZERO }
    }
}

impl Flight {
    #[inline]
    fn home(&self, key: u64) -> usize {
        mix(key) as usize & (self.lines.len() - 1)
    }

    /// It will be there at this time, which is not before that of any other.
    #[inline]
    pub fn start(&mut self, now: Ns, key: u64, there: Ns) {
        self.last = there;
        while !self.put(now, Slot { key, there }) {
            let lines = vec![Line::default(); self.lines.len() * 2];
            let before = std::mem::replace(&mut self.lines, lines);
            for slot in before.iter().flat_map(|line| line.0).filter(|slot| slot.there > now) {
                // What one line had finds room in two.
                self.put(now, slot);
            }
        }
    }

    /// False where its line is full of others that are not there yet.
    #[inline]
    fn put(&mut self, now: Ns, slot: Slot) -> bool {
        let home = self.home(slot.key);
        let line = &mut self.lines[home].0;
        let own = line.iter().position(|other| other.key == slot.key);
        let place = own.or_else(|| line.iter().position(|other| other.there <= now));
        place.map(|place| line[place] = slot).is_some()
    }

    /// There are more than the processor's nearest cache has room for.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.lines.len() > NEAR
    }

    /// Asks memory for the line of a key.
    #[inline]
    pub fn touch(&self, key: u64) -> u64 {
        let line = &self.lines[self.home(key)].0;
        line[0].key ^ line[4].key
    }

    /// When it is there, if it is not there yet.
    #[inline]
    pub fn wait(&self, now: Ns, key: u64) -> Ns {
        if now >= self.last {
            return now;
        }
        let line = &self.lines[self.home(key)].0;
        line.iter().find(|slot| slot.key == key).map_or(now, |slot| now.max(slot.there))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn all_that_is_on_its_way_is_known() {
        let (mut flight, mut known) = (Flight::default(), HashMap::new());
        // More and more at once, then fewer; some keys again and again.
        for number in 0..40_000_u64 {
            let span = if number < 20_000 { number } else { 40_000 - number };
            let (now, there) = (Ns(number * 10), Ns(number * 10 + 200_000 + span * 10));
            let there = there.max(flight.last);
            let key = number * number % 30_011;
            flight.start(now, key, there);
            known.insert(key, there);
            for key in [key, number % 30_011, key + 7] {
                let expected = known.get(&key).map_or(now, |there| now.max(*there));
                assert_eq!(flight.wait(now, key), expected, "{number}: {key}");
            }
        }
        assert!(flight.lines.len() > LEAST);
        let end = flight.last;
        assert!(known.keys().all(|key| flight.wait(end, *key) == end));
    }
}
