"""From options to a sort, and what it did."""

import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path as File
from typing import Any

from gordon import __version__, _core
from gordon.runs import Path, Progress, dealt

METHODS = ("auto", "one-pass", "distribute", "merge")
PARTIAL = ("refuse", "keep", "drop")


@dataclass(frozen=True, kw_only=True)
class How:
    """How a sort is carried out; nothing here changes its result. Sizes are text (`2GB`)."""

    memory: str | None = None
    """The most for records and buffers; without it, half of what is available."""
    temp: Sequence[Path] = ()
    """Folders of temporary files, which take turns; without any, that of the output."""
    method: str = "auto"
    """One of `METHODS`."""
    input_transfer: str | None = None
    """Bytes of a read of the input."""
    output_transfer: str | None = None
    """Bytes of a write of the output."""
    temp_transfer: str | None = None
    """Bytes of a transfer of temporary files."""
    threads: int = 0
    """Threads that sort; 0 for one a core."""
    buffered: bool = False
    """I/O goes through the page cache."""
    overwrite: bool = False
    """An output that exists is written to in its place on the device."""
    partial_last: str = "refuse"
    """What becomes of a part of a record at the end of a file: one of `PARTIAL`."""
    seed: int = 0
    """Of the places where keys are sampled."""


class Result:
    """`report` is what was done and measured: keys are in snake_case and carry their units."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report

    def __repr__(self) -> str:
        return f"<gordon.sort.Result {self.report['bytes']} bytes in {self.report['time_s']:.3g} s>"


def available() -> int:
    """Bytes of memory that can be had without swapping."""
    for line in File("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    raise _core.GordonError("/proc/meminfo: no MemAvailable", "--memory SIZE")


def run(
    inputs: Path | Sequence[Path],
    output: Path,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Sorts files, one after the other the input, into one. Options are those of `How`; `progress`
    is called with (done, total) bytes. The output appears when it is whole and durable."""
    (how,) = dealt(options, How)
    files = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    memory = available() // 2 if how.memory is None else _core.parse_bytes(how.memory)
    transfers = {name: getattr(how, f"{name}_transfer") for name in ("input", "output", "temp")}
    config = {
        "inputs": [fspath(path) for path in files],
        "output": fspath(output),
        "memory": f"{memory}B",
        "temp": [fspath(path) for path in how.temp],
        "method": how.method,
        "transfers": {name: size for name, size in transfers.items() if size is not None},
        "threads": how.threads,
        "mode": "buffered" if how.buffered else "direct",
        "overwrite": how.overwrite,
        "partial_last": how.partial_last,
        "seed": how.seed,
    }
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    report: dict[str, Any] = json.loads(_core.sort_run(json.dumps(config), progress))
    spent, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Result(
        {
            "version": __version__,
            "kind": "measured",
            "config": config,
            **report,
            "time_s": spent,
            "cpu_user_s": user,
            "cpu_system_s": system,
            "peak_resident_bytes": after.ru_maxrss * 1024,
        }
    )
