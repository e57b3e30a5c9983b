"""`gordon flash`: what is wrong is one clear error; what is odd may be taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gordon import flash, settings

from conftest import SMALL, Json, Run, mqsim, raises


@pytest.mark.parametrize(
    ("setting", "what", "hint"),
    [
        ("write_points=4", "no key `write_points`", "try: `ftl.write_points`"),
        ("ftl.write_pionts=4", "no key `write_pionts`", "try: `write_points`"),
        ("flt.write_points=4", "no table `flt`", "try: `ftl`"),
        ("ftl=4", "`ftl` is a table", "one by one"),
        ("ftl.write_points", "not KEY=VALUE", "--set ftl.write_points=4"),
        ("ftl.write_points=many", "--set ftl.write_points=many: expected a whole number", ""),
        ("ftl.victim=gredy", "--set ftl.victim=gredy: expected one of", "try: `greedy`\n"),
        ("ftl.victim=1", "--set ftl.victim=1: expected one of `greedy`", ""),
        ("capacity=much", "--set capacity=much: expected a number and a unit", ""),
        ("timing.read=foo", "--set timing.read=foo: expected a number and a unit", ""),
        ("timing.read=25", "--set timing.read=25: expected a time in quotes", ""),
        ("timing.read=[25]", "--set timing.read=[25]: expected a quantity with its unit", ""),
        ("ftl.bypass=1", "--set ftl.bypass=1: expected a boolean", ""),
        ("host.latency=inf", "not a finite number", "--set host.latency=25us"),
        ("price=nan", "not a finite number", "--set price=1.5"),
    ],
)
def test_bad_settings_are_one_clear_error(run: Run, setting: str, what: str, hint: str) -> None:
    ran = run("flash", "bench", "--pattern", "mixed", "--set", setting)
    assert (ran.status, ran.out) == (1, "")
    assert what in ran.err
    assert hint in ran.err
    assert ran.err.startswith("error: ")


@pytest.mark.parametrize("text", ["nan", "1e400", "12", "true", "[1, 2]"])
def test_a_text_may_look_like_another_value(text: str) -> None:
    made: dict[str, Any] = {}
    settings.change("flash", made, "summary", text)
    assert made == {"summary": text}
    # A word of a list that looks like one is the error of the word.
    with raises("config-error", "ftl.victim", "`greedy`"):
        settings.change("flash", made, "ftl.victim", text)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("spare", "0.2", 0.2),
        ("spare", "20%", "20%"),
        ("ftl.bypass", "false", False),
        ("ftl.write_points", "4", 4),
        ("timing.read", '["5us", "6us"]', ["5us", "6us"]),
        ("timing.read", "5us", "5us"),
    ],
)
def test_the_schema_says_how_a_value_is_read(path: str, text: str, value: object) -> None:
    made: dict[str, Any] = {}
    settings.change("flash", made, path, text)
    for key in path.split("."):
        made = made[key]
    assert made["value"] == value
    assert type(made["value"]) is type(value)


@pytest.mark.parametrize(
    ("text", "args", "what"),
    [
        ("0 0 0 8 1\n10 0 many 8 1\n", (), ("bad.trace", "line 2", "`many`")),
        ("0 0 0 8 1\n10 0 8\n", (), ("bad.trace", "line 2")),
        ("0 0 0 8 1\n10 0 8 8 7\n", (), ("bad.trace", "line 2", "op (column 5)", "`7`")),
        ("50 0 0 8 1\n10 0 8 8 1\n", (), ("bad.trace", "line 2", "--order")),
        ("0 0 0 8 1\n1 0 131072 8 0\n", SMALL, ("request 2", "64MiB", "--fit wrap")),
        ("0 0 0 8 1\n1 0 131065 8 0\n", SMALL, ("request 2", "capacity=")),
        ("", ("--format", "mqsim"), ("bad.trace",)),
        ("0 0 0 8 1\n", ("--format", "mqsin"), ("mqsin",)),
        ("0 0 0 8 1\n", ("--super-page", "48KiB"), ("super-page of 49152 bytes", "multiple")),
        ("0 0 0 8 1\n", ("--set", "super_page.unit=48KiB"), ("does not divide",)),
        ("0 0 0 8 1\n", ("--set", "geometry.pages_per_block=0"), ("pages_per_block",)),
        ("0 0 0 8 1\n", ("--set", "geometry.blocks_per_plane=1"), ("give at least 625MiB",)),
        ("0 0 0 8 1\n", ("--set", "geometry.unused_blocks=9999"), ("unused_blocks", "9999 of the")),
        ("0 0 0 8 1\n", ("--preset", "gordon-slc"), ("no flash preset", "gordon-slc-256g")),
        ("0 0 0 8 1\n", ("--preset", "none.toml"), ("none.toml", "No such file")),
        ("0 0 0 8 1\n", ("--preset", "bad.toml"), ("bad.toml, line 1", "summary")),
        ("0 0 0 8 1\n", ("--speed", "0"), ("speed",)),
        (
            "0 0 0 8 1\n1 0 100000000007 8 0\n",
            (),
            ("ends at byte", "reaches to 46.6TiB", "47684GiB"),
        ),
        ("0 0 0 8 1\n", ("--split", "100B"), ("split",)),
        ("0 0 0 8 1\n", ("--closed-loop", "--gaps"), ("exclude each other",)),
        ("0 0 0 8 1\n", ("--requests-out", "no/r.parquet"), ("no folder no",)),
        ("0 0 0 8 1\n", ("--report", "."), ("it is a folder",)),
        ("0 0 0 8 1\n", ("--report", "r.pdf"), ("cannot write r.pdf", "ends in .html")),
        ("0 0 0 8 1\n", ("--requests-out", "-"), ("stdout", "name a file")),
        ("0 0 0 8 1\n", ("--parquet", "-"), ("stdout", "name a file")),
        ("0 0 0 8 1\n", ("--parquet", "bad.toml"), ("bad.toml is not a folder",)),
        ("0 0 0 8 1\n", ("--parquet", "bad.toml/a/b"), ("bad.toml is not a folder",)),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    args: tuple[str, ...],
    what: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.trace").write_text(text)
    (tmp_path / "bad.toml").write_text("sumary = 'x'\n")
    ran = run("flash", "replay", "bad.trace", *args)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("error:") == 1
    assert "Traceback" not in ran.err
    for part in what:
        assert part in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.toml", "bad.trace"]


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (("replay",), 2, "Missing argument 'TRACE'"),
        (("replay", "missing.trace"), 1, "missing.trace"),
        (("bench",), 2, "--pattern"),
        (("bench", "--pattern", "backwards"), 2, "backwards"),
        (("bench", "--pattern", "mixed", "--requests", "0"), 2, "--requests"),
        (("bench", "--pattern", "mixed", "--precondition", "1.5"), 2, "--precondition"),
        (("bench", "--pattern", "mixed", "--weights", "a,b"), 2, "`a,b`"),
        (("bench", "--pattern", "mixed", "--weights", "0"), 1, "weight 0"),
        (("bench", "--pattern", "mixed", "--size", "100B"), 1, "--size: 100B is not"),
        (("bench", "--pattern", "mixed", "--size", "4KX"), 1, "error: --size: `4KX`"),
        (("bench", "--pattern", "mixed", "--size", "4KX"), 1, "use one of KiB, MiB"),
        (("replay", "t", "--split", "4KX"), 1, "error: --split: `4KX`"),
        (("bench", "--pattern", "mixed", "--span", "1TB"), 1, "more than the device's"),
        (
            ("bench", "--pattern", "random-read", "--read-share", "1"),
            1,
            "--read-share: applies only to --pattern mixed, hot-cold and zipf",
        ),
        (
            ("bench", "--pattern", "mixed", "--speed", "2", "--closed-loop"),
            1,
            "--speed: has no effect with --closed-loop",
        ),
        (
            ("bench", "--pattern", "mixed", "--speed", "2"),
            1,
            "--speed: has no effect on a load without times",
        ),
        (("bench", "--pattern", "mixed", "--precondition", "nan"), 2, "'--precondition': nan"),
        (("bench", "--pattern", "mixed", "--speed", "inf"), 2, "'--speed': inf"),
        (("bench", "--pattern", "mixed", "--every", "0us"), 1, "every: no time between"),
        (("bench", "--pattern", "mixed", "--every", "1ms", "--gaps"), 1, "--gaps"),
        (("bench", "--pattern", "mixed", "--every", "1ms", "--closed-loop"), 1, "--closed-loop"),
        (("replay", "-"), 1, "error: standard input: a trace is read twice"),
        (("wa", "--rho", "nan"), 2, "'--rho': nan"),
        (("wa", "--rho", "1"), 1, "rho"),
        (("wa", "--policy", "best"), 2, "best"),
        (("wa", "--choices", "4"), 1, "--choices: applies only to --policy d-choices"),
        (("wa", "--policy", "d-choices", "--choices", "4097"), 1, "more than 4096"),
        (("show", "gordon"), 1, "no flash preset `gordon`"),
        (("compare", "t", "gordon-slc-256g"), 1, "at least two devices"),
        (("compare", "t", "gordon-slc-256g", "gordon-slc-256g"), 1, "the name gordon-slc-256g"),
        (("compare", "t", "gordon-slc-256g", "nvme-tlc-1tb", "--size", "4KiB"), 1, "`size`"),
        (("melt",), 2, "melt"),
    ],
)
def test_wrong_usage_is_an_error(run: Run, args: tuple[str, ...], status: int, what: str) -> None:
    ran = run("flash", *args)
    assert (ran.status, ran.out) == (status, "")
    assert what in ran.err


def test_from_python_too_numbers_are_finite() -> None:
    with raises("not-finite", "speed"):
        flash.bench("mixed", speed=float("inf"))
    with raises("not-finite", "rho"):
        flash.wa(rho=float("nan"))


def test_choices_without_effect_are_warnings(flash_report: Json) -> None:
    args = ("bench", "--pattern", "random-write", "--requests", "10", "--set", "capacity=8GiB")
    choices, greedy = ("--set", "ftl.choices=4"), ("--set", "ftl.victim=greedy")
    assert "ftl.choices=4 changes nothing" in flash_report(*args, *choices)["warnings"][0]
    for of_mqsim in (choices, greedy):
        # Those of the preset go with its policy.
        assert flash_report(*args, "--preset", "mqsim-mlc-512g", *of_mqsim)["warnings"] == []
    both = flash_report(*args, "--preset", "mqsim-mlc-512g", *greedy, *choices)
    assert "ftl.choices=4 changes nothing" in both["warnings"][0]


def test_bad_lines_are_skipped_and_counted(run: Run, flash_report: Json, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 0 0 8 1\nnonsense\n50 0 8 8 0\n40 0 16 8 0\n")
    args = ("replay", str(tmp_path / "t"), "--format", "mqsim", "--skip-bad")
    report = flash_report(*args, "--order", "sort", *SMALL)
    assert report["requests"] == 3
    assert report["provenance"]["trace"]["skipped"] == 1
    assert any("line 2" in warning for warning in report["warnings"])
    clamped = flash_report(*args, "--order", "clamp", *SMALL)
    assert clamped["provenance"]["trace"]["clamped"] == 1
    assert "warning: " in run("flash", *args, "--order", "clamp", *SMALL).err
    # Times that are not used need not be in order.
    assert flash_report(*args, "--closed-loop", *SMALL)["requests"] == 3


def test_addresses_may_wrap(flash_report: Json, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", (0, 0, 8, 1), (1000, 10**9, 8, 1))
    assert flash_report("replay", trace, "--fit", "wrap", *SMALL)["read"]["requests"] == 2


def test_only_one_device_of_a_trace(flash_report: Json, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 0 0 8 1\n10 3 8 8 0\n20 3 16 8 0\n")
    args = ("replay", str(tmp_path / "t"), *SMALL)
    assert flash_report(*args)["requests"] == 3
    assert flash_report(*args, "--device", "3")["write"]["requests"] == 2
    assert flash_report(*args, "--device", "0")["read"]["requests"] == 1
    by = flash_report(*args, "--queue-by", "device")
    assert [q["requests"] for q in by["queues"]] == [1, 2]


def test_weights_and_queues_without_effect_are_warnings(flash_report: Json, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 0 0 8 1\n10 3 8 8 0\n20 3 16 8 0\n")
    args = ("replay", str(tmp_path / "t"), *SMALL)

    def warned(*more: str) -> str:
        return "; ".join(flash_report(*args, *more)["warnings"])

    two = ("--queue-by", "device", "--weights", "3,1")
    assert "the load has 1 queue" in warned("--weights", "3,1")
    assert "--queue-depth sets no limit" in warned(*two)
    assert "with gaps no request waits" in warned(*two, "--gaps")
    assert "weights" not in warned(*two, "--queue-depth", "1")
    assert "weights" not in warned(*two, "--closed-loop")
    assert "does not say which process" in warned("--queue-by", "process")


def test_an_error_of_a_comparison_names_the_device(run: Run, tmp_path: Path) -> None:
    device = flash.text("gordon-slc-256g")
    (tmp_path / "small.toml").write_text(device.replace('"256GB"', '"1GB"').replace("16384", "80"))
    (tmp_path / "full.toml").write_text(device.replace("16384", "80"))
    (tmp_path / "t").write_text("0 0 0 8 1\n10 0 8000000 8 1\n")
    trace = str(tmp_path / "t")
    for other, says in (("small", "small: " + trace), ("full", "full: capacity: 256GB is more")):
        ran = run("flash", "compare", trace, "gordon-slc-256g", str(tmp_path / f"{other}.toml"))
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.startswith(f"error: {says}")
    (tmp_path / "t").write_text("0 0 0 8 1\n10 0 8 8 7\n")
    ran = run("flash", "compare", trace, "gordon-slc-256g", "nvme-tlc-1tb")
    assert ran.err.startswith(f"error: {trace}, line 2: op "), "it is no device's"
