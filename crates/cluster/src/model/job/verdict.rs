//! The recommended machine: of those that are nearly as fast as the fastest, the cheapest, or the
//! one of least energy.

use super::evaluate::JobModel;
use super::report::Verdict;
use crate::model::cost::{FASTEST, SLACK, least_cost};
use crate::survey::{Chosen, Front, Model};

/// Share of the time of the fastest design from which its floor is the answer.
const MOSTLY_FLOOR: f64 = 0.5;

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
    let (by, number) = least_cost(fronts, time * (1.0 + SLACK), fastest);
    let machine = model.id(number);
    let verdict = Verdict { machine, fastest: model.id(fastest), slack: SLACK, by };
    (verdict, number)
}
