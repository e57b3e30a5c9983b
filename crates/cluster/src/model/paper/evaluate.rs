//! Time, energy and wear of the designs of a grid, by the `paper` model.
//!
//! Designs with the same storage and number of processors are a group, which is prepared once.

use super::group::{PaperDesign, PaperGroup};
use super::limits::{PAPER_LIMITS, PaperLimits};
use super::load::{PaperLoad, PaperSample};
use super::notes::{assumptions, spread_note, warnings};
use super::report::{DesignReport, FlashReport, OutcomeReport, OverBudget, PaperExtras, Series};
use super::simulate::{ClusterOutcome, Node, by_part, spread};
use super::{PaperSpace, PaperSurvey};
use crate::error::ClusterError;
use crate::model::cost::without_last_digits;
use crate::space::config::{Design, Network};
use crate::space::find::part;
use crate::space::grid::{Grid, GridStorage, Point};
use crate::space::machine::storage_id;
use crate::space::node::NodePower;
use crate::survey::report::Assumption;
use crate::survey::{Choice, Chosen, Chunk, Conclusion, Model, NamedColumn, chunks, in_order};
use crate::trace::alignment::{self, Lags};
use crate::trace::replays::Replays;
use crate::trace::report::StageOnDesign;
use crate::trace::stages::{StageWindow, stage_of_samples, unused};
use crate::trace::stream::{FlashWear, Replayed, Stream};
use arrow_array::{BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
use gordon_units::{Ns, Watts};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The designs that the Gordon paper names (section 5.4, Table 6): least average power, most work
/// per joule, least time; each of all designs, and of those with disks.
pub(super) const NAMES: [&str; 6] = ["MinP", "MaxE", "MinT", "MinP-disk", "MaxE-disk", "MinT-disk"];

/// Names of all designs; as many for those with disks follow.
const NAMES_OF_ALL: usize = NAMES.len() / 2;

/// A grid on the storages that its traces were replayed on.
pub struct PaperModel<'a> {
    survey: &'a PaperSurvey,
    grid: &'a Grid,
    overhead_ratio: f64,
    streams: &'a [Stream],
    replays: &'a Replays<'a>,
    network: &'a Network,
    nodes: Vec<Node>,
    /// By storage of the grid.
    replayed: Vec<&'a [Replayed]>,
    loads: Vec<PaperLoad>,
    limits: Vec<PaperLimits>,
    /// By processors of the grid: speed and power, and the node with the first storage.
    designs: Vec<PaperDesign>,
    powers: Vec<NodePower>,
    /// Processors with the same number in a node.
    sets: Vec<Vec<usize>>,
    over_budget: OverBudget,
    warnings: Vec<String>,
}

impl<'a> PaperModel<'a> {
    /// Prepares the grid.
    ///
    /// # Errors
    /// Returns an error if a part is not in the catalogue, or if a clock or a count is invalid.
    pub fn new(
        survey: &'a PaperSurvey,
        space: &'a PaperSpace,
        streams: &'a [Stream],
        replays: &'a Replays<'_>,
    ) -> Result<Self, ClusterError> {
        let grid = &space.grid;
        let network = part("network", &survey.parts.network, &survey.node.network)?;
        let memory = part("memory", &survey.parts.memory, &survey.node.memory)?;
        let samples = |stream: &Stream, replayed: &Replayed| -> Vec<PaperSample> {
            let pairs = stream.demands.iter().zip(&replayed.replay.costs);
            pairs
                .map(|(demand, cost)| PaperSample {
                    instructions: demand.instructions,
                    storage: cost.time.as_secs(),
                    network: demand.network_secs(network),
                    memory: demand.memory_secs(memory),
                    usage: cost.usage,
                })
                .collect()
        };
        let lags = Lags::new(&survey.lags);
        let nodes = spread(&lags.lengths(streams), survey.nodes as usize, *survey.shift);
        let listed = survey.stages.as_deref().unwrap_or_default();
        // The stage of each sample number; empty without stages.
        let stages = match &survey.stages {
            Some(listed) => stage_of_samples(listed, &lags.longest(streams)),
            None => Vec::new(),
        };
        let delayed = |(at, (stream, replayed)): (usize, (&Stream, &Replayed))| {
            lags.delayed(at, samples(stream, replayed))
        };
        let on_storage = |storage: &GridStorage| {
            let replayed = replays.on((&storage.part, storage.count));
            replayed.expect("the storages of the grid were replayed")
        };
        let replayed: Vec<&[Replayed]> = grid.storages.iter().map(on_storage).collect();
        let loads: Vec<PaperLoad> = replayed
            .iter()
            .map(|replayed| PaperLoad {
                streams: streams.iter().zip(*replayed).enumerate().map(delayed).collect(),
                nodes: nodes.clone(),
                stages: stages.clone(),
            })
            .collect();
        let powers = node_powers(survey, grid, space.overhead_ratio)?;
        let designs = grid.processors.iter().zip(&powers).map(|(processors, power)| PaperDesign {
            instructions_per_s: *survey.parts.cpu[&processors.part].ipc * processors.clock.0,
            cpu: power.cpu(),
        });
        let mut model = Self {
            survey,
            grid,
            overhead_ratio: space.overhead_ratio,
            streams,
            replays,
            network,
            nodes,
            replayed,
            limits: loads.par_iter().map(PaperLimits::new).collect(),
            loads,
            designs: designs.collect(),
            powers,
            sets: grid.by_cpus(),
            over_budget: OverBudget::default(),
            warnings: [
                warnings(streams, replays),
                alignment::warnings(streams, &lags),
                unused(listed, &stages),
            ]
            .concat(),
        };
        model.over_budget = model.over_budget();
        Ok(model)
    }

