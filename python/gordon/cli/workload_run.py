"""`gordon workload run`."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from gordon.cli import options

#: Ids of `gordon.workload.jobs`, whose import is slow; a test compares them.
JOBS = (
    "randomwriter",
    "identity",
    "sort",
    "grep-simple",
    "grep-complex",
    "ngram",
    "webindex",
)
#: All of them, sequentially.
ALL = "all"


class _Scale(click.ParamType[Fraction]):
    """A positive fraction: 1/8, 0.125."""

    name = "scale"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        try:
            scale = Fraction(value)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a fraction such as 1/8", param, ctx)
        if scale <= 0:
            self.fail(f"{value} is not above 0", param, ctx)
        return scale


@click.command()
@click.argument("job", type=click.Choice([*JOBS, ALL]))
@click.option("-o", "--out", required=True, metavar="RUN", help="New folder for the run.")
@click.option(
    "--size",
    metavar="SIZE",
    help="Size of the generated input; for randomwriter of the output.  [default: 1GB]",
)
@click.option(
    "--scale",
    type=_Scale(),
    metavar="FRACTION",
    help="Size as a fraction of the job's size in Table 2 of the paper: 1/8.",
)
@click.option(
    "--repeats",
    type=options.COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Runs of the job, each with other input, in RUN/1, RUN/2, ...",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, 200),
    default=4,
    show_default=True,
    metavar="N",
    help="Nodes on this machine; each has an equal share of the cores.",
)
@click.option(
    "--memory",
    default="2GiB",
    show_default=True,
    metavar="SIZE",
    help="Memory of each node, page cache included.",
)
@click.option(
    "--network",
    metavar="RATE",
    help="Limit of each node's link in both directions, as tc takes it: 1gbit.  [default: none]",
)
@click.option(
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the job, as `gordon workload list` shows them; repeatable.",
)
@options.seed("of the generated input.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="DIR",
    help="Folder with text or HTML of one language, from which the input is grown; repeatable.  "
    "[default: packages that are installed]",
)
@click.option(
    "--interval",
    default="1s",
    show_default=True,
    metavar="TIME",
    help="Sampling interval of the traces, at least 0.1s.",
)
@click.option(
    "--master",
    metavar="URL",
    help="Run on this cluster instead of nodes on this machine: spark://HOST:PORT. Needs --input "
    "(except randomwriter) and --result.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="PATH",
    help="With --master: input, a path of any file system of Hadoop; repeatable.",
)
@click.option(
    "--result", metavar="PATH", help="With --master: output of the job, a path of the same kind."
)
@click.option(
    "--hosts", metavar="FILE", help="With --master: file with the hosts to trace, one a line."
)
@click.option(
    "--via",
    metavar="COMMAND",
    help="With --hosts: command that runs a program on a host: 'ssh {host}'.",
)
@options.json_out
def run(
    job: str,
    out: str,
    size: str | None,
    scale: Fraction | None,
    repeats: int,
    seed: int,
    interval: str,
    sources: tuple[str, ...],
    parameters: tuple[str, ...],
    master: str | None,
    inputs: tuple[str, ...],
    result: str | None,
    hosts: str | None,
    via: str | None,
    json_path: str | None,
    **given: Any,
) -> None:
    """Run a job of the paper's Table 2 on Spark, with a trace of each node; or all of them.

    RUN is a folder with a trace for each node and run.json: nodes, clocks, settings of Spark, the
    input, and the verification of the output. `gordon survey RUN` surveys it. With `all`, RUN has a
    folder for each job. Needs Java and PySpark (pip install 'gordon[spark]'); nodes of their own
    need root.
    """
    from gordon import _core
    from gordon.cli import output, say, terminal
    from gordon.cli.progress import Moved
    from gordon.human import counted, duration
    from gordon.workload.run import Cluster
    from gordon.workload.suite import plan, run_planned

    output.check(json_path, used=[out, hosts, *sources])
    if size is not None and scale is not None:
        raise click.UsageError("--size cannot be combined with --scale")
    if master is not None and (job == ALL or repeats > 1):
        raise click.UsageError("--master runs one job once: each run has its own --input, --result")
    cluster = None
    if master is not None:
        if result is None or (not inputs and job != "randomwriter"):
            raise click.UsageError("--master needs --result, and --input for jobs that read")
        place = None if hosts is None else Path(hosts)
        cluster = Cluster(master, list(inputs), result, via, place)
    elif inputs or result or hosts or via:
        raise click.UsageError("--input, --result, --hosts and --via need --master")
    for option, text in (("--size", size), ("--memory", given["memory"])):
        try:
            _core.parse_bytes(text or "1GB")
        except _core.GordonError as error:
            raise click.BadParameter(error.args[0], param_hint=option) from None
    try:
        interval_ns = _core.parse_ns(interval)
    except _core.GordonError as error:
        raise click.BadParameter(error.args[0], param_hint="--interval") from None
    runs = plan(job, out, size=size, scale=scale, repeats=repeats, seed=seed)
    console = terminal.messages() if json_path == output.STDOUT else terminal.data()
    reports = []
    with Moved("generating the input") as progress:
        made = run_planned(
            runs,
            parameters=dict(map(_pair, parameters)),
            sources=sources,
            interval_ns=interval_ns,
            cluster=cluster,
            progress=progress.tick,
            notify=lambda text: say(text, kind="note"),
            **given,
        )
        for planned, report in made:
            for warning in report["warnings"]:
                say(warning, kind="warning")
            checks = report["verification"]["checks"]
            console.text(
                f"{planned.out}: {planned.job}, {duration(report['duration_s'])}, "
                f"{counted(len(report['nodes']), 'node')} traced, "
                f"{counted(len(checks), 'check')} passed"
            )
            reports.append(report | {"folder": str(planned.out)})
    if json_path is not None:
        output.write({json_path: reports[0] if len(runs) == 1 else {"runs": reports}})


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--parameter")
    return name, value
