"""`gordon cache replay`, `policies`, `presets`, `show`; others have files of their own."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.cli.cache_generate import generate
from gordon.cli.cache_latency import latency
from gordon.cli.cache_serve import check, purge, serve, stat, warm
from gordon.cli.cache_sweep import mrc, sweep
from gordon.cli.cache_tiered import tiered
from gordon.cli.cache_trace import of_trace
from gordon.cli.trace_input import announce_pipe, reading
from gordon.options import command, completion, only_given
from gordon.options.caches import Cache, DramPolicy, FlashCacheDesign, TieredOptions, Tiers, Warmup
from gordon.options.outputs import CacheTables, Tables
from gordon.untyped import Given

if TYPE_CHECKING:
    from gordon.cli.terminal import Output


@click.group(cls=options.InOrder)
def cache() -> None:
    """Replay a trace through a cache, or serve a site from one.

    Values of replays are modelled; `serve` runs a real cache.
    """


#: Options of caches with a log or sets: those of `gordon cache tiered`, and one of `serve`.
_TIERED = {"--sets"} | {
    f"--{field.name.replace('_', '-')}"
    for table in (Tiers, TieredOptions)
    for field in fields(table)
}


class _Replay(command.Command):
    """Names the command that has the options of caches with a log or sets."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in _TIERED:
                raise
            why = (
                f"the caches of `gordon cache replay` have no log and no sets, and so no "
                f"{error.option_name}; `gordon cache tiered` replays the trace of a cache with them"
            )
            raise click.UsageError(why, ctx) from None


@cache.command(cls=_Replay)
@click.argument("trace")
@command.of(Cache, DramPolicy, Warmup, FlashCacheDesign)
@of_trace
@options.tables_out(CacheTables)
def replay(trace: str, to: Tables, **given: Any) -> None:
    """Replay a trace through a cache.

    TRACE is a trace of objects (oracleGeneral, a web server's log), which are cached whole, or a
    block trace of any of `gordon trace formats`, which is cached in pages of 4 KiB. Reads and
    writes both admit what they request. An object larger than the cache is a miss and is not
    admitted.

    With --policy flashcache there are two levels, DRAM and flash, with time, power, wear, area and
    cost. Requests arrive at the times of the trace, unless --speed, --rate or --outstanding is
    given. That is the cache of a paper, which keeps objects in whole pages. To predict
    `gordon cache serve`, replay its trace with `gordon cache tiered`, which has its log and sets.
    """
    from gordon import cache
    from gordon.cli import cache_view, flashcache_view, output
    from gordon.cli.progress import Progress

    output.check(to=to, used=[trace])
    with reading(trace, given, objects=True), Progress("replaying") as progress:
        # The kind of the result depends on the policy, which is one of the options.
        result: Any = cache.replay(trace, progress=progress.tick, **_given(given))
    announce_pipe(trace, given, result["input"])

    def screen(console: "Output") -> None:
        if "levels" in result:
            flashcache_view.show(console, result)
        else:
            cache_view.show(console, result)

    output.finish(screen, to=to, result=result)


def _given(given: Given) -> Given:
    """The options that were given; those of two levels are errors with one."""
    from gordon.cache.flashcache import NAME, refused

    chosen = only_given(given)
    policy = chosen.get("policy")
    if policy == "all":
        raise click.UsageError("--policy all works in `gordon cache sweep`")
    return chosen if policy == NAME else refused(chosen, f"--policy {NAME}")


cache.add_command(sweep)
cache.add_command(mrc)
cache.add_command(latency)


@cache.command()
@options.tables_out()
def policies(to: Tables) -> None:
    """List the replacement policies and their sources.

    Designs of two levels, DRAM with one of these policies and flash, are listed by `gordon cache
    presets`.
    """
    from gordon import cache
    from gordon.cli import output
    from gordon.cli.terminal import Column

    output.check(to=to)
    rows = [
        {"id": name, "evicts": what, "follows": source} for name, what, source in cache.policies()
    ]
    columns = [
        Column("name", [row["id"] for row in rows]),
        Column("evicts", [row["evicts"] for row in rows], wraps=True),
        Column("follows", [row["follows"] for row in rows], wraps=True),
    ]
    output.table(columns, "policies", rows, to)


@cache.command()
@options.tables_out()
def presets(to: Tables) -> None:
    """List the designs of two levels."""
    from gordon.cache import flashcache
    from gordon.cli import output

    output.check(to=to)
    rows = [
        {"id": name, "summary": flashcache.load(name)["summary"]} for name in flashcache.names()
    ]
    output.summaries("presets", rows, to)


@cache.command()
@click.argument("name", shell_complete=completion.presets("flashcache"))
def show(name: str) -> None:
    """Print the file of a design, as a template for your own."""
    from gordon import presets
    from gordon.cache import flashcache

    click.echo(presets.text(flashcache.KIND, name), nl=False)


cache.add_command(tiered)
cache.add_command(generate)
for _live in (serve, stat, purge, check, warm):
    cache.add_command(_live)
