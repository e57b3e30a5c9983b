//! How far a bill is known: which of its inputs its variance comes from, and how often another
//! design is the best one.
//!
//! Each input is its value times a factor of median 1, whose logarithm is normal below and above
//! it: the ends of its range are the 10th and the 90th percentile. Inputs are independent.
//!
//! First-order indices are estimated as Saltelli et al. do (Computer Physics Communications 181,
//! 2010), total ones as Jansen does (Computer Physics Communications 117, 1999).

use crate::model::bill::{Bill, BillInputs};
use crate::model::cost::without_last_digits;
use crate::space::operation::Operation;
use gordon_units::splitmix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// The 90th percentile of a normal distribution.
const NINETIETH: f64 = 1.281_551_565_544_600_4;
/// Share by which a design has to be better than the best one to take its place: less is not worth
/// a choice.
const EQUAL: f64 = 1e-3;
/// The least end of a range: less has no logarithm, and changes no bill.
const LEAST: f64 = 1e-3;

/// An input of a bill that is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BillKey {
    /// Length of a run, and its energy with it.
    TimeS,
    /// Power: the energy of a run and the power between runs.
    EnergyJ,
    /// Price of a node without drives.
    PurchasePrice,
    /// Price of drives.
    DrivesPrice,
    /// Years of service of drives.
    DrivesLifeYears,
    /// Carbon of making a node.
    EmbodiedKg,
    /// Carbon of making drives.
    DrivesEmbodiedKg,
    /// Endurance that a run uses.
    Wear,
    /// Price of a kWh.
    PricePerKwh,
    /// Power usage effectiveness.
    Pue,
    /// Carbon of a kWh.
    GramsPerKwh,
    /// Years until a machine is replaced.
    Years,
    /// Hours of a year in use.
    HoursPerYear,
    /// Runs a day.
    RunsPerDay,
}

impl BillKey {
    /// The stream of its draws: designs with the same machine, or the same drives, have the same
    /// error of what is of these.
    const fn stream(self, design: &DoubtfulBill) -> u64 {
        match self {
            Self::PricePerKwh
            | Self::Pue
            | Self::GramsPerKwh
            | Self::Years
            | Self::HoursPerYear
            | Self::RunsPerDay => 0,
            Self::TimeS | Self::EnergyJ | Self::PurchasePrice | Self::EmbodiedKg => {
                1 + design.machine as u64
            }
            Self::DrivesPrice | Self::DrivesLifeYears | Self::DrivesEmbodiedKg | Self::Wear => {
                1 + design.drives as u64
            }
        }
    }

    /// Multiplies the input; an operation stays within what is possible.
    pub fn scale(self, inputs: &mut BillInputs, operation: &mut Operation, factor: f64) {
        let times = |value: &mut Option<f64>| {
            if let Some(value) = value {
                *value *= factor;
            }
        };
        match self {
            Self::TimeS => {
                inputs.time_s *= factor;
                times(&mut inputs.energy_j);
            }
            Self::EnergyJ => {
                times(&mut inputs.energy_j);
                times(&mut inputs.idle_w);
            }
            Self::PurchasePrice => times(&mut inputs.purchase_price),
            Self::DrivesPrice => times(&mut inputs.drives_price),
            Self::DrivesLifeYears => times(&mut inputs.drives_life_years),
            Self::EmbodiedKg => times(&mut inputs.embodied_kg),
            Self::DrivesEmbodiedKg => times(&mut inputs.drives_embodied_kg),
            Self::Wear => times(&mut inputs.wear),
            Self::PricePerKwh => operation.price_per_kwh *= factor,
            Self::Pue => operation.pue *= factor,
            Self::GramsPerKwh => operation.grams_per_kwh *= factor,
            Self::Years => operation.years *= factor,
            Self::HoursPerYear => operation.hours_per_year *= factor,
            Self::RunsPerDay => times(&mut operation.runs_per_day),
        }
        operation.clamp();
    }
}

