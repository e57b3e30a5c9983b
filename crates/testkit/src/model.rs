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
    /// By change, from 1: the sectors it covers, and whether it is a trim.
    changes: Vec<(u64, u64, bool)>,
    /// Changes before this were settled by a power cut.
    settled: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sector {
    acknowledged: u32,
    accepted: u32,
    trim: u32,
    /// The latest change that a power cut must not undo.
    durable: u32,
    /// What it held after the last power cut.
    base: u32,
}

impl Model {
    /// `sectors` sectors that were never written.
    pub fn new(sectors: u64) -> Self {
        let sectors = vec![Sector::default(); usize::try_from(sectors).expect("a small disk")];
        Self { sectors, changes: vec![], settled: 0 }
    }

    /// Sectors it has.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// A write (or trim) of the sectors is accepted; returns its number, a write's content.
    pub fn accept(&mut self, first: u64, len: u64, trim: bool) -> u32 {
        self.changes.push((first, len, trim));
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
        let (first, len, _) = self.changes[change as usize - 1];
        for sector in self.range(first, len) {
            let sector = &mut self.sectors[sector];
            sector.acknowledged = sector.acknowledged.max(change);
        }
    }

    /// The oldest change each sector may show to a read that comes in now.
    pub fn floors(&self, first: u64, len: u64) -> Vec<u32> {
        self.range(first, len).map(|sector| self.sectors[sector].acknowledged).collect()
    }

    /// The latest change of each sector.
    pub fn accepted(&self) -> Vec<u32> {
        self.sectors.iter().map(|sector| sector.accepted).collect()
    }

    /// Whether a sector may read as `value` for a read that came in when its floor was `floor`.
    pub fn allows(&self, sector: u64, floor: u32, value: u32) -> bool {
        let state = self.sectors[usize::try_from(sector).expect("a small disk")];
        if value == 0 {
            return state.trim >= floor;
        }
        let change = self.changes.get(value as usize - 1);
        change.is_some_and(|&(first, len, _)| {
            value >= floor && (first..first + len).contains(&sector) && value <= state.accepted
        })
    }

    /// Whether a sector ever held, or may yet hold, `value`.
    pub fn was(&self, sector: u64, value: u32) -> bool {
        let change = self.changes.get((value as usize).wrapping_sub(1));
        value == 0 || change.is_some_and(|&(first, len, _)| (first..first + len).contains(&sector))
    }

    /// What a sector holds once everything is done.
    pub fn last(&self, sector: u64) -> u32 {
        let state = self.sectors[usize::try_from(sector).expect("a small disk")];
        if state.trim == state.accepted { 0 } else { state.accepted }
    }

    /// A power cut must not undo what each sector was acknowledged with.
    pub fn persist_all(&mut self, floors: &[u32]) {
        for (sector, &floor) in self.sectors.iter_mut().zip(floors) {
            sector.durable = sector.durable.max(floor);
        }
    }

    /// The power was cut, and `values` is what the sectors of the page from `first` on hold now:
    /// the page as it was after some change, none of those flushed undone. From now on that is what
    /// they hold.
    ///
    /// # Errors
    /// Says what was lost.
    pub fn settle(&mut self, first: u64, values: &[u32]) -> Result<(), String> {
        let range = self.range(first, values.len() as u64);
        for (sector, &value) in range.clone().zip(values) {
            let durable = self.sectors[sector].durable;
            if !self.allows(sector as u64, durable, value) {
                let what = durable.checked_sub(1).map(|at| self.changes[at as usize]);
                return Err(format!(
                    "sector {sector} holds {value}, flushed was {durable} (first, count, trim: {what:?})"
                ));
            }
        }
        // The page after each change that touched it.
        let end = first + values.len() as u64;
        let mut state: Vec<u32> = self.sectors[range.clone()].iter().map(|s| s.base).collect();
        let mut matches = state == values;
        for change in self.settled..self.changes.len() {
            let (at, len, trim) = self.changes[change];
            let number = u32::try_from(change + 1).expect("few changes");
            let value = if trim { 0 } else { number };
            for sector in at.max(first)..(at + len).min(end) {
                state[usize::try_from(sector - first).expect("a small page")] = value;
            }
            matches |= state == values;
        }
        if !matches {
            return Err(format!("sectors {first}..{end} hold {values:?}, a mix of several states"));
        }
        for (sector, &value) in range.zip(values) {
            let sector = &mut self.sectors[sector];
            let trim = if value == 0 { sector.trim } else { 0 };
            let last = value.max(trim);
            *sector =
                Sector { acknowledged: last, accepted: last, trim, durable: last, base: value };
        }
        Ok(())
    }

    /// All pages are settled: what was changed before counts no more.
    pub fn forget(&mut self) {
        self.settled = self.changes.len();
    }

    fn range(&self, first: u64, len: u64) -> std::ops::Range<usize> {
        let index = |n| usize::try_from(n).expect("a small disk");
        index(first)..index(first + len)
    }
}
