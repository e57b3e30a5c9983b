"""A simulated device takes at most 6 bytes for each mapped page, and 64 MiB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux does, in KiB")
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
    command = [sys.executable, "-m", "gordon", "flash", "bench", *args]
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        assert process.returncode == 0, said.read()
    answer = json.loads(report.read_text())
    assert answer["erases"] > 0
    most = 6 * answer["preloaded_pages"] + 64 * MIB
    assert used.ru_maxrss * 1024 <= most, f"{used.ru_maxrss / 1024:.0f} of {most / MIB:.0f} MiB"
