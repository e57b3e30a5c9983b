"""`gordon trace agent`: its protocol, its traces, and what is left of it."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from gordon import __version__, _core
from gordon.run import local
from gordon.run.local import LocalNodes, Sizes
from limits import PATIENCE_S
from serving import eventually, need_nodes

MIB = 1 << 20
INTERVAL_NS = 200_000_000
Reply = dict[str, Any]
# Writes and syncs, computes for some time, and sends what it wrote to the other node.
JOB = """
import os, socket, sys, time
disk, mib, cpu_s, role, address = sys.argv[1:]
with open(f"{disk}/data", "wb") as file:
    for _ in range(int(mib)):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
if role == "receive":
    server = socket.create_server((address, 7001))
    print("listening", flush=True)
    connection = server.accept()[0]
    while connection.recv(1 << 16):
        pass
else:
    with socket.create_connection((address, 7001)) as connection:
        connection.sendall(bytes(16 << 20))
while time.process_time() < float(cpu_s):
    pass
print(time.process_time(), flush=True)
sys.stdin.read()
"""


class Agent:
    """An agent in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gordon", "trace", "agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        self.number = 0

    def send(self, line: bytes) -> Reply:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        reply: Reply = json.loads(self.process.stdout.readline())
        return reply

    def ask(self, op: str, **fields: Any) -> Reply:
        """The reply to a request, which is not an error."""
        self.number += 1
        reply = self.send(json.dumps({"id": self.number, "op": op, **fields}).encode())
        assert "error" not in reply, reply
        assert reply.pop("id") == self.number
        return reply

    def refused(self, op: str, **fields: Any) -> str:
        """The kind of the error that a request is answered with."""
        reply = self.send(json.dumps({"id": 77, "op": op, **fields}).encode())
        assert set(reply) == {"id", "error"}, reply
        assert reply["id"] == 77
        assert set(reply["error"]) == {"kind", "message", "hint"}
        assert reply["error"]["message"]
        kind: str = reply["error"]["kind"]
        return kind

    def start(self, *scopes: Reply) -> list[str]:
        reply = self.ask("start", scopes=scopes, interval_ns=INTERVAL_NS, phase_unix_ns=0)
        assert reply["ok"]
        warnings: list[str] = reply["warnings"]
        return warnings

    def end(self) -> str:
        """Closes its input and returns what it wrote to stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert (self.process.returncode, out) == (0, b""), err
        return err.decode()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with started(tmp_path) as found:
        yield found


@contextmanager
def started(folder: Path) -> Iterator[Agent]:
    found = Agent(folder)
    try:
        yield found
    finally:
        found.process.kill()
        with suppress(ValueError):
            found.process.communicate()


def own(name: str = "self", **fields: Any) -> Reply:
    """A scope of this process."""
    return {"name": name, "processes": [os.getpid()], **fields}


def summary(folder: str | Path) -> Reply:
    found: Reply = json.loads(_core.trace_summary(str(folder)))
    return found


def instances(pid: int) -> list[str]:
    """Tracer instances of a process."""
    mount = "[ -e /sys/kernel/tracing/trace ] || mount -t tracefs t /sys/kernel/tracing"
    script = f"{mount}; ls /sys/kernel/tracing/instances"
    ran = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    return [name for name in ran.stdout.split() if name.startswith(f"gordon-{pid}-")]


def test_hello_and_clock(agent: Agent) -> None:
    before = time.time_ns()
    hello = agent.ask("hello")
    assert hello["version"] == __version__
    assert hello["host"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert hello["cores"] == os.cpu_count()
    assert hello["pid"] == agent.process.pid
    assert before <= hello["unix_ns"] <= time.time_ns()
    t1 = time.time_ns()
    clock = agent.ask("clock", t1_ns=t1)
    assert t1 == clock["t1_ns"] <= clock["t2_ns"] <= clock["t3_ns"] <= time.time_ns()
    assert agent.end() == ""


def test_a_trace_is_fetched_and_removed(agent: Agent, tmp_path: Path) -> None:
    warnings = agent.start(own(cores=0.5), {"kind": "machine", "name": "host"})
    assert any(text.startswith("self: no network: ") for text in warnings)
    assert agent.refused("start", scopes=[own()]) == "already-capturing"
    assert agent.refused("remove") == "already-capturing"
    # An idle machine may count no tick of 10 ms in this time.
    end_at = time.monotonic() + 2.5 * INTERVAL_NS / 1e9
    while time.monotonic() < end_at:
        pass
    stopped = agent.ask("stop")
    assert agent.refused("stop") == "not-capturing"
    assert stopped["machine"]["cpu_ns"] > 0
    assert stopped["capture_cpu_ns"] > 0
    for trace, kind in zip(stopped["traces"], ("node", "machine"), strict=True):
        copy = tmp_path / f"copy-{trace['name']}"
        copy.mkdir()
        for file in trace["files"]:
            path, data, end = f"{trace['folder']}/{file['file']}", b"", False
            while not end:
                reply = agent.ask("fetch", path=path, offset=len(data), bytes=1000)
                data += base64.b64decode(reply["base64"])
                end = reply["end"]
            assert len(data) == file["bytes"] == Path(path).stat().st_size
            (copy / file["file"]).write_bytes(data)
        found = summary(copy)
        assert found["manifest"]["scope"]["kind"] == kind
        assert found["manifest"]["scope"] == trace["scope"]
        assert trace["error"] is None
    folder = Path(stopped["traces"][0]["folder"])
    removed = agent.ask("remove")["removed"]
    assert removed == [str(folder.parent)]
    assert not folder.parent.exists()
    assert agent.refused("fetch", path=f"{folder}/manifest.json") == "unknown-file"
    assert agent.end() == ""


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGHUP"])
def test_an_agent_that_ends_completes_its_traces(agent: Agent, tmp_path: Path, how: str) -> None:
    agent.start(own(out=str(tmp_path / "given")), own_child(tmp_path))
    agent.process.send_signal(signal.SIGINT)  # Ctrl-C is for the coordinator.
    time.sleep(1.5 * INTERVAL_NS / 1e9)
    assert agent.ask("hello")
    if how == "end of input":
        err = agent.end()
    else:
        agent.process.send_signal(getattr(signal, how))
        agent.process.wait(PATIENCE_S)
        err = agent.end()
    (temporary,) = tmp_path.glob("gordon-agent-*")
    assert f"warning: the traces in {temporary} were not removed" in err
    for folder in (tmp_path / "given", temporary / "child"):
        assert summary(folder)["manifest"]["duration"]
    assert not list(tmp_path.rglob("*.partial*"))
    if os.geteuid() == 0:
        assert instances(agent.process.pid) == []


def own_child(folder: Path) -> Reply:
    """A scope of a process other than this one, in a folder of the agent."""
    child = subprocess.Popen(["sleep", "600"], cwd=folder)
    CHILDREN.append(child)
    return {"name": "child", "processes": [child.pid]}


CHILDREN: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def no_children_left() -> Iterator[None]:
    yield
    while CHILDREN:
        child = CHILDREN.pop()
        child.kill()
        child.wait()


def test_bad_requests_are_answered_and_the_agent_continues(agent: Agent, tmp_path: Path) -> None:
    for line in (b"hello", b"[1]", b'{"id": 1', b"\xff\xfe", b""):
        reply = agent.send(line)
        assert (reply["id"], reply["error"]["kind"]) == (None, "bad-request"), line
    assert agent.send(b'{"id": 5, "op": "' + b"x" * (5 << 20) + b'"}')["error"]["kind"] == (
        "bad-request"
    )
    assert agent.refused("dance") == agent.refused(["hello"]) == "unknown-op"  # type: ignore[arg-type]
    interval: Reply = {"interval_ns": INTERVAL_NS}
    start: list[tuple[str, Reply]] = [
        ("bad-request", {}),
        ("bad-request", {"scopes": ["self"], **interval}),
        ("bad-name", {"scopes": [own("a/b")], **interval}),
        ("option", {"scopes": [], **interval}),
        ("option", {"scopes": [own()], "interval_ns": 1000}),
        ("option", {"scopes": [own(cores=0)], **interval}),
        ("option", {"scopes": [{"name": "neither"}], **interval}),
        ("unknown-process", {"scopes": [own() | {"processes": [1 << 30]}], **interval}),
        ("unknown-device", {"scopes": [own(devices=["none"])], **interval}),
        ("unknown-namespace", {"scopes": [own(netns="none-such")], **interval}),
        ("unknown-control-group", {"scopes": [{"name": "n", "cgroup": "/none"}], **interval}),
        ("overlapping-scopes", {"scopes": [own("a"), own("b")], **interval}),
        ("exists", {"scopes": [own(out=str(tmp_path))], **interval}),
    ]
    for kind, fields in start:
        assert agent.refused("start", **fields) == kind, fields
    assert "interval_ns" in agent.send(b'{"op": "start", "scopes": []}')["error"]["message"]
    assert agent.refused("stop") == "not-capturing"
    assert agent.refused("fetch", path="/etc/passwd") == "unknown-file"
    assert list(tmp_path.iterdir()) == []
    assert agent.end() == ""


def test_nodes_have_what_their_jobs_used(tmp_path: Path) -> None:
    need_nodes()
    sizes = Sizes(count=2, memory=128 * MIB, disk=64 * MIB)
    with LocalNodes(tmp_path, sizes) as nodes, started(tmp_path) as agent:
        scopes = [
            {
                "name": node.name,
                "cgroup": node.group.path if node.group else None,
                "netns": node.namespace,
                "devices": [node.loop],
                "cores": node.cores,
                "out": str(tmp_path / node.name),
            }
            for node in nodes.nodes
        ]
        assert all("block log" in warning for warning in agent.start(*scopes))
        one, two = nodes.nodes
        options: Reply = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}

        def job(node: local.Node, *words: object) -> subprocess.Popen[bytes]:
            argv = [sys.executable, "-c", JOB, str(node.disk), *map(str, words)]
            return node.start(argv, **options)

        receiver = job(two, 20, 0.4, "receive", two.address)
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"listening\n"
        sender = job(one, 8, 1.2, "send", two.address)
        used = [float(process.stdout.readline()) for process in (sender, receiver)]  # type: ignore[union-attr]
        stopped = agent.ask("stop")
        for process in (sender, receiver):
            process.communicate()
        found = [summary(tmp_path / node.name) for node in nodes.nodes]
        folders = [str(tmp_path / node.name) for node in nodes.nodes]
        rows = [activity(folder) for folder in folders]
    assert all(trace["error"] is None for trace in stopped["traces"])
    for number, mib in enumerate((8, 20)):
        manifest, totals = found[number]["manifest"], rows[number]
        assert manifest["scope"]["cores"] == pytest.approx(0.4 * (os.cpu_count() or 1))
        assert manifest["machine"]["memory"] == manifest["memory_limit"] != "0B"
        # The shell, `ip` and the start of the interpreter are the node's too.
        assert used[number] * 0.95 <= totals["cpu_ns"] / 1e9 <= used[number] * 1.05 + 0.1
        assert totals["write_bytes"] == pytest.approx(mib * MIB, rel=0.05, abs=MIB / 2)
        assert totals["command_write_bytes"] == pytest.approx(mib * MIB, rel=0.05)
    sent = 16 * MIB
    assert rows[0]["tx_bytes"] == pytest.approx(sent, rel=0.05)
    assert rows[1]["rx_bytes"] == pytest.approx(sent, rel=0.05)
    cpu = sum(totals["cpu_ns"] for totals in rows)
    machine = stopped["machine"]
    assert cpu <= machine["cpu_ns"] * 1.1 + 1e8
    assert machine["cores"] == os.cpu_count()
    assert machine["cpu_ns"] <= machine["span_ns"] * machine["cores"] * 1.01
    assert 0 <= machine["full_ns"] <= machine["span_ns"]
    assert 0 < machine["memory_peak_bytes"] < machine["memory_bytes"]


def activity(folder: str) -> Reply:
    """Totals of a trace."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(f"{folder}/activity.parquet").to_pylist()[-1]
    disks = parquet.read_table(f"{folder}/disks.parquet").to_pylist()
    totals = {name: value for name, value in table.items() if name != "cpu_ns"}
    return totals | {"cpu_ns": sum(table["cpu_ns"]), "write_bytes": disks[-1]["write_bytes"]}


def test_agents_do_not_disturb_each_other(tmp_path: Path) -> None:
    with started(tmp_path) as one, started(tmp_path) as two:
        for agent in (one, two):
            agent.start(own())
        folders = [agent.ask("stop")["traces"][0]["folder"] for agent in (one, two)]
        assert len(set(folders)) == 2
        one.ask("remove")
        assert not Path(folders[0]).exists()
        assert Path(folders[1]).exists()
        assert one.end() == ""
        eventually(lambda: one.process.poll() is not None)
        two.ask("remove")
        assert two.end() == ""
