"""`gordon cache replay`, `policies`; `sweep` and `mrc` have files of their own."""

import json
from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_sweep import mrc, sweep
from gordon.cli.cache_trace import of_trace


@click.group(cls=options.InOrder)
def cache() -> None:
    """Replay a trace through a cache. Every value is modelled."""


@cache.command()
@click.argument("trace")
@click.option(
    "--policy",
    default="lru",
    show_default=True,
    metavar="NAME",
    help="What goes when there is no room: one of `gordon cache policies`.",
)
@click.option(
    "--dram",
    required=True,
    metavar="SIZE",
    help="What it holds: bytes of objects or pages, nothing charged for knowing where they are.",
)
@click.option(
    "--flash",
    default="0",
    show_default=True,
    metavar="SIZE",
    help="A second level in flash: not there yet.",
)
@of_trace
@options.json_out
def replay(trace: str, json_path: str | None, **given: Any) -> None:
    """Replay a trace through a cache.

    TRACE is a trace of objects (oracleGeneral), which are cached whole, or a block trace of any of
    `gordon trace formats`, of which pages of 4 KiB are cached. Reads and writes alike bring in what
    they ask for. What is larger than the cache is a miss, and is not let in.
    """
    from gordon import cache
    from gordon.cli import cache_view, output, terminal
    from gordon.cli.progress import Progress

    output.check(json_path)
    with Progress("replaying") as progress:
        told = cache.replay(trace, progress=progress.tick, **options.given(given))
    if json_path is not None:
        output.write({json_path: json.dumps(told, indent=1) + "\n"})
    silent = json_path == output.STDOUT
    cache_view.show(terminal.messages() if silent else terminal.data(), told)


cache.add_command(sweep)
cache.add_command(mrc)


@cache.command()
def policies() -> None:
    """List the replacement policies, and what each follows."""
    from gordon import cache
    from gordon.cli.terminal import Column, data

    names, what, sources = (list(column) for column in zip(*cache.policies(), strict=True))
    data().table(
        [
            Column("name", names),
            Column("what goes", what, wraps=True),
            Column("follows", sources, wraps=True),
        ]
    )
