//! A trace at a place: the time that storage and network need for each sample.
//!
//! Storage takes the longest of the replay on its simulated devices, or its measured time, and the
//! limits of its volume. A volume has its burst bandwidth until it has been busy for [`BURST`].
//! Not modelled: clocks that fall with the load, credits for requests a second.

use crate::model::job::load::JobNode;
use crate::model::job::range::{PlaceCost, StorageRatio};
use crate::space::cores::Cores;
use crate::space::machines::Place;
use crate::space::reference::TraceReference;
use crate::space::resources::{BURST, IoState, StorageTimes};
use crate::space::storage::DEFAULT_DEPTH;
use crate::trace::job_stream::{JobStream, SEQUENTIAL_SIZE, SampleIo};
use crate::trace::sample::JobSample;
use crate::trace::stream::Replayed;
use gordon_blockio::Usage;

/// Shares of the speed of a link between which its traffic is at the limit. More than the link is
/// said to carry means that its speed is not the one described, such as that of a burst.
const LINK_FULL: std::ops::RangeInclusive<f64> = 0.85..=1.15;
/// Bytes a second of the slowest link that a machine is expected to have: 100 Mb/s. Assumed.
const SLOWEST_LINK: f64 = 12.5e6;
/// Error of the time of a simulated device, as a logarithm. Assumed; on one machine, jobs on
/// emulated devices take up to 7 % less or more (docs/validation/here.md).
const SIMULATED_ERROR: f64 = 0.1;

/// A storage, with what was simulated or measured of it for a trace.
#[derive(Clone, Copy)]
pub(super) struct TraceStorage<'a> {
    pub(super) times: StorageTimes<'a>,
    pub(super) replayed: Option<&'a Replayed>,
}

/// A trace at a place.
pub(super) struct TraceLoad<'a> {
    pub(super) stream: &'a JobStream,
    pub(super) place: Place<'a>,
    pub(super) storage: TraceStorage<'a>,
    pub(super) reference: TraceReference<'a>,
    /// Storage of the traced machine; `None` if it is unknown.
    pub(super) traced: Option<TraceStorage<'a>>,
    /// Whether it was limited: requests waited in the kernel then, and not in the device.
    pub(super) is_limited: bool,
    /// Bytes a second of the link of the traced machine; `None` if it is unknown.
    pub(super) link: Option<f64>,
}

/// Seconds for which the volumes have been busy.
#[derive(Default)]
struct BurstUse {
    here: f64,
    there: f64,
}

