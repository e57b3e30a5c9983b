//! First in, first out: `FIFO.c` of libCacheSim.

use super::queue::Rule;
use crate::store::{List, Store};

pub(crate) struct Fifo;

impl Rule for Fifo {
    #[inline]
    fn hit(&mut self, _: &mut Store, _: &mut List, _: u32) {}

    #[inline]
    fn victim(&mut self, _: &mut Store, list: &mut List) -> u32 {
        list.oldest
    }
}
