//! Stages of a job, at whose ends its nodes wait for each other.
//!
//! Model: docs/design/cluster.md, "Time: `stages`". Samples with the same number on all nodes are
//! of the same second, as for `sync`. A sample belongs to the stage that covers most of it; all
//! samples outside of stages are one stage. So barriers are fewer than those of `sync` and more
//! than none.
//!
//! What limits a stage is a question about each stage alone: there, a sample counts by the share of
//! it that the stage covers, in every stage that covers it.

use crate::error::ClusterError;
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage of a job.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Name of the stage.
    pub name: String,
    /// Start in seconds after the start of the trace.
    pub start_s: f64,
    /// End in seconds after the start of the trace.
    pub end_s: f64,
}

/// Returns an error for a stage with invalid times, or for an empty list.
pub(crate) fn check(stages: &[Stage]) -> Result<(), ClusterError> {
    if stages.is_empty() {
        let why = "the list is empty: the stages model needs at least one".into();
        return Err(ClusterError::Impossible { what: "stages".into(), why });
    }
    check_times(stages)
}

/// Returns an error for a stage with invalid times.
pub(crate) fn check_times(stages: &[Stage]) -> Result<(), ClusterError> {
    for (index, stage) in stages.iter().enumerate() {
        let is_sane = stage.start_s.is_finite() && stage.end_s.is_finite();
        if !is_sane || stage.start_s < 0.0 || stage.end_s <= stage.start_s {
            return Err(ClusterError::Impossible {
                what: format!("stages[{index}] `{}`", stage.name),
                why: format!(
                    "it lasts from {} s to {} s: a stage starts at 0 or later and ends after its \
                     start",
                    stage.start_s, stage.end_s
                ),
            });
        }
    }
    Ok(())
}

/// The samples that a stage covers.
#[derive(Clone, Debug, PartialEq)]
pub struct StageWindow {
    /// Number of the first sample that it covers.
    pub first: usize,
    /// Share of that sample and of each that follows which the stage covers, from 0 to 1; empty if
    /// it covers none.
    pub shares: Vec<f64>,
}

impl StageWindow {
    /// The samples of `stage`; `samples` holds start and length of each sample, in their order.
    pub fn of(stage: &Stage, samples: &[(Ns, Ns)]) -> Self {
        let first = samples.partition_point(|(at, span)| (*at + *span).as_secs() <= stage.start_s);
        let covered = samples[first..].iter().take_while(|(at, _)| at.as_secs() < stage.end_s);
        let share = |&(at, span): &(Ns, Ns)| {
            let from = stage.start_s.max(at.as_secs());
            let to = stage.end_s.min((at + span).as_secs());
            if span > Ns::ZERO { (to - from).max(0.0) / span.as_secs() } else { 0.0 }
        };
        Self { first, shares: covered.map(share).collect() }
    }

    /// Number of samples, in whole ones.
    pub fn samples(&self) -> f64 {
        self.shares.iter().sum()
    }

    /// The items that the stage covers, each with its share; `lag` is the number of samples before
    /// the first item.
    pub fn of_items<'a, T>(
        &'a self,
        items: &'a [T],
        lag: usize,
    ) -> impl Iterator<Item = (&'a T, f64)> {
        let before = lag.saturating_sub(self.first).min(self.shares.len());
        let own = items.get(self.first.saturating_sub(lag)..).unwrap_or_default();
        own.iter().zip(self.shares[before..].iter().copied()).filter(|(_, share)| *share > 0.0)
    }
}

/// The stage of each sample, as an index of `stages`; their number stands for the time outside of
/// all of them. `samples` holds start and length of each sample. Of stages that cover a sample
/// equally, the first counts.
pub fn stage_of_samples(stages: &[Stage], samples: &[(Ns, Ns)]) -> Vec<usize> {
    let of_sample = |&(start, span): &(Ns, Ns)| {
        let (start, end) = (start.as_secs(), (start + span).as_secs());
        let mut inside: Vec<(f64, f64)> =
            stages.iter().map(|stage| (stage.start_s.max(start), stage.end_s.min(end))).collect();
        let mut best = (stages.len(), 0.0);
        for (index, (from, to)) in inside.iter().enumerate() {
            if to - from > best.1 {
                best = (index, to - from);
            }
        }
        inside.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut reached = start;
        let mut outside = 0.0;
        for (from, to) in inside.into_iter().filter(|(from, to)| to > from) {
            outside += (from - reached).max(0.0);
            reached = reached.max(to);
        }
        outside += end - reached;
        if best.1 >= outside { best.0 } else { stages.len() }
    };
    samples.iter().map(of_sample).collect()
}

/// Stages that the warning about stages without effect names.
const NAMED: usize = 3;

