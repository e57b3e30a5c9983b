"""`gordon cache sweep`, `mrc`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_files import finish, parquet_out
from gordon.cli.cache_trace import of_trace, warmup
from gordon.cli.flashcache_options import of_flashcache
from gordon.cli.trace_input import announce_pipe, reading
from gordon.options import only_given


@click.command()
@click.argument("trace")
@click.option(
    "--policy",
    "policies",
    default="lru",
    show_default=True,
    metavar="NAME,NAME...",
    help="Replacement policies (`gordon cache policies`), or all.",
)
@click.option(
    "--dram",
    required=True,
    metavar="SIZES",
    help="Cache sizes: 32MiB..1GiB doubles from the first to the last; or a list with commas.",
)
@click.option(
    "--flash",
    metavar="SIZES",
    help="flashcache: sizes of the flash, 0,128MiB..2GiB. 0 is DRAM alone, with the same model "
    "of time and power.",
)
@click.option(
    "--cores",
    metavar="N,N...",
    help="Also compute the network bandwidth of web servers with these numbers of cores: 4,8,12. "
    "Each request of the trace is then a request for a file, cached by pages, or whole with "
    "--objects.",
)
@warmup
@of_flashcache
@of_trace
@options.json_out
@options.report_out
@parquet_out
def sweep(
    trace: str, json_path: str | None, report: str | None, parquet: str | None, **given: Any
) -> None:
    """Replay a trace through caches of many sizes and policies.

    The trace is read once, and the caches run on all cores. Each point equals the result of `gordon
    cache replay` with that policy and size. With --flash or --cores, the policy is flashcache.
    """
    from gordon import cache
    from gordon.cli import cache_view, output
    from gordon.cli.progress import Progress

    output.check(json_path, report=report, folder=parquet, used=[trace])
    with reading(trace, given, objects=True), Progress("replaying") as progress:
        result = cache.sweep(trace, progress=progress.tick, **_given(given))
    two = "levels" in result["points"][0]
    show = cache_view.show_two_levels if two else cache_view.show_sweep
    announce_pipe(trace, given, result["points"][0]["input"])
    finish(result, show, json_path=json_path, parquet=parquet, report=report)


def _given(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; numbers of cores as numbers."""
    chosen = only_given(given)
    if "cores" in chosen:
        try:
            chosen["cores"] = [int(word) for word in chosen["cores"].split(",")]
        except ValueError:
            raise click.UsageError(f"--cores {chosen['cores']}: numbers, as 4,8,12") from None
    from gordon.cache.flashcache import refused

    two = "flash" in chosen or "cores" in chosen
    return chosen if two else refused(chosen, "--flash 1GiB")


@click.command()
@click.argument("trace")
@click.option(
    "--dram",
    metavar="SIZES",
    help="Cache sizes: 32MiB..1GiB doubles from the first to the last; or a list with commas.  "
    "[default: from a thousandth of the footprint to the whole footprint]",
)
@click.option("--exact", is_flag=True, help="Count every object. This is the default.")
@click.option(
    "--sample",
    type=options.FRACTION,
    metavar="RATE",
    help="Sample this fraction of the objects: 0.01 (SHARDS with a fixed rate).",
)
@click.option(
    "--keep",
    type=options.COUNT,
    metavar="N",
    help="Sample at most this many objects at a time: 8192 (SHARDS with a fixed size).",
)
@of_trace
@options.json_out
@options.report_out
@parquet_out
def mrc(
    trace: str,
    json_path: str | None,
    report: str | None,
    parquet: str | None,
    exact: bool,
    **given: Any,
) -> None:
    """Compute the miss-ratio curve of LRU in one pass.

    With objects of one size, such as pages, and without sampling, the misses equal those of `gordon
    cache replay --policy lru` exactly.
    """
    from gordon import cache
    from gordon.cli import cache_view, output
    from gordon.cli.progress import Progress

    if exact and (given["sample"] is not None or given["keep"] is not None):
        raise click.UsageError("--exact counts every object: leave out --sample and --keep")
    output.check(json_path, report=report, folder=parquet, used=[trace])
    with reading(trace, given, objects=True), Progress("reading") as progress:
        result = cache.mrc(trace, progress=progress.tick, **only_given(given))
    announce_pipe(trace, given, result["input"])
    finish(result, cache_view.show_curve, json_path=json_path, parquet=parquet, report=report)
