"""Spaces: Table 5's grid, names, bad files, settings."""

from pathlib import Path

import pytest

from spaces import GRID
from surveyed import of_grid

from conftest import Run

PAPER = ("--space", "gordon-2009")


def test_table_5_is_84_designs(trace: str) -> None:
    from gordon import survey
    from gordon.survey import space

    assert space.count(space.load("gordon-2009")) == 84
    ids = [d["id"] for d in of_grid(survey.run([trace], space="gordon-2009"))["designs"]]
    assert len(ids) == 84 == len(set(ids))
    assert {"atom-1.9GHz-x1-flash", "core2-2.4GHz-x4-disk1", "core2-0.6GHz-x2-disk4"} <= set(ids)
    assert sum(id.endswith("flash") for id in ids) == 7 * 3


def test_baseline_is_found_however_its_clock_is_written(tmp_path: Path, trace: str) -> None:
    from gordon import survey

    (tmp_path / "own.toml").write_text(GRID.replace('"40W"', '"400W"'))
    result = of_grid(survey.run([trace], space=str(tmp_path / "own.toml")))
    ids = [d["id"] for d in result["designs"]]
    assert ids == [f"atom-1.9GHz-x1-{s}" for s in ("flash", "disk1", "disk2")]
    assert result["baseline"]["id"] == ids[1]


def test_a_baseline_outside_the_space_is_simulated_but_not_a_design(
    tmp_path: Path, trace: str
) -> None:
    from gordon import survey

    text = GRID.replace(
        'storage = "sata-7200-1tb", count = 1', 'storage = "sata-7200-1tb", count = 4'
    )
    (tmp_path / "own.toml").write_text(text.replace('"40W"', '"400W"'))
    result = of_grid(survey.run([trace], space=str(tmp_path / "own.toml")))
    assert len(result["designs"]) == 3
    assert result["baseline"]["id"] == "atom-1.9GHz-x1-sata-7200-1tb-x4"
    assert result["baseline"]["id"] not in {d["id"] for d in result["designs"]}


def test_designs_over_the_budget_are_left_out_and_reported(tmp_path: Path, trace: str) -> None:
    from gordon import survey

    (tmp_path / "own.toml").write_text(GRID)
    result = of_grid(survey.run([trace], space=str(tmp_path / "own.toml")))
    assert result["space"]["over_budget"] == ["atom-1.9GHz-x1-disk2"]
    assert [d["id"] for d in result["designs"]] == ["atom-1.9GHz-x1-flash", "atom-1.9GHz-x1-disk1"]
    assert "atom-1.9GHz-x1-disk2" not in result["named"].values()


@pytest.mark.parametrize(
    ("space", "what", "hint"),
    [
        ("gordon-2008", "no space `gordon-2008`", "try: `gordon-2009`"),
        ("missing.toml", "cannot read the space missing.toml: No such file", "gordon spaces"),
        ("unknown-key.toml", "unknown-key.toml, line 7: unknown field `procesors`", "`processors`"),
        ("no-part.toml", "no cpu part `atomm`", "try: `atom`"),
        ("twice.toml", "two designs `atom-1.9GHz-x1-disk1`", "its own label"),
        ("none.toml", "the space has no design", "at least one"),
        ("clock.toml", "clock.toml, line 7: `fast`: expected a number and a unit", ""),
        ("poor.toml", "space `own` needs more than the budget of 1 W", "--set budget="),
        ("text.toml", "not a text file", ""),
    ],
)
def test_bad_spaces_are_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, trace: str, space: str, what: str,
    hint: str,
) -> None:  # fmt: skip
    files = {
        "unknown-key.toml": GRID.replace("processors", "procesors"),
        "no-part.toml": GRID.replace('part = "atom"', 'part = "atomm"'),
        "twice.toml": GRID.replace("counts = [1, 2]", "counts = [1, 2, 1]"),
        "none.toml": GRID.replace('["1.9GHz"]', "[]"),
        "clock.toml": GRID.replace('["1.9GHz"]', '["fast"]'),
        "poor.toml": GRID.replace("40W", "1W"),
    }
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "text.toml").write_bytes(b"\xff\xfe")
    ran = run("survey", trace, "--space", space, "--json", "out.json")
    assert ran.status == 1
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert what in ran.err
    assert hint in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out.json").exists()


