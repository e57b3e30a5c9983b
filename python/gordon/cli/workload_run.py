"""`gordon workload run`."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gordon.cli import options
from gordon.files import STDOUT, write_all
from gordon.options import command

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
#: Key of the arguments of a program in the context of the command.
ARGUMENTS = "gordon.workload.arguments"
#: Options that have no effect on a run of a program, or on an existing cluster, by their parameter.
OF_JOBS = {
    "size": "--size",
    "scale": "--scale",
    "repeats": "--repeats",
    "parameters": "--parameter",
    "seed": "--seed",
    "sources": "--from",
    "disk_rate": "--disk-rate",
    "master": "--master",
    "inputs": "--input",
    "result": "--result",
    "hosts": "--hosts",
    "via": "--via",
}
OF_APPS = {"py_files": "--py-files", "main_class": "--class"}
OF_NODES = {
    "nodes": "--nodes",
    "cores": "--cores",
    "memory": "--memory",
    "network": "--network",
    "disk_rate": "--disk-rate",
}


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


class _WithArguments(click.Command):
    """A command whose words after `--` are the arguments of a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[ARGUMENTS] = tuple(args[at + 1 :]) if at < len(args) else None
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


@click.command(cls=_WithArguments)
@click.argument("job", type=click.Choice([*JOBS, ALL]), required=False, metavar="[JOB]")
@click.option(
    "--app",
    metavar="FILE",
    help="Run this program instead of a JOB: a file of Python or a jar, with the ARGS after --.",
)
@click.option(
    "--py-files",
    multiple=True,
    metavar="FILES",
    help="With --app: Python modules of the program (.py, .zip, .egg), separated by commas; "
    "repeatable.",
)
@click.option(
    "--class",
    "main_class",
    metavar="NAME",
    help="With --app of a jar: its main class.  [default: that of its manifest]",
)
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
    help="Nodes on this machine.",
)
@click.option(
    "--cores",
    type=command.NUMBER,
    metavar="N",
    help="Cores of each node, also a fraction: 0.4.  [default: an equal share of 80% of this "
    "machine's, which leaves the driver the rest]",
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
    "--disk-rate",
    metavar="RATE",
    help="Limit of each node's disk in bytes per second, for reads and for writes each: 50MB.  "
    "[default: none]",
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
    job: str | None,
    app: str | None,
    py_files: tuple[str, ...],
    main_class: str | None,
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
    """Run a job of the paper's Table 2 on Spark, with a trace of each node; or all of them; or a
    program of your own (--app FILE -- ARGS).

    JOB: randomwriter, identity, sort, grep-simple, grep-complex, ngram, webindex, or all.

    RUN is a folder with a trace for each node and for the driver, Spark's event log, and run.json:
    nodes, clocks, settings of Spark, load of the machine, the input, and the verification of the
    output. `gordon survey RUN` surveys it. With `all`, RUN has a folder for each job. Needs Java
    and PySpark (pip install 'gordon[spark]'); nodes of their own need root.
    """
    from gordon import _core
    from gordon.cli import output, say
    from gordon.cli.progress import Moved
    from gordon.errors import GordonError
    from gordon.workload.run import Cluster
    from gordon.workload.suite import plan, run_planned

    ctx = click.get_current_context()
    _check_words(ctx, job, app)
    used = [part for files in py_files for part in files.split(",") if part]
    output.check(json_path, used=[out, hosts, app, *used, *sources])
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
    if master is not None and (without := _given(ctx, OF_NODES)):
        raise click.UsageError(f"{without[0]} is for nodes on this machine: not with --master")
    amounts = {"--size": size, "--memory": given["memory"], "--disk-rate": given["disk_rate"]}
    for option, text in amounts.items():
        try:
            _core.parse_bytes(text or "1GB")
        except GordonError as error:
            raise click.BadParameter(error.args[0], param_hint=option) from None
    try:
        interval_ns = _core.parse_ns(interval)
    except GordonError as error:
        raise click.BadParameter(error.args[0], param_hint="--interval") from None
    if app is not None:
        from gordon.workload.app import App, run_app

        arguments = ctx.meta[ARGUMENTS] or ()
        program = App(Path(app), arguments, [Path(file) for file in used], main_class)
        del given["disk_rate"]
        report = run_app(
            program,
            out,
            interval_ns=interval_ns,
            notify=lambda text: say(text, kind="note"),
            **given,
        )
        _show(report, out, is_json=json_path == STDOUT)
        if json_path is not None:
            write_all({json_path: report | {"folder": out}})
        return
    assert job is not None
    runs = plan(job, out, size=size, scale=scale, repeats=repeats, seed=seed)
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
            _show(report, str(planned.out), is_json=json_path == STDOUT)
            reports.append(report | {"folder": str(planned.out)})
    if json_path is not None:
        write_all({json_path: reports[0] if len(runs) == 1 else {"runs": reports}})


def _check_words(ctx: click.Context, job: str | None, app: str | None) -> None:
    """Raises a usage error for a job and a program, none of both, or options of the other."""
    if job is not None and app is not None:
        raise click.UsageError(f"the job {job} and --app are two jobs: leave one out")
    if job is None and app is None:
        raise click.UsageError(
            f"Missing argument 'JOB': one of {', '.join([*JOBS, ALL])}, or --app FILE"
        )
    if app is not None:
        if without := _given(ctx, OF_JOBS):
            raise click.UsageError(f"{without[0]} is for the jobs of gordon: not with --app")
        return
    if without := _given(ctx, OF_APPS):
        raise click.UsageError(f"{without[0]} needs --app")
    if ctx.meta[ARGUMENTS] is not None:
        raise click.UsageError("the arguments after -- are those of a program: they need --app")


def _given(ctx: click.Context, names: dict[str, str]) -> list[str]:
    """Those of the options that were given on the command line."""
    return [
        option
        for name, option in names.items()
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]


def _show(report: dict[str, Any], out: str, *, is_json: bool) -> None:
    """The warnings of a run, and what was traced."""
    from gordon.cli import say, terminal
    from gordon.human import counted, duration
    from gordon.run import folder

    for warning in report["warnings"]:
        say(warning, kind="warning")
    words = [
        report["job"]["id"],
        duration(report["duration_s"]),
        f"{counted(len(folder.workers(report)), 'node')} traced",
    ]
    if driver := folder.driver(report):
        totals = driver["totals"]
        known = "no trace" if totals is None else f"{duration(totals['cpu_s'])} of CPU time"
        words.append(f"driver: {known}")
    if "verification" in report:
        words.append(f"{counted(len(report['verification']['checks']), 'check')} passed")
    console = terminal.messages() if is_json else terminal.data()
    console.text(f"{out}: {', '.join(words)}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--parameter")
    return name, value
