"""Table 2 of the paper: what each job reads from disks and writes to them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from statistics import fmean

from gordon.reproduce.row import TOLERANCE, Row
from gordon.run import folder
from gordon.run.report import RunReport
from gordon.workload.jobs import JOBS

TABLE = "Table 2"
#: Copies of each file that Hadoop's file system keeps by default (dfs.replication). The paper does
#: not print its setting.
HADOOP_COPIES = 3
MB, GB = 1e6, 1e9
#: Bytes for each byte of input that do not count as data of a job.
SMALL = 0.01


@dataclass(frozen=True)
class DiskUse:
    """The data that a job moved, the mean of its runs. All values are bytes for each byte of input
    (RandomWriter: of output), except `size_bytes` and `cpu_s_per_gb`."""

    job: str
    size_bytes: float
    """Size of the input, or of the output of a job without input."""
    read: float
    write: float
    """Read from and written to the disks of all nodes."""
    scanned: float
    """Input as the engine counts it: above one if a job reads its input repeatedly."""
    output: float
    shuffled: float
    spilled: float
    fetched: float
    """Shuffled data that tasks read, of their own node or another one."""
    cpu_s_per_gb: float
    codec: str | None
    """Compression of shuffled and spilled data, if any."""

    @property
    def has_input(self) -> bool:
        return JOBS[self.job].data != "none"

    @property
    def temporary(self) -> float:
        """Shuffled and spilled data."""
        return self.shuffled + self.spilled

    @property
    def cached(self) -> float:
        """Share of the reads of the engine that came from the page cache."""
        reads = self.scanned + self.fetched + self.spilled
        return max(0.0, 1 - self.read / reads) if reads else 0.0


def paper() -> dict[str, dict[str, float]]:
    """The disk use of the paper's table, by job: `read` and `write`, in bytes."""
    text = (files("gordon.survey") / "table2.json").read_text(encoding="utf-8")
    return {
        job: {"read": row["read_mb"] * MB, "write": row["write_mb"] * MB}
        for job, row in json.loads(text)["rows"].items()
    }


def of(job: str, runs: Sequence[Path]) -> DiskUse:
    """The disk use of the runs of a job. Raises GordonError for a run that cannot be read."""
    each = [_run(job, folder.read(run)) for run in runs]
    numbers = [field.name for field in fields(DiskUse) if field.name not in ("job", "codec")]
    means = {name: fmean(getattr(one, name) for one in each) for name in numbers}
    return DiskUse(job=job, codec=each[0].codec, **means)


def _run(job: str, run: RunReport) -> DiskUse:
    has_input = JOBS[job].data != "none"
    size: int = run["data"]["bytes"] if has_input else run["job"]["parameters"]["size"]
    nodes, engine = run["totals"]["nodes"], run["totals"]["engine"]
    settings = run["engine"]["settings"]
    is_compressed = settings.get("spark.shuffle.compress") == "true"
    return DiskUse(
        job=job,
        size_bytes=size,
        read=nodes["read_bytes"] / size,
        write=nodes["write_bytes"] / size,
        scanned=engine["input_bytes"] / size,
        output=engine["output_bytes"] / size,
        shuffled=engine["shuffle_write_bytes"] / size,
        spilled=engine["spill_disk_bytes"] / size,
        fetched=(engine["shuffle_read_local_bytes"] + engine["shuffle_read_remote_bytes"]) / size,
        cpu_s_per_gb=nodes["cpu_s"] / size * GB,
        codec=settings.get("spark.io.compression.codec") if is_compressed else None,
    )


def rows(uses: Sequence[DiskUse]) -> list[Row]:
    """Megabytes read and written of each job, and the same for each GB of its input."""
    found = []
    table = paper()
    for use in uses:
        size = JOBS[use.job].paper_bytes
        for way, ours, why in (("read", use.read, _read), ("write", use.write, _write)):
            theirs = table[use.job][way]
            reason = (
                f"The input is {use.size_bytes / size:.3g} of the paper's; see megabytes for each "
                "GB."
            )
            total = ours * use.size_bytes / MB
            found.append(
                Row(
                    TABLE,
                    use.job,
                    f"disk, {way}",
                    total,
                    theirs / MB,
                    theirs / MB,
                    "MB",
                    reason,
                    is_scaled=True,
                )
            )
            each = theirs / size
            found.append(
                Row(
                    TABLE,
                    use.job,
                    f"disk, {way}, for each GB of input",
                    _mb(ours),
                    _mb(each),
                    _mb(each),
                    "MB",
                    why(use, each),
                )
            )
    return found


