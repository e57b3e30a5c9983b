"""`gordon cache sweep`, `mrc`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_files import finish, parquet_out
from gordon.cli.cache_trace import of_trace
from gordon.cli.flashcache_options import of_flashcache, refused


@click.command()
@click.argument("trace")
@click.option(
    "--policy",
    "policies",
    default="lru",
    show_default=True,
    metavar="NAME,NAME...",
    help="What goes when there is no room: of `gordon cache policies`, or all.",
)
@click.option(
    "--dram",
    required=True,
    metavar="SIZES",
    help="What they hold: 32MiB..1GiB doubles from one to the other; or a list with commas.",
)
@click.option(
    "--flash",
    metavar="SIZES",
    help="Two levels (flashcache), the second of these sizes: 0,128MiB..2GiB; 0 is DRAM alone, in "
    "the same time and power.",
)
@click.option(
    "--cores",
    metavar="N,N...",
    help="Web servers of so many cores before each of these, and their network bandwidth: 4,8,12.",
)
@of_flashcache
@of_trace
@options.json_out
@options.report_out
@parquet_out
def sweep(
    trace: str, json_path: str | None, report: str | None, parquet: str | None, **given: Any
) -> None:
    """Replay a trace through caches of many sizes and policies.

    The trace is read once, and the caches are asked on all cores. Each point is what `gordon cache
    replay` says of that policy and size; with --flash or --cores, of --policy flashcache.
    """
    from gordon import cache
    from gordon.cli import cache_view, output
    from gordon.cli.progress import Progress

    output.check(json_path, report, folder=parquet, used=[trace])
    with Progress("replaying") as progress:
        told = cache.sweep(trace, progress=progress.tick, **_given(given))
    two = "levels" in told["points"][0]
    show = cache_view.show_two_levels if two else cache_view.show_sweep
    finish(told, show, json_path=json_path, parquet=parquet, report=report)


def _given(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; numbers of cores as numbers."""
    asked = options.given(given)
    if "cores" in asked:
        try:
            asked["cores"] = [int(word) for word in asked["cores"].split(",")]
        except ValueError:
            raise click.UsageError(f"--cores {asked['cores']}: numbers, as 4,8,12") from None
    two = "flash" in asked or "cores" in asked
    return asked if two else refused(asked, "--flash 1GiB")


@click.command()
@click.argument("trace")
@click.option(
    "--dram",
    metavar="SIZES",
    help="What they hold: 32MiB..1GiB doubles from one to the other; or a list with commas.  "
    "[default: a thousandth of what there is to cache, and on to all of it]",
)
@click.option("--exact", is_flag=True, help="Every object counts. So it is without --sample.")
@click.option(
    "--sample",
    type=float,
    metavar="RATE",
    help="This share of the objects counts: 0.01 (SHARDS, at a fixed rate).",
)
@click.option(
    "--keep",
    type=options.COUNT,
    metavar="N",
    help="So many objects count at a time: 8192 (SHARDS, of a fixed size).",
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
    """Work out the miss-ratio curve of LRU, in one pass.

    With objects of one size, such as pages, and no sample, misses are those of `gordon cache
    replay --policy lru`, to the last request.
    """
    from gordon import cache
    from gordon.cli import cache_view, output
    from gordon.cli.progress import Progress

    if exact and (given["sample"] is not None or given["keep"] is not None):
        raise click.UsageError("--exact counts every object: leave out --sample and --keep")
    output.check(json_path, report, folder=parquet, used=[trace])
    with Progress("reading") as progress:
        told = cache.mrc(trace, progress=progress.tick, **options.given(given))
    finish(told, cache_view.show_curve, json_path=json_path, parquet=parquet, report=report)
