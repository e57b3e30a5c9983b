//! The recommended machine: of those that are nearly as fast as the fastest, or meet the deadline,
//! the cheapest, or the one of least energy.

use super::evaluate::{JobModel, index};
use super::report::Verdict;
use crate::model::cost::{FASTEST, Recommended, SLACK};
use crate::survey::{Chosen, Model};

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
    let Some((_, fastest)) = chosen.best[FASTEST] else {
        return JobAnswer::default();
    };
    let floor = model.floor(fastest);
    let deadline_s = model.survey.goals.deadline_s;
    let mut answer = JobAnswer { floor_s: floor.secs, ..JobAnswer::default() };
    let has_choice = deadline_s.is_some() || floor.share < MOSTLY_FLOOR;
    let recommended = model.compared.recommended(chosen).filter(|_| has_choice);
    if let Some(Recommended { by, number, fastest }) = recommended {
        let design = &model.space.designs[index(number)];
        answer.verdict = Some(Verdict {
            id: model.id(number),
            machine: design.id(),
            nodes: design.nodes,
            fastest: model.id(fastest),
            slack: SLACK,
            deadline_s,
            by,
        });
        answer.recommended = Some(number);
    }
    answer
}
