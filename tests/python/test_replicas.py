"""`gordon cost replicas`: energy, price and wake-ups of replicas on flash and on sleeping disks,
and what is refused."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import gordon.cost
from gordon.cost.replicas import YEAR_H, Replicas

from conftest import Run, raises

#: 1 MiB/s for 2,000 s, in batches of 256 MiB.
LOAD: dict[str, Any] = {"pattern": "random-write", "size": "1MiB", "every": "1s", "requests": 2000}
BATCHES: dict[str, Any] = {"buffer": "256MiB", "rates": [1, 100]}
#: 129 USD for 1.5 TB, of Table 7.
DISK_USD = 129 / 1500 * 1_000_204_886_016 / 1e9
WORDS = ["--pattern", "random-write", "--size", "1MiB", "--every", "1s"]


@pytest.fixture(scope="module")
def result() -> Replicas:
    return gordon.cost.replicas(**LOAD, **BATCHES).report


def test_the_break_even_time_is_that_of_a_hand_calculation(result: Replicas) -> None:
    # 227 J and 13.5 s for a wake-up, 9 W idle, 1 W in standby.
    assert result["break_even_s"] == pytest.approx((227 - 9 * 13.5) / (9 - 1))
    assert result["spin_down_s"] == result["break_even_s"]


def test_energies_add_up_and_a_year_of_electricity_follows_from_them(result: Replicas) -> None:
    for one, cost in zip(result["arrangements"], result["costs"], strict=True):
        assert one["id"] == cost["id"]
        assert one["energy_j"] == pytest.approx(sum(d["energy_j"] for d in one["devices"]))
        assert one["mean_w"] == pytest.approx(one["energy_j"] / result["run_s"])
        assert cost["kwh_per_year"] == pytest.approx(one["mean_w"] * YEAR_H / 1000)
        assert cost["electricity_per_year"] == pytest.approx(0.12 * cost["kwh_per_year"])
        worn = 0.0
        for device in one["devices"]:
            price = 1280 if device["kind"] == "flash" else DISK_USD
            life = device["wear"]["years"] if device["wear"] else device["rated_years"]
            worn += device["count"] * price / life if life else 0.0
        assert cost["worn_per_year"] == pytest.approx(worn)
    copies = result["arrangements"][2]["devices"][1]
    asleep = copies["asleep"]
    assert asleep is not None
    assert copies["energy_by_part_j"]["standby"] == pytest.approx(2 * asleep * result["run_s"])
    assert copies["energy_by_part_j"]["waking"] == 2 * 227 * (copies["wakes"] or 0)


def test_the_buffer_decides_how_often_the_disks_wake(result: Replicas) -> None:
    batches = result["batches"]
    assert (batches["full"], batches["count"]) == (7, 8)
    # Random writes of 1 MiB seldom hit the same place twice.
    assert 1990 << 20 < batches["bytes"] <= result["written_bytes"] == 2000 << 20
    assert batches["exposed_bytes"] >= 256 << 20
    assert 256 < batches["exposed_s"] < 280
    aged = gordon.cost.replicas(**LOAD, buffer="100GiB", max_age="10min", rates=[])
    assert (aged["batches"]["full"], aged["batches"]["aged"]) == (0, 3)
    assert aged["by_rate"] == []
    assert aged["limits"]["asleep_bytes_per_s"] is None


def test_prices_of_other_parts_are_those_of_the_catalogue() -> None:
    few = LOAD | {"requests": 600}
    found = gordon.cost.replicas(**few, buffer="256MiB", rates=[], flash="nvme-tlc-1tb")
    price = next(one for one in found["prices"] if one["kind"] == "flash")
    assert price["price"] == 84.99
    assert "990 PRO" in price["why"]


def test_prices_are_those_of_the_paper_by_capacity_or_given(result: Replicas) -> None:
    prices = {one["kind"]: one["price"] for one in result["prices"]}
    assert prices == {"flash": pytest.approx(1280), "disk": pytest.approx(DISK_USD)}
    costs = {one["id"]: one["price"] for one in result["costs"]}
    assert costs["flash"] == pytest.approx(3 * 1280)
    assert costs["sleeping"] == pytest.approx(1280 + 2 * DISK_USD)
    given = gordon.cost.replicas(
        **LOAD, buffer="256MiB", rates=[], flash_price=100, disk_price=50, price_kwh=1, replicas=2
    )
    costs = {one["id"]: one["price"] for one in given["costs"]}
    assert costs == {"flash": 200, "disks": 100, "sleeping": 150}
    against = {one["against"]: one for one in given["payback"]}
    disks = against["disks"]
    assert disks["price_difference"] == 50
    saved = -disks["power_difference_w"] * YEAR_H / 1000
    copies = given["arrangements"][2]["devices"][1]
    flash = given["arrangements"][2]["devices"][0]
    assert copies["rated_years"] is not None
    assert flash["wear"] is not None
    worn = 50 / copies["rated_years"] + 100 / (flash["wear"]["years"] or 0)
    assert disks["per_year_difference"] == pytest.approx(worn - saved)
    assert saved > worn > 0
    assert disks["years"] == pytest.approx(50 / (saved - worn))


def test_what_costs_less_to_buy_and_less_a_year_is_never_paid_back(result: Replicas) -> None:
    for one in result["payback"]:
        assert one["price_difference"] is not None
        assert one["per_year_difference"] is not None
        is_never = one["price_difference"] * one["per_year_difference"] >= 0
        assert (one["years"] is None) == is_never
        assert bool(one["reason"]) == is_never


def test_equal_prices_are_paid_back_at_once_or_never() -> None:
    options: dict[str, Any] = LOAD | {"buffer": "256MiB", "rates": [], "flash_price": 100}
    for one in gordon.cost.replicas(**options, disk_price=100)["payback"]:
        assert one["price_difference"] == 0
        assert (one["years"] == 0) == ((one["per_year_difference"] or 0) < 0)
        assert (one["years"] is None) == bool(one["reason"])


@pytest.mark.parametrize("rate", ["1W", "2.4GHz", "x"])
def test_a_rate_is_a_factor(rate: str) -> None:
    with raises("bad-number", f"--rates: `{rate}` is not a number"):
        gordon.cost.replicas(**LOAD, buffer="256MiB", rates=[rate])


def test_disks_that_wear_out_by_waking_do_not_pay_by_their_electricity(result: Replicas) -> None:
    # A wake-up every 256 s is 123,000 a year, of 50,000 in all.
    copies = result["arrangements"][2]["devices"][1]
    assert copies["rated_years"] == pytest.approx(50_000 / (copies["wakes_per_year"] or 0))
    assert (copies["rated_years"] or 1) < 1
    disks = next(one for one in result["payback"] if one["against"] == "disks")
    assert disks["power_difference_w"] < 0
    assert (disks["per_year_difference"] or 0) > 0
    assert disks["years"] is None
    slow, fast = result["by_rate"]
    assert slow["rated_years"] == pytest.approx(copies["rated_years"], rel=0.2)
    # At a hundred times the rate the disk never sleeps.
    assert (fast["wakes"] == 0) == (fast["rated_years"] is None)


def test_the_statements_of_the_paper_hold_or_have_their_reason(result: Replicas) -> None:
    items: dict[str, Any] = {item["id"]: item for item in result["items"]}
    assert items["replicas-cost"]["agrees"] is True
    assert items["replicas-asleep"]["ours"] > 0.5
    assert items["replicas-power"]["ours"] > 1
    assert all(item["agrees"] or item["reason"] for item in items.values())


def test_the_csv_has_each_rate_and_the_screen_says_when_it_pays(run: Run) -> None:
    command = ["cost", "replicas", *WORDS, "--requests", "500", "--buffer", "64MiB"]
    rows = list(csv.DictReader(io.StringIO(run(*command, "--rates", "1,0.1", "--csv", "-").out)))
    assert [float(row["speed"]) for row in rows] == [0.1, 1]
    assert {row["pays"] for row in rows} == {"true"}
    shown = run(*command, "--rates", "1,0.1").out
    assert "keeps up and uses less energy than one that is awake at all of these rates" in shown
    assert "standby saves energy from 13.2 s of idle time on" in shown


def test_a_disk_that_cannot_keep_up_does_not_pay() -> None:
    report = gordon.cost.replicas(**LOAD, buffer="256MiB", rates=[0.1, 1, 1000]).report
    limit = report["limits"]["keeps_up_bytes_per_s"]
    assert limit is not None
    assert report["by_rate"][-1]["write_bytes_per_s"] > limit
    assert [row["pays"] for row in report["by_rate"]] == [True, True, False]
    below = report["pays_below_bytes_per_s"]
    assert below is not None
    assert report["by_rate"][1]["write_bytes_per_s"] < below <= limit


def test_a_load_shorter_than_a_batch_does_not_say_whether_disks_pay(run: Run) -> None:
    command = ["cost", "replicas", *WORDS, "--requests", "200", "--buffer", "256MiB"]
    ran = run(*command, "--rates", "1,10")
    assert "when sleeping disks pay is unknown" in ran.out
    assert "note: the load ends before a batch is due" in ran.out
    report = json.loads(run(*command, "--rates", "1,10", "--json", "-").out)
    assert [row["pays"] for row in report["by_rate"]] == [None, None]


def test_a_trace_gives_the_same_bytes_again(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "own.csv"
    lines = [f"{n},W,{n * 2048},1048576" for n in range(100)]
    trace.write_text("\n".join(lines) + "\n")
    columns = ["--columns", "time=1:s,op=2,lba=3:512B,size=4:B"]
    command = ["cost", "replicas", str(trace), *columns, "--buffer", "30MiB", "--rates", "1"]
    first = run(*command, "--json", "-").out
    assert first == run(*command, "--json", "-").out
    report: dict[str, Any] = json.loads(first)
    assert report["written_bytes"] == report["batches"]["bytes"] == 100 << 20
    assert report["batches"]["full"] == 3
    assert report["provenance"]["trace"]["requests"] == 100


def test_a_load_that_cannot_be_copied_is_refused(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "own.csv"
    columns = ["--columns", "time=1:s,op=2,lba=3:512B,size=4:B"]
    command = ["cost", "replicas", str(trace), *columns]
    trace.write_text("0,R,0,4096\n1,R,8,4096\n")
    run(*command).refused("impossible", str(trace), "no writes")
    trace.write_text("0,W,0,4096\n0,W,8,4096\n")
    run(*command).refused("impossible", str(trace), "no rate")
    trace.write_text("0,W,0,4096\n1,W,900000000,4096\n")
    run(*command).refused("impossible", str(trace), "--fit wrap")
    assert run(*command, "--fit", "wrap", "--rates", "1").status == 0
    run("cost", "replicas").refused("one-load")
    run("cost", "replicas", str(trace), *WORDS).refused("one-load")
    run("cost", "replicas", *WORDS[:4], "--requests", "10").refused("impossible", "--every")


def test_bad_options_are_refused(run: Run, tmp_path: Path) -> None:
    def refused(*words: str, kind: str, named: str, status: int = 1) -> None:
        run("cost", "replicas", *WORDS, "--requests", "10", *words).refused(
            kind, named, status=status
        )

    refused("--flash", "none", kind="unknown-name", named="none")
    refused("--disk", "none", kind="unknown-name", named="none")
    refused("--disk", "laptop-7200-320gb", kind="impossible", named="--disk")
    refused("--buffer", "1TiB", kind="impossible", named="--buffer")
    refused("--buffer", "much", kind="bad-size", named="--buffer")
    refused("--max-age", "0s", kind="impossible", named="--max-age")
    refused("--link", "fast", kind="bad-quantity", named="--link fast")
    refused("--link", "0Gb", kind="bad-number", named="--link 0Gb")
    refused("--rates", "1,x", kind="bad-number", named="--rates")
    refused("--rates", "-1", kind="impossible", named="--rates")
    refused("--replicas", "1", kind="", named="--replicas", status=2)
    refused("--price-kwh", "-1", kind="", named="--price-kwh", status=2)
    with raises("bad-number", "--flash-price"):
        gordon.cost.replicas(**LOAD, flash_price=-1)
