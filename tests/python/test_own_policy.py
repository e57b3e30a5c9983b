"""Replacement policies in Python, compared with the built-in ones."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any

import pytest

import gordon.cache

from conftest import Run, raises


class Fifo:
    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self.queue: deque[int] = deque()

    def hit(self, key: int) -> None:
        assert key in self.queue

    def insert(self, key: int, size: int) -> None:
        assert size > 0
        self.queue.append(key)

    def evict(self) -> int:
        return self.queue.popleft()


class Lru:
    def __init__(self, capacity: int) -> None:
        self.order: OrderedDict[int, None] = OrderedDict()

    def hit(self, key: int) -> None:
        self.order.move_to_end(key)

    def insert(self, key: int, size: int) -> None:
        self.order[key] = None

    def evict(self) -> int:
        return self.order.popitem(last=False)[0]


FILE = """
from collections import deque

class Mine:
    def __init__(self, capacity):
        self.queue = deque()

    def hit(self, key):
        pass

    def insert(self, key, size):
        self.queue.append(key)

    def evict(self):
        return self.queue.popleft()
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    rows = [f"{n},k{n * n % 211 % (n % 40 + 1)},{100 + n % 9 * 50}" for n in range(4000)]
    path = tmp_path / "objects.csv"
    path.write_text("\n".join(rows) + "\n")
    return str(path)


COLUMNS = "time=1:s,key=2,size=3:B"


def counts(report: Any) -> dict[str, Any]:
    """The counters of a report, without what names the policy and its memory."""
    left_out = ("policy", "provenance", "index_bytes")
    return {key: value for key, value in report.items() if key not in left_out}


@pytest.mark.parametrize(("own", "built_in"), [(Fifo, "fifo"), (Lru, "lru")])
@pytest.mark.parametrize("warmup", [None, "20%"])
def test_the_same_policy_has_the_same_counts(
    trace: str, own: type[Any], built_in: Any, warmup: str | None
) -> None:
    how: dict[str, Any] = {"dram": "3000B", "columns": COLUMNS, "warmup": warmup}
    ours = gordon.cache.replay(trace, policy=own, **how)
    theirs = gordon.cache.replay(trace, policy=built_in, **how)
    assert ours["hits"] > 0
    assert counts(ours)["evictions"] > 0
    assert counts(ours) == counts(theirs)
    assert ours["policy"] == own.__name__


def test_own_policies_are_swept_with_the_built_in_ones(trace: str) -> None:
    swept = gordon.cache.sweep(
        trace, policies=["lru", Fifo, "fifo"], dram=["2000B", "4000B"], columns=COLUMNS
    )
    points = [(point["policy"], point["dram_bytes"]) for point in swept["points"]]
    assert points == [(name, size) for name in ("lru", "Fifo", "fifo") for size in (2000, 4000)]
    ours, theirs = swept["points"][2:4], swept["points"][4:]
    assert [point["misses"] for point in ours] == [point["misses"] for point in theirs]
    assert "Fifo" in swept.html()


def test_a_class_in_a_file_is_a_policy_of_the_commands(
    trace: str, tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    out = tmp_path / "swept.json"
    ran = run(
        *("cache", "sweep", trace, "--columns", COLUMNS, "--dram", "2000B,4000B"),
        *("--policy", f"fifo,{file}:Mine", "--json", str(out)),
    )
    assert ran.status == 0, ran.err
    points = json.loads(out.read_text())["points"]
    assert [point["policy"] for point in points] == ["fifo", "fifo", "Mine", "Mine"]
    assert [p["misses"] for p in points[:2]] == [p["misses"] for p in points[2:]]
    ran = run(
        "cache", "replay", trace, "--columns", COLUMNS, "--dram", "2kB", "--policy", f"{file}:No"
    )
    assert ran.status == 1
    assert "Mine" in ran.err


def test_a_file_of_a_policy_imports_modules_next_to_it(trace: str, tmp_path: Path) -> None:
    (tmp_path / "queues_of_a_test.py").write_text(FILE)
    file = tmp_path / "mine.py"
    file.write_text("from queues_of_a_test import Mine\n")
    how: dict[str, Any] = {"dram": "3000B", "columns": COLUMNS}
    mine: Any = f"{file}:Mine"
    found = gordon.cache.replay(trace, policy=mine, **how)
    assert found["misses"] == gordon.cache.replay(trace, policy="fifo", **how)["misses"]


@pytest.mark.parametrize(
    ("text", "error"),
    [("class Mine", "SyntaxError"), ("import no_such_module", "ModuleNotFoundError")],
)
def test_a_file_of_a_policy_that_does_not_run_is_one_error(
    trace: str, tmp_path: Path, run: Run, text: str, error: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    words = ("cache", "replay", trace, "--columns", COLUMNS, "--dram", "3000B")
    ran = run(*words, "--policy", f"{file}:Mine")
    ran.refused("failed-policy", f"mine.py: {error}")


def test_policies_of_one_name_are_refused(trace: str, tmp_path: Path) -> None:
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for file in files:
        file.write_text(FILE)
    with raises("same-name", "two policies are named Mine"):
        gordon.cache.sweep(
            trace, policies=[f"{file}:Mine" for file in files], dram="1MiB", columns=COLUMNS
        )


def test_one_policy_needs_no_list(trace: str) -> None:
    swept = gordon.cache.sweep(trace, policies=Fifo, dram="2000B", columns=COLUMNS)
    assert [point["policy"] for point in swept["points"]] == ["Fifo"]


def test_standard_input_is_read_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    words = ("cache", "sweep", "-", "--columns", COLUMNS, "--dram", "2000B")
    run(*words, "--policy", f"lru,{file}:Mine").refused("unseekable", "standard input")


def test_a_bad_policy_is_one_error(trace: str, tmp_path: Path) -> None:
    class Wrong(Fifo):
        def evict(self) -> int:
            return 12345

    class Raising(Fifo):
        def hit(self, key: int) -> None:
            raise KeyError("lost")

    class Text(Fifo):
        def evict(self) -> int:
            return "first"  # type: ignore[return-value]

    class Silent(Fifo):
        def evict(self) -> int:
            return None  # type: ignore[return-value]

    class Half:
        def __init__(self, capacity: int) -> None: ...

        def hit(self, key: int) -> None: ...

    how: dict[str, Any] = {"dram": "3000B", "columns": COLUMNS}
    with pytest.raises(gordon.GordonError, match=r"policy Wrong: evict\(\) returned 12345"):
        gordon.cache.replay(trace, policy=Wrong, **how)
    with raises("failed-policy", "Raising", "lost") as failed:
        gordon.cache.replay(trace, policy=Raising, **how)
    assert isinstance(failed.value.__cause__, KeyError)
    for wrong, returned in ((Text, "'first'"), (Silent, "None")):
        with raises("failed-policy", f"evict() returned {returned}, not the key of an object"):
            gordon.cache.replay(trace, policy=wrong, **how)
    with raises("incomplete-policy", "Half", "insert", "evict"):
        gordon.cache.replay(trace, policy=Half, **how)  # type: ignore[arg-type]
    with raises("one-level-only"):
        gordon.cache.sweep(trace, policies=[Fifo], dram="1MiB", flash="2MiB", columns=COLUMNS)
    with raises("missing-file", "none.py"):
        gordon.cache.replay(trace, **how, policy="none.py:Fifo")  # type: ignore[call-overload]
