"""Paths that are not traces: a survey takes folders of hosts; errors name the right command."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gordon
import sadf
from test_run import made_run

from conftest import Run

MSR = "".join(
    f"{128166372003061629 + at * 10_000_000},usr,0,{op},{at * 4096},4096,150\n"
    for at, op in enumerate(["Write", "Read", "Write"])
)
CLF = '192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326\n'


SAR = """Linux 6.1.0-18-amd64 (db1) \t03/02/2026 \t_x86_64_\t(4 CPU)

10:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:00:11        all      5.00      0.00      1.00      0.00      0.00     94.00
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def day(*hosts: str) -> str:
    return sadf.day([sadf.second(n) for n in range(10)], *hosts)


@pytest.fixture
def hosts(run: Run) -> str:
    """The traces of three hosts, as one conversion writes them."""
    Path("day.json").write_text(day("web1", "web2", "web3"))
    made = run("trace", "convert", "day.json", "hosts", "--format", "sysstat")
    assert made.status == 0, made.err
    return "hosts"


def test_a_folder_of_hosts_is_their_traces(run: Run, hosts: str) -> None:
    one_by_one = [f"{hosts}/web{number}" for number in (1, 2, 3)]
    found: Any = gordon.survey.run(hosts, space="modern")
    assert found == gordon.survey.run(one_by_one, space="modern")
    assert found["nodes"] == 3
    assert [trace["path"] for trace in found["traces"]] == one_by_one
    ran = run("survey", hosts)
    assert "3 nodes" in ran.out
    assert f"warning: {hosts}/web1, {hosts}/web2 and {hosts}/web3: " in ran.err


def test_what_else_is_in_a_folder_of_hosts_is_no_trace(hosts: str) -> None:
    (Path(hosts) / "notes").mkdir()
    (Path(hosts) / "notes.txt").write_text("x")
    assert gordon.survey.run(hosts, space="modern")["nodes"] == 3


def test_no_output_replaces_a_trace_of_a_folder_of_hosts(run: Run, hosts: str) -> None:
    target = f"{hosts}/web1/manifest.json"
    run("survey", hosts, "--json", target).refused("path-in-use", target)


def a_file(name: str, text: str) -> Callable[[], str]:
    def make() -> str:
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_text(text)
        return name

    return make


def a_folder_of_days() -> str:
    a_file("days/monday.json", day("a"))()
    a_file("days/notes.txt", "no format")()
    return "days"


#: The given paths, and the words that the error and its hint have.
OTHERS = {
    "blocks": (a_file("m.csv", MSR), "format msr", "gordon flash replay m.csv"),
    "objects": (a_file("access.log", CLF), "format clf", "gordon cache replay access.log"),
    "text": (a_file("notes.txt", "dear diary\n"), "not detected", "gordon trace formats"),
    "empty file": (a_file("zero", ""), "empty file", "a trace"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("command", [("survey",), ("trace", "show")])
def test_other_files_are_one_error_with_the_command_that_reads_them(
    run: Run, name: str, command: tuple[str, ...]
) -> None:
    make, what, hint = OTHERS[name]
    path = make()
    if (name, command[-1]) == ("blocks", "show"):
        return  # shown: test_any_file.py
    ran = run(*command, path, "--json", "out.json")
    ran.refused("not-a-trace", path, what)
    assert hint in ran.err.partition("try: ")[2], ran.err
    assert not Path("out.json").exists()


def test_a_file_of_another_program_is_refused_as_by_the_conversion(run: Run) -> None:
    Path("sar.txt").write_text(SAR)
    of_conversion = run("trace", "convert", "sar.txt", "made")
    for command in (("survey",), ("trace", "show")):
        ran = run(*command, "sar.txt")
        ran.refused("not-a-trace", "sar.txt", "sadf -j FILE -- -u ALL -P ALL -r ALL -d -n DEV")
        assert ran.err == of_conversion.err
    Path("prose").write_text("dear diary\n")
    names = [one["name"] for one in json.loads(gordon._core.trace_formats())]
    assert not [name for name in names if name not in run("survey", "prose").err]


@pytest.mark.parametrize("name", ["blocks", "objects"])
def test_the_command_of_the_hint_works(run: Run, name: str) -> None:
    path = OTHERS[name][0]()
    hint = run("survey", path).err.partition("try: `")[2].partition("`")[0]
    program, *words = shlex.split(hint)
    assert program == "gordon"
    more = {"objects": ("--policy", "lru", "--dram", "1MiB")}.get(name, ())
    ran = run(*words, *more)
    assert ran.status == 0, ran.err


def test_a_file_of_a_trace_or_a_run_is_not_the_trace(
    run: Run, hosts: str, tmp_path: Path, trace: str
) -> None:
    made_run(tmp_path / "run", trace, [0])
    for path in (f"{hosts}/web1/manifest.json", f"{hosts}/web1/activity.parquet", "run/run.json"):
        ran = run("survey", path)
        ran.refused("not-a-trace", path)
        assert f"the folder, {Path(path).parent}" in ran.err


def test_a_missing_path_is_answered_with_one_of_a_similar_name(run: Run, hosts: str) -> None:
    run("survey", "nothing").refused("missing-trace", "gordon trace -o nothing")
    run("survey", "spark-sor").refused("missing-trace", "try: spark-sort")
    run("trace", "show", f"{hosts}/wbe2").refused("missing-trace", f"try: {hosts}/web2")
    run("survey", "/nowhere/web2").refused("missing-trace", "gordon trace -o /nowhere/web2")


def test_an_empty_name_is_not_the_current_folder(
    run: Run, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hosts)
    assert run("trace", "show", ".").status == 0
    for command in (("survey",), ("trace", "show"), ("cost", "tco", "--node", "m5.large")):
        run(*command, "").refused("missing-trace", "is empty", ". for this folder")


def test_a_damaged_trace_is_an_error_of_the_core(run: Run, hosts: str) -> None:
    manifest = Path(hosts) / "web2/manifest.json"
    manifest.write_text(json.dumps({"format": "else"}))
    assert run("survey", hosts).status == 1
    assert run("trace", "show", f"{hosts}/web2").status == 1
    shutil.rmtree(hosts)
    Path(hosts).mkdir()
    assert "empty" in run("trace", "show", hosts).err


def test_a_command_names_what_it_lacks(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text('command = "flash wa"\n')
    sweep = str(tmp_path / "sweep.toml")
    run("sweep", sweep, "-o", "rows.csv").refused("bad-report-format", "rows.csv", ".parquet")
    run("survey", "spark-sort", "--parquet", "rows.json").refused("bad-report-format", "rows.json")
    convert = run("trace", "convert", "one.csv")
    convert.refused("", "IN and OUT", "one.csv", status=2)
    words = ("flash", "bench", "--pattern", "mixed", "--set", "capacity=much")
    assert "--set capacity=much: expected a number and a unit" in run(*words).err
