"""`gordon survey` and `gordon trace show` of files that `gordon trace convert` reads."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gordon
import sadf
from gordon import _core, bundled
from gordon.run.inputs import expand
from test_not_traces import CLF, MSR, a_folder_of_days
from test_run import SECOND, made_run
from test_survey_jobs import job
from test_trace_spark import ONE_HOST, TWO_HOSTS

from conftest import Run, raises


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def day(*hosts: str, cores: int | None = 2) -> str:
    return sadf.day([sadf.second(n) for n in range(10)], *hosts, cores=cores)


def plain(name: str = "day.json", *hosts: str) -> str:
    Path(name).write_text(day(*hosts or ("a",)))
    return name


def packed() -> str:
    Path("day.gz").write_bytes(gzip.compress(day("a").encode()))
    return "day.gz"


def linked() -> str:
    plain()
    Path("link").symlink_to("day.json")
    return "link"


def compressed_log() -> str:
    Path("app.gz").write_bytes(gzip.compress(ONE_HOST.read_bytes()))
    return "app.gz"


def log_in_progress() -> str:
    lines = ONE_HOST.read_text().splitlines(keepends=True)
    Path("app.inprogress").write_text("".join(lines[:-1]))
    return "app.inprogress"


def rolled_log() -> str:
    shutil.copytree(TWO_HOSTS, "eventlog_v2_app")
    return "eventlog_v2_app"


FILES: dict[str, Callable[[], str]] = {
    "sysstat": plain,
    "several hosts": lambda: plain("day.json", "web1", "web2"),
    "gzip": packed,
    "symlink": linked,
    "folder of files": a_folder_of_days,
    "log": compressed_log,
    "log in progress": log_in_progress,
    "rolled log": rolled_log,
}


def unnamed(result: Any) -> Any:
    """A survey without what depends on the name of its input."""
    traces = [{**trace, "path": ""} for trace in result["traces"]]
    timeline = dict(result.get("timeline", {"nodes": []}))
    timeline["nodes"] = [node | {"name": "", "trace": ""} for node in timeline["nodes"]]
    return result | {"traces": traces, "timeline": timeline, "warnings": []}


@pytest.mark.parametrize("name", FILES)
def test_the_survey_of_a_file_is_that_of_its_conversion(run: Run, name: str) -> None:
    path = FILES[name]()
    made = run("trace", "convert", path, "made")
    assert made.status == 0, made.err
    found: Any = gordon.survey.run(path, space="modern", model="job")
    of_traces: Any = gordon.survey.run("made", space="modern", model="job")
    assert unnamed(found) == unnamed(of_traces)
    for trace in found["traces"]:
        assert trace["path"] == path or trace["path"].startswith(f"{path}/")
    if "timeline" in found:
        named = [node["name"] for node in found["timeline"]["nodes"]]
        assert named == [Path(trace["path"]).name for trace in found["traces"]]
    # The same warnings as of the conversion, after the same names.
    assert made.err.count("warning: ") <= len(found["warnings"])
    assert str(Path("tmp").resolve()) not in json.dumps(found.report)
    assert list(Path("tmp").iterdir()) == []


def test_stages_of_a_log_are_those_of_the_survey(run: Run) -> None:
    path = compressed_log()
    (inputs,) = expand([path])
    run("trace", "convert", path, "made", "--json", "made.json")
    assert inputs.stages == json.loads(Path("made.json").read_text())["stages"]
    (again,) = expand(["made"])
    assert again.stages == inputs.stages
    found: Any = gordon.survey.run(path, space="gordon-2009", model="stages", nodes=1)
    listed: Any = gordon.survey.run("made", space="gordon-2009", stages="made.json", nodes=1)
    assert found["baseline"] == listed["baseline"]


def test_several_files_are_read_as_one_and_hosts_are_nodes(run: Run) -> None:
    found: Any = gordon.survey.run(
        [plain("1.json", "web1"), plain("2.json", "web2")], space="modern"
    )
    assert [trace["path"] for trace in found["traces"]] == ["web1", "web2"]
    made = run("trace", "convert", "1.json", "2.json", "made")
    assert made.status == 0, made.err
    assert unnamed(found) == unnamed(gordon.survey.run("made", space="modern", model="job"))


def test_a_trace_and_a_file_are_two_nodes(run: Run) -> None:
    run("trace", "convert", plain("1.json", "web1"), "web1")
    found: Any = gordon.survey.run(["web1", plain("2.json", "web2")], space="modern")
    assert [trace["path"] for trace in found["traces"]] == ["web1", "2.json"]


def test_each_log_is_a_job_also_of_a_folder(trace: str, tmp_path: Path) -> None:
    Path("logs").mkdir()
    shutil.copy(ONE_HOST, "logs/app-1")
    shutil.copytree(TWO_HOSTS, "logs/eventlog_v2_app-2")
    Path("logs/app-3").write_text(ONE_HOST.read_text().splitlines()[0] + "\n")
    Path("logs/notes.txt").write_text("no log")
    jobs = expand(["logs"])
    assert [made.name for made in jobs] == ["app-1", "eventlog_v2_app-2"]
    assert [len(made.paths) for made in jobs] == [1, 2]
    left_out = [text for text in jobs[0].warnings if "left out" in text]
    assert any("notes.txt" in text for text in left_out)
    assert any("logs/app-3" in text for text in left_out)
    assert all(made.stages for made in jobs)
    run_folder = job(tmp_path / "run", trace, "grep")
    mixed = expand([run_folder, "logs/app-1"])
    assert [made.name for made in mixed] == ["grep", "app-1"]
    found: Any = gordon.survey.run("logs", space="modern")
    assert set(found["jobs"]) == {"app-1", "eventlog_v2_app-2"}
    assert any("gordon survey logs/app-1`" in text for text in found["warnings"])
    assert str(Path("tmp").resolve()) not in json.dumps(found.report)
    # One that is named itself is an error.
    with raises("content", "logs/app-3"):
        expand(["logs/app-1", "logs/app-3"])


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given = SimpleNamespace(buffer=io.BytesIO(day("a").encode()))
    monkeypatch.setattr("sys.stdin", given)
    found: Any = gordon.survey.run("-", space="modern")
    assert [trace["path"] for trace in found["traces"]] == ["-"]
    given.buffer = io.BytesIO(b"")
    with raises("not-a-trace", "- is not a trace"):
        expand(["-"])


def test_bundled_files_have_names() -> None:
    for name, file in bundled.FILES.items():
        assert file.stat().st_size < 200_000
        found: Any = gordon.survey.run(name, space="modern")
        assert all(trace["path"].partition("/")[0] == name for trace in found["traces"])
        assert str(file) not in json.dumps(found.report)


@pytest.mark.parametrize("command", [("survey",), ("trace", "show")])
def test_what_cannot_be_converted_is_the_error_of_the_conversion(
    run: Run, command: tuple[str, ...]
) -> None:
    Path("cut.json").write_text(day("a")[:200])
    Path("sa02").write_bytes(b"\x96\xd5" + bytes(100))
    for path in ("cut.json", "sa02"):
        of_conversion = run("trace", "convert", path, "made")
        assert of_conversion.status == 1
        ran = run(*command, path, "--json", "out.json")
        ran.refused(of_conversion.kind, path)
        assert ran.err == of_conversion.err
    assert sorted(path.name for path in Path().iterdir()) == ["cut.json", "sa02", "tmp"]
    assert list(Path("tmp").iterdir()) == []


def test_an_option_of_the_conversion_is_a_command_in_the_hint(run: Run) -> None:
    Path("my day.json").write_text(day("a", cores=None))
    ran = run("survey", "my day.json")
    ran.refused("cores", "a: ")
    hint = ran.err.partition("try: ")[2]
    assert hint.startswith("`gordon trace convert 'my day.json' OUT` with --cores N")
    assert run("trace", "convert", "my day.json", "OUT", "--cores", "2").status == 0
    assert run("survey", "OUT").status == 0


def test_inputs_that_do_not_fit_together_are_refused(run: Run) -> None:
    log = compressed_log()
    run("survey", plain("1.json"), "1.json").refused("same-file", "1.json")
    Path("link").symlink_to("1.json")
    run("survey", "1.json", "link").refused("same-file", "link")
    run("survey", log, log).refused("same-run", log)
    run("survey", log, "1.json").refused("runs-and-traces", log, "1.json")
    series = {"metric": {"__name__": "node_cpu_seconds_total"}, "values": []}
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    Path("p.json").write_text(json.dumps(answer))
    run("survey", "1.json", "p.json").refused("several-formats", "1.json", "p.json")
    run("survey", "1.json", "--json", "1.json").refused("path-in-use", "1.json")


def test_hosts_with_one_warning_are_one_line_that_names_them(run: Run) -> None:
    samples = [sadf.second(n) for n in range(10)]
    for sample in samples:
        del sample["network"]
    hosts = [f"web{number}" for number in range(1, 4)]
    Path("day.json").write_text(sadf.day(samples, *hosts))
    made = run("trace", "convert", "day.json", "made")
    (line,) = [line for line in made.err.splitlines() if "network" in line]
    assert line.startswith("warning: day.json: web1, web2 and web3: network")
    ran = run("survey", "day.json")
    lines = [line for line in ran.err.splitlines() if "network" in line]
    assert len(lines) == 1, lines
    assert all(host in lines[0] for host in hosts)


def test_a_trace_is_shown_of_any_file(run: Run) -> None:
    for path in (plain(), packed()):
        ran = run("trace", "show", path)
        assert ran.status == 0, ran.err
        assert "10 samples" in ran.out
    Path("m.csv").write_text(MSR)
    ran = run("trace", "show", "m.csv")
    assert ran.status == 0, ran.err
    assert "3 requests" in ran.out
    Path("access.log").write_text(CLF)
    run("trace", "show", "access.log").refused("not-a-trace", "access.log")


def test_the_stages_of_a_log_are_shown(run: Run) -> None:
    log = compressed_log()
    ran = run("trace", "show", log, "--json", "shown.json")
    assert ran.status == 0, ran.err
    found = json.loads(Path("shown.json").read_text())["application"]
    assert json.loads(run("trace", "show", log, "--json", "-").out)["application"] == found
    run("trace", "convert", log, "made")
    tables = _core.spark_recorded_stages("made")
    assert tables is not None
    assert json.loads(tables) == found
    shown = run("trace", "show", "made").out
    ends: dict[int, list[float]] = {}
    for line in ONE_HOST.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            seconds = (info["Finish Time"] - info["Launch Time"]) / 1000
            ends.setdefault(event["Stage ID"], []).append(seconds)
    assert len(found["stages"]) == len(ends)
    for stage in found["stages"]:
        times = ends[int(stage["name"].partition(":")[0])]
        assert stage["tasks"] == len(times)
        assert stage["task_longest_s"] == pytest.approx(max(times))
        assert stage["tasks_s"] == pytest.approx(sum(times))
        assert stage["name"] in shown
    covered = sum(stage["end_s"] - stage["start_s"] for stage in found["stages"])
    assert found["outside_s"] >= found["span_s"] - covered - 1e-6
    assert "driver's time outside of stages" in shown


def test_nodes_are_shown_of_a_run_of_hosts_and_of_a_log(
    run: Run, tmp_path: Path, trace: str
) -> None:
    made_run(tmp_path / "run", trace, [0, 7 * SECOND])
    run("trace", "convert", plain("day.json", "web1", "web2"), "hosts")
    for path in ("run", "hosts", "day.json", rolled_log()):
        ran = run("trace", "show", path, "--json", f"{Path(path).name}.out")
        assert ran.status == 0, ran.err
        nodes = json.loads(Path(f"{Path(path).name}.out").read_text())["nodes"]
        assert len(nodes) == 2
        for node in nodes:
            assert node["path"].startswith(f"{path}/")
            # A run's nodes have names, which are those of their folders.
            assert Path(node["path"]).name in ran.out
    (tmp_path / "runs").mkdir()
    job(tmp_path / "runs/grep", trace, "grep")
    job(tmp_path / "runs/sort", trace, "sort")
    found = json.loads(run("trace", "show", "runs", "--json", "-").out)
    assert [one["name"] for one in found["jobs"]] == ["grep", "sort"]
