//! Traces of a job on a storage and a network, prepared for groups of any number of cores.
//!
//! Model: docs/design/cluster.md, "Time: `job`". Where the time of a sample went on the traced
//! machine, and the demand ratio of its width, depend neither on the speed nor on the number of
//! cores of a target. They are computed once for all groups of the load.

use crate::model::job::demand::StretchTable;
use crate::model::job::numbers::NodeNumbers;
use crate::model::job::range::{PlaceCost, PreparedSample, SampleStretches};
use crate::space::cores::Cores;
use crate::space::node::StoragePower;
use crate::space::standby::{SpinDown, Standby};
use crate::trace::sample::JobSample;
use crate::trace::stages::StageWindow;
use gordon_blockio::Usage;
use std::borrow::Cow;
use std::sync::Arc;

/// A traced machine, or several as one ([`pooled`](super::pool::pooled)), on a storage and a
/// network.
#[derive(Clone, Debug)]
pub struct JobNode {
    /// Its samples.
    pub samples: Vec<JobSample>,
    /// What storage and network need, by sample.
    pub costs: Vec<PlaceCost>,
    /// Busy times of its simulated storage; zero if there is none.
    pub usage: Usage,
    /// Share of the rated endurance of the most written of its simulated drives that the job uses,
    /// 0 of disks; `None` if it is unknown.
    pub wear: Option<f64>,
    /// The cores of the traced machine.
    pub cores: Cores,
    /// Speed of a core of the traced machine while all are busy, in the unit of the designs'
    /// speeds.
    pub reference_speed: f64,
}

/// A job on a number of nodes with a storage and a network.
#[derive(Clone, Debug)]
pub struct JobLoad {
    /// Shared by the loads of all places at which the samples are the same.
    pub(super) samples: Arc<[PreparedSample]>,
    /// By sample.
    pub(super) costs: Vec<PlaceCost>,
    /// Core-seconds at a speed of 1.
    pub(super) cpu: f64,
    /// Busy times of the simulated storage of a node.
    pub(super) usage: Usage,
    /// Share of the rated endurance of the most written drive of a node.
    pub(super) wear: Option<f64>,
    pub(super) cores: Cores,
    pub(super) reference_speed: f64,
    pub(super) nodes: NodeNumbers,
    pub(super) storage: Option<StoragePower>,
    /// The standby state of its disks, if it is known.
    pub(super) standby: Option<Standby>,
    /// Whether the disks are put in standby.
    pub(super) spins_down: bool,
}

impl JobLoad {
    /// Prepares a job whose traced nodes are `traced`, on the target's number of nodes; `storage`
    /// is the power of the simulated storage of each, if any. What does not depend on storage and
    /// network is taken from `other`, a load of the same traces.
    pub fn new(
        traced: JobNode,
        nodes: NodeNumbers,
        storage: Option<StoragePower>,
        other: Option<&Self>,
    ) -> Self {
        let same = other
            .map(|other| &other.samples)
            .filter(|samples| samples.iter().map(|prepared| &prepared.sample).eq(&traced.samples));
        let prepared = || traced.samples.iter().map(PreparedSample::new).collect();
        let samples: Arc<[PreparedSample]> = same.map_or_else(prepared, Arc::clone);
        let target = u64::from(nodes.target);
        let Usage { read, write, controller } = traced.usage;
        Self {
            cpu: cpu_of(&samples) * traced.reference_speed,
            samples,
            costs: traced.costs.iter().map(|cost| cost.of_part(nodes.part())).collect(),
            usage: Usage {
                read: read / target,
                write: write / target,
                controller: controller / target,
            },
            wear: traced.wear.map(|wear| wear / f64::from(nodes.target)),
            cores: traced.cores,
            reference_speed: traced.reference_speed,
            nodes,
            standby: storage.as_ref().and_then(StoragePower::standby),
            storage,
            spins_down: false,
        }
    }

    /// The load, with disks that are put in standby.
    #[must_use]
    pub fn spinning_down(self, spin_down: SpinDown) -> Self {
        let standby = self.standby.map(|standby| standby.entered(spin_down));
        Self { spins_down: standby.is_some(), standby, ..self }
    }

    /// The job in a stage, for times and limits: it leaves out the busy times of storage, and so
    /// the energy.
    pub fn in_stage(&self, window: &StageWindow) -> Self {
        let pairs: Vec<_> = self.samples.iter().zip(&self.costs).collect();
        let scaled = window
            .of_items(&pairs, 0)
            .map(|((sample, cost), share)| (sample.scaled(share), cost.scaled(share)));
        let (samples, costs): (Vec<_>, Vec<_>) = scaled.unzip();
        Self {
            cpu: cpu_of(&samples) * self.reference_speed,
            samples: samples.into(),
            costs,
            usage: Usage::default(),
            ..self.clone()
        }
    }
}

fn cpu_of(samples: &[PreparedSample]) -> f64 {
    samples.iter().map(|prepared| prepared.sample.cpu).sum()
}

/// The stretches of a load's samples on some cores. Loads at other places have the same where their
/// samples are the same.
#[derive(Clone, Debug)]
pub struct JobStretches {
    of: Arc<[PreparedSample]>,
    pub(super) cores: Cores,
    pub(super) samples: Vec<SampleStretches>,
    /// Mean stretch of the computing time.
    pub(super) mean: f64,
}

impl JobStretches {
    /// The stretches on `cores`, which are those of all nodes.
    pub fn new(load: &JobLoad, cores: Cores) -> Self {
        let table = StretchTable::new(&load.cores, &cores);
        let samples: Vec<_> = load.samples.iter().map(|sample| sample.stretches(&table)).collect();
        let works = || load.samples.iter().zip(&samples).map(|(sample, own)| sample.work(own));
        let work: f64 = works().map(|(work, _)| work).sum();
        let computing: f64 = works().map(|(_, computing)| computing).sum();
        let mean = if work > 0.0 { computing / work } else { 0.0 };
        Self { of: Arc::clone(&load.samples), cores, samples, mean }
    }

    /// Those of `load`.
    pub(super) fn of(&self, load: &JobLoad) -> Cow<'_, Self> {
        if Arc::ptr_eq(&self.of, &load.samples) {
            Cow::Borrowed(self)
        } else {
            Cow::Owned(Self::new(load, self.cores))
        }
    }
}
