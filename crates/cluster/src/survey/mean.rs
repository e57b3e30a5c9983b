//! The mean of surveys of several jobs: figures of the designs that all jobs have.

use std::collections::BTreeMap;

/// The mean of values; NaN without one.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count as f64
}

/// The mean of values; `None` if one is unknown.
pub(crate) fn known_mean(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.collect::<Option<_>>()?;
    Some(mean(known.into_iter()))
}

/// The mean of shares by name; one that is left out is 0.
pub(crate) fn mean_shares<'a>(
    shares: impl ExactSizeIterator<Item = &'a BTreeMap<String, f64>>,
) -> BTreeMap<String, f64> {
    let shares: Vec<_> = shares.collect();
    let of = |name| mean(shares.iter().map(|of_job| of_job.get(name).copied().unwrap_or(0.0)));
    let names = shares.iter().flat_map(|of_job| of_job.keys());
    names.map(|name| (name.clone(), of(name))).collect()
}

/// The designs that all jobs have, in the order of the first job: of each, the designs of the jobs.
pub(crate) fn of_all_jobs<'a, Design>(
    jobs: &[&'a [Design]],
    id: impl Fn(&Design) -> &str,
) -> Vec<Vec<&'a Design>> {
    let Some((first, others)) = jobs.split_first() else {
        return Vec::new();
    };
    let by_id = |designs: &&'a [Design]| -> BTreeMap<&'a str, &'a Design> {
        designs.iter().map(|design| (id(design), design)).collect()
    };
    let others: Vec<BTreeMap<&str, &Design>> = others.iter().map(by_id).collect();
    let of_design = |design: &'a Design| {
        let of_others = others.iter().map(|of_job| of_job.get(id(design)).copied());
        std::iter::once(Some(design)).chain(of_others).collect::<Option<Vec<_>>>()
    };
    first.iter().filter_map(of_design).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_with_an_unknown_value_is_unknown() {
        assert_eq!(known_mean([Some(1.0), Some(4.0)].into_iter()), Some(2.5));
        assert_eq!(known_mean([Some(1.0), None].into_iter()), None);
    }

    #[test]
    fn a_share_that_a_job_lacks_is_zero() {
        let of = |name: &str, share| BTreeMap::from([(name.to_owned(), share)]);
        let found = mean_shares([&of("cpu", 1.0), &of("disk", 0.5)].into_iter());
        assert_eq!(found, BTreeMap::from([("cpu".into(), 0.5), ("disk".into(), 0.25)]));
    }

    #[test]
    fn only_designs_of_all_jobs_are_compared() {
        let (first, second) = (["b", "a", "c"], ["c", "b"]);
        let found = of_all_jobs(&[&first[..], &second[..]], |id| id);
        assert_eq!(found, [[&"b", &"b"], [&"c", &"c"]]);
    }
}
