//! Names of the metrics that are read.

use std::collections::BTreeMap;

pub const CPU: &str = "node_cpu_seconds_total";
pub const CLOCK: &str = "node_cpu_scaling_frequency_hertz";
pub const MEMORY_TOTAL: &str = "node_memory_MemTotal_bytes";
pub const MEMORY_AVAILABLE: &str = "node_memory_MemAvailable_bytes";
pub const ANONYMOUS: &str = "node_memory_AnonPages_bytes";
pub const SHARED: &str = "node_memory_Shmem_bytes";
pub const CACHED: &str = "node_memory_Cached_bytes";
pub const BUFFERS: &str = "node_memory_Buffers_bytes";
pub const READS: &str = "node_disk_reads_completed_total";
pub const READ_BYTES: &str = "node_disk_read_bytes_total";
pub const WRITES: &str = "node_disk_writes_completed_total";
pub const WRITE_BYTES: &str = "node_disk_written_bytes_total";
pub const DISCARDS: &str = "node_disk_discards_completed_total";
pub const DISCARD_SECTORS: &str = "node_disk_discarded_sectors_total";
pub const FLUSHES: &str = "node_disk_flush_requests_total";
pub const BUSY: &str = "node_disk_io_time_seconds_total";
pub const RX_BYTES: &str = "node_network_receive_bytes_total";
pub const RX_PACKETS: &str = "node_network_receive_packets_total";
pub const TX_BYTES: &str = "node_network_transmit_bytes_total";
pub const TX_PACKETS: &str = "node_network_transmit_packets_total";
/// Speed of a link, in bytes per second; negative if it is unknown.
pub const SPEED: &str = "node_network_speed_bytes";
/// Number of an interface, and of the one that it is stacked on, which is itself without one.
pub const LINK_ID: &str = "node_network_iface_id";
pub const LINK_BELOW: &str = "node_network_iface_link";

/// The metrics that are read.
const METRICS: [&str; 23] = [
    CPU,
    CLOCK,
    MEMORY_TOTAL,
    MEMORY_AVAILABLE,
    ANONYMOUS,
    SHARED,
    CACHED,
    BUFFERS,
    READS,
    READ_BYTES,
    WRITES,
    WRITE_BYTES,
    DISCARDS,
    DISCARD_SECTORS,
    FLUSHES,
    BUSY,
    RX_BYTES,
    RX_PACKETS,
    TX_BYTES,
    TX_PACKETS,
    SPEED,
    LINK_ID,
    LINK_BELOW,
];

/// Names of node_exporter up to 0.15, with the unit of the new one (its CHANGELOG, 0.16).
const OLD_NAMES: [(&str, &str, f64); 18] = [
    ("node_cpu", CPU, 1.0),
    ("node_memory_MemTotal", MEMORY_TOTAL, 1.0),
    ("node_memory_MemAvailable", MEMORY_AVAILABLE, 1.0),
    ("node_memory_AnonPages", ANONYMOUS, 1.0),
    ("node_memory_Shmem", SHARED, 1.0),
    ("node_memory_Cached", CACHED, 1.0),
    ("node_memory_Buffers", BUFFERS, 1.0),
    ("node_disk_reads_completed", READS, 1.0),
    ("node_disk_bytes_read", READ_BYTES, 1.0),
    ("node_disk_writes_completed", WRITES, 1.0),
    ("node_disk_bytes_written", WRITE_BYTES, 1.0),
    ("node_disk_io_time_ms", BUSY, 1e-3),
    ("node_network_receive_bytes", RX_BYTES, 1.0),
    ("node_network_receive_packets", RX_PACKETS, 1.0),
    ("node_network_transmit_bytes", TX_BYTES, 1.0),
    ("node_network_transmit_packets", TX_PACKETS, 1.0),
    ("node_disk_sectors_read", READ_BYTES, 512.0),
    ("node_disk_sectors_written", WRITE_BYTES, 512.0),
];

/// The metric of a name, and the factor of its values.
pub fn metric(name: &str) -> Option<(&'static str, f64)> {
    let new = METRICS.into_iter().find(|metric| *metric == name);
    let old = || OLD_NAMES.into_iter().find(|(old, ..)| *old == name);
    new.map(|metric| (metric, 1.0)).or_else(|| old().map(|(_, metric, scale)| (metric, scale)))
}

/// Identifier and model of the accelerator that a metric is of: of NVIDIA's DCGM exporter, of the
/// exporters of nvidia-smi and NVML, of AMD's exporters, and of Intel's. The model is empty if the
/// metric does not have it.
pub fn accelerator(name: &str, labels: &BTreeMap<String, String>) -> Option<(String, String)> {
    const STARTS: [(&str, &str); 7] = [
        ("DCGM_", "NVIDIA GPU"),
        ("nvidia_", "NVIDIA GPU"),
        ("amd_gpu_", "AMD GPU"),
        ("amdgpu_", "AMD GPU"),
        ("rocm_", "AMD GPU"),
        ("gpu_", "GPU"),
        ("habanalabs_", "Habana accelerator"),
    ];
    let (_, maker) = STARTS.into_iter().find(|(start, _)| name.starts_with(start))?;
    let label = |names: &[&str]| {
        names.iter().find_map(|name| labels.get(*name).filter(|text| !text.is_empty())).cloned()
    };
    let id = label(&["UUID", "uuid", "gpu", "minor_number", "gpu_id", "device", "index"]);
    let model = label(&["modelName", "name", "model", "card_model", "product_name"]);
    Some((id.unwrap_or_default(), model.unwrap_or_else(|| maker.to_owned())))
}
