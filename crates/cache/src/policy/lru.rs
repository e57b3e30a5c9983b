//! Least recently used: `LRU.c` of libCacheSim.

use super::queue::Rule;
use crate::store::{List, Store};

pub(crate) struct Lru;

impl Rule for Lru {
    #[inline]
    fn hit(&mut self, store: &mut Store, list: &mut List, place: u32) {
        list.move_to_front(store, place);
    }

    #[inline]
    fn victim(&mut self, _: &mut Store, list: &mut List) -> u32 {
        list.oldest
    }
}
