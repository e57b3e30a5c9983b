//! Reads the answers of Prometheus to range queries of node_exporter's counters: the JSON of
//! `/api/v1/query_range`, one metric or more in a file.
//!
//! The points of the CPU time are the ends of the intervals; a counter of another metric counts
//! with its last point until then. Points at which the CPU time did not advance are those of a step
//! shorter than the scrape interval, and are joined with the next.

use super::error::ActivityError;
use super::host::{
    CpuShares, DiskUse, HostActivity, HostSample, MemoryUse, NetworkUse, Recorded, SeriesKey,
};
use super::input::{documents, open};
use gordon_units::Ns;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// How to make an input that has all that a trace can hold.
pub(super) const HINT: &str = "curl -G SERVER/api/v1/query_range with start, end, step and \
     query={__name__=~\"node_(cpu_seconds|disk_.*|network_.*_(bytes|packets)|memory_Mem.*)(_total|_bytes)\"}";

/// Seconds since 1970 of the latest time, from which sums of times do not overflow.
pub(super) const LATEST: f64 = (1_u64 << 33) as f64;

pub(super) const CPU: &str = "node_cpu_seconds_total";
const CLOCK: &str = "node_cpu_scaling_frequency_hertz";
pub(super) const MEMORY_TOTAL: &str = "node_memory_MemTotal_bytes";
pub(super) const MEMORY_AVAILABLE: &str = "node_memory_MemAvailable_bytes";
pub(super) const READS: &str = "node_disk_reads_completed_total";
pub(super) const READ_BYTES: &str = "node_disk_read_bytes_total";
pub(super) const WRITES: &str = "node_disk_writes_completed_total";
pub(super) const WRITE_BYTES: &str = "node_disk_written_bytes_total";
pub(super) const DISCARDS: &str = "node_disk_discards_completed_total";
pub(super) const DISCARD_SECTORS: &str = "node_disk_discarded_sectors_total";
pub(super) const FLUSHES: &str = "node_disk_flush_requests_total";
const BUSY: &str = "node_disk_io_time_seconds_total";
pub(super) const RX_BYTES: &str = "node_network_receive_bytes_total";
pub(super) const RX_PACKETS: &str = "node_network_receive_packets_total";
pub(super) const TX_BYTES: &str = "node_network_transmit_bytes_total";
pub(super) const TX_PACKETS: &str = "node_network_transmit_packets_total";

/// The metrics that are read.
const METRICS: [&str; 16] = [
    CPU,
    CLOCK,
    MEMORY_TOTAL,
    MEMORY_AVAILABLE,
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
];

