//! The recommended design: the cheapest that keeps up; without prices the one of least power, and
//! without powers the one with the fewest cores. Of equal ones, the one with fewer nodes.

use super::evaluate::{ServiceAnswer, ServiceModel};
use super::report::{NearService, ServiceVerdict, ServiceVerdictBy};
use crate::survey::{Choice, Chosen, Key};

/// Names of designs; those that do not keep up are named by the last two.
pub(super) const NAMES: [&str; 5] = ["cheapest", "least-power", "smallest", "maybe", "nearest"];
const CHEAPEST: usize = 0;
const LEAST_POWER: usize = 1;
const SMALLEST: usize = 2;
const MAYBE: usize = 3;
const NEAREST: usize = 4;

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
    [answer.price.unwrap_or(f64::INFINITY), answer.power.unwrap_or(f64::INFINITY), cores]
}

/// Compares a design with the front, of cost and greatest use, and proposes it for names.
pub(super) fn compare(model: &ServiceModel<'_>, number: u64, choice: &mut Choice) {
    let answer = model.answer(number);
    let key @ [price, power, cores] = cost(model, number, &answer);
    let nodes = f64::from(model.nodes(number));
    let (_, used) = answer.limit(model.limit());
    match answer.keeps_up() {
        Some(true) => {
            let cost = *key.iter().find(|cost| cost.is_finite()).unwrap_or(&cores);
            if price.is_finite() || !model.is_priced() {
                choice.compare(0, number, &[cost, used]);
            }
            if price.is_finite() {
                choice.propose(CHEAPEST, number, [price, nodes, power]);
            }
            if power.is_finite() {
                choice.propose(LEAST_POWER, number, [power, nodes, cores]);
            }
            choice.propose(SMALLEST, number, [cores, nodes, power]);
        }
        None if answer.may_keep_up(model.limit()) => choice.propose(MAYBE, number, key),
        None | Some(false) => choice.propose(NEAREST, number, [used, price, nodes]),
    }
}

/// The answer of a choice.
pub(super) fn conclude(model: &ServiceModel<'_>, chosen: &Chosen) -> ServiceConclusion {
    let best = |name: usize| chosen.best[name].map(|(_, number)| number);
    let by = [
        (CHEAPEST, ServiceVerdictBy::Price),
        (LEAST_POWER, ServiceVerdictBy::Power),
        (SMALLEST, ServiceVerdictBy::Cores),
    ];
    let recommended = by.into_iter().find_map(|(name, by)| Some((best(name)?, by)));
    let near = |number: u64| {
        let answer = model.answer(number);
        let (limit, _) = answer.limit(model.limit());
        let short_of = answer.short_of();
        let resource = match short_of.contains(&limit) {
            true => limit,
            false => short_of.first().copied().unwrap_or(limit),
        };
        let used = answer.uses.named().find(|(name, _)| *name == resource);
        NearService {
            design: model.named(number),
            resource,
            used: used.and_then(|(_, used)| Some((*used)?.best.p99)),
        }
    };
    let of = |number: u64| cost(model, number, &model.answer(number));
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
