//! How long the arm takes over a distance: `a + b sqrt(d) + c d`.
//!
//! The three parameters are those for which the curve takes the track-to-track time over one
//! cylinder, the full-stroke time over all, and the average time on the mean over all pairs of
//! different cylinders. Of N cylinders, N - d pairs lie d apart, so the mean of a term f is
//! `sum((N - d) f(d)) / (N (N - 1) / 2)`, the weighted average that data sheets define.

use super::config::{ConfigError, SeekTimes, at_least};
use gordon_units::Ns;

/// The seek distances of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    cylinders: u32,
    longest: f64,
    /// Mean of sqrt(d) over the pairs.
    mean_root: f64,
    /// Mean of d.
    mean: f64,
}

impl Distances {
    /// Those of a disk of so many cylinders; at a cost for each.
    ///
    /// # Errors
    /// Where there are too few to tell three seek times apart.
    pub fn new(cylinders: u32) -> Result<Self, ConfigError> {
        at_least("cylinders of the disk, for a seek curve,", cylinders, 4)?;
        let (n, longest) = (f64::from(cylinders), f64::from(cylinders - 1));
        let weighted =
            (1..cylinders).map(|d| f64::from(cylinders - d) * f64::from(d).sqrt()).sum::<f64>();
        let mean_root = weighted / (n * longest / 2.0);
        Ok(Self { cylinders, longest, mean_root, mean: (n + 1.0) / 3.0 })
    }
}

/// A seek curve in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekCurve {
    a: f64,
    b: f64,
    c: f64,
}

impl SeekCurve {
    /// Solves for the parameters; `key` names the three times in errors.
    ///
    /// # Errors
    /// Where a longer seek would be faster.
    #[allow(clippy::cast_precision_loss)] // times far below 2^53 ns
    pub fn new(
        key: &'static str,
        times: &SeekTimes,
        distances: &Distances,
    ) -> Result<Self, ConfigError> {
        let &Distances { cylinders, longest, mean_root, mean } = distances;
        let (first, average, last) =
            (times.track_to_track.0 as f64, times.average.0 as f64, times.full_stroke.0 as f64);

        // a + b + c = first, a + b mean_root + c mean = average,
        // a + b sqrt(longest) + c longest = last.
        let (mb, mc, my) = (mean_root - 1.0, mean - 1.0, average - first);
        let (lb, lc, ly) = (longest.sqrt() - 1.0, longest - 1.0, last - first);
        let determinant = mb * lc - lb * mc;
        let b = (my * lc - ly * mc) / determinant;
        let c = (mb * ly - lb * my) / determinant;
        let curve = Self { a: first - b - c, b, c };

        // The slope b / (2 sqrt(d)) + c is monotone in d: it falls nowhere if at neither end. Half
        // a nanosecond over the whole stroke is rounding.
        let slope = |d: f64| b / (2.0 * d.sqrt()) + c;
        let rounding = -0.5 / longest;
        if slope(1.0) < rounding || slope(longest) < rounding {
            // The slope is zero at d = (b / 2c)^2; any average for which b and c are positive fits.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let turn = ((b / (2.0 * c)).powi(2).clamp(1.0, longest)) as u32;
            let (from, to) = if slope(1.0) < rounding { (1, turn) } else { (turn, cylinders - 1) };
            let share = 0.5 * (mb / lb + mc / lc);
            let hint = Ns::from_secs((first + ly.max(0.0) * share) / 1e9);
            return Err(ConfigError::SeekFalls { key, from, to, hint });
        }
        Ok(curve)
    }

    /// The time over `distance` cylinders; none over none.
    #[inline(always)] // the scheduler's inner loop
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn time(&self, distance: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        let d = f64::from(distance);
        (self.a + self.b * d.sqrt() + self.c * d + 0.5) as i64 as u64 // one instruction, not two
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(first: u64, mean: u64, last: u64) -> SeekTimes {
        let us = |x: u64| Ns(x * 1000).into();
        SeekTimes { track_to_track: us(first), average: us(mean), full_stroke: us(last) }
    }

    fn curve(times: &SeekTimes, cylinders: u32) -> Result<SeekCurve, ConfigError> {
        SeekCurve::new("seek.read", times, &Distances::new(cylinders)?)
    }

    #[test]
    fn the_curve_by_hand() {
        // 4 cylinders: 3 pairs one apart, 2 two, 1 three. a = 1 ms, b = 2 ms, c = 0.5 ms gives
        // f(1) = 3.5, f(2) = 1 + 2.828427 + 1 = 4.828427, f(3) = 1 + 3.464102 + 1.5 = 5.964102;
        // mean (3 x 3.5 + 2 x 4.828427 + 5.964102) / 6 = 4.353493.
        let times = SeekTimes {
            track_to_track: Ns(3_500_000).into(),
            average: Ns(4_353_493).into(),
            full_stroke: Ns(5_964_102).into(),
        };
        let curve = curve(&times, 4).unwrap();
        assert!((curve.a / 1e6 - 1.0).abs() < 1e-3, "{curve:?}");
        assert!((curve.b / 1e6 - 2.0).abs() < 1e-3, "{curve:?}");
        assert!((curve.c / 1e6 - 0.5).abs() < 1e-3, "{curve:?}");
        assert_eq!(curve.time(0), 0);
        assert!(curve.time(2).abs_diff(4_828_427) < 10);
    }

    #[test]
    fn it_passes_through_the_three_times() {
        let n = 160_757;
        let curve = curve(&times(1000, 8500, 14_700), n).unwrap();
        assert_eq!(curve.time(1), 1_000_000);
        assert_eq!(curve.time(n - 1), 14_700_000);
        let sum: u128 = (1..n).map(|d| u128::from(n - d) * u128::from(curve.time(d))).sum();
        let mean = sum / (u128::from(n) * u128::from(n - 1) / 2);
        assert!(mean.abs_diff(8_500_000) < 2, "{mean}");
        assert!((1..n - 1).all(|d| curve.time(d) <= curve.time(d + 1)));
    }

    #[test]
    fn a_falling_curve_is_refused() {
        // Average above the full stroke; below the track-to-track time; a full stroke that is fast.
        for (first, mean, last) in [(1000, 15_000, 14_700), (2000, 1500, 14_700), (1000, 900, 800)]
        {
            let error = curve(&times(first, mean, last), 1000).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("three times of seek.read falls"), "{text}");
        }
        // The hint works.
        let Err(ConfigError::SeekFalls { hint, .. }) = curve(&times(1000, 14_000, 14_700), 1000)
        else {
            panic!("an average of 14 ms does not fit 14.7 ms")
        };
        assert!(curve(&times(1000, hint.0 / 1000, 14_700), 1000).is_ok());
        // All times alike: flat, not falling.
        assert!(curve(&times(3300, 3300, 3300), 1000).is_ok());
    }
}
