"""Files and screen of the commands for caches."""

from collections.abc import Callable
from typing import Any

import click

from gordon.cli import terminal
from gordon.cli.terminal import Output
from gordon.files import STDOUT, write_all

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

    files: dict[str, Any] = {}
    if json_path is not None:
        files[json_path] = result
    if report is not None:
        files[report] = cache.html(result)
    if parquet is not None:
        cache.to_parquet(result, parquet)
    write_all(files)
    show(terminal.messages() if STDOUT in files else terminal.data(), result)
    for path in (*files, parquet):
        if path not in (None, STDOUT):
            click.echo(f"wrote {path}", err=True)
