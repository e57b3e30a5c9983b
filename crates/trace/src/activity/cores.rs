//! How many cores a host has, and what each of them did in a sample. Cores come and go: some are
//! offline, some are added between restarts, and some inputs list only a part of them.

use super::ActivityOptions;
use super::error::ActivityError;
use super::host::{CpuShares, HostActivity, HostSample};
use gordon_units::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// The most cores of a machine: Linux has at most 8192 (NR_CPUS on x86).
const MOST: u32 = 1 << 13;
/// Difference of two shares that may be rounding: sysstat prints hundredths of a per cent, and the
/// ticks of the cores differ a little.
const ROUNDING: f64 = 0.006;

/// The cores of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostCores {
    /// The most that it had.
    pub count: u32,
    /// The number from each time on, since 1970. Empty if it is always `count`.
    stated: BTreeMap<Ns, u32>,
}

/// Where the shares of a sample's cores come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShareSource {
    /// A row of each core.
    EachCore,
    /// The row of all cores.
    AllCores,
    /// Rows of some cores; the others were offline.
    OfflineRest(u32),
    /// Rows of some cores; the row of all says what the others did together.
    DividedRest(u32),
    /// Rows of some cores and no row of all: what the others did is unknown.
    UnknownRest(u32),
}

impl HostCores {
    /// The cores of a host, and warnings.
    ///
    /// # Errors
    /// When the number is unknown, impossible, or less than the cores that the input lists.
    pub fn of(
        name: &str,
        activity: &HostActivity,
        options: &ActivityOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Self, ActivityError> {
        let mut stated = activity.cores.clone();
        stated.retain(|_, cores| *cores > 0);
        let numbers: BTreeSet<u32> = stated.values().copied().collect();
        let listed = activity.samples.iter().filter_map(|s| s.cores.keys().next_back()).max();
        let listed = listed.map(|last| last.saturating_add(1));
        let wrong = |why: String| ActivityError::Cores { host: name.to_owned(), why };
        let largest = numbers.last().copied();
        let count = match (options.cores, largest, listed) {
            (Some(cores), largest, _) => {
                if let Some(listed) = listed.filter(|listed| *listed > cores) {
                    let last = listed - 1;
                    return Err(wrong(format!(
                        "the input has a core {last} (from 0), and --cores gives {cores} cores"
                    )));
                }
                if largest.is_some_and(|largest| largest != cores) {
                    let list = list(&numbers);
                    warnings
                        .push(format!("--cores {cores} replaces {list}, which the input states"));
                }
                cores
            }
            (None, Some(stated), Some(listed)) if listed > stated => {
                warnings.push(format!(
                    "cores: the input states {} and lists a core {} (from 0); {listed} are taken",
                    list(&numbers),
                    listed - 1
                ));
                listed
            }
            (None, Some(stated), _) => stated,
            (None, None, Some(listed)) => listed,
            (None, None, None) => {
                return Err(wrong("the input does not state the number of cores".to_owned()));
            }
        };
        if count == 0 || count > MOST {
            return Err(wrong(format!("{count} is not a number of cores between 1 and {MOST}")));
        }
        match numbers.len() {
            0 | 1 => stated.clear(),
            _ => {
                let list = list(&numbers);
                warnings.push(format!(
                    "cores: the machine had {list} at different times; each sample has those of \
                     its time, and the trace has {count}"
                ));
            }
        }
        Ok(Self { count, stated })
    }

    /// The number of cores at the end of a sample.
    fn at(&self, end: Ns) -> u32 {
        let before = self.stated.range(..end).next_back();
        let found = before.or_else(|| self.stated.first_key_value());
        found.map_or(self.count, |(_, cores)| *cores).min(self.count)
    }

    /// The shares of each core, with zeros for those that the machine did not have, and their
    /// source.
    pub fn shares(&self, sample: &HostSample) -> (Vec<CpuShares>, ShareSource) {
        let online = self.at(sample.end);
        let rows = &sample.cores;
        let missing = online.saturating_sub(rows.len() as u32);
        let own = |core: u32| rows.get(&core).copied().unwrap_or_default();
        let all_cores = 0..self.count;
        let Some(all) = sample.all else {
            let source = match missing {
                0 => ShareSource::EachCore,
                missing => ShareSource::UnknownRest(missing),
            };
            return (all_cores.map(own).collect(), source);
        };
        if rows.is_empty() {
            let of_all = |core| if core < online { all } else { CpuShares::default() };
            return (all_cores.map(of_all).collect(), ShareSource::AllCores);
        }
        if missing == 0 {
            return (all_cores.map(own).collect(), ShareSource::EachCore);
        }
        // The row of all is the mean of the cores that are online.
        let sum: CpuShares = rows.values().copied().sum();
        if is_close(sum.divided(rows.len() as f64), all) {
            return (all_cores.map(own).collect(), ShareSource::OfflineRest(missing));
        }
        let rest = all.times(f64::from(online)).minus(sum).divided(f64::from(missing));
        let mut left = missing;
        let shares = all_cores.map(|core| match rows.get(&core) {
            Some(row) => *row,
            None if left > 0 => {
                left -= 1;
                rest
            }
            None => CpuShares::default(),
        });
        (shares.collect(), ShareSource::DividedRest(missing))
    }

    /// What the samples of a host lack of its cores, one sentence each, and whether every sample
    /// has its cores one by one.
    pub fn describe(&self, samples: &[HostSample], warnings: &mut Vec<String>) -> bool {
        let mut offline: BTreeMap<u32, u64> = BTreeMap::new();
        let mut divided = offline.clone();
        let mut unknown = offline.clone();
        let mut is_each = true;
        for sample in samples {
            let (counts, missing) = match self.shares(sample).1 {
                ShareSource::EachCore => continue,
                ShareSource::AllCores => {
                    is_each = false;
                    continue;
                }
                ShareSource::OfflineRest(missing) => (&mut offline, missing),
                ShareSource::DividedRest(missing) => {
                    is_each = false;
                    (&mut divided, missing)
                }
                ShareSource::UnknownRest(missing) => (&mut unknown, missing),
            };
            *counts.entry(missing).or_default() += 1;
        }
        let of = |counts: &BTreeMap<u32, u64>| -> Option<(String, u64)> {
            let samples = counts.values().sum();
            (samples > 0).then(|| (list(&counts.keys().copied().collect()), samples))
        };
        let count = self.count;
        if let Some((missing, samples)) = of(&offline) {
            warnings.push(format!(
                "cores: {missing} of {count} have no row in {samples} samples and were offline, as \
                 the row of all cores is the mean of the others"
            ));
        }
        if let Some((missing, samples)) = of(&divided) {
            warnings.push(format!(
                "cores: {missing} of {count} have no row in {samples} samples; the row of all \
                 cores gives what they did together, which is divided among them"
            ));
        }
        if let Some((missing, samples)) = of(&unknown) {
            warnings.push(format!(
                "cores: {missing} of {count} have no row in {samples} samples, nor is there a row \
                 of all cores; they count as offline, and what they did is unknown (list all \
                 cores: sadf -j FILE -- -P ALL)"
            ));
        }
        is_each
    }
}

impl CpuShares {
    fn times(self, by: f64) -> Self {
        Self { busy: self.busy * by, iowait: self.iowait * by, steal: self.steal * by }
    }

    fn divided(self, by: f64) -> Self {
        self.times(1.0 / by)
    }

    /// The difference, at least 0.
    fn minus(self, other: Self) -> Self {
        Self {
            busy: (self.busy - other.busy).max(0.0),
            iowait: (self.iowait - other.iowait).max(0.0),
            steal: (self.steal - other.steal).max(0.0),
        }
    }
}

fn is_close(one: CpuShares, other: CpuShares) -> bool {
    let pairs = [(one.busy, other.busy), (one.iowait, other.iowait), (one.steal, other.steal)];
    pairs.iter().all(|(one, other)| (one - other).abs() <= ROUNDING)
}

fn list(numbers: &BTreeSet<u32>) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}
