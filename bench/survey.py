"""The paper's survey: 84 designs x 32 nodes x 60 seconds, one million block I/Os in all.

Each node has a trace of its own, so each of the four storages is replayed 32 times. The goal is
under 10 s on 2 cores and under 1 GB; the figures are of the whole command, interpreter and all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GORDON = Path(sys.executable).parent / "gordon"
CARGO = ["cargo", "run", "-q", "--release", "--locked"]
GENERATE = [*CARGO, "-p", "gordon-trace", "--example", "synthetic"]
NODES, SECONDS, REQUESTS = 32, 60, 1_000_000


def main() -> None:
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        subprocess.run(
            [*GENERATE, folder, str(NODES), str(SECONDS), str(REQUESTS)],
            cwd=ROOT,
            check=True,
        )
        out = Path(folder) / "survey.json"
        traces = sorted(Path(folder).glob("*.trace"))
        start = time.monotonic()
        survey = subprocess.Popen(
            [
                GORDON,
                "survey",
                *traces,
                "--space",
                "gordon-2009",
                "--nodes",
                str(NODES),
                "--json",
                out,
            ],
            stdout=subprocess.DEVNULL,
        )
        # Of this process alone, not of the compiler that built the generator.
        _, status, used = os.wait4(survey.pid, 0)
        wall = time.monotonic() - start
        if status:
            raise SystemExit("error: the survey failed")
        report = json.loads(out.read_text())
    cpu = used.ru_utime + used.ru_stime
    replayed = sum(storage["requests"] for storage in report["storages"])
    print(f"survey: {len(report['designs'])} designs x {NODES} nodes x {SECONDS} s")
    print(f"  {REQUESTS} block I/Os, {replayed} replayed on {len(report['storages'])} storages")
    for storage in report["storages"]:
        counts = ", ".join(
            f"{value / 1e9:.0f} s {name[:-3]}" if name.endswith("_ns") else f"{value} {name}"
            for name, value in storage["device"].items()
        )
        print(f"    {storage['id']}: {storage['simulated_s']:.0f} s simulated; {counts}")
    print(
        f"  {wall:.2f} s wall (goal 10), {cpu:.2f} s CPU, {replayed / cpu:,.0f} I/Os a CPU second"
    )
    # Linux counts in KiB.
    print(f"  {used.ru_maxrss * 1024 / 1e9:.3f} GB resident at most (goal 1)")
    print(f"  {len(report['designs']) * NODES * SECONDS / cpu:,.0f} node-seconds a CPU second")


if __name__ == "__main__":
    main()
