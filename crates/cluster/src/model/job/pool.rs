//! The nodes of a job as one machine, which has the cores of all of them.
//!
//! What the nodes did in the same window of time is the work of the cluster in that window: CPU
//! time and bytes add up, and the cluster is idle while all nodes are. The storage of a window is
//! that of its busiest node, because its data lie there. On another number of nodes, each has its
//! part of the bytes. docs/design/cluster.md, "Several nodes", has the equations.

use super::load::JobNode;
use super::range::{PlaceCost, StorageRatio};
use crate::space::cores::Cores;
use crate::trace::sample::{JobSample, mark_steady};
use gordon_blockio::Usage;

/// What one or several nodes did in a window.
#[derive(Clone, Copy)]
struct Done {
    sample: JobSample,
    cost: PlaceCost,
}

/// The nodes as one. `starts` are the seconds after the start of the first node at which each node
/// starts.
///
/// # Panics
/// Panics if there is no node.
pub fn pooled(nodes: Vec<JobNode>, starts: &[f64]) -> JobNode {
    if nodes.len() == 1 {
        return nodes.into_iter().next().expect("one");
    }
    let start = |at: usize| starts.get(at).copied().unwrap_or(0.0);
    let windows = windows(&nodes, start);
    let all: u32 = nodes.iter().map(|node| node.cores.count).sum();
    let weighted = nodes.iter().map(|node| f64::from(node.cores.count) * node.reference_speed);
    let speed = weighted.sum::<f64>() / f64::from(all);
    let mut done = vec![Done::NOTHING; windows.len()];
    for (at, node) in nodes.iter().enumerate() {
        let of_node = in_windows(node, start(at), speed, &windows);
        for (all, (own, window)) in done.iter_mut().zip(of_node.into_iter().zip(&windows)) {
            let own = own.unwrap_or(Done::IDLE);
            *all = if at == 0 { own } else { all.and(own) };
            all.sample.span = window[1] - window[0];
        }
    }
    let mut samples: Vec<JobSample> =
        done.iter().map(|done| JobSample { cores: all, ..done.sample }).collect();
    mark_steady(&mut samples);
    let mut usage = Usage::default();
    nodes.iter().for_each(|node| usage += node.usage);
    let wear: Vec<f64> = nodes.iter().filter_map(|node| node.wear).collect();
    let gains: Vec<f64> = nodes.iter().filter_map(|node| node.cores.single).collect();
    #[allow(clippy::cast_precision_loss)]
    let gain = gains.iter().sum::<f64>() / gains.len() as f64;
    JobNode {
        samples,
        costs: done.iter().map(|done| done.cost).collect(),
        usage,
        wear: (!wear.is_empty()).then(|| wear.iter().sum()),
        cores: Cores {
            count: all,
            threads: nodes[0].cores.threads,
            single: (gains.len() == nodes.len()).then_some(gain),
        },
        reference_speed: speed,
    }
}

/// Start and end of the samples of the node that ends last, and windows of the time before it
/// starts.
fn windows(nodes: &[JobNode], start: impl Fn(usize) -> f64) -> Vec<[f64; 2]> {
    let end = |at: usize| start(at) + nodes[at].samples.iter().map(|s| s.span).sum::<f64>();
    let last = (0..nodes.len()).max_by(|a, b| end(*a).total_cmp(&end(*b))).unwrap_or(0);
    let samples = &nodes[last].samples;
    let mut windows = Vec::new();
    let mut from = start(last);
    for sample in samples {
        windows.push([from, from + sample.span]);
        from += sample.span;
    }
    let interval = samples.first().map_or(0.0, |sample| sample.span);
    let mut to = start(last);
    let mut before = Vec::new();
    while interval > 0.0 && to > ROUNDING {
        before.push([(to - interval).max(0.0), to]);
        to -= interval;
    }
    before.reverse();
    before.extend(windows);
    before
}

