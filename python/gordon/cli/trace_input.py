"""Options that say how a trace is read, and the line that says how it is read."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from gordon import cli
from gordon.options import command, only_given
from gordon.options.loads import TraceLoad
from gordon.reports.shared import InputNote
from gordon.untyped import Config, Given

#: Adds the options, in their order.
of_trace = command.of(TraceLoad, without=["repeat"])


def load_of(trace: str, given: Given) -> Config:
    """The core's config of how the trace is read; other options than these are passed over."""
    known = {field.name for field in fields(TraceLoad)}
    chosen = {name: value for name, value in only_given(given).items() if name in known}
    load: Config = TraceLoad(**chosen).config(trace)["trace"]
    return load


ERRORS_OF_TRACES = {
    # A reader's: `FormatError`, by itself or in a run.
    *("trace", "bad", "unknown", "ambiguous", "unsupported", "empty", "read"),
    # Requests that do not fit the device or the run: `ReplayError`.
    *("past", "trace-past", "larger", "backwards", "late"),
}
"""Kinds of errors that can be due to how the trace is read."""


@contextmanager
def reading(trace: str, given: Given, *, objects: bool) -> Iterator[None]:
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
        message = f"{error.message}\n  input: {note}"
        raise GordonError(message, error.hint, kind=error.kind) from error
    note = _summary(trace, given, objects)
    if note is not None:
        cli.note(note)


def _summary(trace: str, given: Given, objects: bool) -> str | None:
    """A line with the format of the trace; nothing of a pipe."""
    from gordon import _core

    note = _core.trace_input(json.dumps(load_of(trace, given)), objects)
    return None if note is None else str(json.loads(note)["summary"])


def announce_pipe(trace: str, given: Given, note: InputNote) -> None:
    """Prints what a pipe was read as."""
    from gordon import _core

    if _core.trace_is_stream(json.dumps(load_of(trace, given))):
        cli.note(note["summary"])
