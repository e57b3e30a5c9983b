//! The use of a storage by the load of a service, for any number of nodes.
//!
//! The use of a sample is the time that a node's storage needs for its part of the requests,
//! relative to the length of the sample. A volume has its burst bandwidth for half an hour a day.
//! Without a block log, small requests may be random or sequential: the range has both.

use super::load::ServiceLoad;
use super::resource::{LoadUse, ResourceUse};
use super::sample::Rates;
use super::series::Series;
use crate::space::measured::{OpLoad, READS, WRITES};
use crate::space::resources::{BURST, IoState, StorageTimes};
use crate::space::storage::DEFAULT_DEPTH;
use crate::trace::job_stream::SEQUENTIAL_SIZE;

/// Seconds of a day, after which a volume has its burst bandwidth again.
const DAY: f64 = 86_400.0;
/// Seconds within which data of a page cache that no longer fits are read again, each once: the
/// five-minute rule (Gray and Putzolu, SIGMOD 1987). What is read more often stays in a smaller
/// cache, and what is read less often does not need one.
const READ_AGAIN: f64 = 300.0;
/// Sizes of the reads of data that a page cache no longer holds.
const READ_SIZES: std::ops::RangeInclusive<f64> = 4096.0..=1_048_576.0;

/// Size of the sequential requests whose times on a simulated part are known.
const LARGE: f64 = 1_048_576.0;

/// The use of a storage by all nodes together.
pub struct DiskSeries {
    /// In each sample, at the least and at the greatest of what the record allows.
    views: [DiskView; 2],
    sustained: DiskUses,
}

struct DiskView {
    sustained: Vec<f64>,
    /// With the burst bandwidth, if the volume has one.
    burst: Option<Vec<f64>>,
}

/// The uses of the samples: the best estimate, the least and the greatest.
struct DiskUses {
    best: Series,
    low: Series,
    high: Series,
}

/// Share of a second that a storage needs for these rates.
pub fn disk_use(times: &StorageTimes<'_>, rates: &Rates, state: IoState) -> f64 {
    let share = |op: usize| match rates.requests[op] {
        requests if requests > 0.0 => rates.sequential[op] / requests,
        _ => 1.0,
    };
    let load = |op: usize, patterns| OpLoad {
        patterns,
        requests: rates.requests[op],
        bytes: rates.bytes[op],
        sequential: share(op),
    };
    let loads = [load(0, READS), load(1, WRITES)];
    #[allow(clippy::cast_precision_loss)]
    let depth = DEFAULT_DEPTH as f64;
    let time = times.device_time(loads, depth, state);
    match times.part.filter(|_| !state.is_random) {
        Some(part) => {
            let [sequential, random] = [true, false].map(|is_sequential| {
                part.device_time(loads.map(|load| in_order(load, is_sequential)), depth)
            });
            time.max(sequential + random)
        }
        None => time,
    }
}

/// The sequential or the random requests of a load. Sequential ones of any size have the bandwidth
/// of large ones, which caches and read-ahead make of them.
fn in_order(load: OpLoad, is_sequential: bool) -> OpLoad {
    let share = if is_sequential { load.sequential } else { 1.0 - load.sequential };
    let bytes = load.bytes * share;
    let requests = if is_sequential { bytes / LARGE } else { load.requests * share };
    OpLoad { requests, bytes, sequential: f64::from(is_sequential), ..load }
}

impl DiskSeries {
    /// The use of a storage. `is_logged`: the record has the order of the requests.
    pub fn new(times: &StorageTimes<'_>, load: &ServiceLoad, is_logged: bool) -> Self {
        let view = |may_be_random: bool| {
            let of = |has_burst: bool| -> Vec<f64> {
                let of_sample = |rates: &Rates| {
                    let is_random = may_be_random && !is_logged && is_small(rates);
                    disk_use(times, rates, IoState { has_burst, is_random })
                };
                load.samples.iter().map(|sample| of_sample(&sample.sum)).collect()
            };
            DiskView { sustained: of(false), burst: times.table.burst.is_some().then(|| of(true)) }
        };
        let views = [view(false), view(true)];
        let [low, high] = [0, 1].map(|view: usize| views[view].sustained.as_slice());
        let sustained = DiskUses::new(low, high, load);
        Self { views, sustained }
    }

