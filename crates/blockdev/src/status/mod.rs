//! What a device tells of itself: what the authors of the JouleSort paper wished an SSD would say
//! (section 6: "device utilization, queue depth, caching, garbage collection, I/O arrival times").

mod disk;
mod flash;

pub use disk::{DiskStatus, Drives, Moves};
pub use flash::{Busy, FlashStatus, Programmed, Utilisation, Wear};

use crate::lateness::Lateness;
use crate::payload::NbdPayload;
use gordon_store::{Engine, Histogram};
use gordon_units::Ns;
use serde::Serialize;

/// The state of a device at one moment; counts are since it was started. Counted, but for what is
/// named otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `block-status` of flash, `disk-status` of a disk.
    pub kind: &'static str,
    /// Of this program.
    pub version: &'static str,
    /// What it is: the preset an image was made from, or a disk.
    pub preset: String,
    /// Bytes of the device.
    pub capacity: u64,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Why it takes no writes, if so.
    pub read_only: Option<String>,
    /// What was asked.
    #[serde(flatten)]
    pub hosts: HostCounts,
    /// Syncs of the file below.
    pub syncs: u64,
    /// Errors of the file below.
    pub medium_errors: u64,
    /// Where answers are given in simulated time: measured.
    pub emulation: Option<Lateness>,
    /// What it did for that.
    #[serde(flatten)]
    pub of: DeviceStatus,
}

/// What hosts asked of a device.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostCounts {
    /// Requests of each kind, and bytes.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Requests to write zeros.
    pub zeroes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests on their way.
    pub in_flight: usize,
    /// Bytes read by hosts.
    pub host_bytes_read: u64,
    /// Bytes written by hosts.
    pub host_bytes_written: u64,
    /// Bytes trimmed by hosts.
    pub host_bytes_trimmed: u64,
    /// Requests on their way when one came in, by powers of two: place n counts 2^(n-1) to 2^n - 1.
    pub queue_depth: Histogram,
    /// Nanoseconds between a request and the next, the same way; 0: they came together.
    pub arrivals_ns: Histogram,
}

/// What one kind of device alone has to tell.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum DeviceStatus {
    /// A flash image.
    Flash(Box<FlashStatus>),
    /// A file in the time of disks.
    Disk(DiskStatus),
}

impl Status {
    /// Of a store until `now`.
    pub(crate) fn of_flash(
        engine: &Engine<NbdPayload>,
        busy: Option<Busy>,
        now: Ns,
        emulation: Option<Lateness>,
    ) -> Self {
        let (image, telemetry) = (engine.image(), engine.telemetry());
        let (device, counters) = (image.device(), telemetry.counters.clone());
        Self {
            kind: "block-status",
            version: env!("CARGO_PKG_VERSION"),
            preset: device.preset.clone(),
            capacity: device.capacity.0,
            uptime_s: now.as_secs(),
            read_only: engine.failure().map(|fault| fault.to_string()),
            syncs: counters.syncs,
            medium_errors: counters.medium_errors,
            emulation,
            hosts: HostCounts {
                reads: counters.reads,
                writes: counters.writes,
                flushes: counters.flushes,
                trims: counters.trims,
                zeroes: counters.zeroes,
                failed: counters.failed,
                in_flight: telemetry.in_flight,
                host_bytes_read: counters.host_bytes_read,
                host_bytes_written: counters.host_bytes_written,
                host_bytes_trimmed: counters.host_bytes_trimmed,
                queue_depth: counters.queue_depth,
                arrivals_ns: counters.arrivals_ns,
            },
            of: DeviceStatus::Flash(Box::new(FlashStatus::of(engine, &telemetry, busy, now))),
        }
    }
}
