//! The replays that a survey needs, one for each pair of storage and stream, and a store that keeps
//! them for later surveys.
//!
//! A replay is a pure function of the requests of a trace and of the parameters of the devices
//! (`key`), so a store can return it instead ([`ReplayStore`]). [`run_job`] computes one entry of
//! a store from plain data, in any process on any machine that can read the trace.

mod entry;
mod key;
mod store;

use crate::error::ClusterError;
use crate::space::config::Parts;
use crate::space::storage::Storage;
use crate::trace::charge::Charge;
use crate::trace::stream::{Replayed, Stream};
use gordon_trace::TraceError;
use gordon_units::Progress;
use key::{ReplayKey, TraceDigest};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use store::Lookup;
pub use store::ReplayStore;

/// Version of the results of replays. It must change when a change of a simulator, of the replay or
/// of the entries changes what an entry holds: entries of other versions are not used.
pub const RESULTS_VERSION: u32 = 2;

/// The replays of a survey, and warnings about the store.
pub struct Replays<'a> {
    /// Parts and numbers of devices: sorted, and distinct.
    pub storages: Vec<(&'a str, u32)>,
    /// By storage, then by stream.
    all: Vec<Replayed>,
    streams: usize,
    pub(crate) warnings: Vec<String>,
}

impl<'a> Replays<'a> {
    /// The replays of all streams on a storage, if it is one of the survey.
    pub(crate) fn on(&self, storage: (&str, u32)) -> Option<&[Replayed]> {
        Some(self.at(self.storages.binary_search(&storage).ok()?))
    }

    /// Each storage with the replays of all streams.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((&'a str, u32), &[Replayed])> {
        self.storages.iter().enumerate().map(|(at, storage)| (*storage, self.at(at)))
    }

    fn at(&self, storage: usize) -> &[Replayed] {
        &self.all[storage * self.streams..][..self.streams]
    }
}

/// Replays all `streams` on all `storages` (part and count), in parallel. Replays that are in
/// `store` are taken from it, and the others are added to it as soon as they are done. Each replay
/// is a step of `progress`.
pub(crate) fn replay_all<'a>(
    streams: &[&Stream],
    storages: Vec<(&'a str, u32)>,
    parts: &Parts,
    store: Option<&ReplayStore>,
    progress: &Progress,
) -> Result<Replays<'a>, ClusterError> {
    let devices = checked(&storages, parts)?;
    let digests = match store {
        None => Vec::new(),
        Some(_) => digests(streams)?,
    };
    let pairs: Vec<_> = (0..devices.len())
        .flat_map(|storage| (0..streams.len()).map(move |stream| (storage, stream)))
        .collect();
    progress.begin(pairs.len() as u64);
    let found = pairs
        .par_iter()
        .map(|&(storage, stream)| {
            let storage = &devices[storage];
            let found = match store {
                None => (streams[stream].replay(storage, progress)?, None),
                Some(store) => {
                    let key = ReplayKey::of(&digests[stream], storage);
                    from_store(store, &key, streams[stream], storage, progress)?
                }
            };
            progress.step(1);
            Ok(found)
        })
        .collect::<Result<Vec<_>, ClusterError>>()?;
    let (all, troubles): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let warnings = store.map(|store| store.warnings(troubles.into_iter().flatten()));
    let warnings = warnings.unwrap_or_default();
    Ok(Replays { storages, all, streams: streams.len(), warnings })
}

/// The replay in the store; if there is none, replays and adds it. Also returns what was wrong with
/// the store: that does not stop a survey.
fn from_store(
    store: &ReplayStore,
    key: &ReplayKey,
    stream: &Stream,
    storage: &Storage,
    progress: &Progress,
) -> Result<(Replayed, Option<store::Trouble>), ClusterError> {
    let damage = match store.lookup(key, stream.samples.len()) {
        Lookup::Found(replayed) => return Ok((*replayed, None)),
        Lookup::Missing => None,
        Lookup::Damaged(damage) => Some(damage),
    };
    let replayed = stream.replay(storage, progress)?;
    let written = store.write(key, &entry::encode(key, &replayed));
    Ok((replayed, written.err().or(damage)))
}

/// The storages of a survey, each checked: a survey refuses invalid parameters even if the store
/// has the replays.
fn checked(storages: &[(&str, u32)], parts: &Parts) -> Result<Vec<Storage>, ClusterError> {
    storages
        .iter()
        .map(|storage| {
            let storage = Storage::of(*storage, parts)?;
            match storage.device.check() {
                Ok(()) => Ok(storage),
                Err(why) => Err(ClusterError::Storage { name: storage.name, why }),
            }
        })
        .collect()
}

