//! What a disk would say.
//!
//! Each write and trim gets the next number, and each sector of a write holds that number. A read
//! may return, for each sector, what was last acknowledged when it came in, or anything accepted
//! later. Zero is the content of what was never written, or trimmed.

/// What each sector may read as.
#[derive(Clone, Debug)]
pub struct Model {
    /// By sector: the latest change acknowledged, accepted, and the latest trim accepted.
    sectors: Vec<Sector>,
    /// By change, from 1: the sectors it covers.
    changes: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sector {
    acknowledged: u32,
    accepted: u32,
    trim: u32,
}

impl Model {
    /// `sectors` sectors that were never written.
    pub fn new(sectors: u64) -> Self {
        let sectors = vec![Sector::default(); usize::try_from(sectors).expect("a small disk")];
        Self { sectors, changes: vec![] }
    }

    /// Sectors it has.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// A write (or trim) of the sectors is accepted; returns its number, a write's content.
    pub fn accept(&mut self, first: u64, len: u64, trim: bool) -> u32 {
        self.changes.push((first, len));
        let change = u32::try_from(self.changes.len()).expect("few changes");
        for sector in self.range(first, len) {
            let sector = &mut self.sectors[sector];
            sector.accepted = change;
            if trim {
                sector.trim = change;
            }
        }
        change
    }

    /// The change is acknowledged.
    pub fn acknowledge(&mut self, change: u32) {
        let (first, len) = self.changes[change as usize - 1];
        for sector in self.range(first, len) {
            let sector = &mut self.sectors[sector];
            sector.acknowledged = sector.acknowledged.max(change);
        }
    }

    /// The oldest change each sector may show to a read that comes in now.
    pub fn floors(&self, first: u64, len: u64) -> Vec<u32> {
        self.range(first, len).map(|sector| self.sectors[sector].acknowledged).collect()
    }

    /// Whether a sector may read as `value` for a read that came in when its floor was `floor`.
    pub fn allows(&self, sector: u64, floor: u32, value: u32) -> bool {
        let state = self.sectors[usize::try_from(sector).expect("a small disk")];
        if value == 0 {
            return state.trim >= floor;
        }
        let change = self.changes.get(value as usize - 1);
        change.is_some_and(|&(first, len)| {
            value >= floor && (first..first + len).contains(&sector) && value <= state.accepted
        })
    }

    /// What a sector holds once everything is done.
    pub fn last(&self, sector: u64) -> u32 {
        let state = self.sectors[usize::try_from(sector).expect("a small disk")];
        if state.trim == state.accepted { 0 } else { state.accepted }
    }

    fn range(&self, first: u64, len: u64) -> std::ops::Range<usize> {
        let index = |n| usize::try_from(n).expect("a small disk");
        index(first)..index(first + len)
    }
}
