"""Bandwidth of real storage as we and as fio measure it, on the same file.

    python bench/storage.py            # in the current directory
    python bench/storage.py /mnt/disk  # in another

A file of 1 GiB is filled there, both read and write it in turns (direct I/O, psync, as many threads
as are outstanding, the same sizes, times and warm-up), and it is removed. Storage that others use
varies: medians of a few turns are compared, and the spread of fio's own is printed too.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from gordon import GordonError, storage

SPAN = 1 << 30
TURNS = 3
SECONDS = 0.5
#: Pattern, size in KiB, outstanding.
POINTS = [
    (pattern, size, depth)
    for pattern in storage.PATTERNS
    for size, depth in ((4, 1), (4, 32), (1024, 4))
]
FIO = {
    "sequential-read": "read",
    "random-read": "randread",
    "sequential-write": "write",
    "random-write": "randwrite",
}


def ours(file: Path, pattern: str, size: int, depth: int) -> float:
    """MB/s."""
    result = storage.characterise(
        file, write=True, sizes=f"{size}KiB", depths=[depth], patterns=[pattern], seconds=SECONDS
    )
    return float(result.report["points"][0]["bandwidth_mb_s"])


def theirs(file: Path, pattern: str, size: int, depth: int) -> float:
    """MB/s; of writes with their flush, as ours."""
    words = ["fio", "--name=x", f"--filename={file}", f"--size={SPAN}", "--direct=1"]
    words += ["--ioengine=psync", "--thread", f"--numjobs={depth}", "--group_reporting"]
    words += [f"--rw={FIO[pattern]}", f"--bs={size}k", "--norandommap", "--time_based"]
    words += [
        f"--runtime={SECONDS * 1000:.0f}ms",
        f"--ramp_time={SECONDS * 200:.0f}ms",
        "--output-format=json",
    ]
    words += ["--end_fsync=1", "--refill_buffers"] if pattern.endswith("write") else []
    # Each thread streams through a part of its own.
    words += [f"--offset_increment={SPAN // depth}"] if pattern.startswith("seq") else []
    report = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    (job,) = report["jobs"]
    return float(job["write" if pattern.endswith("write") else "read"]["bw_bytes"]) / 1e6


def main() -> None:
    if shutil.which("fio") is None:
        print("left out: storage compared with fio, which is not installed")
        return
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".bench-storage-") as file:
        block = os.urandom(4 << 20)
        for _ in range(SPAN // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        path = Path(file.name)
        try:
            storage.characterise(path, sizes="4KiB", depths=[1], seconds=0.01)
        except GordonError as error:
            print(f"left out: storage compared with fio: {error.message}")
            return
        ratios = []
        for point in POINTS:
            turns = [(ours(path, *point), theirs(path, *point)) for _ in range(TURNS)]
            we, they = ([turn[i] for turn in turns] for i in (0, 1))
            here, there = statistics.median(we), statistics.median(they)
            ratios.append(here / there)
            pattern, size, depth = point
            print(
                f"{pattern} {size} KiB, {depth} outstanding: {here:,.0f} MB/s, {ratios[-1]:.2f} of "
                f"fio's {there:,.0f} ({min(they):,.0f} to {max(they):,.0f})",
                flush=True,
            )
        print(f"storage: median {statistics.median(ratios):.2f} of fio's bandwidth")


if __name__ == "__main__":
    main()
