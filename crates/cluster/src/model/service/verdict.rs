//! The recommended design: the best by the first objective that is known of one that keeps up.
//! Without objectives the cheapest that keeps up; without prices the one of least power, and
//! without powers the one with the fewest cores. Of equal ones, the one with fewer nodes: figures
//! are compared in single precision, because three nodes may cost less than one of three times the
//! price in the last digits only.

use super::evaluate::{ServiceAnswer, ServiceModel};
use super::report::{NearService, ServiceVerdict, ServiceVerdictBy};
use crate::model::cost::{Goals, Objective, without_last_digits};
use crate::survey::{Choice, Chosen, Key};

/// Names of designs; `maybe` and `nearest` are of those that do not keep up.
const NAMES: [&str; 8] = [
    "cheapest",
    "least-power",
    "smallest",
    "maybe",
    "nearest",
    "least-tco",
    "least-carbon",
    "longest-life",
];
const CHEAPEST: usize = 0;
const LEAST_POWER: usize = 1;
const SMALLEST: usize = 2;
const MAYBE: usize = 3;
const NEAREST: usize = 4;
const LEAST_TCO: usize = 5;
const LEAST_CARBON: usize = 6;
const LONGEST_LIFE: usize = 7;

/// The name of the best design by an objective, and what a verdict by it goes by.
const fn name(objective: Objective) -> (usize, ServiceVerdictBy) {
    match objective {
        Objective::Time | Objective::Price => (CHEAPEST, ServiceVerdictBy::Price),
        Objective::Energy => (LEAST_POWER, ServiceVerdictBy::Power),
        Objective::Tco => (LEAST_TCO, ServiceVerdictBy::Tco),
        Objective::Carbon => (LEAST_CARBON, ServiceVerdictBy::Carbon),
        Objective::Life => (LONGEST_LIFE, ServiceVerdictBy::Life),
    }
}

/// Names of designs: those of objectives only if they are given.
pub(super) fn names(goals: &Goals) -> &'static [&'static str] {
    let most = goals.objectives.iter().map(|one| name(*one).0).max().unwrap_or(NEAREST);
    &NAMES[..=most.max(NEAREST)]
}

/// What a service survey answers.
#[derive(Default)]
pub(super) struct ServiceConclusion {
    pub verdict: Option<ServiceVerdict>,
    pub maybe: Option<NearService>,
    pub nearest: Option<NearService>,
    /// Their designs.
    pub shown: Vec<u64>,
}

/// Price, power and cores of a design; what is unknown is worse than anything.
fn cost(model: &ServiceModel<'_>, number: u64, answer: &ServiceAnswer) -> Key {
    let nodes = f64::from(model.nodes(number));
    let cores = f64::from(*model.parts_of(number).0.machine.cores) * nodes;
    let [price, power] =
        [answer.price, answer.power].map(|known| known.map_or(f64::INFINITY, without_last_digits));
    [price, power, cores]
}

/// An objective of a design.
fn figure(answer: &ServiceAnswer, objective: Objective) -> Option<f64> {
    answer.figures.of(objective).map(without_last_digits)
}

/// What designs are compared by, in order.
fn key(model: &ServiceModel<'_>, number: u64, answer: &ServiceAnswer) -> Key {
    let cost @ [price, power, _] = cost(model, number, answer);
    let first = model.survey.goals.objectives.first();
    first.map_or(cost, |first| [figure(answer, *first).unwrap_or(f64::INFINITY), price, power])
}

/// Compares a design with the front, of its costs and its greatest use, and proposes it for names.
pub(super) fn compare(model: &ServiceModel<'_>, number: u64, choice: &mut Choice) {
    let answer = model.answer(number);
    let goals = &model.survey.goals;
    if !goals.allows(&answer.figures) {
        return;
    }
    let [price, power, cores] = cost(model, number, &answer);
    let nodes = f64::from(model.nodes(number));
    let used = without_last_digits(answer.limit(model.limit()).1);
    match answer.keeps_up() {
        Some(true) => {
            let figures: Option<Vec<f64>> = match goals.objectives.is_empty() {
                true if price.is_finite() => Some(vec![price]),
                true if model.is_priced() => None,
                true if power.is_finite() => Some(vec![power]),
                true => Some(vec![cores]),
                false => goals.objectives.iter().map(|one| figure(&answer, *one)).collect(),
            };
            if let Some(mut figures) = figures {
                figures.push(used);
                choice.compare(0, number, &figures);
            }
            for objective in &goals.objectives {
                let place = name(*objective).0;
                if let (LEAST_TCO.., Some(value)) = (place, figure(&answer, *objective)) {
                    choice.propose(place, number, [value, nodes, price]);
                }
            }
            if price.is_finite() {
                choice.propose(CHEAPEST, number, [price, nodes, power]);
            }
            if power.is_finite() {
                choice.propose(LEAST_POWER, number, [power, nodes, cores]);
            }
            choice.propose(SMALLEST, number, [cores, nodes, power]);
        }
        None if answer.may_keep_up(model.limit()) => {
            choice.propose(MAYBE, number, key(model, number, &answer));
        }
        None | Some(false) => choice.propose(NEAREST, number, [used, price, nodes]),
    }
}

/// The answer of a choice.
pub(super) fn conclude(model: &ServiceModel<'_>, chosen: &Chosen) -> ServiceConclusion {
    let best = |name: usize| chosen.best[name].map(|(_, number)| number);
    let wanted = model.survey.goals.objectives.iter().map(|one| name(*one));
    let usual = [
        (CHEAPEST, ServiceVerdictBy::Price),
        (LEAST_POWER, ServiceVerdictBy::Power),
        (SMALLEST, ServiceVerdictBy::Cores),
    ];
    let recommended = wanted.chain(usual).find_map(|(name, by)| Some((best(name)?, by)));
    let near = |number: u64| {
        let answer = model.answer(number);
        let resource = answer.limited_by(model.limit());
        let used = answer.uses.named().find(|(name, _)| *name == resource);
        NearService {
            design: model.named(number),
            resource,
            used: used.and_then(|(_, used)| Some((*used)?.best.p99)),
        }
    };
    let of = |number: u64| key(model, number, &model.answer(number));
    let maybe = best(MAYBE).filter(|maybe| match recommended {
        Some((number, _)) => {
            let pairs = of(*maybe).into_iter().zip(of(number));
            let mut orders = pairs.map(|(maybe, known)| maybe.total_cmp(&known));
            orders.find(|order| order.is_ne()).is_some_and(std::cmp::Ordering::is_lt)
        }
        None => true,
    });
    let nearest = best(NEAREST).filter(|_| recommended.is_none());
    let shown = recommended.map(|(number, _)| number).into_iter().chain(maybe).chain(nearest);
    ServiceConclusion {
        shown: shown.collect(),
        verdict: recommended.map(|(number, by)| ServiceVerdict { design: model.named(number), by }),
        maybe: maybe.map(near),
        nearest: nearest.map(near),
    }
}