def _read(use: DiskUse, theirs: float) -> str:
    """Why a job reads as much as it does, for each byte of input."""
    more = theirs - use.read
    if not use.has_input:
        return (
            f"The job has no input. Nodes here read {_mb(use.read):.2f} MB, directories of their "
            "file systems; programs are on no node's disk. The paper's nodes have Hadoop and the "
            "JVM on the same disk."
        )
    if abs(more) <= TOLERANCE * theirs:
        return "Both read the input once, from disks." + _again(use)
    if more < 0 and use.temporary >= SMALL:
        return (
            f"Spark reads the input {use.scanned:.1f} times, and "
            f"{_mb(use.fetched + use.spilled):.0f} MB of temporary data for each GB of input. The "
            f"page cache supplies {use.cached:.0%} of these reads, and disks the rest: the memory "
            "of the nodes does not hold the temporary data of this job. The paper's nodes have as "
            "much memory; what their jobs read from it is not in the table."
        )
    if more < 0:
        return (
            "The page cache is dropped before the job here, so that all input comes from disks. "
            "The paper's cluster may hold a part of it in memory."
        )
    if more < theirs / 4 and use.temporary < SMALL:
        return (
            f"Both read the input once, from disks.{_again(use)} The paper's nodes read "
            f"{_mb(more):.0f} MB more for each GB of input, and the job has no other data to read: "
            "these are programs, data of Hadoop, or parts of the input that are read twice."
        )
    reason = f"Nodes here read the input from disks once.{_again(use)}"
    if use.temporary >= SMALL:
        reason += (
            f" Temporary data ({_mb(use.temporary):.0f} MB for each GB of input) are read back "
            f"from the page cache, which supplies {use.cached:.0%} of what the engine reads."
        )
    else:
        reason += " The engine copies without a shuffle, and has no other data to read."
    return reason + (
        f" The paper's nodes read {_mb(more):.0f} MB more for each GB of input: MapReduce writes "
        "its intermediate data to disks, and merges and fetches them from there."
    )


def _again(use: DiskUse) -> str:
    if use.scanned < 1.5:
        return ""
    return (
        f" Spark reads the input {use.scanned:.1f} times (for a sort, first to sample the ranges "
        "of its partitions), all but the first from the page cache."
    )


def _write(use: DiskUse, theirs: float) -> str:
    """Why a job writes as much as it does, for each byte of input."""
    is_grep = use.job.startswith("grep")
    if use.write > theirs and not is_grep:
        return (
            f"Nodes here write {_mb(use.output):.0f} MB of output for each GB of input, once, "
            f"{_mb(use.shuffled):.0f} MB of shuffled and {_mb(use.spilled):.0f} MB of spilled "
            "data. The paper prints neither the size nor the format of its output. Ours is text, "
            "which repeats the address of a page with each of its words."
        )
    if use.write > theirs and use.output > theirs / 2:
        is_far = use.write > theirs * (1 + TOLERANCE)
        return (
            f"Nearly all written data is the output, {_mb(use.output):.0f} MB for each GB of "
            "input: the lines that match. "
            + (
                "Hadoop's example program writes each match with its count, which is less. "
                if is_far
                else ""
            )
            + "Its size depends on text and expression, and the paper prints neither."
        )
    copies = HADOOP_COPIES * use.output
    codec = f", compressed by {use.codec}" if use.codec else ""
    engine = (
        f"{_mb(use.shuffled):.0f} MB of shuffled and {_mb(use.spilled):.0f} MB of spilled data"
        f"{codec}"
    )
    reason = (
        f"No replication: the output, {_mb(use.output):.0f} MB for each GB of input, is written "
        f"once here. Hadoop's default of {HADOOP_COPIES} copies (the paper does not print its "
        f"setting) would be {_mb(copies):.0f} MB"
    )
    if copies > theirs * (1 + TOLERANCE):
        return reason + ", more than the paper's disks wrote in the run."
    rest = theirs - copies
    if rest <= TOLERANCE * theirs or not use.has_input:
        less = " nearly" if rest < 0 else ""
        return reason + f",{less} what the paper's disks wrote."
    return reason + (
        f" and leave {_mb(rest):.0f} MB of temporary data in the paper; Spark writes {engine}. "
        + (
            "MapReduce writes all its intermediate data to disks, at least once on either side of "
            "the shuffle; Spark copies without a shuffle."
            if use.temporary < SMALL
            else f"That is {rest / use.temporary:.1f} times as much: MapReduce writes intermediate "
            "data on both sides of the shuffle and merges them there, and by default compresses "
            "nothing."
        )
    )


def _mb(bytes_per_byte: float) -> float:
    """Megabytes for each GB."""
    return bytes_per_byte * GB / MB
