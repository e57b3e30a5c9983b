"""`gordon flash probe`, `fit`, `validate`: a simulated device is found again, tables, bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon import device_file
from gordon.flash.device import changed
from gordon.quantity import value
from gordon.storage import fit
from gordon.storage.fit import points as logs
from gordon.storage.fit.search import Search

from conftest import Run, raises

#: A small array, so that a simulation takes little time.
SMALL: dict[str, Any] = changed("nvme-tlc-1tb", ["capacity=256GB"])
OTHER = {
    "host.latency": "30us",
    "host.link": "3GB",
    "geometry.buses": 4,
    "timing.read": "90us",
    "timing.program": "800us",
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some points of the other device, as a table."""
    place = tmp_path_factory.mktemp("probe")
    fit.probe(None, place / "all.parquet", device=SMALL, set=OTHER)
    points = logs.read(place / "all.parquet").points
    assert len(points) == 80
    rows = [
        f"{one.pattern},{one.size}B,{one.depth},{one.mb_s}"
        for one in points
        if one.size in (4096, 65536, 1 << 20) and one.depth in (1, 16)
    ]
    table = place / "some.csv"
    table.write_text("\n".join(["pattern,size,depth,mb_s", *rows]) + "\n")
    return table


@pytest.fixture(scope="module")
def found(log: Path) -> fit.Fit:
    return fit.fit(log, like=SMALL)


def test_a_simulated_device_is_found_again(found: fit.Fit) -> None:
    errors = found["errors"][0]
    assert (errors["pattern"], errors["points"]) == ("all", 24)
    assert errors["median"] < 0.03, errors
    of = {one["key"]: one for one in found["values"]}
    for key, wanted in (("host.latency", 30e3), ("host.link", 3e9), ("timing.read", 90e3)):
        assert of[key]["determined"], of[key]
        assert of[key]["value"] == pytest.approx(wanted, rel=0.1), of[key]
        assert (of[key]["low"] or 0) <= of[key]["value"] <= (of[key]["high"] or 1e18)
    dies = of["geometry.buses"]["value"] * of["geometry.packages_per_bus"]["value"]
    assert dies == pytest.approx(8, rel=0.3)
    assert dies / of["timing.program"]["value"] == pytest.approx(8 / 800e3, rel=0.1)


def test_the_file_of_a_fit_is_a_device_without_what_was_not_measured(
    found: fit.Fit, tmp_path: Path
) -> None:
    file = tmp_path / "found.toml"
    file.write_text(found.toml)
    loaded = gordon.flash.load(file)
    latency = next(one for one in found["values"] if one["key"] == "host.latency")
    assert value(loaded["host"]["latency"]) == f"{round(latency['value'])}ns"
    assert "fitted" in loaded["host"]["latency"]["assumed"]
    assert not {"price", "embodied_kg", "rated_life_years"} & loaded.keys()
    assert value(loaded["endurance"]["erase_budget"]) == 3000
    ran = gordon.flash.bench("random-read", file, requests=100)
    assert ran["requests"] == 100


def test_the_same_log_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    table = tmp_path / "sheet.csv"
    table.write_text("pattern,size,depth,iops\nrandom-read,4k,1,9000\nrandom-write,4k,8,90000\n")
    first, again = (fit.fit(table, like=SMALL) for _ in range(2))
    assert (again.toml, again.report) == (first.toml, first.report)


def test_values_that_the_points_do_not_depend_on_are_those_of_the_start(tmp_path: Path) -> None:
    table = tmp_path / "sheet.csv"
    table.write_text("pattern,size,depth,latency_us\nrandom-read,4KiB,1,120\n")
    made = fit.fit(table, like=SMALL)
    assert made["points"][0]["measured_mb_s"] == pytest.approx(4096 / 120)
    assert made["errors"][0]["largest"] < 0.05
    of = {one["key"]: one for one in made["values"]}
    assert "timing.program" not in of
    for key in ("geometry.buses", "geometry.packages_per_bus"):
        assert not of[key]["determined"], of[key]
        assert of[key]["value"] == of[key]["start"]
        assert (of[key]["low"], of[key]["high"]) == (None, None)
    assert any("no writes" in warning for warning in made["warnings"])
    assert any("geometry.buses" in warning for warning in made["warnings"])


