"""The survey of a job: a trace of 10,000 one-second samples on all machines of the space ec2.

The trace is made as output of `sadf -j` and converted by `gordon trace convert`, so that storage
is described by limits and nothing is replayed. The time grows with samples x machines; the memory,
with samples. The figures are of the whole command, interpreter and all.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GORDON = Path(sys.executable).parent / "gordon"
SAMPLES, CORES = 10_000, 4
START = 1_795_687_200  # 26 November 2026, 10:00:00 UTC


def sample(nth: int, noise: random.Random) -> dict[str, Any]:
    """A second in which some cores compute, wait for reads, and receive data."""
    user, iowait = noise.uniform(5, 80), noise.uniform(0, 20)
    now = time.gmtime(START + nth)
    day, clock = time.strftime("%Y-%m-%d", now), time.strftime("%H:%M:%S", now)
    cpu = {"cpu": "all", "user": user, "nice": 0.0, "system": 0.0, "iowait": iowait}
    disk = {"disk-device": "sda", "tps": 10 * iowait, "rkB": 1280 * iowait, "wkB": 64.0}
    return {
        "timestamp": {"date": day, "time": clock, "utc": 1, "interval": 1},
        "cpu-load": [cpu | {"idle": 100 - user - iowait}],
        "memory": {"memfree": 8e6, "memused": 4e6, "memused-percent": 33.3, "avail": 8e6},
        "disk": [disk | {"util-percent": 4 * iowait}],
        "network": {"net-dev": [{"iface": "eth0", "rxkB": 50 * user, "txkB": 1.0}]},
    }


def run(*words: str | Path) -> tuple[float, float, int]:
    """Wall time and CPU time of a command in seconds, and the most memory resident in bytes."""
    start = time.monotonic()
    command = subprocess.Popen([GORDON, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(command.pid, 0)
    wall = time.monotonic() - start
    if status:
        raise SystemExit(f"error: gordon {words[0]} failed")
    # Linux counts in KiB.
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    noise = random.Random(1)
    samples = [sample(nth, noise) for nth in range(SAMPLES)]
    host = {"nodename": "made", "number-of-cpus": CORES, "statistics": samples}
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
        folder = Path(name)
        (folder / "day.json").write_text(json.dumps({"sysstat": {"hosts": [host]}}))
        trace, out = folder / "job.trace", folder / "survey.json"
        words: list[str | Path] = ["--space", "ec2", "--reference", "m5.xlarge", "--json", out]
        costs = {"convert": run("trace", "convert", folder / "day.json", trace)}
        costs["survey"] = run("survey", trace, *words)
        machines = json.loads(out.read_text())["designs_total"]
    print(f"survey of a job: {SAMPLES:,} samples of {CORES} cores, {machines} machines")
    for step, (wall, cpu, memory) in costs.items():
        count, of = SAMPLES, "samples"
        if step != "convert":
            count, of = SAMPLES * machines, "samples x machines"
        print(f"  {step}: {wall:.2f} s wall, {cpu:.2f} s CPU, {count / cpu:,.0f} {of} a CPU second")
        print(f"    {memory / 1e6:.0f} MB resident at most")


if __name__ == "__main__":
    main()
