"""`gordon cache tiered`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_files import finish, parquet_out
from gordon.cli.cache_trace import of_trace
from gordon.cli.trace_input import announce_pipe, reading
from gordon.options import only_given


@click.command()
@click.argument("trace")
@click.option(
    "--dram",
    required=True,
    metavar="SIZE",
    help="DRAM size, for objects and for the index of flash.",
)
@click.option("--flash", required=True, metavar="SIZE", help="Flash size available to the cache.")
@click.option(
    "--layout",
    type=click.Choice(["log", "sets", "log-sets"]),
    default="log-sets",
    show_default=True,
    help="Layout of objects in flash. log: one log of segments; sets: one set per page, chosen "
    "by the key; log-sets: a log whose objects move to their sets in batches.",
)
@click.option(
    "--admission",
    metavar="KIND",
    help="Admission policy of flash: all; random:0.5, a random fraction; hits:2, objects with "
    "that many hits in DRAM; ghost:64MiB, objects that a ghost list of that size holds; years:5, "
    "a random fraction such that the flash lasts that long.  [default: all]",
)
@click.option("--set-size", metavar="SIZE", help="Size of a set.  [default: 4KiB]")
@click.option("--segment", metavar="SIZE", help="Size of a segment.  [default: 256KiB]")
@click.option(
    "--log-share",
    type=options.FRACTION,
    metavar="SHARE",
    help="log-sets: fraction of the flash that is the log.  [default: 0.05]",
)
@click.option(
    "--threshold",
    type=options.COUNT,
    metavar="N",
    help="log-sets: minimum number of objects that move to a set together.  [default: 2]",
)
@click.option(
    "--no-reinsert",
    is_flag=True,
    help="Do not reinsert objects with hits in the log when their segment is evicted.",
)
@click.option(
    "--spare",
    type=options.FRACTION,
    metavar="SHARE",
    help="Over-provisioning: fraction of the flash's pages that the cache cannot use.  [default: "
    "0.07]",
)
@click.option(
    "--pages-per-block",
    type=options.COUNT,
    metavar="N",
    help="Pages of 4 KiB in an erase block.  [default: 256]",
)
@click.option(
    "--victim",
    type=click.Choice(options.POLICIES),
    help="Victim selection of the flash's garbage collection.  [default: greedy]",
)
@click.option(
    "--endurance",
    type=options.COUNT,
    metavar="N",
    help="Rated erases per block.  [default: 3000]",
)
@click.option("--seed", type=int, metavar="N", help="Random seed.  [default: 1]")
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
    finish(result, tiered_view.show, json_path=json_path, parquet=parquet, report=report)
