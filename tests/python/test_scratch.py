"""Folders of files that are gone afterwards."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gordon.scratch import LOCK, scratch

HOLD = """
import sys, time
from gordon.scratch import scratch
with scratch(sys.argv[1], ".x-") as place:
    (place / "large").write_text("data")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (theirs,) = tmp_path.iterdir()
        with scratch(tmp_path, ".x-") as ours:
            assert {path.name for path in tmp_path.iterdir()} == {theirs.name, ours.name}
        assert (theirs / "large").exists()
        os.kill(process.pid, signal.SIGKILL)
    assert theirs.exists()
    with scratch(tmp_path, ".x-") as ours:
        assert list(tmp_path.iterdir()) == [ours]
    assert list(tmp_path.iterdir()) == []


def test_folders_without_a_lock_are_of_others(tmp_path: Path) -> None:
    (tmp_path / ".x-mine").mkdir()
    (tmp_path / ".x-mine" / "data").touch()

    def fail() -> None:
        with scratch(tmp_path, ".x-") as place:
            assert (place / LOCK).exists()
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == [".x-mine"]
