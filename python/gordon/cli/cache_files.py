"""Files and screen of the commands for caches."""

from collections.abc import Callable
from typing import Any

import click

from gordon.cli.terminal import Output

parquet_out = click.option(
    "--parquet",
    metavar="DIR",
    help="Write the tables (a row for each cache or size; lifetimes, erases) as Parquet.",
)


def finish(
    result: dict[str, Any],
    show: Callable[[Output, dict[str, Any]], None],
    *,
    json_path: str | None,
    parquet: str | None,
    report: str | None = None,
) -> None:
    """Writes what is wanted; shows the rest where stdout is not taken."""
    from gordon import cache
    from gordon.cli import output

    if parquet is not None:
        cache.to_parquet(result, parquet)
    files = [(json_path, result), (report, lambda: cache.html(result))]
    output.finish(lambda console: show(console, result), files, [parquet])
