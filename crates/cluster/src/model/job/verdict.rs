//! The recommended machine: of those that are nearly as fast as the fastest, the cheapest, or the
//! one of least energy.

use super::evaluate::{BY_ENERGY, BY_PRICE, FASTEST, JobModel};
use super::report::{Verdict, VerdictBy};
use crate::survey::{Chosen, Front, Model};

/// Share of the time of the fastest design from which its floor is the answer.
const MOSTLY_FLOOR: f64 = 0.5;
/// How much longer than the fastest design the recommended one may take.
const SLACK: f64 = 0.1;

/// What a survey of machines answers.
#[derive(Default)]
pub(super) struct JobAnswer {
    /// The recommended design, if there is one.
    pub recommended: Option<u64>,
    pub verdict: Option<Verdict>,
    pub floor_s: f64,
}

/// The answer of a choice.
pub(super) fn answer(model: &JobModel<'_>, chosen: &Chosen) -> JobAnswer {
    let Some(([time, ..], fastest)) = chosen.best[FASTEST] else {
        return JobAnswer::default();
    };
    let floor = model.floor(fastest);
    let mut answer = JobAnswer { floor_s: floor.secs, ..JobAnswer::default() };
    if floor.share < MOSTLY_FLOOR {
        let (verdict, number) = recommend(model, &chosen.fronts, fastest, time);
        answer.verdict = Some(verdict);
        answer.recommended = Some(number);
    }
    answer
}

/// The recommended design and its number; see [`Verdict`]. `time` is that of the fastest.
fn recommend(model: &JobModel<'_>, fronts: &[Front], fastest: u64, time: f64) -> (Verdict, u64) {
    let near = |front: usize| least_within(&fronts[front], time * (1.0 + SLACK));
    let (by, number) = match (near(BY_PRICE), near(BY_ENERGY)) {
        (Some(cheapest), _) => (VerdictBy::Price, cheapest),
        (None, Some(least)) => (VerdictBy::Energy, least),
        (None, None) => (VerdictBy::Time, fastest),
    };
    let machine = model.id(number);
    let verdict = Verdict { machine, fastest: model.id(fastest), slack: SLACK, by };
    (verdict, number)
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
