"""The benchmark by its rules: what a sort has to hold, what the figure is made of."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, joulesort
from gordon.energy.command import Command
from gordon.energy.series import Series, Span
from gordon.joulesort import files, phases, rules, run

from conftest import Ran, gordon

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


def bench(folder: Path, **asked: Any) -> joulesort.Result:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    given = {"records": 3000, "runs": 2, "meters": ["model"], "idle_s": 0, "tail_s": 0}
    return joulesort.benchmark(folder=data, **{**given, **asked})


def broken(result: joulesort.Result) -> set[str]:
    return {check["what"] for check in result.json["checks"] if check["held"] is False}


def storage(folder: Path) -> bool:
    """Temporary folders may lie in memory, which the benchmark refuses to call storage."""
    return files.durable_place(folder) is not None


def test_the_figure_is_mean_power_times_mean_time(tmp_path: Path) -> None:
    result = bench(tmp_path, runs=3, meters=[WALL], idle_s=0.3)
    told = result.json
    rate, watts = told["result"]["records_per_joule"]["value"], told["result"]["mean_w"]["mean"]
    assert watts == pytest.approx(50)
    assert rate == pytest.approx(3000 / (50 * told["time_s"]["mean"]))
    assert told["time_s"]["mean"] == pytest.approx(sum(r["wall_s"] for r in told["runs"]) / 3)
    assert len({run["duplicates"] for run in told["runs"]}) == 1
    assert broken(result) == (set() if storage(tmp_path) else {"input and output on storage"})
    assert list((tmp_path / "data").iterdir()) == []


def test_another_sort_in_its_place(tmp_path: Path) -> None:
    told = bench(tmp_path, command=sorter(tmp_path), keep=True).json
    data = tmp_path / "data"
    assert told["command"][-2:] == [str(data / name) for name in (run.INPUT, run.OUTPUT)]
    assert sorted(path.name for path in data.iterdir()) == [run.INPUT, run.OUTPUT]
    kept = (data / run.OUTPUT).read_bytes()
    for path in data.iterdir():
        path.unlink()
    ours = bench(tmp_path, keep=True).json
    assert ours["input"]["checksum"] == told["input"]["checksum"]
    assert (data / run.OUTPUT).read_bytes() == kept


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        ("records.reverse()", "output in order"),
        ("records.pop()", "the same records, no more and no fewer"),
        ("records[7] = records[8]", "the same records, no more and no fewer"),
        ("open(sys.argv[1], 'r+b').write(data)", "input untouched"),
        ("open(sys.argv[1], 'r+b').write(b'x')", "input untouched"),
    ],
)
def test_what_does_not_hold_is_found(tmp_path: Path, spoil: str, what: str) -> None:
    result = bench(tmp_path, command=sorter(tmp_path, spoil))
    assert what in broken(result)
    assert not result.holds


def test_outputs_that_differ_between_runs(tmp_path: Path) -> None:
    """The second run doubles a record: its sum and its count of duplicates differ."""
    second = "import os\nif os.path.exists('second'): records[7] = records[8]"
    spoil = f"{second}\nopen('second', 'w').close()"
    script = [*sorter(tmp_path, spoil)]
    command = ["sh", "-c", f'cd {tmp_path} && exec "$@"', "sh", *script]
    assert {
        "duplicate keys counted",
        "the same records, no more and no fewer",
    } <= broken(bench(tmp_path, command=command))


def test_skewed_keys_make_it_daytona(tmp_path: Path) -> None:
    told = bench(tmp_path, skewed=True, records=500_000, runs=1).json
    skewed = told["skewed"]
    assert skewed["right"]
    assert skewed["duplicates"] > 0
    ratio = skewed["wall_s"] / told["time_s"]["mean"]
    assert skewed["time_ratio"] == pytest.approx(ratio)
    assert told["category"]["class"] == ("Daytona" if ratio <= run.MOST_SKEWED else "Indy")


def test_a_sort_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(GordonError, match="the sort ended with 3"):
        bench(tmp_path, command=["sh", "-c", "cp $1 $2; exit 3", "sh", "{in}", "{out}"])
    assert list((tmp_path / "data").iterdir()) == []


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / run.OUTPUT).write_text("mine")
    with pytest.raises(GordonError, match="is there"):
        joulesort.benchmark(records=10, folder=tmp_path, meters=["model"])
    assert (tmp_path / run.OUTPUT).read_text() == "mine"
    assert not (tmp_path / run.INPUT).exists()


def test_no_room(tmp_path: Path) -> None:
    with pytest.raises(GordonError, match=r"take 200000000\.0 GB"):
        bench(tmp_path, records=10**15)


def test_a_command_names_its_files(tmp_path: Path) -> None:
    with pytest.raises(GordonError, match="does not name its files"):
        bench(tmp_path, command=["sort", "{in}"])


def test_what_is_in_memory_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(4 << 20))
    if files.cached(path) is None or not storage(tmp_path):
        pytest.skip("this file system does not say what is in memory")
    assert files.cached(path) == 1
    files.forget(path)
    share = files.cached(path)
    assert share is not None
    assert share < 0.1


def needs(**changed: Any) -> dict[str, bool]:
    report: dict[str, Any] = {
        "result": {"meter": "command:x", "measures": "it: the wall", "how": "measured"}
        | {"resolution_s": 1.0},
        "category": rules.category(10**8),
        "runs": [{}] * 5,
        "skewed": {"held": True, "time_ratio": 1.1},
        "checks": [{"held": True}, {"held": None}],
    } | changed
    return {need.what: need.have for need in rules.needs(report)}


WORDS = {
    "a meter of known accuracy, named in the report",
    "checksum and duplicates by valsort itself",
    "ambient temperature, told with the hardware, its price and all settings",
}


def test_what_an_entry_wants() -> None:
    """Nothing but words, with a wall meter, five runs and a category; else what is missing."""
    assert {what for what, have in needs().items() if not have} == WORDS
    model = {"meter": "model", "measures": "parts", "how": "modelled", "resolution_s": 0.01}
    for changed, what in (
        ({"result": model}, "power of the full system at the wall"),
        ({"runs": [{}] * 4}, "means over 5 consecutive runs"),
        ({"category": rules.category(10**8 - 1)}, "one of the categories"),
        ({"skewed": None}, "for Daytona: skewed keys, too"),
        ({"checks": [{"held": False}]}, "all checks of each run hold"),
    ):
        assert not needs(**changed)[what]


def test_categories() -> None:
    for power in (8, 9, 10, 12):
        assert f"10^{power} records" in rules.category(10**power)["name"]
    assert rules.category(10**7)["name"] is None
    # 100 TB has binary keys, what is smaller has letters.
    assert not rules.category(10**12)["ascii"]
    assert rules.category(10**10)["ascii"]


def test_phases_have_their_own_joules(tmp_path: Path) -> None:
    """They follow each other to the end of the run, and come to its energy."""
    told = bench(tmp_path, records=600_000, meters=[WALL, "model"], options=("--memory", "20MB"))
    report = told.json
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
    assert longest["meters"][0]["mean_w"] == pytest.approx(50)
    # Another sort tells none.
    assert bench(tmp_path, command=sorter(tmp_path)).json["phases"] == []


def test_a_phase_shorter_than_two_samples_has_no_joules() -> None:
    made = Series(Command("echo 10"))
    for second in range(11):
        made.add(float(second), [10.0])
    assert phases._drawn(made, [Span(2, 5)])["energy_j"] == pytest.approx(30)
    assert phases._drawn(made, [Span(2, 3.5)])["energy_j"] is None


def test_the_command_line(tmp_path: Path) -> None:
    ran = small(
        tmp_path, "--interval", "20ms", "--report", "r.html", "-o", "log.csv", "--json", "r.json"
    )
    if not storage(tmp_path):
        assert ran.status == 1
        assert "no result: input and output on storage" in ran.err
    else:
        assert ran.status == 0, ran.err
    assert "records per joule" in ran.out
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["meters"][0]["how"] == told["result"]["how"] == "modelled"
    page = (tmp_path / "r.html").read_text()
    assert "records per joule" in page
    assert "http" not in page.split("<script")[0].replace("http-equiv", "")
    data = page.split('<script type="application/json" id="result">')[1].split("</script>")[0]
    power = json.loads(data)["figures"]["power"]
    assert [line["name"] for line in power["data"]] == ["model, modelled"]
    assert len(power["layout"]["shapes"]) == 2
    assert all(shape["x0"] < shape["x1"] for shape in power["layout"]["shapes"])
    assert json.loads(data)["result"] == told
    assert "are modelled" in ran.err
    assert (tmp_path / "log.csv").read_text().count("run 2") >= 1


def small(folder: Path, *args: str) -> Ran:
    words = ("--records", "5e3", "--runs", "2", "--idle", "0", "--tail", "0", "--meter", "model")
    return gordon(folder, "joulesort", *words, *args)


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (("--memory", "1GB", "--", "cp", "{in}", "{out}"), 2, "is of `gordon sort`"),
        (("--dir", "nowhere"), 1, "no folder nowhere"),
        (("--meter", "rpal"), 1, "no meter rpal"),
        (("--", "cp", "{in}", "{out}"), 1, "output in order"),
        (("--memory", "1kB"), 1, "the sort ended with"),
    ],
)
def test_bad_words(tmp_path: Path, args: tuple[str, ...], status: int, what: str) -> None:
    ran = small(tmp_path, *args)
    assert ran.status == status, ran.err
    assert what in ran.err
    assert list(tmp_path.iterdir()) == []