def test_rates_of_a_table_are_bandwidths(tmp_path: Path) -> None:
    table = tmp_path / "sheet.csv"
    table.write_text(
        "pattern, size, depth, mb_s, iops, latency_us\n"
        "sequential-read, 128k, 32, 3000,,\n"
        "random-read, 4KiB, 64,, 500000,\n"
        "random-write, 4KiB, 2,,, 16\n"
    )
    read = logs.read(table)
    assert [(one.pattern, one.size, one.depth, one.mb_s) for one in read.points] == [
        ("sequential-read", 131072, 32, 3000.0),
        ("random-read", 4096, 64, 2048.0),
        ("random-write", 4096, 2, 512.0),
    ]


def test_the_tables_of_a_characterisation_are_logs(tmp_path: Path) -> None:
    measured = gordon.storage.characterise(
        preset=SMALL, sizes="4KiB,1MiB", depths=[4], patterns=["random-read"]
    )
    measured.to_parquet(tmp_path / "tables")
    (tmp_path / "points.csv").write_text(measured.to_csv())
    of_parquet = logs.read(tmp_path / "tables/points.parquet")
    assert logs.read(tmp_path / "points.csv").points == of_parquet.points
    assert [(one.size, one.depth) for one in of_parquet.points] == [(4096, 4), (1 << 20, 4)]


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ("", "missing-column", "pattern"),
        ("pattern,size,depth,mb_s\n", "empty-log", "no points"),
        ("pattern,size,depth,mbs\nrandom-read,4k,1,5\n", "unknown-name", "mbs"),
        ("pattern,size,mb_s\nrandom-read,4k,5\n", "missing-column", "depth"),
        ("pattern,size,depth,mb_s\nrandomread,4k,1,5\n", "unknown-name", "row 1"),
        ("pattern,size,depth,mb_s\nrandom-read,4x,1,5\n", "", "row 1: size"),
        ("pattern,size,depth,mb_s\nrandom-read,4k,1.5,5\n", "bad-number", "depth 1.5"),
        ("pattern,size,depth,mb_s\nrandom-read,4k,one,5\n", "bad-number", "`one`"),
        ("pattern,size,depth,mb_s\nrandom-read,4k,1,nan\n", "out-of-range", "rate nan"),
        ("pattern,size,depth,mb_s\nrandom-read,4k,1,0\n", "out-of-range", "rate 0"),
        ("pattern,size,depth,mb_s\nrandom-read,4k,1,\n", "bad-table", "0 of mb_s"),
        ("pattern,size,depth,mb_s,iops\nrandom-read,4k,1,5,6\n", "bad-table", "2 of mb_s"),
        ("pattern,size,depth,latency_us\nrandom-read,4k,1,0\n", "out-of-range", "rate 0"),
        ("pattern,size,depth,mb_s\nrandom-read,4k,1,5,6\n", "bad-table", "more cells"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, text: str, kind: str, named: str) -> None:
    table = tmp_path / "sheet.csv"
    table.write_text(text)
    with pytest.raises(gordon.GordonError) as failed:
        fit.fit(table, like=SMALL)
    assert named in failed.value.message, failed.value.message
    if kind:
        assert failed.value.kind == kind


