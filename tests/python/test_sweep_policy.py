"""Sweeps over policies in Python."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gordon import sweep
from gordon.sweep import store

from conftest import raises

running = import_module("gordon.sweep.run")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


POLICY = """
class Mine:
    def __init__(self, capacity):
        self.keys = []

    def hit(self, key):
        pass

    def insert(self, key, size):
        self.keys.append(key)

    def evict(self):
        return self.keys.pop(0)
"""


def test_a_changed_policy_is_run_again(
    mixed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = """
        command = "cache replay"
        [settings]
        trace = "mixed.trace"
        dram = "64KiB"
        [ranges]
        policy = ["mine.py:Mine", "lru"]
    """
    Path("mine.py").write_text(POLICY)
    file = Path("sweep.toml").absolute()
    file.write_text(text)
    simulated: list[Any] = []
    simulate = running.simulate

    def counting(configuration: Any) -> Any:
        simulated.append(configuration)
        return simulate(configuration)

    monkeypatch.setattr(running, "simulate", counting)
    monkeypatch.setattr(store.Store, "remove", lambda self: None)

    def count() -> int:
        del simulated[:]
        found = sweep.run(file, tmp_path / "out.parquet", workers=1, resume=True)
        assert {one["path"] for one in found["inputs"]} == {"mine.py", "mixed.trace"}
        return len(simulated)

    assert count() == 2
    assert count() == 0
    Path("mine.py").write_text(POLICY.replace("pop(0)", "pop()"))
    assert count() == 1
    # Its path is relative to the folder of the sweep.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert count() == 0
    Path(file.parent / "mine.py").unlink()
    with raises("unreadable-file", "mine.py"):
        count()


def test_a_trace_with_the_name_of_a_policy_is_a_trace(mixed: str) -> None:
    Path(mixed).rename("mine.py:1.trace")
    text = (
        'command = "cache replay"\n[settings]\ndram = "1MiB"\n'
        '[ranges]\ntrace = ["mine.py:1.trace"]\n'
    )
    Path("sweep.toml").write_text(text)
    loaded = sweep.load("sweep.toml")
    assert loaded.paths == [loaded.values(0)["trace"]] == [str(Path("mine.py:1.trace").absolute())]
