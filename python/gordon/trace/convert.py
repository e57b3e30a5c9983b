"""Reads and converts traces of requests and of activity."""

import json
from collections.abc import Sequence
from os import fspath
from typing import Unpack

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Path, Progress, dealt, keywords, several
from gordon.options.explicit import explicit
from gordon.options.loads import TraceLoad
from gordon.reports.trace import FormatRow
from gordon.trace.result import ActivityResult, AnonymiseResult, ConvertResult
from gordon.untyped import Config, Given

#: Options that have a meaning for activity traces.
OF_ACTIVITY = ("format", "skip_bad")


@explicit(TraceLoad, without=["repeat"])
def read(
    trace: Path, *, progress: Progress | None = None, **options: Unpack[keywords.TraceLoad]
) -> _core.Table:
    """Reads the requests of a trace of blocks or of objects, for libraries that read Arrow:
    `polars.DataFrame(t)`, `pyarrow.table(t)`.

    Requests of blocks have `at_ns`, the time since the first one, `op`, `device`, `offset_bytes`,
    `bytes` and `latency_ns`, if the trace has it. Requests of objects have `at_ns`, `key`, `bytes`,
    `write` and `next`, the number of the next request for the object, if the trace has it. All
    requests are in memory. `progress` is called with the requests (done, 0). Raises GordonError.
    """
    return _core.Table.requests(json.dumps(_load(trace, {**options})), progress)


@explicit(TraceLoad, without=["repeat"])
def convert(
    sources: Path | Sequence[Path],
    target: Path,
    *,
    to: str | None = None,
    cores: int | None = None,
    clock: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.TraceLoad],
) -> ConvertResult | ActivityResult:
    """Converts a trace to the format `to`: by default `gordon` for blocks and activity, and
    `oracleGeneral` for objects.

    Several sources of an activity trace (sysstat, prometheus, rezolus) are read as one; `target` is
    then a trace, or a folder with a trace for each host. `cores` and `clock` are facts that such an
    input does not state. `progress` is called with the bytes of activity traces (done, total).
    Raises GordonError.
    """
    paths = [fspath(source) for source in several(sources)]
    given: Given = {**options}
    name = given.get("format")
    activity = None
    if paths and given.get("columns") is None:
        activity = _core.trace_activity_format(paths[0], name)
    if activity is not None:
        for option in given:
            if option not in OF_ACTIVITY:
                raise GordonError(
                    f"{option} has no meaning for {activity}, which has no requests",
                    f"leave out {option}",
                    kind="exclusive-options",
                )
        skip_bad = bool(given.get("skip_bad", False))
        made = _core.trace_convert_activity(
            paths, fspath(target), activity, cores, clock, skip_bad, progress
        )
        return ActivityResult(json.loads(made))
    if len(paths) != 1 or cores is not None or clock is not None:
        raise GordonError(
            "several sources, cores and clock are for activity traces",
            "one source, without cores and clock",
            kind="exclusive-options",
        )
    load = json.dumps(_load(paths[0], given))
    return ConvertResult(json.loads(_core.trace_convert(load, fspath(target), to)))


def _load(trace: Path, options: Config) -> Config:
    (load,) = dealt(options, TraceLoad)
    config: Config = load.config(trace)["trace"]
    return config


def anonymise(source: Path, target: Path) -> AnonymiseResult:
    """Copies a trace or a run to the new folder `target`, with pseudonyms in place of all names.
    Figures, times and models of hardware are kept. Raises GordonError."""
    return AnonymiseResult(json.loads(_core.trace_anonymise(fspath(source), fspath(target))))


def formats() -> list[FormatRow]:
    """The formats of block, object and activity traces, with their sources."""
    found: list[FormatRow] = json.loads(_core.trace_formats())
    return found