    /// The use of each of `nodes` nodes, with `limit` as the highest p99.
    pub fn on(&self, nodes: u32, load: &ServiceLoad, limit: f64) -> ResourceUse {
        let nodes = f64::from(nodes);
        let may_burst = self.views[0].burst.is_some() && self.sustained.high.peak() > nodes;
        if !may_burst {
            return self.sustained.of(nodes, limit);
        }
        let [low, high] = [0, 1].map(|view: usize| self.views[view].uses(nodes, load));
        DiskUses::new(&low, &high, load).of(1.0, limit)
    }
}

impl DiskUses {
    fn new(low: &[f64], high: &[f64], load: &ServiceLoad) -> Self {
        let series = |uses: Vec<f64>| {
            Series::new(uses.into_iter().zip(load.samples.iter().map(|sample| sample.secs)))
        };
        let pairs = || low.iter().zip(high);
        // Nothing says which: the middle of the range of the logarithm.
        Self {
            best: series(pairs().map(|(low, high)| (low * high).sqrt()).collect()),
            low: series(pairs().map(|(low, high)| low.min(*high)).collect()),
            high: series(pairs().map(|(low, high)| low.max(*high)).collect()),
        }
    }

    /// The use of each of `nodes` nodes.
    fn of(&self, nodes: f64, limit: f64) -> ResourceUse {
        let each = |series: &Series| LoadUse::of(series).times(1.0 / nodes);
        ResourceUse {
            best: each(&self.best),
            low: each(&self.low),
            high: Some(each(&self.high)),
            over_headroom: self.best.above(limit * nodes),
            over_capacity: self.best.above(nodes),
        }
    }
}

impl DiskView {
    /// The use of each sample. A volume that needs more than its sustained bandwidth has its burst
    /// bandwidth until that was so for half an hour of a day.
    fn uses(&self, nodes: f64, load: &ServiceLoad) -> Vec<f64> {
        let Some(burst) = &self.burst else {
            return self.sustained.iter().map(|used| used / nodes).collect();
        };
        let (mut day, mut spent) = (0.0, 0.0);
        let mut uses = Vec::with_capacity(burst.len());
        for ((sample, sustained), burst) in load.samples.iter().zip(&self.sustained).zip(burst) {
            let today = (sample.start / DAY).floor();
            if today > day {
                (day, spent) = (today, 0.0);
            }
            let is_burst = *sustained > nodes && spent + sample.secs <= BURST;
            if is_burst {
                spent += sample.secs;
            }
            uses.push(if is_burst { burst } else { sustained } / nodes);
        }
        uses
    }
}

/// Whether the mean request is smaller than those that count as sequential.
fn is_small(rates: &Rates) -> bool {
    let requests: f64 = rates.requests.iter().sum();
    requests > 0.0 && rates.bytes.iter().sum::<f64>() < SEQUENTIAL_SIZE * requests
}

/// Share of a second that a storage needs to read data again that a page cache has no longer.
/// `most` are the bytes a second that it may be at most, if they are known.
pub fn read_again(
    times: &StorageTimes<'_>,
    lost: f64,
    read_size: Option<f64>,
    most: Option<f64>,
) -> f64 {
    let bytes = (lost / READ_AGAIN).min(most.unwrap_or(f64::INFINITY));
    let size = read_size.unwrap_or(SEQUENTIAL_SIZE).clamp(*READ_SIZES.start(), *READ_SIZES.end());
    let rates = Rates {
        requests: [bytes / size, 0.0],
        bytes: [bytes, 0.0],
        sequential: [0.0; 2],
        ..Rates::default()
    };
    if bytes > 0.0 {
        disk_use(times, &rates, IoState { has_burst: false, is_random: true })
    } else {
        0.0
    }
}
