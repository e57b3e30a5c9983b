"""A simulated device takes at most 6 bytes for each mapped page, and 64 MiB."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20
# getrusage(2) counts what the parent took, too.
TOLD = """
import atexit, sys
from gordon.cli import main
atexit.register(lambda: sys.stderr.write(open("/proc/self/status").read()))
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status says what memory was taken")
@pytest.mark.parametrize(
    ("preset", "mapped"),
    [
        ("gordon-slc-256g", "0.1"),
        ("gordon-slc-256g", "1"),
        ("mqsim-mlc-512g", "0.1"),
        ("mqsim-mlc-512g", "0.5"),
        ("mqsim-mlc-512g", "0.8"),
        ("nvme-slc-800g", "0.1"),
        ("nvme-slc-800g", "0.8"),
        ("nvme-tlc-1tb", "0.2"),
        ("nvme-qlc-2tb", "0.05"),
    ],
)
def test_six_bytes_for_each_mapped_page(tmp_path: Path, preset: str, mapped: str) -> None:
    report = tmp_path / "report.json"
    load = ("--pattern", "random-write", "--size", "64KiB", "--requests", "5000")
    args = ("--preset", preset, *load, "--precondition", mapped, "--json", str(report))
    command = [sys.executable, "-c", TOLD, "flash", "bench", *args]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    peak = re.search(r"VmHWM:\s+(\d+) kB", ran.stderr)
    assert peak is not None
    answer = json.loads(report.read_text())
    assert answer["erases"] > 0
    most = 6 * answer["preloaded_pages"] + 64 * MIB
    taken = int(peak[1]) * 1024
    assert taken <= most, f"{taken / MIB:.0f} of {most / MIB:.0f} MiB"
