"""`gordon joulesort`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.meters import (
    Benchmark,
    BenchmarkFiles,
    BenchmarkFolder,
    Metering,
    OwnSort,
    Rest,
    Root,
)
from gordon.options.outputs import PowerLog, Tables


@click.command(cls=command.Command, context_settings={"allow_interspersed_args": False})
@command.of(Benchmark, Metering, Rest, BenchmarkFolder, OwnSort, BenchmarkFiles)
@command.of(PowerLog)
@options.report_out
@command.of(Root)
@options.tables_out()
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
@options.on_linux
def joulesort(
    words: tuple[str, ...],
    out: str | None,
    report: str | None,
    to: Tables,
    memory: str | None,
    temp: str | None,
    config: str | None,
    **given: Any,
) -> None:
    """Measure records sorted per joule by the rules of JouleSort.

    Generates the input, sorts it --runs times and checks each output. The energy is mean power
    times mean time. CMD is another sort to measure in place of Gordon's, with {in} and {out} for
    its files.
    """
    from gordon import joulesort as api
    from gordon.cli import output, terminal
    from gordon.cli.joulesort_view import show
    from gordon.cli.meter_view import warn_of
    from gordon.energy import log
    from gordon.joulesort.page import page

    ours = {"--memory": memory, "--temp": temp, "--config": config}
    of_ours = [word for name, value in ours.items() if value for word in (name, value)]
    if words and of_ours:
        raise click.UsageError(
            f"{of_ours[0]} applies to `gordon sort` only; put options of another sort into its CMD"
        )
    output.check(out, to=to, report=report)
    messages = terminal.messages()

    def notify(what: str) -> None:
        if messages.is_terminal:
            messages.text(what, style="dim")

    done = api.benchmark(notify, command=words, options=of_ours, **only_given(given))
    files = [
        (out, lambda: log.text(done.rows)),
        (report, lambda: page(done.report, done.rows)),
    ]
    output.finish(lambda console: show(console, done.report), files, to=to, result=done)
    warn_of(done.report["meters"])
    if not done.holds:
        broken = [check["failure"] for check in done.report["checks"] if check["held"] is False]
        raise click.ClickException(f"no result, checks failed: {'; '.join(broken)}")
