"""`gordon survey TRACE...`"""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.files import whole
from gordon.options import command, only_given
from gordon.options.surveys import AllDesigns, Bundled, SurveyFiles, SurveyOptions
from gordon.untyped import Given

if TYPE_CHECKING:
    from gordon.cli.terminal import Output
    from gordon.survey.results import Result


@click.command(cls=command.Command)
@click.argument("traces", nargs=-1, metavar="TRACE...")
@command.of(Bundled, SurveyOptions, AllDesigns)
@options.json_out
@command.of(SurveyFiles)
def survey(
    traces: tuple[str, ...],
    bundled: bool,
    show_all: bool,
    json_path: str | None,
    csv_path: str | None,
    out: str | None,
    **given: Any,
) -> None:
    """Predict a traced job on each machine, or a cluster of each node design, of a space.

    Shows the fastest designs, the designs with the least energy, and what limits each; for machines
    also the price. A TRACE is a folder made by `gordon trace` or `gordon trace convert`, or a
    folder of such traces: one per node, or, for designs, fewer, which are spread over the nodes; or
    the folder of a run, which has a trace of each node. Of several runs, each is surveyed, and
    their mean is shown.

    A TRACE is also a file that `gordon trace convert` reads: output of sadf, answers of Prometheus
    or a recording of rezolus, whose hosts are nodes, or an event log of Spark, plain, compressed or
    rolled, which is a job as a run is; a folder of such files; or - for standard input. spark-sort
    is a log that comes with gordon.

    \b
    gordon survey spark-sort --space ec2
    gordon survey sort.trace --space ec2 --reference m5.xlarge
    gordon survey sort.trace --space gordon-2009 --nodes 32 -o cluster.html
    gordon survey web1.trace --service --headroom 30% --space ec2
    """
    from gordon.cli import output
    from gordon.cli.progress import Part
    from gordon.survey import measured, run
    from gordon.survey.columns import to_csv

    if bundled == bool(traces):
        raise click.UsageError(
            "--bundled surveys the traces that come with gordon, without TRACE..."
            if bundled
            else "give a TRACE, or --bundled"
        )
    service, parquet = given["service"], given.pop("table")
    if given["headroom"] is not None and not service:
        raise click.UsageError("--headroom is of a service: add --service")
    if bundled and service:
        raise click.UsageError("--bundled surveys jobs, and --service a load")
    chosen = only_given(given)
    if bundled:
        traces, chosen = _bundled(chosen)
    space = chosen.get("space", SurveyOptions.space)
    used = [
        given["stages"],
        *output.trace_files(traces),
        *measured.files(space, given["set"]),
    ]
    output.check(json_path, csv_path, tables=[parquet], report=out, used=used)
    with (
        Part("surveying") as progress,
        nullcontext() if parquet is None else whole(parquet) as table,
    ):
        result = run(traces, table=table, progress=progress.tick, **chosen)
    files = [
        (json_path, result),
        (csv_path, lambda: to_csv(result.report)),
        (out, result.html),
    ]
    output.finish(lambda console: _show(console, result.report, show_all), files, written=[parquet])


def _show(console: "Output", result: "Result", show_all: bool) -> None:
    """Prints the screen of a result."""
    from gordon.cli.jobs_view import show_jobs
    from gordon.cli.machines_view import show_machines
    from gordon.cli.service_view import show_service
    from gordon.cli.survey_view import show
    from gordon.cli.tasks_view import show_tasks

    if "jobs" in result:
        show_jobs(console, result, show_all)
    elif "application" in result:
        show_tasks(console, result, show_all)
    elif "load" in result:
        show_service(console, result, show_all)
    elif "verdict" in result:
        show_machines(console, result, show_all)
    else:
        show(console, result, show_all)


def _bundled(given: Given) -> tuple[tuple[str, ...], Given]:
    """The bundled traces, and how they are surveyed."""
    from gordon import bundled
    from gordon.survey import space as spaces

    traces = (str(bundled.FOLDER),)
    chosen = {"space": bundled.SPACE} | given
    if not spaces.has_grid(spaces.load(chosen["space"])):
        return traces, chosen
    chosen = {"model": bundled.MODEL} | chosen
    if chosen["model"] == bundled.MODEL:
        chosen = {"nodes": str(bundled.NODES)} | chosen
    return traces, chosen