/// A figure of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BillFigure {
    /// The total.
    Total,
    /// Carbon.
    CarbonKg,
}

impl BillFigure {
    const fn of(self, bill: &Bill) -> Option<f64> {
        match self {
            Self::Total => bill.total,
            Self::CarbonKg => bill.carbon_kg,
        }
    }
}

/// An input and the ends of its range, as factors of its value.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillRange {
    /// The input.
    pub key: BillKey,
    /// The 10th percentile, at most 1.
    pub low: f64,
    /// The 90th percentile, at least 1.
    pub high: f64,
}

impl BillRange {
    /// The factor at `z` standard deviations.
    fn factor(&self, z: f64) -> f64 {
        let end = if z < 0.0 { self.low.max(LEAST) } else { self.high };
        (end.ln() * z.abs() / NINETIETH).exp()
    }
}

/// A bill and the ranges of its inputs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoubtfulBill {
    /// The inputs.
    pub inputs: BillInputs,
    /// Their ranges, and those of the operation.
    pub ranges: Vec<BillRange>,
    /// Number of its machine, which other designs may have, too.
    #[serde(default)]
    pub machine: u32,
    /// Number of the part of its drives.
    #[serde(default)]
    pub drives: u32,
}

impl DoubtfulBill {
    /// Whether an input of it is uncertain.
    fn varies(&self, key: BillKey) -> bool {
        self.ranges.iter().any(|range| range.key == key)
    }

    /// The figure where each range has the factor at `z(its place)` standard deviations.
    fn at(
        &self,
        operation: &Operation,
        figure: BillFigure,
        z: impl Fn(usize, BillKey) -> Option<f64>,
    ) -> Option<f64> {
        let factor = |at: usize, key| z(at, key).map(|z| self.ranges[at].factor(z));
        self.with(operation, figure, factor)
    }

    /// The figure where each range has this factor.
    fn with(
        &self,
        operation: &Operation,
        figure: BillFigure,
        factor: impl Fn(usize, BillKey) -> Option<f64>,
    ) -> Option<f64> {
        let (mut inputs, mut operation) = (self.inputs, operation.clone());
        for (at, range) in self.ranges.iter().enumerate() {
            if let Some(factor) = factor(at, range.key) {
                range.key.scale(&mut inputs, &mut operation, factor);
            }
        }
        figure.of(&inputs.bill(&operation))
    }
}

/// What is drawn.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillDraws {
    /// The designs; one for indices, all with the same ranges of shared inputs.
    pub designs: Vec<DoubtfulBill>,
    /// How they are used.
    pub operation: Operation,
    /// What is compared.
    pub figure: BillFigure,
    /// Number of draws.
    pub draws: u32,
    /// Random seed.
    pub seed: u64,
}

/// How much of the variance of a figure is that of an input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SobolIndex {
    /// The input.
    pub input: BillKey,
    /// Share of the variance that would vanish if the input were known: the first-order index.
    pub first: f64,
    /// Share of the variance that would remain if all else were known: the total index.
    pub total: f64,
    /// Standard error of the first-order index.
    pub first_error: f64,
    /// Standard error of the total index.
    pub total_error: f64,
}

/// A figure where one input is at the ends of its range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BillEnds {
    /// The input.
    pub input: BillKey,
    /// The figure at the lower end; `None` if the nodes do not keep up there.
    pub at_low: Option<f64>,
    /// The figure at the upper end.
    pub at_high: Option<f64>,
}

/// What moves a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DoubtsReport {
    /// By input, each alone.
    pub ends: Vec<BillEnds>,
    /// Bills that were drawn.
    pub bills: u64,
    /// Share of them in which the nodes keep up with the runs.
    pub kept_up: f64,
    /// Empty if they do not always, or if nothing moves the figure.
    pub indices: Vec<SobolIndex>,
}

/// How often an input alone makes another design the best one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankingChange {
    /// The input.
    pub input: BillKey,
    /// Share of the draws.
    pub share: f64,
}

