"""Surveys of very many designs from the command line, on seven traces of 60 seconds.

A grid of 64,000 designs, a grid of a million with the Parquet table of all of them, and a million
designs of machines by the job model, also with their table: with eight numbers of cores, as one can
buy them, and with 64, which are eight times as many groups to prepare. The goals are 2 s for the
first, and 10 s and 500 MB for the others, on 2 cores; the figures are of the whole command, with
interpreter, reading of the space and replays.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from survey import GENERATE, GORDON, ROOT

TRACES, SECONDS, REQUESTS = 7, 60, 10_000
COUNTS = list(range(1, 17))
STORAGES = 8
MACHINES, VOLUMES, NETWORKS = 1000, 32, 32

GRID = """
name = "grid"
summary = "many designs"
budget = "100kW"
baseline = { cpu = "atom", clock = "1.9GHz", cpus = 1, storage = "gordon-slc-256g", count = 1 }
node = { memory = "ddr2-2gib", memory_per = "node", network = "ethernet-1gbps", overhead = "none" }

[parts.overhead.none]
summary = "no overhead"
ratio = { value = 1.0, assumed = "of no importance here" }

[[storage]]
part = "gordon-slc-256g"
label = "flash"
counts = [1, 2, 3, 4]

[[storage]]
part = "sata-7200-1tb"
label = "disk"
counts = [1, 2, 4, 8]
"""


def grid(designs: int) -> str:
    """The space of a grid with this number of designs: clocks, numbers of processors, storages."""
    clocks = designs // (len(COUNTS) * STORAGES * 2)
    text = GRID
    for part, least, most in (("core2", 0.6, 2.4), ("atom", 0.8, 1.9)):
        step = (most - least) / clocks
        listed = ", ".join(f'"{least + step * at:.8f}GHz"' for at in range(clocks))
        text += f'\n[[processors]]\npart = "{part}"\nclocks = [{listed}]\ncounts = {COUNTS}\n'
    return text


def machines(numbers: list[int]) -> str:
    """The space of machines with these numbers of cores, each with all volumes and networks."""
    volumes = ", ".join(f'{{ bandwidth = "{100 + 50 * at}MB" }}' for at in range(VOLUMES))
    networks = ", ".join(f'"{1 + at}Gb"' for at in range(NETWORKS))
    text = 'name = "machines"\nsummary = "many machines"\n'
    for at in range(MACHINES):
        cores, speed = numbers[at % len(numbers)], 0.5 + at / MACHINES
        price = 0.01 * cores * speed**1.5 * (1 + at % 7 / 10)
        text += f"""
[[machines]]
id = "m{at}"
cores = {cores}
core_speed = {speed}
memory = "16GiB"
storage = [{volumes}]
network = [{networks}]
price_per_hour = {price:.6f}
idle = "{2 + cores}W"
active = "{4 + 5 * cores * speed:.3f}W"
"""
    return text


def run(name: str, traces: list[Path], space: str, folder: Path, table: bool, goal: str) -> None:
    (folder / "space.toml").write_text(space)
    out = folder / "result.json"
    words: list[str | Path] = ["--space", folder / "space.toml", "--json", out, "--rows", "0"]
    words += ["--parquet", folder / "designs.parquet"] if table else []
    start = time.monotonic()
    quiet = subprocess.DEVNULL
    command = subprocess.Popen([GORDON, "survey", *traces, *words], stdout=quiet, stderr=quiet)
    _, status, used = os.wait4(command.pid, 0)
    elapsed = time.monotonic() - start
    if status:
        raise SystemExit(f"error: the survey of {name} failed")
    result = json.loads(out.read_text())
    print(
        f"{name}: {result['designs_total']:,} designs, {len(result['front']):,} on the front, "
        f"{elapsed:.2f} s, {used.ru_maxrss * 1024 / 1e6:.0f} MB at most (goal {goal})"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
        folder = Path(name)
        sizes = map(str, (TRACES, SECONDS, REQUESTS))
        (folder / "traces").mkdir()
        subprocess.run([*GENERATE, folder / "traces", *sizes], cwd=ROOT, check=True)
        traces = sorted((folder / "traces").glob("*.trace"))
        run("grid", traces, grid(64_000), folder, False, "2 s")
        run("grid, with table", traces, grid(1_024_000), folder, True, "10 s, 500 MB")
        for numbers in ([2, 4, 8, 16, 32, 48, 64, 96], list(range(1, 65))):
            what = f"machines of {len(numbers)} numbers of cores, with table"
            run(what, traces, machines(numbers), folder, True, "10 s, 500 MB")


if __name__ == "__main__":
    main()
