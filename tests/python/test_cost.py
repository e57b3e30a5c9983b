"""`gordon cost petabyte`, `gordon rack`, `gordon plan`: the paper's figures, by hand and by the
commands; other nodes, prices and queues; and bad input."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon.cost import inputs as files
from gordon.cost.paper import figure

from conftest import Run, raises

Json = dict[str, Any]

#: Statements of the paper that do not follow from what it prints, or not as it assumes.
DOES_NOT_FOLLOW = {
    "table8.dimm.nonmedia_power_share",
    "table8.nand.nonmedia_cost_share",
    "table8.nand.nonmedia_power_share",
    "table8.sas.nonmedia_cost",
    "table8.sas.nonmedia_cost_share",
    "table8.sata.media_cost",
    "table8.sata.nonmedia_cost",
    "table8.sata.nonmedia_cost_share",
    "table8.sata.nonmedia_power_share",
    "specialised-power-low",
    "specialised-power-high",
}

PRICES = """
currency = "EUR"
capacity = "100TB"

[processor]
price = 100
active = "50W"

[media.drive]
capacity = "20TB"
price = 400
active = "8W"
slots = 4
enclosure = "box"
processors = 1

[enclosure.box]
price = 300
active = "30W"
"""


def by_id(result: Json) -> dict[str, Json]:
    return {item["id"]: item for item in result["items"]}


def medium(result: Json, name: str) -> Json:
    (row,) = [row for row in result["media"] if row["medium"] == name]
    return dict(row)


# --- a petabyte ---


def test_the_cells_of_table_8_follow_from_table_7_by_hand() -> None:
    result = gordon.cost.petabyte()
    gb = 2**20
    dimms = gb // 4
    row = medium(result, "dimm")
    assert (row["media"], row["servers"]) == (dimms, 10_923)
    assert row["media_cost"] == dimms * 193
    assert row["nonmedia_cost"] == 10_923 * (1795 + 4 * 500)
    assert row["nonmedia_power_w"] == 10_923 * (110 + 4 * 60)
    assert row["nonmedia_power_share"] == pytest.approx(3_823_050 / (3_823_050 + dimms * 6))
    row = medium(result, "nand")
    assert (row["media"], row["servers"]) == (6554, 2185)
    assert (row["media_cost"], row["nonmedia_cost"]) == (6554 * 2000, 2185 * 1525)
    row = medium(result, "sas")
    assert (row["media"], row["servers"]) == (3496, 219)
    assert row["nonmedia_cost_share"] == pytest.approx(678_900 / (678_900 + 3496 * 340))
    row = medium(result, "sata")
    assert (row["media"], row["servers"]) == (700, 44)
    assert row["total_power_w"] == 700 * 17 + 44 * (90 + 3 * 60)


def test_a_figure_of_section_6_is_within_a_percent_or_has_its_reason() -> None:

    items = gordon.cost.petabyte()["items"]
    assert len(items) == 20 + 10
    for item in items:
        near = min(max(item["ours"], item["paper"]["low"]), item["paper"]["high"])
        assert item["agrees"] == (abs(item["ours"] / near - 1) <= 0.01), item
        assert item["agrees"] or item["reason"], item
        assert item["source"].startswith("Gordon, ASPLOS'09, "), item
    wrong = {item["id"] for item in items if not item["agrees"]}
    assert wrong == DOES_NOT_FOLLOW


def test_a_cell_names_the_processors_with_which_it_follows() -> None:
    items = by_id(gordon.cost.petabyte())

    def fits(cell: str) -> Any:
        return items[f"table8.{cell}"]["processors_that_fit"]

    assert fits("dimm.nonmedia_cost") == fits("dimm.nonmedia_cost_share") == [4]
    assert fits("dimm.nonmedia_power_share") == []
    assert fits("nand.nonmedia_cost") == [1]
    assert fits("nand.nonmedia_power_share") == [3]
    assert fits("sas.nonmedia_power_share") == [3]
    assert fits("sas.nonmedia_cost") == fits("sata.nonmedia_cost") == []
    # Both machines with disks have between two and three.
    for cell in ("sas.nonmedia_cost", "sata.nonmedia_cost"):
        assert 2.4 < items[f"table8.{cell}"]["processors_implied"] < 2.6
    assert fits("sata.nonmedia_power_share") == [8]
    assert fits("sata.servers") is None


def test_flash_of_a_bandwidth_costs_less_and_draws_less_than_disks() -> None:
    flash, disks = gordon.cost.petabyte()["bandwidth"]
    assert (flash["cost"], flash["cost_per_mb_s"]) == (1280, 1280 / 900)
    # 64 dies, the controller and its memory: Table 3.
    assert flash["active_w"] == pytest.approx(64 * 0.04 + 2.3 + 1.2)
    assert disks["cost_per_mb_s"] == 5
    assert disks["active_w"] == pytest.approx(4500 / 129 * 17)


def test_the_csv_has_each_medium_with_each_number_of_processors(run: Run) -> None:
    ran = run("cost", "petabyte", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == 4 * 8
    chosen = {row["medium"]: row for row in rows if row["is_chosen"] == "true"}
    result = json.loads(run("cost", "petabyte", "--json", "-").out)
    for row in result["media"]:
        same = chosen[row["medium"]]
        assert float(same["total_cost"]) == row["total_cost"]
        assert float(same["nonmedia_power_share"]) == row["nonmedia_power_share"]


def test_prices_of_a_file_are_used_without_comparing_them_with_the_paper(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    result = json.loads(run("cost", "petabyte", "--inputs", str(path), "--json", "-").out)
    (row,) = result["media"]
    assert (row["media"], row["servers"]) == (5, 2)
    assert (row["media_cost"], row["nonmedia_cost"]) == (2000, 2 * 400)
    assert row["cost_per_gb"] == pytest.approx(2800 / 100_000)
    assert (result["currency"], result["items"], result["bandwidth"]) == ("EUR", [], [])
    assert "100 TB on each medium" in run("cost", "petabyte", "--inputs", str(path)).out


def test_capacity_and_processors_replace_those_of_the_inputs() -> None:
    row = medium(gordon.cost.petabyte(capacity="12TB", processors=2), "sas")
    assert (row["media"], row["servers"], row["processors"]) == (40, 3, 2)
    assert row["nonmedia_cost"] == 3 * (1600 + 2 * 500)
    # More processors than are compared by default are compared, too.
    result = gordon.cost.petabyte(processors=12)
    counts = {row["processors"] for row in result["by_processors"]}
    assert counts == {*range(1, 9), 12}


def test_the_printed_inputs_are_a_template(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(run("cost", "inputs").out)
    own = gordon.cost.petabyte(str(path))
    assert own["media"] == gordon.cost.petabyte()["media"]


def test_every_input_has_its_place_in_the_paper_or_is_assumed() -> None:
    for row in gordon.cost.petabyte()["parameters"]:
        assert row["origin"] in ("source", "assumed"), row
        assert row["why"], row


@pytest.mark.parametrize(
    ("old", "new", "kind", "named"),
    [
        ("price = 400\n", "", "missing-key", "media.drive"),
        ("price = 400", "price = -400", "out-of-range", "media.drive.price"),
        ("price = 400", "price = 0", "out-of-range", "media.drive.price"),
        ("price = 400", "price = nan", "out-of-range", "media.drive.price"),
        ("price = 400", "price = 4e12", "out-of-range", "media.drive.price"),
        ("price = 400", 'price = "400 EUR"', "bad-value", "media.drive.price"),
        ("price = 400", 'price = 400\ncurrency = "USD"', "mixed-currencies", "media.drive"),
        ("price = 300", 'price = 300\ncurrency = "USD"', "mixed-currencies", "enclosure.box"),
        ('active = "8W"', 'active = "-8W"', "bad-quantity", "media.drive.active"),
        ('active = "8W"', 'active = "8V"', "bad-value", "media.drive.active"),
        ("slots = 4", "slots = 0", "out-of-range", "media.drive.slots"),
        ('enclosure = "box"', 'enclosure = "bag"', "unknown-name", "media.drive"),
        ("slots = 4", "slot = 4", "unknown-name", "media.drive"),
        ('currency = "EUR"\n', "", "missing-key", "prices.toml"),
        ("[processor]", "[processor", "bad-toml", "prices.toml"),
    ],
)
def test_a_bad_price_file_is_refused_with_its_place(
    run: Run, tmp_path: Path, old: str, new: str, kind: str, named: str
) -> None:
    path = tmp_path / "prices.toml"
    assert old in PRICES
    path.write_text(PRICES.replace(old, new, 1))
    run("cost", "petabyte", "--inputs", str(path)).refused(kind, named)


def test_a_bad_petabyte_is_refused(run: Run, tmp_path: Path) -> None:
    run("cost", "petabyte", "--inputs", "gordon-2008").refused("unknown-name", "gordon-2008")
    path = str(tmp_path / "no.toml")
    run("cost", "petabyte", "--inputs", path).refused("unreadable-file", path)
    run("cost", "petabyte", "--capacity", "0B").refused("bad-number", "--capacity")
    run("cost", "inputs", "none").refused("unknown-name", "none")
    run("cost", "petabyte", "--processors", "0").refused("", "--processors", status=2)
    with raises("bad-number", "processors"):
        gordon.cost.petabyte(processors=0)
    empty = PRICES[: PRICES.index("[media")] + PRICES[PRICES.index("[enclosure") :] + "\n[media]\n"
    (tmp_path / "own.toml").write_text(empty)
    with raises("no-media"):
        files.load(str(tmp_path / "own.toml"))


def test_a_figure_has_the_precision_with_which_it_is_printed() -> None:
    assert (figure("1.2M").low, figure("1.2M").high) == (1_150_000, 1_250_000)
    assert (figure("627K").low, figure("627K").high) == (626_500, 627_500)
    assert figure("45%").value == 0.45
    assert (figure("100", 2).low, figure("100", 2).high) == (95, 105)
    assert figure("230").agrees(232.7)
    assert not figure("230").agrees(233)
