"""`gordon reproduce gordon`."""

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all


@click.command()
@click.argument("runs", required=False)
@options.json_out
def gordon(runs: str | None, json_path: str | None) -> None:
    """Compare the figures of the Gordon paper with those of traced jobs.

    RUNS is a folder with runs RUNS/JOB/1 of `gordon workload run`; the default is the bundled
    traces. The figures are those of Table 2, Figure 5, section 4.2.2, Table 6, Figures 6 to 8 and
    the claims. JSON has each of them with its reason.
    """
    from gordon import __version__, bundled, reproduce
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.reproduce_gordon_view import show
    from gordon.cli.terminal import data, messages

    output.check(json_path, used=[runs])
    with Progress("replaying") as progress:
        rows = reproduce.rows(bundled.FOLDER if runs is None else runs, progress=progress.tick)
    if json_path is not None:
        items = [{"id": row.id, **row.as_dict(), "source": row.source} for row in rows]
        write_all({json_path: {"version": __version__, "items": items}})
    show(messages() if json_path == STDOUT else data(), rows)
