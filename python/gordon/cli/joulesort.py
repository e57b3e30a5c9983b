"""`gordon joulesort`."""

from pathlib import Path
from typing import Any

import click

from gordon.cli import options
from gordon.cli.meter import IDLE, INTERVAL, METERS, ROOT, TAIL, amount
from gordon.files import STDOUT, write_all


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--records",
    required=True,
    metavar="N",
    callback=amount,
    help="Number of records of 100 bytes. The benchmark's categories are 1e8, 1e9, 1e10 and 1e12.",
)
@click.option(
    "--runs",
    type=options.COUNT,
    default=5,
    show_default=True,
    metavar="N",
    help="Number of consecutive runs. The rules require five.",
)
@METERS
@INTERVAL
@IDLE
@TAIL
@click.option(
    "--dir",
    "folder",
    default=".",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of input and output, on the storage to measure.  [default: the current folder]",
)
@click.option("--memory", metavar="SIZE", help="Memory for `gordon sort`.")
@click.option("--temp", metavar="DIR,DIR...", help="Temporary folders for `gordon sort`.")
@click.option("--config", metavar="FILE", help="Tuned settings for `gordon sort`.")
@click.option(
    "--skewed", is_flag=True, help="Also sort skewed keys once, as the Daytona category requires."
)
@click.option("--keep", is_flag=True, help="Keep input and output afterwards.")
@click.option("-o", "--out", metavar="LOG.csv", help="Write the samples of power as CSV.")
@options.report_out
@ROOT
@options.json_out
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def joulesort(
    command: tuple[str, ...],
    out: str | None,
    report: str | None,
    json_path: str | None,
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

    ours = {"--memory": memory, "--temp": temp, "--config": config}
    words = [word for name, value in ours.items() if value for word in (name, value)]
    if command and words:
        raise click.UsageError(
            f"{words[0]} applies to `gordon sort` only; put options of another sort into its CMD"
        )
    output.check(json_path, out, report=report)
    silent = STDOUT in (json_path, out, report)
    messages = terminal.messages()

    def notify(what: str) -> None:
        if messages.is_terminal:
            messages.text(what, style="dim")

    done = api.benchmark(notify, command=command, options=words, **given)
    files: dict[str, Any] = {}
    if json_path is not None:
        files[json_path] = done.json
    if out is not None:
        files[out] = log.text(done.rows)
    if report is not None:
        from gordon.joulesort.page import page

        files[report] = page(done.json, done.rows)
    write_all(files)
    show(messages if silent else terminal.data(), done.json)
    warn_of(done.json["meters"])
    if not done.holds:
        broken = [check["failure"] for check in done.json["checks"] if check["held"] is False]
        raise click.ClickException(f"no result, checks failed: {'; '.join(broken)}")
