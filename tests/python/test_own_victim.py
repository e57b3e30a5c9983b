"""Victim policies of garbage collection in Python, compared with the built-in ones."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import gordon.block
import gordon.flash
from limits import PATIENCE_S

from conftest import Run, raises


class Greedy:
    """The block with the fewest valid pages; of equals, the one that has them for longest."""

    def __init__(self, blocks: int, pages: int) -> None:
        self.blocks, self.pages = blocks, pages
        self.valid: dict[int, int] = {}

    def update(self, block: int, valid: int) -> None:
        assert block < self.blocks
        assert 0 <= valid <= self.pages
        before = self.valid.pop(block, None)
        assert before is None or valid == before - 1
        self.valid[block] = valid

    def collect(self, block: int) -> None:
        del self.valid[block]

    def choose(self) -> int:
        return min(self.valid, key=self.valid.__getitem__)


class Fifo:
    """The block that was filled first."""

    def __init__(self, blocks: int, pages: int) -> None:
        self.queue: dict[int, None] = {}

    def update(self, block: int, valid: int) -> None:
        self.queue.setdefault(block)

    def collect(self, block: int) -> None:
        del self.queue[block]

    def choose(self) -> int:
        return next(iter(self.queue))


FILE = """
class Mine:
    def __init__(self, blocks, pages):
        self.queue = {}

    def update(self, block, valid):
        self.queue.setdefault(block)

    def collect(self, block):
        del self.queue[block]

    def choose(self):
        return next(iter(self.queue))
