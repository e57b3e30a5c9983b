"""`gordon reproduce rewrite`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.outputs import Tables
from gordon.options.sorting import Rewriting


@click.command(cls=command.Command)
@command.of(Rewriting)
@options.tables_out()
@options.report_out
def rewrite(export: str, to: Tables, report: str | None, **given: Any) -> None:
    """Measure the cost of overwriting an output, and its cause.

    Repeats figure 10 of the JouleSort paper on a served device, with the telemetry of its flash
    translation layer: each round overwrites the old output, deletes it without TRIM, and deletes it
    with TRIM, in random order. It needs root, as it remounts the file system to switch discards.
    """
    from gordon import reproduce
    from gordon.cli import output, terminal
    from gordon.cli.reproduce_rewrite_view import show

    output.check(to=to, report=report)
    found = reproduce.rewrite(export, notify=terminal.messages().text, **only_given(given))
    output.finish_result(found, show, to, report)
