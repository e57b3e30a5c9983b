"""Embodied carbon of machines and storage parts, and prices and lives of the parts."""

from collections.abc import Iterator

import pytest

from gordon.cost.prices import price
from gordon.parts import STORAGE, load, names
from gordon.quantity import value
from gordon.survey import space as spaces

from conftest import Run

OF_PARTS = ("price", "embodied_kg", "rated_life_years")
SPACES = [name for name in spaces.names() if spaces.machines(spaces.load(name))]


@pytest.mark.parametrize("name", SPACES)
def test_each_machine_of_a_shipped_space_has_its_embodied_carbon(name: str) -> None:
    space = spaces.load(name)
    of_key = space["sources"].get("embodied_kg", {})
    for machine in spaces.machines(space):
        carbon = machine["embodied_kg"]
        assert 1 < value(carbon) < 20_000, machine["id"]
        is_assumed = isinstance(carbon, dict) and "assumed" in carbon
        assert is_assumed or {"source", "date"} <= of_key.keys(), machine["id"]


def test_larger_sizes_of_a_family_have_more_embodied_carbon() -> None:
    found = {m["id"]: value(m["embodied_kg"]) for m in spaces.machines(spaces.load("ec2"))}
    assert found["m5.large"] < found["m5.xlarge"] < found["r5.xlarge"] < found["i3en.xlarge"]


def used_parts() -> Iterator[tuple[str, str]]:
    """Kind and name of the storage parts of machines of shipped spaces."""
    kinds = {name: kind for kind in STORAGE for name in names(kind)}
    for space in map(spaces.load, SPACES):
        for machine in spaces.machines(space):
            for storage in spaces.storages(machine):
                if "part" in storage:
                    yield kinds[storage["part"]], storage["part"]


@pytest.mark.parametrize(("kind", "name"), sorted(set(used_parts())))
def test_each_storage_part_of_a_machine_has_price_carbon_and_life(kind: str, name: str) -> None:
    part = load(kind, name)
    for key in OF_PARTS:
        assert part[key]["value"] > 0, key
        assert part[key].get("source") or part[key].get("assumed"), key
    if kind == "flash":
        assert part["endurance"]["erase_budget"]["value"] > 0


def test_the_embodied_carbon_of_flash_follows_its_capacity() -> None:
    tlc, qlc = load("flash", "nvme-tlc-1tb"), load("flash", "nvme-qlc-2tb")
    assert tlc["embodied_kg"]["value"] == pytest.approx(0.16 * 1000)
    assert qlc["embodied_kg"]["value"] == pytest.approx(0.16 * 2000)


def test_prices_of_disks_are_those_of_the_table_of_prices() -> None:
    old, new = (load("disk", name) for name in ("sata-7200-1tb", "sata-7200-20tb"))
    assert old["price"]["value"] == pytest.approx(1000 * price("disk", 2008).usd_per_gb)
    assert new["price"]["value"] == pytest.approx(20_000 * price("disk", 2023).usd_per_gb)


@pytest.mark.parametrize("device", ["flash/nvme-tlc-1tb", "disk/sata-7200-1tb"])
@pytest.mark.parametrize("setting", ["price=-1", "embodied_kg=-1", "rated_life_years=0"])
def test_a_price_carbon_or_life_that_no_device_has_is_refused(
    run: Run, device: str, setting: str
) -> None:
    kind, name = device.split("/")
    args = ["bench", "--pattern", "random-read", "--preset", name, "--set", setting]
    ran = run(kind, *args, "--requests", "1")
    assert ran.status == 1
    assert ran.err.count("error: ") == 1, ran.err
    assert setting.partition("=")[0] in ran.err
