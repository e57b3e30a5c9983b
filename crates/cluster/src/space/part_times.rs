//! Times of random and sequential requests to a part of the catalogue, for traces without a block
//! log: they have no addresses, and reads and writes that the page cache saved are in no trace.
//!
//! Model: a closed loop of requests on new devices, striped as in replays. Random addresses are
//! uniform over whole disks, and over [`FLASH_RANGE`] of flash arrays, whose times do not depend on
//! distances. Random writes to a fresh array cause no garbage collection.

use crate::error::ClusterError;
use crate::space::measured::{AccessPattern, MeasuredStorage, StoragePoint};
use crate::space::storage::DEFAULT_DEPTH;
use crate::space::storage::{DeviceConfig, Storage};
use gordon_blockio::{Device, IoOp, Request};
use gordon_hdd::Disk;
use gordon_sim::InOrderHost;
use gordon_sim::stripe::{CHUNK, Stripe};
use gordon_ssd::{Ssd, SsdConfig};
use gordon_units::{Bytes, SplitMix64};
use std::fmt::Display;

/// Range of addresses on flash arrays, which have to hold data there.
const FLASH_RANGE: Bytes = Bytes(1 << 30);
/// Sizes of random requests, up to the one from which a trace without a log counts as sequential.
const SIZES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Size of sequential requests, those of read-ahead and write-back.
const LARGE: u64 = 1 << 20;
/// Requests of a point.
const REQUESTS: u32 = 500;

/// The times of `storage`, as if they had been measured.
pub(crate) fn part_times(storage: &Storage) -> Result<MeasuredStorage, ClusterError> {
    let depth = u32::try_from(DEFAULT_DEPTH).unwrap_or(u32::MAX);
    let random = [AccessPattern::RandomRead, AccessPattern::RandomWrite].into_iter();
    let mut loads: Vec<_> = random
        .flat_map(|pattern| SIZES.into_iter().map(move |size| (pattern, size)))
        .flat_map(|(pattern, size)| [(pattern, size, 1), (pattern, size, depth)])
        .collect();
    loads.push((AccessPattern::SequentialRead, LARGE, depth));
    loads.push((AccessPattern::SequentialWrite, LARGE, depth));
    let point = |(pattern, size_bytes, queue_depth)| {
        let seconds = match &storage.device {
            DeviceConfig::Flash(config) => {
                let config = without_buffer(config);
                let arrays = (0..storage.count).map(|_| Ssd::new(&config));
                on_stripe(storage, arrays, FLASH_RANGE, (pattern, size_bytes, queue_depth))
            }
            DeviceConfig::Disk(config) => {
                let drives = (0..storage.count).map(|_| Disk::new(config));
                on_stripe(storage, drives, Bytes::MAX, (pattern, size_bytes, queue_depth))
            }
        }?;
        let seconds_per_request = seconds / f64::from(REQUESTS);
        Ok(StoragePoint {
            pattern,
            size_bytes,
            queue_depth,
            seconds_per_request,
            mean_latency_s: seconds_per_request * f64::from(queue_depth),
        })
    };
    let points = loads.into_iter().map(point).collect::<Result<Vec<_>, ClusterError>>()?;
    Ok(MeasuredStorage::new(format!("simulated: {}", storage.name), points))
}

/// The array without its write buffer, which would hold all requests of a point.
fn without_buffer(config: &SsdConfig) -> SsdConfig {
    let mut config = config.clone();
    (config.ftl.write_buffer, config.ftl.protected, config.ftl.drain) = (None, None, None);
    config
}

/// Seconds of a load on new devices, until they are quiescent.
fn on_stripe<D: Device, E: Display>(
    storage: &Storage,
    devices: impl Iterator<Item = Result<D, E>>,
    range: Bytes,
    (pattern, size, depth): (AccessPattern, u64, u32),
) -> Result<f64, ClusterError> {
    let failed = |why: String| ClusterError::Storage { name: storage.name.clone(), why };
    let devices = devices.collect::<Result<Vec<_>, _>>().map_err(|e| failed(e.to_string()))?;
    let mut stripe = Stripe::new(devices, CHUNK).map_err(|e| failed(e.to_string()))?;
    let range = range.min(stripe.capacity());
    let blocks = range.0 / size;
    if blocks == 0 {
        let why = format!("its capacity is below {}", Bytes(size).human());
        return Err(failed(why));
    }
    let op = match pattern {
        AccessPattern::RandomRead | AccessPattern::SequentialRead => IoOp::Read,
        AccessPattern::RandomWrite | AccessPattern::SequentialWrite => IoOp::Write,
    };
    let is_random = matches!(pattern, AccessPattern::RandomRead | AccessPattern::RandomWrite);
    if op == IoOp::Read {
        stripe.preload(Bytes::ZERO, Bytes(blocks * size));
    }
    let mut random = SplitMix64(size);
    let mut host = InOrderHost::new(&mut stripe);
    for nth in 0..u64::from(REQUESTS) {
        let block = if is_random { random.below(blocks) } else { nth % blocks };
        let request = Request::new(op, Bytes(block * size), Bytes(size));
        host.submit(request, depth as usize);
    }
    host.drain();
    Ok(host.now().as_secs())
}