"""
OWN: list[tuple[type[Any], Any]] = [(Greedy, "greedy"), (Fifo, "fifo")]
SMALL: dict[str, Any] = {"blocks": 64, "pages_per_block": 16}
#: A small device that is written over several times, and collects.
DEVICE: dict[str, Any] = {"capacity": "1GiB"}
LOAD: dict[str, Any] = {"size": "64KiB", "requests": 30_000}


@pytest.mark.parametrize(("own", "built_in"), OWN)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"rho": 0.95},
        {"separate": True, "hot_space": 0.1, "hot_share": 0.9, "seed": 7},
    ],
)
def test_the_same_policy_has_the_same_write_amplification(
    own: type[Any], built_in: Any, how: dict[str, Any]
) -> None:
    ours, theirs = (gordon.flash.wa(policy, **SMALL, **how) for policy in (own, built_in))
    assert ours["erases"] > 0
    assert ours["theory"] is None
    left_out = ("theory", "config")
    assert {k: v for k, v in ours.report.items() if k not in left_out} == {
        k: v for k, v in theirs.report.items() if k not in left_out
    }
    assert ours["config"] == theirs["config"] | {"policy": own.__name__}


@pytest.mark.parametrize(("own", "built_in"), OWN)
@pytest.mark.parametrize("device", ["gordon-slc-256g", "mqsim-mlc-512g"])
@pytest.mark.parametrize("pattern", ["random-write", "hot-cold"])
def test_the_same_policy_makes_the_same_run(
    own: type[Any], built_in: Any, device: str, pattern: Any
) -> None:
    def ran(victim: Any) -> Any:
        values = {**DEVICE, "ftl": {"victim": victim}}
        return gordon.flash.bench(pattern, device, set=values, **LOAD)

    ours, theirs = ran(own), ran(built_in)
    assert ours["erases"] > 100
    assert ours["provenance"]["config"]["device"]["ftl"]["victim"] == own.__name__
    # The memory of the table has the lists of the configured policy.
    left_out = ("provenance", "map_memory_bytes")
    assert {k: v for k, v in ours.report.items() if k not in left_out} == {
        k: v for k, v in theirs.report.items() if k not in left_out
    }
    assert ours.columns() == theirs.columns()


def test_a_full_device_starts_in_the_steady_state_of_its_own_policy() -> None:
    def ran(victim: Any) -> Any:
        values = {**DEVICE, "ftl.victim": victim}
        return gordon.flash.bench("random-write", set=values, precondition=1.0, **LOAD)

    assert ran(Greedy)["erases"] == ran("greedy")["erases"] > 0


def test_a_device_of_a_checkpoint_has_its_closed_blocks(tmp_path: Path) -> None:
    made = tmp_path / "device"
    gordon.flash.bench(
        "random-write", set=DEVICE, precondition=0.9, checkpoint=made, size="64KiB", requests=1000
    )

    def ran(victim: Any) -> Any:
        return gordon.flash.bench(
            "random-write", set={**DEVICE, "ftl.victim": victim}, from_checkpoint=made, **LOAD
        )

    assert ran(Fifo)["erases"] > 100
    assert ran(Fifo).report == ran(Fifo).report


def test_wear_levelling_and_the_write_buffer_leave_the_policy_its_blocks() -> None:
    values = {**DEVICE, "ftl.wear_spread": 4, "ftl.write_buffer": "1MiB", "ftl.victim": Greedy}
    ran = gordon.flash.bench("hot-cold", set=values, precondition=1.0, **LOAD)
    assert ran["erases"] > 0


def test_own_policies_are_compared_on_several_devices() -> None:
    def compared(victim: Any) -> Any:
        return gordon.flash.compare(
            None,
            ["gordon-slc-256g", "mqsim-mlc-512g"],
            pattern="random-write",
            set={**DEVICE, "ftl.victim": victim},
            **LOAD,
        )

    ours, theirs = compared(Fifo), compared("fifo")
    for one, other in zip(ours.results, theirs.results, strict=True):
        assert one["erases"] == other["erases"] > 0


def test_a_class_in_a_file_is_a_policy_of_the_commands(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    out = tmp_path / "out.json"

    def amplified(*words: str) -> Any:
        small = ("--blocks", "64", "--pages-per-block", "16")
        ran = run("flash", "wa", *words, *small, "--json", str(out))
        assert ran.status == 0, ran.err
        return json.loads(out.read_text()), ran.out

    (ours, screen), (theirs, _) = amplified("--policy", f"{file}:Mine"), amplified("--policy=fifo")
    assert ours["pages"] == theirs["pages"]
    assert "Mine" in screen

    def bench(victim: str) -> Any:
        ran = run(
            *("flash", "bench", "--pattern", "random-write", "--size", "64KiB"),
            *("--requests", "30000", "--set", "capacity=1GiB", "--set", f"ftl.victim={victim}"),
            *("--json", str(out)),
        )
        assert ran.status == 0, ran.err
        return json.loads(out.read_text())

    assert bench(f"{file}:Mine")["erases"] == bench("fifo")["erases"] > 0
    # The last value of a key is the one that counts.
    ran = run(
        *("flash", "bench", "--pattern", "random-write", "--requests", "10"),
        *("--set", "ftl.victim=none.py:No", "--set", "ftl.victim=fifo", "--json", str(out)),
    )
    assert ran.status == 0, ran.err
    run("flash", "wa", "--policy", f"{file}:No").refused("unknown-name", "Mine")
    run("flash", "wa", "--policy", "none.py:No").refused("missing-file", "none.py")


def test_own_policies_are_swept(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'command = "flash wa"\n[settings]\nblocks = 64\npages_per_block = 16\n'
        f'[ranges]\npolicy = ["fifo", "{tmp_path}/mine.py:Mine"]\n'
    )
    rows = gordon.sweep.run(sweep, tmp_path / "out.parquet")["rows"]
    assert rows[0]["write_amplification"] == rows[1]["write_amplification"]


def test_a_bad_policy_is_one_error() -> None:
    class Wrong(Fifo):
        def choose(self) -> int:
            return 12345

    class Negative(Fifo):
        def choose(self) -> int:
            return -1

    class Old(Fifo):
        def collect(self, block: int) -> None:
            pass

    class Raising(Fifo):
        def update(self, block: int, valid: int) -> None:
            raise KeyError("lost")

    class Text(Fifo):
        def choose(self) -> int:
            return "first"  # type: ignore[return-value]

    class Silent(Fifo):
        def choose(self) -> int:
            return None  # type: ignore[return-value]

    class Unmade(Fifo):
        def __init__(self, blocks: int, pages: int) -> None:
            raise RuntimeError("no memory")

    class Half:
        def __init__(self, blocks: int, pages: int) -> None: ...

        def update(self, block: int, valid: int) -> None: ...

    for wrong, said in ((Wrong, "12345"), (Negative, "-1"), (Old, r"\d+")):
        refused = rf"policy {wrong.__name__}: choose\(\) returned {said}, which is not"
        with pytest.raises(gordon.GordonError, match=refused):
            gordon.flash.wa(wrong, **SMALL)
        with pytest.raises(gordon.GordonError, match=refused):
            gordon.flash.bench("random-write", set={**DEVICE, "ftl.victim": wrong}, **LOAD)
    with raises("failed-policy", "Raising", "lost") as failed:
        gordon.flash.wa(Raising, **SMALL)
    assert isinstance(failed.value.__cause__, KeyError)
    for other, said in ((Text, "'first'"), (Silent, "None")):
        with raises("failed-policy", f"choose() returned {said}, not the number of a block"):
            gordon.flash.wa(other, **SMALL)
    with raises("failed-policy", "Unmade", "no memory"):
        gordon.flash.wa(Unmade, **SMALL)
    for run in (
        lambda: gordon.flash.wa(Half, **SMALL),  # type: ignore[arg-type]
        lambda: gordon.flash.bench("random-write", set={**DEVICE, "ftl.victim": Half}, **LOAD),
    ):
        with raises("incomplete-policy", "Half", "collect", "choose"):
            run()
    with raises("impossible", "choices"):
        gordon.flash.wa(Fifo, choices=3, **SMALL)


def test_an_error_stops_a_long_run() -> None:
    """Without the stop this would write for hours."""

    class Late(Fifo):
        def choose(self) -> int:
            raise RuntimeError("late")

    with raises("failed-policy", "late"):
        gordon.flash.bench(
            "random-write", set={**DEVICE, "ftl.victim": Late}, size="64KiB", requests=10**10
        )


def test_where_no_policy_can_be_named_the_error_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    with raises("own-policy-elsewhere", "ftl.victim"):
        gordon.block.create(
            tmp_path / "image", "gordon-slc-256g", set=f"ftl.victim={tmp_path}/mine.py:Mine"
        )
    assert not (tmp_path / "image").exists()


def test_ctrl_c_ends_a_run_with_a_policy(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = tmp_path / "mine.py"
    program.write_text(f"{FILE}\nopen({str(started)!r}, 'w').close()\n")
    ran = subprocess.Popen(
        [
            *(sys.executable, "-m", "gordon", "flash", "wa", "--policy", f"{program}:Mine"),
            *("--blocks", "100000", "--pages-per-block", "256"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + PATIENCE_S
    while not started.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)
    ran.send_signal(signal.SIGINT)
    _, errors = ran.communicate(timeout=PATIENCE_S)
    assert ran.returncode == 130, errors
    assert "Traceback" not in errors