/// How often a design is the best one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RankingReport {
    /// The best design by the inputs as they are; `None` if the figure of none is known.
    pub best: Option<usize>,
    /// By design: share of the draws in which it is the best one.
    pub shares: Vec<f64>,
    /// By input.
    pub changes: Vec<RankingChange>,
    /// Bills that were computed.
    pub bills: u64,
}

impl BillDraws {
    /// What moves the figure of the first design.
    pub fn doubts(&self) -> DoubtsReport {
        let Some(design) = self.designs.first() else { return DoubtsReport::default() };
        let ends = design.ranges.iter().enumerate().map(|(own, range)| {
            let end =
                |z: f64| design.at(&self.operation, self.figure, |at, _| (at == own).then_some(z));
            BillEnds { input: range.key, at_low: end(-NINETIETH), at_high: end(NINETIETH) }
        });
        let inputs = design.ranges.len();
        // Sample A, sample B, and A with one column of B.
        let of = |column: &dyn Fn(usize) -> u64| -> Vec<Option<f64>> {
            (0..self.draws)
                .map(|draw| {
                    design.at(&self.operation, self.figure, |at, key| {
                        Some(self.normal(draw, column(at), key))
                    })
                })
                .collect()
        };
        let (a, b) = (of(&|_| 0), of(&|_| 1));
        let mixed: Vec<_> = (0..inputs).map(|own| of(&|at| u64::from(at == own))).collect();
        let all = || a.iter().chain(&b).chain(mixed.iter().flatten());
        let known = all().flatten().count();
        #[allow(clippy::cast_precision_loss)]
        let mut report = DoubtsReport {
            ends: ends.collect(),
            bills: all().count() as u64,
            kept_up: known as f64 / all().count().max(1) as f64,
            indices: Vec::new(),
        };
        let values = |of: &[Option<f64>]| of.iter().copied().collect::<Option<Vec<f64>>>();
        let (Some(a), Some(b)) = (values(&a), values(&b)) else { return report };
        let centre = mean(a.iter().chain(&b).copied());
        let variance = mean(a.iter().chain(&b).map(|value| (value - centre).powi(2)));
        if variance <= (centre * 1e-9).powi(2) {
            return report;
        }
        for (range, own) in design.ranges.iter().zip(&mixed) {
            let Some(own) = values(own) else { return report };
            let first = |at: usize| (b[at] - centre) * (own[at] - a[at]) / variance;
            let total = |at: usize| (a[at] - own[at]).powi(2) / 2.0 / variance;
            let draws = || 0..a.len();
            report.indices.push(SobolIndex {
                input: range.key,
                first: mean(draws().map(first)),
                total: mean(draws().map(total)),
                first_error: error(draws().map(first)),
                total_error: error(draws().map(total)),
            });
        }
        report
    }

    /// How often each design is the best one.
    pub fn ranking(&self) -> RankingReport {
        let figures: Vec<Option<f64>> = self
            .designs
            .iter()
            .map(|design| design.at(&self.operation, self.figure, |_, _| None))
            .collect();
        let mut bills = figures.len() as u64;
        // As surveys compare them: of equal ones the first.
        let compared: Vec<_> = figures.iter().map(|one| one.map(without_last_digits)).collect();
        let Some(best) = best_of(&compared, None) else {
            let shares = vec![0.0; self.designs.len()];
            return RankingReport { shares, bills, ..RankingReport::default() };
        };
        let mut keys: Vec<BillKey> = Vec::new();
        for range in self.designs.iter().flat_map(|design| &design.ranges) {
            if !keys.contains(&range.key) {
                keys.push(range.key);
            }
        }
        let mut wins = vec![0; self.designs.len()];
        let mut changed = vec![0; keys.len()];
        for draw in 0..self.draws {
            // An input has the same factor alone and with the others.
            let factors: Vec<Vec<f64>> =
                self.designs.iter().map(|design| self.factors(draw, design)).collect();
            let with = |number: usize, own: Option<BillKey>| {
                let varies = |key: BillKey| own.is_none_or(|own| own == key);
                self.designs[number].with(&self.operation, self.figure, |at, key| {
                    varies(key).then(|| factors[number][at])
                })
            };
            let all: Vec<_> = (0..self.designs.len()).map(|number| with(number, None)).collect();
            bills += all.len() as u64;
            if let Some(number) = best_of(&all, Some(best)) {
                wins[number] += 1;
            }
            for (own, changed) in keys.iter().zip(&mut changed) {
                let alone: Vec<_> = (0..self.designs.len())
                    .map(|number| {
                        if !self.designs[number].varies(*own) {
                            return figures[number];
                        }
                        bills += 1;
                        with(number, Some(*own))
                    })
                    .collect();
                *changed += u32::from(best_of(&alone, Some(best)) != Some(best));
            }
        }
        let share = |count: u32| f64::from(count) / f64::from(self.draws.max(1));
        let changes = keys.into_iter().zip(changed);
        RankingReport {
            best: Some(best),
            shares: wins.into_iter().map(share).collect(),
            changes: changes
                .map(|(input, count)| RankingChange { input, share: share(count) })
                .collect(),
            bills,
        }
    }

