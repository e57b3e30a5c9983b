//! How much the time of an application varies with the durations of its tasks: the tasks of each
//! stage are drawn again from those recorded (bootstrap; Efron, Annals of Statistics, 1979).

use super::application::Application;
use super::demand::TaskDemand;
use super::node::Cluster;
use super::simulate::Simulator;
use gordon_units::SplitMix64;
use rayon::prelude::*;

/// Drawn applications for a number of slots.
const DRAWS: u64 = 8;
/// Standard deviations between the middle and an end of an 80 % range of a normal distribution.
const HALF_RANGE: f64 = 1.2816;

/// The variation by the number of slots.
#[derive(Default)]
pub(super) struct Durations {
    /// Half of the 80 % range as a logarithm, for 1, 2, 4, ... nodes of the kind that was drawn on.
    by_doubling: Vec<f64>,
    slots: f64,
}

impl Durations {
    /// Draws for clusters of 1 to `nodes` nodes such as that of `cluster`.
    pub fn of(
        application: &Application,
        demands: &[TaskDemand],
        cluster: &Cluster,
        most_slots: u32,
    ) -> Self {
        let slots = cluster.node.slots;
        let doublings = most_slots.div_ceil(slots.max(1)).next_power_of_two().ilog2();
        let spread = |doubling: u32| {
            let cluster = Cluster { nodes: 1 << doubling, ..cluster.clone() };
            let mut simulator = Simulator::default();
            let logs: Vec<f64> = (0..DRAWS)
                .map(|draw| {
                    let drawn = drawn(application, demands, draw);
                    simulator.run(application, &drawn, &cluster).time.max(f64::MIN_POSITIVE).ln()
                })
                .collect();
            deviation(&logs) * HALF_RANGE
        };
        let by_doubling = (0..=doublings).into_par_iter().map(spread).collect();
        Self { by_doubling, slots: f64::from(slots) }
    }

    /// Half of the 80 % range on a cluster with this number of slots, as a logarithm.
    pub fn at(&self, slots: u32) -> f64 {
        let doubling = (f64::from(slots) / self.slots).log2().max(0.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let below = (doubling as usize).min(self.by_doubling.len() - 1);
        let above = (below + 1).min(self.by_doubling.len() - 1);
        #[allow(clippy::cast_precision_loss)]
        let part = (doubling - below as f64).clamp(0.0, 1.0);
        self.by_doubling[below] * (1.0 - part) + self.by_doubling[above] * part
    }
}

/// The demands of an application whose tasks are drawn again within their stages.
fn drawn(application: &Application, demands: &[TaskDemand], draw: u64) -> Vec<TaskDemand> {
    let mut random = SplitMix64(draw);
    let mut drawn = demands.to_vec();
    for stage in &application.stages {
        let of_stage = &demands[stage.tasks.clone()];
        for place in &mut drawn[stage.tasks.clone()] {
            #[allow(clippy::cast_possible_truncation)]
            let at = random.below(of_stage.len() as u64) as usize;
            *place = of_stage[at];
        }
    }
    drawn
}

fn deviation(values: &[f64]) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt()
}
