"""Files and screen of the commands for caches."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gordon.cli.terminal import Output
from gordon.options import command
from gordon.options.outputs import CacheTables

if TYPE_CHECKING:
    from gordon.cache.results import Tabled

parquet_out = command.of(CacheTables)


def finish(
    result: "Tabled",
    show: Callable[[Output], None],
    *,
    json_path: str | None,
    parquet: str | None,
    pages: Sequence[tuple[str | None, Callable[[], str]]] = (),
) -> None:
    """Writes the requested files (`pages` are reports); shows the rest where stdout is not
    taken."""
    from gordon import cache
    from gordon.cli import output

    tables = [(parquet, lambda path: cache.to_parquet(result, path))]
    output.finish(show, [(json_path, result), *pages], tables)
