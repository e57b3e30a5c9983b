//! Admission to flash of the objects that DRAM evicts.

use super::TieredCounts;
use crate::index::hash;
use crate::store::{List, Store};
use gordon_units::Ns;

/// A rule of admission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admission {
    /// All objects.
    All,
    /// Each object with this probability.
    Random(f64),
    /// Objects with at least this number of requests in DRAM, including the one that inserted them.
    Hits(u32),
    /// Objects that were offered before, within the last this many bytes of offers. The first offer
    /// of an object only leaves a ghost (CacheLib's "reject first").
    Ghost(u64),
    /// Random, with a probability that keeps the bytes programmed within the budget.
    Budget(Budget),
}

/// A limit of the bytes programmed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Bytes a second, in the time of the requests.
    pub bytes_per_s: f64,
    /// The probability is computed again whenever this number of bytes has been offered.
    pub every: u64,
}

/// The state of an admission rule.
pub(super) struct AdmissionPolicy {
    admission: Admission,
    /// Number of draws out of [`CERTAIN`] that admit an object.
    chance: u64,
    /// State of the random generator.
    draws: u64,
    /// For [`Admission::Ghost`]: the last offered objects.
    ghosts: (Store, List),
    /// For [`Admission::Budget`]: time of the first request.
    first_request: Option<Ns>,
    /// Whether the counts of an earlier run were continued since the chance was last updated.
    resumed: bool,
    /// When the chance was last updated.
    updated_at: Ns,
    /// The counts at the last update.
    at_update: TieredCounts,
    /// Bytes written for each byte admitted, in the last interval in which any were.
    written_per_admitted: f64,
    /// Bytes that flash programs for each byte written.
    pub write_amplification: f64,
}

/// The chance that admits every object.
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
            resumed: false,
            updated_at,
            at_update: before,
            written_per_admitted: 1.0,
            write_amplification: 1.0,
        }
    }

    /// Reports the time and the counts at the arrival of a request.
    #[inline]
    pub fn advance(&mut self, now: Ns, counts: &TieredCounts) {
        if let Admission::Budget(budget) = self.admission
            && (self.first_request.is_none()
                || self.resumed
                || counts.offered - self.at_update.offered >= budget.every)
        {
            self.update_chance(budget, now, counts);
        }
    }

    /// Computes the chance again: the bytes that may be written in the next interval, divided by
    /// the bytes that would have been written in the last one if all objects had been admitted. The
    /// next interval is assumed to be as long as the last.
    #[cold]
    // Bytes far below 2^53.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn update_chance(&mut self, budget: Budget, now: Ns, counts: &TieredCounts) {
        let first_request = *self.first_request.get_or_insert(now);
        if core::mem::take(&mut self.resumed) {
            // Nothing is known of the load. What is left of the budget is spent on the next span.
            let left = budget.bytes_per_s * now.saturating_sub(first_request).as_secs()
                / self.write_amplification
                - counts.written as f64;
            let part = (left / budget.every.max(1) as f64).clamp(0.0, 1.0);
            self.chance = (part * CERTAIN as f64) as u64;
            (self.updated_at, self.at_update) = (now, *counts);
            return;
        }
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

    /// Continues an earlier run, whose budget counts from time 0.
    pub fn resume(&mut self) {
        (self.first_request, self.resumed) = (Some(Ns::ZERO), true);
    }

    /// The probability with which an object is admitted.
    #[allow(clippy::cast_precision_loss)]
    pub fn rate(&self) -> f64 {
        self.chance as f64 / CERTAIN as f64
    }

    /// Whether to admit this object, which had `requests` requests in DRAM.
    pub fn admit(&mut self, key: u64, size: u64, requests: u32) -> bool {
        match self.admission {
            Admission::All => true,
            Admission::Random(_) | Admission::Budget(_) => {
                self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
                hash(self.draws) >> 32 < self.chance
            }
            Admission::Hits(least) => requests >= least,
            Admission::Ghost(bytes) => self.was_offered_before(key, size, bytes),
        }
    }

    /// Whether the object is a ghost. If not, it becomes one.
    fn was_offered_before(&mut self, key: u64, size: u64, bytes: u64) -> bool {
        let (store, list) = &mut self.ghosts;
        if let Some(place) = store.find(key) {
            list.unlink(store, place);
            store.remove(place);
            return true;
        }
        let place = store.insert(key, size, 0);
        list.push(store, place);
        list.evict_to(store, bytes);
        false
    }
}
