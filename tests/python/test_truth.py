"""Cases with a known answer: each predicted range contains it, and says no more than it can.

A case is a minute of a machine, a target of the catalogue, and the times that are possible there by
arithmetic on the same catalogue. Where the trace cannot decide, they are the two ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gordon import bundled
from gordon.survey import space as spaces

from conftest import Run

SECONDS = 60
REFERENCE = "m5.xlarge"
EC2 = {machine["id"]: machine for machine in spaces.load("ec2")["machines"]}
MODERN = {machine["id"]: machine for machine in spaces.load("modern")["machines"]}
GB = 1e9


def value(entry: Any) -> float:
    """A number of a space, with or without its source."""
    return float(entry["value"] if isinstance(entry, dict) else entry)


def busy(machine: str) -> float:
    """Speed of a core of a machine of EC2 while all are busy."""
    return value(EC2[machine]["core_speed"])


def lone(machine: str) -> float:
    """Speed of a thread that runs alone."""
    return value(EC2[machine]["core_speed_single"])


def megabytes(text: str) -> float:
    """Bytes a second of a rate such as `143.75MB`."""
    return float(text.removesuffix("MB")) * 1e6


@dataclass(frozen=True)
class Minute:
    """A minute of a machine with `cores` cores, in which each second is alike."""

    cores: int = 4
    #: Per cent of all cores.
    user: float = 0.0
    iowait: float = 0.0
    steal: float = 0.0
    #: Requests a second, and KiB of each.
    reads: float = 0.0
    read_kib: float = 4.0
    write_mb: float = 0.0
    disk_busy: float = 0.0
    receive_mb: float = 0.0
    #: GB of memory outside of the page cache, anonymous memory if known, and page cache.
    used: float = 0.4
    anonymous: float | None = None
    cached: float = 0.0

    def second(self, nth: int) -> dict[str, Any]:
        idle = 100.0 - self.user - self.iowait - self.steal
        shares = {"user": self.user, "iowait": self.iowait, "steal": self.steal, "idle": idle}
        total = 64 * GB / 1024
        used = (self.used + self.cached) * GB / 1024
        memory: dict[str, float] = {
            "memfree": total - used,
            "avail": total - self.used * GB / 1024,
            "memused": used,
            "memused-percent": 100 * used / total,
            "buffers": 0.0,
            "cached": self.cached * GB / 1024,
        }
        if self.anonymous is not None:
            memory["anonpg"] = self.anonymous * GB / 1024
        write_kb = self.write_mb * 1e6 / 1024
        disk = {
            "disk-device": "nvme0n1",
            "tps": self.reads + self.write_mb,
            "rkB": self.reads * self.read_kib,
            "wkB": write_kb,
            "util-percent": self.disk_busy,
        }
        receive = self.receive_mb * 1e6 / 1024
        link = {"iface": "eth0", "rxpck": 1.0, "txpck": 1.0, "rxkB": receive, "txkB": 0.0}
        return {
            "timestamp": {"date": "2026-11-26", "time": f"10:00:{nth:02}", "utc": 1, "interval": 1},
            "cpu-load": [{"cpu": "all", "nice": 0.0, "system": 0.0, **shares}],
            "memory": memory,
            "disk": [disk],
            "network": {"net-dev": [link]},
        }

    def json(self) -> str:
        statistics = [self.second(nth) for nth in range(SECONDS)]
        host = {"nodename": "host", "number-of-cpus": self.cores, "statistics": statistics}
        return json.dumps({"sysstat": {"hosts": [host]}})


@dataclass(frozen=True)
class Case:
    """A minute, its target, and the least and the greatest time that is possible there."""

    minute: Minute
    target: str
    right: tuple[float, float]
    #: The best estimate lies in it, if a number is to be expected.
    about: tuple[float, float] | None = None
    #: The upper end is at most this.
    most: float | None = None
    reference: str | None = REFERENCE
    #: A warning has these words.
    warns: str | None = None
    space: str = "ec2"
    #: Lines of a space, instead of `space`.
    lines: str = ""
    check: Callable[[dict[str, Any]], None] = field(default=lambda result: None)


def row(result: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(d for d in result["designs"] if d["id"] == name)
    return found


def is_no_candidate(name: str, fits: bool | None) -> Callable[[dict[str, Any]], None]:
    def check(result: dict[str, Any]) -> None:
        design = row(result, name)
        assert design["memory_fits"] is fits
        assert not design["names"]
        assert not design["pareto"]
        assert result["verdict"]["machine"] != name

    return check


def has_no_winner(floor: float) -> Callable[[dict[str, Any]], None]:
    def check(result: dict[str, Any]) -> None:
        assert result["verdict"] is None
        assert result["floor_s"] == pytest.approx(floor)
        assert result["sentence"].startswith("No machine makes this job faster than")

    return check


ONE = Minute(cores=1, user=100)
FULL = Minute(user=100)
THREAD = Minute(user=25)
DISKS = """
name = "disks"
summary = "two disks"
[[machines]]
id = "m5.xlarge"
cores = 4
core_speed = 1.0
memory = "64GiB"
storage = { bandwidth = "143.75MB", iops = 6000, latency = "1ms" }
network = "10Gb"
[[machines]]
id = "disks"
cores = 4
core_speed = 1.0
memory = "64GiB"
storage = { part = "sata-7200-1tb", count = 2 }
network = "10Gb"
"""
BURST = megabytes(EC2["c5.large"]["storage"]["burst"])
RANDOM = Minute(user=5, iowait=45, reads=8000, disk_busy=100)
LINK = Minute(user=5, receive_mb=152)
#: Of a saturated minute on as many cores of another processor.
FASTER = 60 / busy("c5.xlarge")

CASES = {
    # How many cores the job could use.
    "a core, many targets cores": Case(
        ONE,
        "m8g.8xlarge",
        (60 / 32 / busy("m8g.8xlarge"), 60 * lone(REFERENCE) / lone("m8g.8xlarge")),
        warns="all of the 1 core were busy",
    ),
    "a core, two": Case(ONE, "m5.large", (30, 60)),
    "a core that is not always busy": Case(
        Minute(cores=1, user=70), "m5.8xlarge", (18 + 42 / 32, 60), warns="1 core were busy"
    ),
    "four saturated cores": Case(
        FULL,
        "m8g.8xlarge",
        (60 / 8 / busy("m8g.8xlarge"), 60 / busy("m8g.8xlarge")),
        warns="all of the 4 cores were busy",
    ),
    "four saturated cores, twice as many": Case(FULL, "m5.2xlarge", (30, 60)),
    "four saturated cores, the same": Case(FULL, REFERENCE, (60, 60), (59.9, 60.1), 63),
    "four saturated cores, as many of the same processor": Case(
        FULL, "r5.xlarge", (59, 61), (59, 61), 64
    ),
    "four saturated cores, two": Case(FULL, "m5.large", (115, 120), (118, 122), 150),
    # How fast a thread is.
    "a thread on four cores": Case(
        THREAD,
        "m8g.8xlarge",
        (60 * lone(REFERENCE) / lone("m8g.8xlarge"),) * 2,
        (35, 38),
    ),
    "a thread, the same machine": Case(THREAD, REFERENCE, (60, 60), (59.9, 60.1), 63),
    "a thread, fewer cores": Case(THREAD, "m5.large", (60, 60), (59, 61), 70),
    "two steady threads on four cores": Case(
        Minute(user=50),
        "m8g.8xlarge",
        (60 * lone(REFERENCE) / lone("m8g.8xlarge"),) * 2,
        (35, 38),
    ),
    "three cores in the mean": Case(
        Minute(user=68), "m8g.xlarge", (60 / busy("m8g.xlarge"), 60 * 1.3 / busy("m8g.xlarge"))
    ),
    # Cores that others had.
    "stolen time": Case(
        Minute(user=60, steal=40),
        "c5.2xlarge",
        (60 * 2.4 / 8 / busy("c5.2xlarge"), 60 / busy("c5.2xlarge")),
        warns="40 % of what the job wanted",
    ),
    "stolen time, the same machine": Case(Minute(user=60, steal=40), REFERENCE, (36, 60)),
    "a little stolen time": Case(Minute(user=95, steal=2), REFERENCE, (60 * 95 / 97, 60), most=63),
    # Links.
    "a full link, a faster one": Case(LINK, "m5.8xlarge", (12, 18), (11, 16), 25),
    "a full link, the same": Case(LINK, REFERENCE, (60, 60), (59, 61), 63),
    "a link of unknown speed": Case(LINK, "m5.8xlarge", (12, 60), reference=None),
    "a link that is not full": Case(
        Minute(user=5, receive_mb=20), "m5.8xlarge", (60, 60), (58, 61), 63
    ),
    # Storage.
    "random reads without a log": Case(
        RANDOM, "disks", (40, SECONDS * 8000 * 0.008 / 2), lines=DISKS, warns="may be random"
    ),
    "large reads without a log": Case(
        Minute(user=5, iowait=45, reads=100, read_kib=1024, disk_busy=100),
        "disks",
        (45, 58),
        most=75,
        lines=DISKS,
    ),
    "writes at a burst": Case(
        Minute(user=5, write_mb=120, disk_busy=90, iowait=20),
        "m5.large",
        (60, 60),
        (59, 62),
    ),
    # Memory.
    "more memory than the machine": Case(
        Minute(user=100, used=14),
        "c5.xlarge",
        (FASTER, FASTER),
        check=is_no_candidate("c5.xlarge", False),
    ),
    "anonymous memory that fits": Case(
        Minute(user=100, used=14, anonymous=5),
        "c5.xlarge",
        (FASTER, FASTER),
    ),
    "a page cache that does not fit": Case(
        Minute(user=50, used=2, cached=10),
        "c5.large",
        (60, 60 + 10 * GB / BURST),
        warns="read again",
    ),
    # What no machine shortens.
    "a remote service": Case(
        Minute(user=2), "m8g.8xlarge", (57, 59), check=has_no_winner(SECONDS * 0.92)
    ),
    "nothing but waiting for a timer": Case(
        Minute(user=0.5), "m5.8xlarge", (59, 60), check=has_no_winner(SECONDS * 0.98)
    ),
    # Nothing known of the machine.
    "an unknown processor": Case(
        FULL, "m5.xlarge", (30, 120), reference=None, warns="the speed of the traced machine"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_range_contains_what_is_possible(name: str, run: Run, tmp_path: Path) -> None:
    case = CASES[name]
    (tmp_path / "minute.json").write_text(case.minute.json())
    trace = str(tmp_path / "a.trace")
    made = run("trace", "convert", str(tmp_path / "minute.json"), trace, "--format", "sysstat")
    assert made.status == 0, made.err
    where = case.space
    if case.lines:
        where = str(tmp_path / "own.toml")
        (tmp_path / "own.toml").write_text(case.lines)
    reference = () if case.reference is None else ("--reference", case.reference)
    ran = run("survey", trace, "--space", where, *reference, "--json", "-")
    assert ran.status == 0, ran.err
    result = json.loads(ran.out)
    job = row(result, case.target)["job"]
    low, best, high = job["time_s_low"], job["time_s"], job["time_s_high"]
    least, greatest = case.right
    assert low < best < high
    assert low <= least, f"{low} to {high}, right: {least} to {greatest}"
    assert greatest <= high, f"{low} to {high}, right: {least} to {greatest}"
    if case.about is not None:
        assert case.about[0] <= best <= case.about[1], best
    if case.most is not None:
        assert high <= case.most, high
    if case.warns is not None:
        assert any(case.warns in warning for warning in result["warnings"]), result["warnings"]
    case.check(result)


def test_names_and_the_verdict_go_by_the_upper_end(run: Run, tmp_path: Path) -> None:
    (tmp_path / "minute.json").write_text(ONE.json())
    trace = str(tmp_path / "a.trace")
    run("trace", "convert", str(tmp_path / "minute.json"), trace, "--format", "sysstat")
    ran = run("survey", trace, "--space", "ec2", "--reference", REFERENCE, "--json", "-")
    result = json.loads(ran.out)
    upper = {design["id"]: design["job"]["time_s_high"] for design in result["designs"]}
    fits = [design["id"] for design in result["designs"] if design["memory_fits"]]
    assert upper[result["named"]["fastest"]] == min(upper[name] for name in fits)
    # More cores shorten the estimate and not the upper end, so that they are not worth a price.
    assert row(result, result["verdict"]["machine"])["cores"] == 2


JOBS = sorted(path.parent.parent.name for path in bundled.FOLDER.glob("*/1/run.json"))


@pytest.mark.parametrize("job", JOBS)
def test_no_range_ends_below_the_longest_tasks_of_each_stage(job: str, run: Run) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    folder = bundled.FOLDER / job / "1"
    tasks = pq.read_table(folder / "tasks.parquet").to_pylist()
    longest: dict[int, float] = {}
    for task in tasks:
        stage = task["stage"]
        longest[stage] = max(longest.get(stage, 0.0), task["cpu_ns"] / 1e9)
    ran = run("survey", str(folder), "--space", "modern", "--json", "-")
    assert ran.status == 0, ran.err
    for design in json.loads(ran.out)["designs"]:
        # The traced core is taken to have a speed of 1.
        bound = sum(longest.values()) / value(
            MODERN[design["machine"].partition("/")[0]]["core_speed"]
        )
        assert design["job"]["time_s_high"] >= bound, design["id"]
