"""A simulated device takes at most 8 bytes for each physical mapping slot, and 64 MiB; a short run
takes at most 300 MB."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
# getrusage(2) would count the memory of pytest itself, too.
STATUS = """
import atexit, sys
from gordon.cli import main
atexit.register(lambda: sys.stderr.write(open("/proc/self/status").read()))
sys.exit(main())
"""


linux = pytest.mark.skipif(
    sys.platform != "linux", reason="/proc/self/status says what memory was taken"
)


def bench(report: Path, *args: str) -> tuple[Any, int]:
    """The result of a run, and the peak of its resident memory in bytes."""
    command = [sys.executable, "-c", STATUS, "flash", "bench", *args, "--json", str(report)]
    # The stacks of threads count, too, so that the number of threads is fixed.
    env = os.environ | {"RAYON_NUM_THREADS": "2"}
    ran = subprocess.run(command, capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stderr
    peak = re.search(r"VmHWM:\s+(\d+) kB", ran.stderr)
    assert peak is not None
    return json.loads(report.read_text()), int(peak[1]) * 1024


@linux
@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("preset", "mapped"),
    [
        ("gordon-slc-256g", "0.1"),
        ("nvme-slc-800g", "1"),
        ("gordon-slc-256g", "1"),
        ("nvme-qlc-2tb", "1"),
        ("mqsim-mlc-512g", "1"),
        ("mqsim-mlc-512g", "0.1"),
        ("nvme-tlc-1tb", "0.2"),
    ],
)
def test_a_mapping_slot_takes_at_most_eight_bytes(tmp_path: Path, preset: str, mapped: str) -> None:
    # Enough requests to fill the tables of the map.
    load = ("--pattern", "random-write", "--size", "64KiB", "--requests", "100000")
    args = ("--preset", preset, *load, "--precondition", mapped)
    answer, taken = bench(tmp_path / "report.json", *args)
    assert answer["pages"]["host_program"] > 0
    slots = answer["raw_capacity_bytes"] // answer["page_bytes"]
    most = 8 * slots + 64 * MIB
    assert taken <= most, f"{taken / MIB:.0f} of {most / MIB:.0f} MiB"
    if mapped == "1":
        assert taken > 5 * slots, "the tables were not filled"


LOADS = [("random-read", "4KiB"), ("random-write", "4KiB"), ("sequential-write", "128KiB")]
SHORT_RUNS = [
    (preset, pattern, size, mapped)
    for preset in ("nvme-slc-800g", "nvme-tlc-1tb", "nvme-qlc-2tb")
    for pattern, size in LOADS
    for mapped in ("0.1", "0.8", "1")
]


@linux
@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("preset", "pattern", "size", "mapped"),
    [
        *SHORT_RUNS,
        ("mqsim-mlc-512g", "random-write", "4KiB", "0.8"),
        # The pages that are read are preloaded.
        ("nvme-qlc-2tb", "sequential-read", "128KiB", ""),
        ("nvme-slc-800g", "random-read", "4KiB", ""),
        ("nvme-tlc-1tb", "random-read", "4KiB", ""),
    ],
)
def test_a_short_run_needs_a_small_part_of_the_map(
    tmp_path: Path, preset: str, pattern: str, size: str, mapped: str
) -> None:
    load = ("--pattern", pattern, "--size", size, "--requests", "10000")
    state = ("--precondition", mapped) if mapped else ()
    answer, taken = bench(tmp_path / "report.json", "--preset", preset, *load, *state)
    assert answer["pages"]["host_read" if "read" in pattern else "host_program"] > 0
    assert taken <= 300 * 1000**2, f"{taken / 1e6:.0f} MB"
