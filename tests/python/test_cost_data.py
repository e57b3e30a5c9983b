"""The carbon of electricity and the prices of memory and storage by year."""

import json
from math import sqrt
from typing import Any

import pytest

from gordon.cost.prices import media, of, price
from gordon.grids import grid, grids
from gordon.survey import space as spaces

from conftest import Run, raises

Json = dict[str, Any]


def test_there_are_grids_of_countries_and_of_the_regions_of_the_spaces() -> None:
    found = grids()
    assert sum(len(id) == 2 and id.isupper() for id in found) >= 30
    for id, one in found.items():
        assert one.id == id
        assert 0 < one.grams_per_kwh < 1500, id
        assert 2020 <= one.year <= 2026, id
        assert one.source, id
    for space in map(spaces.load, spaces.names()):
        assert "region" not in space or space["region"] in found


def test_a_region_without_a_grid_of_its_own_has_that_of_its_country() -> None:
    assert grid("eu-central-1").grams_per_kwh == grid("DE").grams_per_kwh
    assert grid("eu-central-1").id == "eu-central-1"


def test_grids_are_found_in_upper_and_lower_case() -> None:
    assert grid("de") == grid("DE")
    assert grid("US-EAST-1").id == "us-east-1"
    assert grid(" germany").id == "DE"


def test_an_unknown_grid_is_an_error_that_names_the_nearest_one() -> None:
    with raises("unknown-name", "us-eats-1") as caught:
        grid("us-eats-1")
    assert "`us-east-1`" in caught.value.args[1]


def test_the_command_lists_the_grids(run: Run) -> None:
    listed = json.loads(run("cost", "grids", "--json", "-").out)["grids"]
    assert {row["id"] for row in listed} == set(grids())
    assert set(listed[0]) == {"id", "name", "grams_per_kwh", "year", "source"}
    assert "Germany" in run("cost", "grids").out


def test_each_medium_has_prices_that_fall_over_its_years() -> None:
    assert list(media()) == ["dram", "flash", "ssd", "disk"]
    for medium in media().values():
        assert list(medium.usd_per_gb) == sorted(medium.usd_per_gb)
        assert medium.source
        assert medium.usd_per_gb[medium.first] > 5 * medium.usd_per_gb[medium.last]


def test_a_year_between_two_has_a_price_between_theirs() -> None:
    found = price("ssd", 2017)
    assert found.is_interpolated
    before, after = price("ssd", 2016), price("ssd", 2018)
    assert not before.is_interpolated
    middle = sqrt(before.usd_per_gb * after.usd_per_gb)
    assert found.usd_per_gb == pytest.approx(middle)


@pytest.mark.parametrize(("medium", "year"), [("ssd", 2012), ("ssd", 2024), ("flash", 2016)])
def test_a_year_outside_the_table_is_an_error_that_names_its_years(medium: str, year: int) -> None:
    with raises("no-price", medium, str(year)) as caught:
        price(medium, year)
    of_medium = media()[medium]
    assert f"{of_medium.first} to {of_medium.last}" in caught.value.args[1]


def test_an_unknown_medium_is_an_error() -> None:
    with raises("unknown-name", "disc"):
        price("disc", 2010)


def test_the_prices_of_a_year_are_those_of_media_that_have_it() -> None:
    assert [one.medium for one in of(2009)] == ["dram", "flash", "disk"]
    with raises("no-price", "1900"):
        of(1900)


def test_the_command_lists_prices(run: Run) -> None:
    result: Json = json.loads(run("cost", "prices", "--year", "2017", "--json", "-").out)
    ours = {row["medium"]: row for row in result["prices"]}
    assert set(ours) == {"dram", "ssd", "disk"}
    assert ours["disk"]["is_interpolated"] is False
    assert [row["id"] for row in result["media"]] == list(media())
    every: Json = json.loads(run("cost", "prices", "--json", "-").out)
    years = [row["year"] for row in every["prices"]]
    assert years == sorted(years)
    assert not any(row["is_interpolated"] for row in every["prices"])
    run("cost", "prices", "--year", "1900").refused("no-price", "1900")
    assert "~" in run("cost", "prices", "--year", "2017").out
