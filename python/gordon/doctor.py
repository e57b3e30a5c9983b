"""The abilities of this machine: what it can measure and run, and what to install for more.

Each check asks the code that would do the work: a short trace, the meters, the engines. Nothing is
changed; the trace is made in a folder that is removed.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypedDict

from gordon import _core, engine
from gordon.energy import find
from gordon.errors import GordonError
from gordon.run import local
from gordon.scratch import scratch
from gordon.workload import java, spark

#: `partly`: it works with estimated or modelled values, or without a part that `why` names.
State = Literal["yes", "partly", "no"]

#: Programs that attach a served disk, and what they attach it as.
CLIENTS = {
    "nbd-client": "a block device of the kernel",
    "nbdfuse": "a file, and a loop device of it",
    "qemu-img": "a disk of QEMU",
    "nbdcopy": "copies to and from it",
    "fio": "a target of fio",
}
_INSTALL_CLIENTS = "apt-get install nbd-client libnbd-bin"

#: Whether io_uring is permitted: 0 to all, 1 to some groups, 2 to nobody.
_URING = Path("/proc/sys/kernel/io_uring_disabled")


@dataclass(frozen=True)
class Finding:
    """One thing that a machine can or cannot do."""

    area: str
    what: str
    state: State
    why: str
    """How it is done, or why it is not."""
    hint: str = ""
    """The next step for more."""


class Examined(TypedDict):
    """All findings about a machine."""

    version: str
    findings: list[dict[str, str]]


def examine() -> Examined:
    """Examines this machine. A check that fails is a finding, not an error."""
    found = [*(_of_linux() if sys.platform == "linux" else _elsewhere()), *_engines()]
    return {"version": _core.version(), "findings": [asdict(one) for one in found]}


def _of_linux() -> Iterator[Finding]:
    yield from _guarded("trace", "a command", _tracing)
    yield from _meters()
    yield from _files()
    yield from _spark()
    yield from _served()


def _elsewhere() -> Iterator[Finding]:
    yield Finding("survey, flash, disk, cache", "surveys and simulations", "yes", "on any system")
    yield Finding(
        "trace, meter, sort, block, storage, workload",
        "what records, sorts or serves",
        "no",
        "it needs Linux",
        "a machine, a container or WSL with Linux",
    )


def _guarded(area: str, what: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings of a check; what it raises is one too."""
    try:
        return check()
    except GordonError as error:
        return [Finding(area, what, "no", error.message, error.hint)]
    except OSError as error:
        return [Finding(area, what, "no", f"{error.filename or 'system'}: {error.strerror}")]


class _Column(TypedDict):
    """A column of a trace in its manifest."""

    name: str
    kind: str
    how: str


#: Columns that stand for what a trace measures, with what the manifest calls it where it lacks.
_COLUMNS = {
    "cpu_ns": ("CPU time of the machine", ""),
    "command_cpu_ns": ("CPU time of the command alone", "command"),
    "instructions": ("instructions and cache misses", "counted"),
    "memory_bytes": ("memory", ""),
    "rx_bytes": ("network", "network"),
    "read_bytes": ("bytes of each disk", ""),
    "latency_ns": ("each request to a disk", "block log"),
}


def _tracing() -> list[Finding]:
    with scratch(tempfile.gettempdir(), "gordon-doctor-") as folder:
        trace = Path(folder) / "trace"
        _core.trace_record(str(trace), 100_000_000, ["true"], None)
        manifest = json.loads((trace / "manifest.json").read_text())
    columns: dict[str, _Column] = {
        column["name"]: column for part in manifest["parts"] for column in part["columns"]
    }
    hint = "" if os.geteuid() == 0 else "run as root"
    found = []
    for name, (what, lacking) in _COLUMNS.items():
        column = columns.get(name)
        reasons = [
            f"{one['what']}: {one['why']}"
            for one in manifest["unavailable"]
            if lacking and one["what"].startswith(lacking)
        ]
        if column is None:
            why = "; ".join(reasons) or "this system does not report it"
            found.append(Finding("trace", what, "no", why, hint))
        elif column["kind"] == "measured":
            found.append(Finding("trace", what, "yes", column["how"]))
        else:
            why = "; ".join([f"{column['kind']} as {column['how']}", *reasons])
            found.append(Finding("trace", what, "partly", why, hint))
    return found


def _meters() -> Iterator[Finding]:
    found = find.candidates()
    real = [one for one in found if one.meter is not None and one.meter.how != "modelled"]
    for one in real:
        yield Finding("energy", one.name, "yes", f"measures {one.measures}")
    if not real:
        why = "modelled from the parts; this machine has no meter that can be read"
        hint = "`gordon meter list` names the meters and what each lacks"
        yield Finding("energy", "joules", "partly", why, hint)


def _files() -> Iterator[Finding]:
    try:
        flags = os.O_TMPFILE | os.O_DIRECT | os.O_RDWR
        os.close(os.open(".", flags))
        yield Finding("sort, storage", "direct I/O in this folder", "yes", "O_DIRECT")
    except OSError as error:
        yield Finding(
            "sort, storage",
            "direct I/O in this folder",
            "partly",
            f"{error.strerror}; files go through the page cache",
            "a folder on ext4, XFS or btrfs",
        )
    why = _core.io_uring_error()
    if why is None:
        yield Finding("sort, storage", "io_uring", "yes", "a ring was set up")
    else:
        is_disabled = _URING.exists() and _URING.read_text().strip() != "0"
        hint = "a container whose seccomp profile permits io_uring"
        hint = "sysctl kernel.io_uring_disabled=0" if is_disabled else hint
        why = f"{why}; reads and writes go through threads"
        yield Finding("sort, storage", "io_uring", "partly", why, hint)


def _spark() -> Iterator[Finding]:
    what = "jobs on Spark"

    def installed() -> list[Finding]:
        version, found = spark.require(), java.find()
        why = f"PySpark {version}, Java {found.version} ({found.source})"
        return [Finding("workload", what, "yes", why)]

    yield from _guarded("workload", what, installed)
    missing = local.missing()
    what = "nodes with limits of their own"
    if missing:
        why = f"{'; '.join(missing)}; nodes share this machine without limits"
        yield Finding("workload", what, "partly", why)
    else:
        yield Finding("workload", what, "yes", "namespaces and control groups")


def _served() -> Iterator[Finding]:
    found = [f"{name} ({what})" for name, what in CLIENTS.items() if shutil.which(name)]
    what = "programs that attach a served disk"
    if found:
        yield Finding("block", what, "yes", ", ".join(found))
    else:
        yield Finding("block", what, "no", "no client of NBD is installed", _INSTALL_CLIENTS)


def _engines() -> Iterator[Finding]:
    for name in engine.NAMES:

        def installed(name: str = name) -> list[Finding]:
            engine.check(name)
            return [Finding("sweep, survey", f"--engine {name}", "yes", "installed")]

        yield from _guarded("sweep, survey", f"--engine {name}", installed)
