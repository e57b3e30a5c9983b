//! The map of a new device that holds pages, before its tables are filled.
//!
//! Filling the tables of a large device takes seconds and gigabytes, and a short run needs a
//! small part. Until many entries have changed, entries are computed from the [`InitialState`], and
//! those that differ from it are kept separately: entries of the map in a hash table, entries of
//! the reverse map by block, from the first program in the block.

use super::changed_entries::ChangedEntries;
use super::initial_state::{InitialState, PageOrder};
use crate::io::ActionSink;
use crate::packed::Packed;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The tables are filled after this many changes of the map, or one for each `PERMUTED_PAGES` or
/// `STRIPED_PAGES` mapped pages if that is more; at least a quarter of the exported pages count as
/// mapped. A change that is kept separately takes up to 0.2 us longer than one in a table. When the
/// tables are filled, a page takes 0.03 us if the order is a permutation, and half of that
/// otherwise. So a long run takes at most a tenth longer to start than if its tables were filled at
/// once.
const CHANGES: u32 = 1 << 14;
const PERMUTED_PAGES: u32 = 75;
const STRIPED_PAGES: u32 = 150;

/// In [`OnDemand::table_of`]: the reverse map of the block is that of the initial state.
const UNCHANGED: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct OnDemand {
    /// Shared by copies of the device.
    state: Arc<InitialState>,
    /// The values of L2P entries that were set.
    changed: ChangedEntries,
    changes_left: u32,
    /// By block: the position of its reverse map in `tables`.
    table_of: Vec<u32>,
    tables: Vec<Packed>,
    exported: u32,
}

impl OnDemand {
    pub fn new(state: InitialState, exported: u32) -> Self {
        let pages_a_change = match state.pages() {
            PageOrder::Permuted { .. } => PERMUTED_PAGES,
            PageOrder::Striped(_) => STRIPED_PAGES,
        };
        let mapped = state.pages().mapped().max(exported / 4);
        Self {
            changed: ChangedEntries::new(),
            changes_left: CHANGES.max(mapped / pages_a_change),
            table_of: vec![UNCHANGED; state.shape().0],
            tables: vec![],
            exported,
            state: Arc::new(state),
        }
    }

    /// The L2P entry of a page.
    pub fn l2p(&self, lpn: u32) -> u32 {
        let computed = || self.state.slot_of(lpn).map_or(0, |psn| psn + 1);
        self.changed.get(lpn).unwrap_or_else(computed)
    }

    /// The L2P entry of a page if it was set since preconditioning.
    pub fn changed(&self, lpn: u32) -> Option<u32> {
        self.changed.get(lpn)
    }

    /// Prefetches the place of a changed L2P entry.
    pub fn prefetch_changed(&self, out: &impl ActionSink, lpn: u32) {
        out.prefetch(self.changed.memory_of(lpn));
    }

    /// Prefetches what the computation of an L2P entry reads.
    pub fn prefetch_computed(&self, out: &impl ActionSink, lpn: u32) {
        self.state.prefetch(out, lpn);
    }

    /// Sets the L2P entry of a page. Returns false if the tables should be filled.
    pub fn set_l2p(&mut self, lpn: u32, entry: u32) -> bool {
        self.changed.set(lpn, entry);
        self.changes_left = self.changes_left.saturating_sub(1);
        self.changes_left > 0
    }

    /// The P2L entry of a slot.
    pub fn p2l(&self, psn: u32) -> u32 {
        let (_, block_slots) = self.state.shape();
        match self.table_of[(psn / block_slots) as usize] {
            UNCHANGED => self.computed_p2l(psn),
            table => self.tables[table as usize].get(psn % block_slots),
        }
    }

    fn computed_p2l(&self, psn: u32) -> u32 {
        self.state.page_in(psn).map_or(0, |lpn| lpn + 1)
    }

    /// Sets the P2L entry of a slot.
    pub fn set_p2l(&mut self, psn: u32, entry: u32) {
        let (_, block_slots) = self.state.shape();
        let block = psn / block_slots;
        if self.table_of[block as usize] == UNCHANGED {
            let mut table = Packed::new(block_slots, self.exported);
            let slots = (block * block_slots..).take(block_slots as usize);
            (0..).zip(slots).for_each(|(at, psn)| table.set(at, self.computed_p2l(psn)));
            self.table_of[block as usize] = u32::try_from(self.tables.len()).expect("a block each");
            self.tables.push(table);
        }
        let table = self.table_of[block as usize];
        self.tables[table as usize].set(psn % block_slots, entry);
    }

    pub fn state(&self) -> &InitialState {
        &self.state
    }

    /// The changed entries of the map.
    pub fn changed_l2p(&self) -> impl Iterator<Item = (u32, u32)> {
        self.changed.iter()
    }

    /// The entries of the reverse map of the blocks that were programmed.
    pub fn changed_p2l(&self) -> impl Iterator<Item = (u32, u32)> {
        let (_, block_slots) = self.state.shape();
        let blocks = (0..).zip(&self.table_of).filter(|(_, table)| **table != UNCHANGED);
        blocks.flat_map(move |(block, &table)| {
            let table = &self.tables[table as usize];
            (0..block_slots).map(move |at| (block * block_slots + at, table.get(at)))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::map::{FilledBlocks, Map, PageOrder};
    use crate::permutation::Permutation;
    use alloc::vec::Vec;
    use gordon_units::SplitMix64;

    const PAGES: u32 = 90;

    /// A map of 4 blocks of 40 slots, the last two of them of a summary. Pages 0 to 49 and the even
    /// ones of the others are mapped.
    fn map() -> Map {
        let mut filled = FilledBlocks::with_capacity(3, 38);
        filled.push(80, &[(1 << 38) - 1]);
        filled.push(0, &[0x0F_0F0F_0F00]);
        filled.push(120, &[(1 << 16) - 1]);
        let more: Vec<u32> = (50..PAGES).step_by(2).collect();
        let order = Permutation::new(38 + 16 + 16, &mut SplitMix64(9));
        let mut map = Map::new(PAGES, 160);
        map.start_on_demand(PageOrder::Permuted { first: 50, more, order }, filled, 4, 40);
        map
    }

    fn entries(map: &Map) -> (Vec<u32>, Vec<Option<u32>>) {
        let l2p = (0..PAGES).map(|lpn| map.get(lpn));
        let p2l = (0..160).map(|psn| map.written(psn));
        (l2p.collect(), p2l.collect())
    }

    #[test]
    fn a_buffer_that_needs_wider_entries_changes_only_its_own() {
        let mut map = map();
        let (mut l2p, p2l) = entries(&map);
        let buffer = 1 << 20;
        map.set_buffer(3, buffer);
        l2p[3] = 160 + buffer;
        assert!(map.is_on_demand() && map.buffer_of(3) == Some(buffer));
        assert_eq!(entries(&map), (l2p.clone(), p2l.clone()));
        map.fill_tables();
        assert!(!map.is_on_demand());
        assert_eq!(entries(&map), (l2p, p2l));
    }

    #[test]
    fn many_changes_fill_the_tables() {
        let mut map = map();
        let before = entries(&map);
        for change in 0..super::CHANGES {
            assert!(map.is_on_demand(), "after {change} changes");
            map.set(change % 8, before.0[change as usize % 8]);
        }
        assert!(!map.is_on_demand());
        assert_eq!(entries(&map), before);
    }
}