impl TraceLoad<'_> {
    /// The samples and their costs.
    pub(super) fn job(&self) -> JobNode {
        let mut used = BurstUse::default();
        let all = (0..self.stream.samples.len()).map(|index| self.cost(index, &mut used));
        let (samples, costs) = all.unzip();
        JobNode {
            samples,
            costs,
            usage: self.storage.replayed.map_or_else(Usage::default, |replayed| {
                let mut usage = Usage::default();
                replayed.replay.costs.iter().for_each(|cost| usage += cost.usage);
                usage
            }),
            // Without a block log nothing was replayed.
            wear: self.storage.replayed.filter(|_| self.stream.stream.logged).map(|replayed| {
                replayed.flash.iter().map(|drive| drive.lifetime.used()).fold(0.0, f64::max)
            }),
            cores: Cores {
                count: self.stream.cores(),
                threads: self.reference.threads.unwrap_or(1),
                single: self.reference.single,
            },
            reference_speed: self.reference.speed * self.stream.core_share,
        }
    }

    /// A sample, as it is read at the place, and its cost.
    fn cost(&self, index: usize, used: &mut BurstUse) -> (JobSample, PlaceCost) {
        let mut sample = self.stream.samples[index];
        let io = &self.stream.io[index];
        let depth = self.depth(io);
        let there = |state| self.device_time(&self.storage, index, depth, state);
        let traced = |state| Some(self.device_time(self.traced.as_ref()?, index, depth, state));
        let likely = |secs: f64| IoState { has_burst: secs < BURST, is_random: false };
        let here = traced(likely(used.here));
        let best = there(likely(used.there));
        if let Some(here) = here.filter(|_| self.is_limited) {
            sample.busy = sample.busy.max(here.min(sample.span));
            if !self.stream.has_iowait {
                sample.iowait = sample.iowait.max(sample.busy);
            }
        }
        // Without a description of the traced device, its busy time is compared with the target's
        // device time; without a busy time, the modelled time stands for it.
        if sample.busy <= 0.0 {
            sample.busy = here.unwrap_or(best).min(sample.span);
        }
        used.here += here.unwrap_or(sample.busy);
        used.there += best;
        let ratio = |there: f64, here: Option<f64>| {
            let here = here.unwrap_or(sample.busy);
            if here > 0.0 { there / here } else { 1.0 }
        };
        let mut storage = StorageRatio::known(ratio(best, here));
        // Both volumes have their burst bandwidth, or neither has.
        let [burst, sustained] = [true, false].map(|has_burst| {
            let state = IoState { has_burst, is_random: false };
            ratio(there(state), traced(state))
        });
        storage.low = storage.low.min(burst);
        storage.high = storage.high.max(sustained);
        if self.may_be_random(io) {
            let state = IoState { is_random: true, ..likely(used.there) };
            let random = ratio(there(state), traced(state));
            // The number outstanding is an estimate, too: each device has one at least.
            let devices = f64::from(self.storage.times.table.devices());
            let alone = self.device_time(&self.storage, index, devices.min(depth), state);
            storage.low = storage.low.min(random);
            storage.high = storage.high.max(random).max(ratio(alone, traced(state)));
            // Nothing says which: the middle of the range of the logarithm.
            storage.best = (storage.best * random).sqrt();
        }
        if self.is_simulated_elsewhere() {
            storage.low *= (-SIMULATED_ERROR).exp();
            storage.high *= SIMULATED_ERROR.exp();
        }
        let (network, network_ratio) = self.network(index, &mut sample);
        (sample, PlaceCost { storage, network, network_ratio })
    }

    /// Whether the ratio of the device times is that of different devices, one of them simulated.
    fn is_simulated_elsewhere(&self) -> bool {
        let traced = self.traced.as_ref().map(|storage| storage.times.table);
        let tables = [Some(self.storage.times.table), traced];
        traced != Some(self.storage.times.table)
            && tables.into_iter().flatten().any(|table| table.part.is_some())
    }

    /// Whether the requests of a sample may be random although nothing says so: the trace has no
    /// block log, and they are small.
    fn may_be_random(&self, io: &SampleIo) -> bool {
        let requests = io.reads + io.writes;
        !self.stream.stream.logged
            && requests > 0.0
            && io.read + io.write < SEQUENTIAL_SIZE * requests
    }

    /// Seconds that the target's link needs, and its time relative to the traced link's. Marks the
    /// sample if its link was at the limit, or if its speed is unknown.
    fn network(&self, index: usize, sample: &mut JobSample) -> (f64, f64) {
        let bytes = self.stream.network[index];
        let secs = bytes / self.place.network;
        let Some(link) = self.stream.link.or(self.link) else {
            sample.link_doubt = bytes / SLOWEST_LINK;
            return (secs, 1.0);
        };
        let ratio = link / self.place.network;
        let used = bytes / sample.span / link;
        sample.is_link_full = LINK_FULL.contains(&used);
        if used > *LINK_FULL.end() {
            sample.link_doubt = bytes / SLOWEST_LINK;
        }
        // A full link carries what it carried, whatever its speed is said to be.
        (if sample.is_link_full { sample.span * ratio } else { secs }, ratio)
    }

    /// The mean number of outstanding requests in a sample: from the log; from the latency of the
    /// traced storage, by Little's law; otherwise assumed as in replays.
    fn depth(&self, io: &SampleIo) -> f64 {
        if let Some(depth) = io.depth {
            return depth;
        }
        match self.traced.and_then(|storage| storage.times.latencies(io.loads())) {
            Some(latencies) if io.busy > 0.0 => (latencies / io.busy).max(1.0),
            #[allow(clippy::cast_precision_loss)]
            _ => DEFAULT_DEPTH as f64,
        }
    }

    /// Seconds that a storage needs for the I/O of a sample: the longest of its replay, if it has
    /// devices of the catalogue, and of what is known of its limits and its measured times.
    fn device_time(
        &self,
        storage: &TraceStorage<'_>,
        index: usize,
        depth: f64,
        state: IoState,
    ) -> f64 {
        let replayed = storage.replayed.map_or(0.0, |r| r.replay.costs[index].time.as_secs());
        replayed.max(storage.times.device_time(self.stream.io[index].loads(), depth, state))
    }
}
