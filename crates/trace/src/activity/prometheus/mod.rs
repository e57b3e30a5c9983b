//! Reads the answers of Prometheus to range queries of node_exporter's counters: the JSON of
//! `/api/v1/query_range`, one metric or more in a file, the array of series that promtool prints,
//! and the lines that VictoriaMetrics exports. Names of node_exporter before 0.16 are read as well.
//!
//! The points of the CPU time are the ends of the intervals; a counter of another metric counts
//! with its last point until then. Points at which the CPU time did not advance are those of a step
//! shorter than the scrape interval, and are joined with the next.

mod counters;
mod names;

use super::error::ActivityError;
use super::host::Recorded;
use super::input::{documents, open};
pub(super) use counters::hosts;
use gordon_units::{Ns, Progress};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How to make an input that has all that a trace can hold.
pub(super) const HINT: &str = "curl -G SERVER/api/v1/query_range with start, end, step and \
     query={__name__=~\"node_(cpu_seconds|disk_.*|network_.*_(bytes|packets)|network_speed|memory_.*)(_total|_bytes)\"}";

/// Seconds since 1970 of the latest time, from which sums of times do not overflow.
pub(super) const LATEST: f64 = (1_u64 << 33) as f64;

pub(super) use names::{
    CPU, DISCARD_SECTORS, DISCARDS, FLUSHES, MEMORY_AVAILABLE, MEMORY_TOTAL, READ_BYTES, READS,
    RX_BYTES, RX_PACKETS, TX_BYTES, TX_PACKETS, WRITE_BYTES, WRITES,
};

/// What a file may hold.
#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    /// The answer of Prometheus to a query, and of others that speak its protocol.
    Answer(Answer),
    /// The series that `promtool query range --format json` prints.
    Series(Vec<Series>),
    /// A line of VictoriaMetrics' `/api/v1/export`.
    Exported(Exported),
}

#[derive(Deserialize)]
struct Exported {
    metric: BTreeMap<String, String>,
    values: Vec<Option<f64>>,
    /// Milliseconds since 1970.
    timestamps: Vec<f64>,
}

#[derive(Deserialize)]
struct Answer {
    status: String,
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
    progress: &Progress,
    recorded: &mut Recorded,
) -> Result<(), ActivityError> {
    let (_, input) = open(path, progress)?;
    let wrong = |why: String| ActivityError::Content { path: path.to_owned(), why, hint: HINT };
    documents(
        path,
        input,
        |document: Document| {
            let answer = match document {
                Document::Answer(answer) => answer,
                Document::Series(all) => {
                    return all.into_iter().try_for_each(|one| add(one, recorded).map_err(&wrong));
                }
                Document::Exported(line) => {
                    return add(line.series().map_err(&wrong)?, recorded).map_err(&wrong);
                }
            };
            let Some(data) = answer.data else {
                let status = answer.status;
                return Err(wrong(format!("the query failed ({status}): {}", answer.error)));
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

impl Exported {
    /// The same points as of an answer. VictoriaMetrics exports `null` for a stale point.
    fn series(self) -> Result<Series, String> {
        if self.values.len() != self.timestamps.len() {
            return Err(
                "a line of the export has another number of values than of times".to_owned()
            );
        }
        let points = self.timestamps.iter().zip(self.values);
        let text = |value: Option<f64>| value.map_or("NaN".to_owned(), |value| value.to_string());
        let values = points.map(|(time, value)| (time / 1000.0, text(value))).collect();
        Ok(Series { metric: self.metric, values })
    }
}

fn add(series: Series, recorded: &mut Recorded) -> Result<(), String> {
    let label = |name: &str| series.metric.get(name).cloned().unwrap_or_default();
    let name = label("__name__");
    if name.is_empty() {
        return Err("a series has no name: query the counters themselves, without rate() or sum()"
            .to_owned());
    }
    let host = match label("instance") {
        host if host.is_empty() => "host".to_owned(),
        host => host,
    };
    let Some((metric, scale)) = names::metric(&name) else {
        recorded.skipped.series += 1;
        if let Some((id, model)) = names::accelerator(&name, &series.metric) {
            let known = recorded.accelerators.entry(host).or_default().entry(id).or_default();
            if known.is_empty() {
                *known = model;
            }
        }
        return Ok(());
    };
    let (part, mode) = match metric {
        // Up to 0.15 a core is called cpu0.
        CPU => (label("cpu").trim_start_matches("cpu").to_owned(), label("mode")),
        names::CLOCK => (label("cpu"), String::new()),
        _ => (label("device"), String::new()),
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
        let number = number * scale;
        let known = *points.entry(Ns::from_secs(time)).or_insert(number);
        recorded.skipped.contradictions += u64::from(known.to_bits() != number.to_bits());
    }
    Ok(())
}

/// Returns an error for a core without idle time or time of programs, whose busy share is unknown,
/// and for inputs in which no series is of node_exporter. `first` is the first input.
pub(super) fn check(recorded: &Recorded, first: &Path) -> Result<(), ActivityError> {
    if recorded.series.is_empty() && recorded.skipped.series > 0 {
        let why = format!(
            "none of its {} series is of node_exporter, which counts what a machine does",
            recorded.skipped.series
        );
        return Err(ActivityError::Content { path: first.to_owned(), why, hint: HINT });
    }
    for (host, of_host) in &recorded.series {
        for (_, core, _) in of_host.keys().filter(|(metric, ..)| *metric == CPU) {
            for mode in ["idle", "user"] {
                if !of_host.contains_key(&(CPU, core.clone(), mode.to_owned())) {
                    let why = format!("{host}: {CPU} of core {core} lacks the mode {mode}");
                    return Err(ActivityError::Content { path: first.to_owned(), why, hint: HINT });
                }
            }
        }
    }
    Ok(())
}
