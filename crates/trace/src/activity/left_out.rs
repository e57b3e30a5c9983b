//! Checks the samples of a host: removes those that cannot be used, and counts irregular times.

use super::host::{HostActivity, HostSample};
use crate::manifest::{
    SAMPLES, SOME_IO, SOME_MEMORY, SOME_NETWORK, STEADY_CLOCK, TIME_OF_RESTARTS, Unavailable,
};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// The longest interval of a sample. Damaged files have intervals of thousands of years.
const LONGEST: Ns = Ns(7 * 86_400 * Ns::SECOND.0);
/// Samples after this length of a trace are left out.
const LONGEST_TRACE: Ns = Ns(100 * 366 * 86_400 * Ns::SECOND.0);
/// The largest sum of the amounts of a trace, and the largest gauge. Totals below it do not
/// overflow.
const LARGEST: f64 = (1_u64 << 62) as f64;
/// Shares of time may exceed 1 by the tick in which a sample was taken.
const MOST: f64 = 1.05;

/// Samples that were left out, and irregular times.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Samples that repeat the time of another one. They are left out.
    pub duplicates: u64,
    /// Samples without a valid time. They are left out.
    pub without_time: u64,
    /// Samples without an interval, or with one of more than a week. They are left out.
    pub bad_intervals: u64,
    /// Samples without CPU time. They are left out.
    pub without_cpu: u64,
    /// Samples with negative or impossible amounts. They are left out.
    pub implausible: u64,
    /// Stretches of time that no sample covers.
    pub gaps: u64,
    /// Time that no sample covers.
    pub gaps_s: f64,
    /// Samples whose clock is behind the end of the sample before them. They are kept in order.
    pub clock_jumps: u64,
    /// Samples whose interval is not the most frequent one. They are kept.
    pub mixed_intervals: u64,
    /// Restarts of the machine or of its monitor between the first sample and the last.
    pub restarts: u64,
    /// Samples without disks, in a trace that has disks. They are kept, without I/O.
    pub without_disks: u64,
    /// Samples without memory, in a trace that has memory. They are kept, with a memory of 0.
    pub without_memory: u64,
    /// Samples without network, in a trace that has network. They are kept, without traffic.
    pub without_network: u64,
}

/// Removes the samples that cannot be used, and counts irregular times.
pub(super) fn check(activity: &mut HostActivity) -> LeftOut {
    let mut left_out = LeftOut {
        duplicates: activity.duplicates,
        without_time: activity.without_time,
        ..LeftOut::default()
    };
    let mut times = HashSet::new();
    let (mut amounts, mut time) = (0.0, Ns::ZERO);
    activity.samples.retain(|sample| {
        let (of_sample, is_valid) = sample.amounts(LARGEST);
        let shares = sample.all.iter().chain(sample.cores.values());
        let pressure = sample.io_full.into_iter().chain(sample.cpu_some);
        let most = shares.map(|s| s.busy + s.iowait + s.steal).chain(pressure).fold(0.0, f64::max);
        let counter = if sample.span == Ns::ZERO || sample.span > LONGEST || time > LONGEST_TRACE {
            &mut left_out.bad_intervals
        } else if sample.all.is_none() && sample.cores.is_empty() {
            &mut left_out.without_cpu
        } else if !is_valid || amounts + of_sample > LARGEST || most > MOST {
            &mut left_out.implausible
        } else if !times.insert(sample.end) {
            &mut left_out.duplicates
        } else {
            amounts += of_sample;
            time += sample.span;
            return true;
        };
        *counter += 1;
        false
    });
    if let [first, .., last] = activity.samples.as_slice() {
        let during = |time: &&Ns| first.end < **time && **time <= last.end;
        left_out.restarts = activity.restarts.iter().filter(during).count() as u64;
    }
    let usual = usual_span(&activity.samples);
    left_out.mixed_intervals =
        activity.samples.iter().filter(|sample| sample.span != usual).count() as u64;
    for pair in activity.samples.windows(2) {
        let [before, now] = pair else { unreachable!("windows of two") };
        // sadf rounds both times and intervals to seconds.
        let tolerance = if now.span > Ns::SECOND { Ns::SECOND } else { Ns::ZERO };
        if now.end > before.end + now.span + tolerance {
            left_out.gaps += 1;
            left_out.gaps_s += (now.end - before.end - now.span).as_secs();
        } else if now.end + tolerance < before.end + now.span {
            left_out.clock_jumps += 1;
        }
    }
    let without = |has: fn(&HostSample) -> bool| match activity.samples.iter().any(has) {
        true => activity.samples.iter().filter(|sample| !has(sample)).count() as u64,
        false => 0,
    };
    left_out.without_disks = without(|sample| sample.disks.is_some());
    left_out.without_memory = without(|sample| sample.memory.is_some());
    left_out.without_network = without(|sample| sample.network.is_some());
    left_out
}

