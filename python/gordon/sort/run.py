"""Runs a sort: options, settings file, the core's report."""

import json
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path as File
from typing import Any

from gordon import __version__, _core
from gordon.errors import GordonError
from gordon.human import short
from gordon.options import Path, Progress, dealt, several

#: Methods of the external sort.
METHODS = ("auto", "one-pass", "distribute", "merge")
#: Methods of sorting records in memory.
IN_CORE = ("radix", "merge")
#: I/O backends.
IO = ("auto", "uring", "threads")
#: Handling of a partial record at the end of a file.
PARTIAL = ("refuse", "keep", "drop")


@dataclass(frozen=True, kw_only=True)
class How:
    """Settings of a sort that do not change its result. Sizes are text (`2GB`)."""

    memory: str | None = None
    """Maximum memory for records and buffers. Default: half of the available memory."""
    temp: Sequence[Path] = ()
    """Folders of temporary files, used round-robin. Default: the output's folder."""
    method: str = "auto"
    """Method of the external sort, one of `METHODS`."""
    in_core: str = "radix"
    """Method of sorting records in memory, one of `IN_CORE`."""
    preset: str | None = None
    """Name of a system of the JouleSort paper whose transfer sizes to use: `3B`."""
    input_transfer: str | None = None
    """Bytes per read of the input."""
    output_transfer: str | None = None
    """Bytes per write of the output."""
    temp_transfer: str | None = None
    """Bytes per transfer of temporary files."""
    temp_stripe: str | None = None
    """Unit in which temporary data is striped over the folders `temp`. Default: each transfer goes
    to one folder."""
    threads: int = 0
    """Number of threads that sort; 0 for one per core."""
    buffered: bool = False
    """Use the page cache instead of direct I/O."""
    io: str = "auto"
    """I/O backend, one of `IO`."""
    overwrite: bool = False
    """Overwrite the existing output in place. An interrupted sort leaves it broken."""
    partial_last: str = "refuse"
    """Handling of a partial record at the end of a file, one of `PARTIAL`."""
    seed: int = 0
    """Random seed of the sampling."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """The format of the records and their keys. Default: records of the sort benchmark, 100 bytes
    of which the first 10 are the key."""

    lines: bool = False
    """Sort lines."""
    record: int | None = None
    """Sort records of this many bytes."""
    keys: Sequence[str] = ()
    """Keys, most significant first. Lines: as of sort(1), `2,2n`. Records: `START:END[:TYPE][:r]`,
    `8:16:u64be`. Default: the whole line or record."""
    order: str | None = None
    """Lines: option letters of sort(1) for keys without their own."""
    field_separator: str | None = None
    """Lines: field separator. Default: the start of each run of blanks."""
    zero_terminated: bool = False
    """Lines end with a NUL byte."""
    last_resort: bool = False
    """Lines: order equal keys by the whole line. Default: keep the input's order."""

    def config(self) -> Any:
        """The core's."""
        if self.lines and self.record is not None:
            raise GordonError(
                "--lines and --record exclude each other",
                "give only one of them",
                kind="exclusive-options",
            )
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
            raise GordonError(
                f"--{option} applies to lines only", "also give --lines", kind="needs-option"
            )
        if self.record is not None:
            return {"fixed": {"record": self.record, "keys": several(self.keys)}}
        if self.keys:
            raise GordonError(
                "--key needs --lines or --record: the key of benchmark records is fixed",
                "also give --lines, or --record N",
                kind="needs-option",
            )
        return "benchmark"


#: A merge of two holds this many records at a time: of each run one, and the start of the next.
_HELD = 4


class Result:
    """The result of a sort. Keys of `report` are in snake_case and carry their units."""

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
            raise GordonError(
                f"{origin}: cannot read the file: {error}", kind="unreadable-file"
            ) from None
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
            found[name] = [_folder(fspath(path)) for path in several(value)]
        else:
            found[name] = value
    return found


def _folder(path: str) -> str:
    """The core opens folders of temporary files only if it needs them."""
    if not File(path).is_dir():
        raise GordonError(
            f"--temp {path}: there is no such folder", f"mkdir -p {path}", kind="missing-folder"
        )
    return path


def _check_size(name: str, value: str | None) -> None:
    """The core would name the key of its settings, which nobody wrote."""
    if value is None:
        return
    try:
        _core.parse_bytes(value)
    except GordonError as error:
        what = f"--{name.replace('_', '-')}: {error.args[0]}"
        raise GordonError(what, "a size, such as 64KiB or 2GB", kind="bad-size") from None


def _warnings(report: dict[str, Any]) -> list[str]:
    """A warning if the longest record needs more than the limit of memory."""
    longest, memory = report["longest_record_bytes"], report["memory_bytes"]
    if _HELD * longest <= memory:
        return []
    return [
        f"the longest record has {short(longest, 'B')}, so that merging it needed more memory than "
        f"the {short(memory, 'B')} of --memory"
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
    """Sorts the records of files into one file.

    The inputs are concatenated. With `stripe`, a size as text (`64KiB`), they are instead read as
    one file striped over them: unit n is in file n modulo their number. With `unique`, only the
    first of several records with equal keys is written, as by `sort -u`. `options` are the fields
    of `Records` and `How`; those of `How` take precedence over the TOML file `config` (`gordon
    schema sort`). `progress` is called with the bytes (done, total). The output appears when it is
    complete and durable. Raises GordonError.
    """
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
