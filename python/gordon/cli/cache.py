"""`gordon cache replay`, `policies`; `generate` has a file of its own."""

import json
from typing import Any

import click

from gordon.cli import options
from gordon.cli.cache_generate import generate


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
@click.option(
    "--objects",
    is_flag=True,
    help="Take each request of a block trace as one object, known by where it starts.",
)
@click.option(
    "--format",
    metavar="F",
    help="The trace's format (`gordon trace formats`); without it, its content tells.",
)
@click.option(
    "--device",
    "only_device",
    type=click.IntRange(0),
    metavar="N",
    help="Only requests to this device of the trace.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out malformed requests, and count them.")
@click.option(
    "--order",
    type=click.Choice(["strict", "clamp", "sort"]),
    help="Where time goes backwards: an error; keep the file's order; put in order of time.  "
    "[default: strict]",
)
@click.option(
    "--event",
    type=click.Choice(["queue", "issue", "complete"]),
    help="Event that counts in blkparse and blktrace traces.",
)
@options.json_out
def replay(trace: str, json_path: str | None, **given: Any) -> None:
    """Replay a trace through a cache.

    TRACE is a trace of objects (oracleGeneral, a web server's log), which are cached whole, or a
    block trace of any of `gordon trace formats`, of which pages of 4 KiB are cached. Reads and
    writes alike bring in what they ask for. What is larger than the cache is a miss, and is not
    let in.
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


cache.add_command(generate)
