//! How models of machines choose: by the upper ends of times, and by what those times cost.

use crate::error::ClusterError;
use crate::model::bill::{Bill, Run};
use crate::space::machine::Machine;
use crate::survey::{Choice, Chosen, Front};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of designs.
const NAMES: [&str; 6] =
    ["fastest", "cheapest", "least-energy", "least-tco", "least-carbon", "longest-life"];
pub(super) const FASTEST: usize = 0;

/// How much longer than the fastest design the recommended one may take.
pub(super) const SLACK: f64 = 0.1;

/// What a survey compares designs by. The least is best; of the life, the longest.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Seconds of a run.
    Time,
    /// Price of a run.
    Price,
    /// Energy of a run.
    Energy,
    /// What a run costs in all: purchase or rent, electricity and worn drives.
    Tco,
    /// Carbon of a run, of its electricity and of making the machines.
    Carbon,
    /// Years until flash is worn.
    Life,
}

impl Objective {
    /// Its place in [`NAMES`].
    const fn name(self) -> usize {
        match self {
            Self::Time => FASTEST,
            Self::Price => 1,
            Self::Energy => 2,
            Self::Tco => 3,
            Self::Carbon => 4,
            Self::Life => 5,
        }
    }
}

/// What the choices of a survey go by.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goals {
    /// What designs are compared by, the most important first. Default: time, price if a machine
    /// has one, and energy if it is known of all machines that are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// Seconds within which the job has to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<f64>,
    /// Most watts of all nodes while they are busy. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_power_w: Option<f64>,
    /// Most that a run may cost. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_price: Option<f64>,
    /// Least years until flash is worn. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_life_years: Option<f64>,
}

impl Goals {
    /// Checks all values.
    ///
    /// # Errors
    /// Returns an error for a limit that is not above zero, or an objective that is given twice.
    pub fn check(&self) -> Result<(), ClusterError> {
        let impossible = |what: &str, why: String| {
            Err(ClusterError::Impossible { what: format!("goals.{what}"), why })
        };
        for (key, limit) in [
            ("deadline_s", self.deadline_s),
            ("max_power_w", self.max_power_w),
            ("max_price", self.max_price),
            ("min_life_years", self.min_life_years),
        ] {
            if let Some(bad) = limit.filter(|limit| !(limit.is_finite() && *limit > 0.0)) {
                return impossible(key, format!("{bad} is not above zero"));
            }
        }
        let mut seen = self.objectives.clone();
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => {
                let name = format!("{:?}", twice[0]).to_lowercase();
                impossible("objectives", format!("{name} is given twice"))
            }
            None => Ok(()),
        }
    }

    /// Whether a design is within the limits. An unknown figure is not.
    pub(super) fn allows(&self, figures: &Figures) -> bool {
        let within = |limit: Option<f64>, value: Option<f64>| {
            limit.is_none_or(|limit| value.is_some_and(|value| value <= limit))
        };
        within(self.max_power_w, figures.power)
            && within(self.max_price, figures.price)
            && within(self.min_life_years.map(|least| -least), figures.of(Objective::Life))
    }
}

/// What choices compare: the upper end of the time, and what that time costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub time: f64,
    pub energy: Option<f64>,
    pub price: Option<f64>,
    pub tco: Option<f64>,
    pub carbon: Option<f64>,
    /// Years until flash is worn: without end if a run does not wear it.
    pub life: Option<f64>,
    /// Watts of all nodes while they are busy.
    pub power: Option<f64>,
}

impl Figures {
    /// The figures of a run; the power is left out.
    pub fn of_run(run: &Run, bill: Option<&Bill>) -> Self {
        let is_unworn = run.wear.is_some_and(|wear| wear.likely <= 0.0);
        Self {
            time: run.time,
            energy: run.energy,
            price: run.price(),
            tco: bill.and_then(|bill| bill.total),
            carbon: bill.and_then(|bill| bill.carbon_kg),
            life: match is_unworn {
                true => Some(f64::INFINITY),
                false => bill.and_then(|bill| bill.flash_life_years),
            },
            power: None,
        }
    }

    /// The value of an objective; the least is the best.
    pub fn of(&self, objective: Objective) -> Option<f64> {
        match objective {
            Objective::Time => Some(self.time),
            Objective::Price => self.price,
            Objective::Energy => self.energy,
            Objective::Tco => self.tco,
            Objective::Carbon => self.carbon,
            Objective::Life => self.life.map(|years| -years),
        }
    }
}

/// What the front compares.
#[derive(Clone)]
pub(super) struct Compared {
    /// What the front that is reported compares.
    objectives: Vec<Objective>,
    /// What may recommend a design, in order: each has a front of its own, with the time.
    costs: Vec<Objective>,
    goals: Goals,
}

/// What may recommend a design, whatever the objectives.
const ALWAYS: [Objective; 2] = [Objective::Price, Objective::Energy];

/// The front that is reported; those of `Compared::costs` follow.
const REPORTED: usize = 0;

impl Compared {
    /// What `goals` say, or what is known of all of `machines`.
    pub fn of(machines: &[Machine], goals: &Goals) -> Self {
        if !goals.objectives.is_empty() {
            return Self::by(goals.objectives.clone(), goals);
        }
        let is_priced = machines.iter().any(|machine| machine.price_per_hour.is_some());
        let is_compared = |m: &&Machine| !is_priced || m.price_per_hour.is_some();
        // An unknown energy can neither beat another nor be beaten.
        let has_energy = machines.iter().filter(is_compared).all(|m| m.ends().is_some());
        let price = is_priced.then_some(Objective::Price);
        let energy = has_energy.then_some(Objective::Energy);
        let objectives = [Some(Objective::Time), price, energy].into_iter().flatten().collect();
        Self { objectives, costs: ALWAYS.to_vec(), goals: goals.clone() }
    }

