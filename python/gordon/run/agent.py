"""The agent of a host: captures traces of the host or of nodes on it, for a coordinator.

It reads requests and writes replies, one JSON object a line; docs/design/capture.md has the
protocol. It ends when its input ends, and completes the traces of a capture that is running.
"""

import base64
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from gordon import __version__
from gordon._core import NodeCapture
from gordon.errors import GordonError
from gordon.reports.trace import CaptureReport
from gordon.run.replies import (
    AgentFile,
    AgentTrace,
    Failure,
    Fetched,
    Hello,
    Removed,
    Started,
    Stopped,
)
from gordon.untyped import Given

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MEMORY = Path("/proc/meminfo")
#: Longest request in bytes. One of a thousand nodes has 200 kB.
LONGEST_REQUEST = 1 << 22
#: Most bytes of a file in one reply.
LONGEST_FETCH = 1 << 22
#: A request as it came, whose values are not checked yet.
Request = Given


class Agent:
    """The state of an agent between requests."""

    def __init__(self) -> None:
        self._capture: NodeCapture | None = None
        self._temporary: list[Path] = []
        self._files: set[str] = set()
        self._operations: dict[str, Callable[[Request], Mapping[str, object]]] = {
            "hello": self._hello,
            "start": self._start,
            "stop": self._stop,
            "fetch": self._fetch,
            "remove": self._remove,
        }

    def reply(self, line: bytes, received_ns: int) -> Mapping[str, object]:
        """Does what the request in `line` asks for, and returns the reply; an error is a reply too.
        `received_ns` is when it came, in nanoseconds since 1970."""
        number = None
        try:
            request = _parsed(line)
            number = request.pop("id", None)
            op = request.pop("op", None)
            if op == "clock":
                t1 = request.get("t1_ns")
                return {"id": number, "t1_ns": t1, "t2_ns": received_ns, "t3_ns": time.time_ns()}
            operation = self._operations.get(op) if isinstance(op, str) else None
            if operation is None:
                known = ", ".join(["clock", *self._operations])
                raise GordonError(f"unknown op {op!r}", f"one of {known}", kind="unknown-op")
            return {"id": number, **operation(request)}
        except GordonError as error:
            message, hint = error.message, error.hint
            failure: Failure = {"kind": error.kind, "message": message, "hint": hint}
        except OSError as error:
            what = f"{error.filename or 'the system'}: {error.strerror}"
            failure = {"kind": "system", "message": what, "hint": ""}
        return {"id": number, "error": failure}

    def close(self) -> list[Path]:
        """Completes the traces of a capture that is running. Returns the temporary folders that no
        request has removed."""
        if self._capture is not None:
            self._stop({})
        return [folder for folder in self._temporary if folder.exists()]

    def _hello(self, _: Request) -> Hello:
        total = next(
            line for line in MEMORY.read_text().splitlines() if line.startswith("MemTotal")
        )
        return {
            "version": __version__,
            "host": BOOT_ID.read_text().strip(),
            "cores": os.cpu_count(),
            "memory_bytes": int(total.split()[1]) << 10,
            "kernel": os.uname().release,
            "is_root": os.geteuid() == 0,
            "pid": os.getpid(),
            "monotonic_ns": time.monotonic_ns(),
            "unix_ns": time.time_ns(),
        }

    def _start(self, request: Request) -> Started:
        if self._capture is not None:
            raise GordonError("a capture is running", "stop it first", kind="already-capturing")
        scopes = request.get("scopes")
        if not isinstance(scopes, list) or not all(isinstance(scope, dict) for scope in scopes):
            raise _bad("`scopes` is not a list of objects")
        folder = None
        try:
            for scope in scopes:
                scope.setdefault("kind", "node")
                if "out" not in scope:
                    folder = folder or Path(tempfile.mkdtemp(prefix="gordon-agent-"))
                    scope["out"] = str(folder / _folder_name(scope.get("name")))
            self._capture = NodeCapture(json.dumps(request))
        except BaseException:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if folder is not None:
            self._temporary.append(folder)
        return {"ok": True, "warnings": self._capture.warnings()}

    def _stop(self, _: Request) -> Stopped:
        if self._capture is None:
            raise GordonError("no capture is running", "start one first", kind="not-capturing")
        capture, self._capture = self._capture, None
        outcome: CaptureReport = json.loads(capture.stop())
        traces: list[AgentTrace] = []
        for trace in outcome["traces"]:
            files: list[AgentFile] = []
            if trace["error"] is None:
                manifest = Path(trace["folder"], "manifest.json").stat().st_size
                files.append({"file": "manifest.json", "bytes": manifest})
            for part in trace["parts"] or []:
                files.append({"file": part["file"], "bytes": part["bytes"]})
            self._files |= {f"{trace['folder']}/{file['file']}" for file in files}
            traces.append(
                {
                    "name": trace["name"],
                    "folder": trace["folder"],
                    "files": files,
                    "scope": trace["scope"],
                    "duration_ns": trace["duration_ns"],
                    "start_unix_ns": trace["start_unix_ns"],
                    "error": trace["error"],
                    "warnings": trace["warnings"],
                }
            )
        return {
            "traces": traces,
            "machine": outcome["machine"],
            "capture_cpu_ns": outcome["capture_cpu_ns"],
        }

    def _fetch(self, request: Request) -> Fetched:
        path, offset = request.get("path"), request.get("offset", 0)
        length = request.get("bytes", LONGEST_FETCH)
        if path not in self._files:
            raise GordonError(
                f"{path} is not a file of a trace of this agent",
                "FOLDER/FILE as in the reply to `stop`",
                kind="unknown-file",
            )
        if not all(isinstance(n, int) and n >= 0 for n in (offset, length)) or length == 0:
            raise _bad("`offset` and `bytes` are not numbers of bytes")
        with Path(path).open("rb") as file:
            file.seek(offset)
            data = file.read(min(length, LONGEST_FETCH))
            end = file.tell() >= os.fstat(file.fileno()).st_size
        return {"base64": base64.b64encode(data).decode(), "end": end}

    def _remove(self, _: Request) -> Removed:
        if self._capture is not None:
            raise GordonError("a capture is running", "stop it first", kind="already-capturing")
        for folder in self._temporary:
            shutil.rmtree(folder)
            self._files = {file for file in self._files if not file.startswith(f"{folder}/")}
        removed = [str(folder) for folder in self._temporary]
        self._temporary.clear()
        return {"ok": True, "removed": removed}


