//! Uses, prices and power of designs.
//!
//! A design is a machine with a number of nodes, among which the load divides evenly. The headroom
//! also has to cover the errors of known speeds and prices; what the record leaves open is a range,
//! and a design whose answer depends on it is not recommended.

use super::ServiceSurvey;
use super::cores::Throughput;
use super::disk::{DiskSeries, read_again};
use super::load::{ServiceLoad, ServiceSample};
use super::report::{NamedService, ServiceReport};
use super::resource::{LoadUse, PerResource, ResourceUse};
use super::series::{Series, is_within};
use super::traces::ServiceTraces;
use crate::error::ClusterError;
use crate::model::bill::{BillInputs, BillReport, Drives, Run, Wear, WrittenBytes, busy_power};
use crate::model::cost::Figures;
use crate::model::hardware::Hardware;
use crate::space::cores::UNKNOWN_SPEED;
use crate::space::machine::Machine;
use crate::space::machines::{MachineDesign, MachineSpace, Place, part_of};
use crate::space::node::{StoragePower, StorageWork, storage_power};
use crate::space::operation::Operation;
use crate::space::resources::HOURS_OF_MONTH;
use crate::space::storage::Storage;
use crate::space::wear::NewDrives;
use crate::trace::job_stream::{JobStream, SEQUENTIAL_SIZE};
use rayon::prelude::*;

/// Places of [`ServiceLoad::full`](super::load::ServiceLoad::full).
const CPU: usize = 0;
const DISK: usize = 1;
const NETWORK: usize = 2;
/// Place of the memory in use in [`Rates::memory`](super::sample::Rates::memory).
const USED: usize = 1;

/// Clusters of machines for a load.
pub struct ServiceModel<'a> {
    pub(super) survey: &'a ServiceSurvey,
    pub(super) space: &'a MachineSpace<'a>,
    pub(super) traces: ServiceTraces<'a>,
    /// Work a second, without and with the gain of threads that have a core of their own.
    work: [Demanded; 2],
    /// Bytes a second of the busier direction.
    network: Demanded,
    /// By number of nodes up to the recorded one: memory of each.
    memory: Vec<[Series; 3]>,
    /// By place and number of nodes; empty if the record has no storage.
    disk: Vec<Vec<ResourceUse>>,
    /// By place: power of its simulated storage, if any.
    storage_power: Vec<Option<StoragePower>>,
    hides: [bool; 3],
    recorded_memory: Option<f64>,
    cache_hits: Option<f64>,
    read_size: Option<f64>,
    volume_gib: f64,
    /// How machines are used: they run months, one after another.
    pub(super) operation: Option<Operation>,
    /// By place.
    drives: Vec<Drives>,
    /// By place: the same while they are new; `None` without a part of the catalogue.
    new_drives: Vec<Option<NewDrives>>,
    /// What all nodes write; `None` if the record has no storage.
    written: Option<Written>,
}

/// Seconds of a month.
const MONTH: f64 = HOURS_OF_MONTH * 3600.0;

/// What all nodes of a service write.
#[derive(Clone, Copy)]
struct Written {
    bytes_per_s: f64,
    /// Whether the writes may be random although nothing says so.
    may_be_random: bool,
}

impl Written {
    fn of(load: &ServiceLoad, is_logged: bool) -> Self {
        let mean = |of: fn(&ServiceSample) -> f64| load.series(of).mean();
        let bytes_per_s = mean(|sample| sample.sum.bytes[1]);
        let requests = mean(|sample| sample.sum.requests[1]);
        Self { bytes_per_s, may_be_random: !is_logged && bytes_per_s < SEQUENTIAL_SIZE * requests }
    }
}

/// A demand of all nodes.
struct Demanded {
    series: Series,
    /// The greatest that the record allows, if nothing says which samples of nodes coincide.
    most: Option<LoadUse>,
}

impl Demanded {
    fn of(traces: &ServiceTraces<'_>, of: impl Fn(&ServiceSample) -> f64 + Copy) -> Self {
        Self {
            series: traces.load.series(of),
            most: traces.coinciding(|load| LoadUse::of(&load.series(of))),
        }
    }

