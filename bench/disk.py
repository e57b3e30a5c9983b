"""How fast hard disks are simulated, compared with DiskSim if it is given.

    python bench/disk.py                                           # ours alone
    DISKSIM=~/disksim-4.0/src/disksim DISKSIM_PARV=~/disksim-4.0/valid/cheetah9LP.parv \\
        python bench/disk.py                                       # both, and the ratios

DiskSim reads a trace in its own format (written here: random places, requests so far apart that
none waits); ours the same where sizes are mixed, else a pattern, one request at a time. Ours
simulates the drive of the `.diskspecs` next to the `.parv`, if any, and the preset. Rates
are requests a second of user time; what a run of few requests takes is taken off, reading of
traces is not. DiskSim ends with an assertion at 1 MiB requests on cheetah9LP; it then has no
figure. The goals are 2,000,000 random requests of 4 KiB, 1,000,000 of 4 to 64 KiB and 500,000
sequential ones of 1 MiB a second: some twenty, twenty and 450 times what DiskSim was seen to do.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

GORDON = Path(sys.executable).parent / "gordon"
#: Requests of the run that shows the start-up cost.
FEW = 100
#: Runs of each, the cheapest counts.
REPEAT = 3


@dataclass(frozen=True)
class Load:
    """One load."""

    name: str
    requests: int
    goal: int
    sizes: tuple[int, ...]
    #: Milliseconds between requests.
    every: float
    #: Ours has it without a trace.
    pattern: str = ""

    def write(self, path: Path, requests: int) -> None:
        """The trace: time, device, sector, sectors, 1 for a read."""
        draw, places = random.Random(1), 8_000_000
        with path.open("w") as file:
            for i in range(requests):
                size = draw.choice(self.sizes)
                at = (
                    i * size % places
                    if "sequential" in self.pattern
                    else draw.randrange(places // 128) * 128
                )
                file.write(f"{i * self.every:.3f} 0 {at} {size} 1\n")


LOADS = [
    Load("random 4 KiB read", 2_000_000, 2_000_000, (8,), 20.0, "random-read"),
    Load("random 4-64 KiB read", 300_000, 1_000_000, (8, 16, 32, 64, 128), 40.0),
    Load("sequential 1 MiB read", 500_000, 500_000, (2048,), 400.0, "sequential-read"),
]


def user_s(command: list[str | Path]) -> float | None:
    """User seconds of a command; none where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return used if ran.returncode == 0 else None


def filled(command: list[str | Path], trace: Path, count: int) -> list[str | Path]:
    """A command with its trace, or with how many requests it is to make."""
    return [trace if w == "TRACE" else str(count) if w == "COUNT" else w for w in command]


def rate(load: Load, requests: int, command: list[str | Path], folder: Path) -> float | None:
    """Requests a second of user time, of a command that takes the trace in place of TRACE."""
    best = []
    for count in (FEW, requests):
        trace = folder / f"{load.name}-{count}"
        if "TRACE" in command and not trace.exists():
            load.write(trace, count)
        words = filled(command, trace, count)
        took = [user_s(words) for _ in range(REPEAT)]
        done = [seconds for seconds in took if seconds is not None]
        if not done:
            return None
        best.append(min(done))
    return (requests - FEW) / max(best[1] - best[0], 1e-3)


def ours(load: Load, disk: list[str | Path]) -> list[str | Path]:
    """Our command."""
    if load.pattern:
        size = f"{load.sizes[0] * 512}B"
        flags = ["--pattern", load.pattern, "--size", size, "--requests", "COUNT"]
        return [GORDON, "disk", "bench", *flags, "--queue-depth", "1", *disk]
    return [GORDON, "disk", "replay", "TRACE", "--format", "disksim", *disk]


def counts(load: Load, disk: list[str | Path], folder: Path) -> str:
    """The simulated figures, which depend on no clock."""
    words = filled(ours(load, disk), folder / f"{load.name}-{load.requests}", load.requests)
    ran = subprocess.run([*words, "--json", "-"], capture_output=True, check=True)
    report = json.loads(ran.stdout)
    mean = report["response_ms"]["mean"]
    return f"{report['requests']:,} requests, {report['buffer_hits']:,} hits, mean {mean:.3f} ms"


def main() -> None:
    peer, parv = os.environ.get("DISKSIM"), os.environ.get("DISKSIM_PARV")
    specs = Path(parv).with_suffix(".diskspecs") if parv else None
    disks: dict[str, list[str | Path]] = {"sata-7200-1tb": ["--preset", "sata-7200-1tb"]}
    if specs and specs.is_file():
        disks[specs.stem] = ["--diskspecs", specs]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for load in LOADS:
            theirs = None
            if peer and parv:
                words: list[str | Path] = [peer, parv, folder / "out", "ascii", "TRACE", "0"]
                # It is slower: fewer of its requests take as long.
                theirs = rate(load, load.requests // 50, words, folder)
            for disk, options in disks.items():
                here = rate(load, load.requests, ours(load, options), folder)
                if here is None:
                    print(f"{load.name}, {disk}: failed")
                    continue
                compared = f", {here / theirs:,.0f} of DiskSim's {theirs:,.0f}" if theirs else ""
                print(
                    f"{load.name}, {disk}: {here:,.0f} a CPU second, {here / load.goal:.2f} of the"
                    f" goal{compared}; {counts(load, options, folder)}",
                    flush=True,
                )
    if not (peer and parv):
        print("left out: DiskSim: DISKSIM and DISKSIM_PARV do not say where it is")


if __name__ == "__main__":
    main()
