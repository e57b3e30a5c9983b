//! The settings of an application that decide how its executors use a machine.

use gordon_units::{Bytes, Ns};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;
/// Heap of an executor and of a driver unless it is set (Spark, "Configuration").
const MEMORY: Bytes = Bytes(1024 * MIB);
/// Memory of an executor besides its heap: this share of the heap, and at least `LEAST_OVERHEAD`.
const OVERHEAD: f64 = 0.1;
const LEAST_OVERHEAD: Bytes = Bytes(384 * MIB);
/// Share of the heap, without `RESERVED`, in which tasks work and cached blocks lie.
const FRACTION: f64 = 0.6;
/// Share of that memory that tasks leave to cached blocks (Spark, "Configuration").
const STORAGE_FRACTION: f64 = 0.5;
const RESERVED: Bytes = Bytes(300 * MIB);
/// How long a task waits for a slot near its data unless it is set (Spark, "Configuration").
const LOCALITY_WAIT: Ns = Ns(3_000_000_000);

/// Settings of an application, with Spark's defaults for those that were not set.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether they were recorded; a piece of a log may lack them.
    pub is_known: bool,
    /// Cores of an executor; `None`: all of its worker.
    pub executor_cores: Option<u32>,
    /// Heap of an executor; of the driver in local mode.
    pub executor_memory: Bytes,
    /// Memory of an executor besides its heap.
    pub memory_overhead: Bytes,
    /// Cores that a task takes.
    pub task_cpus: u32,
    /// Share of the heap in which tasks work and cached blocks lie.
    pub memory_fraction: f64,
    /// Share of that memory that tasks leave to cached blocks.
    pub storage_fraction: f64,
    /// Whether the number of executors follows the number of waiting tasks.
    pub is_dynamic: bool,
    /// Whether the driver runs the tasks.
    pub is_local: bool,
    /// Partitions of a shuffle of SQL queries, if they are set.
    pub shuffle_partitions: Option<u32>,
    /// Nodes that keep each byte of the files that it writes.
    pub output_replicas: u32,
    /// How long its tasks wait for a slot near their data.
    pub locality_wait: LocalityWait,
    /// Whether the tasks of a shuffle prefer nodes that have much of its data.
    pub follows_shuffles: bool,
}

/// How long a task waits for a slot near its data, before it takes one that is farther away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalityWait {
    /// For a slot of the executor that has them in memory.
    pub process: Ns,
    /// Then, for a slot of the same node.
    pub node: Ns,
}

impl Default for LocalityWait {
    fn default() -> Self {
        Self { process: LOCALITY_WAIT, node: LOCALITY_WAIT }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_known: false,
            executor_cores: None,
            executor_memory: MEMORY,
            memory_overhead: LEAST_OVERHEAD,
            task_cpus: 1,
            memory_fraction: FRACTION,
            storage_fraction: STORAGE_FRACTION,
            is_dynamic: false,
            is_local: false,
            shuffle_partitions: None,
            output_replicas: 1,
            locality_wait: LocalityWait::default(),
            follows_shuffles: true,
        }
    }
}

impl Settings {
    /// The settings of properties by name. A value that cannot be read counts as not set.
    pub(super) fn of(properties: &BTreeMap<String, serde_json::Value>) -> Self {
        let text = |name: &str| properties.get(name)?.as_str().map(str::trim);
        let number = |name: &str| text(name)?.parse().ok().filter(|number| *number > 0);
        let is_local = text("spark.master").is_some_and(|master| {
            master.starts_with("local") && !master.starts_with("local-cluster")
        });
        let heap = if is_local { "spark.driver.memory" } else { "spark.executor.memory" };
        let share_of = |name: &str, default: f64| {
            text(name)
                .and_then(|share| share.parse::<f64>().ok())
                .filter(|share| (0.0..=1.0).contains(share))
                .unwrap_or(default)
        };
        let executor_memory = text(heap).and_then(mebibytes).unwrap_or(MEMORY);
        let share = text("spark.executor.memoryOverheadFactor")
            .or_else(|| text("spark.kubernetes.memoryOverheadFactor"))
            .and_then(|share| share.parse::<f64>().ok())
            .filter(|share| share.is_finite() && *share >= 0.0)
            .unwrap_or(OVERHEAD);
        let memory_overhead = text("spark.executor.memoryOverhead")
            .or_else(|| text("spark.yarn.executor.memoryOverhead"))
            .and_then(mebibytes)
            .unwrap_or_else(|| LEAST_OVERHEAD.max(scaled(executor_memory, share)));
        let wait = text("spark.locality.wait").and_then(milliseconds).unwrap_or(LOCALITY_WAIT);
        let wait_for = |level: &str| {
            text(&format!("spark.locality.wait.{level}")).and_then(milliseconds).unwrap_or(wait)
        };
        Self {
            is_known: true,
            executor_cores: number("spark.executor.cores"),
            executor_memory,
            memory_overhead,
            task_cpus: number("spark.task.cpus").unwrap_or(1),
            memory_fraction: share_of("spark.memory.fraction", FRACTION),
            storage_fraction: share_of("spark.memory.storageFraction", STORAGE_FRACTION),
            is_dynamic: text("spark.dynamicAllocation.enabled") == Some("true"),
            is_local,
            shuffle_partitions: number("spark.sql.shuffle.partitions"),
            output_replicas: 1,
            locality_wait: LocalityWait { process: wait_for("process"), node: wait_for("node") },
            follows_shuffles: text("spark.shuffle.reduceLocality.enabled") != Some("false"),
        }
    }

