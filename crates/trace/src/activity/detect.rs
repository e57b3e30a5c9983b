//! Detects the formats of activity traces.

use super::input::{HEAD, SADC};
use super::rezolus;
use crate::activity_format::ActivityFormat;
use crate::formats::open_input;
use crate::spark::is_event_log;
use std::path::Path;

/// The format of a file that holds an activity trace, or sadc's binary form of one, which the reader
/// refuses with what to do. `None` for other files, and for pipes, which can be read only once.
pub fn detect(path: &Path) -> Option<ActivityFormat> {
    if is_event_log(path) {
        return Some(ActivityFormat::SparkEventlog);
    }
    if !path.is_file() {
        return None;
    }
    let mut input = open_input(path).ok()?;
    input.want(HEAD).ok()?;
    if rezolus::is_parquet(input.bytes()) {
        return rezolus::has_counters(path).then_some(ActivityFormat::Rezolus);
    }
    if input.bytes().starts_with(&SADC) {
        return Some(ActivityFormat::Sysstat);
    }
    let head = String::from_utf8_lossy(input.bytes());
    let head = head.trim_start();
    if head.starts_with(['{', '[']) {
        let has = |key: &str| head.contains(key);
        // Answers, errors, the series of promtool, and lines of VictoriaMetrics.
        let is_series = has("\"metric\"") && has("\"__name__\"");
        return match has("\"sysstat\"") {
            true => Some(ActivityFormat::Sysstat),
            false if has("\"resultType\"") || has("\"errorType\"") || is_series => {
                Some(ActivityFormat::Prometheus)
            }
            false => None,
        };
    }
    let line = head.lines().next()?;
    let is_text = line.starts_with("# hostname;interval;timestamp")
        || line.contains("LINUX-RESTART")
        || (line.split('\t').count() == 6
            && line.split('\t').nth(1).is_some_and(|interval| interval.parse::<i64>().is_ok()));
    is_text.then_some(ActivityFormat::Sysstat)
}