/// A warning about the stages that no sample belongs to, if any; `of_samples` is from
/// [`stage_of_samples`].
pub(crate) fn unused(stages: &[Stage], of_samples: &[usize]) -> Vec<String> {
    let is_unused = |(index, _): &(usize, &Stage)| !of_samples.contains(index);
    let unused: Vec<(usize, &Stage)> = stages.iter().enumerate().filter(is_unused).collect();
    let name = |(index, stage): &(usize, &Stage)| {
        format!("stages[{index}] `{}`, {} s to {} s", stage.name, stage.start_s, stage.end_s)
    };
    let named: Vec<String> = unused.iter().take(NAMED).map(name).collect();
    let more = match unused.len() {
        0 => return Vec::new(),
        1 => return vec![format!("{}: it covers most of no sample and has no effect", named[0])],
        count if count > NAMED => format!("; and {} more", count - NAMED),
        _ => String::new(),
    };
    vec![format!(
        "{} of {} stages cover most of no sample and have no effect: {}{more}",
        unused.len(),
        stages.len(),
        named.join("; ")
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, start_s: f64, end_s: f64) -> Stage {
        Stage { name: name.into(), start_s, end_s }
    }

    fn of(stages: &[Stage], seconds: u64) -> Vec<usize> {
        let samples: Vec<_> = (0..seconds).map(|s| (Ns::SECOND * s, Ns::SECOND)).collect();
        stage_of_samples(stages, &samples)
    }

    #[test]
    fn a_sample_belongs_to_the_stage_that_covers_most_of_it() {
        let stages = [stage("map", 0.0, 1.4), stage("reduce", 1.4, 3.0)];
        assert_eq!(of(&stages, 3), [0, 1, 1]);
        assert_eq!(of(&[stage("map", 0.0, 1.6), stage("reduce", 1.6, 3.0)], 3), [0, 0, 1]);
    }

    #[test]
    fn time_outside_of_stages_is_one_stage() {
        let stages = [stage("map", 1.0, 2.0), stage("reduce", 2.6, 4.0)];
        assert_eq!(of(&stages, 5), [2, 0, 2, 1, 2]);
    }

    #[test]
    fn overlapping_stages_cover_a_sample_once() {
        // Each covers 0.4 s, together 0.4 s: 0.6 s are outside.
        let same = [stage("a", 0.0, 0.4), stage("b", 0.0, 0.4)];
        assert_eq!(of(&same, 1), [2]);
        let apart = [stage("a", 0.0, 0.4), stage("b", 0.4, 0.8)];
        assert_eq!(of(&apart, 1), [0]);
    }

    #[test]
    fn a_stage_after_the_trace_or_shorter_than_half_a_sample_is_unused() {
        let stages = [stage("map", 0.0, 2.0), stage("short", 2.0, 2.4), stage("late", 9.0, 10.0)];
        let notes = unused(&stages, &of(&stages, 3));
        let [note] = &notes[..] else { panic!("{notes:?}") };
        for part in ["2 of 3 stages", "stages[1] `short`", "stages[2] `late`, 9 s to 10 s"] {
            assert!(note.contains(part), "{note}");
        }
        assert_eq!(unused(&stages[..1], &of(&stages[..1], 3)), Vec::<String>::new());
        let many: Vec<Stage> = (0..29).map(|n| stage(&n.to_string(), 9.0, 10.0)).collect();
        let [note] = &unused(&many, &of(&many, 3))[..] else { panic!() };
        assert!(note.starts_with("29 of 29 stages") && note.ends_with("; and 26 more"), "{note}");
    }

    fn window(stage: &Stage, seconds: u64) -> StageWindow {
        let samples: Vec<_> = (0..seconds).map(|s| (Ns::SECOND * s, Ns::SECOND)).collect();
        StageWindow::of(stage, &samples)
    }

    #[test]
    fn a_window_has_the_share_of_each_sample() {
        let found = window(&stage("map", 1.5, 4.0), 6);
        assert_eq!((found.first, found.shares), (1, vec![0.5, 1.0, 1.0]));
        // Within one sample, at its end, after all of them.
        let short = window(&stage("short", 2.25, 2.5), 6);
        assert_eq!((short.first, short.shares), (2, vec![0.25]));
        let last = window(&stage("last", 5.5, 100.0), 6);
        assert_eq!((last.first, last.shares), (5, vec![0.5]));
        assert_eq!(window(&stage("late", 6.0, 7.0), 6).samples(), 0.0);
    }

    #[test]
    fn a_window_selects_the_samples_of_a_trace_that_starts_later() {
        let map = window(&stage("map", 1.5, 4.0), 6);
        let of = |items: &[char], lag: usize| -> Vec<(char, f64)> {
            map.of_items(items, lag).map(|(item, share)| (*item, share)).collect()
        };
        assert_eq!(of(&['a', 'b', 'c'], 0), [('b', 0.5), ('c', 1.0)]);
        assert_eq!(of(&['a', 'b', 'c'], 2), [('a', 1.0), ('b', 1.0)]);
        assert_eq!(of(&['a', 'b', 'c'], 9), []);
    }

    #[test]
    fn impossible_stages_are_refused() {
        for bad in [stage("x", 2.0, 2.0), stage("x", -1.0, 2.0), stage("x", 0.0, f64::NAN)] {
            let error = check(&[stage("map", 0.0, 1.0), bad]).unwrap_err().to_string();
            assert!(error.contains("stages[1] `x`"), "{error}");
        }
        assert!(check(&[]).is_err());
    }
}
