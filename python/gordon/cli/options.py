"""Groups of commands in order, and the options of their outputs."""

from collections.abc import Callable
from typing import Any

import click

COUNT = click.IntRange(1)


class InOrder(click.Group):
    """Lists its commands as they are written here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def seed(what: str, default: int = 1) -> Callable[[Any], Any]:
    """`--seed`; `what` is a sentence, or a phrase that continues "Random seed"."""
    return click.option(
        "--seed",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        metavar="N",
        help=f"Random seed{'. ' if what[0].isupper() else ' '}{what}",
    )


json_out = click.option(
    "--json", "json_path", metavar="PATH", help="Write the result as JSON (-: stdout)."
)
report_out = click.option(
    "--report", metavar="PATH", help="Write the report, one HTML file that works offline."
)
parquet_out = click.option(
    "--parquet",
    metavar="DIR",
    help="Write the tables (over time, latencies, queue depths, erases) as Parquet.",
)
