"""The files and the rows of sweeps that several files of tests use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet  # type: ignore[import-untyped, unused-ignore]
import pytest

WA = """
command = "flash wa"
objectives = ["write_amplification:min", "erases:min"]
[settings]
blocks = 64
pages-per-block = 16
[ranges]
rho = { from = 0.5, to = 0.8, step = 0.1 }
policy = ["greedy", "fifo"]
"""
SMALL = """
[settings]
pattern = "random-write"
requests = 300
geometry.blocks_per_plane = 12
capacity = "64MiB"
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the file of a sweep into a folder of its own, the working one."""
    monkeypatch.chdir(tmp_path)

    def call(text: str) -> str:
        Path("sweep.toml").write_text(text)
        return "sweep.toml"

    return call


def parquet(path: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return found
