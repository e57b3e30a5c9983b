//! The map of a preconditioned device before its tables are filled.
//!
//! Filling the tables of a large device takes seconds and gigabytes, of which a short run needs a
//! small part. Until many entries have changed, entries are computed from the [`SteadyState`], and
//! those that differ from it are kept separately: entries of the map in a hash table, entries of
//! the reverse map by block, from the first program in the block.

use super::changed_entries::ChangedEntries;
use super::steady_state::SteadyState;
use crate::io::ActionSink;
use crate::packed::Packed;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// The tables are filled after this many changes of the map, or one for each `PAGES_A_CHANGE`
/// mapped pages if that is more. A change that is kept separately takes up to 0.2 us longer than one
/// in a table, and a page takes 0.03 us when the tables are filled. So a long run takes at most a
/// twelfth longer to start than if its tables were filled at once.
const CHANGES: u32 = 1 << 14;
const PAGES_A_CHANGE: u32 = 75;

/// In [`OnDemand::table_of`]: the reverse map of the block is that of the steady state.
const UNCHANGED: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct OnDemand {
    /// Shared by copies of the device.
    state: Arc<SteadyState>,
    /// The values of L2P entries that were set.
    changed: ChangedEntries,
    changes_left: u32,
    /// By block: the position of its reverse map in `tables`.
    table_of: Vec<u32>,
    tables: Vec<Packed>,
    exported: u32,
}

impl OnDemand {
    pub fn new(state: SteadyState, exported: u32) -> Self {
        Self {
            changed: ChangedEntries::new(),
            changes_left: CHANGES.max(state.mapped() / PAGES_A_CHANGE),
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

    pub fn state(&self) -> &SteadyState {
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
