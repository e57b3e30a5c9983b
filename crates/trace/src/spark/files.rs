//! The files of an event log, in the order of their events.
//!
//! Spark names the files of a rolled log `events_N_APP[.compact][.CODEC]` in a folder
//! `eventlog_v2_APP` (`RollingEventLogFilesWriter`). A compacted file replaces all files up to its
//! number, without the events of jobs that had ended.

use super::error::EventLogError;
use crate::formats::open_input;
use std::fs;
use std::path::{Path, PathBuf};

/// Start of the name of a rolled log's folder.
const FOLDER: &str = "eventlog_v2_";
const EVENTS: &str = "events_";
const COMPACTED: &str = ".compact";
const HINT: &str = "a file or an eventlog_v2_APP folder of spark.eventLog.dir";

/// Bytes from which a log is detected.
const HEAD: usize = 1 << 16;
/// Start of the blocks of LZFOutputStream of compress-lzf, the one codec of Spark that is not read.
const LZF: &[u8] = b"ZV\x01";
const LZF_HINT: &str =
    "spark.eventLog.compression.codec=zstd (the default), or decompress the file with compress-lzf";

/// Name and hint of a compression that is not supported, from the first bytes of a file.
pub(super) fn codec(head: &[u8]) -> Option<(&'static str, &'static str)> {
    head.starts_with(LZF).then_some(("lzf", LZF_HINT))
}

/// Whether a file or folder is an event log or holds a single one.
pub fn is_event_log(path: &Path) -> bool {
    if path.is_dir() {
        return LogFiles::of(path).is_ok();
    }
    if !path.is_file() {
        return false;
    }
    let Ok(mut input) = open_input(path) else { return false };
    // A read error occurs again when the log is read, and is reported then.
    let _ = input.want(HEAD);
    starts_log(input.bytes())
}

/// The event logs that a path stands for: itself, if it is a single log or a folder of one, else
/// the logs in the folder by name. Empty for a folder without logs.
///
/// # Errors
/// When the folder cannot be read.
pub fn event_logs(path: &Path) -> Result<Vec<PathBuf>, EventLogError> {
    if is_event_log(path) || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    logs_in(path)
}

/// Whether a folder holds event logs, one or several.
pub(crate) fn holds_event_logs(folder: &Path) -> bool {
    folder.is_dir() && logs_in(folder).is_ok_and(|logs| !logs.is_empty())
}

/// The event logs in a folder: files, and folders of rolled files.
fn logs_in(folder: &Path) -> Result<Vec<PathBuf>, EventLogError> {
    let failed = |source| EventLogError::Open { path: folder.to_owned(), source };
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_log = match entry.is_dir() {
            true => name.starts_with(FOLDER),
            false => !name.starts_with('.') && is_event_log(&entry),
        };
        if is_log {
            logs.push(entry);
        }
    }
    logs.sort();
    Ok(logs)
}

/// Whether one of the first lines is an event of Spark. Databricks writes an event of its own
/// first, and the key of the name need not be the first.
fn starts_log(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(HEAD)]);
    let is_event = |line: &str| {
        let Some(rest) = line.trim_start().strip_prefix('{') else { return false };
        rest.match_indices("\"Event\"").any(|(at, key)| {
            let value = rest[at + key.len()..].trim_start().trim_start_matches(':').trim_start();
            EVENTS_OF
                .iter()
                .any(|start| value.strip_prefix('"').is_some_and(|v| v.starts_with(start)))
        })
    };
    text.trim_start().lines().take_while(|line| line.trim_start().starts_with('{')).any(is_event)
}

/// Starts of the names of events, of Spark and of Databricks.
const EVENTS_OF: [&str; 3] = ["SparkListener", "org.apache.spark.", "DBCEventLogging"];

/// The files of one log that Databricks has rolled, in order: `eventlog-DATE--TIME`, compressed or
/// not, and `eventlog`, which it still writes. `None` for other files.
fn databricks(logs: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let name = |log: &PathBuf| log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_rolled = |log: &PathBuf| {
        let name = name(log);
        let rest = name.strip_prefix("eventlog");
        !log.is_dir() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    if logs.len() < 2 || !logs.iter().all(is_rolled) {
        return None;
    }
    let mut files = logs.to_vec();
    files.sort_by_key(|log| (!name(log).starts_with("eventlog-"), name(log)));
    Some(files)
}

/// Names of logs that an error lists.
const LISTED: usize = 8;

/// A file of a rolled log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RolledFile {
    number: u64,
    /// Compacted files sort behind the others of their number.
    is_compacted: bool,
    path: PathBuf,
}

impl RolledFile {
    fn new(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (number, rest) = name.strip_prefix(EVENTS)?.split_once('_')?;
        let number = number.parse().ok()?;
        let is_compacted = rest.ends_with(COMPACTED)
            || rest.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with(COMPACTED));
        Some(Self { number, is_compacted, path })
    }
}

