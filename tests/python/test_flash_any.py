"""`gordon.flash`: any small device under any load, drawn by number: reports must fit together."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, flash

OPS = ("read", "write", "trim", "flush")
BUSY = ("bus", "collecting", "die_read", "die_write", "controller")


def divisor(draw: random.Random, number: int) -> int:
    return draw.choice([d for d in range(1, number + 1) if number % d == 0])


def device(draw: random.Random) -> tuple[dict[str, Any], int]:
    """A device, and its capacity in sectors."""
    buses, dies, planes = draw.choice([1, 2, 3]), draw.choice([1, 2, 4]), draw.choice([1, 2, 3])
    page, blocks, pages = draw.choice([512, 2048, 4608]), draw.choice([33, 64, 100]), 16
    shape = [divisor(draw, parts) for parts in (buses, dies, planes)]
    size = page * shape[0] * shape[1] * shape[2]
    sectors = buses * dies * planes * blocks * pages * page * draw.choice([4, 6, 7]) // 5120
    knobs: dict[str, list[Any]] = {
        "write_points": [1, 3],
        "copy_points": [0, 2],
        "bypass": [False],
        "combine": [False],
        "durable": [True],
        "write_buffer": ["64KiB", "512KiB"],
        "wear_spread": [1, 10],
        "victim": ["fifo", "random", "d-choices", "cost-benefit"],
        "idle_water": [0, 2**32 - 1],
    }
    modes = ("multi_plane", "independent_reads", "cache_read", "cache_program", "read_first")
    made: Any = flash.load("gordon-slc-256g") | {
        "capacity": f"{sectors * 512}B",
        "geometry": {
            "buses": buses,
            "packages_per_bus": 1,
            "dies_per_package": dies,
            "planes_per_die": planes,
            "blocks_per_plane": blocks,
            "pages_per_block": pages,
            "page": f"{page}B",
            "oob": "64B",
        },
        "super_page": {
            "size": f"{size}B",
            "unit": f"{size // divisor(draw, size // 512)}B",
            "shape": dict(zip(("buses", "dies_per_bus", "planes"), shape, strict=True)),
        },
        "ftl": {key: draw.choice(values) for key, values in knobs.items() if draw.random() < 0.4},
        "endurance": {"erase_budget": draw.choice([3, 1000]), "spread": draw.choice([0, 0.3])},
    }
    made["timing"] |= {mode: draw.random() < 0.5 for mode in modes}
    if made["timing"]["read_first"] and draw.random() < 0.5:
        made["timing"]["suspend"] = "20us"
    if "write_buffer" in made["ftl"]:
        if "durable" not in made["ftl"] and draw.random() < 0.5:
            made["ftl"]["protected"] = True
        if draw.random() < 0.5:
            made["ftl"]["drain"] = 1
    return made, sectors


def trace(draw: random.Random, sectors: int, path: Path) -> None:
    lines, at = ["fio version 3 iolog", "0 f add"], 0
    for _ in range(400):
        at += draw.choice([0, 100, 5000])
        op = draw.choices(["read", "write", "trim", "sync"], [3, 6, 1, 0.3])[0]
        length = draw.choice([1, 3, 8, 128])
        first = draw.randrange(sectors - length)
        lines.append(f"{at} f {op} {first * 512} {length * 512}")
    path.write_text("\n".join(lines) + "\n")


def consistent(result: flash.Result, requests: int) -> None:
    report: Any = result.report
    kinds = [report[op] for op in OPS]
    assert sum(kind["requests"] + kind["failed"] for kind in kinds) == requests
    assert sum(kind["failed"] for kind in kinds) == report["failed_requests"]
    for kind in kinds:
        causes = [cause["requests"] for cause in kind["by_cause"].values()]
        assert sum(causes) == kind["requests"]
        if kind["requests"]:
            steps = ("min", "p50", "p90", "p99", "p999", "p9999", "max")
            values = [kind["latency_us"][step] for step in steps]
            assert values == sorted(values)
    pages, slots = report["pages"], programs(report)
    programmed = [n for name, n in pages.items() if name.endswith("_program")]
    assert sum(programmed) + pages["padding"] == report["operations"]["program"] * slots
    if report["write_amplification"] is not None:
        by_cause = sum(report["write_amplification_by_cause"].values())
        assert by_cause == pytest.approx(report["write_amplification"])
    series = result.columns("series")
    assert all(share is None or share <= 1 for part in BUSY for share in series[part])
    for part, share in report["utilisation"].items():
        assert part == "buses" or share is None or share <= 1, part
    assert sum(report["energy_by_part_j"].values()) == pytest.approx(report["energy_j"])
    if report["simulated_s"] and not report["failed_requests"]:
        waited = sum((k["latency_us"]["mean"] or 0) * k["requests"] for k in kinds)
        mean = waited / 1e6 / report["simulated_s"]
        assert mean == pytest.approx(report["outstanding"]["mean"]), "Little's law"


def programs(report: Any) -> int:
    """Logical pages of a super-page."""
    from gordon._core import parse_bytes

    size: int = parse_bytes(report["provenance"]["config"]["device"]["super_page"]["size"])
    return size // int(report["page_bytes"])


@pytest.mark.parametrize("number", range(100))
def test_whatever_is_combined_fits_together(number: int, tmp_path: Path) -> None:
    draw = random.Random(number)
    made, sectors = device(draw)
    trace(draw, sectors, tmp_path / "t")
    how: Any = {
        "closed_loop": draw.random() < 0.5,
        "split": draw.choice([None, "512B", "1TiB"]),
        "repeat": draw.choice([1, 5]),
        "queue_depth": draw.choice([None, 1, 7]),
        "seed": draw.choice([0, number, 2**64 - 1]),
    }
    before = draw.choice([None, 0.0, 0.5, 1.0])
    kept = tmp_path / "kept"
    try:
        first: Any = flash.replay(tmp_path / "t", made, precondition=before, checkpoint=kept, **how)
    except GordonError as error:
        why = error.args[0]
        if "garbage collection no room" in why or "write buffer holds" in why:
            return  # there is no such device, or it wore out with writes that it cannot keep
        raise
    consistent(first, 400 * how["repeat"])
    again: Any = flash.replay(tmp_path / "t", made, precondition=before, checkpoint=kept, **how)
    assert again.report == first.report
    consistent(flash.replay(tmp_path / "t", made, from_checkpoint=kept, **how), 400 * how["repeat"])
