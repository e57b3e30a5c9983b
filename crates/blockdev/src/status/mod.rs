//! The status of a device. It reports what the authors of the JouleSort paper wanted to know of an
//! SSD (section 6: "device utilization, queue depth, caching, garbage collection, I/O arrival
//! times").

mod disk;
mod flash;

pub use disk::{DiskStatus, Drives, Moves};
pub use flash::{Busy, FlashStatus, Programmed, Utilisation, Wear};

use crate::lateness::Lateness;
use crate::payload::NbdPayload;
use gordon_store::{Engine, Histogram};
use gordon_units::Ns;
use schemars::JsonSchema;
use serde::Serialize;

/// The status of a device at one time. Counts and times are since the start of serving. Values are
/// counted unless their description says "measured" or "modelled".
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Status {
    /// `block-status` for flash, `disk-status` for disks.
    pub kind: &'static str,
    /// Version of this program.
    pub version: &'static str,
    /// Name of the part: the preset from which the image was made, or the disk.
    pub preset: String,
    /// Capacity of the device in bytes.
    pub capacity: u64,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// The reason why the device takes no writes, if any.
    pub read_only: Option<String>,
    /// Requests of hosts.
    #[serde(flatten)]
    pub hosts: HostCounts,
    /// Syncs of the image or file.
    pub syncs: u64,
    /// I/O errors of the image or file.
    pub medium_errors: u64,
    /// Lateness of answers in simulated time, measured; `None` at full speed.
    pub emulation: Option<Lateness>,
    /// The part that depends on the kind of device.
    #[serde(flatten)]
    pub of: DeviceStatus,
}

/// Requests of hosts to a device.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct HostCounts {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Requests to write zeroes.
    pub zeroes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests in flight.
    pub in_flight: usize,
    /// Bytes read by hosts.
    pub host_bytes_read: u64,
    /// Bytes written by hosts.
    pub host_bytes_written: u64,
    /// Bytes trimmed by hosts.
    pub host_bytes_trimmed: u64,
    /// Requests in flight at the arrival of a request, itself included, in a histogram by powers of
    /// two: bucket n counts values from 2^(n-1) to 2^n - 1.
    #[schemars(with = "Vec<u64>")]
    pub queue_depth: Histogram,
    /// Time between the arrivals of consecutive requests in ns, in the same kind of histogram;
    /// requests of one batch have 0.
    #[schemars(with = "Vec<u64>")]
    pub arrivals_ns: Histogram,
}

/// The part of a status that depends on the kind of device.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DeviceStatus {
    /// A flash image.
    Flash(Box<FlashStatus>),
    /// A file that is served as a disk.
    Disk(DiskStatus),
}

impl Status {
    /// The status of a store at `now`.
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
