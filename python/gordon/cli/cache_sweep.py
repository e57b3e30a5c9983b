"""`gordon cache sweep`, `mrc`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_trace import of_trace
from gordon.cli.trace_input import announce_pipe, reading
from gordon.options import command, only_given
from gordon.options.caches import CacheSweep, Curve, ExactCurve, FlashCacheDesign, Warmup
from gordon.options.outputs import CacheTables, Tables
from gordon.untyped import Given


@click.command(cls=command.Command)
@click.argument("trace")
@command.of(CacheSweep, Warmup, FlashCacheDesign)
@of_trace
@options.tables_out(CacheTables)
@options.report_out
def sweep(trace: str, to: Tables, report: str | None, **given: Any) -> None:
    """Replay a trace through caches of many sizes and policies.

    The trace is read once, and the caches run on all cores. Each point equals the result of `gordon
    cache replay` with that policy and size. With --flash or --cores, the policy is flashcache.
    """
    from gordon import cache
    from gordon.cli import cache_view, output
    from gordon.cli.progress import Progress

    output.check(to=to, report=report, used=[trace])
    with reading(trace, given, objects=True), Progress("replaying") as progress:
        result = cache.sweep(trace, progress=progress.tick, **_given(given))
    announce_pipe(trace, given, result["points"][0]["input"])
    output.finish(
        lambda console: cache_view.show_swept(console, result.report),
        [(report, result.html)],
        to=to,
        result=result,
    )


def _given(given: Given) -> Given:
    """The options that were given; those of two levels are errors with one."""
    from gordon.cache.flashcache import refused

    chosen = only_given(given)
    two = "flash" in chosen or "cores" in chosen
    return chosen if two else refused(chosen, "--flash 1GiB")


@click.command(cls=command.Command)
@click.argument("trace")
@command.of(ExactCurve, Curve)
@of_trace
@options.tables_out(CacheTables)
@options.report_out
def mrc(trace: str, to: Tables, report: str | None, exact: bool, **given: Any) -> None:
    """Compute the miss-ratio curve of LRU in one pass.

    With objects of one size, such as pages, and without sampling, the misses equal those of `gordon
    cache replay --policy lru` exactly.
    """
    from gordon import cache
    from gordon.cli import cache_view, output
    from gordon.cli.progress import Progress

    if exact and (given["sample"] is not None or given["keep"] is not None):
        raise click.UsageError("--exact counts every object: leave out --sample and --keep")
    output.check(to=to, report=report, used=[trace])
    with reading(trace, given, objects=True), Progress("reading") as progress:
        result = cache.mrc(trace, progress=progress.tick, **only_given(given))
    announce_pipe(trace, given, result["input"])
    output.finish_result(result, cache_view.show_curve, to, report)
