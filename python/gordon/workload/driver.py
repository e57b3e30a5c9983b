"""Starts the driver of a job in its node, and runs the job there (`driver_program`)."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from gordon.errors import GordonError
from gordon.run.local import Node
from gordon.run.replies import Failure
from gordon.run.report import Engine, JobFigures, Parameters
from gordon.workload.java import Java

PROGRAM = ("-m", "gordon.workload.driver_program")
#: Seconds within which a driver ends its session.
PATIENCE_S = 30.0


class Request(TypedDict):
    """A job to run, and its session of Spark."""

    job: str
    parameters: Parameters
    inputs: list[str]
    output: str
    master: str
    settings: dict[str, str]
    java_home: str
    java_version: str


class Reply(TypedDict, total=False):
    """A reply of the driver, which has one of the keys."""

    engine: Engine
    figures: JobFigures
    #: An error of gordon.
    error: Failure
    #: The error with which Spark gave up the job.
    failure: str


class JobFailed(Exception):  # noqa: N818 the job failed, not the program
    """Spark gave up the job; the argument is its error as text."""


class Driver:
    """A context manager with the driver of a job. When it is entered, the session of Spark is ready
    and the input is checked. `engine` describes the session."""

    def __init__(self, node: Node, found: Java, request: Request, log: Path) -> None:
        self.node = node
        self._java = found
        self._request = request
        self._log = log
        self.engine: Engine
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> "Driver":
        with self._log.open("ab") as log:
            self._process = self.node.start(
                [sys.executable, *PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment(self.node, self._java),
            )
        try:
            self.engine = self._ask(self._request)["engine"]
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # The job may be running.
            self._process.terminate()
        self.close()

    def run(self) -> JobFigures:
        """Runs the job and returns its figures. Raises JobFailed if Spark gives it up."""
        return self._ask({"op": "run"})["figures"]

    def close(self) -> None:
        """Ends the session and the program."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, request: Mapping[str, object]) -> Reply:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise GordonError(
                f"the driver ended: {last_lines(self._log, 1) or 'it printed nothing'}",
                "more memory for this machine, or end other programs",
                kind="no-driver",
            )
        reply: Reply = json.loads(line)
        if "error" in reply:
            error = reply["error"]
            raise GordonError(error["message"], error["hint"], kind=error["kind"])
        if "failure" in reply:
            raise JobFailed(reply["failure"])
        return reply


def environment(node: Node, found: Java) -> dict[str, str]:
    """The variables of a driver of Spark in its node."""
    local = node.disk / "shuffle"
    local.mkdir(exist_ok=True)
    return found.environment() | {"SPARK_LOCAL_DIRS": str(local), "SPARK_LOCAL_IP": node.address}


def last_lines(log: Path, count: int) -> str:
    """The last lines of a log, without the messages of Spark's own logger, which start with the
    date and time."""
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 65536))
        lines = file.read().decode(errors="replace").splitlines()
    own = [line.strip() for line in lines if line.strip() and not _is_of_spark(line)]
    return "\n".join(own[-count:])


def _is_of_spark(line: str) -> bool:
    """Whether Spark's logger wrote a line: `26/11/27 09:00:00 INFO ShutdownHookManager: ...`, or
    `WARNING: Using incubator modules: ...` of its JVM."""
    words = line.split(maxsplit=3)
    is_logged = len(words) > 3 and words[2] in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR")
    is_notice = line.startswith(("WARNING: ", "Using Spark's default log4j", "Setting default log"))
    return is_logged or is_notice