    /// What `objectives` say, within the limits of `goals`.
    pub fn by(objectives: Vec<Objective>, goals: &Goals) -> Self {
        let given = objectives.iter().filter(|one| **one != Objective::Time);
        let others = ALWAYS.iter().filter(|one| !objectives.contains(one));
        let costs = given.chain(others).copied().collect();
        Self { objectives, costs, goals: goals.clone() }
    }

    /// What the front that is reported compares.
    pub fn objectives(&self) -> Vec<Objective> {
        self.objectives.clone()
    }

    /// Names of designs: the first ones always, the others if they are objectives.
    pub fn names(&self) -> &'static [&'static str] {
        let most = self.objectives.iter().map(|one| one.name()).max().unwrap_or(FASTEST);
        &NAMES[..=most.max(Objective::Energy.name())]
    }

    /// Number of objectives of each front.
    pub fn fronts(&self) -> Vec<usize> {
        [self.objectives.len()].into_iter().chain(self.costs.iter().map(|_| 2)).collect()
    }

    /// Compares a design with the fronts, and proposes it for the names.
    pub fn compare(&self, number: u64, figures: &Figures, choice: &mut Choice) {
        if !self.goals.allows(figures) {
            return;
        }
        let of = |objective: &Objective| figures.of(*objective).map(without_last_digits);
        if let Some(all) = self.objectives.iter().map(of).collect::<Option<Vec<f64>>>() {
            choice.compare(REPORTED, number, &all);
        }
        let time = without_last_digits(figures.time);
        let cost = of(&Objective::Price).unwrap_or(f64::INFINITY);
        choice.propose(FASTEST, number, [time, cost, 0.0]);
        for (front, objective) in (REPORTED + 1..).zip(&self.costs) {
            let Some(value) = of(objective) else { continue };
            let then = if *objective == Objective::Price { 0.0 } else { cost };
            choice.propose(objective.name(), number, [value, time, then]);
            choice.compare(front, number, &[time, value]);
        }
    }

    /// The recommended design: of those that take little longer than the fastest, or that end
    /// within the deadline, the one of least cost by the first objective that is known of one of
    /// them. With the fastest design; `None` if no design meets the deadline.
    pub fn recommended(&self, chosen: &Chosen) -> Option<Recommended> {
        let ([time, ..], fastest) = chosen.best[FASTEST]?;
        let longest = self.longest(time)?;
        let fronts = self.costs.iter().zip(&chosen.fronts[REPORTED + 1..]);
        let mut least = fronts.filter_map(|(by, front)| Some((*by, least_within(front, longest)?)));
        let (by, number) = least.next().unwrap_or((Objective::Time, fastest));
        Some(Recommended { by, number, fastest })
    }

    /// The longest time of a recommended design, in single precision as the times are; `None` if
    /// the fastest design takes longer.
    fn longest(&self, fastest: f64) -> Option<f64> {
        match self.goals.deadline_s.map(without_last_digits) {
            Some(deadline) => (fastest <= deadline).then_some(deadline),
            None => Some(fastest * (1.0 + SLACK)),
        }
    }
}

/// A figure in single precision: sums of the same numbers in another order are equal.
pub(super) fn without_last_digits(figure: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation)]
    let single = figure as f32;
    single.into()
}

/// A recommended design, and the fastest one.
#[derive(Clone, Copy)]
pub(super) struct Recommended {
    pub by: Objective,
    pub number: u64,
    pub fastest: u64,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::choose_among;

    #[test]
    fn a_design_that_takes_the_whole_time_meets_the_deadline() {
        // The nearest number of single precision is above 0.1 and below 0.7.
        for time in [0.1, 0.5, 0.7] {
            let longest = |deadline: f64| {
                let goals = Goals { deadline_s: Some(deadline), ..Goals::default() };
                Compared::by(vec![], &goals).longest(without_last_digits(time))
            };
            assert!(longest(time).is_some_and(|longest| longest >= without_last_digits(time)));
            assert_eq!(longest(time * 0.999), None);
        }
    }

    #[test]
    fn equal_sums_with_other_last_digits_do_not_decide() {
        let sums = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1];
        assert!(sums[0] > sums[1]);
        for objectives in [vec![Objective::Time, Objective::Tco], vec![Objective::Tco]] {
            let compared = Compared::by(objectives, &Goals::default());
            // The first is also the best where a price breaks the tie.
            let figures = [0, 1].map(|number: usize| Figures {
                time: sums[number],
                price: Some(1.0 + number as f64),
                tco: Some(sums[number]),
                ..Figures::default()
            });
            let compare = |choice: &mut Choice, number: u64, one: &(usize, Figures)| {
                compared.compare(number, &one.1, choice);
            };
            let numbered: Vec<_> = figures.into_iter().enumerate().collect();
            let (fronts, names) = (compared.fronts(), compared.names());
            let found = choose_among(&numbered, &fronts, names, |one| one.0.to_string(), compare);
            for name in ["fastest", "least-tco"] {
                let named = found.named.iter().find(|(known, _)| *known == name);
                assert_eq!(named, Some(&(name, Some("0".to_owned()))));
            }
        }
    }
}
