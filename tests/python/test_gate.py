"""Tests of the gate itself."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

TESTS = """
import pytest
from serving import need

@pytest.fixture
def tool():
    need("no-such-tool", "sh", "no-other")

def test_with_a_tool(tool): ...

@pytest.mark.parametrize("name", ["no-such-tool", "sh"])
def test_with_one(name):
    need(name)
"""


def test_what_is_skipped_is_listed_by_name(tmp_path: Path) -> None:
    (tmp_path / "test_tools.py").write_text(TESTS)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--rootdir", tmp_path, tmp_path],
        env={"PYTHONPATH": f"{HERE}:{HERE.parents[1] / 'python'}", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    listed = [line for line in ran.stdout.splitlines() if line.startswith("skipped: ")]
    assert listed == [
        "skipped: test_tools.py::test_with_a_tool: not on this machine: no-such-tool, no-other",
        "skipped: test_tools.py::test_with_one[no-such-tool]: not on this machine: no-such-tool",
    ]