def test_settings_change_space_and_parts(trace: str) -> None:
    from gordon import survey

    plain = of_grid(survey.run([trace], space="gordon-2009"))
    changed = of_grid(
        survey.run([trace], space="gordon-2009", set=["cpu.atom.ipc=1.0", "budget=60W"])
    )
    slow, fast = (
        next(d for d in r["designs"] if d["id"] == "atom-0.8GHz-x1-flash")["sync"]["time_s"]
        for r in (plain, changed)
    )
    assert fast < 0.6 * slow
    assert changed["space"]["over_budget"]
    row = next(p for p in changed["parameters"] if (p["part"], p["key"]) == ("atom", "ipc"))
    assert (row["value"], row["origin"]) == (1.0, "assumed")
    assert "--set" in row["why"]


def test_a_setting_may_add_a_key_that_the_schema_has(trace: str) -> None:
    from gordon import survey

    result = of_grid(
        survey.run([trace], space="gordon-2009", set=["overhead.gordon-2009.ratio=1.5"])
    )
    assert result["sensitivity"]["used"] == 1.5
    assert result["sensitivity"]["text"] == ""


@pytest.mark.parametrize(
    ("setting", "what", "hint"),
    [
        ("budget", "--set budget: not KEY=VALUE", "cpu.atom.ipc=0.6"),
        ("bugdet=3W", "`bugdet`", "try: `budget`"),
        ("cpu.atum.ipc=1", "no cpu part `atum`", "try: `atom`"),
        ("cpu.atom.icp=1", "key `icp`", "try: `ipc`"),
        ("disk.sata-7200-1tb.pwer.idle=1W", "table `pwer`", "try: `power`"),
        ("disk.sata-7200-1tb.power=1W", "`power` is a table", "one by one"),
        ("budget=many", "--set budget=many: expected a number and a unit", "19W"),
        ("node.memory=ddr9", "no memory part `ddr9`", "ddr2-2gib"),
    ],
)
def test_bad_settings_are_one_clear_error(
    run: Run, trace: str, setting: str, what: str, hint: str
) -> None:
    ran = run("survey", trace, *PAPER, "--set", setting)
    assert ran.status == 1
    assert what in ran.err
    assert hint in ran.err


def test_a_changed_part_moves_only_designs_that_have_it(trace: str) -> None:
    """The overhead ratio stays fitted to the machines as they were."""
    from gordon import survey

    before = of_grid(survey.run([trace], space="gordon-2009"))
    change = "flash.gordon-slc-256g.power.die_active=0.4W"
    after = of_grid(survey.run([trace], space="gordon-2009", set=[change]))
    for old, new in zip(before["designs"], after["designs"], strict=True):
        if old["storage_kind"] == "disk":
            assert new["sync"] == old["sync"]
        else:
            assert new["sync"]["energy_j"] > old["sync"]["energy_j"]
            assert new["max_node_power_w"] > old["max_node_power_w"]


def test_a_space_may_be_a_list_of_machines_alone(tmp_path: Path, run: Run, trace: str) -> None:
    own = tmp_path / "lab.toml"
    own.write_text(
        '[[machines]]\nid = "m5.large"\ncores = 2\ncore_speed = 1.0\nmemory = "8GiB"\n'
        'storage = { bandwidth = "131MB", latency = "1ms" }\nnetwork = "10Gb"\n'
        'price_per_hour = 0.096\nidle = "4W"\nactive = "20W"\n'
    )
    ran = run("survey", trace, "--space", str(own))
    assert ran.status == 0, ran.err
    assert "1 machine of lab" in ran.out
