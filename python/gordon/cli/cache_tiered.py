"""`gordon cache tiered`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_files import finish, parquet_out
from gordon.cli.cache_trace import of_trace
from gordon.cli.trace_input import announce_pipe, reading
from gordon.options import command, only_given
from gordon.options.caches import TieredOptions, Tiers


@click.command()
@click.argument("trace")
@command.of(Tiers, TieredOptions)
@of_trace
@options.json_out
@options.report_out
@parquet_out
def tiered(
    trace: str, json_path: str | None, report: str | None, parquet: str | None, **given: Any
) -> None:
    """Replay a trace of objects through DRAM and flash.

    Objects evicted from DRAM are offered to flash. Both write amplifications are counted: bytes
    that the cache writes per byte admitted, and bytes that the flash programs per byte written.
    """
    from gordon.cache import tiered
    from gordon.cli import output, tiered_view
    from gordon.cli.progress import Progress

    output.check(json_path, report=report, folder=parquet, used=[trace])
    with reading(trace, given, objects=True), Progress("replaying") as progress:
        result = tiered.replay(trace, progress=progress.tick, **only_given(given))
    announce_pipe(trace, given, result["input"])
    finish(
        result,
        lambda console: tiered_view.show(console, result.report),
        json_path=json_path,
        parquet=parquet,
        pages=[(report, result.html)],
    )
