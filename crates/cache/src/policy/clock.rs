//! CLOCK (Corbato, "A Paging Experiment with the Multics System", MIT Project MAC, 1968): a hit
//! sets the bit of an object; the hand clears bits until it finds a clear one, and evicts that
//! object.
//!
//! As `Clock.c` of libCacheSim with one bit, the clock is a queue: its oldest entry is evicted, or
//! reinserted with its bit cleared.

use super::queue::Rule;
use crate::store::{List, Store};

pub(crate) struct Clock;

impl Rule for Clock {
    #[inline]
    fn hit(&mut self, store: &mut Store, _: &mut List, place: u32) {
        store.at_mut(place).mark = 1;
    }

    #[inline]
    fn victim(&mut self, store: &mut Store, list: &mut List) -> u32 {
        loop {
            let oldest = list.oldest;
            if store.at(oldest).mark == 0 {
                return oldest;
            }
            store.at_mut(oldest).mark = 0;
            list.move_to_front(store, oldest);
        }
    }
}
