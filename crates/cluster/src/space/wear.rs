//! What bytes that are written cost the flash of a storage part.
//!
//! New drives program hardly more than is written. Full drives copy valid pages to gain free
//! blocks: under uniform random writes, which no pattern of the same spare blocks exceeds by much,
//! as many as the theory of their victim policy says. Left out are blocks that are open or
//! reserved, and writes below the mapping unit.

use crate::error::ClusterError;
use crate::space::storage::{DeviceConfig, Storage};
use gordon_blockio::{Device, IoOp, Request};
use gordon_replay::wa::theory;
use gordon_sim::InOrderHost;
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::Bytes;

/// Size of a sequential write, that of write-back.
const LARGE: u64 = 1 << 20;
/// Sequential writes that are simulated.
const REQUESTS: u64 = 500;
/// Requests outstanding.
const DEPTH: usize = 32;

/// The drives of a storage part while they are new.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NewDrives {
    /// Bytes that all of them can program; `None` for disks, which do not wear.
    programmable: Option<f64>,
    /// Bytes that they program for each byte of a file.
    amplification: f64,
}

impl NewDrives {
    /// The drives of `storage`.
    ///
    /// # Errors
    /// Returns an error if the part is invalid.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(storage: &Storage) -> Result<Self, ClusterError> {
        let DeviceConfig::Flash(config) = &storage.device else {
            return Ok(Self { programmable: None, amplification: 1.0 });
        };
        let failed = |why: String| ClusterError::Storage { name: storage.name.clone(), why };
        let mut drive = Ssd::new(config).map_err(|error| failed(error.to_string()))?;
        let blocks = (drive.capacity().0 / LARGE).min(REQUESTS);
        let mut host = InOrderHost::new(&mut drive);
        for nth in 0..blocks {
            host.submit(Request::new(IoOp::Write, Bytes(nth * LARGE), Bytes(LARGE)), DEPTH);
        }
        host.submit(Request::FLUSH, DEPTH);
        host.drain();
        let lifetime = drive.stats().lifetime;
        let programmed = lifetime.erase_equivalents() * lifetime.block_bytes.0 as f64;
        Ok(Self {
            programmable: Some(lifetime.writable().0 as f64 * f64::from(storage.count)),
            amplification: match blocks {
                0 => 1.0,
                blocks => programmed / (blocks * LARGE) as f64,
            },
        })
    }

    /// Share of their rated endurance that sequential writes use, spread over all drives.
    pub fn wear(&self, bytes: f64) -> f64 {
        self.programmable.map_or(0.0, |all| bytes * self.amplification / all)
    }

    /// Bytes that they program for each byte that is written sequentially.
    pub fn amplification(&self) -> f64 {
        self.amplification
    }
}

/// Bytes that a full drive programs for each byte of uniform random writes; `None` if that is
/// unknown.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn full_amplification(config: &SsdConfig) -> Option<f64> {
    let layout = config.layout().ok()?;
    let raw = config.raw_capacity().ok()?;
    let rho = config.capacity.0 as f64 / raw.0 as f64;
    let page = *config.super_page.size;
    let unit = config.super_page.unit.as_ref().map_or(page, |unit| **unit);
    let pages = u64::from(layout.geometry().pages_per_block) * page.0 / unit.0.max(1);
    let ftl = &config.ftl;
    let policy = ftl.victim.as_ref().map(|policy| **policy).unwrap_or_default();
    let choices = ftl.choices.as_ref().map(|choices| **choices);
    let pages = u32::try_from(pages).unwrap_or(u32::MAX);
    (rho > 0.0 && rho < 1.0).then(|| theory::uniform(policy, choices, rho, pages))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str) -> SsdConfig {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash");
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        toml::from_str(&text).unwrap()
    }

    fn storage(name: &str, count: u32) -> Storage {
        let device = DeviceConfig::Flash(Box::new(part(name)));
        Storage { name: name.into(), count, device }
    }

    #[test]
    fn new_drives_program_hardly_more_than_is_written() {
        let one = NewDrives::of(&storage("nvme-tlc-1tb", 1)).unwrap();
        assert!((1.0..1.1).contains(&one.amplification()), "{one:?}");
        // 3,000 erases of 1.1 TB.
        let all = 3000.0 * 1_100_048_498_688.0;
        assert!((one.wear(all) / one.amplification() - 1.0).abs() < 1e-9, "{one:?}");
        let two = NewDrives::of(&storage("nvme-tlc-1tb", 2)).unwrap();
        assert!((two.wear(all) * 2.0 / one.wear(all) - 1.0).abs() < 1e-9);
    }

    /// 9.1 % of the array are spare: FIFO at rho 0.909, to which greedy is close with large blocks.
    #[test]
    fn full_drives_copy_as_the_theory_says() {
        let most = full_amplification(&part("nvme-tlc-1tb")).unwrap();
        let fifo = theory::fifo(1e12 / 1_100_048_498_688.0);
        assert!(most <= fifo && most > 0.98 * fifo, "{most}, {fifo}");
    }
}
