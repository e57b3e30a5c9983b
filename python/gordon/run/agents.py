"""Agents: `gordon trace agent` on each host of a run, reached through a command such as ssh.

An agent reads requests from stdin and writes replies to stdout, one JSON object a line; it needs no
port, and ends when its stdin closes. docs/design/capture.md has the protocol.

The clock of a host is compared with ours by four timestamps, as NTP does: we send at t1, the agent
receives at t2 and replies at t3, we receive at t4. With equal delays both ways the offset of its
clock is ((t2 - t1) + (t3 - t4)) / 2, and the error is at most half of the round trip
(t4 - t1) - (t3 - t2). Of several exchanges the one with the shortest round trip is used.
"""

import base64
import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from gordon import __version__
from gordon.errors import GordonError
from gordon.run.replies import AgentFile, ClockReply, Fetched, Hello, Started, Stopped
from gordon.run.report import CaptureScope, ClockReport, ClockStamps

LOCAL = "local"
AGENT = ("trace", "agent")
EXCHANGES = 8
#: Seconds within which an agent replies; the first reply needs a connection and an interpreter.
PATIENCE_S = 30.0
#: Bytes of a trace that are fetched with one request.
CHUNK = 1 << 20


@dataclass(frozen=True)
class ClockReading:
    """Four timestamps in nanoseconds since 1970; t1 and t4 are of our clock."""

    t1: int
    t2: int
    t3: int
    t4: int

    @property
    def offset_ns(self) -> int:
        """The time by which the clock of the host is ahead of ours."""
        return ((self.t2 - self.t1) + (self.t3 - self.t4)) // 2

    @property
    def round_trip_ns(self) -> int:
        """Time on the way, there and back."""
        return (self.t4 - self.t1) - (self.t3 - self.t2)

    def report(self) -> ClockStamps:
        return {"t1": self.t1, "t2": self.t2, "t3": self.t3, "t4": self.t4}


@dataclass(frozen=True)
class HostClock:
    """The clock of a host at the start and at the end of a run."""

    start: ClockReading
    end: ClockReading

    @property
    def offset_ns(self) -> int:
        """The time by which the clock of the host was ahead of ours at the start."""
        return self.start.offset_ns

    @property
    def drift_ppb(self) -> float:
        """The rate by which it ran faster than ours, in parts of 10^9."""
        passed = self.end.t1 - self.start.t1
        return (self.end.offset_ns - self.start.offset_ns) / passed * 1e9 if passed > 0 else 0.0

    def report(self) -> ClockReport:
        return {
            "offset_ns": self.offset_ns,
            "round_trip_ns": max(self.start.round_trip_ns, self.end.round_trip_ns),
            "drift_ppb": self.drift_ppb,
            "start": self.start.report(),
            "end": self.end.report(),
        }


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ctrl-C is not for the programs that reach agents, which ignore it if they start so: ssh
    would end with it, and the traces of its host would be lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class AgentLost(GordonError):  # noqa: N818 it is the agent that is lost
    """The connection to an agent ended."""


