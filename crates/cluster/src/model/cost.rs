//! How models of machines choose: by the upper ends of times, and by price and energy of those
//! times.

use crate::space::machine::Machine;
use crate::survey::{Choice, Front};
use schemars::JsonSchema;
use serde::Serialize;

/// Names of designs.
pub(super) const NAMES: [&str; 3] = ["fastest", "cheapest", "least-energy"];
pub(super) const FASTEST: usize = 0;
const CHEAPEST: usize = 1;
const LEAST_ENERGY: usize = 2;

/// The fronts: of the report, of time and price, and of time and energy. A recommended design is on
/// one of the last two.
const REPORTED: usize = 0;
const BY_PRICE: usize = 1;
const BY_ENERGY: usize = 2;

/// How much longer than the fastest design the recommended one may take.
pub(super) const SLACK: f64 = 0.1;

/// What choices compare: the upper end of the time, and energy and price of that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub time: f64,
    pub energy: Option<f64>,
    pub price: Option<f64>,
}

/// What a recommendation goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictBy {
    /// The lowest price.
    Price,
    /// The least energy, because no design has a price.
    Energy,
    /// The least time, because neither prices nor powers are known.
    Time,
}

/// What the front compares.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    /// Whether only designs with a price are compared, and by it.
    is_priced: bool,
    /// Whether all designs that are compared have a power. An unknown energy can neither beat
    /// another nor be beaten.
    has_energy: bool,
}

impl Compared {
    /// What is known of all of `machines`.
    pub fn of(machines: &[Machine]) -> Self {
        let is_priced = machines.iter().any(|machine| machine.price_per_hour.is_some());
        let is_compared = |m: &&Machine| !is_priced || m.price_per_hour.is_some();
        let mut compared = machines.iter().filter(is_compared);
        Self { is_priced, has_energy: compared.all(|machine| machine.power().is_some()) }
    }

    /// Number of objectives of each front.
    pub fn objectives(self) -> Vec<usize> {
        vec![1 + usize::from(self.is_priced) + usize::from(self.has_energy), 2, 2]
    }

    /// Compares a design with the fronts, and proposes it for the names.
    pub fn compare(self, number: u64, figures: &Figures, choice: &mut Choice) {
        let Figures { time, energy, price } = *figures;
        if price.is_some() || !self.is_priced {
            let mut objectives = vec![time];
            objectives.extend(price.filter(|_| self.is_priced));
            objectives.extend(energy.filter(|_| self.has_energy));
            choice.compare(REPORTED, number, &objectives);
        }
        let cost = price.unwrap_or(f64::INFINITY);
        choice.propose(FASTEST, number, [time, cost, 0.0]);
        if let Some(price) = price {
            choice.propose(CHEAPEST, number, [price, time, 0.0]);
            choice.compare(BY_PRICE, number, &[time, price]);
        }
        if let Some(energy) = energy {
            choice.propose(LEAST_ENERGY, number, [energy, time, cost]);
            choice.compare(BY_ENERGY, number, &[time, energy]);
        }
    }
}

/// The longest time that a recommended design may take, if the fastest takes `fastest`: the
/// deadline, otherwise a little more than the fastest. `None` if no design meets the deadline.
pub(super) fn longest(deadline: Option<f64>, fastest: f64) -> Option<f64> {
    match deadline {
        Some(deadline) => (fastest <= deadline).then_some(deadline),
        None => Some(fastest * (1.0 + SLACK)),
    }
}

/// The design of least price, or energy, that takes at most `time`; otherwise `fastest`.
pub(super) fn least_cost(fronts: &[Front], time: f64, fastest: u64) -> (VerdictBy, u64) {
    match (least_within(&fronts[BY_PRICE], time), least_within(&fronts[BY_ENERGY], time)) {
        (Some(cheapest), _) => (VerdictBy::Price, cheapest),
        (None, Some(least)) => (VerdictBy::Energy, least),
        (None, None) => (VerdictBy::Time, fastest),
    }
}

/// The design of a front of time and cost with the least cost of those that take at most `time`:
/// the front is in the order of the times, so the first of the last with another cost.
fn least_within(front: &Front, time: f64) -> Option<u64> {
    let within = front.objectives[0].partition_point(|secs| *secs <= time);
    let last = within.checked_sub(1)?;
    let costs = &front.objectives[1];
    let first = costs[..within].iter().position(|cost| *cost == costs[last])?;
    Some(front.numbers[first])
}
