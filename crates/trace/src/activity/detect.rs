//! Detects the formats of activity traces.

use super::input::{HEAD, SADC};
use super::{rezolus, sysstat};
use crate::activity_format::ActivityFormat;
use crate::formats::open_input;
use crate::manifest::MANIFEST_FILE;
use crate::spark::{holds_event_logs, is_event_log};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a folder that hold records of a monitor, with their formats, by name.
pub(super) fn records_in(folder: &Path) -> Vec<(ActivityFormat, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        file.is_file() && !name.starts_with('.')
    });
    files.sort();
    files.into_iter().filter_map(|file| Some((detect(&file)?, file))).collect()
}

/// The format of a file that holds an activity trace, or sadc's binary form of one, which the
/// reader refuses with what to do; of a folder, that of its first such file. `None` for other
/// files, and for pipes, which can be read only once.
pub fn detect(path: &Path) -> Option<ActivityFormat> {
    // The reader lists the logs of a folder that holds several.
    if is_event_log(path) || holds_event_logs(path) {
        return Some(ActivityFormat::SparkEventlog);
    }
    if path.is_dir() {
        // A trace of ours has files in formats of others.
        if path.join(MANIFEST_FILE).exists() {
            return None;
        }
        return records_in(path).first().map(|(format, _)| *format);
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
    head.lines().take(LINES).any(is_line_of_sadf).then_some(ActivityFormat::Sysstat)
}

/// Lines of a text among which one of sadf is looked for: comments of the monitor may come first.
const LINES: usize = 16;

/// Whether a line is one that only sadf prints.
fn is_line_of_sadf(line: &str) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    let is_value = || match fields[..] {
        [_, interval, time, _, _, _] => interval.parse::<i64>().is_ok() && sysstat::is_time(time),
        _ => false,
    };
    line.starts_with("# hostname;interval;timestamp")
        || line.contains("LINUX-RESTART")
        || is_value()
}
