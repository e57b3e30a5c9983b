"""Files and screen of the commands for caches."""

from collections.abc import Callable
from typing import Any

from gordon.cli.terminal import Output
from gordon.options import command
from gordon.options.outputs import CacheTables

parquet_out = command.of(CacheTables)


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

    files = [(json_path, result), (report, lambda: cache.html(result))]
    tables = [(parquet, lambda path: cache.to_parquet(result, path))]
    output.finish(lambda console: show(console, result), files, tables)
