//! Seek time by distance: the curve `a + b sqrt(d) + c d`, or a table.
//!
//! A curve is fitted to three times: it takes the track-to-track time over one cylinder, the
//! full-stroke time over all, and the average time in the mean over all pairs of different
//! cylinders. Of N cylinders, N - d pairs are d apart, so the mean of a term f is `sum((N - d)
//! f(d)) / (N (N - 1) / 2)`, the weighted average that data sheets define.

use super::config::{SeekPieces, SeekTimes};
use super::error::{DiskConfigError, at_least, wrong};
use gordon_units::Ns;

/// Statistics of the seek distances of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekDistances {
    cylinders: u32,
    longest: f64,
    /// Mean of sqrt(d) over all pairs.
    mean_root: f64,
    /// Mean of d over all pairs.
    mean: f64,
}

impl SeekDistances {
    /// Computes the statistics for this number of cylinders, in linear time.
    ///
    /// # Errors
    /// Returns an error if there are fewer than four cylinders, too few to distinguish three seek
    /// times.
    pub fn new(cylinders: u32) -> Result<Self, DiskConfigError> {
        at_least("cylinders of the disk, for a seek curve,", cylinders, 4)?;
        let (n, longest) = (f64::from(cylinders), f64::from(cylinders - 1));
        let weighted =
            (1..cylinders).map(|d| f64::from(cylinders - d) * f64::from(d).sqrt()).sum::<f64>();
        let mean_root = weighted / (n * longest / 2.0);
        Ok(Self { cylinders, longest, mean_root, mean: (n + 1.0) / 3.0 })
    }
}

/// A seek curve in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// A curve through three times.
    Root(Root),
    /// Time over 1, 2, ... cylinders; the last time holds for all longer distances.
    Known(Box<[u32]>),
}

/// `a + b sqrt(d) + c d`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    a: f64,
    b: f64,
    c: f64,
}

impl SeekCurve {
    /// Computes the curve; `key` names it in errors.
    ///
    /// # Errors
    /// Returns an error if `times` does not have exactly one form, or if a longer seek would be
    /// faster.
    pub fn new(
        key: &'static str,
        times: &SeekTimes,
        distances: &SeekDistances,
    ) -> Result<Self, DiskConfigError> {
        let three = [&times.track_to_track, &times.average, &times.full_stroke];
        let forms = [
            three.iter().any(|time| time.is_some()),
            !times.table.is_empty(),
            times.pieces.is_some(),
            times.lee_ms.is_some(),
        ];
        if forms.iter().filter(|form| **form).count() != 1 {
            let must = "three times, or a table, pieces or lee_ms".to_owned();
            return Err(wrong(key, "not one curve", must));
        }
        let longest = distances.cylinders - 1;
        if let [Some(first), Some(average), Some(last)] = three {
            return Root::new(key, [**first, **average, **last], distances).map(Self::Root);
        }
        if !times.table.is_empty() {
            return Self::table(key, &times.table, longest);
        }
        if let Some(pieces) = &times.pieces {
            return Ok(Self::known(longest, |d| pieces.time(d)));
        }
        if let Some(lee) = &times.lee_ms {
            let [a, b, c] = **lee;
            return Ok(Self::known(longest, |d| {
                let d = f64::from(d) - 1.0;
                a * d.sqrt() + b * d + c
            }));
        }
        let must = "track_to_track, average and full_stroke, all three".to_owned();
        Err(wrong(key, "one or two times", must))
    }

    /// Tabulates a curve given in milliseconds.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // no seek takes 4 s
    fn known(longest: u32, time: impl Fn(u32) -> f64) -> Self {
        Self::Known((1..=longest).map(|d| (time(d) * 1e6 + 0.5) as u32).collect())
    }

    /// Interpolates measured times, which may decrease a little from one distance to the next.
    #[allow(clippy::cast_precision_loss)] // times far below 2^53 ns
    fn table(
        key: &'static str,
        table: &[(u32, Ns)],
        longest: u32,
    ) -> Result<Self, DiskConfigError> {
        let rising = table.windows(2).all(|two| two[0].0 < two[1].0);
        if !rising || table[0].0 == 0 {
            let must = "distances of 1 and more, each above the one before".to_owned();
            return Err(wrong(key, "a table out of order", must));
        }
        let from = |at: usize| match at.checked_sub(1) {
            Some(at) => (f64::from(table[at].0), table[at].1.0 as f64),
            None => (0.0, 0.0),
        };
        Ok(Self::known(longest, |d| {
            let at = table.partition_point(|(known, _)| *known < d).min(table.len() - 1);
            let ((x0, y0), (x1, y1)) = (from(at), from(at + 1));
            (y0 + (f64::from(d) - x0) * (y1 - y0) / (x1 - x0)) / 1e6
        }))
    }

