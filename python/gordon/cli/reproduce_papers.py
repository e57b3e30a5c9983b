"""The commands of `gordon reproduce`, one for each study."""

from typing import Any, cast

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.outputs import Tables
from gordon.options.papers import Compared
from gordon.options.sorting import Rewriting, SortSystems


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


@click.command(cls=command.Command)
@click.argument("runs", required=False)
@command.of(Compared)
@options.tables_out()
def gordon(
    runs: str | None, figure: str | None, quick: bool, pages: str | None, to: Tables
) -> None:
    """Compare the figures of the Gordon paper with those of traced jobs.

    RUNS is a folder with runs RUNS/JOB/1 of `gordon workload run`; the default is the bundled
    traces. The figures are those of Table 2, Figures 4 and 5, section 4.2.2, Table 6, Figures 6 to
    8, the claims, Table 8, and the text of sections 3 and 6. JSON and pages have each of them with
    its reason; the last lines say what is not reproduced, and why.
    """
    from gordon import reproduce
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_gordon_view import show

    output.check(to=to, folder=pages, used=[runs])
    with Progress("replaying") as progress:
        found = reproduce.compare(
            "gordon", runs=runs, figure=figure, quick=quick, progress=progress.tick
        )
    finish(found, lambda console: show(console, found), to, pages)


@click.command(cls=command.Command)
@command.of(SortSystems, Compared)
@options.tables_out()
def joulesort(
    set: tuple[str, ...],
    figure: str | None,
    quick: bool,
    pages: str | None,
    to: Tables,
    plot: str | None,
) -> None:
    """Compare the systems of the JouleSort paper with the model and with the paper's claims.

    Each system is modelled and compared with its measured row, the paper's estimates with the
    model, and its statements with its own tables. All values outside of the measured columns are
    modelled.
    """
    from gordon import reproduce
    from gordon.cli import output
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_joulesort_view import show
    from gordon.reproduce.joulesort.report import Study
    from gordon.sort.systems.plot import draw

    output.check(to=to, plot=plot, folder=pages)
    del quick  # everything is computed in seconds
    found = reproduce.compare("joulesort", figure=figure, set=set)
    study = cast(Study, found.report)
    finish(
        found,
        lambda console: show(console, study),
        to,
        pages,
        [(plot, lambda path: draw(study, path))],
    )


@click.command(cls=command.Command)
@command.of(Rewriting)
@options.tables_out()
@options.report_out
@options.on_linux
def rewrite(export: str, to: Tables, report: str | None, **given: Any) -> None:
    """Measure the cost of overwriting an output, and its cause.

    Repeats figure 10 of the JouleSort paper on a served device, with the telemetry of its flash
    translation layer: each round overwrites the old output, deletes it without TRIM, and deletes it
    with TRIM, in random order. It needs root, as it remounts the file system to switch discards.
    """
    from gordon import reproduce
    from gordon.cli import output, terminal
    from gordon.cli.reproduce_rewrite_view import show

    output.check(to=to, report=report)
    found = reproduce.rewrite(export, notify=terminal.messages().text, **only_given(given))
    output.finish_result(found, show, to, report)
