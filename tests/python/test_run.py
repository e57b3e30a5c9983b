"""Runs: agents on hosts and their clocks, the folder of a run, and its survey."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fake_agent
import gordon
from gordon import _core, signals
from gordon.run import agents, capture, folder, inputs
from gordon.run.agents import Agent, ClockReading, HostClock
from gordon.run.capture import Host, NodeCapture
from limits import PATIENCE_S

from conftest import Run, raises

SECOND = 1_000_000_000


@pytest.fixture
def via(tmp_path: Path, trace: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A command that starts the fake agent on any host."""
    monkeypatch.setenv("FAKE_TRACE", trace)
    script = tmp_path / "fake"
    path = Path(fake_agent.__file__)
    script.write_text(f'#!/bin/sh\nshift\nFAKE_HOST="$0" exec {sys.executable} {path}\n')
    script.chmod(0o755)
    return f"{script} {{host}}"


def captured(out: Path, via: str, *hosts: str) -> Any:
    scopes = [Host(host, [{"kind": "machine", "name": host}]) for host in hosts]
    with folder.created(out) as made, NodeCapture(made, scopes, ["job"], via):
        pass
    return folder.read(out)


def test_the_offset_of_a_clock_is_that_of_ntp() -> None:
    # The host is 1000 ahead; 10 there, 10 back.
    start = ClockReading(t1=0, t2=1010, t3=1030, t4=40)
    assert (start.offset_ns, start.round_trip_ns) == (1000, 20)
    # After a second it has gained 500.
    end = ClockReading(t1=SECOND, t2=SECOND + 1510, t3=SECOND + 1530, t4=SECOND + 40)
    assert HostClock(start, end).drift_ppb == pytest.approx(500)