def test_what_is_not_a_log_is_refused(tmp_path: Path) -> None:
    with raises("unreadable-file", "none"):
        fit.fit(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with raises("bad-table", "bytes"):
        fit.fit(tmp_path / "bytes")
    gordon.cost.petabyte().to_parquet(tmp_path / "cost")
    with raises("missing-column", "pattern"):
        fit.fit(tmp_path / "cost/media.parquet")


def test_an_array_that_cannot_be_is_not_simulated() -> None:
    def simulate(_: object) -> list[float]:
        raise AssertionError("it was simulated")

    small = changed("nvme-tlc-1tb", ["capacity=64GB"])
    tried = Search(small, [logs.Observed("random-read", 4096, 1, 50.0)], simulate)
    huge = {knob: knob.get(small) if knob.unit else knob.most for knob in tried.knobs}
    assert tried.error_at(huge) == float("inf")


def test_a_storage_that_no_device_follows_is_doubted(tmp_path: Path) -> None:
    table = tmp_path / "odd.csv"
    rows = [f"random-read,4KiB,{1 << at},{(1, 1000)[at % 2]}" for at in range(8)]
    table.write_text("\n".join(["pattern,size,depth,mb_s", *rows]) + "\n")
    assert any("may not be flash" in one for one in fit.fit(table, like=SMALL)["warnings"])


def test_a_directory_is_measured_and_left_as_it_was(tmp_path: Path, run: Run) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    log, device = tmp_path / "ssd.parquet", tmp_path / "small.toml"
    short = ("--seconds", "0.005", "--span", "8MiB")
    ran = run(*_words("probe", place, "-o", log, *short))
    assert ran.status == 0, ran.err
    read = logs.read(log)
    assert (len(read.points), read.span) == (80, 8 << 20)
    device.write_text(device_file.text(["small"], SMALL))
    ran = run(*_words("validate", device, place, *short, "--json", "-"))
    assert ran.status == 0, ran.err
    assert list(place.iterdir()) == []
    found = json.loads(ran.out)
    assert [one["pattern"] for one in found["errors"][:2]] == ["all", "sequential-read"]
    assert [one["points"] for one in found["errors"][:2]] == [80, 20]
    for point in found["points"]:
        ratio = point["simulated_mb_s"] / point["measured_mb_s"]
        assert point["ratio"] == pytest.approx(ratio)
    assert found["provenance"]["device"] == "small"


def test_the_screen_of_a_fit_has_its_values_and_errors(tmp_path: Path, run: Run) -> None:
    table, device = tmp_path / "sheet.csv", tmp_path / "small.toml"
    table.write_text("pattern,size,depth,latency_us\nrandom-read,4KiB,1,120\n")
    device.write_text(device_file.text(["small"], SMALL))
    out = tmp_path / "fitted.toml"
    ran = run(*_words("fit", table, "--like", device, "-o", out, "--json", tmp_path / "fit.json"))
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert "fitted to 1 point; start: small" in lines[0]
    assert any(line.startswith("geometry.buses") and "not determined" in line for line in lines)
    assert any(line.startswith("all ") for line in lines)
    made = json.loads((tmp_path / "fit.json").read_text())
    assert made["provenance"] | {"version": ""} == {
        "version": "",
        "log": str(table),
        "like": "small",
        "seed": 1,
    }
    assert gordon.flash.load(out)["summary"] == "Flash device fitted to sheet.csv"


def test_a_file_that_exists_is_only_read(tmp_path: Path, run: Run) -> None:
    dear = tmp_path / "dear.db"
    dear.write_bytes(bytes(range(256)) * 4096)
    before = dear.read_bytes()
    ran = run(*_words("probe", dear, "-o", tmp_path / "log.parquet", "--seconds", "0.002"))
    assert ran.status == 0, ran.err
    assert "only read" in ran.err
    assert dear.read_bytes() == before
    patterns = {one.pattern for one in logs.read(tmp_path / "log.parquet").points}
    assert patterns == {"sequential-read", "random-read"}


def test_one_storage_is_probed(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    assert run(*_words("probe", "-o", log)).status == 2
    assert run(*_words("probe", tmp_path, "--preset", "nvme-tlc-1tb", "-o", log)).status == 2
    ran = run(*_words("probe", tmp_path / "none", "-o", log))
    assert (ran.status, "none" in ran.err) == (1, True), ran.err
    assert not log.exists()


def _words(*words: object) -> list[str]:
    return ["flash", *map(str, words)]