    fn points(&self, chunk: &Chunk) -> impl Iterator<Item = Point> {
        let storage = chunk.group / self.sets.len();
        let set = &self.sets[chunk.group % self.sets.len()][chunk.members.clone()];
        set.iter().map(move |&processor| Point { storage, processor })
    }

    /// The node of a design.
    fn power(&self, point: Point) -> NodePower {
        let design = self.grid.design(point);
        NodePower::new(&design, &self.survey.node, self.overhead_ratio, &self.survey.parts)
            .expect("the parts of all designs were checked")
    }

    fn group(&self, point: Point) -> PaperGroup {
        PaperGroup::new(&self.loads[point.storage], &self.power(point))
    }

    /// Whether a design is within the budget.
    fn is_affordable(&self, point: Point) -> bool {
        self.max_power(point, &self.power(point)) <= self.survey.budget
    }

    /// Maximum power of a design, given a node of its group.
    fn max_power(&self, point: Point, node: &NodePower) -> Watts {
        node.with_cpu(self.powers[point.processor].cpu()).max()
    }

    /// The designs of a chunk that are within the budget, and their maximum power.
    fn affordable<'b>(
        &'b self,
        chunk: &'b Chunk,
        node: &'b NodePower,
    ) -> impl Iterator<Item = (Point, Watts)> + 'b {
        self.points(chunk)
            .map(|point| (point, self.max_power(point, node)))
            .filter(|(_, most)| *most <= self.survey.budget)
    }

    /// The designs above the budget.
    fn over_budget(&self) -> OverBudget {
        let ratios = self.survey.other_ratios.len();
        let most = self.survey.rows;
        let found = self
            .chunks()
            .par_iter()
            .map(|chunk| self.excess(chunk))
            .reduce(|| Excess::none(ratios), |found, more| found.and(more, most));
        let id = |number: &u64| self.grid.design(self.grid.point(*number)).id;
        OverBudget {
            total: found.total,
            ids: found.first.iter().map(id).collect(),
            least_w: found.least_w,
            with_other_ratios: found.with_other_ratios,
        }
    }

    fn excess(&self, chunk: &Chunk) -> Excess {
        let ratios = &self.survey.other_ratios;
        let budget = self.survey.budget;
        let mut found = Excess::none(ratios.len());
        let Some(first) = self.points(chunk).next() else {
            return found;
        };
        let node = self.power(first);
        for point in self.points(chunk) {
            let most = self.max_power(point, &node);
            found.least_w = found.least_w.min(most.0);
            if most > budget {
                found.total += 1;
                found.first.push(self.grid.number(point));
                continue;
            }
            for (count, ratio) in found.with_other_ratios.iter_mut().zip(ratios) {
                *count += u64::from(most * (ratio / self.overhead_ratio) > budget);
            }
        }
        found
    }

    fn report(&self, point: Point, group: &PaperGroup) -> DesignReport {
        let own = &self.designs[point.processor];
        let (sync, nosync) = (group.sync(own), group.nosync(own));
        let design = self.grid.design(point);
        DesignReport {
            max_node_power_w: self.power(point).max().0,
            id: design.id,
            cpu: design.cpu,
            cpus: design.cpus,
            ghz: design.clock.0 / 1e9,
            storage: design.storage,
            storage_count: design.count,
            sync: outcome(&sync, self.survey.nodes),
            nosync: outcome(&nosync, self.survey.nodes),
            stages: self.stages(own, group).map(|stages| outcome(&stages, self.survey.nodes)),
            energy_by_part_j: by_part(&sync),
            energy_by_part_nosync_j: by_part(&nosync),
            flash: wear(self.replayed[point.storage], &self.nodes, sync.time),
            limits: shares(group.limits(own, &self.limits[point.storage])),
        }
    }

    fn stages(&self, design: &PaperDesign, group: &PaperGroup) -> Option<ClusterOutcome> {
        self.survey.stages.as_ref().map(|_| group.stages(design))
    }

    /// Reports designs, in their order.
    fn reports_of(&self, points: &[Point]) -> Vec<DesignReport> {
        let group = |point: &Point| (point.storage, self.grid.processors[point.processor].cpus);
        in_order(points, group, |some| {
            let of_group = |same: &[Point]| {
                let group = self.group(same[0]);
                let report = |point: &Point| self.report(*point, &group);
                same.iter().map(report).collect::<Vec<_>>()
            };
            some.chunk_by(|a, b| group(a) == group(b)).flat_map(of_group).collect()
        })
    }

    /// The job over time, on the first stream.
    fn series(&self) -> Series {
        let stream = &self.streams[0];
        let of_storage = |((name, count), replayed): ((&str, u32), &[Replayed])| {
            let costs = &replayed[0].replay.costs;
            (storage_id(name, count), costs.iter().map(|c| c.time.as_secs()).collect())
        };
        Series {
            start_s: stream.starts.iter().map(|t| t.as_secs()).collect(),
            cpu_s: stream.samples.iter().map(|s| stream.cpu(s).as_secs()).collect(),
            network_s: stream.demands.iter().map(|d| d.network_secs(self.network)).collect(),
            storages: self.replays.iter().map(of_storage).collect(),
        }
    }
}

