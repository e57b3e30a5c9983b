"""Files of other programs in place of traces: records of sysstat, Prometheus and rezolus, and event
logs of Spark.

They are converted as `gordon trace convert` does, with its warnings and its errors, into a folder
that is removed once nothing uses it. Results, warnings and errors name the files themselves.
"""

import json
import shlex
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gordon._core import spark_event_logs, trace_activity_format, trace_convert_activity
from gordon.errors import GordonError
from gordon.options import Progress
from gordon.reports.trace import ActivityReport
from gordon.scratch import scratch

SPARK = "spark-eventlog"
#: The path of standard input.
STDIN = "-"
_PREFIX = "gordon-traces-"
#: Options of `gordon trace convert` that its errors name.
_OPTIONS = ("--cores", "--skip-bad", "--clock", "--format")


class Workplace:
    """A folder for converted traces, made once it is needed. It is removed with this object, or
    when Python ends."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._stack = ExitStack()
        self.progress = progress
        """Called with the bytes of files read (done, total), before decompression."""
        self.names: dict[str, str] = {}
        """The name for a path: the file that it was made of, or a bundled file's name."""
        self.close = weakref.finalize(self, self._stack.close)
        """Removes the folder."""

    @cached_property
    def path(self) -> Path:
        return self._stack.enter_context(scratch(tempfile.gettempdir(), _PREFIX))

    def new(self, label: str, source: str) -> str:
        """A path that does not exist yet, for what is made of `label`. A survey names nodes after
        the last part of paths, which is that of `source`."""
        parent = self.path / f"{len(self.names)}"
        parent.mkdir()
        path = str(parent / (Path(source).name or "trace"))
        self.names[path] = label
        return path

    def named(self, value: Any) -> Any:
        """A result, or a part of one, with the names of files in place of paths in the folder."""
        if not self.names:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self.named(key): self.named(of) for key, of in value.items()}
        if isinstance(value, list):
            return [self.named(of) for of in value]
        return value

    def _text(self, text: str) -> str:
        for path in sorted(self.names, key=len, reverse=True):
            text = text.replace(path, self.names[path])
        return text

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors in it name files."""
        try:
            yield
        except GordonError as error:
            what, hint = self._text(error.message), self._text(error.hint)
            raise GordonError(what, hint, kind=error.kind) from error


@dataclass
class Converted:
    """The traces that were made of a file, or of several that were read as one."""

    folder: str
    """A trace, or a folder with a trace of each host."""
    paths: list[str]
    """The traces."""
    warnings: list[str]
    """Losses and assumptions, each after the name of the file or of the host in it."""


def spooled(place: Workplace) -> Path:
    """A copy of standard input, since its format is detected before it is read."""
    path = Path(place.new(STDIN, STDIN))
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def format_of(path: Path) -> str | None:
    """The format of a file, or of the files in a folder, that can be converted; None for others."""
    return trace_activity_format(str(path))


def logs(path: Path) -> tuple[list[Path], list[str]]:
    """The event logs that a path stands for, and a warning if its folder has something else."""
    found = [Path(log) for log in spark_event_logs(str(path))]
    if not path.is_dir():
        return found, []
    inside = [child for child in sorted(path.iterdir()) if not child.name.startswith(".")]
    if found == [path]:
        # The files of one log: those of other monitors are not among them.
        others = [child for child in inside if format_of(child) not in (None, SPARK)]
    else:
        names = {log.name for log in found}
        others = [child for child in inside if child.name not in names]
    if not others:
        return found, []
    what = "entry is" if len(others) == 1 else "entries are"
    return found, [
        f"{path}: {len(others)} {what} not an event log, left out, such as {others[0].name}"
    ]


def convert(sources: Sequence[Path], format_: str, place: Workplace) -> Converted:
    """Converts files of one format, read as one. Raises GordonError as the conversion does; an
    option that its hint names is one of `gordon trace convert`."""
    label = place.named(str(sources[0]))
    if len(sources) > 1:
        label += f" and {len(sources) - 1} more"
    target = place.new(label, str(sources[0]))
    given = [str(source) for source in sources]
    try:
        done: ActivityReport = json.loads(
            trace_convert_activity(given, target, format_, tick=place.progress)
        )
    except GordonError as error:
        what, hint = error.message, error.hint
        if hint.startswith(_OPTIONS):
            hint = (
                f"`gordon trace convert {shlex.join(given)} OUT` with {hint}; then give OUT in its "
                "place"
            )
        raise GordonError(what, hint, kind=error.kind) from None
    hosts = {host["host"]: host["path"] for host in done["hosts"]}
    if len(hosts) > 1:
        # Hosts of several files have names of their own, and no file to be named by.
        start = f"{label}/" if len(sources) == 1 else ""
        for path in hosts.values():
            place.names[path] = f"{start}{Path(path).name}"
    warnings = [_about(text, label, hosts, place) for text in done["warnings"]]
    return Converted(target, list(hosts.values()), warnings)


def _about(text: str, label: str, hosts: dict[str, str], place: Workplace) -> str:
    """A warning of the conversion, after the name of what it is about."""
    for host, path in hosts.items():
        if len(hosts) > 1 and text.startswith(f"{host}: "):
            return f"{place.names[path]}: {text.removeprefix(f'{host}: ')}"
    return f"{label}: {text}"
