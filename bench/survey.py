"""The paper's survey: 84 designs x 32 nodes x 60 seconds, one million block I/Os in all.

Each node has a trace of its own, so each of the four storages is replayed 32 times. The goal is
under 10 s on 2 cores and under 1 GB; the figures are of the whole command, interpreter and all.

Then the rate of a survey's replay against `gordon flash bench`: a million random requests of 4 KiB
on one device. The survey also checks, reads and decodes the trace, twice. The goal is 60 %.
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

#: A single design, so that a survey replays a trace once.
SPACE = """
name = "one"
summary = "one design"
budget = "100W"
baseline = { cpu = "atom", clock = "1.9GHz", cpus = 1, storage = "gordon-slc-256g", count = 1 }
node = { memory = "ddr2-2gib", memory_per = "node", network = "ethernet-1gbps", overhead = "none" }
processors = [{ part = "atom", clocks = ["1.9GHz"], counts = [1] }]
storage = [{ part = "gordon-slc-256g", label = "flash", counts = [1] }]

[parts.overhead.none]
summary = "no overhead"
ratio = { value = 1.0, assumed = "only the replay counts" }
"""


def user_time(*words: str | Path) -> float:
    """Seconds of user time of a command, the least of three runs."""
    times = []
    for _ in range(3):
        command = subprocess.Popen([GORDON, *words], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(command.pid, 0)
        if status:
            raise SystemExit(f"error: gordon {words[0]} failed")
        times.append(used.ru_utime)
    return min(times)


def rates() -> None:
    """Prints the rate of a replay as a share of that of the same requests in a bench. The time of
    a command with a hundred requests, of the rest of it, is left out."""
    for pattern in ("random-write", "random-read"):
        with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
            folder = Path(name)
            survey = _survey_time(folder, pattern, REQUESTS) - _survey_time(folder, pattern, 100)
        bench = _bench_time(pattern, REQUESTS, "128GiB") - _bench_time(pattern, 100, "1MiB")
        print(
            f"  {pattern}: {REQUESTS / survey:,.0f} I/Os a second of user time, "
            f"{bench / survey:.0%} of flash bench (goal 60 %)"
        )


def _bench_time(pattern: str, count: int, span: str) -> float:
    words = ["--pattern", pattern, "--requests", str(count), "--span", span]
    return user_time("flash", "bench", *words)


def _survey_time(folder: Path, pattern: str, count: int) -> float:
    traces, space = folder / str(count), folder / "one.toml"
    traces.mkdir()
    space.write_text(SPACE)
    sizes = ["1", str(SECONDS), str(count)]
    subprocess.run([*GENERATE, traces, *sizes, pattern], cwd=ROOT, check=True)
    return user_time("survey", traces / "node-00.trace", "--space", space, "--nodes", "1")


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
    rates()


if __name__ == "__main__":
    main()
