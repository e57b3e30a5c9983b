"""The settings of Spark on which the figures of a run depend, each with its reason.

A run on a cluster of Gordon's own sets them all. A run on an existing cluster sets those that a
session may set, and records all of them as they are.
"""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Setting:
    """A value of Spark's configuration, and why it is pinned to it."""

    value: str
    why: str


#: Bytes of an input split, and the target for a shuffle partition.
SPLIT_BYTES = 64 * MIB

PINNED: dict[str, Setting] = {
    "spark.sql.shuffle.partitions": Setting(
        "16", "the number of reduce tasks; `shuffle_partitions` adapts it to the size of the input"
    ),
    "spark.sql.adaptive.enabled": Setting(
        "false",
        "the plan is fixed: adaptive execution merges and reorders stages by what it measures, so"
        " that two runs of one job may have different stages and numbers of tasks",
    ),
    "spark.sql.files.maxPartitionBytes": Setting(
        str(SPLIT_BYTES), "an input split is 64 MiB, the block of Hadoop's file system at its time"
    ),
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": Setting(
        "2",
        "a task renames its own output when it commits; with version 1 the driver renames all of"
        " it at the end, and the driver does not see the disks of nodes without a shared file"
        " system",
    ),
    "spark.speculation": Setting(
        "false", "a second copy of a slow task would add work that the job does not have"
    ),
    "spark.shuffle.manager": Setting(
        "sort", "map outputs are sorted and written to the disk of the node, as in MapReduce"
    ),
    "spark.shuffle.sort.io.plugin.class": Setting(
        "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO",
        "map outputs and spills are files in spark.local.dir, not in memory or on a service",
    ),
    "spark.shuffle.compress": Setting("true", "as on most clusters; map outputs shrink on disk"),
    "spark.shuffle.spill.compress": Setting("true", "spilled data is compressed like map outputs"),
    "spark.io.compression.codec": Setting(
        "lz4", "Spark's default: shuffled text shrinks to about half for little processor time"
    ),
    "spark.memory.offHeap.enabled": Setting(
        "false", "the memory of an executor is its heap, which the limit of the node covers"
    ),
    "spark.serializer": Setting(
        "org.apache.spark.serializer.JavaSerializer",
        "Spark's default; rows of DataFrames have a binary format of their own, so that it is used"
        " for closures and small results only",
    ),
    "spark.sql.ansi.enabled": Setting(
        "true", "the default of Spark 4; Spark 3.5 then computes the same results"
    ),
    "spark.sql.session.timeZone": Setting("UTC", "results do not depend on the machine's zone"),
    "spark.eventLog.enabled": Setting("true", "the stages and tasks of a run come from the log"),
    "spark.eventLog.compress": Setting("false", "the event log is readable by every tool"),
    "spark.eventLog.rolling.enabled": Setting("false", "the event log is one file"),
    "spark.ui.enabled": Setting("false", "no web server, and no port, for each run"),
    "spark.ui.showConsoleProgress": Setting("false", "standard error is for messages"),
}


def values() -> dict[str, str]:
    """The pinned settings as Spark's configuration takes them."""
    return {key: setting.value for key, setting in PINNED.items()}


def shuffle_partitions(input_bytes: int, cores: int) -> int:
    """The number of shuffle partitions for an input of this size: one for each split's worth of
    data, and at least two for each core of the cluster, so that its last wave of tasks is short."""
    return max(2 * cores, -(-input_bytes // SPLIT_BYTES))
