"""From options to a sort, and what it did."""

import json
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path as File
from typing import Any

from gordon import __version__, _core
from gordon.human import short
from gordon.options import Path, Progress, dealt, several

#: How records come to their places.
METHODS = ("auto", "one-pass", "distribute", "merge")
#: How records in memory are put in order.
IN_CORE = ("radix", "merge")
#: Who carries transfers out.
IO = ("auto", "uring", "threads")
#: What becomes of a part of a record at the end of a file.
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
    in_core: str = "radix"
    """How records in memory are put in order: one of `IN_CORE`."""
    preset: str | None = None
    """Sizes of transfers of one of the JouleSort paper's systems, by its name: `3B`."""
    input_transfer: str | None = None
    """Bytes of a read of the input."""
    output_transfer: str | None = None
    """Bytes of a write of the output."""
    temp_transfer: str | None = None
    """Bytes of a transfer of temporary files."""
    temp_stripe: str | None = None
    """Unit in which temporary data is striped over the folders `temp`, as a volume manager does;
    without it, each transfer lies in one folder."""
    threads: int = 0
    """Threads that sort; 0 for one a core."""
    buffered: bool = False
    """I/O goes through the page cache."""
    io: str = "auto"
    """Who carries transfers out: one of `IO`."""
    overwrite: bool = False
    """An output that exists is written to in its place on the device."""
    partial_last: str = "refuse"
    """What becomes of a part of a record at the end of a file: one of `PARTIAL`."""
    seed: int = 0
    """Of the places where keys are sampled."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """What a record is, and its key; without any of these, that of the sort benchmark."""

    lines: bool = False
    """Lines."""
    record: int | None = None
    """Bytes of a record."""
    keys: Sequence[str] = ()
    """Of lines as of sort(1), `2,2n`; of records `START:END[:TYPE][:r]`, `8:16:u64be`."""
    order: str | None = None
    """Lines: option letters of sort(1) for keys without their own."""
    field_separator: str | None = None
    """Lines: what stands between fields; blanks without."""
    zero_terminated: bool = False
    """Lines end in a zero byte."""
    last_resort: bool = False
    """Lines with equal keys are in the order of their bytes."""

    def config(self) -> Any:
        """The core's."""
        if self.lines and self.record is not None:
            raise _core.GordonError("lines have no one length", "--lines, or --record")
        if self.lines:
            return {
                "lines": {
                    "keys": several(self.keys),
                    "options": self.order or "",
                    "separator": self.field_separator,
                    "zero": self.zero_terminated,
                    "stable": not self.last_resort,
                }
            }
        of_lines = ("order", "field_separator", "zero_terminated", "last_resort")
        given = [name for name in of_lines if getattr(self, name)]
        if given:
            option = given[0].replace("_", "-")
            raise _core.GordonError(f"--{option} is of lines", "--lines")
        if self.record is not None:
            return {"fixed": {"record": self.record, "keys": several(self.keys)}}
        if self.keys:
            raise _core.GordonError("a key of what?", "--lines, or --record N")
        return "benchmark"


#: A merge of two holds this many records at a time: of each run one, and the start of the next.
_HELD = 4


class Result:
    """`report` is what was done and measured: keys are in snake_case and carry their units."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report

    def __repr__(self) -> str:
        return f"<gordon.sort.Result {self.report['bytes']} bytes in {self.report['time_s']:.3g} s>"


def settings(config: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """The core's settings: those of a TOML file, and over them the options that are given."""
    found: dict[str, Any] = {"transfers": {}}
    if config is not None:
        origin = fspath(config)
        try:
            text = File(config).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _core.GordonError(f"{origin}: cannot read it: {error}") from None
        found = json.loads(_core.load_toml("sort", text, origin))
    how = How(**options)
    if how.preset is not None:
        from gordon.sort.presets import transfer_sizes

        sizes = zip(("input", "output", "temp"), transfer_sizes(how.preset), strict=True)
        found["transfers"] |= {name: f"{size}B" for name, size in sizes if size is not None}
    for name in options:
        value = getattr(how, name)
        if name == "preset":
            continue
        if name == "memory" or name.endswith("_transfer"):
            _check_size(name, value)
        if name.endswith("_transfer"):
            found["transfers"][name.removesuffix("_transfer")] = value
        elif name == "temp_stripe":
            found["transfers"]["stripe"] = value
        elif name == "buffered":
            found["mode"] = "buffered" if value else "direct"
        elif name == "temp":
            found[name] = [fspath(path) for path in several(value)]
        else:
            found[name] = value
    return found


def _check_size(name: str, value: str | None) -> None:
    """The core would name the key of its settings, which nobody wrote."""
    if value is None:
        return
    try:
        _core.parse_bytes(value)
    except _core.GordonError as error:
        what = f"--{name.replace('_', '-')}: {error.args[0]}"
        raise _core.GordonError(what, "a size, such as 64KiB or 2GB") from None


def _warnings(report: dict[str, Any]) -> list[str]:
    """What did not go as it was asked for."""
    longest, memory = report["longest_record_bytes"], report["memory_bytes"]
    if _HELD * longest <= memory:
        return []
    return [
        f"the longest record has {short(longest, 'B')}: it and the records next to it need more "
        f"memory than the {short(memory, 'B')} of --memory"
    ]


def _peak() -> int:
    """The most memory that this process had resident, in bytes. `getrusage` would count that of who
    started it."""
    status = File("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def run(
    inputs: Path | Sequence[Path],
    output: Path,
    *,
    stripe: str | None = None,
    unique: bool = False,
    config: Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Sorts files, one after the other the input, into one. With `stripe`, a size, they are one
    file that lies over them in units of that: unit n is in file n mod their count. With `unique`
    the first of the records whose keys are equal is written alone, as by `sort -u`. Options are
    those of `Records` and `How`; the latter go before those of the TOML file `config` (`gordon
    schema sort`). `progress` is called with (done, total) bytes. The output appears when it is
    whole and durable."""
    (records, _) = dealt(options, Records, How)
    _check_size("stripe", stripe)
    how = {name: value for name, value in options.items() if hasattr(How, name)}
    job = {
        "inputs": [fspath(path) for path in several(inputs)],
        **({} if stripe is None else {"stripe": stripe}),
        "unique": unique,
        "output": fspath(output),
        "records": records.config(),
        "settings": settings(config, how),
    }
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    report: dict[str, Any] = json.loads(_core.sort_run(json.dumps(job), progress))
    spent, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
    return Result(
        {
            "version": __version__,
            "kind": "measured",
            **job,
            "shape": job["records"],
            **report,
            "warnings": _warnings(report),
            "time_s": spent,
            "cpu_user_s": after.ru_utime - before.ru_utime,
            "cpu_system_s": after.ru_stime - before.ru_stime,
            "peak_resident_bytes": _peak(),
        }
    )
