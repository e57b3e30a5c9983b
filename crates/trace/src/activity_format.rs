//! The formats of activity traces: records of a machine's processors, disks, network and memory
//! over time, without requests.

use std::fmt;

/// A format of activity traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActivityFormat {
    /// Output of sysstat's sadf: JSON (`-j`), or text (`-d`, `-p`).
    Sysstat,
    /// Answers of Prometheus to range queries of node_exporter's counters, in JSON.
    Prometheus,
    /// Parquet files of rezolus' recorder.
    Rezolus,
    /// Event logs of Spark: a file, or a folder of rolled files.
    SparkEventlog,
}

impl ActivityFormat {
    /// All formats.
    pub const ALL: [Self; 4] =
        [Self::Sysstat, Self::Prometheus, Self::Rezolus, Self::SparkEventlog];

    /// The format of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    /// Its name, as in `--format`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sysstat => "sysstat",
            Self::Prometheus => "prometheus",
            Self::Rezolus => "rezolus",
            Self::SparkEventlog => "spark-eventlog",
        }
    }

    /// A description in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Sysstat => "output of sadf: JSON (-j) or text (-d, -p)",
            Self::Prometheus => {
                "JSON of Prometheus, promtool or VictoriaMetrics: range queries of node_exporter's \
                 node_cpu_seconds_total, node_disk_*, node_network_*, node_memory_*"
            }
            Self::Rezolus => "Parquet file of rezolus record",
            Self::SparkEventlog => {
                "event log of Spark, a file or an eventlog_v2 folder; activity is estimated from \
                 its tasks"
            }
        }
    }

    /// Where the format is documented.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Sysstat => "sysstat's sadf(1), json_stats.c and rndr_stats.c, 10.2 to 12.7",
            Self::Prometheus => {
                "Prometheus, HTTP API, \"Range queries\"; node_exporter, its CHANGELOG for 0.16"
            }
            Self::Rezolus => {
                "github.com/iopsystems/rezolus, docs/metrics.md and docs/parquet_metadata.md"
            }
            Self::SparkEventlog => {
                "Spark, JsonProtocol.scala and EventLogFileWriters.scala, 3.5, 4"
            }
        }
    }

    /// What its reader has been tested with.
    pub const fn tested_on(self) -> &'static str {
        match self {
            Self::Sysstat => "its own tool",
            Self::Prometheus => "answers in the form of its documentation",
            Self::Rezolus | Self::SparkEventlog => "real files",
        }
    }
}

impl fmt::Display for ActivityFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