@pytest.mark.parametrize("offset", [0, 3 * SECOND, -SECOND // 2])
def test_the_offset_of_a_host_is_found(
    via: str, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    monkeypatch.setenv("FAKE_OFFSET", str(offset))
    with Agent("a", via) as agent:
        reading = agent.clock()
    assert abs(reading.offset_ns - offset) <= reading.round_trip_ns


def test_a_run_has_a_trace_of_each_host(tmp_path: Path, via: str, trace: str) -> None:
    run = captured(tmp_path / "run", via, "a", "b")
    assert [(node["name"], node["status"]) for node in run["nodes"]] == [
        ("a", "complete"),
        ("b", "complete"),
    ]
    for file in Path(trace).iterdir():
        assert (tmp_path / "run" / "a" / file.name).read_bytes() == file.read_bytes()
    cpu = sum(json.loads(_core.trace_summary(trace))["samples"]["cpu_s"])
    assert run["totals"]["nodes"]["cpu_s"] == pytest.approx(2 * cpu)
    assert run["totals"]["machine"]["cpu_s"] == 2e6
    assert run["command"] == ["job"]
    # The phase of samples is by the clock of the host.
    for node, warning in zip(run["nodes"], run["warnings"], strict=True):
        phase = int(warning.split()[-1])
        assert phase - node["clock"]["start"]["t1"] == pytest.approx(0, abs=10 * SECOND)
    assert [path.name for path in tmp_path.glob("run*")] == ["run"]


def test_nodes_that_count_more_than_their_machine_are_a_warning(
    tmp_path: Path, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_AGENT", "counts-twice")
    run = captured(tmp_path / "run", via, "a")
    assert any(text.startswith("cpu_s: the nodes have ") for text in run["warnings"])


def test_an_agent_that_ends_leaves_the_other_traces(
    tmp_path: Path, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    hosts = [Host(host, [{"kind": "machine", "name": host}]) for host in ("a", "b")]
    monkeypatch.setenv("FAKE_AGENT", "")
    with folder.created(out) as made:
        recording = NodeCapture(made, hosts, ["job"], via)
        with recording:
            hosts[1].agent._process.kill()
    run = folder.read(out)
    assert [node["status"] for node in run["nodes"]] == ["complete", "missing"]
    assert any("the agent on b is lost" in text for text in run["warnings"])
    with raises("missing-trace", "b"):
        gordon.survey.run(out)


def test_an_agent_that_fails_says_why(
    tmp_path: Path, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_AGENT", "dies")
    run = captured(tmp_path / "run", via, "a")
    assert any("out of memory" in text for text in run["warnings"])


def test_a_host_with_another_version_is_refused(
    tmp_path: Path, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_AGENT", "other-version")
    with raises("other-version", "a", "0.0.0"):
        captured(tmp_path / "run", via, "a")
    assert list(tmp_path.glob("run*")) == []


def test_an_error_of_an_agent_names_its_host(
    tmp_path: Path, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_AGENT", "refuses")
    with raises("no-scope", "a: no such node"):
        captured(tmp_path / "run", via, "a")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("via", "kind"),
    [
        ("ssh", "bad-via"),
        ("/nonexistent {host}", "unreachable-host"),
        ("false {host}", "unreachable-host"),
    ],
)
def test_a_host_that_cannot_be_reached_is_one_error(tmp_path: Path, via: str, kind: str) -> None:
    with raises(kind):
        captured(tmp_path / "run", via, "a")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_touched(tmp_path: Path, via: str) -> None:
    (tmp_path / "run").mkdir()
    with raises("exists", "run"):
        captured(tmp_path / "run", via, "a")


def test_what_was_captured_is_kept_after_an_error(tmp_path: Path, via: str) -> None:
    out = tmp_path / "run"
    host = Host("a", [{"kind": "machine", "name": "a"}])

    def fail() -> None:
        with folder.created(out) as made, NodeCapture(made, [host], ["job"], via):
            raise gordon.GordonError("the job failed")

    with pytest.raises(gordon.GordonError):
        fail()
    run = folder.read(out)
    assert run["error"] == "the job failed"
    assert run["nodes"][0]["status"] == "complete"


@pytest.mark.parametrize(
    "text", ["", "# nothing", "a\nb\na  # twice"], ids=["empty", "comment", "twice"]
)
def test_a_file_of_hosts_has_each_host_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hosts"
    path.write_text(text)
    with raises("no-hosts"):
        capture.hosts_of(path)
    path.write_bytes(b"\x7fELF\xff")
    with raises("no-hosts", "not text"):
        capture.hosts_of(path)
    path.write_text("a  # the first\n\nb\n")
    assert capture.hosts_of(path) == ["a", "b"]


def made_run(out: Path, trace: str, offsets: list[int]) -> Path:
    """A run of nodes with copies of a trace, whose clocks are ahead by these nanoseconds."""
    out.mkdir()
    nodes = []
    for number, offset in enumerate(offsets, 1):
        name = f"node-{number}"
        shutil.copytree(trace, out / name)
        path = out / name / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["start_unix_ns"] += offset
        manifest["scope"] = {"kind": "machine", "host": name}
        path.write_text(json.dumps(manifest))
        nodes.append(
            {"name": name, "folder": name, "status": "complete", "clock": {"offset_ns": offset}}
        )
    start = json.loads(Path(trace, "manifest.json").read_text())["start_unix_ns"]
    run = {
        "format": "gordon-run",
        "version": 1,
        "start_unix_ns": start,
        "interval_ns": SECOND,
        "nodes": nodes,
    }
    (out / "run.json").write_text(json.dumps(run))
    return out


def test_the_survey_of_a_run_is_that_of_its_traces(tmp_path: Path, trace: str) -> None:
    run = made_run(tmp_path / "run", trace, [0, 0])
    traces = [run / "node-1", run / "node-2"]
    found, plain = (gordon.survey.run(given, space="gordon-2009") for given in (run, traces))
    assert found["designs"] == plain["designs"]
    assert found["nodes"] == 2


def test_a_run_has_the_limit_of_its_disks(tmp_path: Path, trace: str) -> None:
    run = made_run(tmp_path / "run", trace, [0, 0])
    assert [one.storage_rate for one in inputs.expand([run])] == [None]
    made = json.loads((run / "run.json").read_text())
    made["limits"] = {"cores": 0.4, "disk_bytes_per_s": 20_000_000}
    (run / "run.json").write_text(json.dumps(made))
    assert [one.storage_rate for one in inputs.expand([run])] == [20_000_000]


def test_the_input_of_a_run_lies_on_the_disks_of_nodes_that_have_some(
    tmp_path: Path, trace: str
) -> None:
    run = made_run(tmp_path / "run", trace, [0, 0])
    made = json.loads((run / "run.json").read_text())
    for size, is_scattered in ((None, False), (2 << 30, True)):
        made["limits"] = {"cores": 0.4, "disk_bytes": size, "disk_bytes_per_s": None}
        (run / "run.json").write_text(json.dumps(made))
        assert [one.scattered_input for one in inputs.expand([run])] == [is_scattered]


def test_a_run_says_how_long_its_machine_was_full(tmp_path: Path, trace: str) -> None:
    run = made_run(tmp_path / "run", trace, [0, 0])
    made = json.loads((run / "run.json").read_text())
    for kind, full_s, share in (
        ("node", 3.0, 0.75),
        ("node", 5.0, 1.0),
        ("machine", 3.0, 0.0),
        ("node", None, 0.0),
    ):
        made["machines"] = [{"host": "local", "full_s": full_s, "span_s": 4.0}]
        for node in made["nodes"]:
            node |= {"host": "local", "scope": {"kind": kind}}
        (run / "run.json").write_text(json.dumps(made))
        assert [one.full_share for one in inputs.expand([run])] == [share]


def test_clocks_that_differ_are_corrected(tmp_path: Path, trace: str) -> None:
    alike = gordon.survey.run(made_run(tmp_path / "a", trace, [0, 0]), space="gordon-2009")
    apart = gordon.survey.run(made_run(tmp_path / "b", trace, [0, 7 * SECOND]), space="gordon-2009")
    assert apart["designs"] == alike["designs"]


def test_stages_of_a_run_are_used(tmp_path: Path, trace: str) -> None:
    out = made_run(tmp_path / "run", trace, [0, 0])
    with raises("no-stages"):
        gordon.survey.run(out, space="gordon-2009", model="stages")
    run = json.loads((out / "run.json").read_text())
    run["stages"] = [{"name": "map", "start_s": 0, "end_s": 2}]
    (out / "run.json").write_text(json.dumps(run))
    found = gordon.survey.run(out, space="gordon-2009", model="stages")
    assert found["model"] == "stages"


def test_a_run_is_not_surveyed_with_traces(tmp_path: Path, trace: str) -> None:
    run = made_run(tmp_path / "run", trace, [0])
    with raises("runs-and-traces", "run", "job.trace"):
        gordon.survey.run([run, trace])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{", "bad-run"),
        ('{"format": "x"}', "bad-run"),
        ('{"format": "gordon-run", "version": 1}', "bad-run"),
        ('{"format": "gordon-run", "version": 9, "gordon": "9.9"}', "other-version"),
    ],
)
def test_a_damaged_run_is_one_error(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with raises(kind, "run.json"):
        gordon.survey.run(tmp_path)


def test_the_default_agent_is_this_gordon() -> None:
    assert agents._via("local", None)[0] == sys.executable


def test_any_command_is_traced_on_all_hosts(run: Run, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("first\nsecond\n")
    # Both are this machine, whose own program is the agent.
    (tmp_path / "t").mkdir()
    via = f"env PATH={Path(sys.executable).parent}:/usr/bin:/bin TMPDIR={tmp_path}/t HOST={{host}}"
    out = tmp_path / "run"
    words = ["--nodes", str(hosts), "--via", via, "--interval", "200ms", "-o", str(out)]
    ran = run("trace", *words, "--", "sh", "-c", "sleep 1; exit 3")
    assert list((tmp_path / "t").glob("gordon-agent-*")) == [], "the traces are here"
    assert ran.status == 3
    assert "traced 2 hosts" in ran.err
    report = folder.read(out)
    assert report["exit_status"] == 3
    assert report["command"] == ["sh", "-c", "sleep 1; exit 3"]
    for node in report["nodes"]:
        assert node["status"] == "complete"
        shown = json.loads(_core.trace_summary(str(out / node["name"])))
        # Samples of both hosts end at the same times.
        assert len(shown["samples"]["span_s"]) >= 5
        offset = shown["manifest"]["start_unix_ns"] - report["start_unix_ns"]
        ends = [start + offset / 1e9 for start in shown["samples"]["start_s"][1:]]
        assert all(abs(end / 0.2 - round(end / 0.2)) < 0.3 for end in ends)
    with raises("overlapping-scopes", "first", "second"):
        gordon.survey.run(out, space="gordon-2009")


def test_a_signal_is_that_of_the_command_on_this_machine(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("first\n")
    via = f"env PATH={Path(sys.executable).parent}:/usr/bin:/bin HOST={{host}}"
    out = tmp_path / "run"
    words = ["--nodes", str(hosts), "--via", via, "-o", str(out)]
    script = 'trap "exit 7" TERM; echo up; while :; do sleep 0.1; done'
    traced = subprocess.Popen(
        [sys.executable, "-m", "gordon", "trace", *words, "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
    )
    assert traced.stdout is not None
    assert traced.stdout.readline() == b"up\n"
    traced.send_signal(signal.SIGTERM)
    assert traced.wait(PATIENCE_S) == 7
    assert [node["status"] for node in folder.read(out)["nodes"]] == ["complete"]


def test_hosts_need_a_way_to_reach_them(run: Run, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("first\n")
    out = ["-o", str(tmp_path / "run")]
    run("trace", *out, "--nodes", str(hosts), "--", "true").refused("bad-via")
    assert run("trace", *out, "--via", "ssh {host}", "--", "true").status == 2
    missing = str(tmp_path / "none")
    run("trace", *out, "--nodes", missing, "--via", "ssh {host}", "--", "true").refused(
        "no-hosts", missing
    )


def test_a_connection_that_is_interrupted_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    popen = subprocess.Popen

    def starting(*args: Any, **options: Any) -> Any:
        started.append(popen(*args, **options))
        return started[-1]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", starting)
    monkeypatch.setattr(Agent, "request", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Agent("host", "sh -c 'exec sleep 60' {host}")
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_a_signal_that_a_command_may_not_get_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refused(_: int, number: int) -> None:
        asked.append(number)
        raise PermissionError

    with signals.forwarded() as forwarding, subprocess.Popen(["true"]) as process:
        monkeypatch.setattr(os, "kill", refused)
        forwarding.follow(process.pid)
        signal.raise_signal(signal.SIGTERM)
    assert asked == [signal.SIGTERM]


def test_a_signal_from_before_the_command_starts_is_the_command_s() -> None:
    with signals.forwarded() as forwarding:
        signal.raise_signal(signal.SIGTERM)
        with subprocess.Popen(["sleep", "600"]) as process:
            forwarding.follow(process.pid)
    assert process.returncode == -signal.SIGTERM


def test_a_command_ignores_the_signals_that_were_ignored() -> None:
    script = "kill -INT $$; kill -HUP $$; exit 5"
    code = f"from gordon.energy import work; print(work.run(['sh', '-c', {script!r}]).exit_status)"
    ran = subprocess.run(
        ["sh", "-c", 'trap "" INT HUP; exec "$@"', "sh", sys.executable, "-c", code],
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "5\n", ran.stderr