class Agent:
    """An agent on a host. A context manager: the agent ends with it."""

    def __init__(self, host: str, via: str | None = None) -> None:
        """Starts the agent. `via` is a command template with {host}, such as `ssh {host}`. Raises
        GordonError if the command cannot be started or another version of Gordon answers."""
        self.host = host
        command = [*_via(host, via), *AGENT]
        try:
            with _ignoring_interrupts():
                self._process = subprocess.Popen(  # noqa: S603 - the person's own
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
        except OSError as error:
            raise GordonError(
                f"cannot start an agent on {host}: {command[0]}: {error.strerror}",
                "--via takes a command that runs a program on a host, such as 'ssh {host}'",
                kind="unreachable-host",
            ) from None
        self._replies: Queue[bytes] = Queue()
        self._errors: list[bytes] = []
        for read in (self._read_replies, self._read_errors):
            threading.Thread(target=read, daemon=True).start()
        self._number = 0
        try:
            hello: Hello = self.request("hello")
        except AgentLost as error:
            self.close()
            raise GordonError(
                f"cannot start an agent on {host}: {error.message.partition(': ')[2]}",
                f"try: {shlex.join([*command[: -len(AGENT)], '--version'])}",
                kind="unreachable-host",
            ) from None
        except BaseException:
            # The command ignores SIGINT, so Ctrl-C here would leave it running.
            self._process.kill()
            self.close()
            raise
        if hello["version"] != __version__:
            self.close()
            raise GordonError(
                f"{host} has gordon {hello['version']}, this machine {__version__}",
                "install the same version on all hosts",
                kind="other-version",
            )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, op: str, patience_s: float = PATIENCE_S, **fields: object) -> Any:
        """Sends a request and returns the reply, an object. Raises AgentLost if the agent has ended
        or does not reply, and the agent's own error as GordonError."""
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **fields}) + "\n"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
            text = self._replies.get(timeout=patience_s)
        except OSError:
            text = b""
        except Empty:
            raise self._lost(f"no reply within {patience_s:.0f} s") from None
        if not text:
            raise self._lost("it has ended")
        try:
            reply = json.loads(text)
        except ValueError:
            raise self._lost(f"it wrote {text[:80]!r}, which is not a reply") from None
        if reply.get("id") != self._number:
            raise self._lost("its replies are out of order")
        if "error" in reply:
            error = reply["error"]
            what = f"{self.host}: {error['message']}"
            raise GordonError(what, error.get("hint", ""), kind=error.get("kind", ""))
        return reply

    def clock(self) -> ClockReading:
        """Compares the clock of the host with ours."""
        readings = []
        for _ in range(EXCHANGES):
            t1 = time.time_ns()
            reply: ClockReply = self.request("clock", t1_ns=t1)
            readings.append(ClockReading(t1, reply["t2_ns"], reply["t3_ns"], time.time_ns()))
        return min(readings, key=lambda reading: reading.round_trip_ns)

    def start(
        self,
        scopes: Sequence[CaptureScope],
        interval_ns: int,
        phase_unix_ns: int,
        command: Sequence[str],
    ) -> list[str]:
        """Starts a capture, and returns its warnings. `phase_unix_ns` is a time of a sample by the
        clock of the host."""
        reply: Started = self.request(
            "start",
            scopes=scopes,
            interval_ns=interval_ns,
            phase_unix_ns=phase_unix_ns,
            command=command,
        )
        return reply["warnings"]

    def stop(self, patience_s: float) -> Stopped:
        """Ends the capture; its traces are complete then."""
        reply: Stopped = self.request("stop", patience_s=patience_s)
        return reply

    def fetch(self, folder: str, files: Sequence[AgentFile], target: Path) -> None:
        """Copies files of a trace, whose names and sizes are given, to a new folder."""
        target.mkdir()
        for file in files:
            path = f"{folder}/{file['file']}"
            with (target / file["file"]).open("wb") as out:
                end = False
                while not end:
                    reply: Fetched = self.request(
                        "fetch", path=path, offset=out.tell(), bytes=CHUNK
                    )
                    out.write(base64.b64decode(reply["base64"]))
                    end = reply["end"]

    def close(self) -> None:
        """Closes the agent's stdin, at which it ends, and waits for it."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read_replies(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._replies.put(line)
        self._replies.put(b"")

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
            del self._errors[:-10]

    def _lost(self, why: str) -> AgentLost:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        lines = b"".join(self._errors).decode(errors="replace").strip().splitlines()
        reason = f"{why}; {lines[-1]}" if lines else why
        return AgentLost(f"the agent on {self.host} is lost: {reason}", "", kind="lost-agent")


def _via(host: str, via: str | None) -> list[str]:
    """The command that runs `gordon` on a host."""
    if via is None:
        return [sys.executable, "-m", "gordon"]
    if "{host}" not in via:
        raise GordonError(
            f"--via {via!r} does not say where the host goes",
            "a command with {host}, such as 'ssh {host}' or 'kubectl exec -i {host} --'",
            kind="bad-via",
        )
    try:
        words = shlex.split(via)
    except ValueError as error:
        raise GordonError(
            f"--via {via!r}: {error}", "a command of a shell: --via 'ssh {host}'", kind="bad-via"
        ) from None
    return [word.replace("{host}", host) for word in words] + ["gordon"]