#[derive(Deserialize)]
struct Answer {
    data: Option<Data>,
    #[serde(default)]
    error: String,
    /// Such as of a source that did not answer, whose series are missing.
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    kind: String,
    #[serde(default)]
    result: serde_json::Value,
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

/// Adds the series of the file at `path`.
pub(super) fn read(
    path: &Path,
    stop: &AtomicBool,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    let (_, input) = open(path, stop)?;
    let wrong = |why: String| ActivityError::Content { path: path.to_owned(), why, hint: HINT };
    documents(
        path,
        input,
        |answer: Answer| {
            let Some(data) = answer.data else {
                return Err(wrong(format!("the query failed: {}", answer.error)));
            };
            recorded.skipped.of_server.extend(answer.warnings);
            if data.kind != "matrix" {
                let why = format!("it is the answer of a query at one time ({})", data.kind);
                return Err(wrong(why));
            }
            let all: Vec<Series> =
                serde_json::from_value(data.result).map_err(|e| wrong(e.to_string()))?;
            for series in all {
                add(series, recorded).map_err(&wrong)?;
            }
            Ok(())
        },
        HINT,
    )
}

fn add(series: Series, recorded: &mut Recorded) -> Result<(), String> {
    let label = |name: &str| series.metric.get(name).cloned().unwrap_or_default();
    let name = label("__name__");
    if name.is_empty() {
        return Err("a series has no name: query the counters themselves, without rate() or sum()"
            .to_owned());
    }
    let Some(metric) = METRICS.into_iter().find(|metric| *metric == name) else {
        recorded.skipped.series += 1;
        return Ok(());
    };
    let (part, mode) = match metric {
        CPU => (label("cpu"), label("mode")),
        CLOCK => (label("cpu"), String::new()),
        _ => (label("device"), String::new()),
    };
    let host = match label("instance") {
        host if host.is_empty() => "host".to_owned(),
        host => host,
    };
    let of_host = recorded.series.entry(host).or_default();
    let points = of_host.entry((metric, part, mode)).or_default();
    for (time, value) in series.values {
        if !(0.0..LATEST).contains(&time) {
            return Err(format!("{time} is not a time in seconds since 1970"));
        }
        let number: f64 =
            value.parse().map_err(|_| format!("`{value}` of {name} at {time} is not a number"))?;
        if !number.is_finite() {
            recorded.skipped.not_finite += 1;
            continue;
        }
        let known = *points.entry(Ns::from_secs(time)).or_insert(number);
        recorded.skipped.contradictions += u64::from(known.to_bits() != number.to_bits());
    }
    Ok(())
}

/// Returns an error for a core without idle time, whose busy share is unknown. `first` is the first
/// input.
pub(super) fn check(recorded: &Recorded, first: &Path) -> Result<(), ActivityError> {
    for (host, of_host) in &recorded.series {
        let modes = of_host.keys().filter(|(metric, ..)| *metric == CPU);
        let has_idle =
            |core: &str| of_host.contains_key(&(CPU, core.to_owned(), "idle".to_owned()));
        if let Some((_, core, _)) = modes.into_iter().find(|(_, core, _)| !has_idle(core)) {
            let why = format!("{host}: {CPU} of core {core} lacks the mode idle");
            return Err(ActivityError::Content { path: first.to_owned(), why, hint: HINT });
        }
    }
    Ok(())
}

/// The samples of all hosts.
pub(super) fn hosts(
    series: BTreeMap<String, BTreeMap<SeriesKey, BTreeMap<Ns, f64>>>,
) -> BTreeMap<String, HostActivity> {
    series.into_iter().map(|(name, of_host)| (name, Counters(of_host).activity())).collect()
}

/// The series of a host.
struct Counters(BTreeMap<SeriesKey, BTreeMap<Ns, f64>>);

impl Counters {
    fn activity(&self) -> HostActivity {
        let mut activity = HostActivity::default();
        let cores: BTreeSet<&str> = self.labels(CPU).collect();
        if cores.is_empty() {
            return activity;
        }
        activity.cores.push(u32::try_from(cores.len()).unwrap_or(u32::MAX));
        let of_cpu = self.0.iter().filter(|((metric, ..), _)| *metric == CPU);
        let times: BTreeSet<Ns> = of_cpu.flat_map(|(_, points)| points.keys().copied()).collect();
        let mut times = times.into_iter();
        let Some(mut start) = times.next() else { return activity };
        for end in times {
            let spent: Vec<CpuTime> = cores.iter().map(|core| self.cpu(core, start, end)).collect();
            if spent.iter().all(|core| core.is_still) {
                continue;
            }
            if spent.iter().any(|core| core.was_reset) {
                activity.restarts.push(end);
            } else {
                activity.samples.push(self.sample(start, end, &spent));
            }
            start = end;
        }
        activity
    }

