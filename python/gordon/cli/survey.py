"""`gordon survey TRACE...`"""

from contextlib import nullcontext
from typing import Any

import click

from gordon.cli.meter import seconds
from gordon.files import STDOUT, whole, write_all
from gordon.options import command


@click.command()
@click.argument("traces", nargs=-1, metavar="TRACE...")
@click.option(
    "--bundled",
    is_flag=True,
    help="Survey the traces that come with gordon: the seven jobs of the Gordon paper. Implies "
    "--space gordon-2009, and for a grid --model paper --nodes 32, unless given.",
)
@click.option(
    "--space",
    metavar="NAME|FILE",
    help="Design space: a shipped one (`gordon spaces`) or a TOML file. gordon-2009 is that of the "
    "Gordon paper, and is compared with its results.  [default: modern]",
)
@click.option(
    "--nodes",
    metavar="N|N..M|N,M",
    help="Nodes of a cluster of designs. For machines, the numbers of nodes to compare: 2..8 or "
    "2,4,8.  [default: as many as traces; 32 for one trace of a grid; 1 to 64 for the tasks "
    "model; 1..8 of a service]",
)
@click.option(
    "--shift",
    type=command.SHARE,
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Maximum shift in time between nodes that run copies of one trace, as a fraction of its "
    "length. 0: all nodes are in the same phase; 1: at any time each phase runs on some node.",
)
@click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a value, of a grid of designs: budget=200W, cpu.atom.ipc=0.6, "
    "node.network=...; of a machine: machines.ID.price_per_hour=0.2.",
)
@click.option(
    "--charge",
    type=click.Choice(["auto", "machine", "command"]),
    default="auto",
    show_default=True,
    help="Simulate the CPU time and cache misses of the traced command only, or of the whole "
    "machine; auto: of the command where the trace has them. Network and block I/O are always "
    "those of the machine.",
)
@click.option(
    "--reference",
    metavar="NAME|NUMBER",
    help="Machine on which the traces were recorded: a machine of any shipped space, its processor "
    "as /proc/cpuinfo names it, or the speed of a core as the space counts it.  [default: the "
    "processor that the manifest names, else 1.0]  For a grid of designs: the processor, as a part "
    "such as core2, or its instructions per cycle.  [default: the part that the manifest names, "
    "else 1.5]",
)
@click.option(
    "--model",
    type=click.Choice(["job", "tasks", "paper", "stages"]),
    help="job: time of one job of fixed work, for machines. tasks: time of an application of Spark "
    "on any number of them, from its event log. The others are for grids of designs, "
    "such as gordon-2009. paper: throughput, each second takes the longest of processor, storage "
    "and network. stages: as paper, and nodes wait for each other only at the ends of stages.  "
    "[default: for a space with machines tasks of an event log or of a run that has one, else job; "
    "else paper]",
)
@click.option(
    "--service",
    is_flag=True,
    help="The traces are records of a service, of one node each, and not of a job: find the "
    "machines, and how many of them, that keep up with the load.",
)
@click.option(
    "--headroom",
    type=command.SHARE,
    metavar="SHARE",
    help="Of a service: the share of processor, memory, storage and network that is free in 99% of "
    "the time, below 100%.  [default: 30%]",
)
@click.option(
    "--stages",
    metavar="FILE",
    help='Stages of the job, as JSON: {"stages": [{"name": "map", "start_s": 0, "end_s": 12.5}]}, '
    "in seconds after the start of the traces. The stages model uses them; of machines, the limits "
    "of each stage are reported.",
)
@click.option(
    "--deadline",
    callback=seconds,
    metavar="TIME",
    help="Of jobs on machines: recommend the cheapest that ends within this time, such as 10min, "
    "by the upper end of its range.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1),
    metavar="N",
    help="Of the tasks model: tasks of each stage that reads shuffle data.  [default: as recorded]",
)
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Designs in the result; those on the Pareto front and the named ones are always in it.",
)
@click.option(
    "--parquet",
    metavar="PATH",
    help="Write a table with a row for each design, however many, as Parquet.",
)
@click.option(
    "--cache",
    metavar="DIR",
    help="Keep the replays of traces on storages in this folder, and use those that are there, of "
    "any survey.  [default: keep none]",
)
@click.option(
    "--engine",
    type=click.Choice(["loky", "ray", "dask", "spark"]),
    help="Compute replays in processes: loky on this machine, the others on the cluster that "
    "RAY_ADDRESS, DASK_SCHEDULER_ADDRESS or MASTER names.  [default: threads of this process]",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Processes of the engine, which is loky if none is given.  [default: one per core]",
)
@click.option("--all", "show_all", is_flag=True, help="Print every design, not only the best ones.")
@click.option("--json", "json_path", metavar="PATH", help="Write the result as JSON (-: stdout).")
@click.option(
    "--csv",
    "csv_path",
    metavar="PATH",
    help="Write the designs as CSV (-: stdout); of several jobs, their mean.",
)
@click.option("-o", "--out", "--report", metavar="PATH", help="Write the report, one HTML file.")
def survey(
    traces: tuple[str, ...],
    bundled: bool,
    space: str | None,
    nodes: str | None,
    shift: float,
    set_values: tuple[str, ...],
    charge: str,
    reference: str | None,
    model: str | None,
    service: bool,
    headroom: float | None,
    stages: str | None,
    deadline: float | None,
    partitions: int | None,
    rows: int,
    parquet: str | None,
    cache: str | None,
    engine: str | None,
    workers: int | None,
    show_all: bool,
    json_path: str | None,
    csv_path: str | None,
    out: str | None,
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
    gordon survey web1.trace --service --headroom 30% --space ec2 --reference m5.2xlarge
    """
    from gordon.cli import output, terminal
    from gordon.cli.jobs_view import show_jobs
    from gordon.cli.machines_view import show_machines
    from gordon.cli.progress import Progress
    from gordon.cli.service_view import show_service
    from gordon.cli.survey_view import show
    from gordon.cli.tasks_view import show_tasks
    from gordon.survey import measured, run
    from gordon.survey.columns import to_csv
    from gordon.survey.model import HEADROOM
    from gordon.survey.run import SPACE

    if bundled == bool(traces):
        raise click.UsageError(
            "--bundled surveys the traces that come with gordon, without TRACE..."
            if bundled
            else "give a TRACE, or --bundled"
        )
    if headroom is not None and not service:
        raise click.UsageError("--headroom is of a service: add --service")
    if bundled and service:
        raise click.UsageError("--bundled surveys jobs, and --service a load")
    if bundled:
        traces, space, model, nodes = _bundled(space, model, nodes)
    space = space or SPACE
    used = [stages, *output.trace_files(traces), *measured.files(space, set_values)]
    output.check(json_path, csv_path, files=[parquet], report=out, used=used)
    with (
        Progress("replaying the traces on each storage") as progress,
        nullcontext() if parquet is None else whole(parquet) as table,
    ):
        result = run(
            traces,
            space=space,
            nodes=nodes,
            shift=shift,
            set_values=set_values,
            charge=charge,
            reference=reference,
            model=model,
            service=service,
            headroom=HEADROOM if headroom is None else headroom,
            stages=stages,
            partitions=partitions,
            deadline=deadline,
            rows=rows,
            table=table,
            cache=cache,
            engine=engine,
            workers=workers,
            progress=progress.tick,
        )
    files: dict[str, Any] = {}
    if json_path is not None:
        files[json_path] = result
    if csv_path is not None:
        files[csv_path] = to_csv(result)
    if out is not None:
        files[out] = _report(result)
    write_all(files)
    silent = STDOUT in files
    console = terminal.messages() if silent else terminal.data()
    if "jobs" in result:
        show_jobs(console, result, show_all)
    elif "application" in result:
        show_tasks(console, result, show_all)
    elif service:
        show_service(console, result, show_all)
    elif "verdict" in result:
        show_machines(console, result, show_all)
    else:
        show(console, result, show_all)
    for path in (*files, *([] if parquet is None else [parquet])):
        if path != STDOUT:
            click.echo(f"wrote {path}", err=True)


def _bundled(
    space: str | None, model: str | None, nodes: str | None
) -> tuple[tuple[str, ...], str, str | None, str | None]:
    """The bundled traces, and how they are surveyed."""
    from gordon import bundled
    from gordon.survey import space as spaces

    space = space or bundled.SPACE
    if not spaces.has_grid(spaces.load(space)):
        return (str(bundled.FOLDER),), space, model, nodes
    if model is None:
        model = bundled.MODEL
    if model == bundled.MODEL and nodes is None:
        nodes = str(bundled.NODES)
    return (str(bundled.FOLDER),), space, model, nodes


def _report(result: dict[str, Any]) -> str:
    from gordon.survey import jobs_page, machines_page, page, service_page, tasks_page

    if "jobs" in result:
        return jobs_page.render(result)
    if "application" in result:
        return tasks_page.render(result)
    if result.get("model") == service_page.MODEL:
        return service_page.render(result)
    return machines_page.render(result) if "verdict" in result else page.render(result)
