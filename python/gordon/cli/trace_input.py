"""Options that say how a trace is read, and the line that says how it is read."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import click

from gordon.options import only_given


class _Device(click.ParamType[int]):
    """The number of a trace's device, or `MAJOR,MINOR` as blkparse prints it, or `MAJOR:MINOR`."""

    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+)(?:[,:](\d+))?", str(value), re.ASCII)
        major, minor = (int(part or 0) for part in match.groups()) if match else (0, 0)
        if match and match[2] is None and major < 1 << 32:
            return major
        if match and match[2] is not None and major < 1 << 12 and minor < 1 << 20:
            return major << 20 | minor
        return self.fail(
            f"{value!r} is not a device. Give its number in the trace, or MAJOR,MINOR such as 8,3.",
            param,
            ctx,
        )


OPTIONS = (
    click.option(
        "--format",
        metavar="F",
        help="Format of the trace (`gordon trace formats`).  [default: auto-detected]",
    ),
    click.option(
        "--columns",
        metavar="NAME=COLUMN[:UNIT],...",
        help="Columns of a text trace, in place of a format: time=1:s,op=2,lba=3:4KiB,size=4:B for "
        "blocks, time=1:ms,key=2,size=3:B for objects. NAME: time, op, offset or lba, size, key, "
        "device, latency, repeat. COLUMN: a number from 1, or a name in the header.",
    ),
    click.option(
        "--separator",
        metavar="WORD",
        help="With --columns: comma, blank, tab, semicolon or bar between columns.  "
        "[default: detected from the first line]",
    ),
    click.option(
        "--skip-lines",
        type=click.IntRange(0),
        metavar="N",
        help="With --columns: number of lines to skip at the start.  [default: 0]",
    ),
    click.option(
        "--reads",
        multiple=True,
        metavar="WORD",
        help="With --columns: value of the operation that means a read; repeatable.  [default: R, "
        "read, get, ... and 0]",
    ),
    click.option(
        "--writes",
        multiple=True,
        metavar="WORD",
        help="With --columns: value of the operation that means a write; repeatable.  [default: "
        "W, write, set, put, ... and 1]",
    ),
    click.option(
        "--trims",
        multiple=True,
        metavar="WORD",
        help="With --columns: value of the operation that means a discard; repeatable.  [default: "
        "D, discard, trim and 3]",
    ),
    click.option(
        "--device",
        "only_device",
        type=_Device(),
        metavar="N|MAJ,MIN",
        help="Only requests to this device of the trace, e.g. 3 or 8,3.",
    ),
    click.option(
        "--skip-bad", is_flag=True, help="Leave out malformed lines or records, and count them."
    ),
    click.option(
        "--order",
        type=click.Choice(["strict", "clamp", "sort"]),
        help="Handling of times that go backwards: report an error, replace them by the previous "
        "time, or sort by time.  [default: strict; clamp for access logs]",
    ),
    click.option(
        "--time-unit",
        metavar="TIME",
        help="Unit of the trace's times, at most 1s.  [default: the format's]",
    ),
    click.option(
        "--event",
        type=click.Choice(["queue", "issue", "complete"]),
        help="Event of blkparse, blktrace and ftrace traces that is taken as the request.  "
        "[default: issue, if the trace has it]",
    ),
)


def of_trace(command: Any) -> Any:
    """Adds the options, in this order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def load_of(trace: str, given: dict[str, Any]) -> dict[str, Any]:
    """The core's config of how the trace is read; other options than these are passed over."""
    from gordon.runs import TraceLoad

    known = {field.name for field in fields(TraceLoad)}
    chosen = {name: value for name, value in only_given(given).items() if name in known}
    load: dict[str, Any] = TraceLoad(**chosen).config(trace)["trace"]
    return load


ERRORS_OF_TRACES = {
    # A reader's: `FormatError`, by itself or in a run.
    *("trace", "bad", "unknown", "ambiguous", "unsupported", "empty", "read"),
    # Requests that do not fit the device or the run: `ReplayError`.
    *("past", "trace-past", "larger", "backwards", "late"),
}
"""Kinds of errors that can be due to how the trace is read."""


@contextmanager
def reading(trace: str, given: dict[str, Any], *, objects: bool) -> Iterator[None]:
    """Prints what the trace is read as once the work within is done, or with an error of the trace.
    A pipe can be read once: its result has it (`announce_pipe`)."""
    from gordon.errors import GordonError

    try:
        yield
    except GordonError as error:
        if error.kind not in ERRORS_OF_TRACES:
            raise
        try:
            note = _summary(trace, given, objects)
        except GordonError:
            raise error from None
        if note is None:
            raise
        what, hint = (*error.args, "", "")[:2]
        raise GordonError(f"{what}\n  input: {note}", hint, kind=error.kind) from error
    note = _summary(trace, given, objects)
    if note is not None:
        click.echo(note, err=True)


def _summary(trace: str, given: dict[str, Any], objects: bool) -> str | None:
    """What the trace is read as, in a line; nothing of a pipe."""
    from gordon import _core

    note = _core.trace_input(json.dumps(load_of(trace, given)), objects)
    return None if note is None else str(json.loads(note)["summary"])


def announce_pipe(trace: str, given: dict[str, Any], note: dict[str, Any]) -> None:
    """Prints what a pipe was read as."""
    from gordon import _core

    if _core.trace_is_stream(json.dumps(load_of(trace, given))):
        click.echo(note["summary"], err=True)