/// The most frequent interval, the shortest of several.
pub(super) fn usual_span(samples: &[HostSample]) -> Ns {
    let mut counts: BTreeMap<Ns, usize> = BTreeMap::new();
    for sample in samples {
        *counts.entry(sample.span).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    counts.into_iter().find(|(_, count)| *count == most).map_or(Ns::ZERO, |(span, _)| span)
}

impl LeftOut {
    /// The samples that are not in the trace, by reason.
    pub(super) fn dropped(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("duplicates: samples that repeat a time", self.duplicates),
            ("without time: samples without a valid time", self.without_time),
            ("bad intervals: samples without a valid interval", self.bad_intervals),
            ("without CPU: samples without CPU time", self.without_cpu),
            ("implausible: samples with impossible amounts", self.implausible),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// A sentence for each count that is not 0.
    pub(super) fn warnings(&self) -> Vec<String> {
        let sentence = |(what, count): &(&str, u64)| {
            let (name, rest) = what.split_once(": ").unwrap_or(("", what));
            format!("{name}: {count} {rest}, left out")
        };
        let mut warnings: Vec<String> = self.dropped().iter().map(sentence).collect();
        let mut warn = |count: u64, text: String| {
            if count > 0 {
                warnings.push(text);
            }
        };
        warn(
            self.gaps,
            format!(
                "gaps: {}, {:.0} s in all, that no sample covers; the time is not in the trace",
                counted(self.gaps, "stretch", "stretches"),
                self.gaps_s
            ),
        );
        warn(
            self.clock_jumps,
            format!(
                "clock jumps: {} before the end of the sample before; kept in the order of the \
                 input",
                counted(self.clock_jumps, "sample starts", "samples start")
            ),
        );
        warn(
            self.mixed_intervals,
            format!(
                "mixed intervals: {} not of the most frequent length; each keeps its own",
                counted(self.mixed_intervals, "sample is", "samples are")
            ),
        );
        warn(
            self.restarts,
            format!(
                "restarts: {} of the machine or of its monitor; the time in between is not in the \
                 trace",
                self.restarts
            ),
        );
        warn(
            self.without_disks,
            format!(
                "without disks: {} no disks, taken as no I/O",
                counted(self.without_disks, "sample has", "samples have")
            ),
        );
        warn(
            self.without_memory,
            format!(
                "without memory: {} no memory, which is 0 there",
                counted(self.without_memory, "sample has", "samples have")
            ),
        );
        warn(
            self.without_network,
            format!(
                "without network: {} no network, taken as no traffic",
                counted(self.without_network, "sample has", "samples have")
            ),
        );
        warnings
    }

    /// What the trace lacks, so that its readers learn of it too.
    pub(super) fn unavailable(&self) -> Vec<Unavailable> {
        let mut list = Vec::new();
        let mut add = |what: String, why: String| list.push(Unavailable { what, why });
        if self.gaps > 0 {
            let gaps = counted(self.gaps, "gap", "gaps");
            add(format!("{SAMPLES}for {:.0} s", self.gaps_s), format!("the input has {gaps}"));
        }
        for (what, count) in self.dropped() {
            let what = what.split_once(": ").map_or(what, |(_, rest)| rest);
            let why = format!("the conversion left out {count} of them");
            add(what.to_owned(), why);
        }
        if self.clock_jumps > 0 {
            let jumps = counted(self.clock_jumps, "sample starts", "samples start");
            let why = format!("{jumps} before the end of the sample before");
            add(STEADY_CLOCK.to_owned(), why);
        }
        if self.restarts > 0 {
            let restarts = counted(self.restarts, "restart", "restarts");
            let why = format!("the input has {restarts} of the machine or of its monitor");
            add(TIME_OF_RESTARTS.to_owned(), why);
        }
        if self.without_disks > 0 {
            let samples = counted(self.without_disks, "sample", "samples");
            add(SOME_IO.to_owned(), format!("{samples} without disks"));
        }
        if self.without_memory > 0 {
            let samples = counted(self.without_memory, "sample", "samples");
            add(SOME_MEMORY.to_owned(), format!("{samples} without memory"));
        }
        if self.without_network > 0 {
            let samples = counted(self.without_network, "sample", "samples");
            add(SOME_NETWORK.to_owned(), format!("{samples} without network"));
        }
        list
    }
}

/// A number with the noun that agrees with it.
fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