    /// Time over `distance` cylinders; 0 for no distance.
    #[inline(always)] // the scheduler's inner loop
    pub fn time(&self, distance: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        match self {
            Self::Root(root) => root.time(distance),
            Self::Known(times) => u64::from(times[(distance as usize - 1).min(times.len() - 1)]),
        }
    }
}

impl SeekPieces {
    /// Milliseconds over a distance.
    fn time(&self, distance: u32) -> f64 {
        let [a, b, c, e] = self.values_ms;
        let d = f64::from(distance);
        match self.first.get(distance as usize - 1) {
            Some(time) => time.as_secs() * 1e3,
            None if distance < self.split => a + b * d.sqrt(),
            None => c + e * d,
        }
    }
}

impl Root {
    /// Solves for the parameters.
    #[allow(clippy::cast_precision_loss)] // times far below 2^53 ns
    fn new(
        key: &'static str,
        [first, average, last]: [Ns; 3],
        distances: &SeekDistances,
    ) -> Result<Self, DiskConfigError> {
        let &SeekDistances { cylinders, longest, mean_root, mean } = distances;
        let (first, average, last) = (first.0 as f64, average.0 as f64, last.0 as f64);

        // a + b + c = first, a + b mean_root + c mean = average,
        // a + b sqrt(longest) + c longest = last.
        let (mb, mc, my) = (mean_root - 1.0, mean - 1.0, average - first);
        let (lb, lc, ly) = (longest.sqrt() - 1.0, longest - 1.0, last - first);
        let determinant = mb * lc - lb * mc;
        let b = (my * lc - ly * mc) / determinant;
        let c = (mb * ly - lb * my) / determinant;
        let curve = Self { a: first - b - c, b, c };

        // The slope b / (2 sqrt(d)) + c is monotone in d, so it is negative somewhere only if it is
        // at an end. Half a nanosecond over the full stroke is rounding.
        let slope = |d: f64| b / (2.0 * d.sqrt()) + c;
        let rounding = -0.5 / longest;
        if slope(1.0) < rounding || slope(longest) < rounding {
            // The slope is zero at d = (b / 2c)^2. Any average for which b and c are positive is
            // consistent.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let turn = ((b / (2.0 * c)).powi(2).clamp(1.0, longest)) as u32;
            let (from, to) = if slope(1.0) < rounding { (1, turn) } else { (turn, cylinders - 1) };
            let share = 0.5 * (mb / lb + mc / lc);
            let hint = Ns::from_secs((first + ly.max(0.0) * share) / 1e9);
            return Err(DiskConfigError::SeekFalls { key, from, to, hint });
        }
        Ok(curve)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn time(self, distance: u32) -> u64 {
        let d = f64::from(distance);
        (self.a + self.b * d.sqrt() + self.c * d + 0.5) as i64 as u64 // one instruction, not two
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(first: u64, mean: u64, last: u64) -> SeekTimes {
        let us = |x: u64| Ns(x * 1000).into();
        SeekTimes {
            track_to_track: Some(us(first)),
            average: Some(us(mean)),
            full_stroke: Some(us(last)),
            ..SeekTimes::default()
        }
    }

    fn curve(times: &SeekTimes, cylinders: u32) -> Result<SeekCurve, DiskConfigError> {
        SeekCurve::new("seek.read", times, &SeekDistances::new(cylinders)?)
    }

    #[test]
    fn the_curve_by_hand() {
        // 4 cylinders: 3 pairs are one apart, 2 are two, 1 is three. a = 1 ms, b = 2 ms, c = 0.5 ms
        // gives f(1) = 3.5, f(2) = 1 + 2.828427 + 1 = 4.828427, f(3) = 1 + 3.464102 + 1.5 =
        // 5.964102; mean (3 x 3.5 + 2 x 4.828427 + 5.964102) / 6 = 4.353493.
        let times = SeekTimes {
            track_to_track: Some(Ns(3_500_000).into()),
            average: Some(Ns(4_353_493).into()),
            full_stroke: Some(Ns(5_964_102).into()),
            ..SeekTimes::default()
        };
        let curve = curve(&times, 4).unwrap();
        let SeekCurve::Root(Root { a, b, c }) = curve else { panic!("three times") };
        assert!((a / 1e6 - 1.0).abs() < 1e-3, "{curve:?}");
        assert!((b / 1e6 - 2.0).abs() < 1e-3, "{curve:?}");
        assert!((c / 1e6 - 0.5).abs() < 1e-3, "{curve:?}");
        assert_eq!(curve.time(0), 0);
        assert!(curve.time(2).abs_diff(4_828_427) < 10);
    }

    #[test]
    fn the_curve_passes_through_the_three_times() {
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
        // Average above the full stroke; below the track-to-track time; full stroke too fast.
        for (first, mean, last) in [(1000, 15_000, 14_700), (2000, 1500, 14_700), (1000, 900, 800)]
        {
            let error = curve(&times(first, mean, last), 1000).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("three times of seek.read falls"), "{text}");
        }
        // The hint of the error is a valid average.
        let Err(DiskConfigError::SeekFalls { hint, .. }) =
            curve(&times(1000, 14_000, 14_700), 1000)
        else {
            panic!("an average of 14 ms does not fit 14.7 ms")
        };
        assert!(curve(&times(1000, hint.0 / 1000, 14_700), 1000).is_ok());
        // Three equal times give a flat curve, which is valid.
        assert!(curve(&times(3300, 3300, 3300), 1000).is_ok());
    }

    #[test]
    fn other_forms_by_hand() {
        let ms = |x: f64| Ns::from_secs(x / 1e3);
        let made = |times: &SeekTimes| curve(times, 1000).unwrap();
        // Linear between the points, from zero before the first, and extrapolated beyond the last.
        let table = vec![(2, ms(1.0)), (10, ms(3.0)), (100, ms(2.1))];
        let table = made(&SeekTimes { table, ..SeekTimes::default() });
        let at = [1, 2, 6, 10, 55, 100, 110].map(|d| table.time(d));
        assert_eq!(at, [500_000, 1_000_000, 2_000_000, 3_000_000, 2_550_000, 2_100_000, 2_000_000]);
        // Hewlett-Packard's C2200A (Ruemmler and Wilkes 1994, table 3): 3.45 + 0.597 sqrt(d) below
        // 616 cylinders, 10.8 + 0.012 d from there on.
        let pieces =
            SeekPieces { split: 616, values_ms: [3.45, 0.597, 10.8, 0.012], first: vec![] };
        let known = SeekPieces { first: vec![ms(2.5)], ..pieces.clone() };
        let pieces = made(&SeekTimes { pieces: Some(pieces), ..SeekTimes::default() });
        assert_eq!([1, 100, 616].map(|d| pieces.time(d)), [4_047_000, 9_420_000, 18_192_000]);
        let known = made(&SeekTimes { pieces: Some(known), ..SeekTimes::default() });
        assert_eq!([1, 100].map(|d| known.time(d)), [2_500_000, 9_420_000]);
        // 0.1 sqrt(d - 1) + 0.01 (d - 1) + 2.
        let lee_ms = Some([0.1, 0.01, 2.0].into());
        let lee = made(&SeekTimes { lee_ms, ..SeekTimes::default() });
        assert_eq!([1, 26, 101].map(|d| lee.time(d)), [2_000_000, 2_750_000, 4_000_000]);
    }

    #[test]
    fn a_curve_needs_exactly_one_form() {
        let text = |times: &SeekTimes| curve(times, 100).unwrap_err().to_string();
        assert!(text(&SeekTimes::default()).contains("seek.read is not one curve"));
        let table = vec![(1, Ns(5)), (1, Ns(6))];
        let twice = SeekTimes { table: table.clone(), ..times(1000, 2000, 3000) };
        assert!(text(&twice).contains("not one curve"));
        let one = SeekTimes { table, ..SeekTimes::default() };
        assert!(text(&one).contains("a table out of order"));
        let two = SeekTimes { average: None, ..times(1000, 2000, 3000) };
        assert!(text(&two).contains("one or two times"));
    }
}
