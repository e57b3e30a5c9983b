//! Values of samples in ascending order, each with the time that it lasts.

/// Share of the time that a percentile leaves above it.
const TAIL: f64 = 0.01;
/// Relative distance within which a value counts as equal to a limit.
const EQUAL: f64 = 1e-9;

/// Values of samples, which are not negative, weighted by time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Ascending.
    values: Vec<f64>,
    /// Seconds of all values up to each, and their sum of values x seconds.
    until: Vec<[f64; 2]>,
}

impl Series {
    /// The series of these values, each with its seconds.
    pub fn new(samples: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut pairs: Vec<(f64, f64)> = samples.collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sums = [0.0; 2];
        let until = pairs.iter().map(|(value, secs)| {
            sums = [sums[0] + secs, sums[1] + value * secs];
            sums
        });
        let until = until.collect();
        Self { values: pairs.into_iter().map(|(value, _)| value).collect(), until }
    }

    fn secs(&self) -> f64 {
        self.until.last().map_or(0.0, |sums| sums[0])
    }

    /// The least value that is not exceeded in 99 % of the time; 0 without values.
    pub fn p99(&self) -> f64 {
        let enough = self.secs() * (1.0 - TAIL) * (1.0 - EQUAL);
        let at = self.until.partition_point(|sums| sums[0] < enough);
        self.values.get(at).copied().unwrap_or_else(|| self.peak())
    }

    /// The greatest value; 0 without values.
    pub fn peak(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0)
    }

    /// The mean over the time; 0 without values.
    pub fn mean(&self) -> f64 {
        let secs = self.secs();
        if secs > 0.0 { self.until[self.until.len() - 1][1] / secs } else { 0.0 }
    }

    /// Number of values above a limit.
    pub fn above(&self, limit: f64) -> usize {
        self.values.len() - self.first_above(limit * (1.0 + EQUAL))
    }

    fn first_above(&self, limit: f64) -> usize {
        self.values.partition_point(|value| *value <= limit)
    }

    /// The mean of a function of the values that is linear between `points`, which ascend from 0,
    /// and constant after the last one.
    pub fn mean_of(&self, points: &[(f64, f64)]) -> f64 {
        let sums = |at: usize| at.checked_sub(1).map_or([0.0; 2], |last| self.until[last]);
        let (mut from, mut total) = (0, 0.0);
        for pair in points.windows(2) {
            let [(x, y), (to_x, to_y)] = [pair[0], pair[1]];
            let to = self.first_above(to_x).max(from);
            let [secs, weighted] = [0, 1].map(|of| sums(to)[of] - sums(from)[of]);
            let slope = if to_x > x { (to_y - y) / (to_x - x) } else { 0.0 };
            total += slope * weighted + (y - slope * x) * secs;
            from = to;
        }
        let rest = self.secs() - sums(from)[0];
        total += points.last().map_or(0.0, |last| last.1) * rest;
        if self.secs() > 0.0 { total / self.secs() } else { 0.0 }
    }
}

/// Whether a use is at most a limit.
pub fn is_within(used: f64, limit: f64) -> bool {
    used <= limit * (1.0 + EQUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_weighted_by_time() {
        let even = Series::new((1..=200).map(|value| (f64::from(value), 1.0)));
        assert_eq!((even.p99(), even.peak(), even.mean()), (198.0, 200.0, 100.5));
        // The peak lasts 2 s of 100.
        let uneven = Series::new([(5.0, 2.0), (1.0, 98.0)].into_iter());
        assert_eq!((uneven.p99(), uneven.mean()), (5.0, 1.08));
        let short = Series::new([(5.0, 1.0), (1.0, 99.0)].into_iter());
        assert_eq!((short.p99(), short.peak()), (1.0, 5.0));
        assert_eq!(Series::default().p99(), 0.0);
    }

    #[test]
    fn values_at_a_limit_are_not_above_it() {
        let series = Series::new([(0.7, 1.0), (0.8, 1.0), (0.1 + 0.6, 1.0)].into_iter());
        assert_eq!([0.0, 0.7, 0.75, 0.8].map(|limit| series.above(limit)), [3, 1, 1, 0]);
    }

    #[test]
    fn the_mean_of_a_piecewise_linear_function_is_that_of_its_values() {
        // 0 at 0, 2 at 1, 3 at 3, and 3 from there on: 1, 2, 2.5, 3 and 3.
        let points = [(0.0, 0.0), (1.0, 2.0), (3.0, 3.0)];
        let series = Series::new([0.5, 1.0, 2.0, 3.0, 9.0].into_iter().map(|value| (value, 2.0)));
        assert!((series.mean_of(&points) - 11.5 / 5.0).abs() < 1e-12);
    }
}
