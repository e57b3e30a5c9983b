"""Runs a command and reports the resources that it used."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypedDict

from gordon import peak, signals, threads
from gordon.energy.series import Span
from gordon.errors import GordonError
from gordon.human import short

#: Bytes of the unit in which getrusage counts transfers.
BLOCK = 512


class UsageReport(TypedDict):
    """The resources used by a run."""

    wall_s: float
    user_s: float
    sys_s: float
    max_rss_bytes: int
    #: Whether the peak of memory is at most this: a process begins with that of who started it.
    max_rss_is_bound: bool
    read_bytes: int
    written_bytes: int
    exit_status: int


@dataclass(frozen=True)
class Usage:
    """The resources used by a run: its process and all processes that it waited for."""

    span: Span
    user_s: float
    sys_s: float
    max_rss_bytes: int
    read_bytes: int
    written_bytes: int
    exit_status: int = 0
    max_rss_is_bound: bool = False

    def about(self) -> UsageReport:
        return {
            "wall_s": self.span.seconds,
            "user_s": self.user_s,
            "sys_s": self.sys_s,
            "max_rss_bytes": self.max_rss_bytes,
            "max_rss_is_bound": self.max_rss_is_bound,
            "read_bytes": self.read_bytes,
            "written_bytes": self.written_bytes,
            "exit_status": self.exit_status,
        }


def check(command: list[str]) -> None:
    """Raises GordonError, before the work begins, if there is no such program."""
    if shutil.which(command[0]) is None:
        if Path(command[0]).is_file():
            raise GordonError(
                f"cannot run {command[0]}: it is not executable",
                f"chmod +x {command[0]}",
                kind="not-executable",
            )
        raise GordonError(
            f"cannot run {command[0]}: there is no such program",
            "its full path, or a PATH that contains it",
            kind="no-program",
        )


def memory(runs: Sequence[UsageReport]) -> str:
    """The peak memory of runs in words."""
    most = max(run["max_rss_bytes"] for run in runs)
    at_most = "at most " if all(run["max_rss_is_bound"] for run in runs) else ""
    return f"peak memory {at_most}{short(most, 'B')}"


def run(command: list[str], stdout: int | None = None, stderr: IO[bytes] | None = None) -> Usage:
    """Runs a command to its end. Bytes read and written are those of storage devices."""
    own = peak.resident()
    with signals.forwarded() as forwarding:
        begin = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=stdout, stderr=stderr)  # noqa: S603 - the person's own
        except OSError as error:
            hint = threads.refused(error)
            raise GordonError(
                f"cannot run {command[0]}: {error.strerror}", hint, kind="cannot-run"
            ) from None
        forwarding.follow(process.pid)
        _, status, used = os.wait4(process.pid, 0)
    span = Span(begin, time.monotonic())
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    return Usage(
        span=span,
        user_s=used.ru_utime,
        sys_s=used.ru_stime,
        max_rss_bytes=used.ru_maxrss * 1024,
        read_bytes=used.ru_inblock * BLOCK,
        written_bytes=used.ru_oublock * BLOCK,
        exit_status=code if code >= 0 else 128 - code,
        max_rss_is_bound=used.ru_maxrss * 1024 <= own,
    )
