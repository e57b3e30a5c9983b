//! Conversions in a temporary folder.

use gordon_trace::activity::{
    ActivityError, ActivityFormat, ActivityOptions, ActivityReport, convert,
};
use gordon_trace::{ColumnKind, Sample, Trace};
use gordon_units::Progress;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub struct Conversion {
    pub folder: TempDir,
    pub result: Result<ActivityReport, ActivityError>,
}

impl Conversion {
    pub fn of(texts: &[&str], format: ActivityFormat, options: ActivityOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..texts.len()).map(|number| folder.path().join(format!("input-{number}"))).collect();
        for (path, text) in paths.iter().zip(texts) {
            fs::write(path, text).unwrap();
        }
        let output = folder.path().join("out");
        let pending = convert(&paths, &output, format, &options, &Progress::default());
        let result = pending.and_then(gordon_trace::activity::PendingActivity::publish);
        Self { folder, result }
    }

    pub fn sysstat(text: &str) -> Self {
        Self::of(&[text], ActivityFormat::Sysstat, ActivityOptions::default())
    }

    pub fn prometheus(text: &str) -> Self {
        Self::of(&[text], ActivityFormat::Prometheus, ActivityOptions::default())
    }

    pub fn output(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    pub fn report(&self) -> &ActivityReport {
        self.result.as_ref().unwrap()
    }

    pub fn samples(&self) -> Vec<Sample> {
        self.report();
        Trace::open(&self.output()).unwrap().activity().unwrap()
    }

    /// The error; nothing may be left of the output.
    pub fn error(&self) -> &ActivityError {
        let names: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with("input-"))
            .collect();
        assert!(names.is_empty(), "{names:?}");
        self.result.as_ref().unwrap_err()
    }

    /// Whether a warning starts with this name.
    pub fn warns(&self, name: &str) -> bool {
        self.report().warnings.iter().any(|warning| warning.starts_with(name))
    }
}

pub fn kind(made: &Conversion, column: &str) -> ColumnKind {
    Trace::open(&made.output()).unwrap().manifest().column(column).unwrap().kind
}