impl Model for PaperModel<'_> {
    type Design = DesignReport;
    type Extras = PaperExtras;

    fn designs_total(&self) -> u64 {
        self.grid.len() - self.over_budget.total
    }

    fn candidates(&self) -> impl Iterator<Item = u64> {
        (0..self.grid.len()).filter(|number| self.is_affordable(self.grid.point(*number)))
    }

    /// Groups of the same storage and number of processors.
    fn chunks(&self) -> Vec<Chunk> {
        let sizes = self.sets.iter().map(Vec::len);
        chunks((0..self.grid.storage_choices()).flat_map(|_| sizes.clone()))
    }

    fn names(&self) -> &'static [&'static str] {
        &NAMES
    }

    fn objectives(&self) -> Vec<usize> {
        vec![2]
    }

    fn compare(&self, chunk: &Chunk, choice: &mut Choice) {
        let Some(first) = self.points(chunk).next() else {
            return;
        };
        let node = self.power(first);
        let group = PaperGroup::new(&self.loads[first.storage], &node);
        let is_disk = self.survey.parts.disk.contains_key(&self.grid.storages[first.storage].part);
        for (point, _) in self.affordable(chunk, &node) {
            let own = &self.designs[point.processor];
            let outcome = match self.survey.stages {
                Some(_) => group.stages(own),
                None => group.sync(own),
            };
            let number = self.grid.number(point);
            let (time, energy, power) = (outcome.time, outcome.energy.total().0, outcome.power());
            propose(choice, number, [time, energy, power], is_disk);
        }
    }

    fn conclude(&self, chosen: &Chosen) -> Conclusion<PaperExtras> {
        let kept = self.survey.keep.iter().filter_map(|parts| self.grid.find(parts));
        let kept = kept.filter(|point| self.is_affordable(*point));
        Conclusion {
            extras: PaperExtras {
                spread: spread_note(self.streams, &self.nodes, self.survey),
                baseline: self.reports_of(&[self.grid.baseline]).remove(0),
                over_budget: self.over_budget.clone(),
                series: self.series(),
            },
            shown: kept.map(|point| self.grid.number(point)).collect(),
            in_stages: chosen.named().collect(),
        }
    }

    fn id(&self, number: u64) -> String {
        self.grid.design(self.grid.point(number)).id
    }

    fn reports(&self, numbers: &[u64]) -> Vec<DesignReport> {
        let points: Vec<Point> = numbers.iter().map(|number| self.grid.point(*number)).collect();
        self.reports_of(&points)
    }

    fn in_stage(&self, numbers: &[u64], window: &StageWindow) -> Vec<StageOnDesign> {
        let on_design = |number: &u64| {
            let point = self.grid.point(*number);
            let load = self.loads[point.storage].in_stage(window);
            let group = PaperGroup::new(&load, &self.power(point));
            let own = &self.designs[point.processor];
            StageOnDesign {
                id: self.grid.design(point).id,
                time_s: group.nosync(own).time,
                limits: shares(group.limits(own, &PaperLimits::new(&load))),
            }
        };
        numbers.iter().map(on_design).collect()
    }

    fn rows(&self, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
        let first = self.points(chunk).next().expect("a chunk has designs");
        let node = self.power(first);
        let group = PaperGroup::new(&self.loads[first.storage], &node);
        let points: Vec<(Point, Watts)> = self.affordable(chunk, &node).collect();
        let own: Vec<PaperDesign> =
            points.iter().map(|(point, _)| self.designs[point.processor]).collect();
        let columns = group.columns(&own, &self.limits[first.storage]);
        let designs: Vec<_> = points.iter().map(|(point, _)| self.grid.design(*point)).collect();
        let numbers = points.iter().map(|(point, _)| self.grid.number(*point));
        let on_front: Vec<bool> =
            numbers.clone().map(|number| front.binary_search(&number).is_ok()).collect();
        let text = |of: fn(&Design) -> &str| {
            Arc::new(StringArray::from_iter_values(designs.iter().map(of)))
        };
        let count = |of: fn(&Design) -> u32| {
            Arc::new(UInt32Array::from_iter_values(designs.iter().map(of)))
        };
        let float = |values: Vec<f64>| Arc::new(Float64Array::from(values));
        let mut table: Vec<NamedColumn> = vec![
            ("number".into(), Arc::new(UInt64Array::from_iter_values(numbers))),
            ("id".into(), text(|design| &design.id)),
            ("cpu".into(), text(|design| &design.cpu)),
            ("cpus".into(), count(|design| design.cpus)),
            ("clock_hz".into(), float(designs.iter().map(|design| design.clock.0).collect())),
            ("storage".into(), text(|design| &design.storage)),
            ("storage_count".into(), count(|design| design.count)),
            ("max_node_power_w".into(), float(points.iter().map(|(_, most)| most.0).collect())),
            ("sync_time_s".into(), float(columns.sync_time)),
            ("sync_energy_j".into(), float(columns.sync_energy)),
            ("nosync_time_s".into(), float(columns.nosync_time)),
            ("nosync_energy_j".into(), float(columns.nosync_energy)),
            ("pareto".into(), Arc::new(BooleanArray::from(on_front))),
        ];
        let stages = own.iter().filter_map(|design| self.stages(design, &group));
        let (times, energies): (Vec<f64>, Vec<f64>) =
            stages.map(|stages| (stages.time, stages.energy.total().0)).unzip();
        if self.survey.stages.is_some() {
            table.push(("stages_time_s".into(), float(times)));
            table.push(("stages_energy_j".into(), float(energies)));
        }
        for (name, shares) in PAPER_LIMITS.into_iter().zip(columns.limits) {
            table.push((format!("limits_{name}"), float(shares)));
        }
        table
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn assumptions(&self) -> Vec<Assumption> {
        assumptions(self.survey, self.grid, self.overhead_ratio, self.streams)
    }
}