    fn sample(&self, start: Ns, end: Ns, spent: &[CpuTime]) -> HostSample {
        let amounts = |metric, part: &str| self.increase(metric, part, start, end);
        let disks: BTreeSet<&str> =
            [READS, READ_BYTES, WRITES, WRITE_BYTES].iter().flat_map(|m| self.labels(m)).collect();
        let disk = |name: &str| DiskUse {
            reads: amounts(READS, name),
            read_bytes: amounts(READ_BYTES, name),
            writes: amounts(WRITES, name),
            write_bytes: amounts(WRITE_BYTES, name),
            discards: amounts(DISCARDS, name),
            discard_bytes: amounts(DISCARD_SECTORS, name) * 512.0,
            flushes: amounts(FLUSHES, name),
            busy_s: amounts(BUSY, name),
        };
        let links: BTreeSet<&str> =
            [RX_BYTES, TX_BYTES].iter().flat_map(|m| self.labels(m)).collect();
        let link = |name: &str| NetworkUse {
            rx_bytes: amounts(RX_BYTES, name),
            rx_packets: amounts(RX_PACKETS, name),
            tx_bytes: amounts(TX_BYTES, name),
            tx_packets: amounts(TX_PACKETS, name),
        };
        let total = self.at(MEMORY_TOTAL, "", "", end);
        let available = self.at(MEMORY_AVAILABLE, "", "", end);
        let clocks: Vec<f64> =
            self.labels(CLOCK).filter_map(|core| self.at(CLOCK, core, "", end)).collect();
        HostSample {
            end,
            span: end - start,
            all: None,
            cores: (0..).zip(spent).map(|(core, time)| (core, time.shares)).collect(),
            mhz: (!clocks.is_empty())
                .then(|| clocks.iter().sum::<f64>() / clocks.len() as f64 / 1e6),
            io_full: None,
            cpu_some: None,
            memory: total
                .zip(available)
                .map(|(total, available)| MemoryUse { used: total - available, total }),
            disks: (!disks.is_empty())
                .then(|| disks.iter().map(|name| ((*name).to_owned(), disk(name))).collect()),
            network: (!links.is_empty())
                .then(|| links.iter().map(|name| ((*name).to_owned(), link(name))).collect()),
        }
    }

    /// The time of a core between two points, as shares of what all modes add up to.
    fn cpu(&self, core: &str, start: Ns, end: Ns) -> CpuTime {
        let (mut before, mut now) = (0.0, 0.0);
        let (mut all, mut busy, mut iowait, mut steal) = (0.0, 0.0, 0.0, 0.0);
        let from = (CPU, core.to_owned(), String::new());
        for ((metric, part, mode), points) in self.0.range(from..) {
            if *metric != CPU || part != core {
                break;
            }
            let (Some(then), Some(value)) = (until(points, start), until(points, end)) else {
                continue;
            };
            before += then;
            now += value;
            // The kernel may correct the idle time and the I/O wait downwards.
            let spent = f64::max(value - then, 0.0);
            all += spent;
            match mode.as_str() {
                "user" | "nice" | "system" | "irq" | "softirq" => busy += spent,
                "iowait" => iowait += spent,
                "steal" => steal += spent,
                _ => {}
            }
        }
        let share = |time: f64| if all > 0.0 { time / all } else { 0.0 };
        let was_reset = now < before / 2.0;
        CpuTime {
            shares: CpuShares { busy: share(busy), iowait: share(iowait), steal: share(steal) },
            is_still: all == 0.0 && !was_reset,
            was_reset,
        }
    }

    /// The increase of a counter. A counter that was reset has counted from zero since.
    fn increase(&self, metric: &'static str, part: &str, start: Ns, end: Ns) -> f64 {
        let (before, now) = (self.at(metric, part, "", start), self.at(metric, part, "", end));
        match (before, now) {
            (Some(before), Some(now)) if now >= before => now - before,
            (Some(_), Some(now)) => now,
            // A disk or an interface that came later: its earlier count is unknown.
            _ => 0.0,
        }
    }

    fn at(&self, metric: &'static str, part: &str, mode: &str, time: Ns) -> Option<f64> {
        until(self.0.get(&(metric, part.to_owned(), mode.to_owned()))?, time)
    }

    /// The cores or devices of a metric.
    fn labels<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter(move |(of, ..)| *of == metric).map(|(_, part, _)| part.as_str())
    }
}

/// The time of a core between two points.
struct CpuTime {
    shares: CpuShares,
    /// Whether no mode advanced.
    is_still: bool,
    /// Whether the counters started again from zero.
    was_reset: bool,
}

/// The last value until a time.
fn until(points: &BTreeMap<Ns, f64>, time: Ns) -> Option<f64> {
    points.range(..=time).next_back().map(|(_, value)| *value)
}
