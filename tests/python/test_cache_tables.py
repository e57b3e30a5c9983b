"""Results of caches as tables and as Parquet."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from gordon import cache
from gordon.cache import tiered

from conftest import Run, mqsim, raises


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> str:
    """20,000 requests of a few pages each, a third of them writes."""
    draw = random.Random(5)
    rows = [
        (i * 1000, int(draw.paretovariate(0.5)) % 60_000, draw.randrange(1, 24), int(i % 3 != 0))
        for i in range(20_000)
    ]
    return mqsim(tmp_path_factory.mktemp("block") / "t", *rows)


@pytest.fixture(scope="module")
def swept(block: str) -> Any:
    """Two levels, before them servers."""
    return cache.sweep(
        block,
        dram="4MiB",
        flash="0,8MiB",
        cores=[4, 8],
        objects=True,
        format="mqsim",
        set=["cache.ways=4", "cache.write_buffer=256KiB"],
    )


def rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    assert len({len(column) for column in table.values()}) == 1
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def test_a_row_for_each_cache(block: str) -> None:
    report: Any = cache.sweep(block, policies="lru,sieve", dram="1MiB,2MiB", format="mqsim")
    tables: Any = {name: report.columns(name) for name in report.tables}
    assert list(tables) == ["caches"]
    for row, point in zip(rows(tables["caches"]), report["points"], strict=True):
        same = {key: value for key, value in row.items() if key in point}
        assert same == {key: point[key] for key in same}
        assert len(same) == len(point) - 4, "all but input, warmup, warnings and provenance"
        assert row["trace"] == block
        assert row["crc32"] == point["provenance"]["trace"]["crc32"]
    (alone,) = rows(cache.replay(block, dram="1MiB", format="mqsim").columns("caches"))
    assert alone == rows(tables["caches"])[0]


def test_lists_are_tables_of_their_own(swept: Any) -> None:
    tables: Any = {name: swept.columns(name) for name in swept.tables}
    assert list(tables) == ["caches", "roadmap", "servers", "erases", "lifetimes"]
    without, with_flash = swept["points"]
    one, two = rows(tables["caches"])
    assert one["levels_dram_latency_us_p99"] == without["levels"]["dram"]["latency_us"]["p99"]
    assert one["wear_evictions"] is None
    assert not {"wear", "flash", "backend_head"} & set(one)
    assert two["wear_evictions"] == with_flash["wear"]["evictions"] > 0
    wear = with_flash["wear"]
    assert rows(tables["lifetimes"])[1]["years"] == wear["lifetimes"][1]["years"]
    spread = rows(tables["erases"])
    assert {row["flash_bytes"] for row in spread} == {8 << 20}
    # Blocks of 128 KiB, and 4 for swaps; each eviction and each swap erased one.
    assert sum(row["blocks"] for row in spread) == 64 + 4
    erased = sum(row["erases"] * row["blocks"] for row in spread)
    assert erased == wear["evictions"] + wear["swap_erases"]
    assert [(row["flash_bytes"], row["cores"]) for row in rows(tables["servers"])] == [
        (0, 4),
        (0, 8),
        (8 << 20, 4),
        (8 << 20, 8),
    ]


def test_a_curve_has_a_row_for_each_size(block: str) -> None:
    report: Any = cache.mrc(block, dram="64KiB..8MiB", format="mqsim")
    tables: Any = {name: report.columns(name) for name in report.tables}
    assert list(tables) == ["curve"]
    assert tables["curve"]["misses"] == [point["misses"] for point in report["points"]]
    assert set(tables["curve"]["policy"]) == {"lru"}


def test_levels_of_small_objects_are_columns(block: str) -> None:
    report: Any = tiered.replay(block, dram="1MiB", flash="16MiB", objects=True, format="mqsim")
    (row,) = rows(report.columns("caches"))
    assert row["levels_flash_hits"] == report["levels"][1]["hits"]
    assert row["levels_dram_hits"] + row["levels_flash_hits"] == report["hits"] > 0


def test_all_commands_write_parquet(block: str, tmp_path: Path, run: Run) -> None:
    given = (block, "--format", "mqsim")
    flash = ("--flash", "8MiB", "--set", "cache.ways=4", "--set", "cache.write_buffer=256KiB")
    commands: dict[str, tuple[tuple[str, ...], list[str]]] = {
        "one": (("replay", *given, "--dram", "1MiB"), ["caches"]),
        "two": (
            ("replay", *given, "--policy", "flashcache", "--dram", "4MiB", *flash),
            ["caches", "erases", "lifetimes", "roadmap"],
        ),
        "sweep": (("sweep", *given, "--dram", "1MiB,2MiB"), ["caches"]),
        "mrc": (("mrc", *given), ["curve"]),
        "tiered": (
            ("tiered", *given, "--objects", "--dram", "1MiB", "--flash", "16MiB"),
            ["caches"],
        ),
    }
    for name, (args, tables) in commands.items():
        folder = tmp_path / name
        ran = run("cache", *args, "--parquet", str(folder))
        assert ran.status == 0, ran.err
        assert f"wrote {folder}" in ran.err
        assert sorted(path.name for path in folder.iterdir()) == [f"{t}.parquet" for t in tables]
        for path in folder.iterdir():
            content = path.read_bytes()
            assert content[:4] == content[-4:] == b"PAR1"


def test_pyarrow_reads_what_is_written(swept: Any, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    swept.to_parquet(tmp_path)
    for name in swept.tables:
        assert pq.read_table(tmp_path / f"{name}.parquet").to_pydict() == swept.columns(name)


def test_a_file_in_the_folders_place_is_an_error(swept: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with raises("unwritable", "file"):
        swept.to_parquet(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