/// A replay to compute: plain data that can be sent to another process.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayJob {
    /// The version of Gordon that made the job, which is the one that computes it.
    gordon: String,
    results: u32,
    /// Absolute path of the trace.
    path: String,
    trace: TraceDigest,
    /// Number of samples of the trace.
    samples: usize,
    storage: Storage,
}

/// The replays that a survey needs and a store does not have.
#[derive(Debug, Serialize)]
pub struct MissingReplays {
    /// One job for each missing entry.
    pub jobs: Vec<ReplayJob>,
    /// Number of replays that the store has.
    pub found: usize,
    /// Warnings about the store for the reader of the survey.
    pub warnings: Vec<String>,
}

/// The replays of all `streams` on all `storages` that are not in `store`.
pub(crate) fn missing(
    streams: &[&Stream],
    storages: &[(&str, u32)],
    parts: &Parts,
    store: &ReplayStore,
) -> Result<MissingReplays, ClusterError> {
    let storages = checked(storages, parts)?;
    let digests = digests(streams)?;
    let mut jobs = BTreeMap::new();
    let mut troubles = Vec::new();
    let mut found = 0;
    for storage in &storages {
        for (stream, trace) in streams.iter().zip(&digests) {
            let key = ReplayKey::of(trace, storage);
            match store.lookup(&key, stream.samples.len()) {
                Lookup::Found(_) => {
                    found += 1;
                    continue;
                }
                Lookup::Missing => {}
                Lookup::Damaged(damage) => troubles.push(damage),
            }
            let job = ReplayJob {
                gordon: key::GORDON.into(),
                results: RESULTS_VERSION,
                path: absolute(&stream.path),
                trace: trace.clone(),
                samples: stream.samples.len(),
                storage: storage.clone(),
            };
            // Equal traces on equal devices are one entry.
            jobs.entry(key.hash().to_owned()).or_insert(job);
        }
    }
    let warnings = store.warnings(troubles.into_iter());
    Ok(MissingReplays { jobs: jobs.into_values().collect(), found, warnings })
}

fn digests(streams: &[&Stream]) -> Result<Vec<TraceDigest>, ClusterError> {
    streams.par_iter().map(|stream| TraceDigest::of(&stream.trace)).collect()
}

fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// Computes an entry of a store. The result depends on `job` alone.
///
/// # Errors
/// Returns an error if another version of Gordon made the job, if the trace cannot be read or is
/// not the one that was surveyed, if the devices cannot be built, or if a stop is requested.
pub fn run_job(job: &ReplayJob, progress: &Progress) -> Result<Vec<u8>, ClusterError> {
    if (job.gordon.as_str(), job.results) != (key::GORDON, RESULTS_VERSION) {
        return Err(ClusterError::OtherVersion {
            here: key::label(key::GORDON, RESULTS_VERSION),
            there: key::label(&job.gordon, job.results),
        });
    }
    let unreadable = |why: String| ClusterError::NotShared { path: job.path.clone().into(), why };
    let stream = match Stream::open(job.path.clone().into(), Charge::Machine, &[]) {
        Err(ClusterError::Trace(TraceError::Missing(_))) => {
            return Err(unreadable("it does not exist".into()));
        }
        Err(ClusterError::Trace(TraceError::Read { source, .. })) => {
            return Err(unreadable(source.to_string()));
        }
        opened => opened?,
    };
    let trace = TraceDigest::of(&stream.trace)?;
    if trace != job.trace {
        return Err(unreadable("another trace is at this path".into()));
    }
    let replayed = stream.replay(&job.storage, progress)?;
    Ok(entry::encode(&ReplayKey::of(&trace, &job.storage), &replayed))
}

impl ReplayStore {
    /// Adds an entry that [`run_job`] computed for `job`.
    ///
    /// # Errors
    /// Returns an error if it is not a whole entry of this job, or cannot be written.
    pub fn add(&self, job: &ReplayJob, entry: &[u8]) -> Result<(), ClusterError> {
        let key = ReplayKey::of(&job.trace, &job.storage);
        let why = match entry::decode(&key, job.samples, entry) {
            Ok(_) => self.write(&key, entry).err().map(|trouble| trouble.to_string()),
            Err(damage) => Some(format!("a worker returned a damaged result: {damage}")),
        };
        match why {
            None => Ok(()),
            Some(why) => Err(ClusterError::Cache { path: self.folder().into(), why }),
        }
    }
}
