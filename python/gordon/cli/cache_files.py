"""Files and screen of the commands for caches."""

from collections.abc import Callable, Sequence
from typing import Any

from gordon.cli.terminal import Output
from gordon.options import command
from gordon.options.outputs import CacheTables
from gordon.result import Result

parquet_out = command.of(CacheTables)


def finish(
    result: Result[Any],
    show: Callable[[Output], None],
    *,
    json_path: str | None,
    parquet: str | None,
    pages: Sequence[tuple[str | None, Callable[[], str]]] = (),
) -> None:
    """Writes the requested files (`pages` are reports); shows the rest where stdout is not
    taken."""
    from gordon.cli import output

    output.finish(show, [(json_path, result), *pages], [(parquet, result.to_parquet)])
