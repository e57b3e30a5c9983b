"""Paths that are not traces: a survey takes folders of hosts; errors name the right command."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import gordon
import sadf
from test_run import SECOND, made_run
from test_survey_jobs import job

from conftest import Run

MSR = "".join(
    f"{128166372003061629 + at * 10_000_000},usr,0,{op},{at * 4096},4096,150\n"
    for at, op in enumerate(["Write", "Read", "Write"])
)
CLF = '192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326\n'
EVENT_LOG = (
    '{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}\n'
    '{"Event":"SparkListenerApplicationStart","App Name":"a","Timestamp":1000,"User":"u"}\n'
)


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
    found = gordon.survey.run(hosts, space="modern")
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


def a_log_folder() -> str:
    a_file("eventlog_v2_app-1/events_1_app-1", EVENT_LOG)()
    a_file("eventlog_v2_app-1/appstatus_app-1", "")()
    return "eventlog_v2_app-1"


def a_folder_of_days() -> str:
    a_file("days/monday.json", day("a"))()
    a_file("days/notes.txt", "no format")()
    return "days"


#: What is given, and the words that the error and its hint have.
OTHERS = {
    "sysstat": (a_file("my day.json", day("a")), "format sysstat", "trace convert 'my day.json'"),
    "event log": (a_file("app-1", EVENT_LOG), "spark-eventlog", "trace convert app-1 app-1.trace"),
    "log folder": (a_log_folder, "spark-eventlog", "trace convert eventlog_v2_app-1"),
    "folder of files": (
        a_folder_of_days,
        "folder of the format sysstat",
        "convert days days.trace",
    ),
    "blocks": (a_file("m.csv", MSR), "format msr", "gordon flash replay m.csv"),
    "objects": (a_file("access.log", CLF), "format clf", "gordon cache replay access.log"),
    "text": (a_file("notes.txt", "dear diary\n"), "not detected", "gordon trace formats"),
    "empty file": (a_file("zero", ""), "empty file", "a trace"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("command", [("survey",), ("trace", "show")])
def test_other_files_and_folders_are_one_error_with_the_command_that_reads_them(
    run: Run, name: str, command: tuple[str, ...]
) -> None:
    make, what, hint = OTHERS[name]
    path = make()
    ran = run(*command, path, "--json", "out.json")
    ran.refused("not-a-trace", path, what)
    assert hint in ran.err.partition("try: ")[2], ran.err
    assert not Path("out.json").exists()


@pytest.mark.parametrize("name", ["sysstat", "folder of files", "blocks", "objects"])
def test_the_command_of_the_hint_works(run: Run, name: str) -> None:
    path = OTHERS[name][0]()
    hint = run("survey", path).err.partition("try: `")[2].partition("`")[0]
    program, *words = shlex.split(hint)
    assert program == "gordon"
    more = {"objects": ("--policy", "lru", "--dram", "1MiB")}.get(name, ())
    ran = run(*words, *more)
    assert ran.status == 0, ran.err
    if name in {"sysstat", "folder of files"}:
        assert run("survey", words[-1]).status == 0


def test_a_run_is_shown_with_its_nodes_and_hosts_one_by_one(
    run: Run, hosts: str, tmp_path: Path, trace: str
) -> None:
    made_run(tmp_path / "run", trace, [0, 7 * SECOND])
    (tmp_path / "runs").mkdir()
    job(tmp_path / "runs/sort", trace, "sort")
    for path, what in ((hosts, "3 hosts"), ("runs", "1 run")):
        ran = run("trace", "show", path)
        ran.refused("not-a-trace", path, what)
        assert f"gordon survey {path}" in ran.err
        command = ran.err.rpartition("`gordon trace show ")[2].partition("`")[0]
        assert run("trace", "show", *shlex.split(command)).status == 0
    shown = run("trace", "show", "run")
    assert shown.status == 0
    assert shown.out.count("worker") == 2


def test_a_file_of_a_trace_or_a_run_is_not_the_trace(
    run: Run, hosts: str, tmp_path: Path, trace: str
) -> None:
    made_run(tmp_path / "run", trace, [0])
    for path in (f"{hosts}/web1/manifest.json", f"{hosts}/web1/activity.parquet", "run/run.json"):
        ran = run("survey", path)
        ran.refused("not-a-trace", path)
        assert f"the folder, {Path(path).parent}" in ran.err


def test_a_missing_path_and_a_damaged_trace_are_errors_of_the_core(run: Run, hosts: str) -> None:
    assert "does not exist" in run("survey", "nothing").err
    manifest = Path(hosts) / "web2/manifest.json"
    manifest.write_text(json.dumps({"format": "else"}))
    assert run("survey", hosts).status == 1
    assert run("trace", "show", f"{hosts}/web2").status == 1
    shutil.rmtree(hosts)
    Path(hosts).mkdir()
    assert "empty" in run("trace", "show", hosts).err
