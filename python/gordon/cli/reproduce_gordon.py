"""`gordon reproduce gordon`."""

import click

from gordon.cli import options


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

    output.check(json_path, used=[runs])
    with Progress("replaying") as progress:
        rows = reproduce.rows(bundled.FOLDER if runs is None else runs, progress=progress.tick)
    items = [{"id": row.id, **row.as_dict(), "source": row.source} for row in rows]
    result = {"version": __version__, "items": items}
    output.finish(lambda console: show(console, rows), [(json_path, result)])