    fn high(&self) -> LoadUse {
        self.most.unwrap_or_else(|| LoadUse::of(&self.series))
    }
}

/// The answer of a design.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceAnswer {
    /// `None` if the use is unknown.
    pub uses: PerResource<Option<ResourceUse>>,
    /// Whether each resource keeps up.
    pub keeps: PerResource<Option<bool>>,
    pub price: Option<f64>,
    pub power: Option<f64>,
    /// What a month costs in all.
    pub bill: Option<BillReport>,
    /// What choices compare.
    pub figures: Figures,
}

impl ServiceAnswer {
    pub fn keeps_up(&self) -> Option<bool> {
        let all = || self.keeps.named().map(|(_, keeps)| *keeps);
        if all().any(|keeps| keeps == Some(false)) {
            return Some(false);
        }
        all().all(|keeps| keeps == Some(true)).then_some(true)
    }

    /// Whether the best estimates of all known uses keep up.
    pub fn may_keep_up(&self, limit: f64) -> bool {
        self.uses.named().all(|(_, used)| used.is_none_or(|used| used.may_keep_up(limit)))
    }

    /// The resource with the highest use relative to what is allowed, and that use.
    pub fn limit(&self, limit: f64) -> (&'static str, f64) {
        let known = self.uses.named().filter_map(|(name, used)| Some((name, (*used)?)));
        let overloads = known.map(|(name, used)| (name, used.overload(limit)));
        overloads.fold(("cpu", 0.0), |most, one| if one.1 > most.1 { one } else { most })
    }

    /// The resource with the highest use relative to what is allowed, of those without which the
    /// design keeps up if there are any.
    pub fn limited_by(&self, limit: f64) -> &'static str {
        let (most, _) = self.limit(limit);
        let short_of = self.short_of();
        match short_of.contains(&most) {
            true => most,
            false => short_of.first().copied().unwrap_or(most),
        }
    }

    /// The resources that do not suffice; if there are none, those for which that is unknown.
    pub fn short_of(&self) -> Vec<&'static str> {
        let with = |wanted: Option<bool>| -> Vec<&'static str> {
            let found = self.keeps.named().filter(|(_, keeps)| **keeps == wanted);
            found.map(|(name, _)| name).collect()
        };
        let lacking = with(Some(false));
        if lacking.is_empty() { with(None) } else { lacking }
    }
}

