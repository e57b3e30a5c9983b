"""`gordon workload run`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.cli.replace import replaced
from gordon.files import STDOUT
from gordon.options import command, only_given
from gordon.options.outputs import Force, Tables
from gordon.options.table import flags
from gordon.options.workloads import (
    ExistingCluster,
    JobInput,
    JobRuns,
    NodeDisks,
    NodeShares,
    Program,
    RunFolder,
    Sampling,
)
from gordon.untyped import Given

if TYPE_CHECKING:
    from gordon.cli.terminal import Output
    from gordon.run.report import RunReport
    from gordon.workload.run import Cluster

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


class _WithArguments(command.Command):
    """A command whose words after `--` are the arguments of a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[ARGUMENTS] = tuple(args[at + 1 :]) if at < len(args) else None
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


@click.command(cls=_WithArguments)
@click.argument("job", type=command.Choice([*JOBS, ALL]), required=False, metavar="[JOB]")
@command.of(
    Program, RunFolder, Force, JobRuns, NodeShares, NodeDisks, JobInput, Sampling, ExistingCluster
)
@options.tables_out()
@options.on_linux
def run(job: str | None, out: str, force: bool, to: Tables, **given: Any) -> None:
    """Run a job of the paper's Table 2 on Spark, with a trace of each node; or all of them; or a
    program of your own (--app FILE -- ARGS).

    JOB: randomwriter, identity, sort, grep-simple, grep-complex, ngram, webindex, or all.

    RUN is a folder with a trace for each node and for the driver, Spark's event log, and run.json:
    nodes, clocks, settings of Spark, load of the machine, the input, and the verification of the
    output. `gordon survey RUN` surveys it. With `all`, RUN has a folder for each job. Needs Java
    and PySpark (pip install 'gordon-storage[spark]'); nodes of their own need root.
    """
    from gordon.cli import output, say, terminal
    from gordon.cli.progress import Moved
    from gordon.workload.suite import plan, run_planned

    arguments = click.get_current_context().meta[ARGUMENTS]
    chosen = only_given(given)
    _check_words(job, chosen, arguments)
    modules = [part for files in given["py_files"] for part in files.split(",") if part]
    output.check(to=to, used=[out, given["hosts"], given["app"], *modules, *given["sources"]])
    cluster = _cluster(job, chosen)
    how = _of(chosen, NodeShares, NodeDisks, Sampling)

    def notify(text: str) -> None:
        say(text, kind="note")

    if job is None:
        from gordon.workload.app import App, run_app

        app = App(given["app"], arguments or (), modules, given["main_class"])
        with replaced(out, force=force):
            report = run_app(app, out, notify=notify, **how)
        result = report | {"folder": out}
        output.finish(
            lambda console: _show(console, report.report, out), to=to, result=result, rows="nodes"
        )
        return
    parameters = dict(map(_pair, given["parameters"]))
    console = terminal.messages() if STDOUT in (to.json_path, to.csv_path) else terminal.data()
    reports = []
    with (
        replaced(out, force=force, read=given["sources"]),
        Moved("generating the input") as progress,
    ):
        runs = plan(job, out, **_of(chosen, JobRuns), seed=chosen.get("seed", JobInput.seed))
        made = run_planned(
            runs,
            parameters=parameters,
            sources=given["sources"],
            cluster=cluster,
            progress=progress.tick,
            notify=notify,
            **how,
        )
        for planned, report in made:
            _show(console, report.report, str(planned.out))
            reports.append(report | {"folder": str(planned.out)})
    # Each run is shown when it ends.
    found, rows = (reports[0], "nodes") if len(runs) == 1 else ({"runs": reports}, "runs")
    output.finish(lambda _: None, to=to, result=found, rows=rows)


def _of(chosen: Given, *tables: type[Any]) -> Given:
    """The options of tables that were given."""
    return {name: chosen[name] for name in flags(*tables) if name in chosen}


def _first(chosen: Given, *tables: type[Any]) -> str | None:
    """The first option of tables that was given, by its name on the command line."""
    return next((flag for name, flag in flags(*tables).items() if name in chosen), None)


def _check_words(job: str | None, chosen: Given, arguments: Sequence[str] | None) -> None:
    """Raises a usage error for a job and a program, none of both, or options of the other."""
    if job is not None and "app" in chosen:
        raise click.UsageError(f"the job {job} and --app are two jobs: leave one out")
    if job is None and "app" not in chosen:
        raise click.UsageError(
            f"Missing argument 'JOB': one of {', '.join([*JOBS, ALL])}, or --app FILE"
        )
    if job is None:
        if option := _first(chosen, JobRuns, NodeDisks, JobInput, ExistingCluster):
            raise click.UsageError(f"{option} is for the jobs of gordon: not with --app")
        return
    if option := _first(chosen, Program):
        raise click.UsageError(f"{option} needs --app")
    if arguments is not None:
        raise click.UsageError("the arguments after -- are those of a program: they need --app")
    if "size" in chosen and "scale" in chosen:
        raise click.UsageError("--size cannot be combined with --scale")


def _cluster(job: str | None, chosen: Given) -> "Cluster | None":
    """The cluster that is named. Raises a usage error for options that need one, or exclude it."""
    from gordon.workload.run import Cluster

    if "master" not in chosen:
        if _first(chosen, ExistingCluster):
            raise click.UsageError("--input, --result, --hosts and --via need --master")
        return None
    if job == ALL or chosen.get("repeats", 1) > 1:
        raise click.UsageError("--master runs one job once: each run has its own --input, --result")
    if "result" not in chosen or ("inputs" not in chosen and job != "randomwriter"):
        raise click.UsageError("--master needs --result, and --input for jobs that read")
    if option := _first(chosen, NodeShares, NodeDisks):
        raise click.UsageError(f"{option} is for nodes on this machine: not with --master")
    hosts = Path(chosen["hosts"]) if "hosts" in chosen else None
    inputs = list(chosen.get("inputs", ()))
    return Cluster(chosen["master"], inputs, chosen["result"], chosen.get("via"), hosts)


def _show(console: "Output", report: "RunReport", out: str) -> None:
    """The warnings of a run, and what was traced."""
    from gordon.cli import warn_each
    from gordon.human import counted, duration
    from gordon.run import folder

    warn_each(report["warnings"])
    words = [
        report["job"]["id"],
        duration(report["duration_s"]),
        f"{counted(len(folder.workers(report)), 'node')} traced",
    ]
    if driver := folder.driver(report):
        totals = driver["totals"]
        cpu_s = None if totals is None else totals["cpu_s"]
        known = "no trace" if cpu_s is None else f"{duration(cpu_s)} of CPU time"
        words.append(f"driver: {known}")
    if "verification" in report:
        words.append(f"{counted(len(report['verification']['checks']), 'check')} passed")
    console.text(f"{out}: {', '.join(words)}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--parameter")
    return name, value
