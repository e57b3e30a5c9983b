"""`gordon cache tiered`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_trace import of_trace
from gordon.cli.trace_input import announce_pipe, reading
from gordon.options import command, only_given
from gordon.options.caches import TieredOptions, Tiers
from gordon.options.outputs import CacheTables, Tables
from gordon.options.table import flags

_OF_MOVES = ("log_share", "threshold", "set_largest", "set_saving")

#: Options that have no effect with a layout.
_WITHOUT_EFFECT = {
    "log": ("set_size", *_OF_MOVES),
    "sets": ("segment", "no_reinsert", *_OF_MOVES),
    "log-sets": (),
}


@click.command(cls=command.Command)
@click.argument("trace")
@command.of(Tiers, TieredOptions)
@of_trace
@options.tables_out(CacheTables)
@options.report_out
def tiered(trace: str, to: Tables, report: str | None, **given: Any) -> None:
    """Replay a trace of objects through DRAM and flash.

    Objects evicted from DRAM are offered to flash. Both write amplifications are counted: bytes
    that the cache writes per byte admitted, and bytes that the flash programs per byte written.
    """
    from gordon.cache import tiered
    from gordon.cli import output, tiered_view
    from gordon.cli.progress import Progress

    output.check(to=to, report=report, used=[trace])
    chosen = only_given(given)
    layout = chosen.get("layout", Tiers.layout)
    for name in _WITHOUT_EFFECT[layout]:
        if name in chosen:
            flag = flags(TieredOptions)[name]
            raise click.UsageError(f"{flag} has no effect with --layout {layout}")
    if "journal_batch" in chosen and "journal" not in chosen:
        raise click.UsageError("--journal-batch needs --journal")
    with reading(trace, given, objects=True), Progress("replaying") as progress:
        result = tiered.replay(trace, progress=progress.tick, **chosen)
    announce_pipe(trace, given, result["input"])
    output.finish_result(result, tiered_view.show, to, report)
