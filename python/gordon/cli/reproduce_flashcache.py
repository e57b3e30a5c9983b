"""`gordon reproduce flashcache`."""

import click

from gordon.cli import options
from gordon.options import command
from gordon.options.outputs import Tables
from gordon.options.papers import Compared


@click.command(cls=command.Command)
@command.of(Compared)
@options.tables_out()
def flashcache(figure: str | None, quick: bool, pages: str | None, to: Tables) -> None:
    """Compare the statements of the FlashCache paper with its model, replayed, and with a server.

    The load of SURGE is generated, replayed on the paper's design, and served by the model of a web
    server: bandwidth, memory power, dies and wear. These values are modelled. Without --quick, on
    Linux, `gordon cache serve` also serves a quarter of the load, with flash and without, for two
    minutes: its bandwidth is measured. JSON has the reason of each difference.
    """
    from gordon import reproduce
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_flashcache_view import show

    output.check(to=to, folder=pages)
    with Progress("replaying and serving") as progress:
        found = reproduce.compare("flashcache", figure=figure, quick=quick, progress=progress.tick)
    finish(found, lambda console: show(console, found), to, pages)