    /// The factors of the ranges of a design in a draw.
    fn factors(&self, draw: u32, design: &DoubtfulBill) -> Vec<f64> {
        let of = |range: &BillRange| {
            range.factor(self.normal(draw, range.key.stream(design), range.key))
        };
        design.ranges.iter().map(of).collect()
    }

    /// A normal number of an input, by the Box-Muller transform (1958).
    fn normal(&self, draw: u32, stream: u64, key: BillKey) -> f64 {
        let place = splitmix64(self.seed ^ splitmix64(stream ^ ((key as u64) << 32)));
        let own = splitmix64(place ^ splitmix64(u64::from(draw)));
        let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let (radius, angle) = (unit(splitmix64(own ^ 1)), unit(splitmix64(own ^ 2)));
        (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
    }
}

/// The place of the least figure, or `kept` if it is hardly worse; `None` if no figure is known.
fn best_of(figures: &[Option<f64>], kept: Option<usize>) -> Option<usize> {
    let known = figures.iter().enumerate().filter_map(|(at, figure)| Some((at, (*figure)?)));
    let (at, least) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_equal = |kept: &usize| figures[*kept].is_some_and(|own| own <= least * (1.0 + EQUAL));
    Some(kept.filter(is_equal).unwrap_or(at))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// The standard error of the mean.
fn error(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let centre = mean(values.clone());
    let (sum, count) = values
        .fold((0.0, 0.0), |(sum, count), value| (sum + (value - centre).powi(2), count + 1.0));
    (sum / f64::max(count, 1.0) / f64::max(count, 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATION: Operation = Operation {
        years: 4.0,
        hours_per_year: 4383.0,
        runs_per_day: Some(24.0),
        price_per_kwh: 0.2,
        pue: 1.5,
        grams_per_kwh: 500.0,
    };

    fn owned(price: f64, ranges: &[(BillKey, f64, f64)]) -> DoubtfulBill {
        DoubtfulBill {
            inputs: BillInputs {
                nodes: 1,
                time_s: 1800.0,
                energy_j: Some(360_000.0),
                idle_w: Some(0.0),
                purchase_price: Some(price),
                drives_price: Some(0.0),
                ..BillInputs::default()
            },
            machine: 0,
            drives: 0,
            ranges: ranges
                .iter()
                .map(|(key, low, high)| BillRange { key: *key, low: *low, high: *high })
                .collect(),
        }
    }

    fn draws(designs: Vec<DoubtfulBill>) -> BillDraws {
        BillDraws { designs, operation: OPERATION, figure: BillFigure::Total, draws: 4096, seed: 1 }
    }

    #[test]
    fn an_input_that_adds_alone_has_all_of_the_variance() {
        let ranges = [(BillKey::PurchasePrice, 0.8, 1.25)];
        let found = draws(vec![owned(1000.0, &ranges)]).doubts();
        let index = found.indices[0];
        assert!((index.first - 1.0).abs() < 4.0 * index.first_error, "{index:?}");
        assert!((index.total - 1.0).abs() < 4.0 * index.total_error, "{index:?}");
        assert_eq!(found.kept_up, 1.0);
    }

    /// The sum of two inputs that do not interact: the variances of the parts add up.
    #[test]
    fn inputs_that_add_share_the_variance_by_their_own() {
        let ranges = [(BillKey::PurchasePrice, 0.8, 1.25), (BillKey::PricePerKwh, 0.7, 1.4)];
        let found = draws(vec![owned(1000.0, &ranges)]).doubts();
        // Purchase 1000 / 4 / 8766 = 0.02852, electricity 0.03: a lognormal factor of range r has
        // the variance exp(s^2) (exp(s^2) - 1), s = ln r / 1.2816. Of 0.8 to 1.25, s = 0.1741.
        let variance = |value: f64, s: f64| {
            let square = s * s;
            value * value * square.exp() * (square.exp() - 1.0)
        };
        let price = variance(0.028_519, 1.25f64.ln() / NINETIETH);
        // The two halves of the tariff's range have nearly the same logarithm.
        let tariff = variance(0.03, (1.4f64.ln() - 0.7f64.ln()) / 2.0 / NINETIETH);
        let wanted = price / (price + tariff);
        let index = found.indices[0];
        assert!((index.first - wanted).abs() < 0.05, "{index:?}, not {wanted}");
        assert!((index.total - wanted).abs() < 0.05, "{index:?}, not {wanted}");
        let sum: f64 = found.indices.iter().map(|index| index.first).sum();
        assert!((sum - 1.0).abs() < 0.1, "{sum}");
    }

    #[test]
    fn inputs_that_multiply_have_more_in_all_than_alone() {
        let ranges = [(BillKey::Pue, 0.7, 2.0), (BillKey::PricePerKwh, 0.3, 3.0)];
        let found = draws(vec![owned(1.0, &ranges)]).doubts();
        assert!(found.indices.iter().all(|index| index.total > index.first), "{found:?}");
    }

    #[test]
    fn nodes_that_may_not_keep_up_have_no_indices() {
        let ranges = [(BillKey::TimeS, 0.5, 3.0)];
        let found = draws(vec![owned(1000.0, &ranges)]).doubts();
        assert!(found.indices.is_empty());
        assert!(found.kept_up > 0.5 && found.kept_up < 1.0);
    }

    #[test]
    fn equal_designs_win_as_often_and_shared_inputs_change_nothing() {
        let ranges = [(BillKey::PurchasePrice, 0.8, 1.25), (BillKey::PricePerKwh, 0.7, 1.4)];
        let other = DoubtfulBill { machine: 1, ..owned(1001.0, &ranges) };
        let found = draws(vec![owned(1000.0, &ranges), other]).ranking();
        assert_eq!(found.best, Some(0));
        assert!((found.shares[0] - 0.5).abs() < 0.05, "{found:?}");
        assert_eq!(found.changes[1].input, BillKey::PricePerKwh);
        assert_eq!(found.changes[1].share, 0.0);
        assert!((found.changes[0].share - 0.5).abs() < 0.05);
        // The last digits of sums do not decide which is the best.
        let digits = [1000.0 * (1.0 + 1e-12), 1000.0].map(|price| owned(price, &ranges));
        assert_eq!(draws(digits.into()).ranking().best, Some(0));
        // The same machine has the same error of its price.
        let same = draws(vec![owned(1000.0, &ranges), owned(1000.001, &ranges)]).ranking();
        assert_eq!(same.shares, [1.0, 0.0]);
        let far = draws(vec![owned(1000.0, &ranges), owned(9000.0, &ranges)]).ranking();
        assert_eq!(far.shares, [1.0, 0.0]);
        assert!(far.changes.iter().all(|change| change.share == 0.0));
    }
}
