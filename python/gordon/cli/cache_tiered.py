"""`gordon cache tiered`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_files import finish, parquet_out
from gordon.cli.cache_trace import of_trace


@click.command()
@click.argument("trace")
@click.option(
    "--dram",
    required=True,
    metavar="SIZE",
    help="DRAM, for objects and for knowing where those in flash are.",
)
@click.option("--flash", required=True, metavar="SIZE", help="Flash, as the cache sees it.")
@click.option(
    "--layout",
    type=click.Choice(["log", "sets", "log-sets"]),
    default="log-sets",
    show_default=True,
    help="Where objects lie in flash: one log of segments; sets by key, a page each; a log, from "
    "which objects of one set go there together.",
)
@click.option(
    "--admission",
    metavar="KIND",
    help="What is let into flash: all; random:0.5, by lot; hits:2, what was asked for so often in "
    "DRAM; ghost:64MiB, what was offered before, among so many bytes; years:5, by lot, so that the "
    "flash lasts.  [default: all]",
)
@click.option("--set-size", metavar="SIZE", help="Bytes of a set.  [default: 4KiB]")
@click.option("--segment", metavar="SIZE", help="Bytes of a segment.  [default: 256KiB]")
@click.option(
    "--log-share", type=float, metavar="SHARE", help="log-sets: the log's part.  [default: 0.05]"
)
@click.option(
    "--threshold",
    type=options.COUNT,
    metavar="N",
    help="log-sets: so many objects go to a set at once, at least.  [default: 2]",
)
@click.option(
    "--no-reinsert",
    is_flag=True,
    help="What was asked for in the log is not written again when its segment goes.",
)
@click.option(
    "--spare",
    type=float,
    metavar="SHARE",
    help="The part of the flash's pages that the cache does not see.  [default: 0.07]",
)
@click.option(
    "--pages-per-block",
    type=options.COUNT,
    metavar="N",
    help="Pages of 4 KiB in an erase block.  [default: 256]",
)
@click.option(
    "--victim",
    type=click.Choice(["greedy", "fifo", "random", "d-choices", "cost-benefit"]),
    help="What the flash collects.  [default: greedy]",
)
@click.option(
    "--endurance",
    type=options.COUNT,
    metavar="N",
    help="Erases that a block stands.  [default: 3000]",
)
@click.option("--seed", type=int, metavar="N", help="Of all draws.  [default: 1]")
@of_trace
@options.json_out
@options.report_out
@parquet_out
def tiered(
    trace: str, json_path: str | None, report: str | None, parquet: str | None, **given: Any
) -> None:
    """Replay a trace of objects through DRAM and flash.

    What leaves DRAM is offered to flash. Both write amplifications are counted: what the cache
    writes for what it lets in, and what the flash beneath programs for what is written.
    """
    from gordon.cache import tiered
    from gordon.cli import output, tiered_view
    from gordon.cli.progress import Progress

    output.check(json_path, report, folder=parquet, used=[trace])
    with Progress("replaying") as progress:
        told = tiered.replay(trace, progress=progress.tick, **options.given(given))
    finish(told, tiered_view.show, json_path=json_path, parquet=parquet, report=report)
