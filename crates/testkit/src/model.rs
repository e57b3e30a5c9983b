//! A reference model of the data that a disk may return.
//!
//! Each write or trim (a *change*) gets the next number, and each sector of a write holds that
//! number. A read may return, for each sector, the last change acknowledged when the read was
//! submitted, or any change accepted later. Sectors never written, or trimmed, hold zero.

/// The values that each sector may read as.
#[derive(Clone, Debug)]
pub struct Model {
    /// By sector.
    sectors: Vec<Sector>,
    /// By change number less one: first sector, number of sectors, and whether the change is a
    /// trim.
    changes: Vec<(u64, u64, bool)>,
    /// Number of changes before the last power cut; their results are settled.
    settled: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sector {
    acknowledged: u32,
    accepted: u32,
    trim: u32,
    /// The latest change that a power cut must not undo.
    durable: u32,
    /// Value after the last power cut.
    base: u32,
}

impl Model {
    /// A disk of `sectors` sectors that were never written.
    pub fn new(sectors: u64) -> Self {
        let sectors = vec![Sector::default(); usize::try_from(sectors).expect("a small disk")];
        Self { sectors, changes: vec![], settled: 0 }
    }

    /// Number of sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// Records that a write or trim was accepted; returns its number, which is the value that a
    /// write stores.
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

    /// Records that a change was acknowledged.
    pub fn acknowledge(&mut self, change: u32) {
        let (first, len, _) = self.changes[change as usize - 1];
        for sector in self.range(first, len) {
            let sector = &mut self.sectors[sector];
            sector.acknowledged = sector.acknowledged.max(change);
        }
    }

    /// By sector: the oldest change that a read submitted now may return (its *floor*).
    pub fn floors(&self, first: u64, len: u64) -> Vec<u32> {
        self.range(first, len).map(|sector| self.sectors[sector].acknowledged).collect()
    }

    /// By sector: the latest change accepted.
    pub fn accepted(&self) -> Vec<u32> {
        self.sectors.iter().map(|sector| sector.accepted).collect()
    }

    /// Whether a sector may read as `value` in a read that was submitted when its floor was
    /// `floor`.
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

    /// The value of a sector when all requests have completed.
    pub fn last(&self, sector: u64) -> u32 {
        let state = self.sectors[usize::try_from(sector).expect("a small disk")];
        if state.trim == state.accepted { 0 } else { state.accepted }
    }

    /// Records that a power cut must not undo the changes in `floors` (by sector) or earlier ones.
    pub fn persist_all(&mut self, floors: &[u32]) {
        for (sector, &floor) in self.sectors.iter_mut().zip(floors) {
            sector.durable = sector.durable.max(floor);
        }
    }

    /// Records that a power cut must not undo a change.
    pub fn persist(&mut self, change: u32) {
        let (first, len, _) = self.changes[change as usize - 1];
        for sector in self.range(first, len) {
            let sector = &mut self.sectors[sector];
            sector.durable = sector.durable.max(change);
        }
    }

    /// Checks and records the state of a page after a power cut: `values` are those of its sectors,
    /// starting at `first`. They must be the page's state after some change, and no flushed change
    /// may be undone. The model continues with these values.
    ///
    /// # Errors
    /// Returns a description of the lost data.
    pub fn settle(&mut self, first: u64, values: &[u32]) -> Result<(), String> {
        let range = self.range(first, values.len() as u64);
        for (sector, &value) in range.clone().zip(values) {
            let durable = self.sectors[sector].durable;
            if !self.allows(sector as u64, durable, value) {
                let what = durable.checked_sub(1).map(|at| self.changes[at as usize]);
                return Err(format!(
                    "sector {sector} holds {value}, flushed was {durable} (first, count, trim: \
                     {what:?})"
                ));
            }
        }
        // Compares with the state of the page after each change that touched it.
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

    /// Ends a series of [`settle`](Self::settle) calls: earlier changes no longer count.
    pub fn forget(&mut self) {
        self.settled = self.changes.len();
    }

    fn range(&self, first: u64, len: u64) -> std::ops::Range<usize> {
        let index = |n| usize::try_from(n).expect("a small disk");
        index(first)..index(first + len)
    }
}