/// The files of a rolled log in order; empty if the folder holds none.
fn rolled(folder: &Path) -> Result<Vec<RolledFile>, EventLogError> {
    let failed = |source| EventLogError::Open { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        files.extend(RolledFile::new(entry.map_err(failed)?.path()));
    }
    files.sort();
    Ok(files)
}

/// The files of a log, and what of it is missing.
#[derive(Debug, Default)]
pub(super) struct LogFiles {
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

impl LogFiles {
    /// The files of the log at `path`: a file, a folder of rolled files, or a folder that holds one
    /// of either.
    pub fn of(path: &Path) -> Result<Self, EventLogError> {
        if !path.is_dir() {
            return Ok(Self { files: vec![path.to_owned()], warnings: Vec::new() });
        }
        let files = rolled(path)?;
        if !files.is_empty() {
            return Ok(Self::rolled(files));
        }
        let logs = logs_in(path)?;
        if let Some(files) = databricks(&logs) {
            return Ok(Self { files, warnings: Vec::new() });
        }
        let refused =
            |why| Err(EventLogError::NotEventLog { path: path.to_owned(), why, hint: HINT });
        match logs.as_slice() {
            [] => refused("the folder holds no event log".to_owned()),
            [log] if log.is_dir() => match rolled(log)? {
                files if files.is_empty() => {
                    refused(format!("{} holds no file events_N_APP", log.display()))
                }
                files => Ok(Self::rolled(files)),
            },
            [log] => Ok(Self { files: vec![log.clone()], warnings: Vec::new() }),
            several => {
                let names = several.iter().take(LISTED).filter_map(|log| log.file_name());
                let mut names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
                if several.len() > LISTED {
                    names.push("...".into());
                }
                let why =
                    format!("the folder holds {} event logs: {}", several.len(), names.join(", "));
                let hint = "one of them at a time: gordon trace convert FOLDER/NAME OUT";
                Err(EventLogError::NotEventLog { path: path.to_owned(), why, hint })
            }
        }
    }

    fn rolled(mut files: Vec<RolledFile>) -> Self {
        let mut warnings = Vec::new();
        let mut expected = 1;
        if let Some(at) = files.iter().rposition(|file| file.is_compacted) {
            files.drain(..at);
            let number = files[0].number;
            expected = number + 1;
            warnings.push(format!(
                "compacted: Spark has removed the events of ended jobs up to events_{number}; \
                 their stages and tasks are missing"
            ));
        }
        for file in files.iter().filter(|file| !file.is_compacted) {
            if file.number > expected {
                let missing = match file.number - expected {
                    1 => format!("events_{expected} is"),
                    _ => format!("events_{expected} to events_{} are", file.number - 1),
                };
                warnings.push(format!(
                    "missing: {missing} not in the folder; the events in it are missing"
                ));
            }
            expected = file.number + 1;
        }
        Self { files: files.into_iter().map(|file| file.path).collect(), warnings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> LogFiles {
        let mut files: Vec<_> =
            names.iter().filter_map(|name| RolledFile::new(PathBuf::from(name))).collect();
        files.sort();
        LogFiles::rolled(files)
    }

    #[test]
    fn rolled_files_are_in_the_order_of_their_numbers() {
        let found = files(&["events_10_app-1", "events_2_app-1.zstd", "appstatus_app-1", ".x"]);
        assert_eq!(found.files, ["events_2_app-1.zstd", "events_10_app-1"].map(PathBuf::from));
        assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
        assert!(found.warnings[0].contains("events_1 is"));
        assert!(found.warnings[1].contains("events_3 to events_9 are"));
    }

    #[test]
    fn a_compacted_file_replaces_those_before_it() {
        let names = ["events_1_a", "events_2_a", "events_2_a.compact.zstd", "events_3_a.zstd"];
        let found = files(&names);
        assert_eq!(found.files, names[2..].iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(found.warnings.len(), 1);
        assert!(found.warnings[0].starts_with("compacted"));
    }

    #[test]
    fn the_first_event_makes_a_log() {
        for text in [
            r#"{"Event":"SparkListenerLogStart","Spark Version":"4.0.1"}"#,
            r#"{"Event":"DBCEventLoggingListenerMetadata","Spark Version":"3.5.0"}"#,
            r#"{"Timestamp":1,"Event":"SparkListenerApplicationEnd"}"#,
            "{\"Event\":\"other\"}\n{\"Event\":\"SparkListenerLogStart\"}\n",
            "\n { \"Event\" : \"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart\"",
        ] {
            assert!(starts_log(text.replace(" {", "{").as_bytes()), "{text}");
        }
        for text in ["", "{}", r#"{"sysstat": {}}"#, r#"{"Event":"click"}"#, "Event"] {
            assert!(!starts_log(text.as_bytes()), "{text}");
        }
    }
}
