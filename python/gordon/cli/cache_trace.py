"""Options of a trace that is replayed through a cache."""

from typing import Any

import click

from gordon.cli import trace_input

_OBJECTS = click.option(
    "--objects",
    is_flag=True,
    help="Treat each request of a block trace as one object, identified by its start address.",
)

warmup = click.option(
    "--warmup",
    metavar="N|PART|TIME",
    help="Start warm: exclude the first requests of the trace from all results: a number (100k), "
    "a part of the trace (20%) or a time (1h). A part reads the trace twice.",
)


def of_trace(command: Any) -> Any:
    """Adds them, in this order."""
    return _OBJECTS(trace_input.of_trace(command))
