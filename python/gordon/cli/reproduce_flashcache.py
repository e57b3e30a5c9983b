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
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_flashcache_view import show
    from gordon.reproduce import as_result, flashcache, flashcache_served
    from gordon.reproduce.papers import paper
    from gordon.reproduce.row import Comparison

    output.check(to=to, folder=pages)
    of = paper("flashcache")
    places = of.chosen(figure)
    wanted = {place.place.casefold() for place in places}
    requests = flashcache.QUICK if quick else flashcache.REQUESTS
    with Progress("replaying") as progress:
        measured = flashcache.rows(flashcache.measure(requests, progress.tick))
    if not quick and flashcache_served.is_possible() and wanted & flashcache_served.TABLES:
        with Progress("serving") as progress:
            measured += flashcache_served.rows(flashcache_served.measure(progress=progress.tick))
    rows = [row for row in measured if row.table.casefold() in wanted]
    result: Comparison = {**as_result(rows), "requests": requests}
    finish(of, places, result, lambda console: show(console, rows, requests), to, pages)
