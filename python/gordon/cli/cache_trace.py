"""Options of a trace that caches are asked for."""

from typing import Any

import click

_OPTIONS = (
    click.option(
        "--objects",
        is_flag=True,
        help="Take each request of a block trace as one object, known by where it starts.",
    ),
    click.option(
        "--format",
        metavar="F",
        help="The trace's format (`gordon trace formats`); without it, its content tells.",
    ),
    click.option(
        "--device",
        "only_device",
        type=click.IntRange(0),
        metavar="N",
        help="Only requests to this device of the trace.",
    ),
    click.option("--skip-bad", is_flag=True, help="Leave out malformed requests, and count them."),
    click.option(
        "--order",
        type=click.Choice(["strict", "clamp", "sort"]),
        help="Where time goes backwards: an error; keep the file's order; put in order of time.  "
        "[default: strict]",
    ),
    click.option(
        "--event",
        type=click.Choice(["queue", "issue", "complete"]),
        help="Event that counts in blkparse and blktrace traces.",
    ),
)


def of_trace(command: Any) -> Any:
    """Adds them, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