    /// Memory of an executor in which its tasks work: that of its heap without what Spark reserves
    /// (Spark, "Tuning", unified memory).
    pub fn working_memory(&self) -> Bytes {
        scaled(self.executor_memory.saturating_sub(RESERVED), self.memory_fraction)
    }
}

/// Nodes that keep each byte that is written to the default file system: `dfs.replication` if that
/// is HDFS, set by the program or in Hadoop's files (3 by default; Hadoop, "hdfs-default.xml").
/// Other file systems are one device, or one service that makes its own copies.
pub(super) fn replicas(
    spark: &BTreeMap<String, serde_json::Value>,
    hadoop: &BTreeMap<String, serde_json::Value>,
) -> u32 {
    let text = |name: &str| {
        let of_spark = spark.get(&format!("spark.hadoop.{name}"));
        of_spark.or_else(|| hadoop.get(name))?.as_str()
    };
    match text("fs.defaultFS") {
        Some(system) if system.starts_with("hdfs:") => text("dfs.replication")
            .and_then(|copies| copies.trim().parse().ok())
            .filter(|copies| *copies > 0)
            .unwrap_or(3),
        _ => 1,
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn scaled(bytes: Bytes, share: f64) -> Bytes {
    Bytes((bytes.0 as f64 * share) as u64)
}

/// A size as Spark reads memory: a number with a unit, of MiB without one.
fn mebibytes(text: &str) -> Option<Bytes> {
    let text = text.to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "b" => 1,
        "k" | "kb" => 1 << 10,
        "" | "m" | "mb" => MIB,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        _ => return None,
    };
    let number: u64 = digits.trim().parse().ok()?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0).map(Bytes)
}

/// A time as Spark reads waits: a number with a unit, of milliseconds without one.
fn milliseconds(text: &str) -> Option<Ns> {
    let text = text.to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 1_000,
        "" | "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let number: u64 = digits.trim().parse().ok()?;
    number.checked_mul(unit).map(Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        let of = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).into());
        Settings::of(&pairs.iter().map(of).collect())
    }

    #[test]
    fn sizes_have_the_units_of_spark() {
        let of = |text| mebibytes(text).map(|bytes| bytes.0);
        assert_eq!(of("2g"), Some(2 << 30));
        assert_eq!(of("512"), Some(512 << 20));
        assert_eq!(of("1536MB"), Some(1536 << 20));
        assert_eq!(of("300 k"), Some(300 << 10));
        for bad in ["", "g", "-1g", "2.5g", "2x", "0"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn waits_have_the_units_of_spark() {
        for (text, wait) in [
            ("3s", Some(Ns(3_000_000_000))),
            ("250", Some(Ns(250_000_000))),
            ("2min", Some(Ns(120_000_000_000))),
            ("0", Some(Ns(0))),
            ("soon", None),
            ("-1s", None),
        ] {
            assert_eq!(milliseconds(text), wait, "{text}");
        }
        let set = settings(&[
            ("spark.locality.wait", "1s"),
            ("spark.locality.wait.node", "0"),
            ("spark.shuffle.reduceLocality.enabled", "false"),
        ]);
        assert_eq!(set.locality_wait, LocalityWait { process: Ns(1_000_000_000), node: Ns(0) });
        assert!(!set.follows_shuffles);
    }

    #[test]
    fn settings_that_are_not_set_have_the_defaults_of_spark() {
        assert_eq!(settings(&[]), Settings { is_known: true, ..Settings::default() });
        let known = settings(&[
            ("spark.executor.memory", "8g"),
            ("spark.executor.cores", "4"),
            ("spark.task.cpus", "2"),
        ]);
        assert_eq!(known.executor_cores, Some(4));
        assert_eq!(known.task_cpus, 2);
        assert_eq!(known.memory_overhead, Bytes((8 << 30) / 10));
        assert_eq!(known.working_memory(), Bytes((8192 - 300) * MIB * 6 / 10));
        assert_eq!(settings(&[("spark.executor.memory", "many")]).executor_memory, MEMORY);
    }

    #[test]
    fn the_driver_runs_the_tasks_in_local_mode() {
        let local = settings(&[
            ("spark.master", "local[4]"),
            ("spark.driver.memory", "3g"),
            ("spark.executor.memory", "5g"),
        ]);
        assert!(local.is_local);
        assert_eq!(local.executor_memory, Bytes(3 << 30));
        assert!(!settings(&[("spark.master", "local-cluster[2,1,1024]")]).is_local);
    }
}