/// Compares a design with the front, and proposes it for [`NAMES`].
pub(super) fn propose(choice: &mut Choice, number: u64, figures: [f64; 3], is_disk: bool) {
    let [time, energy, power] = figures.map(without_last_digits);
    choice.compare(0, number, &[time, energy]);
    let keys = [[power, energy, time], [energy, time, 0.0], [time, energy, 0.0]];
    for (name, key) in keys.into_iter().enumerate() {
        choice.propose(name, number, key);
        if is_disk {
            choice.propose(NAMES_OF_ALL + name, number, key);
        }
    }
}

/// The designs of some chunks that are above the budget.
struct Excess {
    total: u64,
    /// The lowest numbers.
    first: Vec<u64>,
    least_w: f64,
    with_other_ratios: Vec<u64>,
}

impl Excess {
    fn none(ratios: usize) -> Self {
        let with_other_ratios = vec![0; ratios];
        Self { total: 0, first: Vec::new(), least_w: f64::INFINITY, with_other_ratios }
    }

    /// That of both, with at most `most` numbers.
    fn and(mut self, more: Self, most: usize) -> Self {
        self.total += more.total;
        self.first.extend(more.first);
        self.first.sort_unstable();
        self.first.truncate(most);
        self.least_w = self.least_w.min(more.least_w);
        for (count, more) in self.with_other_ratios.iter_mut().zip(more.with_other_ratios) {
            *count += more;
        }
        self
    }
}