def serve(requests: BinaryIO, replies: BinaryIO) -> list[Path]:
    """Answers requests until there are no further ones, or until a signal (SIGTERM, SIGHUP) asks
    the agent to end. Returns the temporary folders that were not removed."""
    agent = Agent()
    try:
        with _ending_by_signals() as wait:
            while line := wait(lambda: requests.readline(LONGEST_REQUEST)):
                received_ns = time.time_ns()
                reply = agent.reply(line, received_ns)
                while len(line) == LONGEST_REQUEST and not line.endswith(b"\n"):
                    line = requests.readline(LONGEST_REQUEST)
                replies.write(json.dumps(reply).encode() + b"\n")
                replies.flush()
    except (_Ended, BrokenPipeError):
        pass
    finally:
        left = agent.close()
    return left


class _Ended(BaseException):
    """A signal asks the agent to end."""


@contextmanager
def _ending_by_signals() -> Iterator[Callable[[Callable[[], bytes]], bytes]]:
    """Yields a function that calls another one, which a signal ends. At other times a signal waits
    for it. Ctrl-C is left to the coordinator, which shares the terminal with its agents and asks
    them for their traces after it."""
    is_waiting = is_ended = False

    def end(_: int, __: FrameType | None) -> None:
        nonlocal is_ended
        is_ended = True
        if is_waiting:
            raise _Ended

    def wait(read: Callable[[], bytes]) -> bytes:
        nonlocal is_waiting
        is_waiting = True
        try:
            if is_ended:
                raise _Ended
            return read()
        finally:
            is_waiting = False

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield wait
    finally:
        for number, handler in before.items():
            with suppress(TypeError):
                signal.signal(number, handler)


def _parsed(line: bytes) -> Request:
    if len(line) == LONGEST_REQUEST and not line.endswith(b"\n"):
        raise _bad(f"it has more than {LONGEST_REQUEST} bytes")
    try:
        request = json.loads(line)
    except ValueError as error:
        raise _bad(f"it is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise _bad("it is not an object")
    return request


def _bad(why: str) -> GordonError:
    hint = 'one JSON object a line, such as {"id": 1, "op": "hello"}'
    return GordonError(f"bad request: {why}", hint, kind="bad-request")


def _folder_name(name: object) -> str:
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise GordonError(
            f"{name!r} cannot be the name of a folder",
            'a name without "/", or "out" with the path of the trace',
            kind="bad-name",
        )
    return name
