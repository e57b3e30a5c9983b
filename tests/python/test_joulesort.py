"""The benchmark by its rules: what a sort has to hold, what the figure is made of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from browser import parts, result_of
from gordon import joulesort
from gordon.cli.joulesort_view import clock
from gordon.energy.command import Command
from gordon.energy.series import Series, Span
from gordon.files import forget
from gordon.joulesort import files, phases, rules, run
from gordon.joulesort.page import page
from gordon.joulesort.page import power as watts
from limits import PATIENCE_S
from steady import AWAIT, install

from conftest import Ran, gordon, raises


@pytest.fixture(autouse=True)
def steady(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch.setattr, tmp_path_factory.mktemp("steady"))


WALL = "command:while :; do echo 50; sleep 0.02; done"
#: Sorts records of 100 bytes by their first 10, as anyone would.
PLAIN = """
import sys
data = open(sys.argv[1], "rb").read()
records = sorted((data[i:i + 100] for i in range(0, len(data), 100)), key=lambda r: r[:10])
{spoil}
open(sys.argv[2], "wb").write(b"".join(records))
"""


def sorter(folder: Path, spoil: str = "") -> list[str]:
    script = folder / "plain.py"
    script.write_text(PLAIN.format(spoil=spoil))
    return [sys.executable, str(script), "{in}", "{out}"]


def bench(folder: Path, **changes: Any) -> joulesort.Result:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    given = {"records": 3000, "runs": 2, "meters": ["model"], "idle_s": 0, "tail_s": 0}
    return joulesort.benchmark(folder=data, **{**given, **changes})


def broken(result: joulesort.Result) -> set[str]:
    return {check["what"] for check in result.report["checks"] if check["held"] is False}


def storage(folder: Path) -> bool:
    """Temporary folders may lie in memory, which the benchmark refuses to call storage."""
    return files.durable_place(folder) is not None


def test_the_figure_is_mean_power_times_mean_time(tmp_path: Path) -> None:
    result = bench(tmp_path, runs=3, meters=[WALL], idle_s=0.3)
    report: Any = result.report
    if not storage(tmp_path):
        assert report["result"] is None
        return
    rate, watts = report["result"]["records_per_joule"]["value"], report["result"]["mean_w"]["mean"]
    assert watts == pytest.approx(50)
    assert rate == pytest.approx(3000 / (50 * report["time_s"]["mean"]))
    assert report["time_s"]["mean"] == pytest.approx(sum(r["wall_s"] for r in report["runs"]) / 3)
    assert len({run["duplicates"] for run in report["runs"]}) == 1
    assert broken(result) == set()
    assert list((tmp_path / "data").iterdir()) == []


def test_every_run_is_shaded_however_short(tmp_path: Path) -> None:
    """The samples of the meter are further apart than a run is long, so most runs have none."""
    slow = "command:while :; do echo 50; sleep 0.3; done"
    meter = {"meters": [slow], "idle_s": 0.4, "tail_s": 0.4}
    result = bench(tmp_path, runs=3, command=sorter(tmp_path), **meter)
    spans = [(run["begin_s"], run["end_s"]) for run in result.report["runs"]]
    shapes = watts(result.rows, spans)["layout"]["shapes"]
    assert [(shape["x0"], shape["x1"]) for shape in shapes] == spans
    for one in result.report["runs"]:
        assert one["end_s"] - one["begin_s"] == pytest.approx(one["wall_s"])
    assert parts(page(result.report, result.rows))["result"].count('"yref":"paper"') == 3


def test_another_sort_in_its_place(tmp_path: Path) -> None:
    report = bench(tmp_path, command=sorter(tmp_path), keep=True).report
    data = tmp_path / "data"
    assert report["command"][-2:] == [str(data / name) for name in (run.INPUT, run.OUTPUT)]
    assert sorted(path.name for path in data.iterdir()) == [run.INPUT, run.OUTPUT]
    kept = (data / run.OUTPUT).read_bytes()
    for path in data.iterdir():
        path.unlink()
    ours = bench(tmp_path, keep=True).report
    assert ours["input"]["checksum"] == report["input"]["checksum"]
    assert (data / run.OUTPUT).read_bytes() == kept


@pytest.mark.parametrize(
    ("spoil", "what", "failure"),
    [
        ("records.reverse()", "output in order", "output is not in order"),
        (
            "records.pop()",
            "output has the same records as the input",
            "records are missing, duplicated or changed",
        ),
        (
            "records[7] = records[8]",
            "output has the same records as the input",
            "records are missing, duplicated or changed",
        ),
        ("open(sys.argv[1], 'r+b').write(data)", "input unchanged", "input was changed"),
        ("open(sys.argv[1], 'r+b').write(b'x')", "input unchanged", "input was changed"),
    ],
)
def test_violated_checks_are_found(tmp_path: Path, spoil: str, what: str, failure: str) -> None:
    result = bench(tmp_path, command=sorter(tmp_path, spoil))
    checks = result.report["checks"]
    assert failure in {check["failure"] for check in checks if check["held"] is False}
    assert not result.holds
    assert what in {check["what"] for check in result.report["failed"]}
    # There is no figure of what was not sorted.
    assert result.report["result"] is None
    assert all(meter["records_per_joule"] is None for meter in result.report["meters"])
    energy = result.report["meters"][0]["energy_j"]
    assert energy is not None
    assert energy["mean"] > 0
    text = page(result.report, result.rows)
    shown = text.split("<script")[0]
    assert "<h1>No result</h1>" in shown
    assert "<title>JouleSort: no result</title>" in shown
    assert shown.index(f"<b>{failure}</b>") < shown.index("Power over time")
    assert "records per joule" not in shown.lower()


@pytest.mark.parametrize(
    ("spoil", "evidence"),
    [
        ("records.reverse()", "run 1: 2,999 of 3,000 records have a key smaller than"),
        ("records.pop()", "run 1: 2,999 records instead of 3,000"),
        ("records[7] = records[8]", "run 1: sum of CRC-32s "),
    ],
)
def test_a_failed_check_shows_what_was_found(tmp_path: Path, spoil: str, evidence: str) -> None:
    failed = bench(tmp_path, command=sorter(tmp_path, spoil)).report["failed"]
    assert any(check["how"].startswith(evidence) for check in failed)


def test_a_command_that_does_not_sort_is_reported_first(tmp_path: Path) -> None:
    ran = small(tmp_path, "--", "cp", "{in}", "{out}")
    assert ran.status == 1
    lines = ran.out.splitlines()
    first = next(line for line in lines if "output is not in order" in line)
    assert lines.index(first) < next(n for n, line in enumerate(lines) if "JouleSort" in line)
    assert "of 5,000 records have a key smaller than" in first
    (row,) = [line for line in lines if line.startswith("output in order")]
    assert "FAILED" in row


def test_looking_for_cached_pages_reads_none(tmp_path: Path) -> None:
    """A small file has fewer pages than places that are looked at."""
    source = tmp_path / "in"
    source.write_bytes(bytes(300_000))
    if not storage(tmp_path):
        pytest.skip("files in memory stay there")
    assert files.cached(source) == 1
    for _ in range(20 * PATIENCE_S):
        forget(source)
        if files.cached(source) == 0:
            break
        time.sleep(0.05)
    # Looking starts no read either, which would end soon.
    for _ in range(20):
        assert files.cached(source) == 0
        time.sleep(0.01)


def test_outputs_that_differ_between_runs(tmp_path: Path) -> None:
    """The second run doubles a record: its sum and its count of duplicates differ."""
    second = "import os\nif os.path.exists('second'): records[7] = records[8]"
    spoil = f"{second}\nopen('second', 'w').close()"
    script = [*sorter(tmp_path, spoil)]
    command = ["sh", "-c", f'cd {tmp_path} && exec "$@"', "sh", *script]
    assert {
        "same number of duplicate keys in all runs",
        "output has the same records as the input",
    } <= broken(bench(tmp_path, command=command))


def test_skewed_keys_make_it_daytona(tmp_path: Path) -> None:
    report: Any = bench(tmp_path, skewed=True, records=500_000, runs=1).report
    skewed = report["skewed"]
    assert skewed["right"]
    assert skewed["duplicates"] > 0
    ratio = skewed["wall_s"] / report["time_s"]["mean"]
    assert skewed["time_ratio"] == pytest.approx(ratio)
    assert report["category"]["class"] == ("Daytona" if ratio <= run.MOST_SKEWED else "Indy")


@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_to_the_sort_ends_the_benchmark(tmp_path: Path, number: int) -> None:
    ran = small(tmp_path, "--", "sh", "-c", f"kill -{number} $$", "sh", "{in}", "{out}")
    assert ran.status == 128 + number, ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_sort_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with raises("sort-failed", "did not write"):
        bench(tmp_path, command=["true", "{in}", "{out}"])
    with raises("sort-failed", "status 3"):
        bench(tmp_path, command=["sh", "-c", "cp $1 $2; exit 3", "sh", "{in}", "{out}"])
    assert list((tmp_path / "data").iterdir()) == []


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / run.OUTPUT).write_text("mine")
    with raises("exists", str(tmp_path), run.OUTPUT):
        joulesort.benchmark(records=10, folder=tmp_path, meters=["model"])
    assert (tmp_path / run.OUTPUT).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [run.OUTPUT]


def test_what_a_killed_benchmark_left_is_removed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    words = ["joulesort", "--records", "1000", "--runs", "1", "--meter", "model", "--dir", "data"]
    words += ["--idle", "0", "--tail", "0", "--", "sh", "-c", "cp $1 $2; sleep 60", "sh"]
    with subprocess.Popen(
        [sys.executable, "-m", "gordon", *words, "{in}", "{out}"],
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + PATIENCE_S
        while not (data / run.OUTPUT).exists() and time.monotonic() < end:
            time.sleep(0.01)
        # The folder is in use.
        with raises("in-use", str(data)):
            bench(tmp_path)
        os.killpg(process.pid, signal.SIGKILL)
    assert {path.name for path in data.iterdir()} == {run.INPUT, run.OUTPUT, files.LOCK}
    lines: list[str] = []
    bench(tmp_path, notify=lines.append)
    assert f"removed {run.INPUT}, left by a killed benchmark" in lines
    assert list(data.iterdir()) == []


def test_the_file_of_phases_is_not_announced(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bench(tmp_path)
    assert "wrote " not in capfd.readouterr().err


def test_no_room(tmp_path: Path) -> None:
    with raises("no-space", "200000000.0 GB"):
        bench(tmp_path, records=10**15)


def test_a_command_names_its_files(tmp_path: Path) -> None:
    with raises("no-placeholders", "{in}", "{out}"):
        bench(tmp_path, command=["sort", "{in}"])


def test_cached_files_are_detected(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(4 << 20))
    if files.cached(path) is None or not storage(tmp_path):
        pytest.skip("this file system does not say what is in memory")
    assert files.cached(path) == 1
    forget(path)
    share = files.cached(path)
    assert share is not None
    assert share < 0.1


def needs(**changed: Any) -> dict[str, bool]:
    report: Any = {
        "category": rules.category(10**8),
        "runs": [{}] * 5,
        "skewed": {"held": True, "time_ratio": 1.1},
        "checks": [{"held": True}, {"held": None}],
    } | changed
    meter: Any = {"name": "command:x", "measures": "it: the wall", "how": "measured"}
    meter |= {"resolution_s": 1.0} | changed.pop("meter", {})
    return {need.what: need.have for need in rules.needs(report, meter)}


WORDS = {
    "the power factor, once per second",
    "a meter of known accuracy, named in the report",
    "checksum and duplicates by valsort itself",
    "a description: ambient temperature, hardware, its price and all settings",
}


def test_requirements_of_an_entry() -> None:
    """Nothing but words, with a wall meter, five runs and a category; else what is missing."""
    assert {what for what, have in needs().items() if not have} == WORDS
    model = {"name": "model", "measures": "parts", "how": "modelled", "resolution_s": 0.01}
    for changed, what in (
        ({"meter": model}, "power of the full system at the wall"),
        ({"runs": [{}] * 4}, "means over 5 consecutive runs"),
        ({"category": rules.category(10**8 - 1)}, "one of the categories"),
        ({"skewed": None}, "for Daytona: a run with skewed keys"),
        ({"checks": [{"held": False}]}, "all checks of each run hold"),
    ):
        assert not needs(**changed)[what]


def test_clocks_and_governors_are_in_the_report(tmp_path: Path) -> None:
    lines = ["processor : 0", "cpu MHz\t\t: 800.5", "processor : 1", "cpu MHz\t\t: 2400.0"]
    assert run.clocks(lines) == {"least": 800.5, "most": 2400.0}
    assert run.clocks(["processor : 0"]) is None
    assert run.governors(tmp_path) is None
    for number, name in enumerate(("powersave", "performance", "powersave")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    assert run.governors(tmp_path) == ["performance", "powersave"]
    machine: Any = {"governors": ["powersave"], "clock_mhz": {"least": 800.5, "most": 2400.0}}
    assert clock(machine) == "800 to 2400 MHz, governor powersave"
    same: Any = {**machine, "clock_mhz": {"least": 2596.1, "most": 2596.3}}
    assert clock(same) == "2596 MHz, governor powersave"
    unknown: Any = {"governors": None, "clock_mhz": None}
    assert clock(unknown) == "clock unknown, governor unknown"


def test_categories() -> None:
    for power in (8, 9, 10, 12):
        assert f"10^{power} records" in str(rules.category(10**power)["name"])
    assert rules.category(10**7)["name"] is None
    # 100 TB has binary keys, what is smaller has letters.
    assert not rules.category(10**12)["ascii"]
    assert rules.category(10**10)["ascii"]


def test_phases_have_their_own_joules(tmp_path: Path) -> None:
    """They follow each other to the end of the run, and come to its energy."""
    result = bench(tmp_path, records=600_000, meters=[WALL, "model"], options=("--memory", "20MB"))
    report: Any = result.report
    names = [phase["name"] for phase in report["phases"]]
    assert names[0] == phases.START
    assert len(names) > 3
    whole = sum(phase["time_s"]["mean"] for phase in report["phases"])
    assert whole == pytest.approx(report["time_s"]["mean"], rel=0.01)
    for phase in report["phases"]:
        wall = phase["meters"][0]
        assert wall["how"] == "measured"
        if wall["energy_j"] is not None:
            assert wall["energy_j"] == pytest.approx(50 * phase["time_s"]["mean"])
    longest = max(report["phases"], key=lambda phase: phase["time_s"]["mean"])
    seconds, apart = longest["time_s"]["mean"], report["meters"][0]["interval_s"]
    watts = longest["meters"][0]["mean_w"]
    assert watts == (pytest.approx(50) if seconds >= phases.LEAST * apart else None)
    # Another sort reports no phases.
    assert bench(tmp_path, command=sorter(tmp_path)).report["phases"] == []


def test_a_phase_shorter_than_two_samples_has_no_joules() -> None:
    made = Series(Command("echo 10"))
    for second in range(11):
        made.add(float(second), [10.0])
    assert phases._drawn(made, [Span(2, 5)])["energy_j"] == pytest.approx(30)
    assert phases._drawn(made, [Span(2, 3.5)])["energy_j"] is None


def test_the_command_line(tmp_path: Path) -> None:
    # Each run has some samples.
    sort = f'{AWAIT} await 3; exec "$0" -m gordon sort "$1" "$2"'
    files = ("--report", "r.html", "-o", "log.csv", "--json", "r.json")
    command = ("sh", "-c", sort, sys.executable, "{in}", "{out}")
    ran = small(tmp_path, "--interval", "20ms", *files, "--", *command, steady=True)
    if not storage(tmp_path):
        assert ran.status == 1
        assert "no result, checks failed: input and output are not on storage" in ran.err
        return
    assert ran.status == 0, ran.err
    assert "records per joule" in ran.out
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["meters"][0]["how"] == report["result"]["how"] == "modelled"
    html = (tmp_path / "r.html").read_text()
    assert "records per joule" in html
    assert "http" not in html.split("<script")[0].replace("http-equiv", "")
    data = result_of(html)
    power = data["figures"]["power"]
    assert [line["name"] for line in power["data"]] == ["model, modelled"]
    assert len(power["layout"]["shapes"]) == 2
    assert all(shape["x0"] < shape["x1"] for shape in power["layout"]["shapes"])
    assert data["result"] == report
    assert "are modelled" in ran.err
    assert (tmp_path / "log.csv").read_text().count("run 2") >= 3


def small(folder: Path, *args: str, steady: bool = False) -> Ran:
    words = ("--records", "5e3", "--runs", "2", "--idle", "0", "--tail", "0", "--meter", "model")
    return gordon(folder, "joulesort", *words, *args, steady=steady)


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (("--memory", "1GB", "--", "cp", "{in}", "{out}"), 2, "applies to `gordon sort` only"),
        (("--dir", "nowhere"), 1, "no folder nowhere"),
        (("--meter", "rpal"), 1, "no meter rpal"),
        (("--", "cp", "{in}", "{out}"), 1, "output is not in order"),
        (("--memory", "1kB"), 1, "the sort failed with exit status"),
    ],
)
def test_bad_words(tmp_path: Path, args: tuple[str, ...], status: int, what: str) -> None:
    ran = small(tmp_path, *args)
    assert ran.status == status, ran.err
    assert what in ran.err
    assert list(tmp_path.iterdir()) == []