/// What a node did in each window; `None` where it has no sample. `speed` is that of the cores in
/// which its CPU time is counted.
fn in_windows(node: &JobNode, start: f64, speed: f64, windows: &[[f64; 2]]) -> Vec<Option<Done>> {
    let mut done: Vec<Option<Done>> = vec![None; windows.len()];
    let (mut from, mut at) = (start, 0);
    let ratio = node.reference_speed / speed;
    for (sample, cost) in node.samples.iter().zip(&node.costs) {
        let to = from + sample.span;
        while at + 1 < windows.len() && windows[at][1] <= from + ROUNDING {
            at += 1;
        }
        let mut window = at;
        while window < windows.len() && windows[window][0] < to - ROUNDING {
            let covered = windows[window][1].min(to) - windows[window][0].max(from);
            let share = (covered / sample.span).min(1.0);
            let own = Done::of(sample, cost, share, ratio);
            done[window] = Some(done[window].map_or(own, |before| before.then(own)));
            window += 1;
        }
        from = to;
    }
    done
}

/// Seconds by which the sums of spans may differ.
const ROUNDING: f64 = 1e-6;

impl Done {
    const NOTHING: Self = Self {
        sample: JobSample {
            span: 0.0,
            cpu: 0.0,
            iowait: 0.0,
            cores: 0,
            busy: 0.0,
            read: 0.0,
            write: 0.0,
            stalled: None,
            waiting: None,
            steady: false,
            unserved: 0.0,
            is_link_full: false,
            link_doubt: 0.0,
            busiest: 0.0,
        },
        cost: PlaceCost::UNCHANGED,
    };
    /// A node that is not traced in a window waits for nothing.
    const IDLE: Self = Self {
        sample: JobSample { stalled: Some(0.0), waiting: Some(0.0), ..Self::NOTHING.sample },
        ..Self::NOTHING
    };

    fn of(sample: &JobSample, cost: &PlaceCost, share: f64, ratio: f64) -> Self {
        let part = sample.scaled(share);
        let cpu = part.cpu * ratio;
        Self {
            sample: JobSample { cpu, unserved: part.unserved * ratio, busiest: cpu, ..part },
            cost: cost.scaled(share),
        }
    }

    /// What a node did next.
    fn then(self, next: Self) -> Self {
        let (a, b) = (&self.sample, &next.sample);
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        Self {
            sample: JobSample {
                busy: a.busy + b.busy,
                stalled: sum(a.stalled, b.stalled),
                waiting: sum(a.waiting, b.waiting),
                link_doubt: a.link_doubt + b.link_doubt,
                busiest: a.busiest + b.busiest,
                ..self.added(&next)
            },
            cost: PlaceCost {
                network: self.cost.network + next.cost.network,
                ..self.common_cost(&next)
            },
        }
    }

    /// What other nodes did at the same time. All nodes wait for storage, or for a core, at most as
    /// long as the one that waits least.
    fn and(self, other: Self) -> Self {
        let (a, b) = (&self.sample, &other.sample);
        let least = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.min(b));
        Self {
            sample: JobSample {
                busy: a.busy.max(b.busy),
                stalled: least(a.stalled, b.stalled),
                waiting: least(a.waiting, b.waiting),
                link_doubt: a.link_doubt.max(b.link_doubt),
                busiest: a.busiest.max(b.busiest),
                ..self.added(&other)
            },
            cost: PlaceCost {
                network: self.cost.network.max(other.cost.network),
                ..self.common_cost(&other)
            },
        }
    }

    /// What adds up, whether at the same time or not.
    fn added(&self, other: &Self) -> JobSample {
        let (a, b) = (&self.sample, &other.sample);
        JobSample {
            cpu: a.cpu + b.cpu,
            iowait: a.iowait + b.iowait,
            read: a.read + b.read,
            write: a.write + b.write,
            unserved: a.unserved + b.unserved,
            is_link_full: a.is_link_full || b.is_link_full,
            ..*a
        }
    }

    /// The ratios of the device times, weighted by the busy times.
    fn common_cost(&self, other: &Self) -> PlaceCost {
        let [mine, theirs] = [self, other].map(|done| done.sample.busy);
        let share = if mine + theirs > 0.0 { mine / (mine + theirs) } else { 0.5 };
        let mean = |of: fn(&StorageRatio) -> f64| {
            of(&self.cost.storage) * share + of(&other.cost.storage) * (1.0 - share)
        };
        PlaceCost {
            storage: StorageRatio {
                best: mean(|ratio| ratio.best),
                low: mean(|ratio| ratio.low),
                high: mean(|ratio| ratio.high),
            },
            network_ratio: self.cost.network_ratio.max(other.cost.network_ratio),
            ..self.cost
        }
    }
}