impl<'a> ServiceModel<'a> {
    /// Prepares the designs.
    ///
    /// # Errors
    /// Returns an error if a storage part is invalid, or if the traces have no time in common.
    pub(super) fn new(
        survey: &'a ServiceSurvey,
        space: &'a MachineSpace<'a>,
        streams: &'a [JobStream],
    ) -> Result<Self, ClusterError> {
        let traces = ServiceTraces::new(survey, space, streams)?;
        let load = &traces.load;
        let limit = 1.0 - survey.headroom;
        let is_logged = traces.are_logged();
        let of_place = |place: &Place<'a>| {
            let series = DiskSeries::new(&traces.times(place.storage), load, is_logged);
            let alone = |load| DiskSeries::new(&traces.times(place.storage), load, is_logged);
            let alone: Vec<_> = traces.alone.iter().map(|load| (load, alone(load))).collect();
            let of_number = |nodes: &u32| {
                let high = |(load, series): &(&ServiceLoad, DiskSeries)| {
                    series.on(*nodes, load, limit).high.unwrap_or_default()
                };
                let most = alone.iter().map(high).reduce(LoadUse::plus);
                let together = series.on(*nodes, load, limit);
                ResourceUse { high: most.or(together.high), ..together }
            };
            survey.nodes.iter().map(of_number).collect()
        };
        let disk = match load.recorded.disk {
            true => space.places.par_iter().map(of_place).collect(),
            false => Vec::new(),
        };
        let power = |place: &Place<'a>| storage_power(place.storage, &survey.catalogue.parts);
        let drives = (space.places.iter())
            .map(|place| Drives::of(place.storage, &survey.catalogue.parts))
            .collect::<Result<_, _>>()?;
        let parts = space.storage_parts();
        let new: Vec<NewDrives> = parts
            .par_iter()
            .map(|part| NewDrives::of(&Storage::of(*part, &survey.catalogue.parts)?))
            .collect::<Result<_, _>>()?;
        let new_drives = space.places.iter().map(|place| {
            let at = parts.binary_search(&part_of(place.storage)?).ok()?;
            Some(new[at])
        });
        let most = u32::try_from(load.nodes).unwrap_or(u32::MAX);
        Ok(Self {
            operation: survey.catalogue.operation.clone().map(|operation| Operation {
                runs_per_day: Some(24.0 / HOURS_OF_MONTH),
                ..operation
            }),
            drives,
            new_drives: new_drives.collect(),
            written: load.recorded.disk.then(|| Written::of(load, is_logged)),
            work: [0, 1].map(|gain: usize| Demanded::of(&traces, |s| s.sum.work[gain])),
            network: Demanded::of(&traces, |sample| {
                let [received, sent] = sample.sum.network;
                received.max(sent)
            }),
            memory: match load.recorded.memory {
                true => (1..=most).map(|nodes| load.memory(nodes)).collect(),
                false => Vec::new(),
            },
            disk,
            storage_power: space.places.iter().map(power).collect::<Result<_, _>>()?,
            hides: load.hides(),
            recorded_memory: traces.memory(),
            cache_hits: traces.cache_hits(),
            read_size: load.read_size(),
            volume_gib: traces.volume_gib(),
            survey,
            space,
            traces,
        })
    }

    /// Share of a resource that a load may use in 99 % of the time.
    pub(super) fn limit(&self) -> f64 {
        1.0 - self.survey.headroom
    }

    /// Whether any machine has a price.
    pub(super) fn is_priced(&self) -> bool {
        self.survey.catalogue.machines.iter().any(|machine| machine.price_per_hour.is_some())
    }

    /// Number of designs.
    pub(super) fn count(&self) -> u64 {
        (self.space.designs.len() * self.survey.nodes.len()) as u64
    }

    /// The machine of a design, and the place of its number of nodes.
    pub(super) fn parts_of(&self, number: u64) -> (&MachineDesign<'_>, usize) {
        #[allow(clippy::cast_possible_truncation)]
        let number = number as usize;
        let choices = self.survey.nodes.len();
        (&self.space.designs[number / choices], number % choices)
    }

    pub(super) fn nodes(&self, number: u64) -> u32 {
        self.survey.nodes[self.parts_of(number).1]
    }

    pub(super) fn name(&self, number: u64) -> String {
        let (design, at) = self.parts_of(number);
        format!("{} x {}", self.survey.nodes[at], design.id())
    }

    pub(super) fn named(&self, number: u64) -> NamedService {
        NamedService {
            id: self.name(number),
            machine: self.parts_of(number).0.id(),
            nodes: self.nodes(number),
        }
    }

    /// The answer of a design.
    pub(super) fn answer(&self, number: u64) -> ServiceAnswer {
        let (design, at) = self.parts_of(number);
        let nodes = self.survey.nodes[at];
        let machine = design.machine;
        let (cpu, cpu_mean) = self.cpu(machine, nodes);
        let memory = self.memory_on(machine, nodes);
        let again = self.read_again(design, nodes);
        let disk = self.disk_on(design.place, at, again);
        let network = self.network_on(self.space.places[design.place].network, nodes);
        let uses = PerResource { cpu: Some(cpu), memory, disk, network };
        let mut keeps = uses.map(|used| match used {
            Some(used) => used.keeps_up(self.limit()),
            // Storage and network are not judged if the record lacks them.
            None => Some(true),
        });
        if memory.is_none() {
            keeps.memory = self.is_as_large(machine).then_some(true);
        }
        if disk.is_none() {
            keeps.disk = is_within(again, self.limit()).then_some(true);
        }
        let power = self.power(design, nodes, cpu_mean);
        let drives = &self.drives[design.place];
        let month = Run {
            nodes,
            time: MONTH,
            energy: power.map(|watts| watts * MONTH),
            rate: machine.rate(self.volume_gib),
            wear: self.wear(design.place, nodes),
        };
        let whole = machine.power(&self.survey.catalogue.parts);
        let inputs = BillInputs::of(&month, machine, whole, drives);
        let bill = self.operation.as_ref().map(|operation| inputs.report(operation));
        let price = machine.price_per_month(nodes, self.volume_gib, self.operation.as_ref());
        ServiceAnswer {
            uses,
            keeps,
            price,
            power,
            bill,
            figures: Figures {
                price,
                power: busy_power(whole, drives, nodes),
                ..Figures::of_run(&month, bill.as_ref().map(|found| &found.bill))
            },
        }
    }

    /// Wear of the drives of a node in a month.
    fn wear(&self, place: usize, nodes: u32) -> Option<Wear> {
        let Written { bytes_per_s, may_be_random } = self.written?;
        let kept = bytes_per_s * MONTH / f64::from(nodes);
        let bytes = WrittenBytes { kept, temporary: 0.0 };
        let found = self.drives[place].written(self.new_drives[place].as_ref(), &bytes)?;
        Some(if may_be_random { found.between() } else { found })
    }

    /// The work that the cores of all nodes do, and that of the load.
    fn throughput(&self, machine: &Machine, nodes: u32) -> (Throughput, &Demanded) {
        let cores = machine.all_cores();
        // Without one of the gains of a lone thread, the other says nothing.
        let gain = cores.single.filter(|_| self.traces.has_gains());
        let work = &self.work[usize::from(gain.is_some())];
        let speed = *machine.core_speed * f64::from(nodes);
        (Throughput::new(&cores.known(gain.unwrap_or(1.0)), speed), work)
    }

    /// The use of the cores, and its mean.
    fn cpu(&self, machine: &Machine, nodes: u32) -> (ResourceUse, f64) {
        let (cores, work) = self.throughput(machine, nodes);
        let of =
            |work: LoadUse| LoadUse { p99: cores.share(work.p99), peak: cores.share(work.peak) };
        let error = if self.traces.is_assumed() { UNKNOWN_SPEED.exp() } else { 1.0 };
        let all = f64::from(*machine.cores);
        let used = ResourceUse {
            best: of(LoadUse::of(&work.series)),
            low: of(LoadUse::of(&work.series).times(1.0 / error)),
            high: Some(of(work.high().times(error))).filter(|_| !self.hides[CPU]),
            over_headroom: work.series.above(cores.work(self.limit() * all)),
            over_capacity: work.series.above(cores.work(all)),
        };
        (used, work.series.mean_of(&cores.points()))
    }

    #[allow(clippy::cast_precision_loss)]
    fn memory_on(&self, machine: &Machine, nodes: u32) -> Option<ResourceUse> {
        let [least, used, _] = self.memory_of(nodes)?;
        let size = machine.memory.0 as f64;
        let of = |series: &Series| LoadUse::of(series).times(1.0 / size);
        let alone = |load: &ServiceLoad| LoadUse::of(&load.series(|s| s.sum.memory[USED]));
        let most = self.traces.coinciding(alone);
        let most = most.map(|most| most.times(1.0 / size / f64::from(nodes)));
        Some(ResourceUse {
            best: of(used),
            low: of(least),
            high: Some(most.map_or(of(used), |most| most.most(of(used)))),
            over_headroom: used.above(self.limit() * size),
            over_capacity: used.above(size),
        })
    }

    /// The use of a storage by the load and, at the upper end, by reads that a page cache saved.
    fn disk_on(&self, place: usize, at: usize, again: f64) -> Option<ResourceUse> {
        let of_load = self.disk.get(place)?[at];
        let more = |high: LoadUse| high.plus(LoadUse { p99: again, peak: again });
        Some(ResourceUse { high: of_load.high.map(more).filter(|_| !self.hides[DISK]), ..of_load })
    }

    fn memory_of(&self, nodes: u32) -> Option<&[Series; 3]> {
        let last = self.memory.len().checked_sub(1)?;
        Some(&self.memory[(nodes as usize - 1).min(last)])
    }

    fn network_on(&self, link: f64, nodes: u32) -> Option<ResourceUse> {
        if !self.traces.load.recorded.network {
            return None;
        }
        let all = link * f64::from(nodes);
        let used = LoadUse::of(&self.network.series).times(1.0 / all);
        let high = self.network.high().times(1.0 / all);
        Some(ResourceUse {
            best: used,
            low: used,
            high: Some(high).filter(|_| !self.hides[NETWORK]),
            over_headroom: self.network.series.above(self.limit() * all),
            over_capacity: self.network.series.above(all),
        })
    }

    /// Whether a machine has at least the memory of the recorded ones.
    #[allow(clippy::cast_precision_loss)]
    fn is_as_large(&self, machine: &Machine) -> bool {
        self.recorded_memory.is_some_and(|recorded| machine.memory.0 as f64 >= recorded)
    }

    /// Use of a storage by data that the page cache of a smaller machine has no longer.
    #[allow(clippy::cast_precision_loss)]
    fn read_again(&self, design: &MachineDesign<'_>, nodes: u32) -> f64 {
        let Some([_, used, with_cache]) = self.memory_of(nodes) else { return 0.0 };
        if self.is_as_large(design.machine) {
            return 0.0;
        }
        let cache = (with_cache.p99() - used.p99()).max(0.0);
        let lost = (with_cache.p99() - design.machine.memory.0 as f64).clamp(0.0, cache);
        let times = self.traces.times(self.space.places[design.place].storage);
        read_again(&times, lost, self.read_size, self.cache_hits)
    }

    /// Mean power of all nodes; storage parts count with their idle power.
    fn power(&self, design: &MachineDesign<'_>, nodes: u32, busy: f64) -> Option<f64> {
        let power = design.machine.power(&self.survey.catalogue.parts)?;
        let storage = self.storage_power[design.place].map(StorageWork::idle);
        Some(power.total(1.0, power.even(1.0, busy), storage).0 * f64::from(nodes))
    }

    /// Whether a design is the recorded cluster.
    pub(super) fn is_reference(&self, number: u64) -> bool {
        let (design, at) = self.parts_of(number);
        let mut references = self.traces.references.iter();
        design.is_first()
            && self.survey.nodes[at] as usize == self.traces.load.nodes
            && references.all(|reference| reference.machine == Some(design.index))
    }

    pub(super) fn report(&self, number: u64) -> ServiceReport {
        let (design, at) = self.parts_of(number);
        let answer = self.answer(number);
        let ranges = answer.uses.named().filter_map(|(name, used)| {
            let range = (*used)?.range()?;
            Some((name, range))
        });
        let (cores, _) = self.throughput(design.machine, self.survey.nodes[at]);
        let limit = self.limit();
        let load_factor = |name: &str, used: LoadUse| match name {
            // Threads that share a core do less than twice the work of one.
            "cpu" => used.load_factor(limit, |share| cores.work_of_share(share)),
            _ => used.load_factor(limit, |share| share),
        };
        // A node of a larger load has as much memory in use.
        let known = answer.uses.named().filter(|(name, _)| *name != "memory");
        let known: Vec<_> = known.filter_map(|(name, used)| Some((name, (*used)?))).collect();
        let open = known.iter().filter(|(_, used)| used.range().is_some());
        let counts = |of: fn(&ResourceUse) -> usize| answer.uses.map(|used| used.as_ref().map(of));
        ServiceReport {
            hardware: Hardware::of(
                self.space,
                design,
                self.name(number),
                self.survey.nodes[at],
                answer.price,
            ),
            power_w: answer.power,
            bill: answer.bill,
            is_reference: self.is_reference(number),
            keeps_up: answer.keeps_up(),
            short_of: answer.short_of(),
            limited_by: answer.limited_by(limit),
            relative_use: answer.limit(limit).1,
            used: answer.uses.map(|used| used.map(|used| used.best.p99)),
            peak: answer.uses.map(|used| used.map(|used| used.best.peak)),
            range: ranges.collect(),
            load_factor: (known.iter())
                .filter_map(|(name, used)| Some((*name, load_factor(name, used.best)?)))
                .collect(),
            load_factor_range: open
                .map(|(name, used)| {
                    let high = used.high.and_then(|high| load_factor(name, high));
                    (*name, [high, load_factor(name, used.low)])
                })
                .collect(),
            samples_over_headroom: counts(|used| used.over_headroom),
            samples_over_capacity: counts(|used| used.over_capacity),
        }
    }
}
