"""Runs a sort: options, settings file, the core's report."""

import json
import time
from collections.abc import Sequence
from os import fspath
from pathlib import Path as File
from typing import Any, ClassVar, NotRequired, TypedDict, Unpack

from gordon import __version__, _core, fields, peak
from gordon.errors import GordonError
from gordon.files import read_text
from gordon.human import short
from gordon.options import Path, Progress, Size, dealt, in_bytes, keywords, several
from gordon.options.explicit import explicit
from gordon.options.sorting import Records, SortSettings
from gordon.reports.sort import SortReport
from gordon.untyped import Config

#: A merge of two holds this many records at a time: of each run one, and the start of the next.
_HELD = 4


class SortJob(TypedDict):
    """The sort, as the core takes it."""

    inputs: list[str]
    stripe: NotRequired[str]
    unique: bool
    output: str
    #: The format of the records; `benchmark` for those of the sort benchmark.
    records: Any
    settings: Config


class TimedSort(SortReport):
    """The report of a sort and what the process took for it."""

    version: str
    kind: str
    inputs: list[str]
    stripe: NotRequired[str]
    unique: bool
    output: str
    settings: Config
    #: The format of the records.
    shape: Any
    warnings: list[str]
    time_s: float
    cpu_user_s: float
    cpu_system_s: float
    peak_resident_bytes: int


class Result(fields.SortResult):
    """The result of a sort."""

    ROWS: ClassVar = "phases"
    SAYS: ClassVar = ("bytes", "time_s")


def settings(config: Path | None, options: Config) -> Config:
    """The core's settings: those of a TOML file, and over them the options that are given."""
    found: Config = {"transfers": {}}
    if config is not None:
        origin = fspath(config)
        text = read_text(config, "the settings", "a TOML file (`gordon schema sort`)")
        found = json.loads(_core.load_toml("sort", text, origin))
    how = SortSettings(**options)
    if how.preset is not None:
        from gordon.sort.presets import transfer_sizes

        sizes = zip(("input", "output", "temp"), transfer_sizes(how.preset), strict=True)
        found["transfers"] |= {name: f"{size}B" for name, size in sizes if size is not None}
    for name in options:
        value = getattr(how, name)
        if name == "preset":
            continue
        if name == "memory" or name.endswith("_transfer"):
            in_bytes(value, f"--{name.replace('_', '-')}")
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


def _warnings(report: SortReport) -> list[str]:
    """A warning if the longest record needs more than the limit of memory."""
    longest, memory = report["longest_record_bytes"], report["memory_bytes"]
    if _HELD * longest <= memory:
        return []
    return [
        f"the longest record has {short(longest, 'B')}, so that merging it needed more memory than "
        f"the {short(memory, 'B')} of --memory"
    ]


@explicit(Records, SortSettings)
def run(
    inputs: Path | Sequence[Path],
    output: Path,
    *,
    stripe: Size | None = None,
    unique: bool = False,
    config: Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.Sort],
) -> Result:
    """Sorts the records of files into one file.

    The inputs are concatenated. With `stripe`, a size (`64KiB`), they are instead read as
    one file striped over them: unit n is in file n modulo their number. With `unique`, only the
    first of several records with equal keys is written, as by `sort -u`. Options of
    `SortSettings` take precedence over the TOML file `config` (`gordon schema sort`). `progress` is
    called with the bytes (done, total). The output appears when it is complete and durable. Raises
    GordonError.
    """
    from resource import RUSAGE_SELF, getrusage  # which Windows does not have

    (records, given) = dealt({**options}, Records, SortSettings)
    stripe = in_bytes(stripe, "--stripe")
    how = {name: getattr(given, name) for name in options if hasattr(SortSettings, name)}
    job: SortJob = {
        "inputs": [fspath(path) for path in several(inputs)],
        "unique": unique,
        "output": fspath(output),
        "records": records.config(),
        "settings": settings(config, how),
    }
    if stripe is not None:
        job["stripe"] = stripe
    start, before = time.monotonic(), getrusage(RUSAGE_SELF)
    report: SortReport = json.loads(_core.sort_run(json.dumps(job), progress))
    spent, after = time.monotonic() - start, getrusage(RUSAGE_SELF)
    timed: TimedSort = {
        "version": __version__,
        "kind": "measured",
        **job,
        "shape": job["records"],
        **report,
        "warnings": _warnings(report),
        "time_s": spent,
        "cpu_user_s": after.ru_utime - before.ru_utime,
        "cpu_system_s": after.ru_stime - before.ru_stime,
        "peak_resident_bytes": peak.resident(),
    }
    return Result(timed)
