"""Records of a service with the same load in each sample, and their surveys."""

import json
from pathlib import Path
from typing import Any

import sadf

from conftest import Run

#: Machines that are bought: one of a high price, one of a high power.
OWNED = """
name = "own"
summary = "machines that are bought"
currency = "USD"
ownership = { years = 5, hours_per_year = 4383 }

[[machines]]
id = "small"
cores = 2
core_speed = 1.0
memory = "8GiB"
storage = "nvme-tlc-1tb"
network = "10Gb"
purchase_price = 1000
embodied_kg = 100
idle = "10W"
active = "30W"

[[machines]]
id = "hungry"
cores = 2
core_speed = 1.0
memory = "8GiB"
storage = "nvme-tlc-1tb"
network = "10Gb"
purchase_price = 800
embodied_kg = 100
idle = "100W"
active = "300W"
"""


def record(*, count: int = 48, interval: int = 1800, user: float = 20.0) -> list[dict[str, Any]]:
    """Samples of a monitor, with the same load each."""
    samples = []
    for number in range(count):
        sample = sadf.second(0, user=user, writes=10.0, write_kib=640.0)
        hours, seconds = divmod(number * interval, 3600)
        day, hour = divmod(hours, 24)
        sample["timestamp"] = {
            "date": f"2026-11-{day + 1:02}",
            "time": f"{hour:02}:{seconds // 60:02}:{seconds % 60:02}",
            "utc": 1,
            "interval": interval,
        }
        samples.append(sample)
    return samples


def converted(run: Run, samples: list[dict[str, Any]], *hosts: str) -> str:
    """The trace of a record, or the folder with those of several hosts."""
    Path("day.json").write_text(sadf.day(samples, *hosts))
    made = run("trace", "convert", "day.json", "day.trace", "--format", "sysstat")
    assert made.status == 0, made.err
    return "day.trace"


def answer(run: Run, *words: str) -> dict[str, Any]:
    ran = run("survey", *words, "--space", "own.toml", "--service", "--json", "-")
    assert ran.status == 0, ran.err
    result: dict[str, Any] = json.loads(ran.out)
    return result


def by_id(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in result["designs"]}