/// Checks the parts, clocks and counts of all designs.
///
/// # Errors
/// Returns an error if a part is not in the catalogue, or if a clock or a count is invalid.
pub(super) fn check(survey: &PaperSurvey, grid: &Grid, ratio: f64) -> Result<(), ClusterError> {
    node_powers(survey, grid, ratio).map(drop)
}

/// The node of each choice of processors, with the first storage.
fn node_powers(
    survey: &PaperSurvey,
    grid: &Grid,
    ratio: f64,
) -> Result<Vec<NodePower>, ClusterError> {
    let power = |point| NodePower::new(&grid.design(point), &survey.node, ratio, &survey.parts);
    for storage in 0..grid.storages.len() {
        power(Point { storage, processor: 0 })?;
    }
    (0..grid.processors.len()).map(|processor| power(Point { storage: 0, processor })).collect()
}

/// The shares above zero, by name.
fn shares(shares: [f64; PAPER_LIMITS.len()]) -> BTreeMap<String, f64> {
    let pairs = PAPER_LIMITS.into_iter().zip(shares).filter(|(_, share)| *share > 0.0);
    pairs.map(|(name, share)| (name.to_owned(), share)).collect()
}

fn outcome(outcome: &ClusterOutcome, nodes: u32) -> OutcomeReport {
    OutcomeReport {
        time_s: outcome.time,
        energy_j: outcome.energy.total().0,
        power_w: outcome.power(),
        node_power_w: outcome.power() / f64::from(nodes),
    }
}

/// Wear of the flash of all nodes; the lifetime is that of the most written array.
#[allow(clippy::cast_precision_loss)]
fn wear(replayed: &[Replayed], nodes: &[Node], time_s: f64) -> Option<FlashReport> {
    let arrays = || nodes.iter().flat_map(|node| &replayed[node.stream].flash);
    arrays().next()?;
    let sum = |count: fn(&FlashWear) -> u64| arrays().map(count).sum::<u64>();
    let programs = sum(|a| a.programs);
    let host = sum(|a| a.host_programs);
    let years = |a: &FlashWear| a.lifetime.years(Ns::from_secs(time_s));
    Some(FlashReport {
        erases: sum(|a| a.erases),
        programs,
        erase_equivalents: arrays().map(|a| a.lifetime.erase_equivalents()).sum(),
        write_amplification: (host > 0).then(|| programs as f64 / host as f64),
        endurance_used: arrays().map(|a| a.lifetime.used()).fold(0.0, f64::max),
        lifetime_span_s: time_s,
        lifetime_years: arrays().filter_map(years).reduce(f64::min),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::choose_among;

    #[test]
    fn designs_whose_sums_differ_in_their_last_digits_are_equal() {
        let sums = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1];
        assert!(sums[0] > sums[1]);
        let found = choose_among(
            &[(0, sums[0]), (1, sums[1]), (2, 1.001 * sums[1])],
            &[2],
            &NAMES,
            |(number, _)| number.to_string(),
            |choice, number, (_, sum)| propose(choice, number, [*sum; 3], true),
        );
        assert_eq!(found.front, ["0", "1"]);
        assert!(found.named.iter().all(|(_, id)| id.as_deref() == Some("0")));
    }
}
