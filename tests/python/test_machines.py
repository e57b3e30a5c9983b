"""The machines of the shipped spaces: names, numbers, units, sources."""

import datetime
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gordon import _core, parts

ROOT = Path(__file__).parent.parent.parent
SPACES = ROOT / "python/gordon/survey/spaces"
NAMES = ("ec2", "gcp", "azure", "modern", "servers")

REQUIRED = {"id", "summary", "cores", "threads_per_core", "core_speed", "core_speed_single"}
REQUIRED |= {"memory", "storage", "network", "embodied_kg"}
PRICES = {"price_per_hour", "price_spot_per_hour", "purchase_price", "volume_price_per_gib_month"}
POWER = {"idle", "active", "power_curve", "supply"}
OPTIONAL = {*PRICES, *POWER, "minimum_billing", "source", "date", "models"}
SPEEDS = ("core_speed", "core_speed_single")
NUMBERS = ("cores", "threads_per_core", *SPEEDS, "embodied_kg", *sorted(PRICES))
BITS = {"Mb": 1e6, "Gb": 1e9}

Table = dict[str, Any]


def load(name: str) -> Table:
    return tomllib.loads((SPACES / f"{name}.toml").read_text(encoding="utf-8"))


def value(entry: Any) -> Any:
    return entry["value"] if isinstance(entry, dict) else entry


def rate(text: str) -> float:
    """Bits a second of text such as `10Gb`."""
    found = re.fullmatch(r"([\d.]+)(Mb|Gb)", text)
    assert found, text
    return float(found[1]) * BITS[found[2]]


def watts(text: str) -> float:
    assert text.endswith("W"), text
    return float(text.removesuffix("W"))


def explained(entry: Any) -> bool:
    """Whether it has a source with a date, or is assumed with a reason."""
    if not isinstance(entry, dict):
        return False
    sourced = bool(entry.get("source")) and isinstance(entry.get("date"), datetime.date)
    return sourced != bool(entry.get("assumed"))


def storage_values(machine: Table) -> Iterator[tuple[str, Any]]:
    """The keys of the sources of a machine's storage, each with a value."""
    for storage in storages(machine):
        local = "local_" if storage.get("local") else ""
        for key, entry in storage.items():
            if key != "local":
                yield local + ("latency" if key == "latency" else "storage"), entry


def storages(machine: Table) -> list[Table]:
    """The storages of a machine: one, or those of a list."""
    listed = machine["storage"] if isinstance(machine["storage"], list) else [machine["storage"]]
    return [{"part": one} if isinstance(one, str) else one for one in listed]


@pytest.fixture(params=NAMES)
def space(request: pytest.FixtureRequest) -> Table:
    return load(request.param)


def test_generated_spaces_are_up_to_date() -> None:
    script = ROOT / "scripts/catalogue/machines.py"
    subprocess.run([sys.executable, script, "--check"], check=True, timeout=60)


def test_machines_have_unique_ids_and_known_keys(space: Table) -> None:
    machines = space["machines"]
    assert len({machine["id"] for machine in machines}) == len(machines)
    for machine in machines:
        assert machine.keys() >= REQUIRED, machine["id"]
        assert machine.keys() <= REQUIRED | OPTIONAL, machine["id"]
        assert ("price_per_hour" in machine) != ("purchase_price" in machine), machine["id"]


def test_numbers_are_positive_and_units_parse(space: Table) -> None:
    for machine in space["machines"]:
        for key in NUMBERS:
            assert key not in machine or value(machine[key]) > 0, (machine["id"], key)
        assert value(machine["cores"]) % machine["threads_per_core"] == 0, machine["id"]
        assert value(machine["core_speed"]) <= value(machine["core_speed_single"]), machine["id"]
        assert _core.parse_bytes(value(machine["memory"])) >= 1 << 30, machine["id"]
        assert rate(value(machine["network"])) >= 100e6, machine["id"]
        curve = value(machine.get("power_curve", [machine.get("idle"), machine.get("active")]))
        idle, *_, active = [watts(value(one)) for one in curve]
        assert 0 < idle < active, machine["id"]


def test_rented_machines_say_how_they_are_billed() -> None:
    for name in ("ec2", "gcp", "azure"):
        for machine in load(name)["machines"]:
            assert _core.parse_ns(machine["minimum_billing"]) > 0, machine["id"]
            is_local = any(storage.get("local", False) for storage in storages(machine))
            assert ("volume_price_per_gib_month" in machine) != is_local, machine["id"]
            spot = machine.get("price_spot_per_hour", 0)
            assert spot < machine["price_per_hour"], machine["id"]


def test_families_with_gpus_are_listed_as_not_modelled(space: Table) -> None:
    listed = [entry for entry in space["not_modelled"] if "GPU" in entry["reason"]]
    assert listed or space["name"] == "modern"
    assert all(entry["families"] and entry["reason"] for entry in space["not_modelled"])
    families = {name for entry in space["not_modelled"] for name in entry["families"]}
    ids = [machine["id"] for machine in space["machines"]]
    assert not [id for id in ids if re.split(r"[.-]", id)[0] in families]


def test_storage_is_a_part_or_has_bandwidth_and_latency(space: Table) -> None:
    known = {*parts.names("flash"), *parts.names("disk")}
    pairs = [(m, storage) for m in space["machines"] for storage in storages(m)]
    for machine, storage in pairs:
        if "part" in storage:
            assert storage["part"] in known, machine["id"]
            assert storage.get("count", 1) >= 1, machine["id"]
        else:
            assert _core.parse_ns(value(storage["latency"])) > 0, machine["id"]
            assert value(storage["bandwidth"]), machine["id"]
        for key in ("bandwidth", "write_bandwidth", "burst"):
            assert key not in storage or _core.parse_bytes(value(storage[key])) > 0, machine["id"]
        for key in ("iops", "write_iops"):
            assert key not in storage or value(storage[key]) > 0, machine["id"]


def test_every_value_has_a_source_with_a_date_or_is_assumed(space: Table) -> None:
    sources = space["sources"]
    assert all(explained(source) for source in sources.values())
    for machine in space["machines"]:
        keys = machine.keys() - {"id", "summary", "models", "storage", "supply", "source", "date"}
        values = [(key, machine[key]) for key in keys]
        if "supply" in machine:
            values.append(("supply", machine["supply"]["rated"]))
        for key, entry in [*values, *storage_values(machine)]:
            found = explained(entry) or explained(sources.get(key)) or explained(machine)
            assert found, (machine["id"], key)
            assert not isinstance(entry, dict) or explained(entry), (machine["id"], key)


def test_machines_with_the_same_processor_and_threads_have_about_the_same_speed(
    space: Table,
) -> None:
    speeds: dict[tuple[str, int], list[float]] = {}
    for machine in space["machines"]:
        for model in machine.get("models", []):
            key = (model, machine["threads_per_core"])
            speeds.setdefault(key, []).append(value(machine["core_speed"]))
    assert speeds
    for key, found in speeds.items():
        assert max(found) <= 1.1 * min(found), key


def test_an_m5_is_the_unit_of_speed_in_every_space(space: Table) -> None:
    assert space["reference"] == load("ec2")["reference"]
    speeds = {machine["id"]: machine["core_speed"] for machine in load("ec2")["machines"]}
    assert speeds[space["reference"]["machine"]] == 1
