//! What is on its way: a page may be asked for again before it is there.

use gordon_units::Ns;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Keys are numbers that mean nothing to anybody; one multiplication mixes them.
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
        let mixed = u128::from(self.0 ^ key ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (mixed >> 64) as u64 ^ mixed as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// So many are looked through without the table.
const FEW: usize = 8;

/// Keys and when they are there; a resource hands them over in order.
#[derive(Default)]
pub(super) struct Flight {
    when: HashMap<u64, Ns, BuildHasherDefault<Mix>>,
    order: VecDeque<(Ns, u64)>,
    last: Ns,
}

impl Flight {
    /// It will be there at this time, which is not before that of any other.
    pub fn start(&mut self, now: Ns, key: u64, there: Ns) {
        while let Some((at, key)) = self.order.front().copied().filter(|(at, _)| *at <= now) {
            self.order.pop_front();
            if self.when.get(&key) == Some(&at) {
                self.when.remove(&key);
            }
        }
        self.when.insert(key, there);
        self.order.push_back((there, key));
        self.last = there;
    }

    /// When it is there, if it is not there yet.
    #[inline]
    pub fn wait(&self, now: Ns, key: u64) -> Ns {
        if now >= self.last {
            return now;
        }
        if self.order.len() <= FEW {
            let found = self.order.iter().rev().find(|(_, other)| *other == key);
            return found.map_or(now, |(at, _)| now.max(*at));
        }
        self.when.get(&key).map_or(now, |at| now.max(*at))
    }
}
