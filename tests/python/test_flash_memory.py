"""A simulated device takes at most 8 bytes for each physical mapping slot, and 64 MiB."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20
# getrusage(2) would count the memory of pytest itself, too.
STATUS = """
import atexit, sys
from gordon.cli import main
atexit.register(lambda: sys.stderr.write(open("/proc/self/status").read()))
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status says what memory was taken")
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
    report = tmp_path / "report.json"
    load = ("--pattern", "random-write", "--size", "64KiB", "--requests", "5000")
    args = ("--preset", preset, *load, "--precondition", mapped, "--json", str(report))
    command = [sys.executable, "-c", STATUS, "flash", "bench", *args]
    # The stacks of threads count, too, so that the number of threads is fixed.
    env = os.environ | {"RAYON_NUM_THREADS": "2"}
    ran = subprocess.run(command, capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stderr
    peak = re.search(r"VmHWM:\s+(\d+) kB", ran.stderr)
    assert peak is not None
    answer = json.loads(report.read_text())
    assert answer["pages"]["host_program"] > 0
    slots = answer["raw_capacity_bytes"] // answer["page_bytes"]
    most = 8 * slots + 64 * MIB
    taken = int(peak[1]) * 1024
    assert taken <= most, f"{taken / MIB:.0f} of {most / MIB:.0f} MiB"
