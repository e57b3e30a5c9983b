//! Which of the objects that leave DRAM are written to flash.

use super::TieredCounts;
use crate::index::hash;
use crate::store::{List, Store};
use gordon_units::Ns;

/// Which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admission {
    /// All.
    All,
    /// Each by lot: this part of them.
    Random(f64),
    /// Those asked for at least so often, the request that brought it in among them.
    Hits(u32),
    /// Those offered at_update, among the last so many bytes of offers: the first offer is only
    /// remembered (CacheLib's "reject first").
    Ghost(u64),
    /// By lot, so that at most the budget is programmed in all.
    Budget(Budget),
}

/// What may be programmed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Bytes a second of the requests' time.
    pub bytes_per_s: f64,
    /// The admitted part is computed again each time this many bytes have been offered.
    pub every: u64,
}

/// An admission at work.
pub(super) struct AdmissionPolicy {
    admission: Admission,
    /// Draws out of 2^32 that admit.
    chance: u64,
    draws: u64,
    /// Of [`Admission::Ghost`]: what was offered.
    ghosts: (Store, List),
    /// Of [`Admission::Budget`]: the first request; when the part was last set, and what was done
    /// by then.
    first_request: Option<Ns>,
    updated_at: Ns,
    at_update: TieredCounts,
    /// Bytes written for each admitted, when last something was.
    written_per_admitted: f64,
    /// Bytes that the medium programs for each written.
    pub write_amplification: f64,
}

const CERTAIN: u64 = 1 << 32;

impl AdmissionPolicy {
    pub fn new(admission: Admission, seed: u64) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let chance = match admission {
            // The product is below 2^33.
            Admission::Random(part) => (part.clamp(0.0, 1.0) * CERTAIN as f64) as u64,
            _ => CERTAIN,
        };
        let ghosts = (Store::new(), List::new());
        let (first_request, updated_at, before) = (None, Ns::ZERO, TieredCounts::default());
        Self {
            admission,
            chance,
            draws: hash(seed),
            ghosts,
            first_request,
            updated_at,
            at_update: before,
            written_per_admitted: 1.0,
            write_amplification: 1.0,
        }
    }

    /// Time continues; so much was done by then.
    #[inline]
    pub fn advance(&mut self, now: Ns, counts: &TieredCounts) {
        if let Admission::Budget(budget) = self.admission
            && (self.first_request.is_none()
                || counts.offered - self.at_update.offered >= budget.every)
        {
            self.update_chance(budget, now, counts);
        }
    }

    /// Computes the part again: what may be written in a span as long as the last, over what would
    /// have been in that, had all been admitted.
    #[cold]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // bytes far below 2^53
    fn update_chance(&mut self, budget: Budget, now: Ns, counts: &TieredCounts) {
        let first_request = *self.first_request.get_or_insert(now);
        let until = now + now.saturating_sub(self.updated_at.max(first_request));
        let may = budget.bytes_per_s * until.saturating_sub(first_request).as_secs()
            / self.write_amplification
            - counts.written as f64;
        let offered = (counts.offered - self.at_update.offered) as f64;
        let admitted = (counts.admitted - self.at_update.admitted) as f64;
        let written = (counts.written - self.at_update.written) as f64;
        if admitted > 0.0 && written > 0.0 {
            self.written_per_admitted = written / admitted;
        }
        let would = offered * self.written_per_admitted;
        let part = if would > 0.0 { (may / would).clamp(0.0, 1.0) } else { 1.0 };
        self.chance = (part * CERTAIN as f64) as u64;
        (self.updated_at, self.at_update) = (now, *counts);
    }

    /// The part that is admitted by lot.
    #[allow(clippy::cast_precision_loss)]
    pub fn rate(&self) -> f64 {
        self.chance as f64 / CERTAIN as f64
    }

    /// Whether this object, asked for so often in DRAM, is admitted.
    pub fn admit(&mut self, key: u64, size: u64, asked: u32) -> bool {
        match self.admission {
            Admission::All => true,
            Admission::Random(_) | Admission::Budget(_) => {
                self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
                hash(self.draws) >> 32 < self.chance
            }
            Admission::Hits(least) => asked >= least,
            Admission::Ghost(bytes) => self.was_offered_before(key, size, bytes),
        }
    }

    fn was_offered_before(&mut self, key: u64, size: u64, bytes: u64) -> bool {
        let (store, list) = &mut self.ghosts;
        if let Some(place) = store.find(key) {
            list.unlink(store, place);
            store.remove(place);
            return true;
        }
        let place = store.insert(key, size, 0);
        list.push(store, place);
        while list.bytes > bytes {
            let oldest = list.oldest;
            list.unlink(store, oldest);
            store.remove(oldest);
        }
        false
    }
}
