//! Timed probes: single requests, each issued a given time after the previous one completed. The
//! parameters of an unknown disk can be inferred from their times.

pub mod log;

use crate::ReplayError;
use crate::disk::DiskDevice;
use crate::random::{Component, Random};
use gordon_blockio::{Device, IoOp, Request};
use gordon_hdd::drive::Drive;
use gordon_sim::InOrderHost;
use gordon_units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

/// A request of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Operation of the request.
    pub op: IoOp,
    /// Start of the range; zero for a flush.
    pub offset: Bytes,
    /// Length of the range; zero for a flush.
    pub len: Bytes,
    /// Time from the completion of the previous probe to the issue of this one.
    pub think: Ns,
}

/// Times of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedProbe {
    /// Time when the probe was issued.
    pub issued: Ns,
    /// Time when the probe completed, as observed by the host.
    pub completed: Ns,
}

/// A simulated disk to be probed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProberConfig {
    /// The disk.
    pub device: DiskDevice,
    /// Mean delay until the host observes a completion; exponentially distributed.
    #[serde(default)]
    pub lateness: Ns,
    /// Random seed of the delays.
    #[serde(default)]
    pub seed: u64,
}

/// Probes a simulated disk, whose state is kept between calls.
#[derive(Debug)]
pub struct Prober {
    disk: InOrderHost<Drive>,
    /// Time when the host observed the last completion.
    now: Ns,
    lateness: Ns,
    random: Random,
}

impl Prober {
    /// Creates a new disk.
    ///
    /// # Errors
    /// Returns an error if the disk is invalid.
    pub fn new(config: &ProberConfig) -> Result<Self, ReplayError> {
        Ok(Self {
            disk: InOrderHost::new(config.device.drive(None, None)?),
            now: Ns::ZERO,
            lateness: config.lateness,
            random: Random::new(config.seed, Component::Choice),
        })
    }

    /// Exported capacity.
    pub fn capacity(&self) -> Bytes {
        self.disk.device().capacity()
    }

    /// Carries out probes in sequence.
    ///
    /// # Errors
    /// Returns an error if a range ends beyond the capacity; none of these probes is then carried
    /// out.
    pub fn probe(&mut self, probes: &[Probe]) -> Result<Vec<TimedProbe>, ReplayError> {
        for (probe, number) in probes.iter().zip(self.disk.requests() + 1..) {
            let end = probe.offset.0.saturating_add(probe.len.0);
            if end > self.capacity().0 {
                return Err(ReplayError::Past { number, end, capacity: self.capacity() });
            }
        }
        Ok(probes.iter().map(|probe| self.submit(probe)).collect())
    }

    fn submit(&mut self, probe: &Probe) -> TimedProbe {
        let issued = self.now + probe.think;
        let request = Request::new(probe.op, probe.offset, probe.len);
        let answered = self.disk.carry_out(issued, request);
        self.now = answered + self.delay();
        TimedProbe { issued, completed: self.now }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn delay(&mut self) -> Ns {
        if self.lateness == Ns::ZERO {
            return Ns::ZERO;
        }
        Ns((-libm::log(1.0 - self.random.unit()) * self.lateness.0 as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gordon_hdd::DiskConfig;

    /// Without read-ahead, which changes the content of the cache over time.
    fn preset() -> ProberConfig {
        let text = include_str!("../../../../python/gordon/parts/disk/sata-7200-1tb.toml");
        let mut config = DiskConfig::from_toml(text).unwrap();
        config.cache.read_ahead = Bytes::ZERO.into();
        ProberConfig { device: DiskDevice::Config(Box::new(config)), lateness: Ns::ZERO, seed: 1 }
    }

    fn read(sector: u64, think: Ns) -> Probe {
        Probe { op: IoOp::Read, offset: Bytes(sector * 512), len: Bytes(512), think }
    }

    #[test]
    fn probes_follow_each_other() {
        let mut prober = Prober::new(&preset()).unwrap();
        let turn = Ns(60_000_000_000 / 7200);
        let think = Ns(1_000_000);
        let probes = [read(5000, Ns::ZERO), read(5000, think), read(4999, think)];
        let [miss, hit, before] = prober.probe(&probes).unwrap()[..] else { panic!() };
        assert_eq!(miss.issued, Ns::ZERO);
        assert_eq!(hit.issued, miss.completed + think);
        // Overhead of 100 us and the transfer of a sector at 300 MB/s: a cache hit.
        assert_eq!(hit.completed, hit.issued + Ns(100_000) + Ns(1_707));
        // The previous sector passes one revolution minus one sector later.
        let apart = (before.completed - miss.completed).0 % turn.0;
        assert!(turn.0 - apart < 10_000, "{apart}");
        // A later batch continues at that time.
        assert_eq!(prober.probe(&[read(0, think)]).unwrap()[0].issued, before.completed + think);
    }

    #[test]
    fn a_probe_beyond_the_capacity_is_refused_and_none_is_carried_out() {
        let mut prober = Prober::new(&preset()).unwrap();
        let past = prober.capacity().0 / 512;
        let error = prober.probe(&[read(0, Ns::ZERO), read(past, Ns::ZERO)]).unwrap_err();
        assert!(error.to_string().starts_with("request 2 "), "{error}");
        assert_eq!(prober.probe(&[read(0, Ns(7))]).unwrap()[0].issued, Ns(7));
    }

    #[test]
    fn a_late_host_adds_its_mean_delay() {
        let mut config = preset();
        config.lateness = Ns(50_000);
        let mut prober = Prober::new(&config).unwrap();
        let hits: Vec<Probe> = (0..2000).map(|_| read(5000, Ns::ZERO)).collect();
        let answers = prober.probe(&hits).unwrap();
        let took = answers[1..].iter().map(|a| (a.completed - a.issued).0).sum::<u64>() / 1999;
        assert!(took.abs_diff(101_706 + 50_000) < 4_000, "{took}");
    }
}
