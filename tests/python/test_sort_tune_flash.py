"""`gordon sort tune --flash`: loads, sizes that telemetry leads to, figure 10 from inside."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import rewriting_simulated
from gordon.reproduce.rewriting import WAYS
from gordon.sort.run import settings
from gordon.sort.tune import SteerResult, simulated, steer
from gordon.sort.tune.steer import MORE, MOST, SATURATED

from conftest import Run, raises

MIB = 1 << 20
SMALL = ("capacity=4GiB",)


def test_loads_touch_each_byte_once() -> None:
    total, size = 10 * MIB + 4096, 3 << 18
    pieces = simulated.sequential("read", MIB, total, size)
    assert [at for _, at, _ in pieces] == [MIB + n * size for n in range(len(pieces))]
    assert sum(length for _, _, length in pieces) == total
    assert pieces[-1][1] + pieces[-1][2] == MIB + total
    mixed = simulated.shuffled("read", MIB, total, size, seed=1)
    assert mixed != pieces
    assert sorted(mixed) == sorted(pieces)
    assert mixed == simulated.shuffled("read", MIB, total, size, seed=1)


def test_loads_side_by_side_keep_step_and_order() -> None:
    reads = simulated.sequential("read", 0, 64 * MIB, 8 * MIB)
    writes = simulated.sequential("write", 64 * MIB, 64 * MIB, MIB)
    both = simulated.merged(reads, writes)
    assert [one for one in both if one[0] == "read"] == reads
    assert [one for one in both if one[0] == "write"] == writes
    done = {"read": 0, "write": 0}
    for what, _, length in both:
        done[what] += length
        assert abs(done["read"] - done["write"]) <= 8 * MIB


def test_an_output_is_slowest_to_write_where_most_is_in_use() -> None:
    with simulated.Simulated("gordon-slc-256g", set=SMALL, precondition=0.7, seed=2) as device:
        ways: Any = rewriting_simulated.rewriting(device, 512 * MIB, 4 * MIB)
        over, kept, trimmed = (ways[way] for way in WAYS)
        # With the old one kept, most is in use.
        for row in (over, trimmed):
            for key in ("write_amplification", "gc_bytes", "erases", "seconds"):
                assert row[key] < kept[key], key
        # The same start gives the same run.
        again = rewriting_simulated.rewriting(device, 512 * MIB, 4 * MIB)
        assert again == ways
        with raises("no-space", "gordon-slc-256g"):
            rewriting_simulated.rewriting(device, 2 << 30, MIB)


@pytest.fixture(scope="module")
def steered() -> Any:
    return steer(None, "gordon-slc-256g", set=SMALL, precondition=0.7, records=2_000_000)


def test_sizes_follow_from_the_telemetry_of_the_device(steered: dict[str, Any]) -> None:
    assert [row["load"] for row in steered["loads"]] == [
        "input read",
        "buckets written",
        "buckets read",
        "output written",
    ]
    for row in steered["loads"]:
        tried = row["tried"]
        rates = [one["bandwidth_mb_s"] for one in tried]
        at = [one["transfer"] for one in tried].index(row["found"])
        assert all(b >= a * (1 + MORE) for a, b in pairwise(rates[: at + 1]))
        if row["why"].startswith("saturated"):
            assert max(tried[at]["dies_busy"], tried[at]["busiest_bus"]) >= SATURATED
            assert at == len(tried) - 1
        elif at < len(tried) - 1:
            assert rates[at + 1] < rates[at] * (1 + MORE)
        else:
            assert row["found"] == MOST
    # A bus of this device moves what a die reads: reads wait for buses, writes for collection.
    assert steered["loads"][0]["why"].startswith("saturated")
    assert "garbage collection active" in steered["loads"][3]["why"]


def test_the_sizes_are_a_result_with_a_page(steered: SteerResult, tmp_path: Path) -> None:
    assert repr(steered).startswith("<gordon.sort.SteerResult: gordon-slc-256g, ")
    assert steered.columns()["load"][0] == steered["loads"][0]["load"]
    steered.save(tmp_path / "x.html")
    assert "both passes" in (tmp_path / "x.html").read_text()


def test_the_search_starts_from_the_best_simulated_point(steered: dict[str, Any]) -> None:
    passes = steered["passes"]
    best = passes["chosen"]["seconds"]
    tried = [row["seconds"] for row in steered["together"]]
    assert best == min(passes["usual"]["seconds"], *tried)
    assert steered["gain"] == pytest.approx(1 - best / passes["usual"]["seconds"])
    for row in passes.values():
        assert row["seconds"] == row["distribute"]["seconds"] + row["gather"]["seconds"]


def test_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = "sort tune --flash gordon-slc-256g --set capacity=4GiB --precondition 0.7"
    made = run(*words.split(), "--records", "1000000", "-o", "t.toml", "--json", "r.json")
    assert made.status == 0, made.err
    assert "all values are modelled" in made.out
    text = Path("t.toml").read_text()
    assert "modelled: a starting point" in text
    chosen = json.loads(Path("r.json").read_text())["chosen"]["settings"]
    from gordon import _core

    read = settings("t.toml", {})["transfers"]
    assert read.pop("stripe") is None
    assert {f"{key}_transfer": _core.parse_bytes(size) for key, size in read.items()} == {
        key: size for key, size in chosen.items() if key.endswith("_transfer")
    }
    assert run(*words.split(), "--meter", "rapl").status == 2
    assert run("sort", "tune", "--precondition", "0.5").status == 2
    large = run(*words.split(), "--records", "100000000", "-o", "no.toml")
    assert large.status == 1
    assert "fewer --records" in large.err
    assert not Path("no.toml").exists()
