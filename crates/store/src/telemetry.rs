//! Counters of a store, for live displays and metrics.

use gordon_ftl::Stats;
use schemars::JsonSchema;
use serde::Serialize;

/// Operations of a die group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DieGroupCounters {
    /// Super-pages read.
    pub reads: u64,
    /// Units read: only the requested units of a super-page cross the bus.
    pub units_read: u64,
    /// Super-pages programmed.
    pub programs: u64,
    /// Super-blocks erased.
    pub erases: u64,
}

/// A histogram by powers of two: index n counts values from 2^(n-1) to 2^n - 1, index 0 counts
/// zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram(pub [u64; 65]);

impl Default for Histogram {
    fn default() -> Self {
        Self([0; 65])
    }
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0[64 - value.leading_zeros() as usize] += 1;
    }

    /// Counts `n` values that are zero.
    #[inline]
    pub fn add_zeros(&mut self, n: u64) {
        self.0[0] += n;
    }

    /// Number of values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Serialize for Histogram {
    /// Omits the zeros at the end.
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let used = self.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        to.collect_seq(&self.0[..used])
    }
}

/// Counters of the store in addition to those of its layer, since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// By die group.
    #[serde(rename = "lanes")]
    pub die_groups: Vec<DieGroupCounters>,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Requests to write zeros.
    pub zeroes: u64,
    /// Bytes read by the host.
    pub host_bytes_read: u64,
    /// Bytes written by the host, without requests to write zeros.
    pub host_bytes_written: u64,
    /// Bytes trimmed or zeroed by the host.
    pub host_bytes_trimmed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Number of corrected bits.
    pub bits_corrected: u64,
    /// Codewords with more wrong bits than can be corrected.
    pub codewords_lost: u64,
    /// Slots with a wrong checksum but without a lost codeword, which means that the file was
    /// damaged.
    pub checksum_errors: u64,
    /// Programs and erases that failed.
    pub flash_failures: u64,
    /// Errors returned by the file under the image.
    pub medium_errors: u64,
    /// Syncs of the file under the image.
    pub syncs: u64,
    /// Histogram of the nanoseconds between one request and the next; requests of one batch count
    /// as 0.
    pub arrivals_ns: Histogram,
    /// Histogram of the number of requests in flight when one arrives, including itself.
    pub queue_depth: Histogram,
}

/// The state of a store at one moment.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// The counters of the store.
    pub counters: Counters,
    /// The counters of the layer.
    pub ftl: Stats,
    /// Erased blocks that are not open.
    pub free_blocks: u32,
    /// Blocks in service.
    pub good_blocks: u32,
    /// Whether writes are refused because too many blocks have gone bad.
    pub worn_out: bool,
    /// Number of requests in flight.
    pub in_flight: usize,
}

impl Telemetry {
    /// The counters of the layer by name; pages are logical pages.
    #[must_use]
    pub fn layer(&self) -> [(&'static str, u64); 26] {
        let Stats {
            host_reads,
            host_writes,
            trims,
            flushes,
            host_programs,
            gc_programs,
            wear_programs,
            journal_programs: log_programs,
            summary_programs,
            padded,
            host_page_reads,
            merge_page_reads,
            gc_page_reads,
            read_operations,
            program_operations,
            erases,
            collections,
            levelled,
            combined,
            bypassed,
            forwarded,
            buffered,
            unmapped_reads,
            preloaded,
            grown_bad,
            refused,
        } = self.ftl;
        [
            ("host_reads", host_reads),
            ("host_writes", host_writes),
            ("trims", trims),
            ("flushes", flushes),
            ("host_programs", host_programs),
            ("gc_programs", gc_programs),
            ("wear_programs", wear_programs),
            ("log_programs", log_programs),
            ("summary_programs", summary_programs),
            ("padded", padded),
            ("host_page_reads", host_page_reads),
            ("merge_page_reads", merge_page_reads),
            ("gc_page_reads", gc_page_reads),
            ("read_operations", read_operations),
            ("program_operations", program_operations),
            ("erases", erases),
            ("collections", collections),
            ("levelled", levelled),
            ("combined", combined),
            ("bypassed", bypassed),
            ("forwarded", forwarded),
            ("buffered", buffered),
            ("unmapped_reads", unmapped_reads),
            ("preloaded", preloaded),
            ("grown_bad", grown_bad),
            ("refused", refused),
        ]
    }

    /// Bytes programmed, for any cause, divided by bytes that the host wrote. Data in the write
    /// buffer are not programmed yet.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn write_amplification(&self, unit: u64) -> Option<f64> {
        let written = self.counters.host_bytes_written;
        (written > 0).then(|| (self.ftl.programs() * unit) as f64 / written as f64)
    }
}
