//! Busy cores and the work that they do, for any number of busy cores.

use crate::space::cores::KnownCores;

/// Work a second by number of busy cores, and its inverse. Between whole numbers both are linear:
/// the mean of a sample in which the number of busy cores changes between the two.
#[derive(Clone, Debug)]
pub struct Throughput {
    /// By number of busy cores from 0; does not fall.
    work: Vec<f64>,
}

impl Throughput {
    /// Of cores with this speed while all are busy.
    pub fn new(cores: &KnownCores, speed: f64) -> Self {
        let all = cores.throughput(cores.count);
        let mut most = 0.0f64;
        let of = |busy: u32| {
            // More busy cores do not do less work than fewer.
            most = most.max(cores.throughput(busy)).min(all);
            most * speed
        };
        Self { work: std::iter::once(0.0).chain((1..=cores.count).map(of)).collect() }
    }

    fn cores(&self) -> usize {
        self.work.len() - 1
    }

    /// Work a second of `busy` cores; more than all of them are read as all.
    pub fn work(&self, busy: f64) -> f64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = (busy.max(0.0).floor() as usize).min(self.cores());
        let Some(next) = self.work.get(whole + 1) else { return self.work[whole] };
        #[allow(clippy::cast_precision_loss)]
        let rest = busy.max(0.0) - whole as f64;
        self.work[whole] + rest * (next - self.work[whole])
    }

    /// Share of the cores that are busy with this work a second; above 1 in proportion to the work
    /// beyond that of all cores.
    #[allow(clippy::cast_precision_loss)]
    pub fn share(&self, work: f64) -> f64 {
        let count = self.cores() as f64;
        let next = self.work.partition_point(|known| *known < work);
        if next > self.cores() {
            return work / self.work[self.cores()];
        }
        let Some(last) = next.checked_sub(1) else { return 0.0 };
        let rest = (work - self.work[last]) / (self.work[next] - self.work[last]);
        (last as f64 + rest) / count
    }

    /// The work a second that makes this share of the cores busy, the inverse of
    /// [`share`](Self::share).
    #[allow(clippy::cast_precision_loss)]
    pub fn work_of_share(&self, share: f64) -> f64 {
        share.max(1.0) * self.work(share * self.cores() as f64)
    }

    /// The points between which [`share`](Self::share) is linear: work and share.
    #[allow(clippy::cast_precision_loss)]
    pub fn points(&self) -> Vec<(f64, f64)> {
        let count = self.cores() as f64;
        self.work.iter().enumerate().map(|(busy, work)| (*work, busy as f64 / count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two physical cores with two threads each; a thread alone does 1.5 of one while all are busy.
    const SHARED: KnownCores = KnownCores { count: 4, threads: 2, single: 1.5 };

    #[test]
    fn busy_cores_and_work_are_each_others_inverse() {
        let cores = Throughput::new(&SHARED, 2.0);
        let work = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0].map(|busy| cores.work(busy));
        assert_eq!(work, [0.0, 1.5, 3.0, 6.0, 7.0, 8.0]);
        for (busy, work) in [0.0, 0.5, 1.0, 2.0, 3.0, 4.0].into_iter().zip(work) {
            assert!((cores.share(work) - busy / 4.0).abs() < 1e-12, "{busy}");
        }
        assert_eq!((cores.work(9.0), cores.share(16.0)), (8.0, 2.0));
        assert_eq!([0.375, 1.0, 2.0].map(|share| cores.work_of_share(share)), [4.5, 8.0, 16.0]);
        assert_eq!(cores.points()[2], (6.0, 0.5));
    }

    #[test]
    fn cores_without_a_gain_share_work_in_proportion() {
        let cores = Throughput::new(&KnownCores { count: 8, threads: 2, single: 1.0 }, 0.5);
        assert_eq!((cores.work(3.0), cores.share(1.0)), (1.5, 0.25));
    }

    #[test]
    fn more_busy_cores_never_do_less() {
        let odd = KnownCores { count: 4, threads: 1, single: 3.0 };
        let cores = Throughput::new(&odd, 1.0);
        assert_eq!((cores.work(2.0), cores.work(4.0)), (4.0, 4.0));
        assert!(cores.share(3.9) < 1.0);
    }
}
